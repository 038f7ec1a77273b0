//! Outer products.
use crate::backend::operation;
use crate::exec::dpt_exec;
use crate::status::dpt_status;

/// The outer product: out[i * out_rs + j * out_cs] = x[i] * y[j], each product rounded once.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_outer_SUFFIX(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    x: *const ELEMENT,
    incx: i64,
    y: *const ELEMENT,
    incy: i64,
    out: *mut ELEMENT,
    out_rs: i64,
    out_cs: i64,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_outer_SUFFIX",
            exec,
            [m, n],
            outer(m, n, x, incx, y, incy, out, out_rs, out_cs),
            [x, y, out]
        )
    }
}

/// The rank-one update A += alpha * x * y^T: a[i, j] = fma(alpha * x[i], y[j], a[i, j]), where the
/// product alpha * x[i] is rounded first. alpha = 0 is an ordinary factor, so x and y are read.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_ger_SUFFIX(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    alpha: SCALAR,
    x: *const ELEMENT,
    incx: i64,
    y: *const ELEMENT,
    incy: i64,
    a: *mut ELEMENT,
    a_rs: i64,
    a_cs: i64,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_ger_SUFFIX",
            exec,
            [m, n],
            ger(m, n, alpha, x, incx, y, incy, a, a_rs, a_cs),
            [x, y, a]
        )
    }
}
