//! Losses and their gradients over tensors: `mse_grad` and `lsq_grad`.

use super::given::Given;
use super::operand::{Location, Operand, Tensor, Type};
use super::plain::Plain;
use super::squares::Squares;
use super::vectors::floats;
use crate::api::fused::lsq::{Incs, Lsq};
use crate::dispatch::Kernels;
use crate::element::{Dtype, Element};
use crate::error::{Error, Result};
use crate::exec::{Exec, Shared};
use crate::raw;

/// grad = 2 (pred - target), and loss = the sum of (pred - target)^2, in one pass. The first three have one shape and any
/// strides; `loss` has one element. The loss has the bits of [`mse_grad`](crate::mse_grad()) of the elements in row-major
/// order. `grad` may be exactly `pred` or `target`. The types are `f32` and `f64`.
///
/// # Errors
/// `ShapeMismatch`, `TypeMismatch`, `UnsupportedType`, `Unsupported` for memory of a GPU; `Overlap` when `grad` overlaps an
/// input but is not exactly that input, or `loss` overlaps another argument; `NullPointer`, `Misaligned`, `NegativeSize`,
/// `SizeOverflow`, `InvalidValue` for a bad rank.
///
/// # Safety
/// The tensors must be valid at all elements, inputs for reading and outputs for writing.
pub unsafe fn mse_grad(
    exec: &Exec<'_>,
    pred: &Tensor,
    target: &Tensor,
    grad: &Tensor,
    loss: &Tensor,
) -> Result<()> {
    // SAFETY: as the caller's.
    unsafe {
        if let Some(out) = Plain::new(grad)
            && let Type::Float(dtype @ (Dtype::F32 | Dtype::F64)) = out.of
            && out.fits(pred)
            && out.fits(target)
            && let Some(sum) = Given::<0>::read(loss, out.of)
        {
            let first = |tensor: &Tensor| {
                let bytes = tensor.byte_offset as usize;
                tensor.data.cast::<u8>().wrapping_add(bytes)
            };
            let (n, pred, target) = (out.count, first(pred), first(target));
            return match dtype {
                Dtype::F64 => contiguous::<f64>(exec, n, pred, target, out.first(), sum.p),
                _ => contiguous::<f32>(exec, n, pred, target, out.first(), sum.p),
            };
        }
        mse_grad_general(exec, pred, target, grad, loss)
    }
}

/// [`mse_grad`] of arrays.
///
/// # Safety
/// As [`mse_grad`].
unsafe fn contiguous<T: Element>(
    exec: &Exec<'_>,
    n: usize,
    pred: *const u8,
    target: *const u8,
    grad: *mut u8,
    loss: *mut u8,
) -> Result<()> {
    let (pred, target) = (pred.cast::<T>(), target.cast::<T>());
    // SAFETY: as the caller's.
    unsafe { raw::mse_grad(exec, n as i64, pred, target, grad.cast(), loss.cast()) }
}

/// [`mse_grad`] of any tensors.
///
/// # Safety
/// As [`mse_grad`].
#[inline(never)]
unsafe fn mse_grad_general(
    exec: &Exec<'_>,
    pred: &Tensor,
    target: &Tensor,
    grad: &Tensor,
    loss: &Tensor,
) -> Result<()> {
    // SAFETY: as the caller's.
    let (dtype, [pred, target, grad, loss]) =
        unsafe { check_mse_grad(pred, target, grad, loss, Location::Host)? };
    let squares = Squares::new(&pred, &target, &grad)?;
    // SAFETY: the operands have been checked; the caller vouches for their elements.
    unsafe {
        match (dtype, squares.are_contiguous()) {
            (Dtype::F64, false) => squares.run::<f64>(exec, loss.p),
            (_, false) => squares.run::<f32>(exec, loss.p),
            (Dtype::F64, true) => {
                contiguous::<f64>(exec, grad.count, pred.p, target.p, grad.p, loss.p)
            }
            (_, true) => contiguous::<f32>(exec, grad.count, pred.p, target.p, grad.p, loss.p),
        }
    }
}

/// Checks the arguments of [`mse_grad`], which are in `memory`.
///
/// # Errors
/// As [`mse_grad`].
///
/// # Safety
/// `shape` and `strides` of each tensor must be valid.
pub unsafe fn check_mse_grad(
    pred: &Tensor,
    target: &Tensor,
    grad: &Tensor,
    loss: &Tensor,
    memory: Location,
) -> Result<(Dtype, [Operand; 4])> {
    // SAFETY: as the caller's.
    let read = |tensor, arg| unsafe { Operand::in_memory(tensor, arg, memory) };
    let (pred, target) = (read(pred, "pred")?, read(target, "target")?);
    let (grad, loss) = (read(grad, "grad")?, read(loss, "loss")?);
    let dtype = floats(&pred)?;
    for operand in [&target, &grad, &loss] {
        operand.same_type(&pred)?;
    }
    for operand in [&target, &grad] {
        let fits = operand.rank() == pred.rank()
            && (0..pred.rank()).all(|i| operand.axis(i).count == pred.axis(i).count);
        if !fits {
            return Err(Error::ShapeMismatch { arg: operand.arg });
        }
    }
    if loss.count != 1 {
        return Err(Error::ShapeMismatch { arg: loss.arg });
    }
    grad.check_distinct()?;
    for input in [&pred, &target] {
        grad.same_or_apart_from(input)?;
        loss.apart_from(input)?;
    }
    loss.apart_from(&grad)?;
    Ok((dtype, [pred, target, grad, loss]))
}

/// grad = 2 a^T (a x - y), for a matrix `a` and vectors `x`, `y` and `grad` of any strides, with `a` read once. It has the
/// bits of [`lsq_grad`](crate::lsq_grad()). The types are `f32` and `f64`.
///
/// An `x` that is not contiguous is copied to scratch memory, unless the caller's workspace is used: this is slower then.
///
/// # Errors
/// `ShapeMismatch`, `TypeMismatch`, `UnsupportedType`, `Unsupported` for memory of a GPU; `Overlap` when `grad` overlaps an
/// input or itself; `NullPointer`, `Misaligned`, `NegativeSize`, `SizeOverflow`, `InvalidValue` for a bad rank;
/// `WorkspaceTooSmall`.
///
/// # Safety
/// The tensors must be valid at all elements, inputs for reading and the output for writing.
pub unsafe fn lsq_grad(
    exec: &Exec<'_>,
    a: &Tensor,
    x: &Tensor,
    y: &Tensor,
    grad: &Tensor,
) -> Result<()> {
    let problem = (a, x, y, grad);
    // SAFETY: as the caller's.
    unsafe {
        if let Some(of @ Type::Float(dtype @ (Dtype::F32 | Dtype::F64))) =
            Type::of(a.dtype_code, a.dtype_bits)
            && let (Some(a), Some(x)) = (Given::<2>::read(a, of), Given::<1>::read(x, of))
            && let (Some(y), Some(grad)) = (Given::<1>::read(y, of), Given::<1>::read(grad, of))
            && ([x.strides, y.strides, grad.strides], grad.shape) == ([[1]; 3], x.shape)
            && let ([m], [n]) = (y.shape, x.shape)
            && a.shape == [m, n]
        {
            return match dtype {
                Dtype::F64 => of_contiguous::<f64>(exec, &a, x.p, y.p, grad.p),
                _ => of_contiguous::<f32>(exec, &a, x.p, y.p, grad.p),
            };
        }
        lsq_grad_general(exec, problem)
    }
}

/// [`lsq_grad`] of contiguous vectors.
///
/// # Safety
/// As [`lsq_grad`].
unsafe fn of_contiguous<T: Element>(
    exec: &Exec<'_>,
    a: &Given<2>,
    x: *const u8,
    y: *const u8,
    grad: *mut u8,
) -> Result<()> {
    let ([m, n], [rs, cs], a) = (a.shape, a.strides, a.p.cast::<T>());
    // SAFETY: as the caller's.
    unsafe { raw::lsq_grad(exec, m, n, a, rs, cs, x.cast(), y.cast(), grad.cast()) }
}

/// [`lsq_grad`] of any tensors.
///
/// # Safety
/// As [`lsq_grad`].
#[inline(never)]
unsafe fn lsq_grad_general(
    exec: &Exec<'_>,
    (a, x, y, grad): (&Tensor, &Tensor, &Tensor, &Tensor),
) -> Result<()> {
    // SAFETY: as the caller's.
    let (dtype, [a, x, y, grad]) = unsafe { check_lsq_grad(a, x, y, grad, Location::Host)? };
    if grad.count == 0 {
        return Ok(());
    }
    // SAFETY: the operands have been checked; the caller vouches for their elements.
    unsafe {
        match dtype {
            Dtype::F64 => of_strided::<f64>(exec, &a, &x, &y, &grad),
            _ => of_strided::<f32>(exec, &a, &x, &y, &grad),
        }
    }
}

/// Checks the arguments of [`lsq_grad`], which are in `memory`.
///
/// # Errors
/// As [`lsq_grad`].
///
/// # Safety
/// `shape` and `strides` of each tensor must be valid.
pub unsafe fn check_lsq_grad(
    a: &Tensor,
    x: &Tensor,
    y: &Tensor,
    grad: &Tensor,
    memory: Location,
) -> Result<(Dtype, [Operand; 4])> {
    // SAFETY: as the caller's.
    let read = |tensor, arg| unsafe { Operand::in_memory(tensor, arg, memory) };
    let (a, x) = (read(a, "a")?, read(x, "x")?);
    let (y, grad) = (read(y, "y")?, read(grad, "grad")?);
    let dtype = floats(&a)?;
    if a.rank() != 2 {
        return Err(Error::ShapeMismatch { arg: a.arg });
    }
    for (vector, axis) in [(&x, 1), (&y, 0), (&grad, 1)] {
        vector.same_type(&a)?;
        if vector.rank() != 1 || vector.axis(0).count != a.axis(axis).count {
            return Err(Error::ShapeMismatch { arg: vector.arg });
        }
    }
    grad.check_distinct()?;
    for input in [&a, &x, &y] {
        grad.apart_from(input)?;
    }
    Ok((dtype, [a, x, y, grad]))
}

/// [`lsq_grad`] of checked operands.
///
/// # Safety
/// As [`lsq_grad`].
unsafe fn of_strided<T: Element>(
    exec: &Exec<'_>,
    a: &Operand,
    x: &Operand,
    y: &Operand,
    grad: &Operand,
) -> Result<()> {
    // The stride of an axis of one element has no meaning; 1 is what contiguous axes have.
    let stride = |operand: &Operand, axis: usize| match operand.axis(axis) {
        axis if axis.count > 1 => axis.stride(operand.of),
        _ => 1,
    };
    let problem = Lsq::<T> {
        m: a.axis(0).count,
        n: a.axis(1).count,
        a: Shared::new(a.p.cast()),
        a_rs: stride(a, 0),
        a_cs: stride(a, 1),
        x: Shared::new(x.p.cast()),
        y: Shared::new(y.p.cast()),
        grad: Shared::new(grad.p.cast()),
        incs: Incs {
            x: stride(x, 0),
            y: stride(y, 0),
            grad: stride(grad, 0),
        },
    };
    // SAFETY: as the caller's.
    unsafe { problem.compute(exec, Kernels::new(exec.level()?)) }
}
