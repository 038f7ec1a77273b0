//! Targets without an operating system, built with Debian's compiler; the program of tests/c/bare is run
//! on an emulated Cortex-M4, on an emulated RISC-V machine and in Node.
use super::linux::ensure_no_panic;
use crate::command::{cmd, exists, output, run, sh};
use crate::library::PRECOMPILED;
use crate::skip::skip;
use crate::targets::debian;
use crate::{paths, size};
use anyhow::{Result, ensure};
use rayon::prelude::*;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A target, and how its program is built and run; empty where it is not.
struct Target {
    name: &'static str,
    /// For the C compiler.
    flags: &'static str,
    /// The linker script in tests/c/bare.
    script: &'static str,
    /// The command that emulates a whole machine.
    machine: &'static str,
}

const TARGETS: [Target; 4] = [
    Target {
        name: "thumbv7em-none-eabihf",
        flags: "--target=thumbv7em-none-eabihf -mcpu=cortex-m4 -mfloat-abi=hard",
        script: "cortex_m.ld",
        machine: "qemu-system-arm -M mps2-an386 -serial none -semihosting-config enable=on,target=native -kernel",
    },
    Target {
        name: "riscv64gc-unknown-none-elf",
        flags: "--target=riscv64-unknown-elf -march=rv64gc -mabi=lp64d -mcmodel=medany",
        script: "riscv64.ld",
        machine: "qemu-system-riscv64 -M virt -bios none -serial stdio -kernel",
    },
    Target {
        name: "wasm32-unknown-unknown",
        flags: "--target=wasm32-unknown-unknown",
        script: "",
        machine: "",
    },
    Target {
        name: "aarch64-unknown-none",
        flags: "",
        script: "",
        machine: "",
    },
];

const NO_LLVM: &str = "clang and lld with the same number are not installed";

/// Builds the library for each target, and runs the program where that is possible.
pub fn run_all() -> Result<()> {
    if let Some(reason) = debian::missing_sources() {
        return skip("targets without an operating system", reason);
    }
    let archives: Result<Vec<_>> = TARGETS.par_iter().map(build).collect();
    for (target, archive) in TARGETS.iter().zip(archives?) {
        let name = target.name;
        println!("{name}: builds");
        if target.flags.is_empty() {
            continue;
        }
        let Some(llvm) = llvm() else {
            skip(&format!("the program for {name}"), NO_LLVM)?;
            continue;
        };
        let dir = tempfile::tempdir()?;
        if target.machine.is_empty() {
            in_node(target, &archive, llvm, dir.path())?;
        } else {
            on_machine(target, &archive, llvm, dir.path())?;
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
    let Some(llvm) = llvm() else {
        return skip(CHECK, NO_LLVM).map(|()| None);
    };
    let (target, dir) = (&TARGETS[0], tempfile::tempdir()?);
    let program = link(target, llvm, "sum", &build(target)?, dir.path())?;
    // Code, constants, unwinding tables: what is stored on the machine.
    let stored = [".vectors", ".text", ".rodata", ".ARM.exidx", ".data"];
    size::sections(&program, &stored).map(Some)
}

/// Builds the static library, as rustc makes it.
fn build(target: &Target) -> Result<PathBuf> {
    let name = target.name;
    let folder = paths::target().join("diptych-build").join(name);
    let mut command = debian::with_rustc(cmd!(
        "/usr/bin/cargo rustc --quiet --profile dist --package diptych-ffi --lib --crate-type staticlib
         --no-default-features --features {PRECOMPILED} -Zbuild-std=core --target {name} --target-dir {folder}"
    ));
    run(command.env("RUSTC_BOOTSTRAP", "1"))?;
    Ok(folder.join(name).join("dist/libdiptych_ffi.a"))
}

/// The suffix of the names of Debian's clang and linkers, all of the same version.
fn llvm() -> Option<&'static str> {
    let is_there = |version: &&str| {
        let mut names = ["clang", "ld.lld", "wasm-ld"].into_iter();
        names.all(|name| exists(&format!("{name}{version}")))
    };
    // The first is that of the compiler's own LLVM.
    let mut versions = ["-22", "", "-21", "-20", "-19"].into_iter();
    versions.find(is_there)
}

/// Compiles a source of tests/c/bare.
fn compile(target: &Target, llvm: &str, name: &str, dir: &Path) -> Result<PathBuf> {
    let (flags, object) = (target.flags.split(' '), dir.join("program.o"));
    sh!(
        "clang{llvm} {flags...} -std=c99 -O1 -ffreestanding -ffp-contract=off -Wall -Wextra -Werror -Iinclude
         -c tests/c/bare/{name}.c -o {object}"
    )?;
    Ok(object)
}

/// Builds a program for a machine.
fn link(target: &Target, llvm: &str, name: &str, archive: &Path, dir: &Path) -> Result<PathBuf> {
    let (script, program) = (target.script, dir.join("program.elf"));
    let object = compile(target, llvm, name, dir)?;
    sh!("ld.lld{llvm} --gc-sections {object} {archive} -o {program} -T tests/c/bare/{script}")?;
    Ok(program)
}

fn on_machine(target: &Target, archive: &Path, llvm: &str, dir: &Path) -> Result<()> {
    let program = link(target, llvm, "bare", archive, dir)?;
    ensure_no_panic(target.name, &sh!("readelf -sW {program}")?)?;
    let machine: Vec<&str> = target.machine.split(' ').collect();
    let check = format!("the program for {} on {}", target.name, machine[2]);
    let emulators = match debian::qemu_system() {
        Ok(emulators) => emulators,
        Err(error) => return skip(&check, &format!("no QEMU: {error:#}")),
    };
    let mut command = debian::emulator(&emulators, machine[0]);
    report(&check, command.args(&machine[1..]).arg(&program))
}

fn in_node(target: &Target, archive: &Path, llvm: &str, dir: &Path) -> Result<()> {
    let object = compile(target, llvm, "bare", dir)?;
    let program = dir.join("program.wasm");
    // The stack comes first, so that its overflow is a trap.
    sh!(
        "wasm-ld{llvm} --no-entry --gc-sections --stack-first -z stack-size=65536 {object} {archive} -o {program}"
    )?;
    // Function names are text in a section of their own.
    let names = String::from_utf8_lossy(&fs_err::read(&program)?).into_owned();
    ensure_no_panic(target.name, &names)?;
    let check = format!("the program for {} in Node", target.name);
    if !exists("node") {
        return skip(&check, "node is not installed");
    }
    report(&check, &mut cmd!("node tests/c/bare/wasm.mjs {program}"))
}

/// Runs the program, which must say that its bits are right.
fn report(check: &str, command: &mut Command) -> Result<()> {
    let output = output(command)?;
    // Semihosting's output comes out as an error of QEMU's.
    let printed = [&output.stdout[..], &output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    let is_right = output.status.success() && printed.contains("the right bits");
    ensure!(is_right, "{check}: {}:\n{printed}", output.status);
    println!("{check}: {}", printed.trim().replace('\n', "; "));
    Ok(())
}
