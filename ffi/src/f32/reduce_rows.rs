//! Reductions of the rows of a matrix: either axis, by the strides.
use crate::exec::dpt_exec;
use crate::panel::{operation, used_if};
use crate::status::dpt_status;

/// out[i] = dpt_sum_f32 of row i of X, with exactly its bits, for i in 0 .. m.
///
/// Shapes: X is m x n, x[i * rs + j * cs]; rs and cs may be 0 or negative. For the columns of a
/// matrix exchange m with n and rs with cs. out has m elements, out[i * inc_out]; inc_out may be
/// negative, but no two elements may lie at one place.
/// NaN: a NaN in x gives the canonical NaN.
/// Aliasing: out does not overlap X.
/// Empty: n = 0 gives +0 in every row, and x may then be NULL; m = 0 succeeds and writes
/// nothing.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_sum_rows_f32(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    x: *const f32,
    rs: i64,
    cs: i64,
    out: *mut f32,
    inc_out: i64,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_sum_rows_f32",
            exec,
            [m, n],
            sum_rows(m, n, x, rs, cs, out, inc_out),
            [x, out = used_if(m > 0, out)]
        )
    }
}

/// out[i] = dpt_mean_f32 of row i of X, with exactly its bits, for i in 0 .. m.
///
/// Shapes: X is m x n, x[i * rs + j * cs]; rs and cs may be 0 or negative. For the columns of a
/// matrix exchange m with n and rs with cs. out has m elements, out[i * inc_out]; inc_out may be
/// negative, but no two elements may lie at one place.
/// NaN: a NaN in x gives the canonical NaN.
/// Aliasing: out does not overlap X.
/// Empty: m = 0 succeeds and writes nothing; else n = 0 is DPT_EMPTY_REDUCTION.
/// Errors: the common ones; DPT_EMPTY_REDUCTION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_mean_rows_f32(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    x: *const f32,
    rs: i64,
    cs: i64,
    out: *mut f32,
    inc_out: i64,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_mean_rows_f32",
            exec,
            [m, n],
            mean_rows(m, n, x, rs, cs, out, inc_out),
            [x, out]
        )
    }
}

/// out[i] = dpt_prod_f32 of row i of X, with exactly its bits, for i in 0 .. m.
///
/// Shapes: X is m x n, x[i * rs + j * cs]; rs and cs may be 0 or negative. For the columns of a
/// matrix exchange m with n and rs with cs. out has m elements, out[i * inc_out]; inc_out may be
/// negative, but no two elements may lie at one place.
/// NaN: a NaN in x gives the canonical NaN.
/// Aliasing: out does not overlap X.
/// Empty: n = 0 gives 1 in every row, and x may then be NULL; m = 0 succeeds and writes
/// nothing.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_prod_rows_f32(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    x: *const f32,
    rs: i64,
    cs: i64,
    out: *mut f32,
    inc_out: i64,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_prod_rows_f32",
            exec,
            [m, n],
            prod_rows(m, n, x, rs, cs, out, inc_out),
            [x, out = used_if(m > 0, out)]
        )
    }
}

/// out[i] = dpt_min_f32 of row i of X, with exactly its bits, for i in 0 .. m.
///
/// Shapes: X is m x n, x[i * rs + j * cs]; rs and cs may be 0 or negative. For the columns of a
/// matrix exchange m with n and rs with cs. out has m elements, out[i * inc_out]; inc_out may be
/// negative, but no two elements may lie at one place.
/// NaN: a NaN in x gives the canonical NaN.
/// Aliasing: out does not overlap X.
/// Empty: m = 0 succeeds and writes nothing; else n = 0 is DPT_EMPTY_REDUCTION.
/// Errors: the common ones; DPT_EMPTY_REDUCTION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_min_rows_f32(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    x: *const f32,
    rs: i64,
    cs: i64,
    out: *mut f32,
    inc_out: i64,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_min_rows_f32",
            exec,
            [m, n],
            min_rows(m, n, x, rs, cs, out, inc_out),
            [x, out]
        )
    }
}

/// out[i] = dpt_max_f32 of row i of X, with exactly its bits, for i in 0 .. m.
///
/// Shapes: X is m x n, x[i * rs + j * cs]; rs and cs may be 0 or negative. For the columns of a
/// matrix exchange m with n and rs with cs. out has m elements, out[i * inc_out]; inc_out may be
/// negative, but no two elements may lie at one place.
/// NaN: a NaN in x gives the canonical NaN.
/// Aliasing: out does not overlap X.
/// Empty: m = 0 succeeds and writes nothing; else n = 0 is DPT_EMPTY_REDUCTION.
/// Errors: the common ones; DPT_EMPTY_REDUCTION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_max_rows_f32(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    x: *const f32,
    rs: i64,
    cs: i64,
    out: *mut f32,
    inc_out: i64,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_max_rows_f32",
            exec,
            [m, n],
            max_rows(m, n, x, rs, cs, out, inc_out),
            [x, out]
        )
    }
}

/// out[i] = dpt_sumsq_f32 of row i of X, with exactly its bits, for i in 0 .. m.
///
/// Shapes: X is m x n, x[i * rs + j * cs]; rs and cs may be 0 or negative. For the columns of a
/// matrix exchange m with n and rs with cs. out has m elements, out[i * inc_out]; inc_out may be
/// negative, but no two elements may lie at one place.
/// NaN: a NaN in x gives the canonical NaN.
/// Aliasing: out does not overlap X.
/// Empty: n = 0 gives +0 in every row, and x may then be NULL; m = 0 succeeds and writes
/// nothing.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_sumsq_rows_f32(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    x: *const f32,
    rs: i64,
    cs: i64,
    out: *mut f32,
    inc_out: i64,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_sumsq_rows_f32",
            exec,
            [m, n],
            sumsq_rows(m, n, x, rs, cs, out, inc_out),
            [x, out = used_if(m > 0, out)]
        )
    }
}

/// out[i] = dpt_asum_f32 of row i of X, with exactly its bits, for i in 0 .. m.
///
/// Shapes: X is m x n, x[i * rs + j * cs]; rs and cs may be 0 or negative. For the columns of a
/// matrix exchange m with n and rs with cs. out has m elements, out[i * inc_out]; inc_out may be
/// negative, but no two elements may lie at one place.
/// NaN: a NaN in x gives the canonical NaN.
/// Aliasing: out does not overlap X.
/// Empty: n = 0 gives +0 in every row, and x may then be NULL; m = 0 succeeds and writes
/// nothing.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_asum_rows_f32(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    x: *const f32,
    rs: i64,
    cs: i64,
    out: *mut f32,
    inc_out: i64,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_asum_rows_f32",
            exec,
            [m, n],
            asum_rows(m, n, x, rs, cs, out, inc_out),
            [x, out = used_if(m > 0, out)]
        )
    }
}

/// out[i] = dpt_nrm2_f32 of row i of X, with exactly its bits, for i in 0 .. m.
///
/// Shapes: X is m x n, x[i * rs + j * cs]; rs and cs may be 0 or negative. For the columns of a
/// matrix exchange m with n and rs with cs. out has m elements, out[i * inc_out]; inc_out may be
/// negative, but no two elements may lie at one place.
/// NaN: a NaN in x gives the canonical NaN.
/// Aliasing: out does not overlap X.
/// Empty: n = 0 gives +0 in every row, and x may then be NULL; m = 0 succeeds and writes
/// nothing.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_nrm2_rows_f32(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    x: *const f32,
    rs: i64,
    cs: i64,
    out: *mut f32,
    inc_out: i64,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_nrm2_rows_f32",
            exec,
            [m, n],
            nrm2_rows(m, n, x, rs, cs, out, inc_out),
            [x, out = used_if(m > 0, out)]
        )
    }
}

/// out[i] = dpt_var_f32 of row i of X, with exactly its bits, for i in 0 .. m.
///
/// Shapes: X is m x n, x[i * rs + j * cs]; rs and cs may be 0 or negative. For the columns of a
/// matrix exchange m with n and rs with cs. out has m elements, out[i * inc_out]; inc_out may be
/// negative, but no two elements may lie at one place.
/// NaN: a NaN in x gives the canonical NaN.
/// Aliasing: out does not overlap X.
/// Empty: m = 0 succeeds and writes nothing; else n = 0 is DPT_EMPTY_REDUCTION.
/// Errors: the common ones; DPT_EMPTY_REDUCTION; DPT_INVALID_VALUE when n > 0, whatever m,
/// and ddof < 0 or ddof >= n.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_var_rows_f32(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    x: *const f32,
    rs: i64,
    cs: i64,
    ddof: i64,
    out: *mut f32,
    inc_out: i64,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_var_rows_f32",
            exec,
            [m, n],
            var_rows(m, n, x, rs, cs, ddof, out, inc_out),
            [x, out]
        )
    }
}

/// out[i] = dpt_logsumexp_f32 of row i of X, with exactly its bits, for i in 0 .. m.
///
/// Shapes: X is m x n, x[i * rs + j * cs]; rs and cs may be 0 or negative. For the columns of a
/// matrix exchange m with n and rs with cs. out has m elements, out[i * inc_out]; inc_out may be
/// negative, but no two elements may lie at one place.
/// NaN: a NaN in x gives the canonical NaN.
/// Aliasing: out does not overlap X.
/// Empty: n = 0 gives -inf in every row, and x may then be NULL; m = 0 succeeds and writes
/// nothing.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_logsumexp_rows_f32(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    x: *const f32,
    rs: i64,
    cs: i64,
    out: *mut f32,
    inc_out: i64,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_logsumexp_rows_f32",
            exec,
            [m, n],
            logsumexp_rows(m, n, x, rs, cs, out, inc_out),
            [x, out = used_if(m > 0, out)]
        )
    }
}

/// out[i] = dpt_argmin_f32 of row i of X, for i in 0 .. m: an index into the row.
///
/// Shapes: X is m x n, x[i * rs + j * cs]; rs and cs may be 0 or negative. For the columns of a
/// matrix exchange m with n and rs with cs. out has m elements, out[i * inc_out]; inc_out may be
/// negative, but no two elements may lie at one place.
/// NaN: the first NaN of a row wins.
/// Aliasing: out does not overlap X.
/// Empty: m = 0 succeeds and writes nothing; else n = 0 is DPT_EMPTY_REDUCTION.
/// Errors: the common ones; DPT_EMPTY_REDUCTION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_argmin_rows_f32(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    x: *const f32,
    rs: i64,
    cs: i64,
    out: *mut i64,
    inc_out: i64,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_argmin_rows_f32",
            exec,
            [m, n],
            argmin_rows(m, n, x, rs, cs, out, inc_out),
            [x, out]
        )
    }
}

/// out[i] = dpt_argmax_f32 of row i of X, for i in 0 .. m: an index into the row.
///
/// Shapes: X is m x n, x[i * rs + j * cs]; rs and cs may be 0 or negative. For the columns of a
/// matrix exchange m with n and rs with cs. out has m elements, out[i * inc_out]; inc_out may be
/// negative, but no two elements may lie at one place.
/// NaN: the first NaN of a row wins.
/// Aliasing: out does not overlap X.
/// Empty: m = 0 succeeds and writes nothing; else n = 0 is DPT_EMPTY_REDUCTION.
/// Errors: the common ones; DPT_EMPTY_REDUCTION.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_argmax_rows_f32(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    x: *const f32,
    rs: i64,
    cs: i64,
    out: *mut i64,
    inc_out: i64,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_argmax_rows_f32",
            exec,
            [m, n],
            argmax_rows(m, n, x, rs, cs, out, inc_out),
            [x, out]
        )
    }
}
