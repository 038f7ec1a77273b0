//! Python numbers as elements.

use diptych::{bf16, f16};
use pyo3::exceptions::{PyOverflowError, PyTypeError};
use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use crate::dtype::{Dtype, code};
use crate::errors::{Class, caused, raise, refuse};
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

/// Returns the bits of a number as an element of a type, rounded to nearest; an integer must be one of the type.
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
        let value = unsafe { float(function, name, object) }?;
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
            return Err(other(function, name, object, "an integer"));
        }
        let value = ffi::PyLong_AsLongLong(index);
        ffi::Py_DECREF(index);
        value
    };
    // SAFETY: the caller's.
    if integer == -1 && unsafe { !ffi::PyErr_Occurred().is_null() } {
        // SAFETY: as above, with an exception set.
        return Err(unsafe { other(function, name, object, "an integer") });
    }
    if dtype.is_integer() && !dtype.holds(integer) {
        let text = format!("{function}: {name} is {integer}, which is out of bounds for {dtype}");
        return refuse(Class::Argument, text);
    }
    Ok(integer as u64)
}

/// Returns a number as an `f64`.
///
/// # Safety
/// The GIL is held, the object alive.
pub unsafe fn float(function: &str, name: &str, object: *mut PyObject) -> PyResult<f64> {
    // SAFETY: the caller's.
    unsafe {
        if ffi::PyFloat_Check(object) == 0 && numpy::is_complex(object) {
            // Python would take the real part.
            let text = format!("{function}: {name} must be a real number, not a complex one");
            return refuse(Class::Dtype, text);
        }
        let value = ffi::PyFloat_AsDouble(object);
        if value == -1.0 && !ffi::PyErr_Occurred().is_null() {
            return Err(other(function, name, object, "a number"));
        }
        Ok(value)
    }
}

/// Returns an integer; `what` says in an error what the argument must be.
///
/// # Safety
/// The GIL is held, the object alive.
#[inline(always)]
pub unsafe fn integer(
    function: &str,
    name: &str,
    object: *mut PyObject,
    what: &str,
) -> PyResult<isize> {
    // SAFETY: the caller's.
    unsafe {
        let value = ffi::PyNumber_AsSsize_t(object, std::ptr::null_mut());
        if value == -1 && !ffi::PyErr_Occurred().is_null() {
            return Err(other(function, name, object, what));
        }
        Ok(value)
    }
}

/// Says what kind of object stands where another must, or that a number is too large, if that is why there is an error.
///
/// # Safety
/// The GIL is held, the object alive, an exception set.
#[cold]
pub unsafe fn other(function: &str, name: &str, object: *mut PyObject, what: &str) -> PyErr {
    Python::attach(|py| {
        let error = PyErr::fetch(py);
        if error.is_instance_of::<PyOverflowError>(py) {
            return caused(Class::Argument, format!("{function}: {name}"), error);
        }
        if !error.is_instance_of::<PyTypeError>(py) {
            return error;
        }
        // SAFETY: the caller's.
        let object: Bound<'_, PyAny> = unsafe { Bound::from_borrowed_ptr(py, object) };
        let class = object.get_type();
        let class = class
            .name()
            .map_or_else(|_| "object".to_owned(), |name| name.to_string());
        raise(
            Class::Dtype,
            format!("{function}: {name} must be {what}, not {class}"),
        )
    })
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
