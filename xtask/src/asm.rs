//! The assembly gate: what the compiler made of the kernels, held against the table in
//! asm/budget.rs. It needs no run of the kernels, so it judges every level on every x86-64 machine.
mod budget;
mod parse;

use crate::command::{cargo, run as run_command};
use crate::paths;
use crate::skip::skip;
use anyhow::{Context, Result, ensure};
use budget::{
    Budget, CALLS, HALF_REGISTER_STACK, LOADS, MICROKERNELS, PAIRS, STORES, WITHOUT_LOOP,
    WITHOUT_TYPE, budget,
};
use parse::{Instruction, Kernel, Shape, Variant};
use std::collections::BTreeMap;
use std::fs;

/// What was seen of one level and element type, for the summary.
#[derive(Default)]
struct Seen {
    kernels: usize,
    microkernels: usize,
    hot_loops: usize,
    instructions: usize,
    stack: usize,
}

/// Compiles the kernels, reads the listing and compares.
pub fn run() -> Result<()> {
    if !cfg!(target_arch = "x86_64") {
        return skip("assembly gate", "its budgets are for x86-64");
    }
    let listing = listing()?;
    let kernels = parse::kernels(&listing);
    let mut problems: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for function in parse::outlined(&listing) {
        let problem = "a function of its own: is `#[inline(always)]` missing?";
        problems
            .entry(problem.into())
            .or_default()
            .push(function.into());
    }
    problems.extend(
        missing(&kernels)
            .into_iter()
            .map(|problem| (problem, Vec::new())),
    );
    let mut summary: BTreeMap<String, Seen> = BTreeMap::new();
    for kernel in &kernels {
        let seen = summary
            .entry(format!("{}_{}", kernel.level, kernel.dtype))
            .or_default();
        for problem in calls(kernel).into_iter().chain(judge(kernel, seen).err()) {
            problems.entry(problem).or_default().push(kernel.label());
        }
    }
    report(&kernels, &summary);
    let problems: Vec<_> = problems
        .into_iter()
        .map(|(what, at)| format!("{what}\n    {}", at.join(" ")))
        .collect();
    ensure!(
        problems.is_empty(),
        "assembly gate:\n  {}",
        problems.join("\n  ")
    );
    Ok(())
}

/// Compiles the crate by itself: what fat LTO makes of it later starts from the same functions.
fn listing() -> Result<String> {
    let target = paths::target().join("diptych-asm");
    fs::create_dir_all(&target)?;
    let file = target.join("kernels.s");
    let mut command = cargo();
    command.args([
        "rustc",
        "--quiet",
        "--release",
        "--package",
        "diptych",
        "--lib",
    ]);
    command.arg("--target-dir").arg(&target);
    command.args([
        "--",
        "-C",
        "symbol-mangling-version=v0",
        "-C",
        "codegen-units=1",
    ]);
    command.arg(format!("--emit=asm={}", file.display()));
    // A person's own flags, for example for one CPU, would change the portable level.
    command
        .env_remove("RUSTFLAGS")
        .env("CARGO_PROFILE_RELEASE_LTO", "off");
    run_command(&mut command)?;
    fs::read_to_string(&file).with_context(|| file.display().to_string())
}

/// Kernels that the tables have and the listing lacks.
fn missing(kernels: &[Kernel]) -> Vec<String> {
    let mut problems = Vec::new();
    for level in MICROKERNELS {
        for name in WITHOUT_TYPE {
            if !kernels
                .iter()
                .any(|k| k.level == level.level && k.name == *name)
            {
                problems.push(format!("{} has no kernel {name}", level.level));
            }
        }
        for dtype in ["f32", "f64"] {
            let here = || {
                kernels
                    .iter()
                    .filter(|k| k.level == level.level && k.dtype == dtype)
            };
            let names = budget::kernels()
                .filter(|name| level.level != "portable" || !name.starts_with(PAIRS));
            for name in names.filter(|&name| !here().any(|kernel| kernel.name == name)) {
                problems.push(format!("{}_{dtype} has no kernel {name}", level.level));
            }
            let mut expect = |mr, nv, variant| {
                let shape = Shape { mr, nv, variant };
                if here().filter(|kernel| kernel.shape == Some(shape)).count() != 1 {
                    problems.push(format!("{}_{dtype} lacks a {shape:?}", level.level));
                }
            };
            for mr in 1..=level.mr {
                for nv in 1..=level.nv {
                    expect(mr, nv, Variant::Whole);
                    expect(mr, nv, Variant::Masked);
                }
                for nv in 0..if level.half { level.nv } else { 0 } {
                    expect(mr, nv, Variant::HalfRegister);
                }
                for nv in 1..if level.shared { level.nv } else { 1 } {
                    expect(mr, nv, Variant::SharedByTwo);
                    expect(mr, nv, Variant::SharedByFour);
                }
            }
            for &(mr, nv) in level.prefetch {
                expect(mr, nv, Variant::Prefetch);
            }
            for &nv in level.non_temporal {
                expect(level.mr, nv, Variant::NonTemporal);
            }
            for &nv in level.pack {
                expect(level.mr, nv, Variant::Pack);
            }
        }
    }
    problems
}

/// Calls that the table does not allow.
fn calls(kernel: &Kernel) -> Vec<String> {
    let forbidden = kernel
        .calls
        .iter()
        .filter(|symbol| !CALLS.iter().any(|call| call.covers(kernel, symbol)));
    let tell = |symbol: &String| {
        let what = if symbol.contains("panic") {
            "can panic"
        } else {
            "calls"
        };
        format!("{what}: {symbol}")
    };
    forbidden.map(tell).collect()
}

/// Judges the hot loops of a kernel of a vector level.
fn judge(kernel: &Kernel, seen: &mut Seen) -> Result<(), String> {
    seen.kernels += 1;
    let register = match kernel.level.as_str() {
        "avx512" => "zmm",
        "avx2" => "ymm",
        _ => return Ok(()),
    };
    if let Some(shape) = kernel.shape {
        seen.microkernels += 1;
        return microkernel(kernel, register, shape, seen);
    }
    let name = kernel.name.as_str();
    if WITHOUT_LOOP.contains(&name) || WITHOUT_TYPE.contains(&name) {
        return Ok(());
    }
    // What is loaded and stored of 16-bit types is half a register.
    let halves = matches!(kernel.dtype.as_str(), "f16" | "bf16");
    let budget = budget(&kernel.name).ok_or("has no row in xtask/src/asm/budget.rs")?;
    if halves && matches!(budget.counts, STORES | LOADS) {
        return Ok(());
    }
    vector_loop(kernel, register, &budget, seen)
}

/// Every loop with an fma is a loop over k: a whole number of steps of the microkernel, and nothing on the stack
/// but a mask.
fn microkernel(
    kernel: &Kernel,
    register: &str,
    shape: Shape,
    seen: &mut Seen,
) -> Result<(), String> {
    // Registers of half the size are those of the level below.
    let (whole, half) = shape.sums();
    let kinds = [(register, whole), ("ymm", half)];
    let mut over_k = 0;
    for body in &kernel.loops {
        let fmas = |register| count(body, "vfmadd", &kernel.dtype, register);
        // The stores at the end may be loops too; only these write through a pointer, but for those that pack.
        let stores = shape.variant != Variant::Pack
            && kinds
                .iter()
                .any(|(register, _)| body.iter().any(|i| i.is_store(register)));
        if stores || kinds.iter().all(|(register, _)| fmas(register) == 0) {
            continue;
        }
        for (register, step) in kinds.into_iter().filter(|&(_, step)| step > 0) {
            let fmas = fmas(register);
            if fmas == 0 || !fmas.is_multiple_of(step) {
                return Err(format!(
                    "{fmas} fma on {register} in a loop over k, not a multiple of {step}"
                ));
            }
        }
        let stack = record(kernel, body, seen);
        // A single sum waits for itself, not for the stack.
        let single = kinds.iter().map(|(_, step)| step).sum::<usize>() == 1;
        let spare = single || body.iter().any(|i| i.mnemonic.starts_with("vmaskmov"));
        // Addresses of the rows of A, of which each is loaded twice.
        let addresses = if shape.variant == Variant::HalfRegister {
            HALF_REGISTER_STACK
        } else {
            0
        };
        if stack > usize::from(spare).max(addresses) {
            return Err(format!("the loop over k touches the stack {stack} times"));
        }
        over_k += 1;
    }
    if over_k == 0 {
        Err("has no loop of fma over k".into())
    } else {
        Ok(())
    }
}

/// The loop with the most of what the budget counts must be as the budget says.
fn vector_loop(
    kernel: &Kernel,
    register: &str,
    budget: &Budget,
    seen: &mut Seen,
) -> Result<(), String> {
    let (wanted, mut stack_limit) = match register {
        "zmm" => (budget.avx512, budget.stack.0),
        _ => (budget.avx2, budget.stack.1),
    };
    // What widens 16-bit types takes a register beside the lanes of two chunks, which 16 registers do not hold.
    let is_half = matches!(kernel.dtype.as_str(), "f16" | "bf16");
    if is_half && register == "ymm" && budget.kernel.starts_with(PAIRS) {
        stack_limit += 2;
    }
    let counted = |body: &[Instruction]| count(body, budget.counts, &kernel.dtype, register);
    let stack = |body: &[Instruction]| {
        body.iter()
            .filter(|i| i.touches_stack(kernel.frame_pointer))
            .count()
    };
    let enough = kernel.loops.iter().filter(|body| counted(body) >= wanted);
    // Loops over strided elements gather through the stack: the best loop is the contiguous one.
    let Some(best) = enough.min_by_key(|body| stack(body)) else {
        let most = kernel
            .loops
            .iter()
            .map(|body| counted(body))
            .max()
            .unwrap_or(0);
        return Err(format!(
            "no loop with {wanted} {} on {register}; the most is {most}",
            budget.counts
        ));
    };
    let touched = record(kernel, best, seen);
    if touched > stack_limit {
        return Err(format!(
            "the hot loop touches the stack {touched} times, not at most {stack_limit}"
        ));
    }
    Ok(())
}

/// Notes a hot loop for the summary; how often it touches the stack.
fn record(kernel: &Kernel, body: &[Instruction], seen: &mut Seen) -> usize {
    let stack = body
        .iter()
        .filter(|i| i.touches_stack(kernel.frame_pointer))
        .count();
    seen.hot_loops += 1;
    seen.instructions += body.len();
    seen.stack += stack;
    stack
}

fn count(body: &[Instruction], counts: &str, dtype: &str, register: &str) -> usize {
    let suffix = if dtype == "f64" { "pd" } else { "ps" };
    let is_one = |i: &&Instruction| {
        match counts {
            STORES => return i.is_store(register),
            LOADS => return i.is_load(register),
            _ => {}
        }
        i.mnemonic.starts_with(counts)
            && i.mnemonic.ends_with(suffix)
            && i.operands.contains(register)
    };
    body.iter().filter(is_one).count()
}

fn report(kernels: &[Kernel], summary: &BTreeMap<String, Seen>) {
    println!("level         kernels  microkernels  hot loops  instructions in them  on the stack");
    for (level, seen) in summary {
        println!(
            "{level:<13} {:>7} {:>13} {:>10} {:>21} {:>13}",
            seen.kernels, seen.microkernels, seen.hot_loops, seen.instructions, seen.stack
        );
    }
    for call in CALLS {
        let with = kernels.iter().filter(|kernel| {
            kernel
                .calls
                .iter()
                .any(|symbol| call.covers(kernel, symbol))
        });
        println!(
            "calls {}, {}: {} kernels ({})",
            call.symbol,
            call.levels.join(" "),
            with.count(),
            call.why
        );
    }
}

impl budget::Call {
    fn covers(&self, kernel: &Kernel, symbol: &str) -> bool {
        symbol.contains(self.symbol)
            && self.levels.contains(&kernel.level.as_str())
            && (self.kernels.is_empty() || self.kernels.contains(&kernel.name.as_str()))
    }
}
