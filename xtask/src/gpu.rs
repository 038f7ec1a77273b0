//! The GPU bundle: one folder with the library, the suite of the device panel and the scripts that check and
//! time them on a machine with a GPU and nothing of ours.
use crate::command::{cargo, cc, run, works};
use crate::library::{Library, SONAME};
use crate::skip::skip;
use crate::{paths, ptx};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the folder may take.
const MOST_BYTES: u64 = 60 << 20;
/// The newest glibc that a program or the library may want.
const GLIBC: (u32, u32) = (2, 36);
/// How `run` ends without a GPU.
const SKIPPED: i32 = 77;

/// Makes the folder.
pub fn bundle(library: &Library) -> Result<PathBuf> {
    let folder = paths::target().join("diptych-gpu");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let shared = folder.join(SONAME);
    fs::copy(&library.shared, &shared)?;
    fs::copy(paths::header(), folder.join("diptych.h"))?;
    copy_files(&paths::root().join("benches/gpu"), &folder)?;
    copy_files(&ptx::directory(), &folder)?;
    let suite = folder.join("suite");
    run(Command::new("strip")
        .arg("-o")
        .arg(&suite)
        .arg(suite_program()?))?;
    let calls = folder.join("calls");
    let mut cc = cc();
    cc.args([
        "-std=c99",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Werror",
        "-Wl,-rpath,$ORIGIN",
    ]);
    run(cc
        .arg(folder.join("calls.c"))
        .arg(&shared)
        .arg("-o")
        .arg(&calls))?;
    for file in [&shared, &suite, &calls] {
        let versions = run(Command::new("readelf").arg("-VW").arg(file))?;
        check_glibc(&versions).with_context(|| file.display().to_string())?;
    }
    let bytes = size(&folder)?;
    ensure!(
        bytes < MOST_BYTES,
        "{} takes {bytes} bytes",
        folder.display()
    );
    println!("{}: {} KiB", folder.display(), bytes >> 10);
    Ok(folder)
}

/// Builds the suite of the device panel, as `cargo test` does, and says where it is.
fn suite_program() -> Result<PathBuf> {
    let mut build = cargo();
    build.args(["test", "--quiet", "--no-run", "--message-format=json"]);
    let messages = run(build.args(["--package", "diptych-tests", "--test", "device"]))?;
    let artifact = |line: &str| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_suite = message["target"]["name"] == "device" && message["profile"]["test"] == true;
        let program = message["executable"].as_str()?;
        is_suite.then(|| PathBuf::from(program))
    };
    messages
        .lines()
        .find_map(artifact)
        .context("cargo names no program of the suite")
}

/// Runs the bundle where there is no GPU, or one: it must pass, or say that it was skipped. Then rehearses it.
pub fn check(folder: &Path) -> Result<()> {
    let python = interpreter();
    if !works(Command::new(&python).arg("--version")) {
        return skip("GPU bundle", "Python is not installed");
    }
    let (code, text) = start(&python, folder, &[])?;
    let honest = match code {
        Some(0) => text.contains("PASSED"),
        Some(SKIPPED) => text.contains("SKIPPED") && !text.contains("PASSED"),
        _ => false,
    };
    ensure!(honest, "the bundle ended with {code:?}");
    rehearse(&python, folder)
}

/// Runs every script with a stand-in for the driver, whose launches the emulator runs.
fn rehearse(python: &Path, folder: &Path) -> Result<()> {
    let stage = tempfile::tempdir()?;
    stand_in(stage.path())?;
    let mut build = cargo();
    // With the features that the suite has: nothing is built twice.
    build.args(["build", "--quiet", "--package", "diptych-tests"]);
    run(build.args(["--package", "diptych-emulator", "--example", "launches"]))?;
    let launches = "liblaunches.so";
    let built = paths::target().join("debug/examples").join(launches);
    fs::copy(built, stage.path().join(launches))?;
    if !works(Command::new(python).args(["-c", "import torch"])) {
        skip(
            "rehearsal of the GPU scripts that need PyTorch",
            "it is not installed",
        )?;
    }
    let stage = stage.path().display().to_string();
    let options = ["--rehearse", &stage, "--out", &stage];
    let (code, text) = start(python, folder, &options)?;
    ensure!(
        code == Some(0)
            && text.contains("REHEARSED")
            && !["FAILED", "PASSED"].iter().any(|word| text.contains(word)),
        "the rehearsal ended with {code:?}"
    );
    Ok(())
}

/// Builds the stand-in for the driver into a folder.
pub fn stand_in(folder: &Path) -> Result<()> {
    let mut cc = cc();
    cc.args(["-D_DEFAULT_SOURCE", "-O1", "-shared", "-fPIC", "-pthread"]);
    // By this name the library finds it once a script has loaded it.
    cc.arg("-Wl,-soname,libcuda.so.1").arg("-o");
    let source = paths::root().join("ffi/tests/cuda/fake_cuda.c");
    run(cc.arg(folder.join("libcuda.so.1")).arg(source)).map(|_| ())
}

/// Starts `run` of the bundle; gives its exit status, and what it printed.
fn start(python: &Path, folder: &Path, options: &[&str]) -> Result<(Option<i32>, String)> {
    let mut command = Command::new(python);
    command.arg("run").args(options).current_dir(folder);
    // No folders of compiled scripts in the bundle.
    command.env("PYTHONDONTWRITEBYTECODE", "1");
    let output = command.output().context("run")?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    print!("{text}");
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    Ok((output.status.code(), text))
}

/// A Python that may have PyTorch: DIPTYCH_PYTHON, else that of target/peers, else the system's.
fn interpreter() -> PathBuf {
    let own = paths::root().join("target/peers/bin/python3");
    match env::var_os("DIPTYCH_PYTHON") {
        Some(named) => named.into(),
        None if own.exists() => own,
        None => "python3".into(),
    }
}

fn copy_files(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).with_context(|| from.display().to_string())? {
        let path = entry?.path();
        if path.is_file() {
            let name = path.file_name().context("a file has a name")?;
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

fn size(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

/// Refuses a library that wants a newer glibc.
fn check_glibc(versions: &str) -> Result<()> {
    for name in versions.split("GLIBC_").skip(1) {
        let name = name
            .split(|c: char| !c.is_ascii_digit() && c != '.')
            .next()
            .unwrap_or_default();
        let mut numbers = name.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
        let version = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
        ensure!(version <= GLIBC, "glibc {name} is wanted");
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
