//! The checks of the arguments of `mse_grad` and `lsq_grad`, for both backends.
#![forbid(unsafe_code)]

use crate::args::{Region, scalar, size, slice, stride};
use crate::error::Result;

/// The checked matrix A of a least-squares problem: its shape and strides.
#[derive(Clone, Copy, Debug)]
pub struct CheckedMatrix {
    /// Rows of A.
    pub m: usize,
    /// Columns of A.
    pub n: usize,
    /// The stride from one row to the next.
    pub a_rs: isize,
    /// The stride from one column to the next.
    pub a_cs: isize,
}

/// Checks the arguments of `mse_grad`. Returns the number of elements.
///
/// # Errors
/// As [`raw::mse_grad`](crate::raw::mse_grad).
#[inline(always)]
pub fn mse_grad<T>(
    n: i64,
    pred: *const T,
    target: *const T,
    grad: *mut T,
    loss: *mut T,
) -> Result<usize> {
    let n = size(n, "n")?;
    let loss_region = scalar(loss, "loss")?;
    let grad_region = slice(grad, n, "grad")?;
    for input in [slice(pred, n, "pred")?, slice(target, n, "target")?] {
        grad_region.same_or_apart_from(&input)?;
        loss_region.apart_from(&input)?;
    }
    loss_region.apart_from(&grad_region)?;
    Ok(n)
}

/// Checks the arguments of `lsq_grad`; `None` when there is nothing to compute.
///
/// # Errors
/// As [`raw::lsq_grad`](crate::raw::lsq_grad).
#[inline(always)]
pub fn lsq_grad<T>(
    m: i64,
    n: i64,
    a: *const T,
    a_rs: i64,
    a_cs: i64,
    x: *const T,
    y: *const T,
    grad: *mut T,
) -> Result<Option<CheckedMatrix>> {
    let (m, n) = (size(m, "m")?, size(n, "n")?);
    let (a_rs, a_cs) = (stride(a_rs, m, "a_rs")?, stride(a_cs, n, "a_cs")?);
    let out = slice(grad, n, "grad")?;
    out.apart_from(&Region::new(a, &[(m, a_rs), (n, a_cs)], "a")?)?;
    // Without rows, `x` is not read.
    out.apart_from(&slice(x, if m == 0 { 0 } else { n }, "x")?)?;
    out.apart_from(&slice(y, if n == 0 { 0 } else { m }, "y")?)?;
    Ok((n > 0).then_some(CheckedMatrix { m, n, a_rs, a_cs }))
}
