//! The random cases of all suites: what they draw from bytes, the seeds of the bytes, and a smaller case when one fails.

mod input;
mod shrink;

use std::cell::RefCell;
use std::fmt::Debug;
use std::io::Write;
use std::panic::{AssertUnwindSafe, catch_unwind};

use fastrand::Rng;

use crate::machines::VARIABLE;
use crate::report::Report;
use crate::watch::watched;

pub use input::Input;

/// The first seed, unless `DIPTYCH_SEED` is set.
const SEED: u64 = 20_260_101;

/// More bytes than a valid case draws.
const BYTES: usize = 512;

/// Returns a decimal number from the environment.
fn number(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok().filter(|text| !text.is_empty())?;
    let parsed = text.parse();
    Some(parsed.unwrap_or_else(|_| panic!("{name}={text} is not a number")))
}

/// A random test: the seed of case i is the first seed plus i, so that a single command repeats a failure.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// The program of the test, and its name there.
    pub test: (&'a str, &'a str),
    /// The first seed.
    pub seed: u64,
    /// The number of cases.
    pub cases: u64,
}

impl<'a> Search<'a> {
    /// Takes `cases` unless `DIPTYCH_CASES` says otherwise.
    pub fn new(test: (&'a str, &'a str), cases: u64) -> Search<'a> {
        Search {
            test,
            seed: number("DIPTYCH_SEED").unwrap_or(SEED),
            cases: number("DIPTYCH_CASES").unwrap_or(cases),
        }
    }

    /// Says how to run a case alone.
    fn alone(&self, seed: u64) -> String {
        let machine = std::env::var(VARIABLE).map(|name| format!("{VARIABLE}={name} "));
        let (program, test) = self.test;
        format!(
            "to run this case alone:\n  {}DIPTYCH_SEED={seed} DIPTYCH_CASES=1 cargo test -p diptych-tests --test {program} -- --exact {test}\n",
            machine.unwrap_or_default(),
        )
    }

    /// Calls `check` with as many random bytes as `length` draws, for each case. `check` returns or panics with what is
    /// wrong; its other argument says how to run the case alone.
    ///
    /// # Panics
    /// If a case fails: with the smallest that fails too, of those that were tried.
    pub fn run(
        &self,
        length: impl Fn(&mut Rng) -> usize,
        check: impl FnMut(&[u8], &str) -> Result<(), String>,
    ) {
        let check = RefCell::new(check);
        for case in 0..self.cases {
            let seed = self.seed.wrapping_add(case);
            let mut rng = Rng::with_seed(seed);
            let count = length(&mut rng);
            let data: Vec<u8> = (0..count).map(|_| rng.u8(..)).collect();
            let alone = self.alone(seed);
            let attempt = |data: &[u8]| {
                let call = || check.borrow_mut()(data, &alone);
                let outcome = catch_unwind(AssertUnwindSafe(|| watched(alone.clone(), call)));
                outcome.unwrap_or_else(|panic| Err(shrink::text(&*panic)))
            };
            if let Err(problem) = attempt(&data) {
                let problem = shrink::smallest(data, problem, attempt);
                panic!("{problem}\n{alone}");
            }
        }
    }
}

/// Runs a test of valid calls: draws inputs, and checks each with f32 or f64.
///
/// # Panics
/// If a check fails.
pub fn check_all<C: Debug>(
    test: (&str, &str),
    cases: u64,
    draw: impl Fn(&mut Input<'_>) -> C,
    check: impl Fn(&C, bool, &mut Report),
) {
    let search = Search::new(test, cases);
    let Search { seed, cases, .. } = search;
    let name = test.1;
    say(&format!("random cases: {cases} of {name} from seed {seed}"));
    search.run(
        |_| BYTES,
        |data, alone| {
            let mut input = Input::new(data);
            let double = input.flag();
            let case = draw(&mut input);
            let mut report = Report::new();
            watched(format!("{case:?}\n{alone}"), || {
                check(&case, double, &mut report);
            });
            report
                .result()
                .map_err(|problem| format!("{problem}\n{case:?}"))
        },
    );
}

/// Writes a line to stderr directly: the test harness shows the output of `print!` only for tests that fail.
pub fn say(line: &str) {
    let _ = std::io::stderr().write_all(format!("{line}\n").as_bytes());
}

/// Makes a test from a number of cases, a function that draws one, and a generic function that checks it, with f32 or
/// f64 at random.
#[macro_export]
macro_rules! random_test {
    ($name:ident, $cases:expr, $draw:expr, $check:ident) => {
        #[test]
        fn $name() {
            let module = module_path!().split_once("::").map_or("", |(_, rest)| rest);
            let name = format!("{module}::{}", stringify!($name));
            let test = (env!("CARGO_CRATE_NAME"), name.as_str());
            $crate::random::check_all(test, $cases, $draw, |case, double, report| {
                if double {
                    $check::<f64>(case, report);
                } else {
                    $check::<f32>(case, report);
                }
            });
        }
    };
}
