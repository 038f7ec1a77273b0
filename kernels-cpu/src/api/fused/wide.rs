//! The safe forms of `mse_grad` with a loss that is not rounded to 16 bits.

use crate::dispatch::Compute;
use crate::element::Storage;
use crate::error::Result;
use crate::exec::Exec;

/// As [`mse_grad`](fn@crate::mse_grad), with a loss of the type [`Storage::Compute`].
///
/// # Errors
/// Those of [`mse_grad`](fn@crate::mse_grad).
pub fn mse_grad<T: Storage>(
    exec: &Exec<'_>,
    pred: &[T],
    target: &[T],
    grad: &mut [T],
) -> Result<Compute<T>> {
    super::mse_grad_slices(exec, pred, target, grad)
}

/// As [`mse_grad_in_place`](fn@crate::mse_grad_in_place), with a loss of the type [`Storage::Compute`].
///
/// # Errors
/// Those of [`mse_grad_in_place`](fn@crate::mse_grad_in_place).
pub fn mse_grad_in_place<T: Storage>(
    exec: &Exec<'_>,
    pred: &mut [T],
    target: &[T],
) -> Result<Compute<T>> {
    super::mse_grad_slices_in_place(exec, pred, target)
}
