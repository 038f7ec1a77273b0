//! The checks of the arguments of maps over rows, for both backends.
#![forbid(unsafe_code)]

use crate::args::{Region, size, stride};
use crate::error::Result;

/// The checked shape and strides of a matrix and of the output, of which neither size is 0.
#[derive(Clone, Copy, Debug)]
pub struct RowMapShape {
    /// The number of rows.
    pub m: usize,
    /// The number of elements in each row.
    pub n: usize,
    /// The strides of the matrix, from one row to the next and from one element of a row to the next.
    pub x: [isize; 2],
    /// Those of the output.
    pub out: [isize; 2],
}

/// Checks the arguments of a map over rows; `None` if there are no elements.
///
/// # Errors
/// As [`raw::normalize`](crate::raw::normalize).
pub fn check<T>(
    m: i64,
    n: i64,
    x: *const T,
    [x_rs, x_cs]: [i64; 2],
    out: *mut T,
    [out_rs, out_cs]: [i64; 2],
) -> Result<Option<RowMapShape>> {
    let (m, n) = (size(m, "m")?, size(n, "n")?);
    let strides = [stride(x_rs, m, "x_rs")?, stride(x_cs, n, "x_cs")?];
    let out_strides = [stride(out_rs, m, "out_rs")?, stride(out_cs, n, "out_cs")?];
    let region = |p, [rs, cs]: [isize; 2], arg| Region::new(p, &[(m, rs), (n, cs)], arg);
    let x_region = region(x, strides, "x")?;
    let out_region = region(out.cast_const(), out_strides, "out")?;
    out_region.check_distinct()?;
    let is_in_place = x == out.cast_const() && strides == out_strides;
    if !is_in_place {
        out_region.apart_from(&x_region)?;
    }
    Ok((m > 0 && n > 0).then_some(RowMapShape {
        m,
        n,
        x: strides,
        out: out_strides,
    }))
}
