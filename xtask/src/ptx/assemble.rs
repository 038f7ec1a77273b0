//! The assembler's word on the PTX: it must take every entry for each architecture, without spills, and
//! what each needs goes to a committed table.
use super::model::{self, DISASSEMBLED, commit};
use super::{TARGETS, directory, file};
use crate::command::{run as run_command, works};
use crate::paths;
use crate::skip::skip;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The architectures, each with the PTX that a driver would take for it.
pub const ARCHITECTURES: [(&str, &str); 8] = [
    ("sm_75", "sm_75"),
    ("sm_80", "sm_75"),
    ("sm_86", "sm_75"),
    ("sm_89", "sm_75"),
    ("sm_90", "sm_75"),
    ("sm_90a", "sm_90a"),
    ("sm_100a", "sm_75"),
    ("sm_120", "sm_75"),
];

/// What an entry needs on each architecture.
type Needs = BTreeMap<String, Vec<String>>;

/// Assembles the committed PTX, and writes the table or, with `check`, compares it.
pub fn run(check: bool) -> Result<()> {
    let Some(ptxas) = tool("ptxas", "DIPTYCH_PTXAS") else {
        return skip(
            "assembling the PTX",
            "it takes ptxas: `python3 -m pip install --no-deps --target target/cuda nvidia-cuda-nvcc`, \
             or name one in DIPTYCH_PTXAS",
        );
    };
    fs::create_dir_all(paths::target().join("ptx"))?;
    let mut needs = Needs::new();
    for (architecture, target) in ARCHITECTURES {
        debug_assert!(TARGETS.contains(&target));
        for (entry, words) in assemble(&ptxas, architecture, target)? {
            needs.entry(entry).or_default().push(words);
        }
    }
    let text = table(&version(&ptxas)?, &needs)?;
    commit(check, &directory().join("RESOURCES.md"), &text)?;
    println!(
        "{} entries assemble for {} architectures, without spills",
        needs.len(),
        ARCHITECTURES.len()
    );
    model::run(check, &registers(&needs, DISASSEMBLED[0])?)
}

/// Of each entry on one architecture.
fn registers(needs: &Needs, architecture: &str) -> Result<BTreeMap<String, usize>> {
    let column = ARCHITECTURES
        .iter()
        .position(|(known, _)| *known == architecture)
        .context("an architecture that is not assembled for")?;
    needs
        .iter()
        .map(|(entry, words)| Ok((entry.clone(), words[column].parse()?)))
        .collect()
}

/// A program of CUDA: that which the variable names, in the path, or of the Python package under target/cuda.
pub fn tool(name: &str, variable: &str) -> Option<PathBuf> {
    let wheel = paths::target().join("cuda/nvidia/cu13/bin").join(name);
    let named = env::var_os(variable).map(PathBuf::from);
    [named, Some(name.into()), Some(wheel)]
        .into_iter()
        .flatten()
        .find(|path| works(Command::new(path).arg("--version")))
}

/// What a program of CUDA says of its version.
pub fn version(tool: &Path) -> Result<String> {
    let text = run_command(Command::new(tool).arg("--version"))?;
    let line = text.lines().find(|line| line.contains("release"));
    let line = line.with_context(|| format!("{} tells no version", tool.display()))?;
    Ok(line.trim().to_owned())
}

/// Where the code for an architecture is assembled to.
pub fn cubin(architecture: &str) -> PathBuf {
    paths::target().join(format!("ptx/{architecture}.cubin"))
}

/// Assembles for one architecture; gives what each entry needs.
fn assemble(ptxas: &Path, architecture: &str, target: &str) -> Result<BTreeMap<String, String>> {
    let mut command = Command::new(ptxas);
    command.args([
        "--verbose",
        "--warn-on-spills",
        "--warn-on-local-memory-usage",
    ]);
    let cubin = cubin(architecture);
    command.arg("--output-file").arg(&cubin);
    command.arg(format!("--gpu-name={architecture}"));
    let output = command.arg(file(target)).output()?;
    let report = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{architecture}: {report}");
    if let Some(line) = complaint(&report) {
        bail!("{architecture}: {line}");
    }
    let mut entries = BTreeMap::new();
    let mut entry = None;
    for line in report.lines() {
        if let Some(rest) = line.split("Compiling entry function '").nth(1) {
            entry = rest.split('\'').next().map(str::to_owned);
        } else if line.contains("bytes stack frame") {
            ensure!(
                line.trim() == "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
                "{architecture}: {entry:?} has {}",
                line.trim()
            );
        } else if let Some(rest) = line.split("Used ").nth(1) {
            let registers = rest.split(' ').next().unwrap_or_default();
            let name = entry.take().context("registers of no entry")?;
            entries.insert(name, registers.to_owned());
        }
    }
    Ok(entries)
}

/// What the assembler has to say against a kernel, if anything. That the steps of a product on tensor cores wait
/// for each other, C7510 to C7519, it calls information.
fn complaint(report: &str) -> Option<&str> {
    let complains = |line: &&str| line.contains("warning") || line.contains("(C75");
    report.lines().find(complains)
}

fn table(version: &str, needs: &Needs) -> Result<String> {
    let mut text = format!(
        "# Registers of each kernel\n\n{version}. Written by `cargo xtask ptx`. No kernel has a stack frame or \
         spills; shared memory is asked for at the launch.\n\n| entry |"
    );
    for (architecture, _) in ARCHITECTURES {
        write!(text, " {architecture} |")?;
    }
    write!(text, "\n| --- |{}", " ---: |".repeat(ARCHITECTURES.len()))?;
    for (entry, registers) in needs {
        ensure!(
            registers.len() == ARCHITECTURES.len(),
            "{entry} is not there for each architecture"
        );
        write!(text, "\n| {entry} | {} |", registers.join(" | "))?;
    }
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complaints_are_seen() {
        let quiet = "ptxas info    : Used 118 registers, used 1 barriers\n";
        assert_eq!(complaint(quiet), None);
        for line in [
            "ptxas info    : (C7517) Potential Performance Loss: wgmma.mma_async instructions are serialized due \
             to ill formed pipeline stage in the function 'k'",
            "ptxas warning : Local memory used for function 'k', size of stack frame: 8 bytes",
        ] {
            assert_eq!(complaint(&format!("{quiet}{line}\n")), Some(line));
        }
    }
}
