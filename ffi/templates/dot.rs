//! The dot product.
use crate::backend::{operation, used_if};
use crate::exec::dpt_exec;
use crate::status::dpt_status;

/// The dot product of x and y, in the canonical order: fma(x[i], y[i], lane). n = 0 gives +0, and y
/// may then be NULL too.
///
/// NaN: a NaN in x or y, and an infinity times zero, give the canonical NaN.
/// Shapes: y also has n elements, y[i * incy]; incy may be 0 or negative.
/// Aliasing: *out must not overlap an element of y either.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_dot_SUFFIX(
    exec: *const dpt_exec,
    n: i64,
    x: *const ELEMENT,
    incx: i64,
    y: *const ELEMENT,
    incy: i64,
    out: *mut ELEMENT,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_dot_SUFFIX",
            exec,
            [n],
            dot(n, x, incx, y, incy, out),
            [x, y, out = used_if(true, out)]
        )
    }
}
