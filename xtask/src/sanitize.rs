//! The suites under the compilers' sanitizers, and the C programs under theirs and valgrind.
use crate::command::{X86_64_LINUX, cmd, missing_nightly, other_toolchain, sh, show};
use crate::skip::skip;
use crate::targets::debian;
use crate::{ctests, library, paths};
use anyhow::Result;
use fs_err as fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The target whose code is instrumented; named, so that build scripts and macros are not.
pub const TRIPLE: &str = "x86_64-unknown-linux-gnu";
/// Checks of accesses as calls: inlined, they would take the compiler a quarter of an hour in the kernels.
pub const OUTLINED: &str = "-Cllvm-args=-asan-instrumentation-with-call-threshold=0";
/// The kernels are large: less of their code is left to instrument when it is optimised.
const KERNELS: &str = "profile.dev.package.diptych.opt-level=1";

/// What to watch for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Kind {
    /// AddressSanitizer and LeakSanitizer on the Rust suites: 15 minutes of processor time, half of it to
    /// build; less with fewer random cases (DIPTYCH_CASES).
    Address,
    /// ThreadSanitizer on the suites with threads; the standard library is instrumented too, and 14 of 15
    /// minutes go into building.
    Thread,
    /// The C programs under AddressSanitizer and UndefinedBehaviorSanitizer, and under valgrind.
    C,
}

/// Runs every kind, or one.
pub fn check(kind: Option<Kind>) -> Result<()> {
    let is_wanted = |one| kind.is_none_or(|wanted| wanted == one);
    if is_wanted(Kind::Address) {
        address()?;
    }
    if is_wanted(Kind::Thread) {
        thread()?;
    }
    if is_wanted(Kind::C) {
        let library = library::build()?;
        ctests::sanitized(&library)?;
        ctests::valgrind(&library)?;
    }
    Ok(())
}

/// Runs programs of the suites with a `cargo test`: each program by its name and the modules to run, or none for all.
fn suites(cargo: impl Fn() -> Command, programs: &[(&str, &[&str])]) -> Result<()> {
    for (program, modules) in programs {
        let mut test = cargo();
        test.args(["--package", "diptych-tests", "--target", TRIPLE]);
        test.args(["--config", KERNELS, "--test", program, "--"]);
        show(test.args(*modules))?;
    }
    Ok(())
}

/// The suites whose arrays have no room beyond their last element.
fn address() -> Result<()> {
    if let Some(reason) = missing_nightly() {
        return skip("suites under AddressSanitizer", reason);
    }
    let dir = paths::target().join("address");
    let flags = format!("-Zsanitizer=address {OUTLINED}");
    let cargo = || {
        let test = cmd!("rustup run nightly cargo test --target-dir {dir}");
        let mut test = other_toolchain(test);
        test.env("RUSTFLAGS", &flags);
        test
    };
    let modules = ["errors::", "threads::", "properties::"];
    suites(cargo, &[("hostile", &[]), ("suite", &modules)])?;
    println!("sanitize: nothing found by AddressSanitizer and LeakSanitizer");
    Ok(())
}

/// The suites with threads. The compiler and the sources of the standard library are those of the package
/// rust-web (or rustc) of the system; the runtime is that of rustup's toolchain, for the system's has none.
fn thread() -> Result<()> {
    let check = "suites under ThreadSanitizer";
    if !X86_64_LINUX {
        return skip(check, "set up for x86-64 Linux");
    }
    let Ok(sysroot) = sh!("/usr/bin/rustc --print sysroot") else {
        return skip(check, "the system has no rustc of its own");
    };
    let sources = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/Cargo.lock");
    if !sources.exists() {
        return skip(check, "the system has no sources of Rust's std");
    }
    let Some(runtime) = runtime()? else {
        return skip(check, "rustup's toolchain has no ThreadSanitizer runtime");
    };
    let Some(lld) = lld() else {
        return skip(check, "no ld.lld; GNU ld does not link the runtime");
    };
    let dir = paths::target().join("thread");
    fs::create_dir_all(&dir)?;
    // The name of a linker must tell cargo that it takes the flags of cc.
    let (linker, lld) = (dir.join("cc.sh"), lld.display());
    let script = format!("#!/bin/sh\nexec cc \"$@\" -fuse-ld=lld -B{lld}\n");
    fs::write(&linker, script)?;
    fs::set_permissions(&linker, PermissionsExt::from_mode(0o755))?;
    let whole = format!("-Wl,--whole-archive {runtime} -Wl,--no-whole-archive");
    let libraries = "-lstdc++ -lm -lpthread -ldl -rdynamic -lc";
    let arguments = whole.split(' ').chain(libraries.split(' '));
    let arguments = arguments.map(|argument| format!(" -Clink-arg={argument}"));
    let flags = "-Zsanitizer=thread -Zexternal-clangrt".to_owned();
    let flags = flags + &arguments.collect::<String>();
    let cargo = || {
        let test = cmd!("/usr/bin/cargo test -Zbuild-std --target-dir {dir}");
        let mut test = debian::with_rustc(test);
        test.env("RUSTC_BOOTSTRAP", "1").env("RUSTFLAGS", &flags);
        test.env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER", &linker);
        // A test starts threads in the child of a fork.
        test.env("TSAN_OPTIONS", "die_after_fork=0");
        // Everything is slower by an order of magnitude.
        test.env("DIPTYCH_LOAD_CALLS", "300");
        test.env("DIPTYCH_SOAK_SECONDS", "2");
        test
    };
    suites(cargo, &[("suite", &["threads::"]), ("load", &[])])?;
    println!("sanitize: nothing found by ThreadSanitizer");
    Ok(())
}

/// The ThreadSanitizer runtime of the toolchain that runs this tool.
fn runtime() -> Result<Option<String>> {
    for entry in fs::read_dir(sh!("rustc --print target-libdir")?.trim())? {
        let path = entry?.path().display().to_string();
        if path.contains("/librustc-") && path.ends_with("_rt.tsan.a") {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// The folder of an LLVM linker.
fn lld() -> Option<PathBuf> {
    let versions = (14..40).rev();
    let folders = versions.map(|version| format!("/usr/lib/llvm-{version}/bin"));
    let mut folders = folders.chain(["/usr/bin".into()]).map(PathBuf::from);
    folders.find(|dir| dir.join("ld.lld").exists())
}
