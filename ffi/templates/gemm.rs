//! Matrix products.
use crate::backend::{operation, used_if, workspace_query};
use crate::epilogue::dpt_epilogue;
use crate::exec::dpt_exec;
use crate::status::dpt_status;

/// The matrix product C = alpha * A * B + beta * C, in the canonical order of gemm.
///
/// Shapes: A is m x k, a[i * a_rs + p * a_cs]; B is k x n, b[p * b_rs + j * b_cs]; C is m x n,
/// c[i * c_rs + j * c_cs]. The strides of A and B may be 0 or negative, those of C may be negative.
/// beta = 0: C is not read, so a NaN in it does not survive.
/// alpha = 0 or k = 0: A and B are not read and may be NULL; C = beta * C.
/// NaN: a NaN among the elements that are read gives a NaN in each element of C that is computed
/// from it.
/// Empty: m = 0 or n = 0 succeeds and does nothing; the matrices may then be NULL.
/// Scratch: dpt_gemm_f32_workspace tells how large exec->workspace must be, if there is one. Without
/// a workspace the library keeps a buffer for each thread, which grows to the largest size needed
/// and is freed when the thread ends; a freestanding build, or a call that gets no memory, works in
/// a small block on the stack. A product in the order of dot (see CANONICAL ORDERS) needs none; with
/// a transposed matrix it is faster with an exec->workspace of about 256 bytes per column; any size
/// is accepted. The result bits are the same in all cases.
/// Errors: also DPT_WORKSPACE_TOO_SMALL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_gemm_SUFFIX(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    k: i64,
    alpha: SCALAR,
    a: *const ELEMENT,
    a_rs: i64,
    a_cs: i64,
    b: *const ELEMENT,
    b_rs: i64,
    b_cs: i64,
    beta: SCALAR,
    c: *mut ELEMENT,
    c_rs: i64,
    c_cs: i64,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_gemm_SUFFIX",
            exec,
            [m, n, k],
            gemm(
                m, n, k, alpha, a, a_rs, a_cs, b, b_rs, b_cs, beta, c, c_rs, c_cs
            ),
            [
                a if (alpha != 0.0),
                b if (alpha != 0.0),
                c = used_if(m > 0 && n > 0, c)
            ]
        )
    }
}

/// `batch` matrix products, each with exactly the bits of dpt_gemm_f32: for each q in 0 .. batch
/// the matrices are at a + q * a_bs, b + q * b_bs and c + q * c_bs.
///
/// Shapes: a_bs, b_bs and c_bs count elements too. a_bs and b_bs may be 0 (one matrix for all
/// items) or negative; c_bs may be negative, but the items of C must not overlap.
/// Empty: batch = 0 also succeeds and does nothing; the matrices may then be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_gemm_batched_SUFFIX(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    k: i64,
    alpha: SCALAR,
    a: *const ELEMENT,
    a_rs: i64,
    a_cs: i64,
    b: *const ELEMENT,
    b_rs: i64,
    b_cs: i64,
    beta: SCALAR,
    c: *mut ELEMENT,
    c_rs: i64,
    c_cs: i64,
    batch: i64,
    a_bs: i64,
    b_bs: i64,
    c_bs: i64,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_gemm_batched_SUFFIX",
            exec,
            [m, n, k, batch],
            gemm_batched(
                m, n, k, alpha, a, a_rs, a_cs, b, b_rs, b_cs, beta, c, c_rs, c_cs, batch, a_bs,
                b_bs, c_bs
            ),
            [
                a if (alpha != 0.0),
                b if (alpha != 0.0),
                c = used_if(m > 0 && n > 0 && batch > 0, c)
            ]
        )
    }
}

/// dpt_gemm_f32 with an epilogue: adds the bias to each finished element (one rounding), then
/// clamps it as dpt_clamp_f32 does, before it is stored. The bits are those of dpt_gemm_f32, then
/// the additions, then dpt_clamp_f32. The epilogue is applied in every case, also if alpha, beta or
/// k is 0.
///
/// Aliasing: C must not overlap the bias either.
/// Empty: as for dpt_gemm_f32. The bias may then be NULL too, but not epilogue itself.
/// Errors: also, for the epilogue, DPT_NULL_POINTER, DPT_BAD_STRUCT_SIZE, DPT_UNKNOWN_FLAG,
/// DPT_UNKNOWN_ENUM.
#[unsafe(no_mangle)]
#[allow(
    clippy::unnecessary_cast,
    reason = "f64 is one of the types"
)]
pub unsafe extern "C" fn dpt_gemm_fused_SUFFIX(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    k: i64,
    alpha: SCALAR,
    a: *const ELEMENT,
    a_rs: i64,
    a_cs: i64,
    b: *const ELEMENT,
    b_rs: i64,
    b_cs: i64,
    beta: SCALAR,
    c: *mut ELEMENT,
    c_rs: i64,
    c_cs: i64,
    epilogue: *const dpt_epilogue,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked. An epilogue that
    // cannot be read has no bias, and is refused.
    unsafe {
        operation!(
            "dpt_gemm_fused_SUFFIX",
            exec,
            [m, n, k],
            gemm_fused(
                m,
                n,
                k,
                alpha,
                a,
                a_rs,
                a_cs,
                b,
                b_rs,
                b_cs,
                beta,
                c,
                c_rs,
                c_cs,
                &crate::epilogue::raw(epilogue, |bound| bound as SCALAR)?
            ),
            [
                a if (alpha != 0.0),
                b if (alpha != 0.0),
                c = used_if(m > 0 && n > 0, c),
                bias = used_if(m > 0 && n > 0, crate::epilogue::bias(epilogue))
            ]
        )
    }
}

/// Writes to *size how many bytes of exec->workspace are enough for dpt_gemm_f32,
/// dpt_gemm_batched_f32 (any batch) and dpt_gemm_fused_f32 of these sizes, with any strides and
/// scalars, on every CPU level. On the CPU a smaller workspace is DPT_WORKSPACE_TOO_SMALL, even
/// where the particular call would use less. On the GPU a smaller one is accepted, but slower; a
/// product with m = 1 or n = 1 and large k without a workspace needs dpt_cuda_preload there. The
/// result bits are the same with and without.
///
/// The number depends on exec->device, exec->max_threads and exec->parallel_for: set exec as for
/// the calls. (For DPT_DEVICE_AUTO it is the number for the CPU.) exec->workspace itself is
/// not used.
///
/// Errors: the common ones; DPT_NULL_POINTER if size is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_gemm_SUFFIX_workspace(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    k: i64,
    size: *mut usize,
) -> dpt_status {
    // SAFETY: `exec` is NULL or points to a `dpt_exec`, and `size` is NULL or points to a size.
    unsafe {
        workspace_query!(
            "dpt_gemm_SUFFIX_workspace",
            exec,
            gemm_workspace::<ELEMENT>(m, n, k),
            size
        )
    }
}
