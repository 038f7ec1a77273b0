//! What the PTX is made from.
use crate::paths;
use anyhow::{Context, Result, ensure};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What the kernels take of the CPU panel, and the file that holds it. The compiler reads all of that crate;
/// only these decide bits on the device.
const SHARED: [(&str, &str); 16] = [
    ("Dtype", "element"),
    ("Element", "element"),
    ("Storage", "element"),
    ("for_each_storage", "table"),
    ("for_each_element", "table"),
    ("Element", "isa/sqrt"),
    ("bf16", "half"),
    ("for_each_elementwise", "table"),
    ("for_each_reduction", "table"),
    ("backend::Access", "simd"),
    ("backend::Register", "simd"),
    ("backend::Simd", "simd"),
    ("backend::folds", "ops/reduce/fold"),
    ("backend::recipe", "recipe"),
    ("backend::order", "ops/order"),
    ("backend::scalar", "scalar"),
];
/// Where these files are.
const CPU: &str = "kernels-cpu/src";
/// The sources of the kernels.
const DEVICE: &str = "kernels-gpu/device/src";
/// What of these is for the host alone.
const HOST: [&str; 2] = ["gpu/host.rs", "launch.rs"];
/// The package of the kernels, and the workspace, of which the release profile counts.
const PACKAGE: &str = "kernels-gpu/device/Cargo.toml";
const WORKSPACE: &str = "Cargo.toml";

/// SHA-256 of each source, by its path. Fails when a kernel takes something of the CPU panel that is not in
/// the list above.
pub fn sources() -> Result<BTreeMap<String, String>> {
    let root = paths::root();
    let read = |file: &Path| fs::read_to_string(file).with_context(|| file.display().to_string());
    let mut all = BTreeMap::new();
    for (_, module) in SHARED {
        let file = format!("{CPU}/{module}.rs");
        let text = read(&root.join(&file))?;
        check_shared(&text).context(file.clone())?;
        all.insert(file, hash(text.as_bytes()));
    }
    let mut files = Vec::new();
    collect(&root.join(DEVICE), &mut files)?;
    let host = HOST.map(|file| root.join(DEVICE).join(file));
    files.retain(|file| !host.contains(file));
    for file in files {
        let text = read(&file)?;
        let name = file.strip_prefix(&root).unwrap_or(&file);
        let name = name.to_string_lossy().into_owned();
        check_device(&text).context(name.clone())?;
        all.insert(name, hash(text.as_bytes()));
    }
    all.insert(PACKAGE.into(), hash(read(&root.join(PACKAGE))?.as_bytes()));
    let profile = release_profile(&read(&root.join(WORKSPACE))?)?;
    all.insert(
        format!("{WORKSPACE}: profile.release"),
        hash(profile.as_bytes()),
    );
    Ok(all)
}

/// SHA-256, as `sha256sum` prints it.
pub fn hash(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for item in fs::read_dir(directory)? {
        let path = item?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else {
            files.push(path);
        }
    }
    Ok(())
}

/// What decides how the kernels are compiled, of the workspace's manifest.
fn release_profile(workspace: &str) -> Result<String> {
    let table: toml::Table = workspace.parse()?;
    let profile = table.get("profile").and_then(|all| all.get("release"));
    Ok(profile.context("no release profile")?.to_string())
}

/// What follows each `name::` in the code of a source.
fn paths_of<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let code = text
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    code.flat_map(move |line| {
        line.match_indices(name).filter_map(move |(at, _)| {
            let before = line[..at].chars().next_back();
            let apart = !before.is_some_and(|c| c.is_alphanumeric() || c == '_');
            line[at + name.len()..].strip_prefix("::").filter(|_| apart)
        })
    })
}

/// Whether a path begins with the names of another.
fn begins(path: &str, with: &str) -> bool {
    let rest = path.strip_prefix(with);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

/// A kernel's source takes only what is in the list.
fn check_device(text: &str) -> Result<()> {
    for path in paths_of(text, "diptych") {
        let (prefix, names) = match path.split_once('{') {
            Some((prefix @ ("" | "backend::"), group)) => {
                let group = group.split('}').next().unwrap_or_default();
                (prefix, group.split(',').collect())
            }
            _ => ("", vec![path.split(';').next().unwrap_or_default()]),
        };
        for name in names {
            let name = format!("{prefix}{}", name.trim());
            let known = SHARED.iter().any(|(shared, _)| begins(&name, shared));
            ensure!(
                known,
                "diptych::{name} is not among the sources that are hashed"
            );
        }
    }
    Ok(())
}

/// A file of the list names only others of it.
fn check_shared(text: &str) -> Result<()> {
    for path in paths_of(text, "crate") {
        let mut shared = SHARED.iter();
        let known = shared
            .any(|(name, module)| begins(path, &module.replace('/', "::")) || begins(path, name));
        ensure!(
            known,
            "crate::{path} is not among the sources that are hashed"
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hash_is_that_of_sha256sum() {
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash(b"abc"), abc);
    }

    #[test]
    fn what_is_not_hashed_is_refused() {
        for known in [
            "use diptych::Element;",
            "use diptych::backend::{Simd, scalar};",
            "use diptych::backend::folds::{self, Fold};",
            "    diptych::backend::order::chunk_len::<T>() as u64",
            "// diptych::backend::gemm is for the host.",
        ] {
            check_device(known).unwrap();
        }
        for unknown in [
            "use diptych::backend::gemm::Gemm;",
            "use diptych::backend::{Simd, gemm};",
            "use diptych::raw;",
            "use diptych::backend::orders::KSEG;",
        ] {
            assert!(check_device(unknown).is_err(), "{unknown}");
        }
        check_shared("use crate::element::Element;\nuse crate::ops::order::KSEG;").unwrap();
        assert!(check_shared("use crate::ops::gemm::params::NC;").is_err());
    }

    #[test]
    fn the_release_profile_is_found() {
        let text = "[profile.dev]\nopt-level = 1\n[profile.release]\nlto = \"fat\"\n";
        let other = text.replace("fat", "thin");
        assert_ne!(
            release_profile(text).unwrap(),
            release_profile(&other).unwrap()
        );
        assert!(release_profile("[profile.dev]\n").is_err());
    }
}
