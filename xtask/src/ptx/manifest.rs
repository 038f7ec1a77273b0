//! What the committed PTX was made from, and what is in it.
use super::compile::FLAGS;
use super::directory;
use crate::paths;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The sources of the CPU panel that kernels are made of.
const SHARED: [&str; 6] = [
    "kernels-cpu/src/api/reduce/finish.rs",
    "kernels-cpu/src/element.rs",
    "kernels-cpu/src/ops/reduce/fold.rs",
    "kernels-cpu/src/scalar.rs",
    "kernels-cpu/src/simd.rs",
    "kernels-gpu/device/Cargo.toml",
];
/// The sources of the kernels.
const DEVICE: &str = "kernels-gpu/device/src";
/// What of these is for the host alone.
const HOST: [&str; 2] = ["gpu/host.rs", "launch.rs"];

/// An entry of a PTX file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Bytes of each parameter.
    pub parameters: Vec<usize>,
    /// Threads of a block.
    pub threads: u32,
    /// Barriers of the block in its text. More than in the source means that the compiler has copied one.
    pub barriers: usize,
    /// Shuffles in its text.
    pub shuffles: usize,
}

/// The manifest.
#[derive(Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// What `rustc --version` of the compiler prints.
    pub compiler: String,
    /// Its flags for every crate.
    pub flags: String,
    /// SHA-256 over the sources.
    pub sources: String,
    /// SHA-256 of each PTX file.
    pub ptx: BTreeMap<String, String>,
    /// The entries of the first PTX file; the others have the same ones.
    pub entries: BTreeMap<String, Entry>,
}

impl Manifest {
    /// That of PTX files just made: (target, text).
    pub fn new(compiler: &str, files: &[(&str, String)]) -> Result<Manifest> {
        let (_, first) = files.first().context("no PTX")?;
        Ok(Manifest {
            compiler: compiler.to_owned(),
            flags: FLAGS.to_owned(),
            sources: source_hash()?,
            ptx: files
                .iter()
                .map(|(target, text)| (target.to_string(), hash([text.as_bytes()])))
                .collect(),
            entries: entries(first)?,
        })
    }

    fn file() -> PathBuf {
        directory().join("MANIFEST.toml")
    }

    /// The committed one.
    pub fn read() -> Result<Manifest> {
        let text = fs::read_to_string(Manifest::file())?;
        toml::from_str(&text).context("the manifest of the PTX")
    }

    /// Commits this one.
    pub fn write(&self) -> Result<()> {
        let mut text = format!(
            "# Written by `cargo xtask ptx`.\ncompiler = {:?}\nflags = {:?}\nsources = {:?}\n\n[ptx]\n",
            self.compiler, self.flags, self.sources
        );
        for (target, hash) in &self.ptx {
            text += &format!("{target} = {hash:?}\n");
        }
        text += "\n[entries]\n";
        for (name, e) in &self.entries {
            text += &format!(
                "{name} = {{ parameters = {:?}, threads = {}, barriers = {}, shuffles = {} }}\n",
                e.parameters, e.threads, e.barriers, e.shuffles
            );
        }
        Ok(fs::write(Manifest::file(), text)?)
    }
}

/// SHA-256 of all that the PTX is made from.
pub fn source_hash() -> Result<String> {
    let root = paths::root();
    let mut files: Vec<PathBuf> = SHARED.iter().map(|file| root.join(file)).collect();
    collect(&root.join(DEVICE), &mut files)?;
    let host = HOST.map(|file| root.join(DEVICE).join(file));
    files.retain(|file| !host.contains(file));
    files.sort();
    let mut parts = Vec::new();
    for file in files {
        let name = file.strip_prefix(&root).unwrap_or(&file);
        parts.push(name.to_string_lossy().into_owned().into_bytes());
        parts.push(fs::read(&file).with_context(|| format!("{}", file.display()))?);
    }
    Ok(hash(parts.iter().map(Vec::as_slice)))
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

/// SHA-256 of parts, each with its length in front.
pub fn hash<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    format!("{:x}", hash.finalize())
}

/// The entries in a PTX text.
pub fn entries(text: &str) -> Result<BTreeMap<String, Entry>> {
    let mut all = BTreeMap::new();
    for part in text.split(".visible .entry ").skip(1) {
        let (name, rest) = part
            .split_once('(')
            .context("an entry without parameters")?;
        let (parameters, rest) = rest.split_once(')').context("parameters without an end")?;
        let (head, body) = rest.split_once("\n{").context("an entry without a body")?;
        let threads = head
            .split(".maxntid ")
            .nth(1)
            .and_then(|sizes| sizes.split(',').next()?.trim().parse().ok());
        all.insert(
            name.to_owned(),
            Entry {
                parameters: parameters
                    .lines()
                    .filter_map(|line| line.trim().strip_prefix(".param ."))
                    .filter_map(|line| line.split_whitespace().next())
                    .map(|of| if of.ends_with("64") { 8 } else { 4 })
                    .collect(),
                threads: threads.with_context(|| format!("{name} has no .maxntid"))?,
                barriers: body.matches("bar.sync").count() + body.matches("barrier.sync").count(),
                shuffles: body.matches("shfl.sync").count(),
            },
        );
    }
    Ok(all)
}
