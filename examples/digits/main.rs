//! Trains a two-layer network on handwritten digits, reports the progress, and draws a plot of it.

#![forbid(unsafe_code)]

mod cli;
mod plot;
mod report;

use std::error::Error;
use std::process::ExitCode;

use clap::Parser;
use diptych::{Exec, Level, Pool, bf16, f16};
use diptych_examples::data::Digits;
use diptych_examples::real::Number;
use diptych_examples::training::train;

use cli::{Cli, Dtype};
use report::Report;

fn main() -> ExitCode {
    let cli = Cli::parse();
    let result = match cli.dtype {
        Dtype::F32 => run::<f32>(&cli),
        Dtype::F64 => run::<f64>(&cli),
        Dtype::F16 => run::<f16>(&cli),
        Dtype::Bf16 => run::<bf16>(&cli),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run<T: Number>(cli: &Cli) -> Result<(), Box<dyn Error>> {
    let options = cli.options();
    let threads = cli.threads();
    let level = match cli.level {
        Some(level) => level,
        None => Level::active()?,
    };
    let pool = if threads > 1 {
        Some(Pool::new(threads)?)
    } else {
        None
    };
    let mut exec = Exec::new();
    if let Some(level) = cli.level {
        exec = exec
            .with_level(level)
            .map_err(|_| cli::level_missing(level))?;
    }
    if let Some(pool) = &pool {
        exec = exec.with_pool(pool, threads);
    }

    let digits = Digits::<T>::load();
    let report = Report::new(options.epochs);
    report.start(&digits, &options, level, threads);
    let outcome = train(&digits, &options, &exec, |epoch| report.epoch(epoch))?;
    report.finish(&outcome);
    if !outcome.history.iter().all(|epoch| epoch.loss.is_finite()) {
        return Err("the training diverged: try a smaller --learning-rate".into());
    }

    if let Some(folder) = cli.output.parent() {
        std::fs::create_dir_all(folder)?;
    }
    plot::draw(&cli.output, &outcome)
        .map_err(|error| format!("cannot draw {}: {error}", cli.output.display()))?;
    println!("  plot                {}", cli.output.display());
    Ok(())
}
