//! The GPU bundle: one folder with the library, the device suite and the scripts that check and time them on a machine
//! with a GPU, where nothing else of this project has to be installed.
use crate::command::{cargo_path, cmd, output, program, sh, works};
use crate::library::{Library, SONAME};
use crate::skip::skip;
use crate::{paths, ptx};
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use serde_json::Value;
use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// The largest size of the folder.
const MOST_BYTES: u64 = 48 << 20;
/// The newest glibc that a program or the library may need.
const GLIBC: [u32; 2] = [2, 36];
/// The modules of the simulator that make calls.
const MAKERS: [&str; 7] = [
    "arrays.py",
    "cases.py",
    "edges.py",
    "header.py",
    "integers.py",
    "matmul.py",
    "tensors.py",
];
/// The exit status of `run` without a GPU.
const SKIPPED: i32 = 77;

/// Makes the folder.
pub fn bundle(library: &Library) -> Result<PathBuf> {
    let folder = paths::target().join("diptych-gpu");
    paths::make_empty(&folder)?;
    let [shared, suite, calls] = [SONAME, "suite", "calls"].map(|name| folder.join(name));
    fs::copy(&library.shared, &shared)?;
    fs::copy(paths::header(), folder.join("diptych.h"))?;
    paths::copy_files(&paths::root().join("benches/gpu"), &folder)?;
    paths::copy_files(&ptx::directory(), &folder)?;
    for architecture in ptx::cubins::ARCHITECTURES {
        sh!("gzip -9 --no-name {folder}/{architecture}.cubins")?;
    }
    // What makes the simulator's calls over tensors makes those of `over_tensors.py`.
    for module in MAKERS {
        let simulator = paths::root().join("kernels-gpu/ptxsim");
        fs::copy(simulator.join(module), folder.join(module))?;
    }
    package(&folder)?;
    let (built, cc) = (suite_program()?, program("CC", "cc"));
    sh!("strip -o {suite} {built}")?;
    sh!(
        "{cc} -std=c99 -O2 -Wall -Wextra -Werror -Wl,-rpath,$ORIGIN {folder}/calls.c {shared} -ldl -o {calls}"
    )?;
    for file in [&shared, &suite, &calls] {
        let versions = sh!("readelf -VW {file}")?;
        check_glibc(&versions).with_context(|| file.display().to_string())?;
    }
    let mut bytes = 0;
    for entry in fs::read_dir(&folder)? {
        bytes += entry?.metadata()?.len();
    }
    let name = folder.display();
    ensure!(bytes < MOST_BYTES, "{name} takes {bytes} bytes");
    println!("{name}: {} KiB", bytes >> 10);
    Ok(folder)
}

/// Copies the wheel that `cargo xtask python` built, if it has; without it the part `package` is skipped.
fn package(folder: &Path) -> Result<()> {
    let wheels = paths::target().join("wheels");
    if !wheels.exists() {
        return skip(
            "the Python package in the GPU bundle",
            "`cargo xtask python` has built no wheel",
        );
    }
    paths::copy_files(&wheels, folder)
}

/// Builds the device suite, as `cargo test` does, and returns its path.
fn suite_program() -> Result<PathBuf> {
    let cargo = cargo_path();
    let messages = sh!(
        "{cargo} test --quiet --no-run --message-format=json --package diptych-tests --test device"
    )?;
    let artifact = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_suite = message["target"]["name"] == "device" && message["profile"]["test"] == true;
        let program = message["executable"].as_str()?;
        is_suite.then(|| PathBuf::from(program))
    };
    let program = messages.lines().find_map(artifact);
    program.context("cargo names no program of the suite")
}

/// Runs the bundle, with or without a GPU: it must pass, or say that it was skipped. Then rehearses it.
pub fn check(folder: &Path) -> Result<()> {
    let python = interpreter();
    if !works(&mut cmd!("{python} --version")) {
        return skip("GPU bundle", "Python is not installed");
    }
    let (code, text) = start(&python, folder, &[])?;
    let is_honest = match code {
        Some(0) => text.contains("PASSED"),
        Some(SKIPPED) => text.contains("SKIPPED") && !text.contains("PASSED"),
        _ => false,
    };
    ensure!(is_honest, "the bundle ended with {code:?}");
    rehearse(&python, folder)
}

/// Runs every script with a stand-in for the driver, whose launches the emulator runs.
fn rehearse(python: &OsStr, folder: &Path) -> Result<()> {
    let stage = tempfile::tempdir()?;
    stand_in(stage.path())?;
    launches(stage.path())?;
    if !works(&mut cmd!("{python} -c 'import torch'")) {
        let check = "rehearsal of the GPU scripts that need PyTorch";
        skip(check, "it is not installed")?;
    }
    let stage = stage.path().display().to_string();
    let (code, text) = start(python, folder, &["--rehearse", &stage, "--out", &stage])?;
    let has = |word| text.contains(word);
    let is_honest = code == Some(0) && has("REHEARSED") && !has("FAILED") && !has("PASSED");
    ensure!(is_honest, "the rehearsal ended with {code:?}");
    Ok(())
}

/// Builds the stand-in for the driver into a folder.
pub fn stand_in(folder: &Path) -> Result<()> {
    let (cc, libcuda) = (program("CC", "cc"), folder.join("libcuda.so.1"));
    // The library finds it by this SONAME once a script has loaded it.
    sh!(
        "{cc} -D_DEFAULT_SOURCE -O1 -shared -fPIC -pthread -Wl,-soname,libcuda.so.1 -o {libcuda}
         ffi/tests/cuda/fake_cuda.c"
    )?;
    Ok(())
}

/// Builds what runs the launches of the stand-in, the emulator, into a folder.
pub fn launches(folder: &Path) -> Result<()> {
    let (cargo, name) = (cargo_path(), "liblaunches.so");
    // With the package of the suite, so that the emulator has the suite's features and is not built twice.
    sh!(
        "{cargo} build --quiet --package diptych-tests --package diptych-emulator --example launches"
    )?;
    let built = paths::target().join("debug/examples").join(name);
    fs::copy(built, folder.join(name))?;
    Ok(())
}

/// Starts `run` of the bundle; returns its exit status, and what it printed.
fn start(python: &OsStr, folder: &Path, options: &[&str]) -> Result<(Option<i32>, String)> {
    let mut command = cmd!("{python} run {options...}");
    // No folders of compiled scripts in the bundle.
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let output = output(command.current_dir(folder))?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{text}");
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    Ok((output.status.code(), text))
}

/// A Python that may have PyTorch: DIPTYCH_PYTHON, else that of target/peers, else the system's.
fn interpreter() -> OsString {
    let own = paths::root().join("target/peers/bin/python3");
    match env::var_os("DIPTYCH_PYTHON") {
        Some(named) => named,
        None if own.exists() => own.into(),
        None => "python3".into(),
    }
}

/// Refuses a library that needs a newer glibc.
fn check_glibc(versions: &str) -> Result<()> {
    for rest in versions.split("GLIBC_").skip(1) {
        let numbers = rest.split(|c: char| !c.is_ascii_digit() && c != '.').next();
        let numbers = numbers.unwrap_or_default().split('.').take(2);
        let version: Vec<u32> = numbers.filter_map(|number| number.parse().ok()).collect();
        ensure!(version[..] <= GLIBC[..], "needs glibc {version:?}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check_glibc;

    #[test]
    fn a_newer_glibc_is_refused() {
        assert!(check_glibc("Name: GLIBC_2.2.5  Flags: none\n Name: GLIBC_2.36 x").is_ok());
        assert!(check_glibc("Name: GLIBC_2.2.5\n Name: GLIBC_2.38 x").is_err());
    }
}
