//! gemm, gemm_batched, gemm_fused.

pub(crate) mod check;
mod gemv;
mod plan;
mod run;
mod safe;
mod small;

pub use safe::*;

use crate::dispatch::Kernels;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::ops::gemm::{Gemm, params};
use check::{Arguments, check};

/// Whether a bias is added to rows or to columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum BiasKind {
    /// None.
    #[default]
    None,
    /// Element i is added to row i.
    PerRow,
    /// Element j is added to column j.
    PerColumn,
}

/// The pointer form of what follows a product: bias, then clamp.
#[derive(Clone, Copy, Debug)]
pub struct RawEpilogue<T> {
    /// m or n elements; not read where there is no bias.
    pub bias: *const T,
    /// From an element of the bias to the next.
    pub bias_inc: i64,
    /// What the bias is added to.
    pub bias_kind: BiasKind,
    /// Bounds, with the meaning of `clamp`.
    pub clamp: Option<(T, T)>,
}

/// The pointer form.
pub mod raw {
    pub use super::RawEpilogue;
    use super::*;
    use crate::args::size;

    /// Checks a batch of products and runs them.
    ///
    /// # Safety
    /// As [`gemm`], for each product of the batch.
    unsafe fn run<T: Element>(
        exec: &Exec<'_>,
        args: Arguments<T>,
        epilogue: Option<&RawEpilogue<T>>,
    ) -> Result<()> {
        let kernels = Kernels::<T>::new(exec.level()?);
        let Some(batch) = check(args, epilogue)? else {
            return Ok(());
        };
        // SAFETY: the caller vouches for the arrays.
        unsafe { run::batch(exec, kernels, batch) }
    }

    /// C = alpha A B + beta C for A m by k, B k by n, C m by n.
    ///
    /// beta = 0 never reads C; alpha = 0 or k = 0 never reads A and B; m = 0 or n = 0 does nothing.
    ///
    /// # Errors
    /// `NegativeSize`, `NullPointer`, `Misaligned`, `SizeOverflow`; `Overlap` when C overlaps an
    /// input or itself; `WorkspaceTooSmall`.
    ///
    /// # Safety
    /// The matrices must be valid at their elements.
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
        let (a, b, c) = ((a, a_rs, a_cs), (b, b_rs, b_cs), (c, c_rs, c_cs));
        if let Some(p) = small::product((m, n, k), a, b, c) {
            let p = Gemm { alpha, beta, ..p };
            // SAFETY: as the caller's.
            if unsafe { small::run(exec, &p)? } {
                return Ok(());
            }
        }
        let args = Arguments::single((m, n, k), alpha, a, b, beta, c);
        // SAFETY: as the caller's.
        unsafe { run(exec, args, None) }
    }

    /// [`gemm`] for each of `batch` triples of matrices, `_bs` elements apart.
    ///
    /// # Errors
    /// As [`gemm`]; `Overlap` too when two of the C overlap.
    ///
    /// # Safety
    /// The matrices must be valid at their elements.
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
        let (a, b, c) = ((a, a_rs, a_cs), (b, b_rs, b_cs), (c, c_rs, c_cs));
        let args = Arguments::single((m, n, k), alpha, a, b, beta, c);
        // SAFETY: as the caller's.
        unsafe { run(exec, args.batched(batch, [a_bs, b_bs, c_bs]), None) }
    }

    /// [`gemm`], then a bias added per row or per column, then a clamp.
    ///
    /// # Errors
    /// As [`gemm`]; `Overlap` too when C overlaps the bias.
    ///
    /// # Safety
    /// The matrices and the bias must be valid at their elements.
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
        let (a, b, c) = ((a, a_rs, a_cs), (b, b_rs, b_cs), (c, c_rs, c_cs));
        let args = Arguments::single((m, n, k), alpha, a, b, beta, c);
        // SAFETY: as the caller's.
        unsafe { run(exec, args, Some(epilogue)) }
    }

    /// Bytes of workspace that [`gemm`], [`gemm_fused`] and [`gemm_batched`] of this shape need with
    /// the threads of `exec`.
    ///
    /// # Errors
    /// `NegativeSize`, `SizeOverflow`.
    pub fn gemm_workspace<T: Element>(exec: &Exec<'_>, m: i64, n: i64, k: i64) -> Result<usize> {
        let (m, n, k) = (size(m, "m")?, size(n, "n")?, size(k, "k")?);
        if m <= 1 || n <= 1 {
            return Ok(0);
        }
        // The product may be computed transposed.
        let one = params::scratch_bytes::<T>(m.max(n), k);
        one.and_then(|bytes| bytes.checked_mul(exec.threads()))
            .ok_or(Error::SizeOverflow { arg: "m * n * k" })
    }
}
