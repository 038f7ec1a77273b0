//! The assembly gate: compares the compiled kernels with the table in asm/budget.toml. It does not run them, so it
//! judges every level on every x86-64 machine.
mod budget;
mod parse;

use crate::command::{cargo_path, cmd, run as run_command};
use crate::paths;
use crate::skip::skip;
use anyhow::{Result, ensure};
use budget::{Budget, LOADS, Microkernels, PAIRS, STORES, Table, WIDENED, WIDENS};
use fs_err as fs;
use parse::{Instruction, Kernel, Shape};
use std::collections::BTreeMap;
use std::path::Path;

/// Compiles the kernels, reads the listing and compares.
pub fn run() -> Result<()> {
    if !cfg!(target_arch = "x86_64") {
        return skip("assembly gate", "its budgets are for x86-64");
    }
    let (table, listing) = (Table::load()?, listing()?);
    let kernels = parse::kernels(&listing);
    // Each problem with its places.
    let mut problems: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for function in parse::outlined(&listing) {
        let problem = "a function of its own: is `#[inline(always)]` missing?";
        problems.entry(problem.into()).or_default().push(function);
    }
    for (level, expected) in &table.microkernels {
        for problem in missing(&table, level, expected, &kernels) {
            problems.insert(problem, Vec::new());
        }
    }
    let mut microkernels = 0;
    for kernel in &kernels {
        microkernels += usize::from(kernel.shape.is_some());
        for problem in calls(&table, kernel).chain(judge(&table, kernel).err()) {
            problems.entry(problem).or_default().push(kernel.label());
        }
    }
    ensure_none(problems)?;
    let count = kernels.len();
    println!("asm: {count} kernels, {microkernels} of them microkernels, within their budgets");
    Ok(())
}

/// Checks the calls of the kernels in a program that was compiled in several units, as users compile it. `listings` is the
/// folder of its assembly. A function that is not marked inline may stay a call there, and has no AVX; the C library is a
/// single unit, in which it is inlined.
pub fn check_program(listings: &Path) -> Result<()> {
    if !cfg!(target_arch = "x86_64") {
        return skip(
            "calls of kernels in a program",
            "the table of calls is for x86-64",
        );
    }
    let table = Table::load()?;
    let mut problems: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut count = 0;
    for entry in fs::read_dir(listings)? {
        let file = entry?.path();
        if file.extension().is_none_or(|extension| extension != "s") {
            continue;
        }
        for kernel in parse::kernels(&fs::read_to_string(file)?) {
            count += 1;
            for problem in calls(&table, &kernel) {
                problems.entry(problem).or_default().push(kernel.label());
            }
        }
    }
    ensure!(count > 0, "no kernel in {}", listings.display());
    ensure_none(problems)?;
    println!("{count} kernels in a program call only what the table of calls has");
    Ok(())
}

/// Fails with all problems and their places.
fn ensure_none(problems: BTreeMap<String, Vec<String>>) -> Result<()> {
    let mut report = String::new();
    for (problem, places) in problems {
        report += &format!("\n  {problem}\n    {}", places.join(" "));
    }
    ensure!(report.is_empty(), "assembly gate:{report}");
    Ok(())
}

/// Compiles the crate by itself: fat LTO starts from the same functions later.
fn listing() -> Result<String> {
    let (cargo, target) = (cargo_path(), paths::target().join("diptych-asm"));
    let file = target.join("kernels.s");
    fs::create_dir_all(&target)?;
    let mut rustc = cmd!(
        "{cargo} rustc --quiet --release --package diptych --lib --features precompiled --target-dir {target}
         -- -C symbol-mangling-version=v0 -C codegen-units=1 --emit=asm={file}"
    );
    // A person's own flags, for example for one CPU, would change the portable level.
    rustc.env_remove("RUSTFLAGS");
    run_command(rustc.env("CARGO_PROFILE_RELEASE_LTO", "off"))?;
    Ok(fs::read_to_string(file)?)
}

/// Kernels of a level that the table has and the listing lacks.
fn missing(table: &Table, level: &str, expected: &Microkernels, kernels: &[Kernel]) -> Vec<String> {
    let mut problems = Vec::new();
    let here = || kernels.iter().filter(|kernel| kernel.level == level);
    for name in &table.without_type {
        let is_expected = level != "portable" || !table.not_portable.contains(name);
        if is_expected && !here().any(|kernel| kernel.name == *name) {
            problems.push(format!("{level} has no kernel {name}"));
        }
    }
    for dtype in ["f32", "f64"] {
        let here = || here().filter(|kernel| kernel.dtype == dtype);
        for name in table.kernels() {
            let avx2_has_it = table.budget(&name).is_none_or(|budget| budget.avx2 > 0);
            let is_portable =
                !name.starts_with(PAIRS) && table.not_portable.iter().all(|other| *other != name);
            let is_expected = match level {
                "avx512" => true,
                "portable" => avx2_has_it && is_portable,
                _ => avx2_has_it,
            };
            if is_expected && !here().any(|kernel| kernel.name == name) {
                problems.push(format!("{level}_{dtype} has no kernel {name}"));
            }
        }
        for shape in shapes(expected) {
            let found = here().filter(|kernel| kernel.shape == Some(shape));
            if found.count() != 1 {
                problems.push(format!("{level}_{dtype} lacks a {shape:?}"));
            }
        }
    }
    problems
}

/// The shapes of all microkernels of a level.
fn shapes(expected: &Microkernels) -> Vec<Shape> {
    let mut shapes = Vec::new();
    let mut expect = |variant, mr, nv| shapes.push(Shape { mr, nv, variant });
    for mr in 1..=expected.mr {
        for nv in 1..=expected.nv {
            expect("Whole", mr, nv);
            expect("Masked", mr, nv);
            if expected.half {
                expect("HalfRegister", mr, nv - 1);
            }
            if expected.shared && nv < expected.nv {
                expect("SharedByTwo", mr, nv);
                expect("SharedByFour", mr, nv);
            }
        }
    }
    for &(mr, nv) in &expected.prefetch {
        expect("Prefetch", mr, nv);
    }
    for &nv in &expected.non_temporal {
        expect("NonTemporal", expected.mr, nv);
    }
    for &nv in &expected.pack {
        expect("Pack", expected.mr, nv);
    }
    shapes
}

/// Calls that the table does not allow.
fn calls(table: &Table, kernel: &Kernel) -> impl Iterator<Item = String> {
    let is_forbidden = |symbol: &&String| {
        let mut calls = table.calls.iter();
        !calls.any(|(name, levels)| symbol.contains(name) && levels.contains(&kernel.level))
    };
    kernel.calls.iter().filter(is_forbidden).map(|symbol| {
        let panics = symbol.contains("panic");
        let what = if panics { "can panic" } else { "calls" };
        format!("{what}: {symbol}")
    })
}

/// An error is a problem of a kernel.
type Judgement = Result<(), String>;

/// Judges the hot loops of a kernel of a vector level.
fn judge(table: &Table, kernel: &Kernel) -> Judgement {
    let register = match kernel.level.as_str() {
        "avx512" => "zmm",
        "avx2" => "ymm",
        _ => return Ok(()),
    };
    if let Some(shape) = kernel.shape {
        return microkernel(table, kernel, register, shape);
    }
    let name = &kernel.name;
    if table.without_loop.contains(name) || table.without_type.contains(name) {
        return Ok(());
    }
    // Of types that are not widened these do nothing.
    if name.ends_with(WIDENED) && !is_half(kernel) {
        return Ok(());
    }
    let no_row = "has no row in xtask/src/asm/budget.toml";
    let budget = table.budget(name).ok_or(no_row)?;
    // Loads and stores of 16-bit types are of half a register.
    if is_half(kernel) && [STORES, LOADS].contains(&budget.counts.as_str()) {
        return Ok(());
    }
    vector_loop(kernel, register, budget)
}

fn is_half(kernel: &Kernel) -> bool {
    matches!(kernel.dtype.as_str(), "f16" | "bf16")
}

/// Judges a microkernel: every loop with an fma is a loop over k, with a whole number of steps and nothing on the stack
/// but a mask.
fn microkernel(table: &Table, kernel: &Kernel, register: &str, shape: Shape) -> Judgement {
    // Registers of half the size are those of the level below.
    let (whole, half) = shape.sums();
    let kinds = [(register, whole), ("ymm", half)];
    let mut over_k = 0;
    for body in &kernel.loops {
        let fmas = |register| count(body, "vfmadd", &kernel.dtype, register);
        // The stores at the end may be loops too. The loop over k stores only in microkernels that pack.
        let is_store = |i: &Instruction| kinds.iter().any(|(register, _)| i.is_store(register));
        let stores = shape.variant != "Pack" && body.iter().any(is_store);
        if stores || kinds.iter().all(|(register, _)| fmas(register) == 0) {
            continue;
        }
        for (register, step) in kinds.into_iter().filter(|&(_, step)| step > 0) {
            let fmas = fmas(register);
            if fmas == 0 || !fmas.is_multiple_of(step) {
                let problem = format!("{fmas} fma on {register} in a loop over k");
                return Err(format!("{problem}, not a multiple of {step}"));
            }
        }
        let stack = stack(kernel, body);
        // A single accumulator waits for itself, not for the stack.
        let is_single = whole + half == 1;
        let spare = is_single || body.iter().any(|i| i.mnemonic.starts_with("vmaskmov"));
        let limit = match shape.variant {
            "HalfRegister" => table.half_register_stack,
            _ => usize::from(spare),
        };
        if stack > limit {
            return Err(format!("the loop over k touches the stack {stack} times"));
        }
        over_k += 1;
    }
    let no_loop = "has no loop of fma over k";
    (over_k > 0).then_some(()).ok_or(no_loop.into())
}

/// Judges any other kernel: the loop with enough of what the budget counts may touch the stack only as often as the
/// budget says.
fn vector_loop(kernel: &Kernel, register: &str, budget: &Budget) -> Judgement {
    let (wanted, mut limit) = match register {
        "zmm" => (budget.avx512, budget.stack.0),
        _ => (budget.avx2, budget.stack.1),
    };
    // Widening 16-bit types takes a register beside the lanes of two chunks, which 16 registers do not hold.
    if is_half(kernel) && register == "ymm" && kernel.name.starts_with(PAIRS) {
        limit += 2;
    }
    let counts = &budget.counts;
    let counted = |body: &[Instruction]| count(body, counts, &kernel.dtype, register);
    let enough = kernel.loops.iter().filter(|body| counted(body) >= wanted);
    // Loops over strided elements gather through the stack: the best loop is the contiguous one.
    let Some(best) = enough.min_by_key(|body| stack(kernel, body)) else {
        let all = kernel.loops.iter().map(|body| counted(body));
        let most = all.max().unwrap_or(0);
        let problem = format!("no loop with {wanted} {counts} on {register}");
        return Err(format!("{problem}; the most is {most}"));
    };
    let times = stack(kernel, best);
    let problem = format!("the hot loop touches the stack {times} times, not at most {limit}");
    (times <= limit).then_some(()).ok_or(problem)
}

/// How often a loop touches the stack.
fn stack(kernel: &Kernel, body: &[Instruction]) -> usize {
    let touches = |i: &&Instruction| i.touches_stack(kernel.frame_pointer);
    body.iter().filter(touches).count()
}

fn count(body: &[Instruction], counts: &str, dtype: &str, register: &str) -> usize {
    let suffix = if dtype == "f64" { "pd" } else { "ps" };
    let is_counted = |i: &&Instruction| match counts {
        STORES => i.is_store(register),
        LOADS => i.is_load(register),
        WIDENS => {
            let widens = ["vcvtph2ps", "vpmovzxwd"];
            widens.contains(&i.mnemonic) && i.operands.contains(register)
        }
        _ => {
            let is_name = i.mnemonic.starts_with(counts) && i.mnemonic.ends_with(suffix);
            is_name && i.operands.contains(register)
        }
    };
    body.iter().filter(is_counted).count()
}
