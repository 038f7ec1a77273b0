//! Collects failures, so that one run reports every level and shape that is wrong.

use crate::model::Dense;
use crate::real::{Real, same_bits};

/// How NaNs are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nan {
    /// Bit for bit: reductions return the canonical NaN.
    Bits,
    /// Any NaN equals any other: gemm and elementwise operations promise only some NaN.
    Any,
}

/// The failures of one test; [`Report::finish`] turns them into one panic.
pub struct Report {
    failures: Vec<String>,
    failed: usize,
    checks: usize,
}

/// The number of failures that are printed; further ones are only counted.
const SHOWN: usize = 12;

impl Default for Report {
    fn default() -> Report {
        Report::new()
    }
}

impl Report {
    /// Creates an empty report.
    pub fn new() -> Report {
        Report {
            failures: Vec::new(),
            failed: 0,
            checks: 0,
        }
    }

    /// Compares element by element. `context` describes the operation, level, threads, shape and strides.
    pub fn equal<T: Real>(
        &mut self,
        got: &[T],
        want: &[T],
        nan: Nan,
        context: impl Fn() -> String,
    ) {
        self.equal_matrix(got, want, got.len().max(1), nan, context);
    }

    /// Like [`Report::equal`], for a matrix.
    pub fn equal_dense<T: Real>(
        &mut self,
        got: &Dense<T>,
        want: &Dense<T>,
        nan: Nan,
        context: impl Fn() -> String,
    ) {
        self.equal_matrix(&got.data, &want.data, got.cols.max(1), nan, context);
    }

    fn equal_matrix<T: Real>(
        &mut self,
        got: &[T],
        want: &[T],
        cols: usize,
        nan: Nan,
        context: impl Fn() -> String,
    ) {
        assert_eq!(
            got.len(),
            want.len(),
            "the test compares arrays of different lengths: {}",
            context()
        );
        if same_bits(got, want) {
            self.checks += 1;
            return;
        }
        let same = |g: T, w: T| g.bits() == w.bits() || (nan == Nan::Any && g.nan() && w.nan());
        let differs = |i: &usize| !same(got[*i], want[*i]);
        let Some(first) = (0..got.len()).find(differs) else {
            self.checks += 1;
            return;
        };
        let count = (first..got.len()).filter(differs).count();
        let place = if cols == got.len() {
            format!("[{first}]")
        } else {
            format!("[{}, {}]", first / cols, first % cols)
        };
        let digits = 2 * size_of::<T>() + 2;
        self.fail(format!(
            "{} {}: {count} of {} elements differ, first {place}: got {:#0digits$x} ({:?}), want {:#0digits$x} ({:?})",
            context(),
            T::DTYPE,
            got.len(),
            got[first].bits(),
            got[first],
            want[first].bits(),
            want[first],
        ));
    }

    /// Records a failure unless `holds`.
    pub fn check(&mut self, holds: bool, context: impl Fn() -> String) {
        if holds {
            self.checks += 1;
        } else {
            self.fail(context());
        }
    }

    fn fail(&mut self, message: String) {
        self.checks += 1;
        self.failed += 1;
        if self.failures.len() < SHOWN {
            self.failures.push(message);
        }
    }

    /// Returns the number of comparisons so far.
    pub fn checks(&self) -> usize {
        self.checks
    }

    /// Returns the failures as an error; it is an error too if nothing was compared.
    pub fn result(self) -> Result<(), String> {
        if self.checks == 0 {
            return Err("this test compared nothing".into());
        }
        if self.failed == 0 {
            return Ok(());
        }
        Err(format!(
            "{} of {} comparisons failed; the first {}:\n  {}",
            self.failed,
            self.checks,
            self.failures.len(),
            self.failures.join("\n  ")
        ))
    }

    /// Panics if [`Report::result`] is an error.
    pub fn finish(self) {
        if let Err(failures) = self.result() {
            panic!("{failures}");
        }
    }
}
