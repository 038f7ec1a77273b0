//! The fuzz targets of fuzz/: built by the nightly compiler with AddressSanitizer and coverage, run for a
//! time, each from the corpus in the repository. What they check is in tests/src/hostile.
use crate::command::{run, works};
use crate::paths;
use crate::sanitize::OUTLINED;
use crate::skip::skip;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The names of the targets, and of their folders of corpus.
pub const TARGETS: [&str; 7] = [
    "elementwise",
    "outer",
    "gemm",
    "reduce",
    "reduce_rows",
    "fused",
    "views",
];
const TRIPLE: &str = "x86_64-unknown-linux-gnu";
/// What cargo-fuzz hands to rustc, but the comparisons; so nothing has to be installed.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table --cfg fuzzing";
/// The longest input: all that a case draws.
const MAX_LEN: &str = "-max_len=256";

/// What to fuzz, and for how long.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// One target; all of them when left out.
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(TARGETS))]
    pub target: Option<String>,
    /// Seconds for each target.
    #[arg(long, default_value_t = 600)]
    pub seconds: u32,
    /// Put what reached new code into the repository's corpus, made as small as it can be.
    #[arg(long)]
    pub keep: bool,
}

impl Options {
    /// What CI runs.
    pub fn bounded() -> Options {
        Options {
            target: None,
            seconds: 5,
            keep: false,
        }
    }
}

/// Why there is no fuzzing here.
pub fn missing() -> Option<&'static str> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return Some("set up for x86-64 Linux");
    }
    let nightly = works(Command::new("rustup").args(["run", "nightly", "rustc", "--version"]));
    (!nightly).then_some("rustup has no nightly compiler")
}

/// Builds and runs the targets; the first finding ends it.
pub fn fuzz(options: &Options) -> Result<()> {
    if let Some(reason) = missing() {
        return skip("fuzzing", reason);
    }
    let programs = build(options.target.as_deref())?;
    let mut total = 0;
    for name in TARGETS {
        if options
            .target
            .as_deref()
            .is_none_or(|wanted| wanted == name)
        {
            total += run_target(&programs, name, options.seconds)?;
            if options.keep {
                keep(&programs, name)?;
            }
        }
    }
    println!("fuzz: {total} executions, each on every CPU level, and nothing found");
    Ok(())
}

/// Builds the targets; gives the folder of the programs.
pub fn build(target: Option<&str>) -> Result<PathBuf> {
    eprintln!("building the fuzz targets (some minutes the first time)");
    let dir = paths::target().join("fuzz");
    let mut command = Command::new("rustup");
    command.args(["run", "nightly", "cargo", "build", "--release", "--quiet"]);
    command
        .args(["--target", TRIPLE, "--manifest-path"])
        .arg(paths::root().join("fuzz/Cargo.toml"))
        .arg("--target-dir")
        .arg(&dir);
    command.args(
        target
            .map_or(["--bins", ""], |name| ["--bin", name])
            .iter()
            .filter(|a| !a.is_empty()),
    );
    // Of the cargo that runs this tool; nightly's are others.
    for variable in ["CARGO", "RUSTC", "RUSTDOC", "RUSTUP_TOOLCHAIN"] {
        command.env_remove(variable);
    }
    let flags = format!("{COVERAGE} -Zsanitizer=address {OUTLINED}");
    run(command.env("RUSTFLAGS", flags))?;
    Ok(dir.join(TRIPLE).join("release"))
}

/// The corpus in the repository.
fn corpus(name: &str) -> PathBuf {
    paths::root().join("fuzz/corpus").join(name)
}

/// Where a target puts what it finds while it runs.
fn work(name: &str) -> Result<PathBuf> {
    let dir = paths::target().join("fuzz/work").join(name);
    fs::create_dir_all(&dir)?;
    Ok(dir)
}

fn program(programs: &Path, name: &str) -> Command {
    let mut command = Command::new(programs.join(name));
    // A level that the environment names is not for the targets, which force each in turn.
    command.env_remove("DIPTYCH_CPU_LEVEL");
    command
}

/// Runs one target; gives the number of its executions.
fn run_target(programs: &Path, name: &str, seconds: u32) -> Result<u64> {
    let findings = paths::target().join("fuzz/findings");
    fs::create_dir_all(&findings)?;
    let mut command = program(programs, name);
    command.args([MAX_LEN, "-timeout=60", "-print_final_stats=1"]);
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-artifact_prefix={}/{name}-", findings.display()));
    command.arg(work(name)?);
    if corpus(name).is_dir() {
        command.arg(corpus(name));
    }
    let output = command
        .output()
        .with_context(|| format!("cannot start {name}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "{name}: {}\n{text}\nthe input is in {}; copy it to {} as a test",
        output.status,
        findings.display(),
        corpus(name).display()
    );
    let stat = |wanted: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(wanted));
        line.and_then(|number| number.trim().parse::<u64>().ok())
    };
    let runs = stat("stat::number_of_executed_units:").context("the number of executions")?;
    println!("fuzz {name}: {runs} executions in {seconds} s");
    Ok(runs)
}

/// Replaces the corpus in the repository by a smallest set that reaches as much.
fn keep(programs: &Path, name: &str) -> Result<()> {
    let merged = tempfile::tempdir()?;
    let mut command = program(programs, name);
    command.args(["-merge=1", MAX_LEN]).arg(merged.path());
    command.arg(work(name)?);
    if corpus(name).is_dir() {
        command.arg(corpus(name));
    }
    run(&mut command)?;
    if corpus(name).is_dir() {
        fs::remove_dir_all(corpus(name))?;
    }
    fs::create_dir_all(corpus(name))?;
    for file in fs::read_dir(merged.path())? {
        let file = file?;
        fs::copy(file.path(), corpus(name).join(file.file_name()))?;
    }
    Ok(())
}
