//! 64-bit Arm Linux under QEMU: the C programs and the test suites.
use super::debian;
use crate::command::{X86_64_LINUX, cmd, exists, run, show};
use crate::ctests::{self, Linkage};
use crate::library::{self, PRECOMPILED, Tools};
use crate::paths;
use crate::skip::skip;
use anyhow::Result;
use std::path::Path;
use std::process::Command;

const TARGET: &str = "aarch64-unknown-linux-gnu";
const COMPILER: &str = "aarch64-linux-gnu-gcc";
const EMULATOR: [&str; 3] = ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"];

/// The suites that need nothing of the host: modules of the test program `suite`.
const SUITES: [&str; 3] = ["conformance::", "contract::", "properties::"];
/// The C programs that test the differences of the levels, with work that the emulator does in seconds: without
/// fma instructions it takes minutes to measure the machine.
const LEVELLED: [&str; 4] = ["values", "strides", "bits", "stack"];
/// Tests whose sizes take an emulator many minutes. `full` runs them too, and everything at the portable level,
/// whose fma is software there.
const LONG: [&str; 3] = ["many_elements", "larger_than_the_cache", "epilogues"];
/// Random cases of each property, where DIPTYCH_CASES does not say.
const CASES: &str = "20";

/// Runs everything; the longest tests too when `full`.
pub fn run_all(full: bool) -> Result<()> {
    programs()?;
    with_compiler("suites", |sysroot| suites(sysroot, full))
}

/// Builds the C library, shared and static, and runs its programs.
pub fn programs() -> Result<()> {
    with_compiler("C programs", |sysroot| {
        let target = paths::target().join("diptych-build/aarch64");
        let build = cmd!(
            "/usr/bin/cargo rustc --quiet --profile dist --package diptych-ffi --lib --crate-type staticlib
             --features {PRECOMPILED} --target {TARGET} --target-dir {target}"
        );
        run(&mut with_sysroot(sysroot, build))?;
        let rust = target.join(TARGET).join("dist/libdiptych_ffi.a");
        let (cc, prefix) = (COMPILER.into(), "aarch64-linux-gnu-");
        let dir = paths::target().join("diptych-lib/aarch64");
        let library = library::make(&rust, &dir, &Tools { cc, prefix })?;
        let all = [&ctests::PROGRAMS[..], &["stack"]].concat();
        for linkage in Linkage::ALL {
            for (level, names) in [("neon", &all[..]), ("portable", &LEVELLED)] {
                let compiler = (COMPILER, &[][..]);
                ctests::foreign(&library, linkage, names, compiler, &EMULATOR, Some(level))?;
            }
        }
        Ok(())
    })
}

/// Runs a check with the sysroot of a compiler for the target, or skips it where something is missing.
fn with_compiler(what: &str, check: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let name = format!("AArch64 under QEMU: {what}");
    let host = (!X86_64_LINUX).then_some("this is not x86-64 Linux");
    let has_tools = exists(EMULATOR[0]) && exists(COMPILER);
    let tools = "qemu-user-static or gcc-aarch64-linux-gnu is not installed";
    let missing = host.or((!has_tools).then_some(tools));
    if let Some(reason) = missing.or_else(debian::missing_compiler) {
        return skip(&name, reason);
    }
    match debian::aarch64_sysroot() {
        Ok(sysroot) => check(&sysroot),
        Err(error) => skip(&name, &format!("no std for it: {error:#}")),
    }
}

/// Debian's cargo for the target.
fn with_sysroot(sysroot: &Path, cargo: Command) -> Command {
    const VARIABLE: &str = "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU";
    let mut command = debian::with_rustc(cargo);
    command.env(format!("{VARIABLE}_LINKER"), COMPILER);
    command.env(format!("{VARIABLE}_RUNNER"), EMULATOR.join(" "));
    command.env("DIPTYCH_RUNNER", EMULATOR.join(" "));
    let flags = format!("--sysroot {}", sysroot.display());
    command.env(format!("{VARIABLE}_RUSTFLAGS"), flags);
    command
}

fn suites(sysroot: &Path, full: bool) -> Result<()> {
    let target = paths::target().join("diptych-build/aarch64-tests");
    // Without the feature `hostile` of the tests, which these suites do not use.
    let test = cmd!(
        "/usr/bin/cargo test --package diptych-tests --target {TARGET} --target-dir {target}
         --no-default-features --features pool --config 'profile.dev.package.\"*\".opt-level=0'
         --test suite -- {SUITES...}"
    );
    let mut command = with_sysroot(sysroot, test);
    if std::env::var_os("DIPTYCH_CASES").is_none() {
        command.env("DIPTYCH_CASES", CASES);
    }
    if !full {
        command.args(LONG.iter().flat_map(|test| ["--skip", test]));
        command.env("DIPTYCH_TEST_LEVEL", "neon");
    }
    show(&mut command)
}
