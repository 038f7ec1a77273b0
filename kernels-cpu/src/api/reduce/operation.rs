//! The reductions, built from folds: of one vector, and of many columns at once.

use super::fold::{Fold, Strided, fold};
use crate::element::Element;
use crate::exec::Exec;
use crate::table::Kernels;

/// A reduction to one element.
#[derive(Clone, Copy)]
pub enum Operation {
    Sum,
    Mean,
    Prod,
    Min,
    Max,
    Sumsq,
    Asum,
    Nrm2,
    Var { ddof: usize },
    Logsumexp,
}

/// Columns that are reduced at once: their parameters fit on the stack.
pub const COLUMNS: usize = 512;

/// Columns in memory: element (i, j) is `x[i * inc + j]`.
#[derive(Clone, Copy)]
pub struct Columns<T> {
    pub rows: usize,
    pub cols: usize,
    pub x: *const T,
    pub inc: isize,
}

/// The one NaN for all NaNs.
fn canonical<T: Element>(value: T) -> T {
    if value.is_nan() {
        T::CANONICAL_NAN
    } else {
        value
    }
}

/// The last step of sums: no -0 and one NaN.
pub fn finish_sum<T: Element>(value: T) -> T {
    canonical(value + T::ZERO)
}

/// The power of two by which `nrm2` scales, and its exponent, for a greatest absolute value that
/// is neither 0 nor infinite nor a NaN.
fn nrm2_scale<T: Element>(greatest: T) -> (T, i32) {
    let (least, most) = T::SCALE_EXPONENTS;
    let e = greatest.exponent().clamp(least, most);
    (T::pow2(-e), e)
}

/// Whether a sum of squares is neither lost to overflow nor to underflow.
fn nrm2_is_safe<T: Element>(sumsq: T) -> bool {
    sumsq >= T::SUMSQ_TINY && sumsq.is_finite()
}

impl Operation {
    /// Whether nothing has no value under it.
    pub fn needs_elements(self) -> bool {
        matches!(self, Self::Mean | Self::Min | Self::Max | Self::Var { .. })
    }

    /// The reduction of `n` elements.
    ///
    /// # Safety
    /// `x` must be valid at `n` elements.
    pub unsafe fn vector<T: Element>(
        self,
        exec: &Exec<'_>,
        k: &Kernels<T>,
        n: usize,
        x: Strided<T>,
    ) -> T {
        // SAFETY: as the caller's, here and in each use.
        let run = |f: Fold<T>, param: T| unsafe { fold(exec, f, n, x, x, param) };
        let mean = || finish_sum(run(Fold::sum(k), T::ZERO)) / T::from_count(n);
        canonical(match self {
            Self::Sum => finish_sum(run(Fold::sum(k), T::ZERO)),
            Self::Asum => finish_sum(run(Fold::asum(k), T::ZERO)),
            Self::Sumsq => finish_sum(run(Fold::sumsq(k), T::ZERO)),
            Self::Prod => run(Fold::prod(k), T::ZERO),
            Self::Min => run(Fold::min(k), T::ZERO),
            Self::Max => run(Fold::max(k), T::ZERO),
            Self::Mean => mean(),
            Self::Var { ddof } => {
                finish_sum(run(Fold::deviation_sq(k), mean())) / T::from_count(n - ddof)
            }
            Self::Nrm2 => {
                let sumsq = finish_sum(run(Fold::sumsq(k), T::ZERO));
                if nrm2_is_safe(sumsq) {
                    return sumsq.sqrt();
                }
                let greatest = run(Fold::max_abs(k), T::ZERO);
                if greatest == T::ZERO || !greatest.is_finite() {
                    return canonical(greatest);
                }
                let (scale, e) = nrm2_scale(greatest);
                finish_sum(run(Fold::scaled_sumsq(k), scale)).sqrt() * T::pow2(e)
            }
            Self::Logsumexp => {
                let greatest = run(Fold::max(k), T::ZERO);
                if !greatest.is_finite() {
                    return canonical(greatest);
                }
                greatest + finish_sum(run(Fold::exp_sum(k), greatest)).ln()
            }
        })
    }

    /// The reductions of columns, at most [`COLUMNS`] of them: the first of `out`.
    ///
    /// # Safety
    /// The columns must be valid.
    pub unsafe fn columns<T: Element>(self, k: &Kernels<T>, m: Columns<T>, out: &mut [T; COLUMNS]) {
        let Columns { rows, cols, x, inc } = m;
        let run = |f: Fold<T>, params: Option<&[T; COLUMNS]>, out: &mut [T; COLUMNS]| {
            let params = params.map_or(core::ptr::null(), |p| p.as_ptr());
            // SAFETY: as the caller's; cols <= COLUMNS.
            unsafe { (f.columns)(rows, cols, x, inc, x, inc, params, out.as_mut_ptr()) }
        };
        let divide = |out: &mut [T; COLUMNS], by: usize| {
            out.iter_mut()
                .take(cols)
                .for_each(|v| *v = finish_sum(*v) / T::from_count(by));
        };
        match self {
            Self::Sum => run(Fold::sum(k), None, out),
            Self::Asum => run(Fold::asum(k), None, out),
            Self::Sumsq | Self::Nrm2 => run(Fold::sumsq(k), None, out),
            Self::Prod => run(Fold::prod(k), None, out),
            Self::Min => run(Fold::min(k), None, out),
            Self::Max | Self::Logsumexp => run(Fold::max(k), None, out),
            Self::Mean | Self::Var { .. } => {
                run(Fold::sum(k), None, out);
                divide(out, rows);
            }
        }
        match self {
            Self::Sum | Self::Asum | Self::Sumsq => {
                out.iter_mut().take(cols).for_each(|v| *v = finish_sum(*v))
            }
            Self::Var { ddof } => {
                let means = *out;
                run(Fold::deviation_sq(k), Some(&means), out);
                divide(out, rows - ddof);
            }
            Self::Nrm2 => {
                for (j, v) in out.iter_mut().enumerate().take(cols) {
                    let sumsq = finish_sum(*v);
                    *v = if nrm2_is_safe(sumsq) {
                        sumsq.sqrt()
                    } else {
                        let column = Strided::new(x.wrapping_add(j), inc);
                        // SAFETY: as the caller's.
                        unsafe { self.vector(&Exec::new(), k, rows, column) }
                    };
                }
            }
            Self::Logsumexp => {
                // Columns whose greatest is not finite have it as result; a finite stand-in keeps
                // their exponentials harmless.
                let greatest = *out;
                let params = greatest.map(|g| if g.is_finite() { g } else { T::ZERO });
                run(Fold::exp_sum(k), Some(&params), out);
                for (v, g) in out.iter_mut().zip(greatest).take(cols) {
                    *v = if g.is_finite() {
                        g + finish_sum(*v).ln()
                    } else {
                        g
                    };
                }
            }
            _ => {}
        }
        out.iter_mut().take(cols).for_each(|v| *v = canonical(*v));
    }
}
