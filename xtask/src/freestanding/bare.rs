//! Targets without an operating system, built with Debian's compiler; the program of tests/c/bare is run
//! on an emulated Cortex-M4, on an emulated RISC-V machine and in Node.
use super::linux::ensure_no_panic;
use crate::command::{exists, run, works};
use crate::paths;
use crate::skip::skip;
use crate::targets::debian;
use anyhow::{Result, ensure};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A target, and how its program is built and run.
struct Target {
    name: &'static str,
    /// For the C compiler.
    flags: &'static [&'static str],
    /// The linker script in tests/c/bare.
    script: Option<&'static str>,
    /// The emulator of a whole machine.
    machine: Option<&'static [&'static str]>,
}

const TARGETS: [Target; 4] = [
    Target {
        name: "thumbv7em-none-eabihf",
        flags: &[
            "--target=thumbv7em-none-eabihf",
            "-mcpu=cortex-m4",
            "-mfloat-abi=hard",
        ],
        script: Some("cortex_m.ld"),
        machine: Some(&[
            "qemu-system-arm",
            "-M",
            "mps2-an386",
            "-serial",
            "none",
            "-semihosting-config",
            "enable=on,target=native",
            "-kernel",
        ]),
    },
    Target {
        name: "riscv64gc-unknown-none-elf",
        flags: &[
            "--target=riscv64-unknown-elf",
            "-march=rv64gc",
            "-mabi=lp64d",
            "-mcmodel=medany",
        ],
        script: Some("riscv64.ld"),
        machine: Some(&[
            "qemu-system-riscv64",
            "-M",
            "virt",
            "-bios",
            "none",
            "-serial",
            "stdio",
            "-kernel",
        ]),
    },
    Target {
        name: "wasm32-unknown-unknown",
        flags: &["--target=wasm32-unknown-unknown"],
        script: None,
        machine: None,
    },
    Target {
        name: "aarch64-unknown-none",
        flags: &[],
        script: None,
        machine: None,
    },
];

/// Builds the library for each, and runs the program where there is a way to.
pub fn run_all() -> Result<()> {
    if let Some(reason) = debian::missing_sources() {
        return skip("targets without an operating system", reason);
    }
    let archives: Result<Vec<_>> = TARGETS.par_iter().map(build).collect();
    for (target, archive) in TARGETS.iter().zip(archives?) {
        println!("{}: builds", target.name);
        if target.flags.is_empty() {
            continue;
        }
        let Some(compiler) = compiler() else {
            let check = format!("the program for {}", target.name);
            skip(
                &check,
                "clang and lld with the same number are not installed",
            )?;
            continue;
        };
        let dir = tempfile::tempdir()?;
        match target.machine {
            Some(machine) => on_machine(target, machine, &archive, &compiler, dir.path())?,
            None => in_node(target, &archive, &compiler, dir.path())?,
        }
    }
    Ok(())
}

/// Bytes of code and constants of a Cortex-M program that calls one operation; `None` where it cannot be built.
pub fn size_of_sum() -> Result<Option<u64>> {
    const CHECK: &str = "the size of a Cortex-M program";
    if let Some(reason) = debian::missing_sources() {
        return skip(CHECK, reason).map(|()| None);
    }
    let Some(compiler) = compiler() else {
        let reason = "clang and lld with the same number are not installed";
        return skip(CHECK, reason).map(|()| None);
    };
    let target = &TARGETS[0];
    let archive = build(target)?;
    let dir = tempfile::tempdir()?;
    let program = dir.path().join("sum.elf");
    let object = object(target, &compiler, "sum.c", dir.path())?;
    link(target, &compiler, &object, &archive, &program)?;
    // Code, constants, unwinding tables: what is stored on the machine.
    let printed = run(Command::new("size").arg("-A").arg(&program))?;
    let sizes = printed.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let section = words.next()?;
        let stored = [".vectors", ".text", ".rodata", ".ARM.exidx", ".data"].contains(&section);
        stored.then(|| words.next()?.parse::<u64>().ok())?
    });
    Ok(Some(sizes.sum()))
}

/// The static library, as rustc makes it.
fn build(target: &Target) -> Result<PathBuf> {
    let folder = paths::target().join("diptych-build").join(target.name);
    let mut command = debian::cargo();
    command.env("RUSTC_BOOTSTRAP", "1");
    command.args(["rustc", "--quiet", "--release", "--package", "diptych-ffi"]);
    command.args([
        "--lib",
        "--crate-type",
        "staticlib",
        "--no-default-features",
    ]);
    command.args(["-Zbuild-std=core", "--target", target.name]);
    run(command.arg("--target-dir").arg(&folder))?;
    Ok(folder.join(target.name).join("release/libdiptych_ffi.a"))
}

/// Debian's clang with the linkers of the same version.
struct Compiler {
    clang: String,
    lld: String,
    wasm_ld: String,
}

fn compiler() -> Option<Compiler> {
    // The first is that of the compiler's own LLVM.
    ["-22", "", "-21", "-20", "-19"]
        .into_iter()
        .find_map(|version| {
            let [clang, lld, wasm_ld] =
                ["clang", "ld.lld", "wasm-ld"].map(|name| format!("{name}{version}"));
            let all = exists(&clang) && exists(&lld) && exists(&wasm_ld);
            all.then_some(Compiler {
                clang,
                lld,
                wasm_ld,
            })
        })
}

fn object(target: &Target, compiler: &Compiler, source: &str, dir: &Path) -> Result<PathBuf> {
    let object = dir.join(source).with_extension("o");
    let mut command = Command::new(&compiler.clang);
    command.args(target.flags);
    let freestanding = "-std=c99 -O1 -ffreestanding -ffp-contract=off -Wall -Wextra -Werror -c";
    command.args(freestanding.split(' '));
    command.arg("-I").arg(paths::root().join("include"));
    command.arg(folder().join(source)).arg("-o").arg(&object);
    run(&mut command)?;
    Ok(object)
}

fn folder() -> PathBuf {
    paths::c_tests().join("bare")
}

fn on_machine(
    target: &Target,
    machine: &[&str],
    archive: &Path,
    compiler: &Compiler,
    dir: &Path,
) -> Result<()> {
    let program = dir.join("bare.elf");
    let object = object(target, compiler, "bare.c", dir)?;
    link(target, compiler, &object, archive, &program)?;
    let symbols = run(Command::new("readelf").args(["-sW"]).arg(&program))?;
    ensure_no_panic(target.name, &symbols)?;
    let check = format!("the program for {} on {}", target.name, machine[2]);
    let emulators = match debian::qemu_system() {
        Ok(emulators) => emulators,
        Err(error) => return skip(&check, &format!("no QEMU: {error:#}")),
    };
    let mut command = debian::emulator(&emulators, machine[0]);
    let output = command.args(&machine[1..]).arg(&program).output()?;
    // What a program says through semihosting comes out as an error of QEMU's.
    let said = [&output.stdout[..], &output.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    ensure!(
        output.status.success(),
        "{check}: {}: {said}",
        output.status
    );
    report(&check, &said)
}

/// Links a program for a machine.
fn link(
    target: &Target,
    compiler: &Compiler,
    object: &Path,
    archive: &Path,
    program: &Path,
) -> Result<()> {
    let mut link = Command::new(&compiler.lld);
    link.arg("--gc-sections").arg(object).arg(archive);
    link.arg("-o").arg(program);
    if let Some(script) = target.script {
        link.arg("-T").arg(folder().join(script));
    }
    run(&mut link).map(drop)
}

fn in_node(target: &Target, archive: &Path, compiler: &Compiler, dir: &Path) -> Result<()> {
    let program = dir.join("bare.wasm");
    let mut link = Command::new(&compiler.wasm_ld);
    // An overflow of the stack, which lies first, is a trap.
    link.args("--no-entry --gc-sections --stack-first -z stack-size=65536".split(' '));
    link.arg(object(target, compiler, "bare.c", dir)?)
        .arg(archive);
    run(link.arg("-o").arg(&program))?;
    // Function names are text in a section of their own.
    let names = String::from_utf8_lossy(&std::fs::read(&program)?).into_owned();
    ensure_no_panic(target.name, &names)?;
    let check = format!("the program for {} in Node", target.name);
    if !works(Command::new("node").arg("--version")) {
        return skip(&check, "node is not installed");
    }
    let mut command = Command::new("node");
    report(
        &check,
        &run(command.arg(folder().join("wasm.mjs")).arg(&program))?,
    )
}

fn report(check: &str, printed: &str) -> Result<()> {
    ensure!(printed.contains("the right bits"), "{check}:\n{printed}");
    let lines: Vec<&str> = printed.lines().collect();
    println!("{check}: {}", lines.join("; "));
    Ok(())
}
