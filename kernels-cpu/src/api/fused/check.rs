//! The checks of the arguments of `mse_grad` and `lsq_grad`, for both backends.
#![forbid(unsafe_code)]

use crate::args::{Region, scalar, size, slice, stride};
use crate::error::Result;
use crate::matrix::Matrix;

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

/// The arguments of `lsq_grad`, unchecked.
#[derive(Clone, Copy)]
pub struct LsqArguments<T> {
    /// Rows of A, elements of y.
    pub m: i64,
    /// Columns of A, elements of x and of the gradient.
    pub n: i64,
    /// A.
    pub a: Matrix<*const T, i64>,
    /// The vector that A is multiplied by.
    pub x: *const T,
    /// The vector that is subtracted from the product.
    pub y: *const T,
    /// The gradient.
    pub grad: *mut T,
}

/// Checks the arguments of `mse_grad`. Returns the number of elements.
///
/// # Errors
/// As [`raw::mse_grad`](crate::raw::mse_grad).
#[inline(always)]
pub fn mse_grad<T, L>(
    n: i64,
    pred: *const T,
    target: *const T,
    grad: *mut T,
    loss: *mut L,
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
pub fn lsq_grad<T>(args: &LsqArguments<T>) -> Result<Option<CheckedMatrix>> {
    let (m, n, a) = (size(args.m, "m")?, size(args.n, "n")?, &args.a);
    let (a_rs, a_cs) = (stride(a.rs, m, "a_rs")?, stride(a.cs, n, "a_cs")?);
    let out = slice(args.grad, n, "grad")?;
    out.apart_from(&Region::new(a.ptr, &[(m, a_rs), (n, a_cs)], "a")?)?;
    // Without rows, `x` is not read.
    out.apart_from(&slice(args.x, if m == 0 { 0 } else { n }, "x")?)?;
    out.apart_from(&slice(args.y, if n == 0 { 0 } else { m }, "y")?)?;
    Ok((n > 0).then_some(CheckedMatrix { m, n, a_rs, a_cs }))
}
