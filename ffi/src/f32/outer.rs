//! Outer products.
use crate::exec::dpt_exec;
use crate::panel::operation;
use crate::status::dpt_status;

/// The outer product: out[i, j] = x[i] * y[j], each product rounded once.
///
/// NaN: a NaN operand gives a NaN; 0 * NaN is NaN.
/// Shapes: x has m elements, x[i * incx]; y has n elements, y[j * incy]; out is m x n,
/// out[i * out_rs + j * out_cs]. incx and incy may be 0 or negative; the strides of out may be
/// negative, but no two of its elements may lie at one place.
/// Aliasing: out overlaps neither x nor y; x and y may overlap in any way.
/// Empty: m = 0 or n = 0 succeeds and writes nothing; the pointers may then be NULL.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_outer_f32(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    x: *const f32,
    incx: i64,
    y: *const f32,
    incy: i64,
    out: *mut f32,
    out_rs: i64,
    out_cs: i64,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_outer_f32",
            exec,
            [m, n],
            outer(m, n, x, incx, y, incy, out, out_rs, out_cs),
            [x, y, out]
        )
    }
}

/// The rank-one update A += alpha * x * y^T: a[i, j] = fma(alpha * x[i], y[j], a[i, j]), where the
/// product alpha * x[i] is rounded first.
///
/// NaN: a NaN operand gives a NaN; alpha = 0 is an ordinary factor, so x and y are read.
/// Shapes: x has m elements, x[i * incx]; y has n elements, y[j * incy]; A is m x n,
/// a[i * a_rs + j * a_cs]. incx and incy may be 0 or negative; the strides of A may be negative,
/// but no two of its elements may lie at one place.
/// Aliasing: A overlaps neither x nor y; x and y may overlap in any way.
/// Empty: m = 0 or n = 0 succeeds and writes nothing; the pointers may then be NULL.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_ger_f32(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    alpha: f32,
    x: *const f32,
    incx: i64,
    y: *const f32,
    incy: i64,
    a: *mut f32,
    a_rs: i64,
    a_cs: i64,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_ger_f32",
            exec,
            [m, n],
            ger(m, n, alpha, x, incx, y, incy, a, a_rs, a_cs),
            [x, y, a]
        )
    }
}
