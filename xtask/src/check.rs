//! Everything that CI runs, in the order in which it fails fastest.
use crate::command::{cargo, run as run_command, show, works};
use crate::targets::{aarch64, musl};
use crate::{
    abi, asm, blas, cost, ctests, docs, embedding, freestanding, fuzz, generate, gpu, library,
    paths, ptx, python, size, skip, symbols,
};
use anyhow::{Context, Result, anyhow, ensure};
use std::time::{Duration, Instant};
use std::{env, thread};

type Step = (&'static str, fn() -> Result<()>);

const STEPS: &[Step] = &[
    ("fmt", || show(cargo().args(["fmt", "--all", "--check"]))),
    ("gen", || generate::run(true)),
    ("clippy", clippy),
    ("no_std", no_std),
    ("doc", doc),
    ("docs", docs::run),
    ("package", package),
    ("deny", deny),
    ("asm", asm::run),
    ("tests", tests),
    ("ptx", || ptx::run(true)),
    ("ptxsim", || ptx::simulate(&library::build()?, false)),
    ("symbols", || symbols::check(&library::build()?)),
    ("size", || size::check(&library::build()?)),
    ("abi", || abi::check(false)),
    ("gpu", || gpu::check(&gpu::bundle(&library::build()?)?)),
    ("cost", || cost::run(&library::build()?, false)),
    // The other programs in C are tests of this package.
    ("c", || {
        ctests::dlpack(&library::build()?)?;
        ctests::valgrind(&library::build()?)
    }),
    ("blas", || {
        blas::command(library::build, &blas::Options::default())
    }),
    ("python", || python::command(&python::Options::default())),
    ("embedding", || embedding::all(&library::build()?)),
    ("bare", freestanding::bare::run_all),
    ("musl", musl::run_all),
    ("aarch64", aarch64::programs),
    ("device", device),
    ("fuzz", || fuzz::fuzz(&fuzz::Options::bounded())),
];

/// Runs every step; the first failure ends it. At the end stands what could not be checked.
///
/// No step begins later than `DIPTYCH_CHECK_MINUTES` after the first: on a slow machine, those that are left are skipped by
/// name.
pub fn run() -> Result<()> {
    let (began, limit) = (Instant::now(), limit()?);
    let built = thread::spawn(build_ahead);
    for (name, step) in STEPS {
        if limit.is_some_and(|limit| began.elapsed() > limit) {
            skip::skip(name, "DIPTYCH_CHECK_MINUTES are over")?;
            continue;
        }
        println!("== {name}");
        let start = Instant::now();
        step().with_context(|| format!("step {name}"))?;
        println!(
            "== {name}: passed in {:.1} s",
            start.elapsed().as_secs_f64()
        );
    }
    built
        .join()
        .map_err(|_| anyhow!("building ahead panicked"))??;
    println!("== all that could be checked here passed");
    skip::repeat();
    Ok(())
}

/// The time after which no step begins.
fn limit() -> Result<Option<Duration>> {
    let Ok(text) = env::var("DIPTYCH_CHECK_MINUTES") else {
        return Ok(None);
    };
    let minutes: u64 = text.parse().context("DIPTYCH_CHECK_MINUTES")?;
    Ok(Some(Duration::from_secs(60 * minutes)))
}

/// Builds what the tests and later steps need beside the first ones: these are single codegen units, which leave cores
/// idle. A step that comes too early waits for its own.
fn build_ahead() -> Result<()> {
    library::build()?;
    library::build_freestanding().map(drop)
}

/// What `cargo test` runs, and what it leaves out: the packages that are no default members, and the unit tests of the
/// kernels, in a profile that compiles only the kernels that they call.
fn tests() -> Result<()> {
    show(cargo().args(["test", "--workspace"]))?;
    show(cargo().args([
        "test",
        "--profile",
        "unit",
        "--lib",
        "--package",
        "diptych",
        "--features",
        "pool,models",
    ]))
}

/// The device suite at its full length. Its cases are in `tests` already; this takes as long as half of those, so it is
/// one of the last steps.
fn device() -> Result<()> {
    show(
        cargo()
            .args(["test", "--workspace", "--test", "device"])
            .env("DIPTYCH_FULL", "1"),
    )
}

fn clippy() -> Result<()> {
    show(cargo().args([
        "clippy",
        "--workspace",
        "--all-targets",
        "--",
        "--deny",
        "warnings",
    ]))
}

/// The crate without std, and the suites without what 64-bit Arm does not run.
fn no_std() -> Result<()> {
    let check = ["check", "--no-default-features", "--package"];
    show(cargo().args(check).arg("diptych"))?;
    show(
        cargo()
            .args(check)
            .args(["diptych-tests", "--test", "suite"]),
    )
}

fn doc() -> Result<()> {
    show(
        cargo()
            .args(["doc", "--workspace", "--no-deps", "--quiet"])
            .env("RUSTDOCFLAGS", "--deny warnings"),
    )
}

/// The crates that are published have all that crates.io asks for. Their files are packed, but not compiled once more.
fn package() -> Result<()> {
    /// The crates, and their folders.
    const PUBLISHED: [(&str, &str); 4] = [
        ("diptych", "kernels-cpu"),
        ("diptych-device", "kernels-gpu/device"),
        ("diptych-gpu", "kernels-gpu"),
        ("diptych-ffi", "ffi"),
    ];
    let options = "package --quiet --offline --no-verify --allow-dirty";
    let mut package = cargo();
    package.args(options.split(' '));
    for (name, folder) in PUBLISHED {
        package.args(["--package", name]);
        // Without its build script a crate compiles too, and means something else.
        let mut list = cargo();
        list.args(options.split(' '))
            .args(["--list", "--package", name]);
        let files = run_command(&mut list)?;
        let exists = paths::root().join(folder).join("build.rs").exists();
        let is_packed = files.lines().any(|file| file == "build.rs");
        ensure!(exists == is_packed, "{name} is packed without its build.rs");
    }
    show(&mut package)
}

/// Licences, sources and versions of dependencies, by deny.toml. Advisories need the network: `cargo deny check`.
fn deny() -> Result<()> {
    if !works(cargo().args(["deny", "--version"])) {
        return skip::skip("the dependencies", "cargo-deny is not installed");
    }
    let check = ["deny", "--offline", "check", "--hide-inclusion-graph"];
    show(cargo().args(check).args(["licenses", "bans", "sources"]))
}
