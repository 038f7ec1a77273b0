//! The checks of the arguments of reductions, for both backends.
#![forbid(unsafe_code)]

use crate::args::{Region, scalar, size, stride};
use crate::error::{Error, Result};

/// Checked rows: their shape and strides, and the stride of their results.
#[derive(Clone, Copy, Debug)]
pub struct CheckedRows {
    /// The number of rows.
    pub m: usize,
    /// The number of elements in each row.
    pub n: usize,
    /// The stride from one row to the next.
    pub rs: isize,
    /// The stride from one element of a row to the next.
    pub cs: isize,
    /// The stride from one result to the next.
    pub inc_out: isize,
}

/// Checks the reduction of a vector. Returns the number of elements and their stride.
///
/// # Errors
/// As [`raw::sum`](crate::raw::sum); `EmptyReduction` if `needs_elements` and `n` is 0.
#[inline(always)]
pub fn vector<T, O>(
    needs_elements: bool,
    n: i64,
    x: *const T,
    incx: i64,
    out: *mut O,
) -> Result<(usize, isize)> {
    let n = size(n, "n")?;
    let inc = stride(incx, n, "incx")?;
    scalar(out, "out")?.apart_from(&Region::new(x, &[(n, inc)], "x")?)?;
    if n == 0 && needs_elements {
        return Err(Error::EmptyReduction { arg: "n" });
    }
    Ok((n, inc))
}

/// Checks the reduction of rows; `None` when there are no rows.
///
/// # Errors
/// As [`raw::sum_rows`](crate::raw::sum_rows); `EmptyReduction` if `needs_elements` and there are rows without
/// elements.
pub fn rows<T, O>(
    needs_elements: bool,
    m: i64,
    n: i64,
    x: *const T,
    rs: i64,
    cs: i64,
    out: *mut O,
    inc_out: i64,
) -> Result<Option<CheckedRows>> {
    let (m, n) = (size(m, "m")?, size(n, "n")?);
    let (rs, cs, inc_out) = (
        stride(rs, m, "rs")?,
        stride(cs, n, "cs")?,
        stride(inc_out, m, "inc_out")?,
    );
    let x_region = Region::new(x, &[(m, rs), (n, cs)], "x")?;
    let out_region = Region::new(out, &[(m, inc_out)], "out")?;
    out_region.check_distinct()?;
    out_region.apart_from(&x_region)?;
    if m > 0 && n == 0 && needs_elements {
        return Err(Error::EmptyReduction { arg: "n" });
    }
    // The row stride of rows without elements is unchecked.
    let rs = if n == 0 { 0 } else { rs };
    Ok((m > 0).then_some(CheckedRows {
        m,
        n,
        rs,
        cs,
        inc_out,
    }))
}

/// Checks the `ddof` of a variance of `n` elements.
///
/// # Errors
/// `InvalidValue` unless 0 <= ddof < n. n <= 0 is left to the other checks.
pub fn ddof(n: i64, ddof: i64) -> Result<usize> {
    if n > 0 && !(0..n).contains(&ddof) {
        return Err(Error::InvalidValue { arg: "ddof" });
    }
    Ok(ddof as usize)
}

/// Checks a dot product. Returns the number of elements and the strides.
///
/// # Errors
/// As [`raw::dot`](crate::raw::dot()).
#[inline(always)]
pub fn dot<T, O>(
    n: i64,
    x: *const T,
    incx: i64,
    y: *const T,
    incy: i64,
    out: *mut O,
) -> Result<(usize, isize, isize)> {
    let n = size(n, "n")?;
    let (incx, incy) = (stride(incx, n, "incx")?, stride(incy, n, "incy")?);
    let region = scalar(out, "out")?;
    region.apart_from(&Region::new(x, &[(n, incx)], "x")?)?;
    region.apart_from(&Region::new(y, &[(n, incy)], "y")?)?;
    Ok((n, incx, incy))
}
