//! Reads the kernels out of an assembly listing: their calls, their loops, and what is in them.
use std::collections::{BTreeSet, HashMap};

/// A kernel on one level for one element type.
#[derive(Debug)]
pub struct Kernel {
    /// "avx512", "avx2" or "portable".
    pub level: String,
    /// Its type in memory: "f32", "f64", "f16" or "bf16".
    pub dtype: String,
    /// Its name in kernels-cpu/src/dispatch.rs, with its kind where it folds rows or columns; of a part of one, its
    /// module and its fold.
    pub name: String,
    /// What a microkernel of gemm computes.
    pub shape: Option<Shape>,
    /// What it calls; "a pointer" where that is not known.
    pub calls: BTreeSet<String>,
    /// Its innermost loops.
    pub loops: Vec<Vec<Instruction>>,
    /// Whether %rbp points into the stack.
    pub frame_pointer: bool,
}

/// The shape and variant of a microkernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows.
    pub mr: usize,
    /// Whole registers in a row.
    pub nv: usize,
    pub variant: Variant,
}

/// The markers of a microkernel, as the kernels' `ops::gemm::microkernels` has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variant {
    /// All registers are full.
    Whole,
    /// The last one has a mask.
    Masked,
    /// There are columns for at most half a register more, two rows to a register.
    SharedByTwo,
    /// There are columns for at most a quarter more, four rows to a register.
    SharedByFour,
    /// There are columns for at most half a register more, in registers of half the size.
    HalfRegister,
    /// All registers are full, and it prefetches.
    Prefetch,
    /// All are full, and it packs what it reads of B.
    Pack,
    /// All are full, and its stores are non-temporal.
    NonTemporal,
}

impl Variant {
    /// What is most particular first: those that prefetch, pack or do not store through the caches are whole too.
    const ALL: [Self; 8] = [
        Self::Prefetch,
        Self::Pack,
        Self::NonTemporal,
        Self::Masked,
        Self::SharedByTwo,
        Self::SharedByFour,
        Self::HalfRegister,
        Self::Whole,
    ];
}

impl Shape {
    /// What it accumulates in: registers of the level, and of half the size.
    pub fn sums(self) -> (usize, usize) {
        let whole = self.mr * self.nv;
        match self.variant {
            Variant::SharedByTwo => (whole + self.mr.div_ceil(2), 0),
            Variant::SharedByFour => (whole + self.mr.div_ceil(4), 0),
            Variant::HalfRegister => (whole, self.mr),
            _ => (whole, 0),
        }
    }
}

/// One instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// For example `vaddps`.
    pub mnemonic: String,
    /// All its operands, in AT&T order.
    pub operands: String,
}

impl Instruction {
    /// Whether it reads or writes the stack.
    pub fn touches_stack(&self, frame_pointer: bool) -> bool {
        self.operands.contains("(%rsp") || (frame_pointer && self.operands.contains("(%rbp"))
    }

    /// Whether it writes a register of the level to memory.
    pub fn is_store(&self, register: &str) -> bool {
        let source_is_register = self.operands.starts_with(&format!("%{register}"));
        self.mnemonic.starts_with("vmov") && source_is_register && self.operands.ends_with(')')
    }

    /// Whether it reads a register of the level from an array, for itself or for what it does to it.
    pub fn is_load(&self, register: &str) -> bool {
        let elsewhere = ["(%rip)", "(%rsp"]
            .iter()
            .any(|base| self.operands.contains(base));
        let memory = self.operands.contains('(') && !elsewhere;
        memory && self.operands.contains(register) && !self.is_store(register)
    }

    /// Whether it calls, or jumps to, another function. A function with `switches` jumps through
    /// registers within itself.
    fn is_call(&self, switches: bool) -> bool {
        let jumps_away = self.mnemonic.starts_with('j') && !self.operands.starts_with('.');
        let within = switches && self.operands.starts_with('*');
        self.mnemonic.starts_with("call") || (jumps_away && !within)
    }

    fn jump(&self) -> Option<&str> {
        let jumps = self.mnemonic.starts_with('j') && self.operands.starts_with('.');
        jumps.then_some(self.operands.as_str())
    }
}

impl Kernel {
    fn new(level: &str, dtype: &str, name: &str, shape: Option<Shape>) -> Self {
        Self {
            level: level.into(),
            dtype: dtype.into(),
            name: name.into(),
            shape,
            calls: BTreeSet::new(),
            loops: Vec::new(),
            frame_pointer: false,
        }
    }

    /// The kernel's full name.
    pub fn label(&self) -> String {
        let shape = self.shape.map_or(String::new(), |shape| {
            format!("<{}, {}, {:?}>", shape.mr, shape.nv, shape.variant)
        });
        format!("{}_{}::{}{shape}", self.level, self.dtype, self.name)
    }
}

/// All kernels of a listing.
pub fn kernels(listing: &str) -> Vec<Kernel> {
    let mut found = Vec::new();
    let mut lines = listing.lines();
    while let Some(line) = lines.next() {
        let Some(mut kernel) = line.strip_suffix(':').and_then(named_or_part) else {
            continue;
        };
        let body: Vec<&str> = lines
            .by_ref()
            .take_while(|line| !line.starts_with(".Lfunc_end"))
            .collect();
        fill(&mut kernel, &body);
        found.push(kernel);
    }
    found
}

/// Functions of the levels' modules in `isa` that stand on their own instead of being inlined, but for
/// what has been asked to.
pub fn outlined(listing: &str) -> Vec<&str> {
    let next = listing.lines().skip(1);
    let functions = listing
        .lines()
        .zip(next)
        .filter(|(_, next)| next.trim() == ".cfi_startproc");
    let labels = functions.filter_map(|(label, _)| label.strip_suffix(':'));
    labels
        .filter(|label| {
            let vectors = label.contains("4avx2") || label.contains("6avx512");
            vectors && label.contains("7diptych3isa") && part(label).is_none()
        })
        .collect()
}

/// The kernel, or the part of one, that a symbol names.
fn named_or_part(symbol: &str) -> Option<Kernel> {
    named(symbol).or_else(|| part(symbol))
}

/// The kernel that a symbol names: `...8dispatch`, then the module of its kind, its name, its type in memory and the
/// level, each after its length; of what products call the type, the level, the name and, of a microkernel, its shape
/// and its markers.
fn named(symbol: &str) -> Option<Kernel> {
    let (_, rest) = symbol.strip_prefix("_R")?.split_once("7diptych8dispatch")?;
    let (kind, rest) = identifier(rest)?;
    let (first, rest) = identifier(rest)?;
    let (second, rest) = identifier(rest)?;
    let (third, rest) = identifier(rest)?;
    let is_level = |name: &str| matches!(name, "avx512" | "avx2" | "portable");
    if kind == "gemm_kernel" {
        let shape = (third == "microkernel").then(|| shape(rest)).flatten();
        let known = is_level(second) && third != "ROUTINES";
        return known.then(|| Kernel::new(second, first, third, shape));
    }
    let name = match kind {
        "rows_kernel" => format!("{first}_rows"),
        "columns_kernel" => format!("{first}_columns"),
        _ => first.into(),
    };
    is_level(third).then(|| Kernel::new(third, second, &name, None))
}

/// The part of a kernel that a symbol names, a function by `Simd::outlined`: `...3isa`, the level, its token
/// with `f` or `d`; later the part's module in `ops::reduce`, and its fold if it has one.
fn part(symbol: &str) -> Option<Kernel> {
    let (token, part) = symbol.strip_prefix("_R")?.split_once("8outlined3run")?;
    let (level, token) = identifier(token.split_once("7diptych3isa")?.1)?;
    let dtype = if token.split_once("ENt")?.0.ends_with('d') {
        "f64"
    } else if part.contains("4half3f16") {
        "f16"
    } else if part.contains("4half4bf16") {
        "bf16"
    } else {
        "f32"
    };
    let (module, rest) = identifier(part.split_once("6reduce")?.1)?;
    let fold = rest
        .split_once("4fold")
        .and_then(|(_, rest)| identifier(rest));
    let name = match (identifier(rest)?.0, fold) {
        ("Strided", _) => "Strided".into(),
        (_, Some((fold, _))) => format!("{module} {fold}"),
        (_, None) => module.into(),
    };
    Some(Kernel::new(level, dtype, &name, None))
}

/// The shape and the markers of a microkernel: `Kj8_Kj3_NtNt...7markers5WholeNt...5PlainNt...6Cached`, or with a
/// reference to the first number, `Kj1_KBQ_`.
fn shape(arguments: &str) -> Option<Shape> {
    let mut constants = arguments.split('_');
    let mut next = || Some(constants.next()?.strip_prefix('K')?.strip_prefix('j'));
    let number = |digits| usize::from_str_radix(digits, 16).ok();
    let mr = number(next()??)?;
    let nv = next()?.map_or(Some(mr), number)?;
    let is_marked = |variant: &Variant| {
        let marker = format!("{variant:?}");
        arguments.contains(&format!("{}{marker}", marker.len()))
    };
    Some(Shape {
        mr,
        nv,
        variant: Variant::ALL.into_iter().find(is_marked)?,
    })
}

/// An identifier of a symbol: its length, an underscore where it starts with a digit, itself.
fn identifier(text: &str) -> Option<(&str, &str)> {
    let digits = text.find(|c: char| !c.is_ascii_digit())?;
    let length: usize = text[..digits].parse().ok()?;
    let text = text[digits..].strip_prefix('_').unwrap_or(&text[digits..]);
    text.split_at_checked(length)
}

fn fill(kernel: &mut Kernel, body: &[&str]) {
    let mut code = Vec::new();
    let mut labels = HashMap::new();
    for line in body {
        if let Some(label) = line.strip_suffix(':') {
            labels.insert(label, code.len());
        } else if let Some(instruction) = instruction(line) {
            code.push(instruction);
        }
    }
    kernel.frame_pointer = code
        .iter()
        .any(|i| i.mnemonic == "movq" && i.operands == "%rsp, %rbp");
    kernel.calls = calls(&code);
    kernel.loops = innermost(&code, &labels)
        .into_iter()
        .map(|(from, to)| code[from..to].to_vec())
        // A jump back over the end of the function is none of a loop: the blocks before it are shared.
        .filter(|body| body.iter().all(|i| !i.mnemonic.starts_with("ret")))
        .collect();
}

fn instruction(line: &str) -> Option<Instruction> {
    let text = line.strip_prefix('\t')?.split('#').next()?.trim();
    if text.is_empty() || text.starts_with('.') {
        return None;
    }
    let (mnemonic, operands) = text.split_once('\t').unwrap_or((text, ""));
    Some(Instruction {
        mnemonic: mnemonic.into(),
        operands: operands.trim().into(),
    })
}

/// What is called. A call through a register counts for each function whose address the register
/// is ever loaded with.
fn calls(code: &[Instruction]) -> BTreeSet<String> {
    let mut loaded: HashMap<&str, BTreeSet<&str>> = HashMap::new();
    for i in code.iter().filter(|i| i.mnemonic == "movq") {
        if let Some((symbol, register)) = i.operands.split_once("@GOTPCREL(%rip), ") {
            loaded.entry(register).or_default().insert(symbol);
        }
    }
    let switches = code.iter().any(|i| i.operands.contains(".LJTI"));
    let mut called = BTreeSet::new();
    for i in code.iter().filter(|i| i.is_call(switches)) {
        let to = i.operands.trim_start_matches('*');
        let symbol = to.split(['@', '(']).next().unwrap_or_default();
        let named = symbol.starts_with(|c: char| c.is_alphabetic() || c == '_');
        match loaded.get(to) {
            Some(symbols) => called.extend(symbols.iter().map(|&symbol| symbol.to_owned())),
            None if !named => _ = called.insert("a pointer".into()),
            None => _ = called.insert(symbol.to_owned()),
        }
    }
    called
}

/// Loops, as ranges of instructions from a label to a jump back to it, that hold no other loop.
fn innermost(code: &[Instruction], labels: &HashMap<&str, usize>) -> Vec<(usize, usize)> {
    let mut loops = Vec::new();
    for (at, i) in code.iter().enumerate() {
        if let Some(&from) = i
            .jump()
            .and_then(|label| labels.get(label))
            .filter(|&&from| from <= at)
        {
            loops.push((from, at + 1));
        }
    }
    let holds = |outer: &(usize, usize), inner: &(usize, usize)| {
        outer != inner && outer.0 <= inner.0 && inner.1 <= outer.1
    };
    loops
        .iter()
        .filter(|outer| !loops.iter().any(|inner| holds(outer, inner)))
        .copied()
        .collect()
}
