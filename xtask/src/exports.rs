//! The list of exported functions, read from the sources of the C ABI: the linker scripts and the
//! checks are derived from it, so that no list is kept by hand.
use crate::paths;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const MARK: &str = "#[unsafe(no_mangle)]";

/// The source files of functions and types that no element type belongs to.
const UNTYPED: [&str; 8] = [
    "status", "exec", "epilogue", "error", "info", "pool", "cuda", "advice",
];

/// The source files that exist for each element type.
const FAMILIES: [&str; 7] = [
    "elementwise",
    "outer",
    "gemm",
    "reduce",
    "dot",
    "reduce_rows",
    "fused",
];

/// The source files of the C ABI.
pub fn sources() -> Result<Vec<PathBuf>> {
    let families = |dtype| FAMILIES.iter().map(move |family| typed(dtype, family));
    let untyped = UNTYPED.iter().map(|name| source(name));
    let files: Vec<PathBuf> = untyped
        .chain(families("f32"))
        .chain(families("f64"))
        .collect();
    ensure_complete(&paths::ffi_sources(), &files)?;
    Ok(files)
}

/// A source file by its name, the one for f32 if there are several.
pub fn source(name: &str) -> PathBuf {
    if FAMILIES.contains(&name) {
        typed("f32", name)
    } else {
        paths::ffi_sources().join(format!("{name}.rs"))
    }
}

/// The source file of a family for an element type.
fn typed(dtype: &str, family: &str) -> PathBuf {
    let file = Path::new(dtype).join(format!("{family}.rs"));
    let by_hand = paths::ffi_sources().join(&file);
    if by_hand.is_file() {
        by_hand
    } else {
        paths::generated_functions().join(&file)
    }
}

/// A family that was forgotten above would be missing in the header without a word.
fn ensure_complete(dir: &Path, files: &[PathBuf]) -> Result<()> {
    for entry in fs::read_dir(dir).with_context(|| dir.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            ensure_complete(&path, files)?;
        } else if !files.contains(&path) && fs::read_to_string(&path)?.contains(MARK) {
            bail!(
                "{} exports functions and is not listed in xtask/src/exports.rs",
                path.display()
            );
        }
    }
    Ok(())
}

/// The names of all exported functions.
pub fn names() -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for file in sources()? {
        for name in functions(&file)? {
            ensure!(!names.contains(&name), "{name} is defined twice");
            names.insert(name);
        }
    }
    Ok(names)
}

/// The names of the functions that a source file exports, in its order.
pub fn functions(file: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let function = |text| {
        let name =
            name(text).with_context(|| format!("{}: no function after {MARK}", file.display()))?;
        check_label(name, text)?;
        Ok(name.to_owned())
    };
    text.split(MARK).skip(1).map(function).collect()
}

fn name(function: &str) -> Option<&str> {
    let rest = function.split_once("extern \"C\" fn ")?.1;
    let name = rest.split_once('(')?.0;
    name.starts_with("dpt_").then_some(name)
}

/// The name that a function gives to the error text must be its own.
fn check_label(name: &str, function: &str) -> Result<()> {
    let body = function
        .split_once("\n}")
        .map_or(function, |(body, _)| body);
    for call in ["operation!(", "workspace_query!(", "report("] {
        for rest in body.split(call).skip(1) {
            let label = rest.trim_start().strip_prefix('"');
            let label = label
                .and_then(|rest| rest.split('"').next())
                .unwrap_or_default();
            ensure!(label == name, "{name} reports its errors as {label:?}");
        }
    }
    Ok(())
}
