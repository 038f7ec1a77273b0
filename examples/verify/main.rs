//! Computes the fingerprint of the library at every CPU level of this machine, on one thread and on all, and says which
//! operations differ from what is promised.

#![forbid(unsafe_code)]

use std::error::Error;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Instant;

use clap::Parser;
use diptych::{Exec, Level, Pool, fingerprint};

/// Check that this machine gives the promised bits. Exit with 1 if it does not.
#[derive(Debug, Parser)]
#[command(version)]
struct Cli {
    /// CPU level: portable, avx2, avx512 or neon [default: each that this machine has]
    #[arg(long, value_name = "NAME", value_parser = level)]
    level: Option<Level>,

    /// Threads [default: one, then one for each CPU]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

fn level(name: &str) -> Result<Level, String> {
    Level::from_name(name).ok_or_else(|| format!("there is no level {name:?}"))
}

fn main() -> ExitCode {
    match run(&Cli::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Returns whether all bits are right.
fn run(cli: &Cli) -> Result<bool, Box<dyn Error>> {
    let version = env!("CARGO_PKG_VERSION");
    println!(
        "diptych {version}, numerics version {}",
        fingerprint::NUMERICS_VERSION
    );
    println!("  cpu        {}", cpu());
    println!("  expected   {:016x}", fingerprint::FINGERPRINT);
    let all = available_parallelism().map_or(1, |count| count.get());
    let counts = match cli.threads {
        Some(threads) => vec![threads.into()],
        None if all == 1 => vec![1],
        None => vec![1, all],
    };
    let levels = match cli.level {
        Some(level) => vec![level],
        None => Level::ALL
            .into_iter()
            .filter(|l| l.is_available())
            .collect(),
    };
    let mut are_right = true;
    for level in levels {
        for &threads in &counts {
            are_right &= verify(level, threads)?;
        }
    }
    println!(
        "{}",
        if are_right {
            "all bits are right"
        } else {
            "WRONG BITS: please report this output"
        }
    );
    Ok(are_right)
}

/// Returns the name of the processor.
fn cpu() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("model name"));
    let name = name.map(|rest| rest.trim_start_matches([' ', '\t', ':']));
    name.unwrap_or(std::env::consts::ARCH).to_owned()
}

/// Prints the fingerprint of a level and a number of threads, and the operations that differ.
fn verify(level: Level, threads: usize) -> Result<bool, Box<dyn Error>> {
    let pool = if threads > 1 {
        Some(Pool::new(threads)?)
    } else {
        None
    };
    let mut exec = Exec::new().with_level(level)?;
    if let Some(pool) = &pool {
        exec = exec.with_pool(pool, threads);
    }
    let mut memory = Box::new(fingerprint::memory());
    let start = Instant::now();
    let found = diptych::fingerprint(&exec, &mut memory)?;
    let seconds = start.elapsed().as_secs_f64();
    let is_right = found == fingerprint::FINGERPRINT;
    let verdict = if is_right { "right" } else { "WRONG" };
    println!(
        "  {:<10} {found:016x}   {verdict}, {threads} thread(s), {seconds:.2} s",
        level.name()
    );
    if !is_right {
        for number in 0..fingerprint::OPERATIONS {
            let found = fingerprint::of_operation(&exec, &mut memory, number)?;
            let (name, expected) = (fingerprint::name(number), fingerprint::expected(number));
            if let (Some(name), Some(found)) = (name, found)
                && found != expected
            {
                println!("    (\"{name}\", 0x{found:016x}) instead of 0x{expected:016x}");
            }
        }
    }
    Ok(is_right)
}
