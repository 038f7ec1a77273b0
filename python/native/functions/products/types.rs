//! The types of products of matrices: of the factors, the result, and what is added to it.

use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use super::super::same_type;
use super::read_arrays;
use crate::dtype::{Dtype, code};
use crate::errors::{Class, refuse};
use crate::operand::Operand;
use crate::output::Output;

/// Which types go together in a product, by the type of its first factor.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// One type everywhere: `float32`, `float64`, and the types that the kernels refuse.
    Same,
    /// 16-bit floats, whose result has their type or `float32`.
    Half,
    /// `int8` and `uint8`, whose result has `int32` or `float32`.
    Bytes,
    /// `int32` and `int64`, whose result has their type.
    Integers,
}

impl Family {
    #[inline(always)]
    pub fn of(first: Dtype) -> Self {
        match (first.code, first.bits) {
            (code::FLOAT, 32 | 64) => Self::Same,
            (code::FLOAT | code::BFLOAT, 16) => Self::Half,
            (code::INT | code::UINT, 8) => Self::Bytes,
            (code::INT, 32 | 64) => Self::Integers,
            _ => Self::Same,
        }
    }

    /// Returns the type of a result that nobody has given.
    #[inline(always)]
    pub fn result(self, first: Dtype) -> Dtype {
        if self == Self::Bytes {
            Dtype::I32
        } else {
            first
        }
    }

    /// Returns whether a result may have `float32` instead.
    #[inline(always)]
    pub fn may_widen(self) -> bool {
        matches!(self, Self::Half | Self::Bytes)
    }
}

/// Reads two factors whose types go together.
///
/// # Safety
/// The GIL is held, the objects alive.
#[inline(always)]
pub unsafe fn read_factors(
    function: &str,
    [x, y]: [(&str, *mut PyObject); 2],
    a: &mut Operand,
    b: &mut Operand,
) -> PyResult<()> {
    // SAFETY: the caller's.
    unsafe { read_arrays(function, [x, y], a, b)? };
    if a.dtype() == b.dtype() && a.dtype() != Dtype::U8 {
        return Ok(());
    }
    bytes_or_refuse(function, (x.0, a), (y.0, b))
}

/// Refuses factors of two types, unless they are `uint8` and `int8`.
#[cold]
fn bytes_or_refuse(function: &str, x: (&str, &Operand), y: (&str, &Operand)) -> PyResult<()> {
    let (first, second) = (x.1.dtype(), y.1.dtype());
    if first == Dtype::U8 && second == Dtype::I8 {
        return Ok(());
    }
    if [first, second].map(Family::of) == [Family::Bytes; 2] {
        return refuse(
            Class::Dtype,
            format!(
                "{function}: {} has the type {first}, {} has {second}; of bytes, int8 and int8 are multiplied, or \
                 uint8 and int8",
                x.0, y.0
            ),
        );
    }
    same_type(function, x, y)
}

/// Takes an array for the result of a product with the first factor `x`, or makes one.
///
/// # Safety
/// The GIL is held, the objects alive.
#[inline(always)]
pub unsafe fn prepare(
    output: &mut Output,
    function: &str,
    x: &Operand,
    shape: &[i64],
    out: *mut PyObject,
) -> PyResult<()> {
    let family = Family::of(x.dtype());
    // SAFETY: the caller's.
    unsafe {
        if out.is_null() || !family.may_widen() {
            return output.prepare(function, x, shape, family.result(x.dtype()), out);
        }
        output.take(function, "out", out)?;
    }
    check_result(function, ("x", x), ("out", &output.operand))?;
    output.check_shape(function, shape)
}

/// Checks the type of an array for the result.
pub fn check_result(function: &str, x: (&str, &Operand), out: (&str, &Operand)) -> PyResult<()> {
    let (first, given) = (x.1.dtype(), out.1.dtype());
    let family = Family::of(first);
    if !family.may_widen() {
        return same_type(function, x, out);
    }
    let result = family.result(first);
    if given == result || given == Dtype::F32 {
        return Ok(());
    }
    refuse(
        Class::Dtype,
        format!(
            "{function}: {} has the type {given}; a product of {} {first} has {result} or float32",
            out.0, x.0
        ),
    )
}
