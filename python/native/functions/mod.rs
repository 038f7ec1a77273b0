//! The functions on arrays.

mod broadcasting;
pub mod concatenate;
pub mod convert;
pub mod elementwise;
pub mod fused;
pub mod products;
pub mod reduce;
pub mod row_map;

use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use crate::errors::fetch;
use crate::errors::{Class, refuse};
use crate::operand::Operand;

/// Refuses an argument that must be an array and is a number.
#[inline(always)]
fn array(function: &str, name: &str, operand: &Operand) -> PyResult<()> {
    if operand.is_number() {
        return not_array(function, name);
    }
    Ok(())
}

#[cold]
fn not_array(function: &str, name: &str) -> PyResult<()> {
    refuse(
        Class::Dtype,
        format!("{function}: {name} is a number, not an array; numpy.asarray makes one of it"),
    )
}

/// Returns whether an object is true.
///
/// # Safety
/// The GIL is held, the object alive.
#[inline(always)]
unsafe fn is_true(object: *mut PyObject) -> PyResult<bool> {
    // SAFETY: the caller's.
    match unsafe { ffi::PyObject_IsTrue(object) } {
        -1 => Err(fetch()),
        truth => Ok(truth != 0),
    }
}

/// Refuses arrays of two types.
#[inline(always)]
fn same_type(function: &str, x: (&str, &Operand), y: (&str, &Operand)) -> PyResult<()> {
    if x.1.dtype() == y.1.dtype() {
        return Ok(());
    }
    types_differ(function, x, y)
}

#[cold]
fn types_differ(function: &str, x: (&str, &Operand), y: (&str, &Operand)) -> PyResult<()> {
    refuse(
        Class::Dtype,
        format!(
            "{function}: {} has the type {}, {} has {}; diptych.astype converts",
            x.0,
            x.1.dtype(),
            y.0,
            y.1.dtype()
        ),
    )
}
