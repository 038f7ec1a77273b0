//! The GPU bundle: one folder with the library and the scripts that check and time it on a machine with a
//! GPU and nothing of ours.
use crate::command::{exists, run};
use crate::library::{Library, SONAME};
use crate::skip::skip;
use crate::{paths, ptx};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the folder may take.
const MOST_BYTES: u64 = 60 << 20;
/// The newest glibc that the library may want.
const GLIBC: (u32, u32) = (2, 36);
/// How `run` ends without a GPU.
const SKIPPED: i32 = 77;

/// Makes the folder, and runs it here: with a GPU it must pass, without it must say that it was skipped.
pub fn bundle(library: &Library) -> Result<PathBuf> {
    let folder = paths::target().join("diptych-gpu");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    check_glibc(&run(Command::new("readelf")
        .arg("-VW")
        .arg(&library.shared))?)?;
    fs::copy(&library.shared, folder.join(SONAME))?;
    fs::copy(
        paths::root().join("include/diptych.h"),
        folder.join("diptych.h"),
    )?;
    copy_files(&paths::root().join("benches/gpu"), &folder)?;
    copy_files(&ptx::directory(), &folder)?;
    let bytes = size(&folder)?;
    ensure!(
        bytes < MOST_BYTES,
        "{} takes {bytes} bytes",
        folder.display()
    );
    println!("{}: {} KiB", folder.display(), bytes >> 10);
    Ok(folder)
}

/// Runs the bundle where there is no GPU, or one: it must pass, or say that it was skipped.
pub fn check(folder: &Path) -> Result<()> {
    if !exists("python3") {
        return skip("GPU bundle", "python3 is not installed");
    }
    let output = Command::new("./run")
        .current_dir(folder)
        .output()
        .context("run")?;
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    let honest = match output.status.code() {
        Some(0) => text.contains("PASSED"),
        Some(SKIPPED) => text.contains("SKIPPED") && !text.contains("PASSED"),
        _ => false,
    };
    ensure!(
        honest,
        "{}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    Ok(())
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
        ensure!(version <= GLIBC, "the library wants glibc {name}");
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
