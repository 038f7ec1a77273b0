//! The checks of the arguments of maps over rows, for both backends.
#![forbid(unsafe_code)]

pub use super::pair::MatrixPair;
use crate::args::{Region, size, stride};
use crate::error::Result;
use crate::matrix::Matrix;

/// Checks the arguments of a map over rows; `None` if there are no elements.
///
/// # Errors
/// As [`raw::normalize`](crate::raw::normalize).
pub fn check<T>(
    m: i64,
    n: i64,
    x: Matrix<*const T, i64>,
    out: Matrix<*mut T, i64>,
) -> Result<Option<MatrixPair<T>>> {
    let (m, n) = (size(m, "m")?, size(n, "n")?);
    let x = Matrix::new(x.ptr, stride(x.rs, m, "x_rs")?, stride(x.cs, n, "x_cs")?);
    let (rs, cs) = (stride(out.rs, m, "out_rs")?, stride(out.cs, n, "out_cs")?);
    let out = Matrix::new(out.ptr, rs, cs);
    let x_region = Region::new(x.ptr, &[(m, x.rs), (n, x.cs)], "x")?;
    let region = Region::new(out.ptr, &[(m, rs), (n, cs)], "out")?;
    region.check_distinct()?;
    let is_in_place = x.ptr == out.ptr.cast_const() && (x.rs, x.cs) == (rs, cs);
    if !is_in_place {
        region.apart_from(&x_region)?;
    }
    Ok((m > 0 && n > 0).then_some(MatrixPair { m, n, x, out }))
}
