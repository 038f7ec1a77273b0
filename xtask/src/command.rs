//! Running other programs.
use anyhow::{Context, Result, bail};
use std::env;
use std::ffi::OsString;
use std::process::{Command, Output, Stdio};
use xshell::Shell;

/// A `Command` that runs in the root of the repository. The literal holds its words; `{name}` inserts a variable,
/// `{names...}` an iterator of arguments.
macro_rules! cmd {
    ($words:literal) => {{
        let shell = $crate::command::shell();
        std::process::Command::from(xshell::cmd!(shell, $words))
    }};
}
pub(crate) use cmd;

/// `run` of a command of `cmd!`.
macro_rules! sh {
    ($words:literal) => {
        $crate::command::run(&mut $crate::command::cmd!($words))
    };
}
pub(crate) use sh;

/// Whether this machine is x86-64 Linux.
pub const X86_64_LINUX: bool = cfg!(all(target_arch = "x86_64", target_os = "linux"));

pub(crate) fn shell() -> Shell {
    let shell = Shell::new().expect("the current directory exists");
    shell.change_dir(crate::paths::root());
    shell
}

/// The program that an environment variable names, else `default`.
pub fn program(variable: &str, default: &str) -> OsString {
    env::var_os(variable).unwrap_or_else(|| default.into())
}

/// The path of the cargo that runs this tool, for `cmd!`.
pub fn cargo_path() -> OsString {
    program("CARGO", "cargo")
}

/// The cargo that runs this tool, else the one in the path.
pub fn cargo() -> Command {
    let cargo = cargo_path();
    cmd!("{cargo}")
}

/// The C compiler: $CC, else cc.
pub fn cc() -> Command {
    Command::new(program("CC", "cc"))
}

/// A command for another toolchain: without the variables that cargo and rustup set for the one that runs this tool,
/// and without a person's own flags.
pub fn other_toolchain(mut command: Command) -> Command {
    let toolchain = "CARGO RUSTC RUSTDOC RUSTC_WRAPPER RUSTUP_TOOLCHAIN LD_LIBRARY_PATH";
    let flags = "RUSTFLAGS CARGO_ENCODED_RUSTFLAGS";
    for variable in toolchain.split(' ').chain(flags.split(' ')) {
        command.env_remove(variable);
    }
    command
}

/// Why what needs a nightly compiler cannot run here, if so.
pub fn missing_nightly() -> Option<&'static str> {
    if !X86_64_LINUX {
        return Some("set up for x86-64 Linux");
    }
    let nightly = works(&mut cmd!("rustup run nightly rustc --version"));
    (!nightly).then_some("rustup has no nightly compiler")
}

/// Whether a program can be started at all.
pub fn exists(program: &str) -> bool {
    let mut command = cmd!("{program} --version");
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok()
}

/// Runs a program and returns its status and what it printed, whether or not it succeeds.
pub fn output(command: &mut Command) -> Result<Output> {
    let output = command.output();
    output.with_context(|| format!("cannot start {command:?}"))
}

/// Runs a program quietly and returns its standard output; the error of a failure shows all that it printed.
pub fn run(command: &mut Command) -> Result<String> {
    let output = output(command)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?}: {}\n{text}{errors}", output.status);
    }
    Ok(text)
}

/// Runs a program whose output goes to the terminal; fails when it fails.
pub fn show(command: &mut Command) -> Result<()> {
    let status = command.status();
    let status = status.with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?}: {status}");
    }
    Ok(())
}

/// Whether a program runs and succeeds; shows nothing. For finding out what is installed.
pub fn works(command: &mut Command) -> bool {
    output(command).is_ok_and(|output| output.status.success())
}
