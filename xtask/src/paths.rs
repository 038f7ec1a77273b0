//! Paths in the repository.
use anyhow::Result;
use fs_err as fs;
use std::env;
use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

/// Cargo's target directory.
pub fn target() -> PathBuf {
    // Cargo runs in the root here, so a relative directory is relative to it.
    root().join(env::var_os("CARGO_TARGET_DIR").unwrap_or_else(|| "target".into()))
}

/// The generated C header.
pub fn header() -> PathBuf {
    root().join("include/diptych.h")
}

/// The sources of the C ABI.
pub fn ffi_sources() -> PathBuf {
    root().join("ffi/src")
}

/// The C functions that `cargo xtask gen` writes.
pub fn generated_functions() -> PathBuf {
    ffi_sources().join("generated")
}

/// The C tests.
pub fn c_tests() -> PathBuf {
    root().join("tests/c")
}

/// Makes a folder, or empties it.
pub fn make_empty(folder: &Path) -> Result<()> {
    if folder.exists() {
        fs::remove_dir_all(folder)?;
    }
    Ok(fs::create_dir_all(folder)?)
}

/// Copies the files of one folder, without its folders, into another.
pub fn copy_files(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.path().is_file() {
            fs::copy(entry.path(), to.join(entry.file_name()))?;
        }
    }
    Ok(())
}
