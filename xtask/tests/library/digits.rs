//! The network of `examples/` gets the same weights, bit for bit, at every CPU level, with and without the instructions for
//! products of bf16, and with 1 and 2 threads; in f32 and f64 it also gets them in C. It learns to recognise digits.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use diptych::{Exec, Extensions, Level, Pool, bf16, f16};
use diptych_examples::data::Digits;
use diptych_examples::real::Number;
use diptych_examples::training::{Options, Outcome, accuracy, train};
use diptych_tests::levels::levels;
use diptych_tests::mixed::{Config, on_threads};
use xtask::{command, library, paths};

const THREADS: [usize; 2] = [1, 2];

/// The parameters of a training run, for both languages.
struct Shape {
    name: &'static str,
    epochs: usize,
    hidden: usize,
    batch: usize,
}

/// The default training with fewer epochs. The last batch is smaller than the others.
const SHORT: Shape = Shape {
    name: "short",
    epochs: 2,
    hidden: 128,
    batch: 32,
};

/// A training whose products are large enough for several threads. The last batch is smaller, too.
const WIDE: Shape = Shape {
    name: "wide",
    epochs: 1,
    hidden: 260,
    batch: 600,
};

impl Shape {
    /// The training of README's first command.
    fn full() -> Self {
        let Options {
            epochs,
            hidden,
            batch,
            ..
        } = Options::default();
        Self {
            name: "full",
            epochs,
            hidden,
            batch,
        }
    }

    fn options(&self) -> Options {
        Options {
            epochs: self.epochs,
            hidden: self.hidden,
            batch: self.batch,
            ..Options::default()
        }
    }
}

/// Returns each level of this machine with 1 and 2 threads, and AVX-512 also with AMX, which products of bf16 use.
fn configs() -> Vec<Config> {
    let is_used = |config: &Config| {
        config.extensions == Extensions::NONE
            || config.level == Level::Avx512 && config.extensions == Extensions::AMX_BF16
    };
    let all = THREADS.into_iter().flat_map(on_threads);
    all.filter(is_used).collect()
}

fn run<T: Number>(shape: &Shape, config: &Config) -> Outcome<T> {
    let pool = Pool::new(config.threads).expect("threads");
    let mut exec = Exec::new()
        .with_extensions(config.level, config.extensions)
        .expect("a level of this machine, and its extensions");
    if config.threads > 1 {
        exec = exec.with_pool(&pool, config.threads);
    }
    train(&Digits::load(), &shape.options(), &exec, |_| ()).expect("training")
}

/// Trains everywhere in Rust, which must give the same weights, and returns one outcome.
fn everywhere<T: Number>(shape: &Shape) -> Outcome<T> {
    let run = |config: Config| (run::<T>(shape, &config), config);
    let mut outcomes = configs().into_iter().map(run);
    let (first, of_first) = outcomes.next().expect("a level");
    for (other, of_other) in outcomes {
        let (shape, dtype) = (shape.name, T::NAME);
        assert_eq!(
            fingerprint(&other),
            fingerprint(&first),
            "{shape} {dtype}: {of_other}; {of_first}"
        );
    }
    first
}

fn fingerprint<T: Number>(outcome: &Outcome<T>) -> String {
    format!("{:016x}", outcome.network.fingerprint())
}

/// Trains at every level, with 1 and 2 threads, in Rust and in C; all must agree.
fn same_in_c<T: Number>(c_flags: &[&str]) {
    for shape in [SHORT, WIDE] {
        let expected = fingerprint(&everywhere::<T>(&shape));
        let program = compile::<T>(&shape, c_flags);
        for &level in levels() {
            for threads in THREADS {
                let c = run_c(&program, shape.epochs, level, threads);
                let (name, level) = (shape.name, level.name());
                assert_eq!(c, expected, "{name} at level {level}, {threads} threads");
            }
        }
    }
}

/// Returns the static library, which is built once.
fn archive() -> &'static Path {
    static ARCHIVE: OnceLock<PathBuf> = OnceLock::new();
    ARCHIVE.get_or_init(|| library::build().expect("the C library").archive)
}

fn compile<T: Number>(shape: &Shape, flags: &[&str]) -> PathBuf {
    let name = format!("digits-{}-{}", T::NAME, shape.name);
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut cc = command::cc();
    cc.args([
        "-std=c99",
        "-O2",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
    ])
    .args(flags);
    cc.arg(format!("-DDIGITS_HIDDEN={}", shape.hidden));
    cc.arg(format!("-DDIGITS_BATCH={}", shape.batch));
    cc.arg("-I").arg(paths::root().join("include"));
    cc.arg(paths::root().join("examples/c/digits.c"))
        .arg(archive());
    command::run(cc.args(library::PRIVATE_LIBS).arg("-o").arg(&program))
        .expect("digits.c compiles");
    program
}

/// Runs the C program and returns the fingerprint that it prints.
fn run_c(program: &Path, epochs: usize, level: Level, threads: usize) -> String {
    let mut command = Command::new(program);
    command.arg(paths::root().join("examples/digits/digits.bin"));
    command.args([epochs.to_string(), threads.to_string()]);
    command.env("DIPTYCH_CPU_LEVEL", level.name());
    let output = command::run(&mut command).expect("digits runs");
    assert!(
        output.contains(&format!("CPU level {},", level.name())),
        "{output}"
    );
    let fingerprint = output
        .lines()
        .find_map(|line| line.strip_prefix("fingerprint "));
    fingerprint.expect("a fingerprint").to_owned()
}

#[test]
fn same_weights_f32() {
    same_in_c::<f32>(&[]);
}

#[test]
fn same_weights_f64() {
    same_in_c::<f64>(&["-DDIGITS_F64"]);
}

/// The training of README's first command reaches its accuracy in Rust, and C ends with the same weights.
#[test]
fn main_job_learns() {
    let outcome = here::<f32>();
    let last = outcome.history.last().expect("at least one epoch");
    assert!(last.accuracy >= 0.95, "held-out accuracy {}", last.accuracy);
    assert!(
        last.loss < outcome.history[0].loss / 5.0,
        "the loss fell to {}",
        last.loss
    );
    let full = Shape::full();
    let program = compile::<f32>(&full, &[]);
    let level = Level::active().expect("a level");
    let c = run_c(&program, full.epochs, level, 1);
    assert_eq!(c, fingerprint(&outcome));
}

/// Returns the outcome of README's first command.
fn here<T: Number>() -> Outcome<T> {
    let config = Config {
        level: Level::active().expect("a level"),
        extensions: Extensions::NONE,
        threads: 1,
        batch_invariant: false,
    };
    run(&Shape::full(), &config)
}

/// In mixed precision the weights are those of all machines, and the network is as accurate as in f32.
fn same_weights_and_accuracy<T: Number>(wide: &str, full: &str) {
    assert_eq!(fingerprint(&everywhere::<T>(&WIDE)), wide);
    let outcome = everywhere::<T>(&Shape::full());
    assert_eq!(fingerprint(&outcome), full);
    let [mixed, single] = [&outcome.confusion, &here::<f32>().confusion].map(accuracy);
    assert!(
        (mixed - single).abs() <= 0.005,
        "held-out accuracy {mixed} in {}, {single} in f32",
        T::NAME
    );
}

#[test]
fn same_weights_bf16() {
    same_weights_and_accuracy::<bf16>("20b2e4937b6bd9b8", "02b7906a0084eb2a");
}

#[test]
fn same_weights_f16() {
    same_weights_and_accuracy::<f16>("7d77c14744669d41", "20b99fac0c6f1fac");
}
