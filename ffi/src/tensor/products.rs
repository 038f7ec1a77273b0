//! Products, gradients and conversions of tensors.
use super::epilogue::{self as last, dpt_tensor_epilogue};
use super::{dpt_tensor, tensor_operation};
use crate::exec::dpt_exec;
use crate::status::dpt_status;

/// dpt_outer_f32 for tensors: x of shape (m), y of shape (n), out of shape (m, n). Takes integers
/// too. Of float16 and bfloat16, out may also be float: its elements are not rounded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_outer(
    exec: *const dpt_exec,
    x: *const dpt_tensor,
    y: *const dpt_tensor,
    out: *mut dpt_tensor,
) -> dpt_status {
    // SAFETY: the tensors are as the header demands; `tensor` checks what can be checked.
    unsafe { tensor_operation!("dpt_outer", exec, [x, y, out], outer(x, y, out)) }
}

/// dpt_ger_f32 for tensors: x of shape (m), y of shape (n), a of shape (m, n). alpha is rounded to
/// their type. Takes integers too: alpha is then a whole number of at least -2^63 and less than
/// 2^63, else DPT_INVALID_VALUE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_ger(
    exec: *const dpt_exec,
    alpha: f64,
    x: *const dpt_tensor,
    y: *const dpt_tensor,
    a: *mut dpt_tensor,
) -> dpt_status {
    // SAFETY: the tensors are as the header demands; `tensor` checks what can be checked.
    unsafe { tensor_operation!("dpt_ger", exec, [x, y, a], ger(= alpha, x, y, a)) }
}

/// Products of matrices: c = alpha * a * b + beta * c, then the epilogue (see
/// dpt_gemm_fused_f32). The last two axes are those of the matrices: a of shape (..., m, k), b of
/// shape (..., k, n), c of shape (..., m, n). The axes before them are broadcast as in NumPy; c
/// has exactly the broadcast shape. A vector a is one row and a vector b one column, an axis that
/// c then lacks. alpha, beta and the bounds are rounded to the type of the matrices. epilogue may
/// be NULL.
///
/// The types of a, b and c are all float or all double, or:
/// - a and b float16 or both bfloat16: c has their type or float; computed in float, rounded once;
/// - a int8 or uint8, b int8: c int32, the sum, or float, see dpt_tensor_epilogue;
/// - a, b and c int32, or all int64.
///
/// Sums of integers are exact modulo 2^32 or 2^64. Where c has integers, alpha is 1, beta 0 or 1,
/// and there is no epilogue.
///
/// Errors: also those of the epilogue: DPT_BAD_STRUCT_SIZE, DPT_UNKNOWN_FLAG, DPT_INVALID_VALUE.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_matmul(
    exec: *const dpt_exec,
    alpha: f64,
    a: *const dpt_tensor,
    b: *const dpt_tensor,
    beta: f64,
    c: *mut dpt_tensor,
    epilogue: *const dpt_tensor_epilogue,
) -> dpt_status {
    // SAFETY: the tensors are as the header demands; `tensor` checks what can be checked.
    unsafe {
        let [bias, row_scale, column_scale] = last::tensors(epilogue);
        tensor_operation!(
            "dpt_matmul",
            exec,
            [a, b, c, bias, row_scale, column_scale],
            matmul(= alpha, a, b, = beta, c, = last::read(epilogue)?.as_ref())
        )
    }
}

/// dpt_dot_f32 along the last axis of x and y. Their other axes are broadcast as in NumPy; out has
/// exactly their broadcast shape. The types are those of dpt_matmul.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_dot(
    exec: *const dpt_exec,
    x: *const dpt_tensor,
    y: *const dpt_tensor,
    out: *mut dpt_tensor,
) -> dpt_status {
    // SAFETY: the tensors are as the header demands; `tensor` checks what can be checked.
    unsafe { tensor_operation!("dpt_dot", exec, [x, y, out], dot(x, y, out)) }
}

/// dpt_mse_grad_f32 for tensors: pred, target and grad have one shape, whose elements are taken in
/// row-major order; loss has one element, of their type or, for float16 and bfloat16, float.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_mse_grad(
    exec: *const dpt_exec,
    pred: *const dpt_tensor,
    target: *const dpt_tensor,
    grad: *mut dpt_tensor,
    loss: *mut dpt_tensor,
) -> dpt_status {
    // SAFETY: the tensors are as the header demands; `tensor` checks what can be checked.
    unsafe {
        tensor_operation!(
            "dpt_mse_grad",
            exec,
            [pred, target, grad, loss],
            mse_grad(pred, target, grad, loss)
        )
    }
}

/// dpt_lsq_grad_f32 for tensors: a of shape (m, n), x and grad of shape (n), y of shape (m).
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_lsq_grad(
    exec: *const dpt_exec,
    a: *const dpt_tensor,
    x: *const dpt_tensor,
    y: *const dpt_tensor,
    grad: *mut dpt_tensor,
) -> dpt_status {
    // SAFETY: the tensors are as the header demands; `tensor` checks what can be checked.
    unsafe {
        tensor_operation!(
            "dpt_lsq_grad",
            exec,
            [a, x, y, grad],
            lsq_grad(a, x, y, grad)
        )
    }
}

/// Copies the elements of x to out, converted to its type and broadcast to its shape. The types are
/// bool, integers of 8 to 64 bits, float16, bfloat16, float and double.
///
/// Floats are rounded to nearest even. A float becomes the integer that is left without its
/// fraction, limited to the range of the type; NaN becomes 0. An integer keeps its low bits. A bool
/// is 0 or 1; every number but 0 becomes 1, NaN too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_convert(
    exec: *const dpt_exec,
    x: *const dpt_tensor,
    out: *mut dpt_tensor,
) -> dpt_status {
    // SAFETY: the tensors are as the header demands; `tensor` checks what can be checked.
    unsafe { tensor_operation!("dpt_convert", exec, [x, out], convert(x, out)) }
}
