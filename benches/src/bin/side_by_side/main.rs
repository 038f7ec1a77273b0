//! Diptych beside OpenBLAS and the machine's own limits, all measured in one run.

mod measure;
mod report;
mod rows;

use anyhow::{Context, Result};
use clap::Parser;
use diptych::{Exec, Level, Pool};
use diptych_benches::peer::OpenBlas;
use std::path::PathBuf;

/// Diptych beside OpenBLAS and the machine's own limits, all measured in one run.
///
/// OpenBLAS is the library that DIPTYCH_OPENBLAS names, else the system's; without one, its columns
/// stay empty.
#[derive(Parser)]
pub struct Options {
    /// Only rows whose operation contains this; may be given several times.
    #[arg(long)]
    only: Vec<String>,
    /// Threads of Diptych and of OpenBLAS. The ceilings are those of one thread.
    #[arg(long, default_value_t = 1)]
    threads: usize,
    /// The CPU level: portable, avx2, avx512 or neon; else the active one.
    #[arg(long)]
    level: Option<String>,
    /// Rounds of samples; each figure is their median.
    #[arg(long, default_value_t = 11)]
    rounds: usize,
    /// Write the figures to this file too.
    #[arg(long)]
    json: Option<PathBuf>,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let level = match &options.level {
        Some(name) => {
            Level::from_name(name).with_context(|| format!("no level is called {name}"))?
        }
        None => Level::active()?,
    };
    Level::force(Some(level)).with_context(|| format!("this machine lacks {}", level.name()))?;
    let pool = Pool::new(options.threads)?;
    let exec = match options.threads {
        1 => Exec::new(),
        threads => Exec::new().with_pool(&pool, threads),
    };
    let peer = OpenBlas::load(options.threads);
    let about = match &peer {
        Ok(peer) => peer.about.clone(),
        Err(error) => format!("none ({error:#})"),
    };
    let machine = report::Machine::new(level, &about, &options);
    machine.print();
    let mut lines = Vec::new();
    measure::all::<f32>(
        &options,
        &exec,
        peer.as_ref().ok().map(|peer| &peer.f32),
        &mut lines,
    );
    measure::all::<f64>(
        &options,
        &exec,
        peer.as_ref().ok().map(|peer| &peer.f64),
        &mut lines,
    );
    report::summary(&lines);
    if let Some(path) = &options.json {
        report::write(path, &machine, &lines)?;
    }
    Ok(())
}
