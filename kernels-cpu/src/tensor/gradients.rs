//! Losses and their gradients over tensors: `mse_grad` and `lsq_grad`.

use super::contiguous::ContiguousTensor;
use super::element_type::with_storage;
use super::kind::{Location, Type};
use super::mse_grad::MseGradTensors;
use super::operand::{Operand, Tensor};
use super::strided::StridedTensor;
use super::vectors::float_type;
use crate::api::fused::check::LsqArguments;
use crate::api::fused::lsq::{Incs, Lsq};
use crate::api::fused::{run_lsq_grad, run_mse_grad};
use crate::dispatch::{Compute, Kernels};
use crate::element::{Dtype, Storage};
use crate::error::{Error, Result};
use crate::exec::{Exec, Shared};
use crate::raw;

/// grad = 2 (pred - target), and loss = the sum of (pred - target)^2, in one pass. The first three have one shape and any
/// strides; `loss` has one element. The loss has the bits of [`mse_grad`](crate::mse_grad()) of the elements in row-major
/// order. `grad` may be exactly `pred` or `target`. All have one type of floats, but the loss of `f16` and `bf16` may also be
/// `f32`, not rounded.
///
/// # Errors
/// `ShapeMismatch`, `TypeMismatch`, `UnsupportedType`, `Unsupported` for memory of a GPU; `Overlap` when `grad` overlaps an
/// input but is not exactly that input, or `loss` overlaps another argument; `NullPointer`, `Misaligned`, `NegativeSize`,
/// `SizeOverflow`, `InvalidValue` for a bad rank.
///
/// # Safety
/// The tensors must be valid at all elements, inputs for reading and outputs for writing.
#[inline]
pub unsafe fn mse_grad(
    exec: &Exec<'_>,
    pred: &Tensor,
    target: &Tensor,
    grad: &Tensor,
    loss: &Tensor,
) -> Result<()> {
    // SAFETY: as the caller's.
    unsafe {
        if let Some(out) = ContiguousTensor::new(grad)
            && let Type::Float(dtype) = out.of
            && out.fits(pred)
            && out.fits(target)
            && let Some(sum) = StridedTensor::<0>::read(loss, out.of)
        {
            let first = |tensor: &Tensor| {
                let bytes = tensor.byte_offset as usize;
                tensor.data.cast::<u8>().wrapping_add(bytes)
            };
            let (n, pred, target) = (out.count, first(pred), first(target));
            return with_storage!(dtype, T => {
                let (pred, target, grad) = (pred.cast::<T>(), target.cast(), out.p.cast());
                raw::mse_grad(exec, n as i64, pred, target, grad, sum.p.cast())
            });
        }
        mse_grad_general(exec, pred, target, grad, loss)
    }
}

/// [`mse_grad`] of any tensors.
///
/// # Safety
/// As [`mse_grad`].
#[cold]
#[inline]
unsafe fn mse_grad_general(
    exec: &Exec<'_>,
    pred: &Tensor,
    target: &Tensor,
    grad: &Tensor,
    loss: &Tensor,
) -> Result<()> {
    // SAFETY: as the caller's.
    let (dtype, tensors, loss) =
        unsafe { check_mse_grad(pred, target, grad, loss, Location::Host)? };
    // SAFETY: the operands have been checked; the caller vouches for their elements.
    unsafe { with_storage!(dtype, T => of_checked::<T>(exec, &tensors, loss)) }
}

/// [`mse_grad`] of checked tensors.
///
/// # Safety
/// As [`mse_grad`].
unsafe fn of_checked<T: Storage>(
    exec: &Exec<'_>,
    tensors: &MseGradTensors,
    loss: Loss,
) -> Result<()> {
    let (k, n) = (Kernels::new(exec.level()?), tensors.count());
    // SAFETY: as the caller's.
    unsafe {
        let sum = match tensors.arrays() {
            None => tensors.run::<T>(exec, k),
            Some([pred, target, grad]) => {
                let (pred, target) = (pred.cast::<T>(), target.cast());
                run_mse_grad(exec, k, n, pred, target, grad.cast())
            }
        };
        if loss.is_own {
            loss.p.cast::<T>().write(T::from_compute(sum));
        } else {
            loss.p.cast::<Compute<T>>().write(sum);
        }
    }
    Ok(())
}

/// Where the loss goes, and whether it has the type of the elements.
#[derive(Clone, Copy)]
pub struct Loss {
    /// Its address.
    pub p: *mut u8,
    /// Whether it has the type of the elements; else that of their arithmetic.
    pub is_own: bool,
}

/// Checks the arguments of [`mse_grad`], which are in `memory`; returns them, and where the loss goes.
///
/// # Errors
/// As [`mse_grad`].
///
/// # Safety
/// `shape` and `strides` of each tensor must be valid.
#[inline(never)]
pub unsafe fn check_mse_grad(
    pred: &Tensor,
    target: &Tensor,
    grad: &Tensor,
    loss: &Tensor,
    memory: Location,
) -> Result<(Dtype, MseGradTensors, Loss)> {
    // SAFETY: as the caller's.
    let read = |tensor, arg| unsafe { Operand::in_memory(tensor, arg, memory) };
    let (pred, target) = (read(pred, "pred")?, read(target, "target")?);
    let (grad, loss) = (read(grad, "grad")?, read(loss, "loss")?);
    let dtype = float_type(&pred)?;
    for operand in [&target, &grad] {
        operand.same_type(&pred)?;
    }
    let is_own = dtype.size() > 2 || loss.of != Type::Float(Dtype::F32);
    if is_own {
        loss.same_type(&pred)?;
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
    let loss = Loss { p: loss.p, is_own };
    Ok((dtype, MseGradTensors::new(&pred, &target, &grad)?, loss))
}

/// grad = 2 a^T (a x - y), for a matrix `a` and vectors `x`, `y` and `grad` of any strides, with `a` read once. It has the
/// bits of [`lsq_grad`](crate::lsq_grad()). All have one type of floats.
///
/// An `x` that is not contiguous, or of 16 bits, is first copied to scratch memory in the type of arithmetic. A workspace
/// of [`lsq_grad_workspace`](crate::lsq_grad_workspace) needs that many bytes more (n elements of the type of arithmetic)
/// to hold the copy; without it the call is slower.
///
/// # Errors
/// `ShapeMismatch`, `TypeMismatch`, `UnsupportedType`, `Unsupported` for memory of a GPU; `Overlap` when `grad` overlaps an
/// input or itself; `NullPointer`, `Misaligned`, `NegativeSize`, `SizeOverflow`, `InvalidValue` for a bad rank;
/// `WorkspaceTooSmall`.
///
/// # Safety
/// The tensors must be valid at all elements, inputs for reading and the output for writing.
#[inline]
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
        if let Some(of) = Type::of(a.dtype_code, a.dtype_bits)
            && let Type::Float(dtype) = of
            && let (Some(a), Some(x)) = (
                StridedTensor::<2>::read(a, of),
                StridedTensor::<1>::read(x, of),
            )
            && let (Some(y), Some(grad)) = (
                StridedTensor::<1>::read(y, of),
                StridedTensor::<1>::read(grad, of),
            )
            && ([x.strides, y.strides, grad.strides], grad.shape) == ([[1]; 3], x.shape)
            && let ([m], [n]) = (y.shape, x.shape)
            && a.shape == [m, n]
        {
            return with_storage!(dtype, T => of_contiguous::<T>(exec, &a, x.p, y.p, grad.p));
        }
        lsq_grad_general(exec, problem)
    }
}

/// [`lsq_grad`] of contiguous vectors.
///
/// # Safety
/// As [`lsq_grad`].
unsafe fn of_contiguous<T: Storage>(
    exec: &Exec<'_>,
    a: &StridedTensor<2>,
    x: *const u8,
    y: *const u8,
    grad: *mut u8,
) -> Result<()> {
    let args = LsqArguments {
        m: a.shape[0],
        n: a.shape[1],
        a: a.matrix::<T>().cast_const(),
        x: x.cast(),
        y: y.cast(),
        grad: grad.cast(),
    };
    // SAFETY: as the caller's.
    unsafe { run_lsq_grad(exec, &args) }
}

/// [`lsq_grad`] of any tensors.
///
/// # Safety
/// As [`lsq_grad`].
#[cold]
#[inline]
unsafe fn lsq_grad_general(
    exec: &Exec<'_>,
    (a, x, y, grad): (&Tensor, &Tensor, &Tensor, &Tensor),
) -> Result<()> {
    // SAFETY: as the caller's.
    let (dtype, a, vectors) = unsafe { check_lsq_grad(a, x, y, grad, Location::Host)? };
    if a.shape[1] == 0 {
        return Ok(());
    }
    // SAFETY: the operands have been checked; the caller vouches for their elements.
    unsafe { with_storage!(dtype, T => of_strided::<T>(exec, &a, &vectors)) }
}

/// Checks the arguments of [`lsq_grad`], which are in `memory`; returns `a`, and `x`, `y` and `grad`.
///
/// # Errors
/// As [`lsq_grad`].
///
/// # Safety
/// `shape` and `strides` of each tensor must be valid.
#[inline(never)]
pub unsafe fn check_lsq_grad(
    a: &Tensor,
    x: &Tensor,
    y: &Tensor,
    grad: &Tensor,
    memory: Location,
) -> Result<(Dtype, StridedTensor<2>, [StridedTensor<1>; 3])> {
    // SAFETY: as the caller's.
    let read = |tensor, arg| unsafe { Operand::in_memory(tensor, arg, memory) };
    let (a, x) = (read(a, "a")?, read(x, "x")?);
    let (y, grad) = (read(y, "y")?, read(grad, "grad")?);
    let dtype = float_type(&a)?;
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
    let vectors = [x, y, grad]
        .each_ref()
        .map(StridedTensor::contiguous_if_short);
    Ok((dtype, StridedTensor::contiguous_if_short(&a), vectors))
}

/// [`lsq_grad`] of checked operands.
///
/// # Safety
/// As [`lsq_grad`].
unsafe fn of_strided<T: Storage>(
    exec: &Exec<'_>,
    a: &StridedTensor<2>,
    [x, y, grad]: &[StridedTensor<1>; 3],
) -> Result<()> {
    let ([m, n], [a_rs, a_cs]) = (
        a.shape.map(|size| size as usize),
        a.strides.map(|stride| stride as isize),
    );
    let inc = |vector: &StridedTensor<1>| vector.strides[0] as isize;
    let problem = Lsq::<T> {
        m,
        n,
        a: Shared::new(a.p.cast()),
        a_rs,
        a_cs,
        x: Shared::new(x.p.cast()),
        y: Shared::new(y.p.cast()),
        grad: Shared::new(grad.p.cast()),
        incs: Incs {
            x: inc(x),
            y: inc(y),
            grad: inc(grad),
        },
    };
    // SAFETY: as the caller's.
    unsafe { problem.compute(exec, Kernels::new(exec.level()?)) }
}
