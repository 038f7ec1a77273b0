//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use diptych::Level;
use diptych_examples::training::Options;

/// Train a two-layer network on 1,797 handwritten digits, with explicit backprop on Diptych's
/// operations. The same options give the same weights, bit for bit, at every CPU level and with
/// any number of threads: compare the fingerprints.
#[derive(Debug, Parser)]
#[command(version)]
pub struct Cli {
    /// Passes over the training images
    #[arg(long, value_name = "N", default_value_t = count(Options::default().epochs),
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    epochs: u32,

    /// Units in the hidden layer
    #[arg(long, value_name = "N", default_value_t = count(Options::default().hidden),
          value_parser = clap::value_parser!(u32).range(1..=65_536))]
    hidden: u32,

    /// Step size for the gradient averaged over a batch
    #[arg(long, value_name = "RATE", default_value_t = Options::default().learning_rate,
          value_parser = rate)]
    learning_rate: f64,

    /// Images per gradient step
    #[arg(long, value_name = "N", default_value_t = count(Options::default().batch),
          value_parser = clap::value_parser!(u32).range(1..=4096))]
    batch: u32,

    /// Threads; the products of this network are too small to gain much from more than one
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1024))]
    threads: u32,

    /// CPU level: portable, avx2, avx512 or neon, without AMX [default: the best that this machine
    /// has, with AMX where it has that]
    #[arg(long, value_name = "NAME", value_parser = level)]
    pub level: Option<Level>,

    /// Seed of the initial weights and of the shuffles
    #[arg(long, value_name = "N", default_value_t = Options::default().seed)]
    seed: u64,

    /// Element type; with f16 and bf16, the weights that are updated and the loss are f32
    #[arg(long, value_enum, value_name = "TYPE", default_value_t = Dtype::F32)]
    pub dtype: Dtype,

    /// Where to write the plot of the training (SVG)
    #[arg(long, value_name = "PATH", default_value = "target/digits.svg")]
    pub output: PathBuf,
}

/// The element type of the network.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub enum Dtype {
    F32,
    F64,
    F16,
    Bf16,
}

impl Cli {
    /// Returns the options that determine the weights.
    pub fn options(&self) -> Options {
        Options {
            epochs: self.epochs as usize,
            hidden: self.hidden as usize,
            learning_rate: self.learning_rate,
            batch: self.batch as usize,
            seed: self.seed,
        }
    }

    /// Returns the number of threads to train with.
    pub fn threads(&self) -> usize {
        self.threads as usize
    }
}

/// Returns the message for a level that the machine does not have.
pub fn level_missing(level: Level) -> String {
    let available: Vec<_> = Level::ALL
        .into_iter()
        .filter(|level| level.is_available())
        .map(Level::name)
        .collect();
    let (missing, available) = (level.name(), available.join(", "));
    format!("this machine has no level {missing}; it has {available}")
}

fn count(value: usize) -> u32 {
    u32::try_from(value).unwrap_or(u32::MAX)
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if rate > 0.0 && f64::is_finite(rate) => Ok(rate),
        _ => Err("expected a positive number".into()),
    }
}

fn level(text: &str) -> Result<Level, String> {
    Level::from_name(text).ok_or_else(|| {
        let names: Vec<_> = Level::ALL.into_iter().map(Level::name).collect();
        format!("expected one of {}", names.join(", "))
    })
}
