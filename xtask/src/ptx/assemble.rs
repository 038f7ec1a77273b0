//! Assembling the PTX: the assembler must take every entry for each architecture, without spills. The registers and the
//! shared memory of each entry go to a committed table.
use super::{TARGETS, directory, file, hash};
use crate::command::{cmd, output, sh};
use crate::paths;
use crate::skip::skip;
use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};

/// The architectures, all of which run the PTX of the first target.
const ARCHITECTURES: [&str; 7] = [
    "sm_75", "sm_80", "sm_86", "sm_89", "sm_90", "sm_100a", "sm_120",
];
const WHEEL: &str = "cu13/bin/ptxas";
const NO_ASSEMBLER: &str = "it takes ptxas: `python3 -m pip install --no-deps --target target/cuda nvidia-cuda-nvcc`, \
                            or name one in DIPTYCH_PTXAS";

/// What an entry needs on an architecture: registers of a thread, bytes of static shared memory of a block.
type Need = (usize, usize);
/// The needs of each entry on each architecture.
type Needs = BTreeMap<String, Vec<Need>>;

/// Assembles the committed PTX, and writes the table. With `check`, the table must be that of this PTX; if it is, only the
/// oldest and the newest architecture are assembled again.
pub fn run(check: bool) -> Result<()> {
    let Some(ptxas) = find(WHEEL, |_| true) else {
        return skip("assembling the PTX", NO_ASSEMBLER);
    };
    fs::create_dir_all(paths::target().join("ptx"))?;
    let ptx = file(TARGETS[0]);
    let version = version(&ptxas).context("the version of ptxas")?;
    let origin = format!("{version}. PTX: {}.", hash(&fs::read(&ptx)?));
    let path = directory().join("RESOURCES.md");
    let is_known = check && is_of(&path, &version, &origin)?;
    let architectures = if is_known {
        &[ARCHITECTURES[0], ARCHITECTURES[6]]
    } else {
        &ARCHITECTURES[..]
    };
    let reports = architectures.par_iter().map(|name| {
        let cubin = paths::target().join(format!("ptx/{name}.cubin"));
        assemble(&ptxas, name, &ptx, &cubin).context(*name)
    });
    let mut needs = Needs::new();
    for (entry, need) in reports.collect::<Result<Vec<_>>>()?.into_iter().flatten() {
        needs.entry(entry).or_default().push(need);
    }
    if !check {
        fs::write(path, table(&origin, &needs)?)?;
    }
    let (entries, names) = (needs.len(), architectures.join(", "));
    println!("{entries} entries assemble for {names}, without spills");
    Ok(())
}

/// Whether the table is of this PTX. It must be, unless another assembler made it.
fn is_of(path: &Path, version: &str, origin: &str) -> Result<bool> {
    let committed = fs::read_to_string(path)?;
    let name = path.display();
    if !committed.contains(version) {
        skip(&format!("{name} is fresh"), "another assembler made it")?;
        return Ok(false);
    }
    ensure!(
        committed.contains(origin),
        "{name} is not fresh; run `cargo xtask ptx`"
    );
    Ok(true)
}

/// The first assembler whose version fits: the one that DIPTYCH_PTXAS names, the one in the path, or that of a Python
/// package under target/cuda.
pub fn find(wheel: &str, fits: impl Fn(&str) -> bool) -> Option<PathBuf> {
    let wheel = paths::target().join("cuda/nvidia").join(wheel);
    let named = env::var_os("DIPTYCH_PTXAS").map(PathBuf::from);
    let mut paths = named.into_iter().chain(["ptxas".into(), wheel]);
    paths.find(|path| version(path).is_some_and(|version| fits(&version)))
}

/// The line with the version of an assembler; `None` if it does not run.
fn version(ptxas: &Path) -> Option<String> {
    let text = sh!("{ptxas} --version").ok()?;
    let line = text.lines().find(|line| line.contains("release"))?;
    Some(line.trim().to_owned())
}

/// Assembles for one architecture; returns what each entry needs.
pub fn assemble(
    ptxas: &Path,
    architecture: &str,
    ptx: &Path,
    cubin: &Path,
) -> Result<BTreeMap<String, Need>> {
    let output = output(&mut cmd!(
        "{ptxas} --verbose --warn-on-spills --warn-on-local-memory-usage --output-file {cubin}
         --gpu-name={architecture} {ptx}"
    ))?;
    let report = [&output.stderr[..], &output.stdout].concat();
    let report = String::from_utf8_lossy(&report);
    ensure!(output.status.success(), "{architecture}: {report}");
    read(&report)
}

/// What each entry needs, from the assembler's report. Fails when the report has a complaint.
fn read(report: &str) -> Result<BTreeMap<String, Need>> {
    // A product on tensor cores whose steps wait for each other is reported as information, C7510 to C7519.
    let complains = |line: &&str| line.contains("warning") || line.contains("(C75");
    if let Some(line) = report.lines().find(complains) {
        bail!("{line}");
    }
    let mut entries = BTreeMap::new();
    let mut entry = None;
    for line in report.lines().map(str::trim) {
        if let Some(rest) = line.split("Compiling entry function '").nth(1) {
            entry = rest.split('\'').next().map(str::to_owned);
        } else if line.contains("bytes stack frame") {
            let none = "0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads";
            ensure!(line == none, "{entry:?} has {line}");
        } else if let Some(rest) = line.split("Used ").nth(1) {
            let number = |of: &str| -> Option<usize> {
                let part = rest.split(", ").find_map(|part| part.strip_suffix(of));
                part?.parse().ok()
            };
            let registers = number(" registers").context("no number of registers")?;
            let shared = number(" bytes smem").unwrap_or(0);
            let name = entry.take().context("registers of no entry")?;
            entries.insert(name, (registers, shared));
        }
    }
    Ok(entries)
}

/// The table, which names the assembler and the PTX from which it comes.
fn table(origin: &str, needs: &Needs) -> Result<String> {
    let count = ARCHITECTURES.len();
    let mut text = format!(
        "# Registers and shared memory of each kernel\n\n{origin} Written by `cargo xtask ptx`. No kernel has a \
         stack frame or spills. Registers of a thread on each architecture, and bytes of static shared memory of a \
         block.\n\n| entry | {} | shared memory |\n| --- |{}\n",
        ARCHITECTURES.join(" | "),
        " ---: |".repeat(count + 1)
    );
    for (entry, needs) in needs {
        let is_everywhere = needs.len() == count;
        ensure!(is_everywhere, "{entry} is not there for each architecture");
        text += &format!("| {entry} |");
        for (registers, _) in needs {
            text += &format!(" {registers} |");
        }
        let shared = needs.iter().map(|(_, shared)| shared).max();
        text += &format!(" {} |\n", shared.unwrap_or(&0));
    }
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
    fn complaints_are_seen() {
        assert_eq!(read(REPORT).unwrap()["k"], (118, 4096));
        for complaint in [
            "ptxas info    : (C7517) Potential Performance Loss: wgmma.mma_async instructions are serialized due \
             to ill formed pipeline stage in the function 'k'",
            "ptxas warning : Local memory used for function 'k', size of stack frame: 8 bytes",
            "    8 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads",
            "    0 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads",
        ] {
            let report = format!("{REPORT}{complaint}\n");
            assert!(read(&report).is_err(), "{complaint}");
        }
    }
}
