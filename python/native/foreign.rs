//! Arguments that are not exact NumPy arrays, in the order in which they are tried: subclasses of NumPy's array,
//! DLPack's exchange API, the buffer protocol, `__dlpack__`, `__array_interface__`, `__cuda_array_interface__`.

use std::ffi::CStr;
use std::mem::MaybeUninit;
use std::ptr;

use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyDict};

use crate::dlpack::{
    self, CPU, CUDA, CUDA_HOST, CUDA_MANAGED, Managed, ManagedVersioned, READ_ONLY,
};
use crate::dtype::Dtype;
use crate::errors::{Class, fetch, raise, refuse, unreadable};
use crate::operand::{Hold, Kind, MAX_NDIM, Operand};
use crate::{exchange, number, numpy};
use diptych::tensor::Tensor;

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
            || (has_dlpack && read_dlpack(operand, &object, function, name)?)
            || read_interface(operand, &object, CPU, function, name)?
            || read_interface(operand, &object, CUDA, function, name)?;
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
        set(operand, data, dtype);
        operand.tensor.ndim = ndim;
        operand.tensor.shape = shape.cast();
        if !strides.is_null() && ndim > 0 {
            operand.set_byte_strides(function, name, strides)?;
        }
    }
    Ok(true)
}

fn set(operand: &mut Operand, data: *mut std::ffi::c_void, dtype: Dtype) {
    operand.tensor = Tensor {
        data,
        device_type: CPU,
        device_id: 0,
        ndim: 0,
        dtype_code: dtype.code,
        dtype_bits: dtype.bits,
        dtype_lanes: 1,
        shape: ptr::null(),
        strides: ptr::null(),
        byte_offset: 0,
    };
}

/// Reads an object through `__dlpack__`.
fn read_dlpack(
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

/// An attribute that describes an array, of an argument of a function.
struct Attribute<'a> {
    function: &'a str,
    name: &'a str,
    attribute: &'static str,
}

impl Attribute<'_> {
    /// Refuses an attribute of which a part is not what it must be.
    fn read<T, E: Into<PyErr>>(&self, part: Result<T, E>) -> PyResult<T> {
        let Self {
            function,
            name,
            attribute,
        } = self;
        part.map_err(|error| {
            let error: PyErr = error.into();
            let text = format!("{function}: {attribute} of {name} cannot be read: {error}");
            raise(Class::Dtype, text)
        })
    }

    /// Returns an item of a dictionary; none for `None` too.
    fn get<T: for<'a, 'py> FromPyObject<'a, 'py>>(
        &self,
        interface: &Bound<'_, PyDict>,
        key: &str,
    ) -> PyResult<Option<T>> {
        let item = interface.get_item(key)?.filter(|value| !value.is_none());
        let item = item.map(|value| value.extract().map_err(Into::into));
        self.read::<_, PyErr>(item.transpose())
    }
}

/// Reads an object through `__array_interface__` or, on a device, `__cuda_array_interface__`; false for one without. On
/// the host the result is a NumPy array.
fn read_interface(
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
    set(operand, address as *mut _, dtype);
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
