//! The library under load, for as long as one likes: tests/suite/load.
use crate::command::{cargo, show};
use anyhow::Result;

/// How much.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// Calls of each of 64 threads.
    #[arg(long, default_value_t = 1_000_000)]
    calls: u64,
    /// Seconds of the same work again and again, with memory that must stay flat.
    #[arg(long, default_value_t = 600)]
    soak: u64,
}

/// Runs the suite.
pub fn run(options: &Options) -> Result<()> {
    let mut command = cargo();
    command.args(["test", "--package", "diptych-tests", "--test", "load"]);
    command.env("DIPTYCH_LOAD_CALLS", options.calls.to_string());
    show(command.env("DIPTYCH_SOAK_SECONDS", options.soak.to_string()))
}
