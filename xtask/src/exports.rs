//! The list of exported functions, read from the sources of the C ABI: the linker scripts and the
//! checks are derived from it, so that no list is kept by hand.
use crate::paths;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

const MARK: &str = "#[unsafe(no_mangle)]";

/// The source files of the C ABI, in the order in which the header lists their functions.
pub fn sources() -> Result<Vec<PathBuf>> {
    let src = paths::ffi_sources();
    let mut files: Vec<PathBuf> = [
        "status", "exec", "epilogue", "error", "info", "pool", "cuda", "advice",
    ]
    .map(|name| src.join(format!("{name}.rs")))
    .into();
    for dtype in ["f32", "f64"] {
        for family in [
            "elementwise",
            "outer",
            "gemm",
            "reduce",
            "dot",
            "reduce_rows",
            "fused",
        ] {
            let file = Path::new(dtype).join(format!("{family}.rs"));
            let by_hand = src.join(&file);
            let generated = paths::generated_functions().join(&file);
            files.push(if by_hand.is_file() {
                by_hand
            } else {
                generated
            });
        }
    }
    ensure_complete(&src, &files)?;
    Ok(files)
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
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        for function in text.split(MARK).skip(1) {
            let name = name(function)
                .with_context(|| format!("{}: no function after {MARK}", file.display()))?;
            check_label(name, function)?;
            ensure!(names.insert(name.to_owned()), "{name} is defined twice");
        }
    }
    Ok(names)
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
