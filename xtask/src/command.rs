//! Running other programs.
use anyhow::{Context, Result, bail};
use std::env;
use std::ffi::OsString;
use std::process::{Command, Output, Stdio};

/// The cargo that runs this tool, else the one in the path.
pub fn cargo() -> Command {
    let program = env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.current_dir(crate::paths::root());
    command
}

/// The C compiler: $CC, else cc.
pub fn cc() -> Command {
    Command::new(env::var_os("CC").unwrap_or_else(|| OsString::from("cc")))
}

/// The C++ compiler: $CXX, else c++.
pub fn cxx() -> Command {
    Command::new(env::var_os("CXX").unwrap_or_else(|| OsString::from("c++")))
}

/// Whether a program can be started at all.
pub fn exists(program: &str) -> bool {
    let mut command = Command::new(program);
    command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok()
}

fn output(command: &mut Command) -> Result<Output> {
    command
        .output()
        .with_context(|| format!("cannot start {command:?}"))
}

/// Runs a program quietly and gives its standard output; a failure shows all that it printed.
pub fn run(command: &mut Command) -> Result<String> {
    let output = output(command)?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        bail!("{command:?}: {}\n{text}{errors}", output.status);
    }
    Ok(text)
}

/// Runs a program that may print as it likes, and fails when it fails.
pub fn show(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot start {command:?}"))?;
    if !status.success() {
        bail!("{command:?}: {status}");
    }
    Ok(())
}

/// Whether a program runs and succeeds, without showing anything: to find out what is installed.
pub fn works(command: &mut Command) -> bool {
    output(command).is_ok_and(|output| output.status.success())
}
