//! The sources of the PTX.
use crate::paths;
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use walkdir::WalkDir;

const NOT_HASHED: &str = "is not among the sources that are hashed";

/// The items of the CPU backend that the kernels use, and the file of each. The compiler reads all of that crate;
/// only these files decide bits on the device.
const SHARED: [(&str, &str); 21] = [
    ("Dtype", "element"),
    ("Element", "element"),
    ("Storage", "element"),
    ("for_each_storage", "table"),
    ("for_each_element", "table"),
    ("Element", "isa/sqrt"),
    ("bf16", "half"),
    ("f16", "half"),
    ("for_each_elementwise", "table"),
    ("for_each_reduction", "table"),
    ("for_each_row_map", "table"),
    ("select_columns", "table/columns"),
    ("if_same_column", "table/columns"),
    ("backend::Access", "simd"),
    ("backend::Register", "simd"),
    ("backend::Simd", "simd"),
    ("backend::folds", "ops/reduce/fold"),
    ("backend::recipe", "recipe"),
    ("backend::half", "half"),
    ("backend::order", "ops/order"),
    ("backend::scalar", "scalar"),
];
/// What these files use for the CPU alone: the registers of its levels.
const FOR_CPU: &str = "isa::registers";
/// The folder of these files.
const CPU: &str = "kernels-cpu/src";
/// The sources of the kernels.
const DEVICE: &str = "kernels-gpu/device/src";
/// The sources among these that only the host compiles.
const HOST: [&str; 2] = ["gpu/host.rs", "launch.rs"];
/// The package of the kernels, and the workspace, whose profile `dist` matters.
const PACKAGE: &str = "kernels-gpu/device/Cargo.toml";
const WORKSPACE: &str = "Cargo.toml";

/// SHA-256 of each source, by its path. Fails when a kernel uses something of the CPU backend that is not in
/// the list above.
pub fn sources() -> Result<BTreeMap<String, String>> {
    let root = paths::root();
    let read = |file: &str| fs::read_to_string(root.join(file));
    let mut all = BTreeMap::new();
    for (_, module) in SHARED {
        let file = format!("{CPU}/{module}.rs");
        let text = read(&file)?;
        check_shared(&text).context(file.clone())?;
        all.insert(file, hash(text.as_bytes()));
    }
    let device = root.join(DEVICE);
    for entry in WalkDir::new(&device) {
        let path = entry?.into_path();
        if path.is_dir() || HOST.iter().any(|file| path == device.join(file)) {
            continue;
        }
        let name = path.strip_prefix(&root)?.to_string_lossy().into_owned();
        let text = read(&name)?;
        check_device(&text).context(name.clone())?;
        all.insert(name, hash(text.as_bytes()));
    }
    all.insert(PACKAGE.into(), hash(read(PACKAGE)?.as_bytes()));
    let profile = profile(&read(WORKSPACE)?)?;
    let name = format!("{WORKSPACE}: profile.dist");
    all.insert(name, hash(profile.as_bytes()));
    Ok(all)
}

/// SHA-256, as `sha256sum` prints it.
pub fn hash(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// The profile in the workspace's manifest with which the kernels are compiled.
fn profile(workspace: &str) -> Result<String> {
    let table: toml::Table = workspace.parse()?;
    let profile = table.get("profile").and_then(|all| all.get("dist"));
    Ok(profile.context("no profile dist")?.to_string())
}

/// The text after each `name::` in the code of a source.
fn paths_of<'a>(text: &'a str, name: &'a str) -> impl Iterator<Item = &'a str> {
    let lines = text.lines();
    let code = lines.filter(|line| !line.trim_start().starts_with("//"));
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

/// Fails where a kernel's source uses something that is not in the list.
fn check_device(text: &str) -> Result<()> {
    for path in paths_of(text, "diptych") {
        let (prefix, names) = match path.split_once('{') {
            Some((prefix @ ("" | "backend::"), group)) => (prefix, group.split('}').next()),
            _ => ("", path.split([';', ',']).next()),
        };
        for name in names.unwrap_or_default().split(',') {
            let name = format!("{prefix}{}", name.trim());
            let is_known = SHARED.iter().any(|(shared, _)| begins(&name, shared));
            ensure!(is_known, "diptych::{name} {NOT_HASHED}");
        }
    }
    Ok(())
}

/// Fails where a file of the list uses another that is not in the list.
fn check_shared(text: &str) -> Result<()> {
    for path in paths_of(text, "crate") {
        let is_known = SHARED
            .iter()
            .any(|(name, module)| begins(path, &module.replace('/', "::")) || begins(path, name));
        let is_known = is_known || begins(path, FOR_CPU);
        ensure!(is_known, "crate::{path} {NOT_HASHED}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_hashed_is_refused() {
        let known = "use diptych::Element;\nuse diptych::backend::{Simd, scalar};\n\
                     use diptych::backend::folds::{self, Fold};\n// diptych::backend::gemm is for the host.\n    \
                     diptych::backend::order::chunk_len::<T>() as u64";
        check_device(known).unwrap();
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
    fn the_profile_is_found() {
        let text = "[profile.dev]\nopt-level = 1\n[profile.dist]\nlto = \"fat\"\n";
        assert_eq!(profile(text).unwrap(), "{ lto = \"fat\" }");
        assert!(profile("[profile.dev]\n").is_err());
    }
}
