//! Matrix products: `gemm`, `gemm_batched`, `gemm_fused`.

pub(crate) mod check;
mod gemv;
pub(crate) mod packed;
pub(crate) mod plan;
pub(crate) mod run;
mod safe;
mod small;

pub use safe::*;

use crate::dispatch::Kernels;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::matrix::Matrix;
use crate::ops::gemm::params;
use check::{Arguments, check, check_quickly};

/// What the bias of a [`RawEpilogue`] is added to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum BiasKind {
    /// There is no bias.
    #[default]
    None,
    /// Element i of the bias is added to row i.
    PerRow,
    /// Element j of the bias is added to column j.
    PerColumn,
}

/// The pointer form of an [`Epilogue`]: a bias, then a clamp.
#[derive(Clone, Copy, Debug)]
pub struct RawEpilogue<T> {
    /// m elements (per row) or n elements (per column); ignored if there is no bias.
    pub bias: *const T,
    /// The stride from one element of the bias to the next.
    pub bias_inc: i64,
    /// What the bias is added to.
    pub bias_kind: BiasKind,
    /// The bounds lo and hi, with the meaning of [`clamp`](crate::clamp()); `None`: no clamp.
    pub clamp: Option<(T, T)>,
}

/// Checks a batch of products and runs them. By value, so that the arguments of small products can stay in registers.
///
/// # Safety
/// As [`raw::gemm`], for each product of the batch.
unsafe fn check_and_run<T: Element>(exec: &Exec<'_>, args: Arguments<'_, T>) -> Result<()> {
    let kernels = Kernels::<T>::new(exec.level()?);
    let Some(batch) = check(&args)? else {
        return Ok(());
    };
    // SAFETY: the caller vouches for the arrays.
    unsafe { run::batch(exec, kernels, batch) }
}

/// Runs a single product without an epilogue: on the fast path, if it qualifies.
///
/// # Safety
/// As [`raw::gemm`].
#[inline(always)]
pub(crate) unsafe fn single<T: Element>(exec: &Exec<'_>, args: &Arguments<'_, T>) -> Result<()> {
    // SAFETY: as the caller's.
    unsafe {
        let has_vector = (args.n == 1) | (args.m == 1 && !exec.is_batch_invariant());
        if !has_vector && let Some(p) = check_quickly(args) {
            return small::run(exec, &p);
        }
        if has_vector
            && args.alpha == T::ONE
            && args.beta == T::ZERO
            && small::with_vector(exec, *args)?
        {
            return Ok(());
        }
        check_and_run(exec, *args)
    }
}

/// The pointer forms.
pub mod raw {
    pub use super::RawEpilogue;
    use super::*;
    use crate::args::size;

    /// C = alpha A B + beta C for an m by k matrix A, a k by n matrix B and an m by n matrix C.
    ///
    /// With beta = 0, C is not read; with alpha = 0 or k = 0, A and B are not read and may be null; with m = 0 or n = 0
    /// the call does nothing.
    ///
    /// # Errors
    /// `NegativeSize`, `NullPointer`, `Misaligned`, `SizeOverflow`; `Overlap` when C overlaps A, B or itself;
    /// `WorkspaceTooSmall`.
    ///
    /// # Safety
    /// A and B must be valid for reading and C for writing at all elements, and C for reading unless beta = 0.
    #[inline(always)]
    pub unsafe fn gemm<T: Element>(
        exec: &Exec<'_>,
        m: i64,
        n: i64,
        k: i64,
        alpha: T,
        a: *const T,
        a_rs: i64,
        a_cs: i64,
        b: *const T,
        b_rs: i64,
        b_cs: i64,
        beta: T,
        c: *mut T,
        c_rs: i64,
        c_cs: i64,
    ) -> Result<()> {
        let (a, b) = (Matrix::new(a, a_rs, a_cs), Matrix::new(b, b_rs, b_cs));
        let c = Matrix::new(c, c_rs, c_cs);
        let args = Arguments::new((m, n, k), alpha, a, b, beta, c);
        // SAFETY: as the caller's.
        unsafe { single(exec, &args) }
    }

    /// `batch` products: [`gemm`] on `a + q * a_bs`, `b + q * b_bs` and `c + q * c_bs` for each q in 0 .. batch. `a_bs`
    /// and `b_bs` may be 0: one matrix for all products.
    ///
    /// # Errors
    /// As [`gemm`]; also `Overlap` when two of the matrices C overlap.
    ///
    /// # Safety
    /// As [`gemm`], for each product.
    pub unsafe fn gemm_batched<T: Element>(
        exec: &Exec<'_>,
        m: i64,
        n: i64,
        k: i64,
        alpha: T,
        a: *const T,
        a_rs: i64,
        a_cs: i64,
        b: *const T,
        b_rs: i64,
        b_cs: i64,
        beta: T,
        c: *mut T,
        c_rs: i64,
        c_cs: i64,
        batch: i64,
        a_bs: i64,
        b_bs: i64,
        c_bs: i64,
    ) -> Result<()> {
        let (a, b) = (
            Matrix::batched(a, a_rs, a_cs, a_bs),
            Matrix::batched(b, b_rs, b_cs, b_bs),
        );
        let c = Matrix::batched(c, c_rs, c_cs, c_bs);
        let args = Arguments {
            batch,
            ..Arguments::new((m, n, k), alpha, a, b, beta, c)
        };
        // SAFETY: as the caller's.
        unsafe { check_and_run(exec, args) }
    }

    /// [`gemm`], followed by an epilogue: a bias is added to rows or columns, with one rounding, and then a clamp is
    /// applied.
    ///
    /// # Errors
    /// As [`gemm`]; also `Overlap` when C overlaps the bias.
    ///
    /// # Safety
    /// As [`gemm`]; the bias must be valid for reading at its elements.
    pub unsafe fn gemm_fused<T: Element>(
        exec: &Exec<'_>,
        m: i64,
        n: i64,
        k: i64,
        alpha: T,
        a: *const T,
        a_rs: i64,
        a_cs: i64,
        b: *const T,
        b_rs: i64,
        b_cs: i64,
        beta: T,
        c: *mut T,
        c_rs: i64,
        c_cs: i64,
        epilogue: &RawEpilogue<T>,
    ) -> Result<()> {
        let (a, b) = (Matrix::new(a, a_rs, a_cs), Matrix::new(b, b_rs, b_cs));
        let c = Matrix::new(c, c_rs, c_cs);
        let args = Arguments {
            epilogue: Some(epilogue),
            ..Arguments::new((m, n, k), alpha, a, b, beta, c)
        };
        // SAFETY: as the caller's.
        unsafe { check_and_run(exec, args) }
    }

    /// Returns the bytes of workspace that [`gemm`], [`gemm_fused`] and [`gemm_batched`] of this shape need with the
    /// threads of `exec`.
    ///
    /// # Errors
    /// `NegativeSize`, `SizeOverflow`.
    pub fn gemm_workspace<T: Element>(exec: &Exec<'_>, m: i64, n: i64, k: i64) -> Result<usize> {
        let (m, n, k) = (size(m, "m")?, size(n, "n")?, size(k, "k")?);
        let has_vector = m <= 1 && (m == 0 || !exec.is_batch_invariant());
        if has_vector || n <= 1 {
            return Ok(0);
        }
        // The product may be computed transposed.
        let one = params::scratch_bytes::<T>(m.max(n), k);
        one.and_then(|bytes| bytes.checked_mul(exec.threads()))
            .ok_or(Error::SizeOverflow { arg: "m * n * k" })
    }
}
