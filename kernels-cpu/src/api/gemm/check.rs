//! The checks of the arguments of matrix products, for both backends.

use super::{BiasKind, raw::RawEpilogue};
use crate::args::{Region, size, stride};
use crate::element::Element;
use crate::error::Result;
use crate::ops::gemm::{Epilogue as KernelEpilogue, Gemm};

/// The arguments of a product or a batch of products, unchecked. For a single product, `batch` is 1 and the batch
/// strides are 0.
pub struct Arguments<T> {
    /// Rows of A and C.
    pub m: i64,
    /// Columns of B and C.
    pub n: i64,
    /// Columns of A, rows of B.
    pub k: i64,
    /// The factor of A B.
    pub alpha: T,
    /// A and its strides: from one matrix, row and column to the next.
    pub a: (*const T, [i64; 3]),
    /// B, likewise.
    pub b: (*const T, [i64; 3]),
    /// The factor of C.
    pub beta: T,
    /// C, likewise.
    pub c: (*mut T, [i64; 3]),
    /// The number of products.
    pub batch: i64,
}

impl<T> Arguments<T> {
    /// Returns the arguments of a single product. Each matrix has its row stride and column stride.
    #[inline(always)]
    pub fn single(
        (m, n, k): (i64, i64, i64),
        alpha: T,
        (a, a_rs, a_cs): (*const T, i64, i64),
        (b, b_rs, b_cs): (*const T, i64, i64),
        beta: T,
        (c, c_rs, c_cs): (*mut T, i64, i64),
    ) -> Self {
        Self {
            m,
            n,
            k,
            alpha,
            a: (a, [0, a_rs, a_cs]),
            b: (b, [0, b_rs, b_cs]),
            beta,
            c: (c, [0, c_rs, c_cs]),
            batch: 1,
        }
    }

    /// Returns the arguments of `batch` products, with the strides from each A, B and C to the next.
    #[inline(always)]
    pub fn batched(mut self, batch: i64, [a_bs, b_bs, c_bs]: [i64; 3]) -> Self {
        self.a.1[0] = a_bs;
        self.b.1[0] = b_bs;
        self.c.1[0] = c_bs;
        self.batch = batch;
        self
    }
}

/// Checks the epilogue of a C with m rows and n columns.
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
        clamp: e.clamp.into(),
        ..KernelEpilogue::NONE
    };
    match e.bias_kind {
        BiasKind::None => {}
        BiasKind::PerRow => (checked.row_bias, checked.row_inc) = (e.bias, inc),
        BiasKind::PerColumn => (checked.column_bias, checked.column_inc) = (e.bias, inc),
    }
    Ok(checked)
}

/// Checked products of one shape: at least one, and none of them empty.
pub struct Batch<T> {
    /// The first product. When alpha is 0, it has k = 0.
    pub first: Gemm<T>,
    /// The number of products.
    pub count: usize,
    /// The strides from each A, B and C to the next.
    pub strides: [isize; 3],
}

impl<T: Element> Batch<T> {
    /// Returns a single product whose arguments are known to be valid, with m, n > 1 and k > 0, as [`check`] would.
    pub(super) fn single(mut p: Gemm<T>) -> Self {
        if p.k == 1 {
            // These strides have no meaning, and others would look as if they prevented a fast path.
            (p.a_cs, p.b_rs) = (1, 1);
        }
        if p.alpha == T::ZERO {
            // An alpha of -0 becomes +0.
            (p.k, p.alpha) = (0, T::ZERO);
            (p.a_rs, p.a_cs, p.b_rs, p.b_cs) = (0, 0, 0, 0);
        }
        Self {
            first: p,
            count: 1,
            strides: [1; 3],
        }
    }
}

/// Checks a batch of products; `None` when there is nothing to compute.
///
/// # Errors
/// As [`raw::gemm_batched`](crate::raw::gemm_batched) and [`raw::gemm_fused`](crate::raw::gemm_fused).
#[inline(always)]
pub fn check<T: Element>(
    args: Arguments<T>,
    epilogue: Option<&RawEpilogue<T>>,
) -> Result<Option<Batch<T>>> {
    let (m, n, k) = (size(args.m, "m")?, size(args.n, "n")?, size(args.k, "k")?);
    let batch = size(args.batch, "batch")?;
    let empty = batch == 0 || m == 0 || n == 0;
    // With depth 0, A and B are not read: they may be null and overlap anything.
    let depth = if empty || args.alpha == T::ZERO { 0 } else { k };
    let dims = |shape: [usize; 3], s: [i64; 3], names: [&'static str; 3]| {
        let stride = |d: usize| Ok((shape[d], stride(s[d], shape[d], names[d])?));
        Ok([stride(0)?, stride(1)?, stride(2)?])
    };
    let c = dims([batch, m, n], args.c.1, ["c_bs", "c_rs", "c_cs"])?;
    let a = dims([batch, m, depth], args.a.1, ["a_bs", "a_rs", "a_cs"])?;
    let b = dims([batch, depth, n], args.b.1, ["b_bs", "b_rs", "b_cs"])?;
    // The batch is the last dimension: a single product is then checked as a matrix.
    let c_region = Region::new(args.c.0, &[c[1], c[2], c[0]], "c")?;
    c_region.check_distinct()?;
    c_region.apart_from(&Region::new(args.a.0, &a, "a")?)?;
    c_region.apart_from(&Region::new(args.b.0, &b, "b")?)?;
    // The strides of matrices that are not read are unchecked, so nothing may be multiplied by them.
    let [a_bs, a_rs, a_cs] = a.map(|(_, stride)| if depth == 0 { 0 } else { stride });
    let [b_bs, b_rs, b_cs] = b.map(|(_, stride)| if depth == 0 { 0 } else { stride });
    let [c_bs, c_rs, c_cs] = c.map(|(_, stride)| stride);
    let epilogue = match epilogue {
        Some(e) => check_epilogue(e, &c_region, if empty { (0, 0) } else { (m, n) })?,
        None => KernelEpilogue::NONE,
    };
    if empty {
        return Ok(None);
    }
    let first = Gemm {
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
    Ok(Some(Batch {
        first,
        count: batch,
        strides: [a_bs, b_bs, c_bs],
    }))
}
