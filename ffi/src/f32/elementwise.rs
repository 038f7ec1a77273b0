//! One result for each element.
use crate::exec::dpt_exec;
use crate::panel::operation;
use crate::status::dpt_status;

/// out[i] = x[i] limited to lo .. hi, for i in 0 .. n: min(max(x[i], lo), hi).
///
/// NaN: NaN in x stays NaN; a NaN bound makes every element NaN. lo > hi gives hi. A value equal
/// to a bound is returned as it is, so -0 stays -0.
/// Shapes: x and out have n elements, one after the other.
/// Aliasing: out may be exactly x.
/// Empty: n = 0 succeeds, and the pointers may then be NULL.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_clamp_f32(
    exec: *const dpt_exec,
    n: i64,
    x: *const f32,
    lo: f32,
    hi: f32,
    out: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_clamp_f32",
            exec,
            [n],
            clamp(n, x, lo, hi, out),
            [x, out]
        )
    }
}

/// The gradient of clamp: out[i] = grad[i] where lo <= x[i] <= hi, else +0.
///
/// x is what went into the clamp, grad what comes back from behind it.
/// NaN: a NaN x[i] or a NaN bound gives +0; a NaN grad[i] is passed on where x[i] lies within.
/// Shapes: x, grad and out have n elements, one after the other.
/// Aliasing: out may be exactly x or exactly grad.
/// Empty: n = 0 succeeds, and the pointers may then be NULL.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_clamp_backward_f32(
    exec: *const dpt_exec,
    n: i64,
    x: *const f32,
    grad: *const f32,
    lo: f32,
    hi: f32,
    out: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_clamp_backward_f32",
            exec,
            [n],
            clamp_backward(n, x, grad, lo, hi, out),
            [x, grad, out]
        )
    }
}

/// out[i] = x[i] + y[i], for i in 0 .. n, each sum rounded once.
///
/// NaN: a NaN operand gives a NaN.
/// Shapes: x, y and out have n elements, one after the other.
/// Aliasing: out may be exactly x or exactly y (or both); x and y may overlap in any way.
/// Empty: n = 0 succeeds, and the pointers may then be NULL.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_add_f32(
    exec: *const dpt_exec,
    n: i64,
    x: *const f32,
    y: *const f32,
    out: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe { operation!("dpt_add_f32", exec, [n], add(n, x, y, out), [x, y, out]) }
}

/// out[i] = x[i] - y[i], for i in 0 .. n, each difference rounded once.
///
/// NaN: a NaN operand gives a NaN.
/// Shapes: x, y and out have n elements, one after the other.
/// Aliasing: out may be exactly x or exactly y (or both); x and y may overlap in any way.
/// Empty: n = 0 succeeds, and the pointers may then be NULL.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_sub_f32(
    exec: *const dpt_exec,
    n: i64,
    x: *const f32,
    y: *const f32,
    out: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe { operation!("dpt_sub_f32", exec, [n], sub(n, x, y, out), [x, y, out]) }
}

/// out[i] = x[i] * y[i], for i in 0 .. n, each product rounded once.
///
/// NaN: a NaN operand gives a NaN.
/// Shapes: x, y and out have n elements, one after the other.
/// Aliasing: out may be exactly x or exactly y (or both); x and y may overlap in any way.
/// Empty: n = 0 succeeds, and the pointers may then be NULL.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_mul_f32(
    exec: *const dpt_exec,
    n: i64,
    x: *const f32,
    y: *const f32,
    out: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe { operation!("dpt_mul_f32", exec, [n], mul(n, x, y, out), [x, y, out]) }
}

/// out[i] = x[i] / y[i], for i in 0 .. n, each quotient rounded once.
///
/// Division by zero gives an infinity, 0 / 0 a NaN, as in IEEE 754.
/// NaN: a NaN operand gives a NaN.
/// Shapes: x, y and out have n elements, one after the other.
/// Aliasing: out may be exactly x or exactly y (or both); x and y may overlap in any way.
/// Empty: n = 0 succeeds, and the pointers may then be NULL.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_div_f32(
    exec: *const dpt_exec,
    n: i64,
    x: *const f32,
    y: *const f32,
    out: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe { operation!("dpt_div_f32", exec, [n], div(n, x, y, out), [x, y, out]) }
}

/// out[i] = alpha * x[i], for i in 0 .. n, each product rounded once.
///
/// NaN: a NaN operand gives a NaN; alpha = 0 is an ordinary factor, so 0 * NaN is NaN.
/// Shapes: x and out have n elements, one after the other.
/// Aliasing: out may be exactly x.
/// Empty: n = 0 succeeds, and the pointers may then be NULL.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_scale_f32(
    exec: *const dpt_exec,
    n: i64,
    alpha: f32,
    x: *const f32,
    out: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_scale_f32",
            exec,
            [n],
            scale(n, alpha, x, out),
            [x, out]
        )
    }
}

/// y[i] = fma(alpha, x[i], y[i]), for i in 0 .. n: y += alpha * x with one rounding per element.
///
/// NaN: a NaN operand gives a NaN; alpha = 0 is an ordinary factor, so x is read.
/// Shapes: x and y have n elements, one after the other.
/// Aliasing: y may be exactly x; that gives y + alpha * y.
/// Empty: n = 0 succeeds, and the pointers may then be NULL.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_axpy_f32(
    exec: *const dpt_exec,
    n: i64,
    alpha: f32,
    x: *const f32,
    y: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe { operation!("dpt_axpy_f32", exec, [n], axpy(n, alpha, x, y), [x, y]) }
}

/// out[i] = x[i] * x[i], for i in 0 .. n, each product rounded once.
///
/// NaN: NaN stays NaN.
/// Shapes: x and out have n elements, one after the other.
/// Aliasing: out may be exactly x.
/// Empty: n = 0 succeeds, and the pointers may then be NULL.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_square_f32(
    exec: *const dpt_exec,
    n: i64,
    x: *const f32,
    out: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe { operation!("dpt_square_f32", exec, [n], square(n, x, out), [x, out]) }
}

/// out[i] = value, for i in 0 .. n.
///
/// Shapes: out has n elements, one after the other.
/// Empty: n = 0 succeeds, and out may then be NULL.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_fill_f32(
    exec: *const dpt_exec,
    n: i64,
    value: f32,
    out: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe { operation!("dpt_fill_f32", exec, [n], fill(n, value, out), [out]) }
}
