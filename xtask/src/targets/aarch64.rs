//! 64-bit Arm Linux under QEMU: the C programs and the test suites.
use super::debian;
use crate::command::{exists, run, show};
use crate::ctests::{self, Linkage};
use crate::library::{self, Library, Tools};
use crate::paths;
use crate::skip::skip;
use anyhow::Result;
use std::path::Path;
use std::process::Command;

const TARGET: &str = "aarch64-unknown-linux-gnu";
const COMPILER: &str = "aarch64-linux-gnu-gcc";
const EMULATOR: [&str; 3] = ["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"];

/// The suites that need nothing of the host.
const SUITES: [&str; 3] = ["conformance", "contract", "properties"];
/// The C programs that look at what the levels differ in, with work that the emulator does in seconds: without
/// fma instructions it takes minutes to measure the machine.
const LEVELLED: [&str; 4] = ["values", "strides", "bits", "stack"];
/// Tests of sizes that take an emulator many minutes; `full` runs them too, and all at the portable level,
/// whose fma is software there.
const LONG: [&str; 3] = ["many_elements", "larger_than_the_cache", "epilogues"];
/// Random cases of each property, where DIPTYCH_CASES does not say.
const CASES: &str = "20";

/// Runs everything; the longest tests too when `full`.
pub fn run_all(full: bool) -> Result<()> {
    programs()?;
    with_compiler("suites", |sysroot| suites(sysroot, full))
}

/// The C library, shared and static, and its programs.
pub fn programs() -> Result<()> {
    with_compiler("C programs", |sysroot| {
        let library = build(sysroot)?;
        let all = [&ctests::PROGRAMS[..], &["stack"]].concat();
        for linkage in [Linkage::Static, Linkage::Shared] {
            for (level, names) in [("neon", &all[..]), ("portable", &LEVELLED)] {
                ctests::foreign(&library, linkage, names, COMPILER, &EMULATOR, level)?;
            }
        }
        Ok(())
    })
}

/// Runs something with the sysroot of a compiler for the target, where there is all that it takes.
fn with_compiler(what: &str, then: impl FnOnce(&Path) -> Result<()>) -> Result<()> {
    let check = format!("AArch64 under QEMU: {what}");
    if let Some(reason) = missing() {
        return skip(&check, reason);
    }
    match debian::aarch64_sysroot() {
        Ok(sysroot) => then(&sysroot),
        Err(error) => skip(&check, &format!("no std for it: {error:#}")),
    }
}

fn missing() -> Option<&'static str> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Some("this is not x86-64 Linux");
    }
    if !exists(EMULATOR[0]) || !exists(COMPILER) {
        return Some("qemu-user-static or gcc-aarch64-linux-gnu is not installed");
    }
    debian::missing_compiler()
}

/// Debian's cargo for the target.
fn cargo(sysroot: &Path) -> Command {
    const VARIABLE: &str = "CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU";
    let mut command = debian::cargo();
    command.env(format!("{VARIABLE}_LINKER"), COMPILER);
    command.env(format!("{VARIABLE}_RUNNER"), EMULATOR.join(" "));
    command.env("DIPTYCH_RUNNER", EMULATOR.join(" "));
    command.env(
        format!("{VARIABLE}_RUSTFLAGS"),
        format!("--sysroot {}", sysroot.display()),
    );
    command
}

fn suites(sysroot: &Path, full: bool) -> Result<()> {
    let mut command = cargo(sysroot);
    command.args(["test", "--package", "diptych-tests", "--target", TARGET]);
    // Without the feature `pool` of the tests, which brings the plotting library of the examples.
    command.args(["--no-default-features", "--features", "diptych/std"]);
    command
        .arg("--target-dir")
        .arg(paths::target().join("diptych-build/aarch64-tests"));
    for package in ["\"*\"", "xtask"] {
        command
            .arg("--config")
            .arg(format!("profile.dev.package.{package}.opt-level=0"));
    }
    command.args(SUITES.iter().flat_map(|suite| ["--test", suite]));
    command.arg("--");
    if std::env::var_os("DIPTYCH_CASES").is_none() {
        command.env("DIPTYCH_CASES", CASES);
    }
    if !full {
        command.args(LONG.iter().flat_map(|test| ["--skip", test]));
        command.env("DIPTYCH_TEST_LEVEL", "neon");
    }
    show(&mut command)
}

fn build(sysroot: &Path) -> Result<Library> {
    let target = paths::target().join("diptych-build/aarch64");
    let mut command = cargo(sysroot);
    command.args(["rustc", "--quiet", "--release", "--package", "diptych-ffi"]);
    command.args(["--lib", "--crate-type", "staticlib", "--target", TARGET]);
    run(command.arg("--target-dir").arg(&target))?;
    let rust = target.join(TARGET).join("release/libdiptych_ffi.a");
    library::make(
        &rust,
        &paths::target().join("diptych-lib/aarch64"),
        &Tools::prefixed("aarch64-linux-gnu-"),
    )
}
