//! Python numbers as elements.

use diptych::{bf16, f16};
use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use crate::dtype::{Dtype, code};
use crate::errors::{Class, refuse};
use crate::numpy;

/// Returns whether an object is a number without axes: a Python number, or one of NumPy's scalars.
///
/// # Safety
/// The GIL is held, the object alive.
pub unsafe fn is_number(object: *mut PyObject) -> bool {
    // SAFETY: the caller's.
    unsafe {
        ffi::PyFloat_Check(object) != 0
            || ffi::PyLong_Check(object) != 0
            || numpy::is_scalar(object)
    }
}

/// Returns the bits of a number as an element of a type, rounded to nearest.
///
/// # Safety
/// The GIL is held, the object alive and a number.
pub unsafe fn element(
    function: &str,
    name: &str,
    object: *mut PyObject,
    dtype: Dtype,
) -> PyResult<u64> {
    if dtype.is_float() {
        // SAFETY: the caller's.
        let value = unsafe { float(object) }?;
        return Ok(match (dtype.code, dtype.bits) {
            (code::FLOAT, 64) => value.to_bits(),
            (code::FLOAT, 32) => (value as f32).to_bits().into(),
            (code::FLOAT, 16) => f16::from_f32(to_odd(value)).to_bits().into(),
            _ => bf16::from_f32(to_odd(value)).to_bits().into(),
        });
    }
    // SAFETY: the caller's.
    let integer = unsafe {
        if ffi::PyFloat_Check(object) != 0 {
            return refuse(
                Class::Dtype,
                format!("{function}: {name} is a float, and the arrays are of type {dtype}"),
            );
        }
        let index = ffi::PyNumber_Index(object);
        if index.is_null() {
            return Err(fetch());
        }
        let value = ffi::PyLong_AsLongLong(index);
        ffi::Py_DECREF(index);
        value
    };
    // SAFETY: the caller's.
    if integer == -1 && unsafe { !ffi::PyErr_Occurred().is_null() } {
        return Err(fetch());
    }
    Ok(integer as u64)
}

/// Returns a number as an `f64`.
///
/// # Safety
/// The GIL is held, the object alive.
pub unsafe fn float(object: *mut PyObject) -> PyResult<f64> {
    // SAFETY: the caller's.
    unsafe {
        let value = ffi::PyFloat_AsDouble(object);
        if value == -1.0 && !ffi::PyErr_Occurred().is_null() {
            return Err(fetch());
        }
        Ok(value)
    }
}

/// Returns the exception that is set.
#[cold]
pub fn fetch() -> PyErr {
    Python::attach(PyErr::fetch)
}

/// Rounds to odd: a further rounding to 16 bits then gives what a single one would.
fn to_odd(value: f64) -> f32 {
    let near = value as f32;
    let back = f64::from(near);
    if back == value || value.is_nan() {
        return near;
    }
    let toward_zero = if back.abs() > value.abs() {
        near.to_bits() - 1
    } else {
        near.to_bits()
    };
    f32::from_bits(toward_zero | 1)
}
