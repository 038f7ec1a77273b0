//! `cargo xtask bench`: builds the C library and compares it with its peers.
use crate::command::{cargo_path, cmd, show};
use crate::{library, paths};
use anyhow::Result;
use clap::Args;

/// What to compare. Further options go to the program, from `--` or the first unlisted option on.
#[derive(Args)]
pub struct Options {
    /// Compare with the peers that are found: OpenBLAS, MKL, BLIS, the crates gemm, matrixmultiply,
    /// faer and gemmkit, NumPy and PyTorch.
    #[arg(long)]
    peers: bool,
    /// The error of sums and products on hard data instead of the time.
    #[arg(long)]
    accuracy: bool,
    /// For the program: --only TEXT, --threads N, --rounds N, --quick, --clock, --out DIR, --help.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<String>,
}

/// Runs the comparison; results go to benches/results unless the options say where.
pub fn run(options: &Options) -> Result<()> {
    let given = |name: &str| options.rest.iter().any(|option| option.starts_with(name));
    let peers = options.peers || given("--peers");
    let cargo = cargo_path();
    let mut command = cmd!("{cargo} run --quiet --release --package diptych-benches");
    if options.accuracy || given("--accuracy") {
        command.args(["--bin", "accuracy", "--"]);
    } else {
        if peers {
            command.args(["--features", "peers"]);
        }
        command.args(["--bin", "compare", "--", "--library"]);
        command.arg(library::build()?.shared);
        command.args(peers.then_some("--peers"));
    }
    if !given("--out") {
        let out = paths::root().join("benches/results");
        command.arg("--out").arg(out);
    }
    let own = ["--peers", "--accuracy"];
    let rest = options.rest.iter();
    show(command.args(rest.filter(|option| !own.contains(&option.as_str()))))
}
