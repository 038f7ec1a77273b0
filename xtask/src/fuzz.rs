//! The fuzz targets of fuzz/: built by the nightly compiler with AddressSanitizer and coverage, run for a
//! time, each from the corpus in the repository. What they check is in tests/src/hostile.
use crate::command::missing_nightly as missing;
use crate::command::{cmd, other_toolchain, output, run};
use crate::paths;
use crate::sanitize::{OUTLINED, TRIPLE};
use crate::skip::skip;
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The names of the targets, and of their folders of corpus.
pub const TARGETS: [&str; 9] = [
    "elementwise",
    "outer",
    "gemm",
    "reduce",
    "reduce_rows",
    "row_map",
    "fused",
    "views",
    "tensors",
];
/// The flags that cargo-fuzz passes to rustc, without those that trace comparisons; cargo-fuzz need not be installed.
const COVERAGE: &str = "-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=3 \
    -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table --cfg fuzzing";
/// The longest input: all that a case draws.
const MAX_LEN: &str = "-max_len=256";
/// Long inputs from the start: after the last byte all draws are the simplest, and a call of several tensors draws many.
const LONG: &str = "-len_control=0";

/// What to fuzz, and for how long.
#[derive(Debug, Default, clap::Args)]
pub struct Options {
    /// One target; all of them when left out.
    #[arg(value_parser = clap::builder::PossibleValuesParser::new(TARGETS))]
    pub target: Option<String>,
    /// Seconds for each target.
    #[arg(long, default_value_t = 600)]
    pub seconds: u32,
    /// Add the inputs that reached new code to the repository's corpus, reduced to a minimal set.
    #[arg(long)]
    pub keep: bool,
}

impl Options {
    /// What CI runs.
    pub fn bounded() -> Options {
        Options {
            seconds: 5,
            ..Options::default()
        }
    }
}

/// Builds and runs the targets; the first finding ends it.
pub fn fuzz(options: &Options) -> Result<()> {
    if let Some(reason) = missing() {
        return skip("fuzzing", reason);
    }
    let target = options.target.as_deref();
    let programs = build(target)?;
    let mut total = 0;
    for name in TARGETS
        .into_iter()
        .filter(|name| target.is_none_or(|wanted| wanted == *name))
    {
        total += run_target(&programs, name, options.seconds)?;
        if options.keep {
            keep(&programs, name)?;
        }
    }
    println!("fuzz: {total} executions, each on every CPU level, and nothing found");
    Ok(())
}

/// Builds one target, or all; returns the folder of the programs.
pub fn build(target: Option<&str>) -> Result<PathBuf> {
    eprintln!("building the fuzz targets (some minutes the first time)");
    let dir = paths::target().join("fuzz");
    let bins = target.map_or("--bins".into(), |name| format!("--bin={name}"));
    let mut command = other_toolchain(cmd!(
        "rustup run nightly cargo build --release --quiet --target {TRIPLE} --manifest-path fuzz/Cargo.toml
         --target-dir {dir} {bins}"
    ));
    let flags = format!("{COVERAGE} -Zsanitizer=address {OUTLINED}");
    run(command.env("RUSTFLAGS", flags))?;
    Ok(dir.join(TRIPLE).join("release"))
}

/// The corpus in the repository.
fn corpus(name: &str) -> PathBuf {
    paths::root().join("fuzz/corpus").join(name)
}

/// A target with options, the folder where it puts new inputs, and the corpus.
fn program(programs: &Path, name: &str, options: &[&str]) -> Result<Command> {
    let (program, corpus) = (programs.join(name), corpus(name));
    let work = paths::target().join("fuzz/work").join(name);
    fs::create_dir_all(&work)?;
    let corpus = corpus.is_dir().then_some(corpus);
    let mut command = cmd!("{program} {MAX_LEN} {LONG} {options...} {work} {corpus...}");
    // The targets force each level in turn.
    command.env_remove("DIPTYCH_CPU_LEVEL");
    Ok(command)
}

/// Runs one target; returns the number of its executions.
fn run_target(programs: &Path, name: &str, seconds: u32) -> Result<u64> {
    let findings = paths::target().join("fuzz/findings");
    fs::create_dir_all(&findings)?;
    let options = ["-timeout=60", "-print_final_stats=1"];
    let mut command = program(programs, name, &options)?;
    command.arg(format!("-max_total_time={seconds}"));
    command.arg(format!("-artifact_prefix={}/{name}-", findings.display()));
    let output = output(&mut command)?;
    let (status, text) = (output.status, String::from_utf8_lossy(&output.stderr));
    let corpus = corpus(name);
    ensure!(
        status.success(),
        "{name}: {status}\n{text}\nthe input is in {findings:?}; copy it to {corpus:?} as a test"
    );
    let stat = "stat::number_of_executed_units:";
    let runs = text.lines().find_map(|line| line.strip_prefix(stat));
    let runs = runs.context("the number of executions")?.trim().parse()?;
    println!("fuzz {name}: {runs} executions in {seconds} s");
    Ok(runs)
}

/// Replaces the corpus in the repository by a smallest set that reaches as much.
fn keep(programs: &Path, name: &str) -> Result<()> {
    let (merged, corpus) = (tempfile::tempdir()?, corpus(name));
    let into = merged.path().display().to_string();
    run(&mut program(programs, name, &["-merge=1", &into])?)?;
    paths::make_empty(&corpus)?;
    paths::copy_files(merged.path(), &corpus)
}
