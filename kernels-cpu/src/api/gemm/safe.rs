//! The safe form.

use super::raw;
use super::{BiasKind, RawEpilogue};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::view::{BatchMut, BatchRef, MatMut, MatRef, VecRef};

/// What is added after a product.
#[derive(Clone, Copy, Debug, Default)]
pub enum Bias<'a, T> {
    /// Nothing.
    #[default]
    None,
    /// Element i to row i.
    PerRow(VecRef<'a, T>),
    /// Element j to column j.
    PerColumn(VecRef<'a, T>),
}

/// What follows a product: bias, then clamp.
#[derive(Clone, Copy, Debug, Default)]
pub struct Epilogue<'a, T> {
    /// What is added.
    pub bias: Bias<'a, T>,
    /// Bounds, with the meaning of [`clamp`](crate::clamp()).
    pub clamp: Option<(T, T)>,
}

/// Shapes m by k, k by n and m by n.
fn check_shapes(
    a: (usize, usize),
    b: (usize, usize),
    c: (usize, usize),
) -> Result<(i64, i64, i64)> {
    if a.0 != c.0 {
        return Err(Error::ShapeMismatch { arg: "a" });
    }
    if b.0 != a.1 || b.1 != c.1 {
        return Err(Error::ShapeMismatch { arg: "b" });
    }
    Ok((c.0 as i64, c.1 as i64, a.1 as i64))
}

/// C = alpha A B + beta C, for any strides; transposed operands are views, `a.t()`.
///
/// beta = 0 never reads C (a NaN there does not survive); alpha = 0 or k = 0 never reads A and B.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless A is m by k, B k by n and C m by n; [`Error::Overlap`] when
/// elements of C share memory; [`Error::WorkspaceTooSmall`].
///
/// ```
/// use diptych::{Exec, MatMut, MatRef, gemm};
/// let a = [1.0f32, 2.0, 3.0, 4.0];
/// let b = [5.0f32, 6.0, 7.0, 8.0];
/// let mut c = [0.0f32; 4];
/// gemm(&Exec::new(), 1.0, MatRef::new(&a, 2, 2)?, MatRef::new(&b, 2, 2)?, 0.0, MatMut::new(&mut c, 2, 2)?)?;
/// assert_eq!(c, [19.0, 22.0, 43.0, 50.0]);
/// # Ok::<(), diptych::Error>(())
/// ```
pub fn gemm<T: Element>(
    exec: &Exec<'_>,
    alpha: T,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    beta: T,
    mut c: MatMut<'_, T>,
) -> Result<()> {
    let (m, n, k) = check_shapes(
        (a.rows(), a.cols()),
        (b.rows(), b.cols()),
        (c.rows(), c.cols()),
    )?;
    let (a_rs, a_cs, b_rs, b_cs) = (a.rs() as i64, a.cs() as i64, b.rs() as i64, b.cs() as i64);
    let (c_rs, c_cs) = (c.rs() as i64, c.cs() as i64);
    let (a, b, c) = (a.ptr(), b.ptr(), c.ptr());
    // SAFETY: the views have as many elements as they say.
    unsafe {
        raw::gemm(
            exec, m, n, k, alpha, a, a_rs, a_cs, b, b_rs, b_cs, beta, c, c_rs, c_cs,
        )
    }
}

/// As [`gemm`], then a bias added per row or per column, then a clamp.
///
/// # Errors
/// As [`gemm`]; [`Error::ShapeMismatch`] too unless the bias has an element per row or column.
pub fn gemm_fused<T: Element>(
    exec: &Exec<'_>,
    alpha: T,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    beta: T,
    mut c: MatMut<'_, T>,
    epilogue: &Epilogue<'_, T>,
) -> Result<()> {
    let (m, n, k) = check_shapes(
        (a.rows(), a.cols()),
        (b.rows(), b.cols()),
        (c.rows(), c.cols()),
    )?;
    let (bias, bias_kind, wanted) = match epilogue.bias {
        Bias::None => (VecRef::new(&[]), BiasKind::None, 0),
        Bias::PerRow(bias) => (bias, BiasKind::PerRow, c.rows()),
        Bias::PerColumn(bias) => (bias, BiasKind::PerColumn, c.cols()),
    };
    if bias.elements() != wanted {
        return Err(Error::ShapeMismatch { arg: "bias" });
    }
    let (bias, bias_inc) = (bias.ptr(), bias.inc() as i64);
    let raw_epilogue = RawEpilogue {
        bias,
        bias_inc,
        bias_kind,
        clamp: epilogue.clamp,
    };
    let (a_rs, a_cs, b_rs, b_cs) = (a.rs() as i64, a.cs() as i64, b.rs() as i64, b.cs() as i64);
    let (c_rs, c_cs) = (c.rs() as i64, c.cs() as i64);
    let (a, b, c) = (a.ptr(), b.ptr(), c.ptr());
    // SAFETY: the views have as many elements as they say.
    unsafe {
        raw::gemm_fused(
            exec,
            m,
            n,
            k,
            alpha,
            a,
            a_rs,
            a_cs,
            b,
            b_rs,
            b_cs,
            beta,
            c,
            c_rs,
            c_cs,
            &raw_epilogue,
        )
    }
}

/// [`gemm`] for each matrix of a batch; each has the bits of the single call.
///
/// # Errors
/// As [`gemm`]; [`Error::ShapeMismatch`] too unless the batches have one size.
pub fn gemm_batched<T: Element>(
    exec: &Exec<'_>,
    alpha: T,
    a: BatchRef<'_, T>,
    b: BatchRef<'_, T>,
    beta: T,
    mut c: BatchMut<'_, T>,
) -> Result<()> {
    let (m, n, k) = check_shapes(
        (a.rows(), a.cols()),
        (b.rows(), b.cols()),
        (c.rows(), c.cols()),
    )?;
    for (matrices, arg) in [(a.matrices(), "a"), (b.matrices(), "b")] {
        if matrices != c.matrices() {
            return Err(Error::ShapeMismatch { arg });
        }
    }
    let batch = c.matrices() as i64;
    let (a_bs, b_bs, c_bs) = (a.bs() as i64, b.bs() as i64, c.bs() as i64);
    let (a_rs, a_cs, b_rs, b_cs) = (a.rs() as i64, a.cs() as i64, b.rs() as i64, b.cs() as i64);
    let (c_rs, c_cs) = (c.rs() as i64, c.cs() as i64);
    let (a, b, c) = (a.ptr(), b.ptr(), c.ptr());
    // SAFETY: the views have as many elements as they say.
    unsafe {
        raw::gemm_batched(
            exec, m, n, k, alpha, a, a_rs, a_cs, b, b_rs, b_cs, beta, c, c_rs, c_cs, batch, a_bs,
            b_bs, c_bs,
        )
    }
}

/// Bytes of workspace that [`gemm`], [`gemm_fused`] and [`gemm_batched`] of this shape need with the
/// threads of `exec`.
///
/// # Errors
/// [`Error::SizeOverflow`].
pub fn gemm_workspace<T: Element>(exec: &Exec<'_>, m: usize, n: usize, k: usize) -> Result<usize> {
    let to_i64 =
        |size: usize| i64::try_from(size).map_err(|_| Error::SizeOverflow { arg: "m * n * k" });
    raw::gemm_workspace::<T>(exec, to_i64(m)?, to_i64(n)?, to_i64(k)?)
}
