//! The network of `examples/`, trained in Rust and in C, gets the same weights, bit for bit, at every
//! CPU level and with 1 and 2 threads, and learns to recognise digits.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use diptych::{Exec, Level, Pool};
use diptych_examples::data::Digits;
use diptych_examples::real::Real;
use diptych_examples::training::{Options, Outcome, train};
use diptych_tests::levels::levels;
use xtask::{command, library, paths};

const THREADS: [usize; 2] = [1, 2];

/// The parameters of a training run, for both languages.
struct Shape {
    name: &'static str,
    epochs: usize,
    hidden: usize,
    batch: usize,
}

/// The default training with fewer epochs, and one whose products are large enough for several
/// threads; in both, the last batch is smaller than the others.
const SHAPES: [Shape; 2] = [
    Shape {
        name: "default",
        epochs: 2,
        hidden: 128,
        batch: 32,
    },
    Shape {
        name: "wide",
        epochs: 1,
        hidden: 260,
        batch: 600,
    },
];

fn run<T: Real>(options: &Options, level: Level, threads: usize) -> Outcome<T> {
    let pool = Pool::new(threads).expect("threads");
    let mut exec = Exec::new()
        .with_level(level)
        .expect("a level of this machine");
    if threads > 1 {
        exec = exec.with_pool(&pool, threads);
    }
    train(&Digits::load(), options, &exec, |_| ()).expect("training")
}

/// Trains at every level, with 1 and 2 threads, in Rust and in C; all must agree.
fn same_everywhere<T: Real>(c_flags: &[&str]) {
    for shape in &SHAPES {
        let options = Options {
            epochs: shape.epochs,
            hidden: shape.hidden,
            batch: shape.batch,
            ..Options::default()
        };
        let program = compile::<T>(shape, c_flags);
        let mut expected = None;
        for &level in levels() {
            for threads in THREADS {
                let rust = run::<T>(&options, level, threads).network.fingerprint();
                let c = run_c(&program, shape.epochs, level, threads);
                let expected = *expected.get_or_insert(rust);
                let context = format!(
                    "{} at level {}, {threads} threads",
                    shape.name,
                    level.name()
                );
                assert_eq!(
                    format!("{rust:016x}"),
                    format!("{expected:016x}"),
                    "Rust, {context}"
                );
                assert_eq!(c, format!("{expected:016x}"), "C, {context}");
            }
        }
    }
}

/// Returns the static library, which is built once.
fn archive() -> &'static Path {
    static ARCHIVE: OnceLock<PathBuf> = OnceLock::new();
    ARCHIVE.get_or_init(|| library::build().expect("the C library").archive)
}

fn compile<T: Real>(shape: &Shape, flags: &[&str]) -> PathBuf {
    let name = format!("digits-{}-{}", std::any::type_name::<T>(), shape.name);
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
    same_everywhere::<f32>(&[]);
}

#[test]
fn same_weights_f64() {
    same_everywhere::<f64>(&["-DDIGITS_F64"]);
}

/// The training of README's first command reaches its accuracy in Rust, and C ends with the same weights.
#[test]
fn main_job_learns() {
    let options = Options::default();
    let level = Level::active().expect("a level");
    let outcome = run::<f32>(&options, level, 1);
    let last = outcome.history.last().expect("at least one epoch");
    assert!(last.accuracy >= 0.95, "held-out accuracy {}", last.accuracy);
    assert!(
        last.loss < outcome.history[0].loss / 5.0,
        "the loss fell to {}",
        last.loss
    );
    let shape = Shape {
        name: "full",
        epochs: options.epochs,
        hidden: options.hidden,
        batch: options.batch,
    };
    let program = compile::<f32>(&shape, &[]);
    let fingerprint = format!("{:016x}", outcome.network.fingerprint());
    assert_eq!(run_c(&program, options.epochs, level, 1), fingerprint);
}
