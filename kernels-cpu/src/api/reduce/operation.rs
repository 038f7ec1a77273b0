//! The reductions, built from folds: of one vector, and of many columns at once.

use super::finish::{canonical, finish_sum, nrm2_is_safe, nrm2_scale};
use super::fold::{Fold, Strided, fold};
use crate::element::Element;
use crate::exec::Exec;
use crate::ops::reduce::Work;
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

/// Vectors that are reduced at once where something of each is kept on the stack.
pub const COLUMNS: usize = 512;

/// `count` vectors of `len` elements each, which are reduced alike.
#[derive(Clone, Copy)]
pub struct Many<T> {
    pub count: usize,
    pub len: usize,
    pub x: *const T,
    pub layout: Layout,
    /// Scratch memory.
    pub work: Work,
}

/// How many vectors lie in memory.
#[derive(Clone, Copy)]
pub enum Layout {
    /// Side by side: element i of vector j is `x[i * inc + j]`.
    Columns { inc: isize },
    /// Each contiguous: element i of vector j is `x[j * inc + i]`.
    Rows { inc: isize },
}

impl<T: Element> Many<T> {
    /// Vectors from j on, `count` of them.
    pub fn part(self, j: usize, count: usize) -> Self {
        let step = match self.layout {
            Layout::Columns { .. } => 1,
            Layout::Rows { inc } => inc,
        };
        let x = self.x.wrapping_offset(j as isize * step);
        Self { count, x, ..self }
    }

    fn vector(self, j: usize) -> Strided<T> {
        let inc = match self.layout {
            Layout::Columns { inc } => inc,
            Layout::Rows { .. } => 1,
        };
        Strided::new(self.part(j, 1).x, inc)
    }

    /// One fold of all vectors, with its last step.
    ///
    /// # Safety
    /// The vectors must be valid, `params` null or one per vector, `out` for one per vector.
    pub unsafe fn fold(self, f: Fold<T>, params: *const T, out: *mut T) {
        let Many {
            count,
            len,
            x,
            layout,
            work,
        } = self;
        // SAFETY: as the caller's.
        unsafe {
            match layout {
                Layout::Columns { inc } => {
                    (f.columns)(len, count, x, inc, x, inc, params, out, work)
                }
                Layout::Rows { inc } => (f.rows)(count, len, x, inc, x, 1, params, out),
            }
        }
    }
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
    #[inline(always)]
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
        match self {
            Self::Sum => finish_sum(run(Fold::sum(k), T::ZERO)),
            Self::Asum => finish_sum(run(Fold::asum(k), T::ZERO)),
            Self::Sumsq => finish_sum(run(Fold::sumsq(k), T::ZERO)),
            Self::Prod => canonical(run(Fold::prod(k), T::ZERO)),
            Self::Min => canonical(run(Fold::min(k), T::ZERO)),
            Self::Max => canonical(run(Fold::max(k), T::ZERO)),
            Self::Mean => canonical(mean()),
            Self::Var { ddof } => {
                let squares = finish_sum(run(Fold::deviation_sq(k), mean()));
                canonical(squares / T::from_count(n - ddof))
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
                canonical(finish_sum(run(Fold::scaled_sumsq(k), scale)).sqrt() * T::pow2(e))
            }
            Self::Logsumexp => {
                let greatest = run(Fold::max(k), T::ZERO);
                if !greatest.is_finite() {
                    return canonical(greatest);
                }
                canonical(greatest + finish_sum(run(Fold::exp_sum(k), greatest)).ln())
            }
        }
    }

    /// The fold that is the whole of this reduction, where one is.
    pub fn single<T: Element>(self, k: &Kernels<T>) -> Option<Fold<T>> {
        match self {
            Self::Sum => Some(Fold::sum(k)),
            Self::Asum => Some(Fold::asum(k)),
            Self::Sumsq => Some(Fold::sumsq(k)),
            Self::Prod => Some(Fold::prod(k)),
            Self::Min => Some(Fold::min(k)),
            Self::Max => Some(Fold::max(k)),
            _ => None,
        }
    }

    /// How often this reduction reads its elements.
    pub fn passes(self) -> usize {
        match self {
            Self::Var { .. } | Self::Logsumexp => 2,
            _ => 1,
        }
    }

    /// How many vectors [`Operation::many`] takes at once, at most.
    pub fn most_at_once(self) -> usize {
        match self {
            Self::Logsumexp => COLUMNS,
            _ => usize::MAX,
        }
    }

    /// The reductions of many vectors, at most [`Operation::most_at_once`].
    ///
    /// # Safety
    /// The vectors must be valid, `out` for one element per vector.
    pub unsafe fn many<T: Element>(self, k: &Kernels<T>, m: Many<T>, out: *mut T) {
        let Many { count, len, .. } = m;
        // SAFETY: as the caller's. A vector's parameter is read before its result is written.
        let run = |f: Fold<T>, params: *const T, out: *mut T| unsafe { m.fold(f, params, out) };
        let none = core::ptr::null();
        // SAFETY: as the caller's; the results have been written.
        let divide = |by: usize| unsafe { divide(out, count, by) };
        match self {
            Self::Mean => {
                run(Fold::sum(k), none, out);
                divide(len);
            }
            Self::Var { ddof } => {
                run(Fold::sum(k), none, out);
                divide(len);
                run(Fold::deviation_sq(k), out, out);
                divide(len - ddof);
            }
            Self::Nrm2 => {
                run(Fold::sumsq(k), none, out);
                for j in 0..count {
                    // SAFETY: as the caller's; it has been written.
                    unsafe {
                        let v = *out.add(j);
                        *out.add(j) = if nrm2_is_safe(v) {
                            v.sqrt()
                        } else {
                            self.vector(&Exec::new(), k, len, m.vector(j))
                        };
                    }
                }
            }
            Self::Logsumexp => {
                let mut greatest = [T::ZERO; COLUMNS];
                run(Fold::max(k), none, greatest.as_mut_ptr());
                // Vectors whose greatest is not finite have it as result; a finite stand-in keeps
                // their exponentials harmless.
                let params = greatest.map(|g| if g.is_finite() { g } else { T::ZERO });
                run(Fold::exp_sum(k), params.as_ptr(), out);
                for (j, g) in greatest.into_iter().enumerate().take(count) {
                    // SAFETY: as the caller's; it has been written.
                    unsafe {
                        let log = g + (*out.add(j)).ln();
                        *out.add(j) = canonical(if g.is_finite() { log } else { g });
                    }
                }
            }
            _ => {
                if let Some(fold) = self.single(k) {
                    run(fold, none, out);
                }
            }
        }
    }
}

/// Divides `count` results by `by`.
///
/// # Safety
/// They must be there.
unsafe fn divide<T: Element>(out: *mut T, count: usize, by: usize) {
    let divisor = T::from_count(by);
    let inverse = T::ONE / divisor;
    for j in 0..count {
        // SAFETY: as the caller's.
        unsafe {
            let v = *out.add(j);
            // The inverse of a power of two is exact, and a product of the same bits is faster.
            let v = if by.is_power_of_two() {
                v * inverse
            } else {
                v / divisor
            };
            *out.add(j) = canonical(v);
        }
    }
}
