//! Tensors of types with DLPack's exchange API: PyTorch's, and others'.

mod torch;

use std::cell::UnsafeCell;
use std::ffi::{CStr, c_char, c_void};
use std::ptr;

use pyo3::exceptions::{PyMemoryError, PyRuntimeError};
use pyo3::ffi;
use pyo3::ffi::{PyObject, PyTypeObject};
use pyo3::prelude::*;

use crate::dlpack::{CUDA, EXCHANGE_API, ExchangeApi, ManagedVersioned, READ_ONLY};
use crate::dtype::Dtype;
use crate::errors::fetch;
use crate::errors::{Class, raise, refuse, unreadable};
use crate::operand::{Hold, Kind, MAX_NDIM, Operand};
use crate::order::Order;
use diptych::tensor::Tensor;
pub use torch::{begin_call, without_memory};

/// A type and its table.
#[derive(Clone, Copy)]
struct Known {
    class: *mut PyTypeObject,
    api: Option<&'static ExchangeApi>,
    is_torch: bool,
}

/// The types seen last. Types in it are kept alive.
struct Cache(UnsafeCell<Vec<Known>>);
// SAFETY: accessed under the GIL only.
unsafe impl Sync for Cache {}
static CACHE: Cache = Cache(UnsafeCell::new(Vec::new()));
const CACHED: usize = 16;

/// Returns the table of an object's type, and whether the type is PyTorch's.
///
/// # Safety
/// The GIL is held, the object alive.
unsafe fn table(object: *mut PyObject) -> PyResult<Option<(&'static ExchangeApi, bool)>> {
    // SAFETY: the GIL is held, and nothing below calls Python while the cache is borrowed.
    let known = unsafe {
        let class = ffi::Py_TYPE(object);
        let hit = (*CACHE.0.get())
            .iter()
            .find(|known| known.class == class)
            .copied();
        match hit {
            Some(known) => known,
            None => look_up(class)?,
        }
    };
    Ok(known.api.map(|api| (api, known.is_torch)))
}

#[cold]
unsafe fn look_up(class: *mut PyTypeObject) -> PyResult<Known> {
    Python::attach(|py| {
        // SAFETY: a type of a living object.
        let object: Bound<'_, PyAny> = unsafe { Bound::from_borrowed_ptr(py, class.cast()) };
        let mut api = None;
        if let Ok(capsule) = object.getattr("__dlpack_c_exchange_api__") {
            // SAFETY: a capsule of this name holds a table that lives for ever.
            unsafe {
                let place = ffi::PyCapsule_GetPointer(capsule.as_ptr(), EXCHANGE_API.as_ptr());
                if place.is_null() {
                    ffi::PyErr_Clear();
                }
                api = ExchangeApi::supported(place.cast());
            }
        }
        let known = Known {
            class,
            api,
            is_torch: api.is_some() && object.hasattr("requires_grad")?,
        };
        // SAFETY: the GIL is held; the cache is not borrowed.
        let cache = unsafe { &mut *CACHE.0.get() };
        // Types without a table come this way again; so do those that find the cache full.
        if api.is_some() && cache.len() < CACHED {
            std::mem::forget(object.unbind());
            cache.push(known);
        }
        Ok(known)
    })
}

/// Reads an object whose type has a table; false for another.
///
/// # Safety
/// `operand.object` is alive, the GIL held.
pub unsafe fn read(operand: &mut Operand, function: &str, name: &str) -> PyResult<bool> {
    // SAFETY: the caller's; the functions of the table take an object of the type.
    unsafe {
        let Some((api, is_torch)) = table(operand.object)? else {
            return Ok(false);
        };
        if is_torch {
            torch::check(operand.object, function, name)?;
        }
        operand.kind = Kind::Exchange(api);
        match api.borrowed_from_object {
            // What a borrowed tensor of another framework does not say is whether it may be written.
            Some(borrow) if is_torch => {
                if borrow(operand.object.cast(), &mut operand.tensor) != 0 {
                    let error = unreadable(function, name, fetch());
                    return Err(without_memory(function, name, error));
                }
                torch::check_memory(operand, function, name)?;
            }
            _ => {
                let from_object = api.managed_from_object.ok_or_else(incomplete)?;
                let mut managed: *mut ManagedVersioned = ptr::null_mut();
                if from_object(operand.object.cast(), &mut managed) != 0 {
                    return Err(unreadable(function, name, fetch()));
                }
                operand.hold = Hold::Versioned(managed);
                operand.tensor = (*managed).tensor;
                operand.read_only = (*managed).flags & READ_ONLY != 0;
            }
        }
        check(operand, function, name)?;
        if operand.is_on_device() {
            operand.stream = current_stream(api, operand.tensor.device_id)?;
        }
    }
    Ok(true)
}

/// Returns the current stream of a CUDA device for the framework of a table.
///
/// # Safety
/// The GIL is held.
unsafe fn current_stream(api: &ExchangeApi, device: i32) -> PyResult<*mut c_void> {
    let current = api.current_stream.ok_or_else(incomplete)?;
    let mut stream = ptr::null_mut();
    // SAFETY: a function of the table, as DLPack describes it.
    match unsafe { current(CUDA, device, &mut stream) } {
        0 => Ok(stream),
        _ => Err(fetch()),
    }
}

/// Refuses what a DLPack tensor can be and a kernel cannot take.
pub fn check(operand: &Operand, function: &str, name: &str) -> PyResult<()> {
    let tensor = &operand.tensor;
    if tensor.ndim < 0 || tensor.ndim as usize > MAX_NDIM {
        return refuse(
            Class::Shape,
            format!(
                "{function}: {name} has {} axes; at most {MAX_NDIM} are supported",
                tensor.ndim
            ),
        );
    }
    if tensor.dtype_lanes != 1 || !tensor.dtype_bits.is_multiple_of(8) {
        return refuse(
            Class::Dtype,
            format!(
                "{function}: {name} has elements of {} lanes and {} bits",
                tensor.dtype_lanes, tensor.dtype_bits
            ),
        );
    }
    Ok(())
}

fn incomplete() -> PyErr {
    let text = "the DLPack exchange API of the type lacks a function";
    raise(Class::Error, text.to_owned())
}

unsafe extern "C" fn set_error(_context: *mut c_void, kind: *const c_char, text: *const c_char) {
    // SAFETY: both are strings; the GIL is held by the caller of the allocator.
    let [kind, text] = [kind, text].map(|s| unsafe { CStr::from_ptr(s) }.to_string_lossy());
    let error = match &*kind {
        "MemoryError" => PyMemoryError::new_err(text.into_owned()),
        _ => PyRuntimeError::new_err(format!("{kind}: {text}")),
    };
    Python::attach(|py| error.restore(py));
}

/// A managed tensor with other axes over another one's memory.
struct Reordered {
    inner: *mut ManagedVersioned,
    shape: [i64; MAX_NDIM],
    strides: [i64; MAX_NDIM],
}

impl Reordered {
    /// Takes a managed tensor whose memory has no gaps, and returns one of this shape with its elements in this order.
    ///
    /// # Safety
    /// The managed tensor is the caller's, and has as many elements.
    unsafe fn wrap(
        inner: *mut ManagedVersioned,
        shape: &[i64],
        order: &Order,
    ) -> *mut ManagedVersioned {
        let mut own = Box::new(Self {
            inner,
            shape: [0; MAX_NDIM],
            strides: order.strides(shape),
        });
        own.shape[..shape.len()].copy_from_slice(shape);
        // SAFETY: the caller's.
        let inner = unsafe { &*inner };
        let tensor = Tensor {
            shape: own.shape.as_ptr(),
            strides: own.strides.as_ptr(),
            ..inner.tensor
        };
        Box::into_raw(Box::new(ManagedVersioned {
            version: inner.version,
            context: Box::into_raw(own).cast(),
            deleter: Some(Self::delete),
            flags: inner.flags,
            tensor,
        }))
    }

    unsafe extern "C" fn delete(managed: *mut ManagedVersioned) {
        // SAFETY: made by `wrap`.
        unsafe {
            let own = Box::from_raw(Box::from_raw(managed).context.cast::<Self>());
            if let Some(delete) = (*own.inner).deleter {
                delete(own.inner);
            }
        }
    }
}

/// Makes a tensor of a type on a device, and reads it into `out`. Returns a new reference.
///
/// # Safety
/// The GIL is held.
pub unsafe fn empty(
    api: &'static ExchangeApi,
    shape: &[i64],
    dtype: Dtype,
    order: Option<&Order>,
    (device_type, device_id): (i32, i32),
    out: &mut Operand,
) -> PyResult<*mut PyObject> {
    let (Some(allocate), Some(to_object)) = (api.allocate, api.managed_to_object) else {
        return Err(incomplete());
    };
    let mut prototype = Tensor {
        data: ptr::null_mut(),
        device_type,
        device_id,
        ndim: shape.len() as i32,
        dtype_code: dtype.code,
        dtype_bits: dtype.bits,
        dtype_lanes: 1,
        shape: shape.as_ptr(),
        strides: ptr::null(),
        byte_offset: 0,
    };
    let mut managed: *mut ManagedVersioned = ptr::null_mut();
    let mut object: *mut c_void = ptr::null_mut();
    // SAFETY: the functions of the table, as DLPack describes them; the second takes the managed tensor.
    unsafe {
        if allocate(&mut prototype, &mut managed, ptr::null_mut(), set_error) != 0 {
            return Err(fetch());
        }
        if let Some(order) = order {
            managed = Reordered::wrap(managed, shape, order);
        }
        out.tensor = (*managed).tensor;
        out.pin();
        if to_object(managed, &mut object) != 0 {
            return Err(fetch());
        }
    }
    Ok(object.cast())
}
