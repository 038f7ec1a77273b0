//! The suites under the compilers' sanitizers, and the C programs under theirs and valgrind.
use crate::command::{run, show, works};
use crate::skip::skip;
use crate::{ctests, library, paths};
use anyhow::{Context, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

const TRIPLE: &str = "x86_64-unknown-linux-gnu";

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

/// Everything, or one kind.
pub fn check(kind: Option<Kind>) -> Result<()> {
    for (one, watch) in [
        (Kind::Address, address as fn() -> Result<()>),
        (Kind::Thread, thread),
        (Kind::C, c),
    ] {
        if kind.is_none_or(|wanted| wanted == one) {
            watch()?;
        }
    }
    Ok(())
}

fn c() -> Result<()> {
    let library = library::build()?;
    ctests::sanitized(&library)?;
    ctests::valgrind(&library)
}

/// A test binary of the suites.
fn suites(command: &mut Command, names: &[&str]) {
    command.args(["test", "--package", "diptych-tests", "--target", TRIPLE]);
    // The kernels are large: what is not optimised away is not instrumented.
    command.args(["--config", "profile.dev.package.diptych.opt-level=1"]);
    for name in names {
        command.args(["--test", name]);
    }
}

/// The suites whose arrays are as large as they have to be.
fn address() -> Result<()> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return skip("suites under AddressSanitizer", "set up for x86-64 Linux");
    }
    if !works(Command::new("rustup").args(["run", "nightly", "rustc", "--version"])) {
        return skip(
            "suites under AddressSanitizer",
            "rustup has no nightly compiler",
        );
    }
    let mut command = Command::new("rustup");
    command
        .current_dir(paths::root())
        .args(["run", "nightly", "cargo"]);
    suites(
        &mut command,
        &["hostile", "errors", "threads", "properties"],
    );
    command
        .arg("--target-dir")
        .arg(paths::target().join("address"));
    let flags = format!("-Zsanitizer=address {OUTLINED}");
    show(plain(&mut command).env("RUSTFLAGS", flags))?;
    println!("sanitize: nothing found by AddressSanitizer and LeakSanitizer");
    Ok(())
}

/// Checks of accesses as calls: inlined, they would take the compiler a quarter of an hour in the kernels.
pub const OUTLINED: &str = "-Cllvm-args=-asan-instrumentation-with-call-threshold=0";

/// Without what the cargo that runs this tool has set for its own compiler.
fn plain(command: &mut Command) -> &mut Command {
    for variable in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(variable);
    }
    command
}

/// A compiler that can build the standard library: the system's, with its sources.
const RUSTC: &str = "/usr/bin/rustc";
const SOURCES: &str = "lib/rustlib/src/rust/library/Cargo.lock";

/// The suites with threads. The compiler and the sources of the standard library are those of the package
/// rust-web (or rustc) of the system; the runtime is that of rustup's toolchain, for the system's has none.
fn thread() -> Result<()> {
    let check = "suites under ThreadSanitizer";
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return skip(check, "set up for x86-64 Linux");
    }
    let Ok(sysroot) = run(Command::new(RUSTC).args(["--print", "sysroot"])) else {
        return skip(check, "the system has no rustc of its own");
    };
    if !Path::new(sysroot.trim()).join(SOURCES).exists() {
        return skip(
            check,
            "the system has no sources of Rust's standard library",
        );
    }
    let Some(runtime) = runtime()? else {
        return skip(check, "rustup's toolchain has no ThreadSanitizer runtime");
    };
    let Some(lld) = lld() else {
        return skip(check, "no ld.lld; GNU ld does not link the runtime");
    };
    let dir = paths::target().join("thread");
    fs::create_dir_all(&dir)?;
    let linker = linker(&dir, &lld)?;
    let mut command = Command::new("/usr/bin/cargo");
    command.current_dir(paths::root());
    suites(&mut command, &["threads", "load"]);
    command.arg("-Zbuild-std").arg("--target-dir").arg(&dir);
    let whole = ["--whole-archive", &runtime, "--no-whole-archive"].map(|argument| {
        let prefix = if argument.starts_with("--") {
            "-Wl,"
        } else {
            ""
        };
        format!("-Clink-arg={prefix}{argument}")
    });
    let libraries = ["-lstdc++", "-lm", "-lpthread", "-ldl", "-rdynamic", "-lc"]
        .map(|l| format!("-Clink-arg={l}"));
    let flags = [
        vec!["-Zsanitizer=thread".into(), "-Zexternal-clangrt".into()],
        whole.to_vec(),
        libraries.to_vec(),
    ];
    plain(&mut command)
        .env("RUSTC", RUSTC)
        .env("RUSTDOC", "/usr/bin/rustdoc")
        .env("RUSTC_BOOTSTRAP", "1")
        .env("CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_LINKER", linker)
        .env("RUSTFLAGS", flags.concat().join(" "))
        // A test starts threads in the child of a fork.
        .env("TSAN_OPTIONS", "die_after_fork=0")
        // Everything is slower by an order of magnitude.
        .env("DIPTYCH_LOAD_CALLS", "300")
        .env("DIPTYCH_SOAK_SECONDS", "2");
    show(&mut command)?;
    println!("sanitize: nothing found by ThreadSanitizer");
    Ok(())
}

/// The ThreadSanitizer runtime of the toolchain that runs this tool.
fn runtime() -> Result<Option<String>> {
    let text = run(Command::new("rustc").args(["--print", "target-libdir"]))?;
    let dir = PathBuf::from(text.trim());
    for entry in fs::read_dir(&dir).with_context(|| dir.display().to_string())? {
        let path = entry?.path();
        let name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        if name.starts_with("librustc-") && name.ends_with("_rt.tsan.a") {
            return Ok(path.to_str().map(str::to_owned));
        }
    }
    Ok(None)
}

/// The folder of a linker of LLVM's.
fn lld() -> Option<PathBuf> {
    let versions = (14..40)
        .rev()
        .map(|version| PathBuf::from(format!("/usr/lib/llvm-{version}/bin")));
    versions
        .chain([PathBuf::from("/usr/bin")])
        .find(|dir| dir.join("ld.lld").exists())
}

/// A linker for cargo, whose name says that it takes the flags of cc.
fn linker(dir: &Path, lld: &Path) -> Result<PathBuf> {
    let script = dir.join("cc.sh");
    fs::write(
        &script,
        format!(
            "#!/bin/sh\nexec cc \"$@\" -fuse-ld=lld -B{}\n",
            lld.display()
        ),
    )?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    Ok(script)
}
