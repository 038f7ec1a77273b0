//! gemm, gemm_batched, gemm_fused.

mod plain;
mod run;
mod safe;
mod vector;

pub use safe::*;

use crate::element::Element;
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::ops::gemm::{Epilogue as KernelEpilogue, Gemm, params};

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
    use crate::args::{Region, size, stride};

    /// Everything about the three matrices; the strides of a batch are 0 for a single product.
    struct Arguments<T> {
        m: i64,
        n: i64,
        k: i64,
        alpha: T,
        a: (*const T, [i64; 3]),
        b: (*const T, [i64; 3]),
        beta: T,
        c: (*mut T, [i64; 3]),
        batch: i64,
    }

    /// Checks an epilogue for a C of m rows and n columns.
    fn check_epilogue<T: Element>(
        e: &RawEpilogue<T>,
        c: &Region,
        (m, n): (usize, usize),
    ) -> Result<KernelEpilogue<T>> {
        let len = match e.bias_kind {
            BiasKind::None => 0,
            BiasKind::PerRow => m,
            BiasKind::PerColumn => n,
        };
        let inc = stride(e.bias_inc, len, "bias_inc")?;
        c.apart_from(&Region::new(e.bias, &[(len, inc)], "bias")?)?;
        let mut checked = KernelEpilogue {
            clamp: e.clamp,
            ..KernelEpilogue::NONE
        };
        match e.bias_kind {
            BiasKind::None => {}
            BiasKind::PerRow => (checked.row_bias, checked.row_inc) = (e.bias, inc),
            BiasKind::PerColumn => (checked.column_bias, checked.column_inc) = (e.bias, inc),
        }
        Ok(checked)
    }

    /// Checks a batch of products and runs them.
    unsafe fn run<T: Element>(
        exec: &Exec<'_>,
        args: Arguments<T>,
        epilogue: Option<&RawEpilogue<T>>,
    ) -> Result<()> {
        let kernels = T::kernels(exec.level()?);
        let (m, n, k) = (size(args.m, "m")?, size(args.n, "n")?, size(args.k, "k")?);
        let batch = size(args.batch, "batch")?;
        let empty = batch == 0 || m == 0 || n == 0;
        // Where nothing is read, a and b may be null and overlap anything.
        let depth = if empty || args.alpha == T::ZERO { 0 } else { k };
        let dims = |shape: [usize; 3], s: [i64; 3], names: [&'static str; 3]| {
            let stride = |d: usize| Ok((shape[d], stride(s[d], shape[d], names[d])?));
            Ok([stride(0)?, stride(1)?, stride(2)?])
        };
        let c = dims([batch, m, n], args.c.1, ["c_bs", "c_rs", "c_cs"])?;
        let a = dims([batch, m, depth], args.a.1, ["a_bs", "a_rs", "a_cs"])?;
        let b = dims([batch, depth, n], args.b.1, ["b_bs", "b_rs", "b_cs"])?;
        // The batch last: a single product is then judged as a matrix.
        let c_region = Region::new(args.c.0, &[c[1], c[2], c[0]], "c")?;
        c_region.check_distinct()?;
        c_region.apart_from(&Region::new(args.a.0, &a, "a")?)?;
        c_region.apart_from(&Region::new(args.b.0, &b, "b")?)?;
        // The strides of what is not read have not been checked, so nothing may be multiplied by them.
        let [a_bs, a_rs, a_cs] = a.map(|(_, stride)| if depth == 0 { 0 } else { stride });
        let [b_bs, b_rs, b_cs] = b.map(|(_, stride)| if depth == 0 { 0 } else { stride });
        let [c_bs, c_rs, c_cs] = c.map(|(_, stride)| stride);
        let epilogue = match epilogue {
            Some(e) => check_epilogue(e, &c_region, if empty { (0, 0) } else { (m, n) })?,
            None => KernelEpilogue::NONE,
        };
        if empty {
            return Ok(());
        }
        let one = Gemm {
            m,
            n,
            k: depth,
            alpha: if depth == 0 { T::ZERO } else { args.alpha },
            a: args.a.0,
            a_rs,
            a_cs,
            b: args.b.0,
            b_rs,
            b_cs,
            beta: args.beta,
            c: args.c.0,
            c_rs,
            c_cs,
            epilogue,
        };
        // SAFETY: the caller vouches for the arrays.
        unsafe { run::batch(exec, kernels, &one, batch, [a_bs, b_bs, c_bs]) }
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
        if let Some(p) =
            plain::product((m, n, k), (a, a_rs, a_cs), (b, b_rs, b_cs), (c, c_rs, c_cs))
        {
            let p = Gemm { alpha, beta, ..p };
            // SAFETY: as the caller's.
            if unsafe { plain::run(exec, &p)? } {
                return Ok(());
            }
        }
        let (a, b, c) = (
            (a, [0, a_rs, a_cs]),
            (b, [0, b_rs, b_cs]),
            (c, [0, c_rs, c_cs]),
        );
        // SAFETY: as the caller's.
        unsafe {
            run(
                exec,
                Arguments {
                    m,
                    n,
                    k,
                    alpha,
                    a,
                    b,
                    beta,
                    c,
                    batch: 1,
                },
                None,
            )
        }
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
        let (a, b, c) = (
            (a, [a_bs, a_rs, a_cs]),
            (b, [b_bs, b_rs, b_cs]),
            (c, [c_bs, c_rs, c_cs]),
        );
        // SAFETY: as the caller's.
        unsafe {
            run(
                exec,
                Arguments {
                    m,
                    n,
                    k,
                    alpha,
                    a,
                    b,
                    beta,
                    c,
                    batch,
                },
                None,
            )
        }
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
        let (a, b, c) = (
            (a, [0, a_rs, a_cs]),
            (b, [0, b_rs, b_cs]),
            (c, [0, c_rs, c_cs]),
        );
        // SAFETY: as the caller's.
        unsafe {
            run(
                exec,
                Arguments {
                    m,
                    n,
                    k,
                    alpha,
                    a,
                    b,
                    beta,
                    c,
                    batch: 1,
                },
                Some(epilogue),
            )
        }
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
