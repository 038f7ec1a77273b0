//! Reads the kernels out of an assembly listing: their calls, their loops, and the instructions in them.
use rustc_demangle::demangle;
use std::collections::{BTreeSet, HashMap};

/// A kernel on one level for one element type.
#[derive(Debug, Default)]
pub struct Kernel<'a> {
    /// "avx512", "avx2" or "portable".
    pub level: String,
    /// Its type in memory: "f32", "f64", "f16" or "bf16".
    pub dtype: String,
    /// Its name in kernels-cpu/src/dispatch.rs, with a suffix if it folds rows or columns; of a part of one, its
    /// module and its fold.
    pub name: String,
    /// The shape of a microkernel of gemm.
    pub shape: Option<Shape>,
    /// The functions it calls; "a pointer" where that is not known.
    pub calls: BTreeSet<String>,
    /// Its innermost loops.
    pub loops: Vec<Vec<Instruction<'a>>>,
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
    /// One of [`VARIANTS`].
    pub variant: &'static str,
}

/// The markers of microkernels in the kernels' `ops::gemm::markers`, the most particular first: microkernels that
/// prefetch, pack or have non-temporal stores are `Whole` too. `Masked`: the last register of a row has a mask.
/// `SharedBy...`: two or four rows share a register for the last columns. `HalfRegister`: these are in registers of
/// half the size.
const VARIANTS: [&str; 8] = [
    "Prefetch",
    "Pack",
    "NonTemporal",
    "Masked",
    "SharedByTwo",
    "SharedByFour",
    "HalfRegister",
    "Whole",
];

impl Shape {
    /// The number of accumulators: in registers of the level, and of half the size.
    pub fn sums(self) -> (usize, usize) {
        let whole = self.mr * self.nv;
        match self.variant {
            "SharedByTwo" => (whole + self.mr.div_ceil(2), 0),
            "SharedByFour" => (whole + self.mr.div_ceil(4), 0),
            "HalfRegister" => (whole, self.mr),
            _ => (whole, 0),
        }
    }
}

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub struct Instruction<'a> {
    /// For example `vaddps`.
    pub mnemonic: &'a str,
    /// All its operands, in AT&T order.
    pub operands: &'a str,
}

impl<'a> Instruction<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let text = line.strip_prefix('\t')?.split('#').next()?.trim();
        let (mnemonic, operands) = text.split_once('\t').unwrap_or((text, ""));
        let operands = operands.trim();
        let is_code = !text.is_empty() && !text.starts_with('.');
        is_code.then_some(Self { mnemonic, operands })
    }

    /// Whether it reads or writes the stack.
    pub fn touches_stack(&self, frame_pointer: bool) -> bool {
        self.operands.contains("(%rsp") || (frame_pointer && self.operands.contains("(%rbp"))
    }

    /// Whether it writes a register of the level to memory.
    pub fn is_store(&self, register: &str) -> bool {
        let source = self.operands.strip_prefix('%');
        let source_is_register = source.is_some_and(|source| source.starts_with(register));
        self.mnemonic.starts_with("vmov") && source_is_register && self.operands.ends_with(')')
    }

    /// Whether it reads a register of the level from an array, to load it or as an operand of arithmetic.
    pub fn is_load(&self, register: &str) -> bool {
        let has = |part| self.operands.contains(part);
        let is_array = has("(") && !has("(%rip)") && !has("(%rsp");
        is_array && has(register) && !self.is_store(register)
    }

    /// Whether it calls, or jumps to, another function. A function with `switches` jumps through
    /// registers within itself.
    fn is_call(&self, switches: bool) -> bool {
        let jumps_away = self.mnemonic.starts_with('j') && !self.operands.starts_with('.');
        let within = switches && self.operands.starts_with('*');
        self.mnemonic.starts_with("call") || (jumps_away && !within)
    }

    /// The label in the same function that it jumps to.
    fn jump(&self) -> Option<&'a str> {
        let jumps = self.mnemonic.starts_with('j') && self.operands.starts_with('.');
        jumps.then_some(self.operands)
    }
}

impl<'a> Kernel<'a> {
    /// The kernel's full name.
    pub fn label(&self) -> String {
        let name = format!("{}_{}::{}", self.level, self.dtype, self.name);
        match self.shape {
            Some(Shape { mr, nv, variant }) => format!("{name}<{mr}, {nv}, {variant}>"),
            None => name,
        }
    }

    fn read(&mut self, body: impl Iterator<Item = &'a str>) {
        let (mut code, mut labels) = (Vec::new(), Labels::new());
        for line in body {
            if let Some(label) = line.strip_suffix(':') {
                labels.insert(label, code.len());
            } else if let Some(instruction) = Instruction::parse(line) {
                code.push(instruction);
            }
        }
        let is_frame = |i: &Instruction| i.mnemonic == "movq" && i.operands == "%rsp, %rbp";
        self.frame_pointer = code.iter().any(is_frame);
        self.calls = calls(&code);
        self.loops = innermost(&code, &labels);
    }
}

/// The index of the instruction after each label of a function.
type Labels<'a> = HashMap<&'a str, usize>;

/// All kernels of a listing.
pub fn kernels(listing: &str) -> Vec<Kernel<'_>> {
    let mut found = Vec::new();
    let mut lines = listing.lines();
    while let Some(line) = lines.next() {
        let symbol = line.strip_suffix(':').map(readable).unwrap_or_default();
        if let Some(mut kernel) = named(&symbol).or_else(|| part(&symbol)) {
            let body = lines.by_ref();
            kernel.read(body.take_while(|line| !line.starts_with(".Lfunc_end")));
            found.push(kernel);
        }
    }
    found
}

/// Functions of the levels' modules in `isa` that were not inlined, except through `Simd::outlined`.
pub fn outlined(listing: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (label, next) in listing.lines().zip(listing.lines().skip(1)) {
        if let Some(symbol) = label.strip_suffix(':')
            && next.trim() == ".cfi_startproc"
        {
            let name = readable(symbol);
            let is_vector =
                ["avx2", "avx512"].map(|level| name.contains(&format!("diptych::isa::{level}")));
            if is_vector.contains(&true) && part(&name).is_none() {
                found.push(name);
            }
        }
    }
    found
}

/// A symbol's name without hashes.
fn readable(symbol: &str) -> String {
    format!("{:#}", demangle(symbol))
}

fn kernel(level: &str, dtype: &str, name: String, shape: Option<Shape>) -> Kernel<'static> {
    let (level, dtype) = (level.into(), dtype.into());
    Kernel {
        level,
        dtype,
        name,
        shape,
        ..Kernel::default()
    }
}

/// The kernel with a name like `diptych::dispatch::KIND::NAME::LEVEL::<TYPE>`, or for products
/// `diptych::dispatch::gemm_kernel::LEVEL::NAME::<TYPE, ...>`; a microkernel also has a shape.
fn named(name: &str) -> Option<Kernel<'static>> {
    let path = name.strip_prefix("diptych::dispatch::")?;
    let (path, arguments) = path.strip_suffix('>')?.split_once("::<")?;
    let [kind, first, second] = path.split("::").collect::<Vec<_>>()[..] else {
        return None;
    };
    let (dtype, others) = arguments.split_once(", ").unwrap_or((arguments, ""));
    let dtype = dtype.rsplit("::").next()?;
    let is_level = |name: &str| matches!(name, "avx512" | "avx2" | "portable");
    if kind == "gemm_kernel" {
        let shape = (second == "microkernel").then(|| shape(others)).flatten();
        return is_level(first).then(|| kernel(first, dtype, second.into(), shape));
    }
    let name = match kind {
        "rows_kernel" => format!("{first}_rows"),
        "columns_kernel" => format!("{first}_columns"),
        "into_lanes_kernel" => format!("{first}_in_pieces"),
        "lanes_kernel" => format!("{first}_widened"),
        // The same code as `mul`, of which the compiler keeps one copy.
        "kernel_of_arrays" if first == "scale" => "mul".into(),
        "kernel_of_arrays" => format!("{first}_of_arrays"),
        "row_map_of_rows" => format!("{first}_of_rows"),
        "row_map_of_columns" => format!("{first}_of_columns"),
        _ => first.into(),
    };
    is_level(second).then(|| kernel(second, dtype, name, None))
}

/// The part of a kernel with a name like
/// `<diptych::isa::LEVEL::TOKEN<TYPE> as diptych::simd::Simd>::outlined::run::<PART>`: PART names its innermost module
/// in `ops::reduce`, the type in memory if it is a 16-bit one, and its fold if it has one.
fn part(name: &str) -> Option<Kernel<'static>> {
    let (token, part) = name.split_once(" as diptych::simd::Simd>::outlined::run::<")?;
    let level = token.strip_prefix("<diptych::isa::")?.split("::").next()?;
    let dtype = match part {
        _ if token.ends_with("<f64>") => "f64",
        _ if part.contains("half::f16") => "f16",
        _ if part.contains("half::bf16") => "bf16",
        _ => "f32",
    };
    let (_, path) = part.split_once("reduce::")?;
    let mut words = path.split(|c: char| !c.is_alphanumeric() && c != '_');
    let (module, kind) = (words.next()?, words.nth(1)?);
    let is_module = kind.starts_with(|c: char| c.is_lowercase());
    let module = if is_module { kind } else { module };
    let name = match words.skip_while(|word| *word != "fold").nth(2) {
        _ if kind == "Strided" => kind.into(),
        Some(fold) => format!("{module} {fold}"),
        None => module.into(),
    };
    Some(kernel(level, dtype, name, None))
}

/// The shape in the generic arguments of a microkernel after the type: `8, 3, MARKER, MARKER, MARKER`.
fn shape(arguments: &str) -> Option<Shape> {
    let arguments: Vec<&str> = arguments.split(", ").collect();
    let [mr, nv, markers @ ..] = &arguments[..] else {
        return None;
    };
    let is_marked = |variant: &&str| {
        let mut markers = markers.iter();
        markers.any(|marker| marker.rsplit("::").next() == Some(*variant))
    };
    let variant = VARIANTS.into_iter().find(is_marked)?;
    let (mr, nv) = (mr.parse().ok()?, nv.parse().ok()?);
    Some(Shape { mr, nv, variant })
}

/// The functions that are called. A call through a register counts for each function whose address the register
/// is ever loaded with.
fn calls(code: &[Instruction]) -> BTreeSet<String> {
    let mut loaded: HashMap<&str, Vec<&str>> = HashMap::new();
    for i in code.iter().filter(|i| i.mnemonic == "movq") {
        if let Some((symbol, register)) = i.operands.split_once("@GOTPCREL(%rip), ")
            && !is_static(symbol)
        {
            loaded.entry(register).or_default().push(symbol);
        }
    }
    let switches = code.iter().any(|i| i.operands.contains(".LJTI"));
    let mut called = BTreeSet::new();
    for i in code.iter().filter(|i| i.is_call(switches)) {
        let to = i.operands.trim_start_matches('*');
        let symbol = to.split(['@', '(']).next().unwrap_or_default();
        let is_named = symbol.starts_with(|c: char| c.is_alphabetic() || c == '_');
        match loaded.get(to) {
            Some(symbols) => called.extend(symbols.iter().map(|symbol| readable(symbol))),
            None if is_named => _ = called.insert(readable(symbol)),
            None => _ = called.insert("a pointer".into()),
        }
    }
    called
}

/// Whether a symbol is a static, which is in capitals, and not a function.
fn is_static(symbol: &str) -> bool {
    let name = readable(symbol);
    let last = name.rsplit("::").next().unwrap_or_default();
    !last.contains(|c: char| c.is_ascii_lowercase())
}

/// Loops, from a label to a jump back to it, that contain no other loop.
fn innermost<'a>(code: &[Instruction<'a>], labels: &Labels) -> Vec<Vec<Instruction<'a>>> {
    let mut loops = Vec::new();
    for (at, i) in code.iter().enumerate() {
        let from = i.jump().and_then(|label| labels.get(label).copied());
        loops.extend(from.filter(|from| *from <= at).map(|from| from..at + 1));
    }
    let is_innermost = |outer: &&std::ops::Range<usize>| {
        let mut others = loops.iter().filter(|inner| inner != outer);
        !others.any(|inner| outer.start <= inner.start && inner.end <= outer.end)
    };
    let bodies = loops.iter().filter(is_innermost);
    let mut bodies: Vec<_> = bodies.map(|range| code[range.clone()].to_vec()).collect();
    // A jump back over a return is not a loop: the blocks before it are shared.
    bodies.retain(|body| body.iter().all(|i| !i.mnemonic.starts_with("ret")));
    bodies
}
