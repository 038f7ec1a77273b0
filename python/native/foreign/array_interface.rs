//! Objects with `__array_interface__` or `__cuda_array_interface__`.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use super::attribute::Attribute;
use crate::dlpack::CUDA;
use crate::dtype::Dtype;
use crate::errors::{Class, refuse};
use crate::numpy;
use crate::operand::{Hold, Kind, MAX_NDIM, Operand};

/// Reads an object through `__array_interface__` or, on a device, `__cuda_array_interface__`; false for one without. On
/// the host the result is a NumPy array.
pub fn read(
    operand: &mut Operand,
    object: &Bound<'_, PyAny>,
    device_type: i32,
    function: &str,
    name: &str,
) -> PyResult<bool> {
    let attribute = match device_type {
        CUDA => "__cuda_array_interface__",
        _ => "__array_interface__",
    };
    let of = Attribute {
        function,
        name,
        attribute,
    };
    let Some(interface) = of.read(object.getattr_opt(attribute))? else {
        return Ok(false);
    };
    let interface = of.read(interface.cast_into::<PyDict>())?;
    let is_masked = interface
        .get_item("mask")?
        .is_some_and(|mask| !mask.is_none());
    if is_masked {
        return refuse(
            Class::Dtype,
            format!("{function}: {name} has a mask, which would be ignored"),
        );
    }
    let (kind, shape) = (of.get(&interface, "typestr")?, of.get(&interface, "shape")?);
    let data = interface
        .get_item("data")?
        .map(|data| data.extract::<(usize, bool)>());
    let (Some(kind), Some(shape), Some(Ok((address, read_only)))) = (kind, shape, data) else {
        return Ok(false);
    };
    let kind: String = kind;
    let Some(dtype) = from_typestr(&kind) else {
        return refuse(
            Class::Dtype,
            format!("{function}: {name} has elements of type '{kind}', which no function takes"),
        );
    };
    operand.set_host(address as *mut _, dtype);
    operand.read_only = read_only;
    set_axes(
        operand,
        shape,
        of.get(&interface, "strides")?,
        function,
        name,
    )?;
    if device_type == CUDA {
        operand.tensor.device_type = CUDA;
        operand.kind = Kind::Buffer;
        // The object's work is on this stream; 1 is the legacy default stream, and without one there is none.
        let stream: usize = of.get(&interface, "stream")?.unwrap_or(1);
        if stream > 1 {
            operand.stream = stream as *mut _;
        }
    } else {
        numpy::find(true)?;
        operand.kind = Kind::Numpy;
    }
    // The interface owns what keeps the memory alive.
    operand.hold = Hold::Object(interface.into_ptr());
    Ok(true)
}

/// Sets the shape of an operand and its strides in bytes, if it has any.
fn set_axes(
    operand: &mut Operand,
    shape: Vec<i64>,
    strides: Option<Vec<isize>>,
    function: &str,
    name: &str,
) -> PyResult<()> {
    let axes = shape.len();
    if axes > MAX_NDIM {
        return refuse(Class::Shape, format!("{function}: {name} has {axes} axes"));
    }
    operand.set_shape(&shape);
    let Some(strides) = strides else {
        return Ok(());
    };
    if strides.len() != axes {
        let text = format!(
            "{function}: {name} has {axes} axes and {} strides",
            strides.len()
        );
        return refuse(Class::Shape, text);
    }
    // SAFETY: as many as there are axes.
    unsafe { operand.set_byte_strides(function, name, strides.as_ptr()) }
}

/// Returns the type of a `typestr`.
fn from_typestr(text: &str) -> Option<Dtype> {
    let native = if cfg!(target_endian = "little") {
        '<'
    } else {
        '>'
    };
    let mut letters = text.chars();
    letters
        .next()
        .filter(|order| *order == native || *order == '|')?;
    let kind = letters.next()?;
    let bytes: u8 = letters.as_str().parse().ok()?;
    let name = match kind {
        'f' => "float",
        'i' => "int",
        'u' => "uint",
        'c' => "complex",
        _ => return None,
    };
    Dtype::from_name(&format!("{name}{}", bytes.checked_mul(8)?))
}
