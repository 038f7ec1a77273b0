//! Fused operations, which read their arrays once: `mse_grad` and `lsq_grad`.

pub(crate) mod check;
pub(crate) mod lsq;
pub mod wide;
mod widened;

use crate::api::reduce::{MAX_PARTS, Parts, pairwise};
use crate::detect;
use crate::dispatch::{Compute, Kernels, is_element};
use crate::element::{Element, Storage};
use crate::error::{Error, Result};
use crate::exec::{Exec, Shared};
use crate::matrix::Matrix;
use crate::recipe::finish_sum;
use crate::view::MatRef;
use check::{CheckedMatrix, LsqArguments};
use lsq::{Incs, Lsq};

const TOO_LARGE: Error = Error::SizeOverflow { arg: "m * n" };

/// The pointer forms.
pub mod raw {
    use super::*;
    use crate::args::size;

    /// grad\[i\] = 2 (pred\[i\] - target\[i\]), for i in 0 .. n, and loss = the sum of (pred\[i\] - target\[i\])^2, in
    /// one pass. `grad` may be exactly `pred` or `target`. For n = 0 the loss is +0.
    ///
    /// # Errors
    /// `NegativeSize`, `NullPointer`, `Misaligned`, `SizeOverflow`; `Overlap` when `grad` overlaps an input but is not
    /// exactly that input, or `loss` overlaps an array.
    ///
    /// # Safety
    /// `pred` and `target` must be valid for reading `n` elements, `grad` for writing `n`, `loss` for writing one.
    #[inline(always)]
    pub unsafe fn mse_grad<T: Storage>(
        exec: &Exec<'_>,
        n: i64,
        pred: *const T,
        target: *const T,
        grad: *mut T,
        loss: *mut T,
    ) -> Result<()> {
        // SAFETY: as the caller's.
        unsafe { super::mse_grad_to(exec, n, pred, target, grad, loss) }
    }

    /// Returns the bytes of workspace that [`lsq_grad`] of this shape needs with the threads of `exec`.
    ///
    /// # Errors
    /// `NegativeSize`, `SizeOverflow`.
    pub fn lsq_grad_workspace<T: Storage>(exec: &Exec<'_>, m: i64, n: i64) -> Result<usize> {
        let (m, n) = (size(m, "m")?, size(n, "n")?);
        lsq::scratch_bytes::<Compute<T>>(m, n, exec.threads()).ok_or(TOO_LARGE)
    }

    /// grad = 2 A^T (A x - y) for an m by n matrix A, which is read once. `x`, `y` and `grad` are contiguous.
    ///
    /// # Errors
    /// `NegativeSize`, `NullPointer`, `Misaligned`, `SizeOverflow`; `Overlap` when `grad` overlaps an input;
    /// `WorkspaceTooSmall`.
    ///
    /// # Safety
    /// `a` must be valid for reading at m by n elements, `x` at n, `y` at m; `grad` for writing n elements.
    pub unsafe fn lsq_grad<T: Storage>(
        exec: &Exec<'_>,
        m: i64,
        n: i64,
        a: *const T,
        a_rs: i64,
        a_cs: i64,
        x: *const T,
        y: *const T,
        grad: *mut T,
    ) -> Result<()> {
        let a = Matrix::new(a, a_rs, a_cs);
        let args = LsqArguments {
            m,
            n,
            a,
            x,
            y,
            grad,
        };
        // SAFETY: as the caller's.
        unsafe { run_lsq_grad(exec, &args) }
    }
}

/// [`raw::mse_grad`] with a loss of the type `L`.
///
/// # Errors
/// As there.
///
/// # Safety
/// As there.
unsafe fn mse_grad_to<T: Storage, L: Storage<Compute = Compute<T>>>(
    exec: &Exec<'_>,
    n: i64,
    pred: *const T,
    target: *const T,
    grad: *mut T,
    loss: *mut L,
) -> Result<()> {
    let k = Kernels::new(exec.level()?);
    let n = check::mse_grad(n, pred, target, grad, loss)?;
    // SAFETY: as the caller's.
    unsafe {
        loss.write(L::from_compute(run_mse_grad(
            exec, k, n, pred, target, grad,
        )))
    };
    Ok(())
}

/// Runs [`raw::mse_grad`] of checked arrays; returns the loss.
///
/// # Safety
/// As [`raw::mse_grad`]; the machine must have the kernels' level.
pub(crate) unsafe fn run_mse_grad<T: Storage>(
    exec: &Exec<'_>,
    k: Kernels<Compute<T>>,
    n: usize,
    pred: *const T,
    target: *const T,
    grad: *mut T,
) -> Compute<T> {
    let in_place = grad.cast_const() == pred || grad.cast_const() == target;
    let bytes = n.saturating_mul(3 * size_of::<T>());
    let stream = !in_place && detect::exceeds_llc(bytes);
    if exec.threads() == 1 {
        // SAFETY: the caller vouches for the arrays.
        return finish_sum(unsafe { mse_grad_part(k, n, pred, target, grad, stream) });
    }
    let parts = Parts::new::<Compute<T>>(exec, n, n.saturating_mul(2 * size_of::<T>()));
    let mut results = [Compute::<T>::ZERO; MAX_PARTS];
    let slots = Shared::new(results.as_mut_ptr());
    let (pred, target, grad) = (Shared::new(pred), Shared::new(target), Shared::new(grad));
    exec.run(parts.tasks, &move |task| {
        for (p, from, count) in parts.of_task(task) {
            let at = |x: Shared<T>| x.get().wrapping_add(from);
            // SAFETY: the part lies in 0..n, and slot p < MAX_PARTS is its own.
            unsafe {
                let sum = mse_grad_part(k, count, at(pred), at(target), at(grad), stream);
                slots.get().add(p).write(sum);
            };
        }
    });
    finish_sum(pairwise(&mut results, parts.count, |a, b| a + b))
}

/// Writes the gradient of `n` elements from the beginning of a chunk on, and returns their sum of squares.
///
/// # Safety
/// The machine must have the kernels' level; the arrays must be valid, and the gradient be exactly another or apart.
#[inline(always)]
pub(crate) unsafe fn mse_grad_part<T: Storage>(
    k: Kernels<Compute<T>>,
    n: usize,
    pred: *const T,
    target: *const T,
    grad: *mut T,
    stream: bool,
) -> Compute<T> {
    // SAFETY: as the caller's. Elements that are not widened are of the type of arithmetic.
    unsafe {
        if const { is_element::<T>() } {
            (k.mse_grad())(n, pred.cast(), target.cast(), grad.cast(), stream)
        } else {
            widened::mse_grad(k.level(), n, pred, target, grad)
        }
    }
}

/// Runs [`raw::lsq_grad`].
///
/// # Safety
/// As [`raw::lsq_grad`].
pub(crate) unsafe fn run_lsq_grad<T: Storage>(
    exec: &Exec<'_>,
    args: &LsqArguments<T>,
) -> Result<()> {
    let k = Kernels::<Compute<T>>::new(exec.level()?);
    let Some(CheckedMatrix { m, n, a_rs, a_cs }) = check::lsq_grad(args)? else {
        return Ok(());
    };
    let problem = Lsq {
        m,
        n,
        a: Shared::new(args.a.ptr),
        a_rs,
        a_cs,
        x: Shared::new(args.x),
        y: Shared::new(args.y),
        grad: Shared::new(args.grad),
        incs: Incs::ONE,
    };
    // SAFETY: the caller vouches for the arrays.
    unsafe { problem.compute(exec, k) }
}

/// The squared error of a prediction and its gradient, in one pass: grad\[i\] = 2 (pred\[i\] - target\[i\]). Returns
/// the loss, the sum of (pred\[i\] - target\[i\])^2 in the canonical order. (For the mean, divide by n and scale the
/// gradient.)
///
/// NaN: a NaN in pred\[i\] or target\[i\] gives a NaN in grad\[i\], and makes the loss the canonical NaN.
/// Empty: the loss is +0.
///
/// # Errors
/// [`Error::ShapeMismatch`] when the slices differ in length.
///
/// # Example
///
/// ```
/// use diptych::{Exec, mse_grad};
///
/// let mut grad = [0.0_f32; 3];
/// let loss = mse_grad(&Exec::new(), &[1.0, 2.0, 3.0], &[1.0, 0.0, 4.0], &mut grad)?;
/// assert_eq!(loss, 5.0);
/// assert_eq!(grad, [0.0, 4.0, -2.0]);
/// # Ok::<(), diptych::Error>(())
/// ```
pub fn mse_grad<T: Storage>(
    exec: &Exec<'_>,
    pred: &[T],
    target: &[T],
    grad: &mut [T],
) -> Result<T> {
    mse_grad_slices(exec, pred, target, grad)
}

/// [`mse_grad`] with a loss of the type `L`.
///
/// # Errors
/// As there.
#[inline(always)]
fn mse_grad_slices<T: Storage, L: Storage<Compute = Compute<T>>>(
    exec: &Exec<'_>,
    pred: &[T],
    target: &[T],
    grad: &mut [T],
) -> Result<L> {
    if target.len() != pred.len() {
        return Err(Error::ShapeMismatch { arg: "target" });
    }
    if grad.len() != pred.len() {
        return Err(Error::ShapeMismatch { arg: "grad" });
    }
    let mut loss = L::default();
    let (pred, n) = (pred.as_ptr(), pred.len() as i64);
    // SAFETY: the slices have n elements.
    unsafe { mse_grad_to(exec, n, pred, target.as_ptr(), grad.as_mut_ptr(), &mut loss)? };
    Ok(loss)
}

/// As [`mse_grad`], but the gradient replaces `pred`.
///
/// # Errors
/// [`Error::ShapeMismatch`] when the slices differ in length.
pub fn mse_grad_in_place<T: Storage>(exec: &Exec<'_>, pred: &mut [T], target: &[T]) -> Result<T> {
    mse_grad_slices_in_place(exec, pred, target)
}

/// [`mse_grad_in_place`] with a loss of the type `L`.
///
/// # Errors
/// As there.
#[inline(always)]
fn mse_grad_slices_in_place<T: Storage, L: Storage<Compute = Compute<T>>>(
    exec: &Exec<'_>,
    pred: &mut [T],
    target: &[T],
) -> Result<L> {
    if target.len() != pred.len() {
        return Err(Error::ShapeMismatch { arg: "target" });
    }
    let mut loss = L::default();
    let (n, pred) = (pred.len() as i64, pred.as_mut_ptr());
    // SAFETY: the slices have n elements; the output is exactly an input.
    unsafe { mse_grad_to(exec, n, pred, target.as_ptr(), pred, &mut loss)? };
    Ok(loss)
}

/// The gradient of the least-squares loss |A x - y|^2 with respect to x: grad = 2 A^T (A x - y). A is read once.
///
/// The canonical order: each element of A x is a [`dot`](crate::dot()); for each block of 32 rows and each column, a
/// chain of fused multiply-adds over the rows, from +0; then the pairwise tree over the blocks.
///
/// NaN: a NaN in an element of `grad` is the canonical NaN. Without rows the gradient is +0.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless `x` and `grad` have `a.cols()` elements and `y` has `a.rows()`;
/// [`Error::WorkspaceTooSmall`] with a workspace that is smaller than [`lsq_grad_workspace`] says.
///
/// # Example
///
/// ```
/// use diptych::{Exec, MatRef, lsq_grad};
///
/// let a = [1.0_f32, 0.0, 0.0, 1.0, 1.0, 1.0];
/// let mut grad = [0.0; 2];
/// lsq_grad(&Exec::new(), MatRef::new(&a, 3, 2)?, &[1.0, 2.0], &[0.0, 2.0, 4.0], &mut grad)?;
/// assert_eq!(grad, [0.0, -2.0]); // A x - y = [1, 0, -1]
/// # Ok::<(), diptych::Error>(())
/// ```
pub fn lsq_grad<T: Storage>(
    exec: &Exec<'_>,
    a: MatRef<'_, T>,
    x: &[T],
    y: &[T],
    grad: &mut [T],
) -> Result<()> {
    for (len, expected, arg) in [
        (x.len(), a.cols(), "x"),
        (y.len(), a.rows(), "y"),
        (grad.len(), a.cols(), "grad"),
    ] {
        if len != expected {
            return Err(Error::ShapeMismatch { arg });
        }
    }
    let args = LsqArguments {
        m: a.rows() as i64,
        n: a.cols() as i64,
        a: a.matrix(),
        x: x.as_ptr(),
        y: y.as_ptr(),
        grad: grad.as_mut_ptr(),
    };
    // SAFETY: the view and the slices have as many elements as they say.
    unsafe { run_lsq_grad(exec, &args) }
}

/// Returns the bytes of workspace ([`Exec::with_workspace`]) that [`lsq_grad`] of an m by n matrix needs with the
/// threads of `exec`. Without a workspace it uses the library's own scratch memory.
///
/// # Errors
/// [`Error::SizeOverflow`].
pub fn lsq_grad_workspace<T: Storage>(exec: &Exec<'_>, m: usize, n: usize) -> Result<usize> {
    let to_i64 =
        |size: usize| i64::try_from(size).map_err(|_| Error::SizeOverflow { arg: "m * n" });
    raw::lsq_grad_workspace::<T>(exec, to_i64(m)?, to_i64(n)?)
}
