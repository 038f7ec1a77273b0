//! The load tests (tests/suite/load), with counts of the user's choice.
use crate::command::{cargo_path, cmd, show};
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

/// Runs the tests.
pub fn run(options: &Options) -> Result<()> {
    let cargo = cargo_path();
    let mut test = cmd!("{cargo} test --package diptych-tests --test load");
    test.env("DIPTYCH_LOAD_CALLS", options.calls.to_string());
    show(test.env("DIPTYCH_SOAK_SECONDS", options.soak.to_string()))
}
