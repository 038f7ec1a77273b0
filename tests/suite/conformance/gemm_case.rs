//! One product with its operands in memory, for the gemm suites.

use core::mem::MaybeUninit;

use super::backend::Config;
use diptych_tests::cases::{self, Values};
use diptych_tests::layout::{Placed, Strides};
use diptych_tests::model::{self, Dense};
use diptych_tests::raw;
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};

/// Pairs (alpha, beta) that take different paths through the kernels.
pub const SCALARS: [(f64, f64); 8] = [
    (1.0, 0.0),
    (1.25, 0.0),
    (1.0, 1.0),
    (-0.6, 2.3),
    (0.0, 0.0),
    (0.0, -1.7),
    (-1.0, -1.0),
    (-2.5, 0.0),
];

/// A product, its operands in some layout, and the expected result.
pub struct Case<T> {
    a: Placed<T>,
    b: Placed<T>,
    c: Dense<T>,
    c_strides: Strides,
    alpha: T,
    beta: T,
    want: Dense<T>,
    k: usize,
}

/// Layouts of A, B and C.
pub type Layouts = [Strides; 3];

/// Returns row-major layouts without gaps for A, B and C.
pub fn row_major(n: usize, k: usize) -> Layouts {
    let rows = |n: usize| Strides {
        rs: n as i64,
        cs: 1,
    };
    [rows(k), rows(n), rows(n)]
}

/// Returns the layout whose columns are contiguous, and `apart` elements from one to the next.
pub fn columns(apart: usize) -> Strides {
    Strides {
        rs: 1,
        cs: apart as i64,
    }
}

impl<T: Dtype> Case<T> {
    pub fn new(
        values: Values,
        (m, n, k): (usize, usize, usize),
        layouts: Layouts,
        (alpha, beta): (T, T),
    ) -> Case<T> {
        let a = Placed::matrix(&cases::dense(values, m, k, 41), layouts[0], (m + k) % 5);
        let b = Placed::matrix(&cases::dense(values, k, n, 42), layouts[1], (n + k) % 3);
        let mut c: Dense<T> = cases::dense(values, m, n, 43);
        if beta == T::zero() {
            // With beta = 0, C must not be read.
            c.data.fill(T::of_bits(T::NAN_BITS | 0x99));
        }
        let want = model::gemm(alpha, &a.dense(), &b.dense(), beta, &c);
        Case {
            a,
            b,
            c,
            c_strides: layouts[2],
            alpha,
            beta,
            want,
            k,
        }
    }

    pub fn ordinary(
        shape: (usize, usize, usize),
        layouts: Layouts,
        scalars: (f64, f64),
    ) -> Case<T> {
        Case::new(
            Values::Ordinary,
            shape,
            layouts,
            (T::of(scalars.0), T::of(scalars.1)),
        )
    }

    pub fn check_each(&self, report: &mut Report, configs: Vec<Config>) {
        for config in configs {
            self.check(report, config, None);
        }
    }

    pub fn check(
        &self,
        report: &mut Report,
        config: Config,
        workspace: Option<&mut [MaybeUninit<u8>]>,
    ) {
        let (m, n, k) = (self.c.rows as i64, self.c.cols as i64, self.k as i64);
        let mut c = Placed::matrix(&self.c, self.c_strides, (m + n) as usize % 7);
        let (a, b) = (&self.a, &self.b);
        let given = workspace.is_some();
        // SAFETY: the matrices are m x k, k x n and m x n; no two elements of C share an address.
        let call = |exec: &dyn raw::On| unsafe {
            let (p, rs, cs) = (c.mut_ptr(), c.rs(), c.cs());
            raw::gemm(
                exec,
                m,
                n,
                k,
                self.alpha,
                a.ptr(),
                a.rs(),
                a.cs(),
                b.ptr(),
                b.rs(),
                b.cs(),
                self.beta,
                p,
                rs,
                cs,
            )
        };
        let status = match workspace {
            Some(workspace) => config.run_with(workspace, call),
            None => config.run(call),
        };
        let context = || {
            format!(
                "gemm {config}, {m} x {n} x {k}, A {} {}, B {} {}, C {:?}, alpha {:?}, beta {:?}, workspace {given}",
                a.rs(),
                a.cs(),
                b.rs(),
                b.cs(),
                self.c_strides,
                self.alpha,
                self.beta
            )
        };
        report.check(status.is_ok(), || format!("{}: {status:?}", context()));
        report.equal_dense(&c.dense(), &self.want, Nan::Any, context);
        report.check(c.gaps_intact(), || {
            format!("{}: wrote outside C", context())
        });
    }
}
