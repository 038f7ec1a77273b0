//! The assembler's word on the PTX: it must take every entry for each architecture, without spills, and
//! what each needs goes to a committed table.
use super::{TARGETS, directory, file};
use crate::command::{run as run_command, works};
use crate::paths;
use crate::skip::skip;
use anyhow::{Context, Result, bail, ensure};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::env;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The architectures, each with the PTX that a driver would take for it.
pub const ARCHITECTURES: [(&str, &str); 7] = [
    ("sm_75", "sm_75"),
    ("sm_80", "sm_75"),
    ("sm_86", "sm_75"),
    ("sm_89", "sm_75"),
    ("sm_90", "sm_75"),
    ("sm_100a", "sm_75"),
    ("sm_120", "sm_75"),
];

/// What an entry needs on an architecture: registers of a thread, bytes of static shared memory of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Need {
    registers: usize,
    shared: usize,
}

/// That on each architecture.
type Needs = BTreeMap<String, Vec<Need>>;

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
    let assemble = |&(architecture, target): &_| {
        debug_assert!(TARGETS.contains(&target));
        assemble(&ptxas, architecture, target)
    };
    let reports: Result<Vec<_>> = ARCHITECTURES.par_iter().map(assemble).collect();
    for (entry, need) in reports?.into_iter().flatten() {
        needs.entry(entry).or_default().push(need);
    }
    let text = table(&version(&ptxas)?, &needs)?;
    commit(check, &directory().join("RESOURCES.md"), &text)?;
    println!(
        "{} entries assemble for {} architectures, without spills",
        needs.len(),
        ARCHITECTURES.len()
    );
    Ok(())
}

/// Writes the table or, with `check`, compares it. Another assembler, named in its third line, gives other numbers.
fn commit(check: bool, path: &Path, text: &str) -> Result<()> {
    if !check {
        return Ok(fs::write(path, text)?);
    }
    let committed = fs::read_to_string(path)?;
    let assembler = |text: &str| text.lines().nth(2).map(str::to_owned);
    if assembler(&committed) != assembler(text) {
        return skip(
            &format!("{} is fresh", path.display()),
            "another assembler made it",
        );
    }
    ensure!(
        committed == text,
        "{} is not fresh; run `cargo xtask ptx`",
        path.display()
    );
    Ok(())
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
fn assemble(ptxas: &Path, architecture: &str, target: &str) -> Result<BTreeMap<String, Need>> {
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
    read(&report).with_context(|| architecture.to_owned())
}

/// What each entry needs, from the assembler's report. Fails when it has something to say against one.
fn read(report: &str) -> Result<BTreeMap<String, Need>> {
    // A product on tensor cores whose steps wait for each other is reported as information, C7510 to C7519.
    let complains = |line: &&str| line.contains("warning") || line.contains("(C75");
    if let Some(line) = report.lines().find(complains) {
        bail!("{line}");
    }
    let mut entries = BTreeMap::new();
    let mut entry = None;
    for line in report.lines() {
        if let Some(rest) = line.split("Compiling entry function '").nth(1) {
            entry = rest.split('\'').next().map(str::to_owned);
        } else if line.contains("bytes stack frame") {
            ensure!(
                line.trim() == "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
                "{entry:?} has {}",
                line.trim()
            );
        } else if let Some(rest) = line.split("Used ").nth(1) {
            let number = |of: &str| -> Option<usize> {
                let part = rest.split(", ").find_map(|part| part.strip_suffix(of));
                part?.parse().ok()
            };
            let name = entry.take().context("registers of no entry")?;
            let need = Need {
                registers: number(" registers").context("no number of registers")?,
                shared: number(" bytes smem").unwrap_or(0),
            };
            entries.insert(name, need);
        }
    }
    Ok(entries)
}

fn table(version: &str, needs: &Needs) -> Result<String> {
    let mut text = format!(
        "# Registers and shared memory of each kernel\n\n{version}. Written by `cargo xtask ptx`. No kernel has a \
         stack frame or spills. Registers of a thread on each architecture, and bytes of static shared memory of a \
         block.\n\n| entry |"
    );
    for (architecture, _) in ARCHITECTURES {
        write!(text, " {architecture} |")?;
    }
    text += " shared memory |";
    write!(
        text,
        "\n| --- |{}",
        " ---: |".repeat(ARCHITECTURES.len() + 1)
    )?;
    for (entry, needs) in needs {
        ensure!(
            needs.len() == ARCHITECTURES.len(),
            "{entry} is not there for each architecture"
        );
        write!(text, "\n| {entry} |")?;
        for need in needs {
            write!(text, " {} |", need.registers)?;
        }
        let shared = needs.iter().map(|need| need.shared).max().unwrap_or(0);
        write!(text, " {shared} |")?;
    }
    text.push('\n');
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = "ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90a'
ptxas info    : Function properties for k
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 118 registers, used 1 barriers, 4096 bytes smem
ptxas info    : Compile time = 676.778 ms
ptxas info    : Compiling entry function 'm' for 'sm_90a'
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 24 registers
";

    #[test]
    fn a_report_is_read() {
        let need = |registers, shared| Need { registers, shared };
        let entries = BTreeMap::from([("k".into(), need(118, 4096)), ("m".into(), need(24, 0))]);
        assert_eq!(read(REPORT).unwrap(), entries);
    }

    #[test]
    fn complaints_are_seen() {
        for complaint in [
            "ptxas info    : (C7517) Potential Performance Loss: wgmma.mma_async instructions are serialized due \
             to ill formed pipeline stage in the function 'k'",
            "ptxas warning : Local memory used for function 'k', size of stack frame: 8 bytes",
            "    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
            "    0 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads",
        ] {
            assert!(
                read(&format!("{REPORT}{complaint}\n")).is_err(),
                "{complaint}"
            );
        }
    }
}
