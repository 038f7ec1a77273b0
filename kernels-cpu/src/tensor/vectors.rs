//! Outer products over tensors: `outer` and `ger`.

use super::element_type::{ElementType, with_storage};
use super::kind::{Location, Type};
use super::operand::{Operand, Tensor};
use super::strided::StridedTensor;
use crate::api::outer::{check::Arguments, run_ger, run_outer};
use crate::dispatch::Compute;
use crate::element::{Dtype, Element, Storage};
use crate::error::{Error, Result};
use crate::exec::Exec;

/// Two vectors and a matrix.
pub type Vectors = (StridedTensor<1>, StridedTensor<1>, StridedTensor<2>);

/// out\[i, j\] = x\[i\] * y\[j\], for vectors `x` and `y` and a matrix of their lengths, of floats of one type.
///
/// # Errors
/// `ShapeMismatch`, `TypeMismatch`, `UnsupportedType`, `Unsupported` for memory of a GPU; `Overlap` when `out` overlaps an
/// input or itself; `NullPointer`, `Misaligned`, `NegativeSize`, `SizeOverflow`, `InvalidValue` for a bad rank.
///
/// # Safety
/// The tensors must be valid at all elements, inputs for reading and the output for writing.
#[inline]
pub unsafe fn outer(exec: &Exec<'_>, x: &Tensor, y: &Tensor, out: &Tensor) -> Result<()> {
    unsafe fn typed<T: Storage>(exec: &Exec<'_>, (x, y, out): Vectors) -> Result<()> {
        let sizes = (x.shape[0], y.shape[0]);
        let args = Arguments::outer(sizes, x.vector::<T>(), y.vector(), out.matrix());
        // SAFETY: as the caller's.
        unsafe { run_outer(exec, &args) }
    }
    // SAFETY: as the caller's.
    unsafe {
        let (of, arguments) = read(x, y, (out, "out"))?;
        with_storage!(of, T => typed::<T>(exec, arguments))
    }
}

/// a\[i, j\] = fma(t, y\[j\], a\[i, j\]) with t = alpha * x\[i\], rounded, for vectors `x` and `y` and a matrix of
/// their lengths, of floats of one type. `alpha` is rounded to the type.
///
/// # Errors
/// As [`outer`], with `a` for `out`.
///
/// # Safety
/// The tensors must be valid at all elements, `x` and `y` for reading, `a` for reading and writing.
#[inline]
pub unsafe fn ger(exec: &Exec<'_>, alpha: f64, x: &Tensor, y: &Tensor, a: &Tensor) -> Result<()> {
    unsafe fn typed<T: Storage>(exec: &Exec<'_>, alpha: f64, (x, y, a): Vectors) -> Result<()> {
        let (sizes, alpha) = ((x.shape[0], y.shape[0]), Compute::<T>::from_f64(alpha));
        let args = Arguments::ger(sizes, alpha, x.vector::<T>(), y.vector(), a.matrix());
        // SAFETY: as the caller's.
        unsafe { run_ger(exec, &args) }
    }
    // SAFETY: as the caller's.
    unsafe {
        let (of, arguments) = read(x, y, (a, "a"))?;
        with_storage!(of, T => typed::<T>(exec, alpha, arguments))
    }
}

/// Reads the arguments, and checks everything but their addresses.
///
/// # Safety
/// As [`Operand::new`].
#[inline(always)]
unsafe fn read(x: &Tensor, y: &Tensor, out: (&Tensor, &'static str)) -> Result<(Dtype, Vectors)> {
    // SAFETY: as the caller's.
    unsafe {
        if let Some(of) = Type::of(x.dtype_code, x.dtype_bits)
            && let Type::Float(dtype) = of
            && let (Some(x), Some(y)) = (StridedTensor::read(x, of), StridedTensor::read(y, of))
            && let Some(out) = StridedTensor::read(out.0, of)
            && let ([m], [n]) = (x.shape, y.shape)
            && out.shape == [m, n]
        {
            return Ok((dtype, (x, y, out)));
        }
        check_outer(x, y, out, Location::Host)
    }
}

/// Checks the arguments of [`outer`] and [`ger`], which are in `memory`, except whether the matrix overlaps another.
///
/// # Errors
/// As [`outer`].
///
/// # Safety
/// As [`Operand::new`].
#[inline(never)]
pub unsafe fn check_outer(
    x: &Tensor,
    y: &Tensor,
    (out, arg): (&Tensor, &'static str),
    memory: Location,
) -> Result<(Dtype, Vectors)> {
    // SAFETY: as the caller's.
    let read = |tensor, arg| unsafe { Operand::in_memory(tensor, arg, memory) };
    let (x, y, out) = (read(x, "x")?, read(y, "y")?, read(out, arg)?);
    let dtype = float_type(&x, memory)?;
    y.same_type(&x)?;
    out.same_type(&x)?;
    for vector in [&x, &y] {
        if vector.rank() != 1 {
            return Err(Error::ShapeMismatch { arg: vector.arg });
        }
    }
    let fits = out.rank() == 2
        && (out.axis(0).count, out.axis(1).count) == (x.axis(0).count, y.axis(0).count);
    if !fits {
        return Err(Error::ShapeMismatch { arg });
    }
    Ok((
        dtype,
        (
            StridedTensor::of(&x),
            StridedTensor::of(&y),
            StridedTensor::of(&out),
        ),
    ))
}

/// Returns the type of an operand, which must be `f32` or `f64`.
///
/// # Errors
/// `UnsupportedType`.
pub fn element_type(x: &Operand) -> Result<ElementType> {
    x.of.element().ok_or(Error::UnsupportedType { arg: x.arg })
}

/// Returns the type of an operand in this memory, which must be a type of floats; on a device, of 32 or 64 bits.
///
/// # Errors
/// `UnsupportedType`.
pub fn float_type(x: &Operand, memory: Location) -> Result<Dtype> {
    match x.of {
        Type::Float(dtype) if dtype.size() > 2 || memory == Location::Host => Ok(dtype),
        Type::Float(_) | Type::Bool | Type::Integer(_) => {
            Err(Error::UnsupportedType { arg: x.arg })
        }
    }
}
