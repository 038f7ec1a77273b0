//! mse_grad and lsq_grad: an array and a reduction in one pass over memory.

use crate::api::reduce::{MAX_PARTS, Parts, finish_sum, pairwise};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::exec::{Exec, Shared};
use crate::ops::reduce::LSQ_ROWS;
use crate::table::Kernels;
use crate::view::MatRef;

/// Levels of the tree over the row blocks of the least-squares gradient: the vectors of n elements
/// that it holds at once.
fn lsq_levels(m: usize) -> usize {
    let blocks = m.div_ceil(LSQ_ROWS).max(1);
    blocks.ilog2() as usize + 2
}

/// The pointer form.
pub mod raw {
    use super::*;
    use crate::args::{Region, scalar, size, slice, stride};

    /// grad\[i\] = 2 (pred\[i\] - target\[i\]), loss = sum of (pred\[i\] - target\[i\])^2, in one pass.
    ///
    /// # Errors
    /// `NegativeSize`, `NullPointer`, `Misaligned`, `SizeOverflow`; `Overlap` when grad overlaps an
    /// input other than exactly, or loss overlaps any argument.
    ///
    /// # Safety
    /// Arrays must be valid for `n` elements, `loss` for one.
    pub unsafe fn mse_grad<T: Element>(
        exec: &Exec<'_>,
        n: i64,
        pred: *const T,
        target: *const T,
        grad: *mut T,
        loss: *mut T,
    ) -> Result<()> {
        let k = T::kernels(exec.level()?);
        let n = size(n, "n")?;
        let loss_region = scalar(loss, "loss")?;
        let grad_region = slice(grad, n, "grad")?;
        for input in [slice(pred, n, "pred")?, slice(target, n, "target")?] {
            grad_region.same_or_apart_from(&input)?;
            loss_region.apart_from(&input)?;
        }
        loss_region.apart_from(&grad_region)?;

        let parts = Parts::new::<T>(exec, n, n.saturating_mul(2 * size_of::<T>()));
        let mut results = [T::ZERO; MAX_PARTS];
        let slots = Shared::new(results.as_mut_ptr());
        let (pred, target, grad) = (Shared::new(pred), Shared::new(target), Shared::new(grad));
        exec.run(parts.tasks, &move |task| {
            for (p, from, count) in parts.of_task(task) {
                let at = |x: Shared<T>| x.get().wrapping_add(from);
                // SAFETY: the part lies in 0..n and slot p < MAX_PARTS is its own.
                unsafe {
                    slots
                        .get()
                        .add(p)
                        .write((k.mse_grad)(count, at(pred), at(target), at(grad)))
                };
            }
        });
        let total = pairwise(&mut results, parts.count, |a, b| a + b);
        // SAFETY: the caller vouches for one element.
        unsafe { loss.write(finish_sum(total)) };
        Ok(())
    }

    /// Bytes of workspace that [`lsq_grad`] of this shape needs.
    ///
    /// # Errors
    /// `NegativeSize`, `SizeOverflow`.
    pub fn lsq_grad_workspace<T: Element>(_exec: &Exec<'_>, m: i64, n: i64) -> Result<usize> {
        let (m, n) = (size(m, "m")?, size(n, "n")?);
        let bytes = lsq_levels(m)
            .checked_mul(n)
            .and_then(|elements| elements.checked_mul(size_of::<T>()));
        bytes
            .and_then(|b| b.checked_add(align_of::<T>()))
            .ok_or(Error::SizeOverflow { arg: "m * n" })
    }

    /// grad = 2 A^T (A x - y) for an m by n matrix, A read once.
    ///
    /// # Errors
    /// `NegativeSize`, `NullPointer`, `Misaligned`, `SizeOverflow`; `Overlap` when grad overlaps an
    /// input; `WorkspaceTooSmall`.
    ///
    /// # Safety
    /// `a` must be valid at m by n elements, `x` for n, `y` for m, `grad` for n.
    pub unsafe fn lsq_grad<T: Element>(
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
        let k = T::kernels(exec.level()?);
        let bytes = lsq_grad_workspace::<T>(exec, m, n)?;
        let (m, n) = (size(m, "m")?, size(n, "n")?);
        let (a_rs, a_cs) = (stride(a_rs, "a_rs")?, stride(a_cs, "a_cs")?);
        let out = slice(grad, n, "grad")?;
        out.apart_from(&Region::new(a, &[(m, a_rs), (n, a_cs)], "a")?)?;
        out.apart_from(&slice(x, n, "x")?)?;
        out.apart_from(&slice(y, m, "y")?)?;
        if n == 0 {
            return Ok(());
        }
        let problem = Lsq {
            m,
            n,
            a,
            a_rs,
            a_cs,
            x,
            y,
        };
        exec.with_scratch(1, bytes, |scratch| {
            scratch.lend(0, |block, len| {
                let levels = lsq_levels(m);
                let align = block.align_offset(align_of::<T>());
                let base = block.wrapping_add(align).cast::<T>();
                // As many columns at once as the block holds: all, unless it is the fixed one.
                let room = len.saturating_sub(align) / size_of::<T>() / levels.max(1);
                let width = room.min(n).max(1);
                for from in (0..n).step_by(width) {
                    let cols = width.min(n - from);
                    // SAFETY: the block holds `levels` vectors of `width` elements; the caller
                    // vouches for the arrays.
                    unsafe { problem.columns(k, from, cols, base, grad.wrapping_add(from)) };
                }
            });
        })
    }
}

/// A least-squares problem that has been checked.
#[derive(Clone, Copy)]
struct Lsq<T> {
    m: usize,
    n: usize,
    a: *const T,
    a_rs: isize,
    a_cs: isize,
    x: *const T,
    y: *const T,
}

impl<T: Element> Lsq<T> {
    /// The gradient of columns from..from + cols, n > 0. The tree over the row blocks is a binary
    /// counter whose digits are vectors in `digits`.
    ///
    /// # Safety
    /// The arrays must be valid, `digits` for `lsq_levels(m)` vectors, `grad` for one.
    unsafe fn columns(
        self,
        k: &Kernels<T>,
        from: usize,
        cols: usize,
        digits: *mut T,
        grad: *mut T,
    ) {
        let digit = |d: usize| digits.wrapping_add(d * cols);
        let blocks = self.m.div_ceil(LSQ_ROWS);
        for block in 0..blocks {
            let i = block * LSQ_ROWS;
            let rows = LSQ_ROWS.min(self.m - i);
            let row = self.a.wrapping_offset(i as isize * self.a_rs);
            let depth = block.count_ones() as usize;
            // SAFETY: rows i..i + rows and these columns lie in the arrays, and depth < levels.
            unsafe {
                let y = self.y.wrapping_add(i);
                (k.lsq_block)(
                    rows,
                    self.n,
                    row,
                    self.a_rs,
                    self.a_cs,
                    self.x,
                    y,
                    from,
                    cols,
                    digit(depth),
                );
                for d in (depth - block.trailing_ones() as usize..depth).rev() {
                    (k.add)(cols, digit(d), digit(d + 1), digit(d));
                }
            }
        }
        if blocks == 0 {
            // SAFETY: the caller vouches for one vector.
            unsafe { (k.fill)(cols, T::ZERO, digits) };
        }
        for d in (1..blocks.count_ones() as usize).rev() {
            // SAFETY: that many digits are in use.
            unsafe { (k.add)(cols, digit(d - 1), digit(d), digit(d - 1)) };
        }
        for j in 0..cols {
            // SAFETY: j < cols.
            unsafe {
                let total = finish_sum(digits.add(j).read());
                grad.add(j).write(total + total);
            }
        }
    }
}

/// grad\[i\] = 2 (pred\[i\] - target\[i\]); returns the loss, the sum of (pred\[i\] - target\[i\])^2 in the
/// canonical order.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless the slices have one length.
pub fn mse_grad<T: Element>(
    exec: &Exec<'_>,
    pred: &[T],
    target: &[T],
    grad: &mut [T],
) -> Result<T> {
    if target.len() != pred.len() {
        return Err(Error::ShapeMismatch { arg: "target" });
    }
    if grad.len() != pred.len() {
        return Err(Error::ShapeMismatch { arg: "grad" });
    }
    let mut loss = T::ZERO;
    let n = pred.len() as i64;
    // SAFETY: the slices have n elements.
    unsafe {
        raw::mse_grad(
            exec,
            n,
            pred.as_ptr(),
            target.as_ptr(),
            grad.as_mut_ptr(),
            &mut loss,
        )?
    };
    Ok(loss)
}

/// As [`mse_grad`], the gradient replacing `pred`.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless the slices have one length.
pub fn mse_grad_in_place<T: Element>(exec: &Exec<'_>, pred: &mut [T], target: &[T]) -> Result<T> {
    if target.len() != pred.len() {
        return Err(Error::ShapeMismatch { arg: "target" });
    }
    let mut loss = T::ZERO;
    let (n, pred) = (pred.len() as i64, pred.as_mut_ptr());
    // SAFETY: the slices have n elements; the output is exactly an input.
    unsafe { raw::mse_grad(exec, n, pred, target.as_ptr(), pred, &mut loss)? };
    Ok(loss)
}

/// grad = 2 A^T (A x - y), the gradient of |A x - y|^2, with A read once.
///
/// The order of summation: A x in dot order per row; then, per block of 32 rows, an fma chain over
/// the rows, from +0; then the pairwise tree over the blocks.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless x and grad have a.cols() and y a.rows() elements;
/// [`Error::WorkspaceTooSmall`].
pub fn lsq_grad<T: Element>(
    exec: &Exec<'_>,
    a: MatRef<'_, T>,
    x: &[T],
    y: &[T],
    grad: &mut [T],
) -> Result<()> {
    for (len, wanted, arg) in [
        (x.len(), a.cols(), "x"),
        (y.len(), a.rows(), "y"),
        (grad.len(), a.cols(), "grad"),
    ] {
        if len != wanted {
            return Err(Error::ShapeMismatch { arg });
        }
    }
    let (m, n) = (a.rows() as i64, a.cols() as i64);
    let (rs, cs) = (a.rs() as i64, a.cs() as i64);
    // SAFETY: the view and the slices have as many elements as they say.
    unsafe {
        raw::lsq_grad(
            exec,
            m,
            n,
            a.ptr(),
            rs,
            cs,
            x.as_ptr(),
            y.as_ptr(),
            grad.as_mut_ptr(),
        )
    }
}

/// Bytes of workspace that [`lsq_grad`] needs for an m by n matrix.
///
/// # Errors
/// [`Error::SizeOverflow`].
pub fn lsq_grad_workspace<T: Element>(exec: &Exec<'_>, m: usize, n: usize) -> Result<usize> {
    let to_i64 =
        |size: usize| i64::try_from(size).map_err(|_| Error::SizeOverflow { arg: "m * n" });
    raw::lsq_grad_workspace::<T>(exec, to_i64(m)?, to_i64(n)?)
}
