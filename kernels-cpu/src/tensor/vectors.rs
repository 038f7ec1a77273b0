//! Outer products over tensors: `outer` and `ger`.

use super::element_type::{ElementType, IntegerType, NumberType, with_storage};
use super::integer_outer::{self, PairKernels};
use super::kind::{Location, Type};
use super::operand::{Operand, Tensor};
use super::strided::StridedTensor;
use crate::api::mixed::Half;
use crate::api::outer::{check::Arguments, outer_widened, run_ger, run_outer};
use crate::dispatch::Compute;
use crate::element::{Dtype, Element, Storage};
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::half::{bf16, f16};

/// `f32`.
const F32: Type = Type::Float(Dtype::F32);

/// Two vectors and a matrix.
pub type Vectors = (StridedTensor<1>, StridedTensor<1>, StridedTensor<2>);

/// out\[i, j\] = x\[i\] * y\[j\], for vectors `x` and `y` and a matrix of their lengths, of one type: of floats, or `i8`,
/// `u8`, `i32` or `i64`, whose products are exact modulo 2^bits. Products of `f16` and `bf16` may also go to an `f32`
/// `out`, where they are not rounded.
///
/// # Errors
/// `ShapeMismatch`, `TypeMismatch`, `UnsupportedType`, `Unsupported` for memory of a GPU; `Overlap` when `out` overlaps an
/// input or itself; `NullPointer`, `Misaligned`, `NegativeSize`, `SizeOverflow`, `InvalidValue` for a bad rank.
///
/// # Safety
/// The tensors must be valid at all elements, inputs for reading and the output for writing.
#[inline]
pub unsafe fn outer(exec: &Exec<'_>, x: &Tensor, y: &Tensor, out: &Tensor) -> Result<()> {
    unsafe fn typed<T: Storage>(exec: &Exec<'_>, vectors: Vectors) -> Result<()> {
        // SAFETY: as the caller's.
        unsafe { run_outer(exec, &arguments::<T, T>(vectors)) }
    }
    unsafe fn unrounded<T: Storage>(exec: &Exec<'_>, vectors: Vectors) -> Result<()> {
        // SAFETY: as the caller's.
        unsafe { outer_widened(exec, arguments::<T, Compute<T>>(vectors)) }
    }
    fn arguments<T: Storage, O>((x, y, out): Vectors) -> Arguments<T, O> {
        let sizes = (x.shape[0], y.shape[0]);
        Arguments::outer(sizes, x.vector(), y.vector(), out.matrix())
    }
    // SAFETY: as the caller's.
    unsafe {
        let (types, vectors) = read(x, y, (out, "out"))?;
        match types {
            OuterTypes::Float(of) => with_storage!(of, T => typed::<T>(exec, vectors)),
            OuterTypes::Unrounded(Half::F16) => unrounded::<f16>(exec, vectors),
            OuterTypes::Unrounded(Half::Bf16) => unrounded::<bf16>(exec, vectors),
            OuterTypes::Integer(of) => integer_outer::outer(exec, PairKernels::scale(of), vectors),
        }
    }
}

/// a\[i, j\] = fma(t, y\[j\], a\[i, j\]) with t = alpha * x\[i\], rounded, for vectors `x` and `y` and a matrix of
/// their lengths, of one type of floats, to which `alpha` is rounded. Or they are `i8`, `u8`, `i32` or `i64`, and
/// a\[i, j\] + alpha * x\[i\] * y\[j\] is exact modulo 2^bits; `alpha` is then a whole number from -2^63 to below 2^63.
///
/// # Errors
/// As [`outer`], with `a` for `out`; `InvalidValue` for `alpha`.
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
        let (types, vectors) = read(x, y, (a, "a"))?;
        match types {
            OuterTypes::Float(of) => with_storage!(of, T => typed::<T>(exec, alpha, vectors)),
            OuterTypes::Unrounded(_) => Err(Error::TypeMismatch { arg: "a" }),
            OuterTypes::Integer(of) => {
                let kernels = (PairKernels::scale(of), PairKernels::axpy(of));
                integer_outer::ger(exec, kernels, integer_outer::whole(alpha)?, vectors)
            }
        }
    }
}

/// The types of an outer product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OuterTypes {
    /// One type of floats.
    Float(Dtype),
    /// Vectors of 16-bit floats, and a matrix of `f32`, which only `outer` takes.
    Unrounded(Half),
    /// One type of integers.
    Integer(IntegerType),
}

/// Reads the arguments, and checks everything but their addresses.
///
/// # Safety
/// As [`Operand::new`].
#[inline(always)]
unsafe fn read(
    x: &Tensor,
    y: &Tensor,
    out: (&Tensor, &'static str),
) -> Result<(OuterTypes, Vectors)> {
    // SAFETY: as the caller's.
    unsafe {
        if let Some(of) = Type::of(x.dtype_code, x.dtype_bits)
            && let Type::Float(dtype) = of
            && let (Some(x), Some(y)) = (StridedTensor::read(x, of), StridedTensor::read(y, of))
            && let Some(out) = StridedTensor::read(out.0, of)
            && let ([m], [n]) = (x.shape, y.shape)
            && out.shape == [m, n]
        {
            return Ok((OuterTypes::Float(dtype), (x, y, out)));
        }
        check_outer(x, y, out, Location::Host)
    }
}

/// Checks the arguments of [`outer`] and [`ger`], which are in `memory`, except whether a matrix of floats overlaps another.
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
) -> Result<(OuterTypes, Vectors)> {
    // SAFETY: as the caller's.
    let read = |tensor, arg| unsafe { Operand::in_memory(tensor, arg, memory) };
    let (x, y, out) = (read(x, "x")?, read(y, "y")?, read(out, arg)?);
    let types = outer_types(&x, &out)?;
    y.same_type(&x)?;
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
    if let OuterTypes::Integer(_) = types {
        out.check_distinct()?;
        out.apart_from(&x)?;
        out.apart_from(&y)?;
    }
    Ok((
        types,
        (
            StridedTensor::of(&x),
            StridedTensor::of(&y),
            StridedTensor::of(&out),
        ),
    ))
}

/// Returns the types of outer products of `x`.
///
/// # Errors
/// `UnsupportedType`, `TypeMismatch`.
fn outer_types(x: &Operand, out: &Operand) -> Result<OuterTypes> {
    let types = match x.of.number() {
        Some(NumberType::Integer(of)) => OuterTypes::Integer(of),
        _ => OuterTypes::Float(float_type(x)?),
    };
    match (types, out.of) {
        (OuterTypes::Float(Dtype::F16), F32) => return Ok(OuterTypes::Unrounded(Half::F16)),
        (OuterTypes::Float(Dtype::Bf16), F32) => return Ok(OuterTypes::Unrounded(Half::Bf16)),
        _ => out.same_type(x)?,
    }
    Ok(types)
}

/// Returns the type of an operand, which must be `f32` or `f64`.
///
/// # Errors
/// `UnsupportedType`.
pub fn element_type(x: &Operand) -> Result<ElementType> {
    x.of.element().ok_or(Error::UnsupportedType { arg: x.arg })
}

/// Returns the type of an operand, which must be a type of floats.
///
/// # Errors
/// `UnsupportedType`.
pub fn float_type(x: &Operand) -> Result<Dtype> {
    match x.of {
        Type::Float(dtype) => Ok(dtype),
        Type::Bool | Type::Integer(_) => Err(Error::UnsupportedType { arg: x.arg }),
    }
}
