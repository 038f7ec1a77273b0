//! The checks of the arguments of matrix products, for both backends.

use super::{BiasKind, raw::RawEpilogue};
use crate::api::fast_path::{LIMIT, end};
use crate::args::{Region, size, stride};
use crate::element::Element;
use crate::error::Result;
use crate::matrix::Matrix;
use crate::ops::gemm::{Epilogue as KernelEpilogue, Gemm};

/// The arguments of a product or a batch of products, unchecked.
#[derive(Clone, Copy)]
pub struct Arguments<'a, T> {
    /// Rows of A and C.
    pub m: i64,
    /// Columns of B and C.
    pub n: i64,
    /// Columns of A, rows of B.
    pub k: i64,
    /// The factor of A B.
    pub alpha: T,
    /// A.
    pub a: Matrix<*const T, i64>,
    /// B.
    pub b: Matrix<*const T, i64>,
    /// The factor of C.
    pub beta: T,
    /// C.
    pub c: Matrix<*mut T, i64>,
    /// The number of products.
    pub batch: i64,
    /// What is done to each finished product.
    pub epilogue: Option<&'a RawEpilogue<T>>,
}

impl<T> Arguments<'_, T> {
    /// Returns the arguments of a single product without an epilogue.
    #[inline(always)]
    pub fn new(
        (m, n, k): (i64, i64, i64),
        alpha: T,
        a: Matrix<*const T, i64>,
        b: Matrix<*const T, i64>,
        beta: T,
        c: Matrix<*mut T, i64>,
    ) -> Self {
        Self {
            m,
            n,
            k,
            alpha,
            a,
            b,
            beta,
            c,
            batch: 1,
            epilogue: None,
        }
    }
}

/// Checks the strides of a batch of matrices. The shape and the names are those of the batch, the rows and the columns.
#[inline(always)]
fn check_strides<P: Copy>(
    matrix: &Matrix<P, i64>,
    [batch, rows, cols]: [usize; 3],
    [bs, rs, cs]: [&'static str; 3],
) -> Result<Matrix<P>> {
    let bs = stride(matrix.bs, batch, bs)?;
    let rs = stride(matrix.rs, rows, rs)?;
    let cs = stride(matrix.cs, cols, cs)?;
    Ok(Matrix::batched(matrix.ptr, rs, cs, bs))
}

/// Returns the region of a batch of matrices, of which it is the last dimension: a single matrix is then checked as a
/// matrix.
#[inline(always)]
fn region<T>(
    matrix: &Matrix<*const T>,
    [batch, rows, cols]: [usize; 3],
    arg: &'static str,
) -> Result<Region> {
    let Matrix { ptr, rs, cs, bs } = *matrix;
    Region::new(ptr, &[(rows, rs), (cols, cs), (batch, bs)], arg)
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
}

impl<T: Element> Batch<T> {
    /// Returns a single product whose arguments are known to be valid, with m, n > 1 and k > 0, as [`check`] would.
    pub(super) fn single(mut p: Gemm<T>) -> Self {
        if p.k == 1 {
            // These strides have no meaning, and others would look as if they prevented a fast path.
            (p.a.cs, p.b.rs) = (1, 1);
        }
        if p.alpha == T::ZERO {
            // An alpha of -0 becomes +0.
            (p.k, p.alpha) = (0, T::ZERO);
            p.a = Matrix::new(p.a.ptr, 0, 0);
            p.b = Matrix::new(p.b.ptr, 0, 0);
        }
        Self { first: p, count: 1 }
    }
}

/// Returns the product if a few comparisons show that the arguments of a single one without an epilogue are valid:
/// m, n, k > 0, strides not negative, rows of B and C contiguous, C overlaps neither A nor B.
#[inline(always)]
pub(super) fn check_quickly<T: Element>(args: &Arguments<'_, T>) -> Option<Gemm<T>> {
    let Arguments {
        m, n, k, a, b, c, ..
    } = *args;
    let sizes = m > 0 && n > 0 && k > 0 && (m | n | k) < LIMIT;
    // As `u64`, a negative stride exceeds the limit too.
    let strides = ((a.rs | a.cs | b.rs | c.rs) as u64) < LIMIT as u64;
    let contiguous = b.cs == 1 && c.cs == 1 && c.rs >= n;
    let aligned = (a.ptr.addr() | b.ptr.addr() | c.ptr.addr()) & (align_of::<T>() - 1) == 0;
    let some = !a.ptr.is_null() && !b.ptr.is_null() && !c.ptr.is_null();
    if !(sizes & strides & contiguous & aligned & some) {
        return None;
    }
    let a_end = end(a.ptr, (m, a.rs), (k, a.cs))?;
    let b_end = end(b.ptr, (k, b.rs), (n, 1))?;
    let c_end = end(c.ptr, (m, c.rs), (n, 1))?;
    let apart = |low: usize, high: usize| high <= c.ptr.addr() || c_end <= low;
    if !(apart(a.ptr.addr(), a_end) & apart(b.ptr.addr(), b_end)) {
        return None;
    }
    Some(Gemm {
        m: m as usize,
        n: n as usize,
        k: k as usize,
        alpha: args.alpha,
        a: Matrix::new(a.ptr, a.rs as isize, a.cs as isize),
        b: Matrix::new(b.ptr, b.rs as isize, 1),
        beta: args.beta,
        c: Matrix::new(c.ptr, c.rs as isize, 1),
        epilogue: KernelEpilogue::NONE,
    })
}

/// Checks a batch of products; `None` when there is nothing to compute.
///
/// # Errors
/// As [`raw::gemm_batched`](crate::raw::gemm_batched) and [`raw::gemm_fused`](crate::raw::gemm_fused).
#[inline(always)]
pub fn check<T: Element>(args: &Arguments<'_, T>) -> Result<Option<Batch<T>>> {
    let (m, n, k) = (size(args.m, "m")?, size(args.n, "n")?, size(args.k, "k")?);
    let batch = size(args.batch, "batch")?;
    let empty = batch == 0 || m == 0 || n == 0;
    // With depth 0, A and B are not read: they may be null and overlap anything.
    let depth = if empty || args.alpha == T::ZERO { 0 } else { k };
    let (of_a, of_b, of_c) = ([batch, m, depth], [batch, depth, n], [batch, m, n]);
    let c = check_strides(&args.c, of_c, ["c_bs", "c_rs", "c_cs"])?;
    let mut a = check_strides(&args.a, of_a, ["a_bs", "a_rs", "a_cs"])?;
    let mut b = check_strides(&args.b, of_b, ["b_bs", "b_rs", "b_cs"])?;
    let c_region = region(&c.cast_const(), of_c, "c")?;
    c_region.check_distinct()?;
    c_region.apart_from(&region(&a, of_a, "a")?)?;
    c_region.apart_from(&region(&b, of_b, "b")?)?;
    let epilogue = match args.epilogue {
        Some(e) => check_epilogue(e, &c_region, if empty { (0, 0) } else { (m, n) })?,
        None => KernelEpilogue::NONE,
    };
    if empty {
        return Ok(None);
    }
    let mut alpha = args.alpha;
    if depth == 0 {
        // The strides of matrices that are not read are unchecked, so nothing may be multiplied by them.
        (a, b) = (Matrix::new(a.ptr, 0, 0), Matrix::new(b.ptr, 0, 0));
        alpha = T::ZERO;
    }
    let first = Gemm {
        m,
        n,
        k: depth,
        alpha,
        a,
        b,
        beta: args.beta,
        c,
        epilogue,
    };
    let count = batch;
    Ok(Some(Batch { first, count }))
}
