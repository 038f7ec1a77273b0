//! The assembler's word on the PTX: it must take every entry for each architecture, without spills, and
//! what each needs goes to a committed table.
use super::{TARGETS, directory, file};
use crate::command::{run as run_command, works};
use crate::paths;
use crate::skip::skip;
use anyhow::{Context, Result, bail, ensure};
use std::collections::BTreeMap;
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// The architectures, each with the PTX that a driver would take for it.
const ARCHITECTURES: [(&str, &str); 8] = [
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
    let Some(ptxas) = find() else {
        return skip(
            "assembling the PTX",
            "it takes ptxas: `python3 -m pip install --no-deps --target target/cuda nvidia-cuda-nvcc`, \
             or name one in DIPTYCH_PTXAS",
        );
    };
    let mut needs = Needs::new();
    for (architecture, target) in ARCHITECTURES {
        debug_assert!(TARGETS.contains(&target));
        for (entry, words) in assemble(&ptxas, architecture, target)? {
            needs.entry(entry).or_default().push(words);
        }
    }
    let text = table(&version(&ptxas)?, &needs)?;
    let path = directory().join("RESOURCES.md");
    if !check {
        fs::write(path, text)?;
    } else {
        let committed = fs::read_to_string(path)?;
        // Another assembler gives other numbers; that it takes everything has been seen.
        let same_assembler = committed.lines().nth(2) == text.lines().nth(2);
        ensure!(
            !same_assembler || committed == text,
            "kernels-gpu/ptx/RESOURCES.md is not fresh; run `cargo xtask ptx`"
        );
    }
    println!(
        "{} entries assemble for {} architectures, without spills",
        needs.len(),
        ARCHITECTURES.len()
    );
    Ok(())
}

/// The assembler: that which was named, in the path, or of the Python package under target/cuda.
fn find() -> Option<PathBuf> {
    let wheel = paths::target().join("cuda/nvidia/cu13/bin/ptxas");
    let named = env::var_os("DIPTYCH_PTXAS").map(PathBuf::from);
    [named, Some("ptxas".into()), Some(wheel)]
        .into_iter()
        .flatten()
        .find(|path| works(Command::new(path).arg("--version")))
}

fn version(ptxas: &PathBuf) -> Result<String> {
    let text = run_command(Command::new(ptxas).arg("--version"))?;
    let line = text.lines().find(|line| line.contains("release"));
    Ok(line.context("ptxas tells no version")?.trim().to_owned())
}

/// Assembles for one architecture; gives what each entry needs.
fn assemble(ptxas: &PathBuf, architecture: &str, target: &str) -> Result<BTreeMap<String, String>> {
    let mut command = Command::new(ptxas);
    command.args([
        "--verbose",
        "--warn-on-spills",
        "--warn-on-local-memory-usage",
    ]);
    command.args(["--output-file", "/dev/null"]);
    command.arg(format!("--gpu-name={architecture}"));
    let output = command.arg(file(target)).output()?;
    let report = String::from_utf8_lossy(&output.stderr).into_owned()
        + &String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.success(), "{architecture}: {report}");
    if let Some(warning) = report.lines().find(|line| line.contains("warning")) {
        bail!("{architecture}: {warning}");
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
