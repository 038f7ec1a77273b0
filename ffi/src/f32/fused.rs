//! Several steps in one pass over the data.
use crate::exec::dpt_exec;
use crate::panel::{operation, used_if, workspace_query};
use crate::status::dpt_status;

/// The squared error and its gradient in one pass: d = pred[i] - target[i], grad[i] = 2 * d, and
/// *loss = the sum of the d * d in the canonical order, fma(d, d, lane). Neither is divided by n.
///
/// NaN: a NaN in pred or target gives a NaN in grad[i] and the canonical NaN in *loss.
/// Shapes: pred, target and grad have n elements, one after the other; *loss is one element.
/// Aliasing: grad may be exactly pred or exactly target; loss overlaps nothing.
/// Empty: n = 0 gives *loss = +0; pred, target and grad may then be NULL.
/// Errors: the common ones.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_mse_grad_f32(
    exec: *const dpt_exec,
    n: i64,
    pred: *const f32,
    target: *const f32,
    grad: *mut f32,
    loss: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_mse_grad_f32",
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
/// Shapes: A is m x n, a[i * a_rs + j * a_cs], with strides that may be 0 or negative; x and grad
/// have n elements and y has m, one after the other.
/// Aliasing: grad overlaps neither A, nor x, nor y.
/// Empty: n = 0 succeeds and does nothing; m = 0 gives grad[j] = +0, and x is not read. Pointers to
/// nothing may be NULL.
/// Scratch: dpt_lsq_grad_f32_workspace says how many bytes of exec->workspace are used; without a
/// workspace as for dpt_gemm_f32. On the device the library's own scratch is enough for small sizes, and
/// larger ones are DPT_WORKSPACE_TOO_SMALL without a workspace.
/// Errors: the common ones; DPT_WORKSPACE_TOO_SMALL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_lsq_grad_f32(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    a: *const f32,
    a_rs: i64,
    a_cs: i64,
    x: *const f32,
    y: *const f32,
    grad: *mut f32,
) -> dpt_status {
    // SAFETY: the pointers are as the header demands; `raw` checks what can be checked.
    unsafe {
        operation!(
            "dpt_lsq_grad_f32",
            exec,
            [m, n],
            lsq_grad(m, n, a, a_rs, a_cs, x, y, grad),
            [a, x, y, grad = used_if(n > 0, grad)]
        )
    }
}

/// Writes to *size how many bytes of exec->workspace dpt_lsq_grad_f32 needs for these sizes when it
/// runs with this exec. Ask with all else of exec as the call will have it: the number depends on
/// exec->device (DPT_DEVICE_AUTO asks for the CPU), exec->max_threads and exec->parallel_for.
/// exec->workspace itself is not looked at, and may be NULL as long as exec->workspace_size is 0.
///
/// Errors: the common ones; DPT_NULL_POINTER when size is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_lsq_grad_f32_workspace(
    exec: *const dpt_exec,
    m: i64,
    n: i64,
    size: *mut usize,
) -> dpt_status {
    // SAFETY: `exec` is NULL or points to a `dpt_exec`, and `size` is NULL or points to a size.
    unsafe {
        workspace_query!(
            "dpt_lsq_grad_f32_workspace",
            exec,
            lsq_grad_workspace::<f32>(m, n),
            size
        )
    }
}
