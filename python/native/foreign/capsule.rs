//! Objects with `__dlpack__`, which returns a capsule.

use std::ffi::CStr;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use super::attribute::Attribute;
use crate::dlpack::{
    self, CPU, CUDA, CUDA_HOST, CUDA_MANAGED, Managed, ManagedVersioned, READ_ONLY,
};
use crate::errors::{Class, refuse, unreadable};
use crate::exchange;
use crate::operand::{Hold, Operand};

/// Reads an object through `__dlpack__`.
pub fn read(
    operand: &mut Operand,
    object: &Bound<'_, PyAny>,
    function: &str,
    name: &str,
) -> PyResult<bool> {
    /// The legacy default stream, in DLPack and in `__cuda_array_interface__`: the producer makes it wait for its work.
    const DEFAULT: i32 = 1;
    let py = object.py();
    let options = PyDict::new(py);
    let failed = |cause| unreadable(function, name, cause);
    if let Some(device) = object.getattr_opt("__dlpack_device__").map_err(failed)? {
        let of = Attribute {
            function,
            name,
            attribute: "__dlpack_device__",
        };
        let device = device.call0().map_err(failed)?;
        let (kind, id): (i32, i32) = of.read(device.extract())?;
        if !matches!(kind, CPU | CUDA | CUDA_HOST | CUDA_MANAGED) {
            (operand.tensor.device_type, operand.tensor.device_id) = (kind, id);
            return Ok(true);
        }
        if kind == CUDA {
            options.set_item("stream", DEFAULT)?;
        }
    }
    let newest = options.copy()?;
    newest.set_item("max_version", (1, 3))?;
    let capsule = match object.call_method("__dlpack__", (), Some(&newest)) {
        Err(error) if error.is_instance_of::<PyTypeError>(py) => {
            object.call_method("__dlpack__", (), Some(&options))
        }
        other => other,
    };
    let capsule = capsule.map_err(failed)?;
    let of = Attribute {
        function,
        name,
        attribute: "__dlpack__",
    };
    let capsule = of.read(capsule.cast_into::<PyCapsule>())?;
    if !take_capsule(operand, &capsule, function, name)? {
        return Ok(false);
    }
    exchange::check(operand, function, name)?;
    Ok(true)
}

/// Takes the tensor of a capsule of DLPack; false for another capsule.
fn take_capsule(
    operand: &mut Operand,
    capsule: &Bound<'_, PyCapsule>,
    function: &str,
    name: &str,
) -> PyResult<bool> {
    let take = |name: &'static CStr, used: &'static CStr| {
        // SAFETY: the capsule is alive; the new name says that its content was taken.
        unsafe {
            if ffi::PyCapsule_IsValid(capsule.as_ptr(), name.as_ptr()) == 0 {
                return None;
            }
            let place = ffi::PyCapsule_GetPointer(capsule.as_ptr(), name.as_ptr());
            ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr());
            Some(place)
        }
    };
    if let Some(place) = take(dlpack::VERSIONED, c"used_dltensor_versioned") {
        let managed = place.cast::<ManagedVersioned>();
        operand.hold = Hold::Versioned(managed);
        // SAFETY: a capsule of this name holds such a tensor; fields up to the flags keep their places.
        let managed = unsafe { &*managed };
        if managed.version.major != 1 {
            return refuse(
                Class::Argument,
                format!(
                    "{function}: {name} speaks DLPack {}, not 1",
                    managed.version.major
                ),
            );
        }
        operand.tensor = managed.tensor;
        operand.read_only = managed.flags & READ_ONLY != 0;
    } else if let Some(place) = take(dlpack::LEGACY, c"used_dltensor") {
        let managed = place.cast::<Managed>();
        operand.hold = Hold::Legacy(managed);
        // SAFETY: a capsule of this name holds such a tensor.
        operand.tensor = unsafe { (*managed).tensor };
        // Before version 1 nothing said whether memory may be written.
        operand.read_only = true;
    } else {
        return Ok(false);
    }
    Ok(true)
}
