//! The list of exported functions, read from the sources of the C ABI. The linker scripts and the checks use it, so
//! no list is kept by hand.
use crate::paths;
use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

const MARK: &str = "#[unsafe(no_mangle)]";

/// The source files that exist for each element type.
const FAMILIES: [&str; 8] = [
    "elementwise",
    "outer",
    "gemm",
    "reduce",
    "dot",
    "reduce_rows",
    "row_map",
    "fused",
];

/// The source files of the functions over tensors, and that of their structs.
const TENSORS: [&str; 5] = [
    "tensor/mod",
    "tensor/epilogue",
    "generated/tensors",
    "tensor/products",
    "tensor/packed",
];

/// The source files of the C ABI, in the order in which the header lists their functions. Fails where another file
/// exports functions: the header would lack them.
pub fn sources() -> Result<Vec<PathBuf>> {
    let common = "status exec epilogue error info fingerprint pool cuda advice".split(' ');
    let mut files: Vec<PathBuf> = common.map(source).collect();
    for dtype in ["f32", "f64"] {
        files.extend(FAMILIES.iter().map(|family| typed(dtype, family)));
    }
    files.extend(TENSORS.map(source));
    for entry in WalkDir::new(paths::ffi_sources()) {
        let path = entry?.into_path();
        if path.is_file() && !files.contains(&path) && fs::read_to_string(&path)?.contains(MARK) {
            let file = path.display();
            bail!("{file} exports functions and is not listed in xtask/src/exports.rs");
        }
    }
    Ok(files)
}

/// A source file by its name, the one for f32 if there are several.
pub fn source(name: &str) -> PathBuf {
    if FAMILIES.contains(&name) {
        return typed("f32", name);
    }
    paths::ffi_sources().join(format!("{name}.rs"))
}

/// The source file of a family for an element type.
fn typed(dtype: &str, family: &str) -> PathBuf {
    paths::generated_functions().join(format!("{dtype}/{family}.rs"))
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
    let mut names = Vec::new();
    for function in fs::read_to_string(file)?.split(MARK).skip(1) {
        let name = name(function);
        let name = name.with_context(|| format!("{file:?}: no function after {MARK}"))?;
        check_label(name, function)?;
        names.push(name.to_owned());
    }
    Ok(names)
}

fn name(function: &str) -> Option<&str> {
    let rest = function.split_once("extern \"C\" fn ")?.1;
    let name = rest.split_once('(')?.0;
    name.starts_with("dpt_").then_some(name)
}

/// Fails unless the name that a function gives to the error text is its own.
fn check_label(name: &str, function: &str) -> Result<()> {
    let body = function.split("\n}").next().unwrap_or_default();
    for call in ["operation!(", "workspace_query!(", "report("] {
        for rest in body.split(call).skip(1) {
            let label = rest.trim_start().strip_prefix('"');
            let label = label.and_then(|rest| rest.split('"').next());
            let is_own = label == Some(name);
            ensure!(is_own, "{name} reports its errors as {label:?}");
        }
    }
    Ok(())
}
