//! `cargo xtask bench`: builds the C library and compares it with its peers.
use crate::command::{cargo, show};
use crate::{library, paths};
use anyhow::Result;
use clap::Args;

/// What to compare. More options follow `--` or any that is not listed here.
#[derive(Args)]
pub struct Options {
    /// Beside the peers that can be found: OpenBLAS, MKL, BLIS, the crates gemm, matrixmultiply and
    /// faer, NumPy and PyTorch.
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
    let (peers, accuracy) = (
        options.peers || given("--peers"),
        options.accuracy || given("--accuracy"),
    );
    let mut command = cargo();
    command.args(["run", "--quiet", "--profile", "compare"]);
    command.args(["--package", "diptych-benches"]);
    if accuracy {
        command.args(["--bin", "accuracy", "--"]);
    } else {
        if peers {
            command.args(["--features", "peers"]);
        }
        command.args(["--bin", "compare", "--"]);
        command.arg("--library").arg(library::build()?.shared);
        command.args(peers.then_some("--peers"));
    }
    if !given("--out") {
        command
            .arg("--out")
            .arg(paths::root().join("benches/results"));
    }
    let own = ["--peers", "--accuracy"];
    let rest = options.rest.iter();
    show(command.args(rest.filter(|option| !own.contains(&option.as_str()))))
}
