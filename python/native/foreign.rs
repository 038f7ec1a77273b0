//! Arguments that are not exact NumPy arrays, in the order in which they are tried: subclasses of NumPy's array,
//! DLPack's exchange API, the buffer protocol, `__dlpack__`, `__array_interface__`, `__cuda_array_interface__`.

mod array_interface;
mod attribute;
mod capsule;

use std::ffi::CStr;
use std::mem::MaybeUninit;

use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use crate::dlpack::{CPU, CUDA};
use crate::dtype::Dtype;
use crate::errors::{Class, fetch, refuse, unreadable};
use crate::operand::{Hold, Kind, Operand};
use crate::packed::Packed;
use crate::{exchange, number, numpy};

/// Reads an argument that is neither an exact NumPy array nor a Python number.
///
/// # Safety
/// `operand.object` is alive, the GIL held.
pub unsafe fn read(operand: &mut Operand, function: &str, name: &str) -> PyResult<()> {
    // SAFETY: the caller's.
    unsafe {
        if exchange::read(operand, function, name)? {
            return Ok(());
        }
        // The first object after the program has imported NumPy may be one of NumPy's numbers.
        let is_new = numpy::array_type().is_null() && numpy::find(false)?;
        if is_new && number::is_number(operand.object) {
            operand.kind = Kind::Number;
            return Ok(());
        }
        if numpy::is_array(operand.object) {
            refuse_masked(operand.object, function, name)?;
            return numpy::read(operand, function, name);
        }
    }
    Python::attach(|py| {
        // SAFETY: the caller's.
        let object: Bound<'_, PyAny> = unsafe { Bound::from_borrowed_ptr(py, operand.object) };
        let has_dlpack = object
            .hasattr("__dlpack__")
            .map_err(|cause| unreadable(function, name, cause))?;
        // SAFETY: the caller's.
        let is_buffer = match unsafe { read_buffer(operand, function, name) } {
            // Some types have no format there (JAX's bfloat16).
            Err(_) if has_dlpack => {
                let object = operand.object;
                *operand = Operand::new();
                operand.object = object;
                false
            }
            found => found?,
        };
        let found = is_buffer
            || (has_dlpack && capsule::read(operand, &object, function, name)?)
            || array_interface::read(operand, &object, CPU, function, name)?
            || array_interface::read(operand, &object, CUDA, function, name)?;
        if has_dlpack {
            operand.kind = Kind::Dlpack;
        }
        if found {
            return Ok(());
        }
        let class = object.get_type().name()?.to_string();
        let hint = match class.as_str() {
            "list" | "tuple" => ": make an array of it first, for example with numpy.asarray",
            "Series" | "DataFrame" => ": pass its to_numpy()",
            _ => "",
        };
        refuse(
            Class::Dtype,
            format!("{function}: {name} is a {class}, not an array{hint}"),
        )
    })
}

/// Refuses a masked array: its mask would be ignored.
unsafe fn refuse_masked(object: *mut PyObject, function: &str, name: &str) -> PyResult<()> {
    // SAFETY: the caller's.
    let masked = unsafe { ffi::PyObject_HasAttrString(object, c"mask".as_ptr()) } != 0;
    if masked {
        return refuse(
            Class::Dtype,
            format!(
                "{function}: {name} is a masked array, whose mask would be ignored; pass its data"
            ),
        );
    }
    Ok(())
}

/// Reads an object with the buffer protocol; false for another.
unsafe fn read_buffer(operand: &mut Operand, function: &str, name: &str) -> PyResult<bool> {
    // SAFETY: a living object; the view is released when the operand is dropped.
    unsafe {
        if ffi::PyObject_CheckBuffer(operand.object) == 0 {
            return Ok(false);
        }
        if Packed::of(operand.object).is_some() {
            return refuse(
                Class::Dtype,
                format!(
                    "{function}: {name} is packed: only matmul and gemm take it, as their second factor"
                ),
            );
        }
        let mut view = Box::new(MaybeUninit::<ffi::Py_buffer>::zeroed());
        if ffi::PyObject_GetBuffer(operand.object, view.as_mut_ptr(), ffi::PyBUF_RECORDS_RO) != 0 {
            return Err(unreadable(function, name, fetch()));
        }
        let view = Box::from_raw(Box::into_raw(view).cast::<ffi::Py_buffer>());
        let format = if view.format.is_null() {
            c"B"
        } else {
            CStr::from_ptr(view.format)
        };
        let format = format.to_string_lossy().into_owned();
        let dtype = Dtype::from_format(&format, view.itemsize);
        operand.kind = Kind::Buffer;
        operand.read_only = view.readonly != 0;
        let (shape, strides) = (view.shape, view.strides);
        let (data, ndim) = (view.buf, view.ndim);
        operand.hold = Hold::Buffer(view);
        let Some(dtype) = dtype else {
            return refuse(
                Class::Dtype,
                format!(
                    "{function}: {name} is a buffer with the format '{format}', which no function takes"
                ),
            );
        };
        operand.set_host(data, dtype);
        operand.tensor.ndim = ndim;
        operand.tensor.shape = shape.cast();
        if !strides.is_null() && ndim > 0 {
            operand.set_byte_strides(function, name, strides)?;
        }
    }
    Ok(true)
}
