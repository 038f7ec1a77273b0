//! Where things lie.
use std::env;
use std::path::{Path, PathBuf};

/// The root of the repository.
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package).to_path_buf()
}

/// Cargo's target directory.
pub fn target() -> PathBuf {
    match env::var_os("CARGO_TARGET_DIR") {
        // As cargo does, a relative directory is taken from the root here.
        Some(dir) => root().join(dir),
        None => root().join("target"),
    }
}

/// The generated C header.
pub fn header() -> PathBuf {
    root().join("include/diptych.h")
}

/// The sources of the C ABI.
pub fn ffi_sources() -> PathBuf {
    root().join("ffi/src")
}

/// Those that `cargo xtask gen` writes.
pub fn generated_functions() -> PathBuf {
    ffi_sources().join("generated")
}

/// The C tests.
pub fn c_tests() -> PathBuf {
    root().join("tests/c")
}
