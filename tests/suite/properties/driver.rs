//! Runs a check on random inputs, with one seed per case, so that a single command repeats a failure.

use std::io::Write;

use diptych_tests::machines::VARIABLE;
use diptych_tests::report::Report;
use diptych_tests::watch::watched;
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};

use super::run::CASES_PER_CASE;

/// The first seed, unless `DIPTYCH_SEED` is set.
const SEED: u64 = 20_260_101;

/// Returns a decimal number from the environment.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    let parsed = text.parse();
    Some(parsed.unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// Says how to run a case alone.
fn alone(test: &str, seed: u64) -> String {
    let machine = std::env::var(VARIABLE).map(|name| format!("{VARIABLE}={name} "));
    format!(
        "to run this case alone:\n  {}DIPTYCH_SEED={seed} DIPTYCH_CASES=1 cargo test -p diptych-tests --test {} -- --exact {test}\n",
        machine.unwrap_or_default(),
        env!("CARGO_CRATE_NAME")
    )
}

/// Runs `check` on `cases` inputs of `strategy`; the seed of case i is the first seed plus i.
pub fn random<S: Strategy>(
    test: &str,
    cases: u64,
    strategy: S,
    check: impl Fn(S::Value, &mut Report),
) {
    let first = number("DIPTYCH_SEED").unwrap_or(SEED);
    let cases = number("DIPTYCH_CASES").unwrap_or(cases / CASES_PER_CASE);
    // Written to stderr directly: the test harness shows the output of `print!` only for tests that fail.
    let line = format!("random cases: {cases} of {test} from seed {first}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
    for case in 0..cases {
        let seed = first.wrapping_add(case);
        let mut runner = TestRunner::new(ProptestConfig {
            cases: 1,
            failure_persistence: None,
            max_shrink_iters: 300,
            rng_seed: RngSeed::Fixed(seed),
            ..ProptestConfig::default()
        });
        let outcome = runner.run(&strategy, |input| {
            let alone = format!("{input:?}\n{}", alone(test, seed));
            let report = watched(alone, || {
                let mut report = Report::new();
                check(input, &mut report);
                report
            });
            report.result().map_err(TestCaseError::fail)
        });
        if let Err(failure) = outcome {
            panic!("{failure}\n{}", alone(test, seed));
        }
    }
}

/// Makes a test from a number of cases, a strategy, and a generic function, which runs with f32 or f64 at
/// random.
#[macro_export]
macro_rules! random_test {
    ($name:ident, $cases:literal, $strategy:expr, $check:ident) => {
        #[test]
        fn $name() {
            let module = module_path!().split_once("::").map_or("", |(_, rest)| rest);
            let test = format!("{module}::{}", stringify!($name));
            let input = (proptest::prelude::any::<bool>(), $strategy);
            super::driver::random(&test, $cases, input, |(double, input), report| {
                if double {
                    $check::<f64>(&input, report);
                } else {
                    $check::<f32>(&input, report);
                }
            });
        }
    };
}
