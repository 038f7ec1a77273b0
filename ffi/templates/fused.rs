//! Fused operations: several steps in one pass over the data.
use crate::backend::{operation, used_if, workspace_query};
use crate::exec::dpt_exec;
use crate::status::dpt_status;

/// The squared error and its gradient in one pass: with d = pred[i] - target[i], grad[i] = 2 * d,
/// and *loss = the sum of d * d in the canonical order, fma(d, d, lane). Neither is divided by n.
///
/// NaN: a NaN in pred or target gives a NaN in grad[i] and the canonical NaN in *loss.
/// Shapes: pred, target and grad have n elements without gaps; *loss is one element.
/// Aliasing: grad may be exactly pred or exactly target; *loss must not overlap any array.
/// Empty: n = 0 gives *loss = +0; pred, target and grad may then be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_mse_grad_SUFFIX(
    exec: *const dpt_exec,
    n: i64,
    pred: *const ELEMENT,
    target: *const ELEMENT,
    grad: *mut ELEMENT,
    loss: *mut ELEMENT,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_mse_grad_SUFFIX",
            exec,
            [n],
            mse_grad(n, pred, target, grad, loss),
            [pred, target, grad, loss = used_if(true, loss)]
        )
    }
}

/// The gradient of the least-squares loss |A x - y|^2: grad = 2 * A^T (A x - y), in the canonical
/// order of lsq_grad. A is read once.
///
/// NaN: a NaN among the elements that take part gives the canonical NaN.
/// Shapes: A is m x n, a[i * a_rs + j * a_cs]; its strides may be 0 or negative. x and grad have n
/// elements and y has m, without gaps.
/// Aliasing: grad must not overlap A, x or y.
/// Empty: n = 0 succeeds and does nothing; m = 0 gives grad[j] = +0 and does not read x. Arrays
/// that are not read or written may be NULL.
/// Scratch: dpt_lsq_grad_f32_workspace tells how many bytes of exec->workspace are used. Without a
/// workspace the CPU works as in the matrix products; the GPU uses a block of the library, which is
/// enough for small sizes: larger sizes are DPT_WORKSPACE_TOO_SMALL.
/// Errors: also DPT_WORKSPACE_TOO_SMALL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_lsq_grad_SUFFIX(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    a: *const ELEMENT,
    a_rs: i64,
    a_cs: i64,
    x: *const ELEMENT,
    y: *const ELEMENT,
    grad: *mut ELEMENT,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_lsq_grad_SUFFIX",
            exec,
            [m, n],
            lsq_grad(m, n, a, a_rs, a_cs, x, y, grad),
            [a, x, y, grad = used_if(n > 0, grad)]
        )
    }
}

/// Writes to *size how many bytes of exec->workspace dpt_lsq_grad_f32 needs for these sizes. What
/// dpt_gemm_f32_workspace says of exec holds here too.
///
/// Errors: the common ones; DPT_NULL_POINTER if size is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_lsq_grad_SUFFIX_workspace(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    size: *mut usize,
) -> dpt_status {
    // SAFETY: `exec` is NULL or points to a `dpt_exec`, and `size` is NULL or points to a size.
    unsafe {
        workspace_query!(
            "dpt_lsq_grad_SUFFIX_workspace",
            exec,
            lsq_grad_workspace::<ELEMENT>(m, n),
            size
        )
    }
}
