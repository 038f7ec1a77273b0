//! Reductions of a vector to one value.
use crate::exec::dpt_exec;
use crate::panel::{operation, used_if};
use crate::status::dpt_status;

/// The sum of x, in the canonical order.
///
/// NaN: a NaN in x gives the canonical NaN.
/// Shapes: x has n elements, x[i * incx]; incx may be 0 or negative. *out is one element.
/// Aliasing: out is not an element of x.
/// Empty: n = 0 gives +0, and x may then be NULL.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_sum_f32(
    exec: *const dpt_exec,
    n: i64,
    x: *const f32,
    incx: i64,
    out: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_sum_f32",
            exec,
            [n],
            sum(n, x, incx, out),
            [x, out = used_if(true, out)]
        )
    }
}

/// The mean of x: the sum in the canonical order, divided once by n.
///
/// NaN: a NaN in x gives the canonical NaN.
/// Shapes: x has n elements, x[i * incx]; incx may be 0 or negative. *out is one element.
/// Aliasing: out is not an element of x.
/// Empty: n = 0 is DPT_EMPTY_REDUCTION.
/// Errors: the common ones; DPT_EMPTY_REDUCTION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_mean_f32(
    exec: *const dpt_exec,
    n: i64,
    x: *const f32,
    incx: i64,
    out: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe { operation!("dpt_mean_f32", exec, [n], mean(n, x, incx, out), [x, out]) }
}

/// The product of x, in the canonical order with * for + and lanes that start at 1.
///
/// NaN: a NaN in x gives the canonical NaN.
/// Shapes: x has n elements, x[i * incx]; incx may be 0 or negative. *out is one element.
/// Aliasing: out is not an element of x.
/// Empty: n = 0 gives 1, and x may then be NULL.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_prod_f32(
    exec: *const dpt_exec,
    n: i64,
    x: *const f32,
    incx: i64,
    out: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_prod_f32",
            exec,
            [n],
            prod(n, x, incx, out),
            [x, out = used_if(true, out)]
        )
    }
}

/// The smallest element of x. -0 is less than +0.
///
/// NaN: a NaN in x gives the canonical NaN.
/// Shapes: x has n elements, x[i * incx]; incx may be 0 or negative. *out is one element.
/// Aliasing: out is not an element of x.
/// Empty: n = 0 is DPT_EMPTY_REDUCTION.
/// Errors: the common ones; DPT_EMPTY_REDUCTION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_min_f32(
    exec: *const dpt_exec,
    n: i64,
    x: *const f32,
    incx: i64,
    out: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe { operation!("dpt_min_f32", exec, [n], min(n, x, incx, out), [x, out]) }
}

/// The largest element of x. -0 is less than +0.
///
/// NaN: a NaN in x gives the canonical NaN.
/// Shapes: x has n elements, x[i * incx]; incx may be 0 or negative. *out is one element.
/// Aliasing: out is not an element of x.
/// Empty: n = 0 is DPT_EMPTY_REDUCTION.
/// Errors: the common ones; DPT_EMPTY_REDUCTION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_max_f32(
    exec: *const dpt_exec,
    n: i64,
    x: *const f32,
    incx: i64,
    out: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe { operation!("dpt_max_f32", exec, [n], max(n, x, incx, out), [x, out]) }
}

/// The sum of the squares of x, in the canonical order: fma(x[i], x[i], lane).
///
/// NaN: a NaN in x gives the canonical NaN.
/// Shapes: x has n elements, x[i * incx]; incx may be 0 or negative. *out is one element.
/// Aliasing: out is not an element of x.
/// Empty: n = 0 gives +0, and x may then be NULL.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_sumsq_f32(
    exec: *const dpt_exec,
    n: i64,
    x: *const f32,
    incx: i64,
    out: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_sumsq_f32",
            exec,
            [n],
            sumsq(n, x, incx, out),
            [x, out = used_if(true, out)]
        )
    }
}

/// The sum of the absolute values of x, in the canonical order.
///
/// NaN: a NaN in x gives the canonical NaN.
/// Shapes: x has n elements, x[i * incx]; incx may be 0 or negative. *out is one element.
/// Aliasing: out is not an element of x.
/// Empty: n = 0 gives +0, and x may then be NULL.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_asum_f32(
    exec: *const dpt_exec,
    n: i64,
    x: *const f32,
    incx: i64,
    out: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_asum_f32",
            exec,
            [n],
            asum(n, x, incx, out),
            [x, out = used_if(true, out)]
        )
    }
}

/// The Euclidean norm of x: the square root of the sum of squares in the canonical order. When
/// that sum would overflow or lose its small terms, x is first scaled by a power of two.
///
/// NaN: a NaN in x gives the canonical NaN.
/// Shapes: x has n elements, x[i * incx]; incx may be 0 or negative. *out is one element.
/// Aliasing: out is not an element of x.
/// Empty: n = 0 gives +0, and x may then be NULL.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_nrm2_f32(
    exec: *const dpt_exec,
    n: i64,
    x: *const f32,
    incx: i64,
    out: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_nrm2_f32",
            exec,
            [n],
            nrm2(n, x, incx, out),
            [x, out = used_if(true, out)]
        )
    }
}

/// The variance of x in two passes, both in the canonical order: the mean, then the sum of
/// fma(d, d, lane) with d = x[i] - mean, divided once by n - ddof. ddof = 0 is the variance of a
/// whole population, ddof = 1 the estimate from a sample.
///
/// NaN: a NaN in x gives the canonical NaN.
/// Shapes: x has n elements, x[i * incx]; incx may be 0 or negative. *out is one element.
/// Aliasing: out is not an element of x.
/// Empty: n = 0 is DPT_EMPTY_REDUCTION.
/// Errors: the common ones; DPT_EMPTY_REDUCTION; DPT_INVALID_VALUE when ddof < 0 or ddof >= n.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_var_f32(
    exec: *const dpt_exec,
    n: i64,
    x: *const f32,
    incx: i64,
    ddof: i64,
    out: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_var_f32",
            exec,
            [n],
            var(n, x, incx, ddof, out),
            [x, out]
        )
    }
}

/// log(exp(x[0]) + exp(x[1]) + ...) without avoidable overflow: m + log(sum of exp(x[i] - m)), m
/// being the largest element, the sum in the canonical order. When m is an infinity, the result is
/// m.
///
/// NaN: a NaN in x gives the canonical NaN.
/// Shapes: x has n elements, x[i * incx]; incx may be 0 or negative. *out is one element.
/// Aliasing: out is not an element of x.
/// Empty: n = 0 gives -inf, and x may then be NULL.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_logsumexp_f32(
    exec: *const dpt_exec,
    n: i64,
    x: *const f32,
    incx: i64,
    out: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_logsumexp_f32",
            exec,
            [n],
            logsumexp(n, x, incx, out),
            [x, out = used_if(true, out)]
        )
    }
}

/// The index of the first NaN of x, else of the first smallest element. Elements are compared by
/// value, so -0 and +0 are equal. The index counts elements, whatever incx is.
///
/// Shapes: x has n elements, x[i * incx]; incx may be 0 or negative. *out is one int64_t.
/// Aliasing: out does not overlap x.
/// Empty: n = 0 is DPT_EMPTY_REDUCTION.
/// Errors: the common ones; DPT_EMPTY_REDUCTION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_argmin_f32(
    exec: *const dpt_exec,
    n: i64,
    x: *const f32,
    incx: i64,
    out: *mut i64,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_argmin_f32",
            exec,
            [n],
            argmin(n, x, incx, out),
            [x, out]
        )
    }
}

/// The index of the first NaN of x, else of the first largest element. Elements are compared by
/// value, so -0 and +0 are equal. The index counts elements, whatever incx is.
///
/// Shapes: x has n elements, x[i * incx]; incx may be 0 or negative. *out is one int64_t.
/// Aliasing: out does not overlap x.
/// Empty: n = 0 is DPT_EMPTY_REDUCTION.
/// Errors: the common ones; DPT_EMPTY_REDUCTION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_argmax_f32(
    exec: *const dpt_exec,
    n: i64,
    x: *const f32,
    incx: i64,
    out: *mut i64,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_argmax_f32",
            exec,
            [n],
            argmax(n, x, incx, out),
            [x, out]
        )
    }
}

/// The dot product of x and y, in the canonical order: fma(x[i], y[i], lane).
///
/// NaN: a NaN in x or y, and an infinity times zero, give the canonical NaN.
/// Shapes: x has n elements, x[i * incx]; y has n elements, y[i * incy]; incx and incy may be 0 or
/// negative. *out is one element.
/// Aliasing: out is not an element of x or y; x and y may overlap in any way.
/// Empty: n = 0 gives +0, and x and y may then be NULL.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_dot_f32(
    exec: *const dpt_exec,
    n: i64,
    x: *const f32,
    incx: i64,
    y: *const f32,
    incy: i64,
    out: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_dot_f32",
            exec,
            [n],
            dot(n, x, incx, y, incy, out),
            [x, y, out = used_if(true, out)]
        )
    }
}
