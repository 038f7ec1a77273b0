//! The manifest of the committed PTX: its sources and its entries.
use super::compile::FLAGS;
use super::cubins::ASSEMBLER;
use super::directory;
use super::sources::{hash, sources};
use anyhow::{Context, Result};
use fs_err as fs;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// An entry of a PTX file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Bytes of each parameter.
    pub parameters: Vec<usize>,
    /// Threads of a block.
    pub threads: u32,
    /// Blocks that a multiprocessor must be able to hold.
    pub blocks: u32,
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
    /// The line of `ptxas --version` with the version that makes the cubins.
    pub assembler: String,
    /// SHA-256 of each PTX file.
    pub ptx: BTreeMap<String, String>,
    /// SHA-256 of each source.
    pub sources: BTreeMap<String, String>,
    /// The entries of the first PTX file; the others have the same ones.
    #[serde(skip_serializing)]
    pub entries: BTreeMap<String, Entry>,
}

impl Manifest {
    /// The manifest of new PTX files: (target, text).
    pub fn new(compiler: &str, files: &[(&str, String)]) -> Result<Manifest> {
        let (_, first) = files.first().context("no PTX")?;
        let hashes = files
            .iter()
            .map(|(target, text)| (target.to_string(), hash(text.as_bytes())));
        Ok(Manifest {
            compiler: compiler.to_owned(),
            flags: FLAGS.to_owned(),
            assembler: ASSEMBLER.to_owned(),
            sources: sources()?,
            ptx: hashes.collect(),
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

    /// Writes this one in its place.
    pub fn write(&self) -> Result<()> {
        let mut text = format!(
            "# Written by `cargo xtask ptx`.\n{}",
            toml::to_string(self)?
        );
        text += "\n[entries]\n";
        for (name, e) in &self.entries {
            text += &format!(
                "{name} = {{ parameters = {:?}, threads = {}, blocks = {}, barriers = {}, shuffles = {} }}\n",
                e.parameters, e.threads, e.blocks, e.barriers, e.shuffles
            );
        }
        Ok(fs::write(Manifest::file(), text)?)
    }
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
        let bound = |directive: &str| -> Result<u32> {
            let rest = head
                .split_once(directive)
                .map(|(_, rest)| rest.trim_start());
            let number = rest.and_then(|rest| rest.split([',', '\n']).next()?.trim().parse().ok());
            number.with_context(|| format!("{name} has no {directive}"))
        };
        let parameters = parameters.lines().filter_map(|line| {
            let of = line.trim().strip_prefix(".param .")?;
            // A struct is an array of bytes.
            if let Some((_, size)) = of.trim_end_matches([',', ']']).split_once('[') {
                return size.parse().ok();
            }
            let of = of.split_whitespace().next()?;
            Some(if of.ends_with("64") { 8 } else { 4 })
        });
        let entry = Entry {
            parameters: parameters.collect(),
            threads: bound(".maxntid")?,
            blocks: bound(".minnctapersm")?,
            barriers: body.matches("bar.sync").count() + body.matches("barrier.sync").count(),
            shuffles: body.matches("shfl.sync").count(),
        };
        all.insert(name.to_owned(), entry);
    }
    Ok(all)
}
