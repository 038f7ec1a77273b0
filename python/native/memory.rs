//! Memory of this package, for results that no framework has made: a `memoryview` of it, or what a framework makes of
//! it with `from_dlpack`.

use std::ffi::{c_int, c_void};
use std::ptr;

use pyo3::exceptions::{PyBufferError, PyMemoryError};
use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyMemoryView};

use crate::dlpack::{CPU, LEGACY, Managed, ManagedVersioned, VERSIONED, Version};
use crate::dtype::{Dtype, code};
use diptych::tensor::Tensor;

/// An array that owns its memory. It has the buffer protocol and DLPack's `__dlpack__`.
#[pyclass(frozen, module = "diptych._native")]
pub struct Memory {
    words: Vec<u128>,
    shape: Vec<i64>,
    strides: Vec<i64>,
    byte_strides: Vec<isize>,
    dtype: Dtype,
}

impl Memory {
    pub fn new(shape: &[i64], dtype: Dtype) -> PyResult<Self> {
        let too_large = || PyMemoryError::new_err("the result is too large");
        let bytes = shape
            .iter()
            .try_fold(dtype.size(), |n, size| n.checked_mul(*size))
            .ok_or_else(too_large)?;
        let count = usize::try_from(bytes)
            .map_err(|_| too_large())?
            .div_ceil(16);
        let mut words = Vec::new();
        words.try_reserve_exact(count).map_err(|_| too_large())?;
        words.resize(count, 0);
        let mut strides = vec![1; shape.len()];
        for i in (1..shape.len()).rev() {
            strides[i - 1] = strides[i] * shape[i].max(1);
        }
        Ok(Self {
            words,
            shape: shape.to_vec(),
            byte_strides: strides
                .iter()
                .map(|s| (s * dtype.size()) as isize)
                .collect(),
            strides,
            dtype,
        })
    }

    /// Returns the memory as a tensor, whose pointers are valid as long as this object.
    pub fn tensor(&self) -> Tensor {
        Tensor {
            data: self.words.as_ptr().cast_mut().cast(),
            device_type: CPU,
            device_id: 0,
            ndim: self.shape.len() as i32,
            dtype_code: self.dtype.code,
            dtype_bits: self.dtype.bits,
            dtype_lanes: 1,
            shape: self.shape.as_ptr(),
            strides: self.strides.as_ptr(),
            byte_offset: 0,
        }
    }
}

unsafe extern "C" fn delete_versioned(managed: *mut ManagedVersioned) {
    // SAFETY: made by `__dlpack__` below; the context is a reference to the memory.
    unsafe {
        let managed = Box::from_raw(managed);
        release(managed.context);
    }
}

unsafe extern "C" fn delete_legacy(managed: *mut Managed) {
    // SAFETY: as above.
    unsafe {
        let managed = Box::from_raw(managed);
        release(managed.context);
    }
}

/// Releases a reference, from any thread.
unsafe fn release(object: *mut c_void) {
    // SAFETY: the reference that `__dlpack__` took.
    Python::attach(|py| drop(unsafe { Bound::from_owned_ptr(py, object.cast::<PyObject>()) }));
}

unsafe extern "C" fn drop_capsule(capsule: *mut PyObject) {
    // SAFETY: called with a capsule made below. If its tensor was taken, its name has changed.
    unsafe {
        if ffi::PyCapsule_IsValid(capsule, VERSIONED.as_ptr()) != 0 {
            delete_versioned(ffi::PyCapsule_GetPointer(capsule, VERSIONED.as_ptr()).cast());
        } else if ffi::PyCapsule_IsValid(capsule, LEGACY.as_ptr()) != 0 {
            delete_legacy(ffi::PyCapsule_GetPointer(capsule, LEGACY.as_ptr()).cast());
        }
    }
}

#[pymethods]
impl Memory {
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        this: &Bound<'py, Self>,
        stream: Option<Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let _ = stream;
        if copy == Some(true) || dl_device.is_some_and(|(kind, _)| kind != CPU) {
            return Err(PyBufferError::new_err(
                "the memory can be lent on the CPU only",
            ));
        }
        let tensor = this.get().tensor();
        let context = this.clone().into_ptr().cast();
        let (place, name): (*mut c_void, _) = if max_version.is_some_and(|(major, _)| major >= 1) {
            let managed = ManagedVersioned {
                version: Version { major: 1, minor: 0 },
                context,
                deleter: Some(delete_versioned),
                flags: 0,
                tensor,
            };
            (Box::into_raw(Box::new(managed)).cast(), VERSIONED)
        } else {
            let managed = Managed {
                tensor,
                context,
                deleter: Some(delete_legacy),
            };
            (Box::into_raw(Box::new(managed)).cast(), LEGACY)
        };
        // SAFETY: a new capsule, which frees the tensor unless somebody takes it.
        unsafe {
            let capsule = ffi::PyCapsule_New(place, name.as_ptr(), Some(drop_capsule));
            Ok(Bound::from_owned_ptr_or_err(this.py(), capsule)?.cast_into_unchecked())
        }
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        (CPU, 0)
    }

    /// # Safety
    /// Called by the interpreter.
    unsafe fn __getbuffer__(
        this: Bound<'_, Self>,
        view: *mut ffi::Py_buffer,
        _flags: c_int,
    ) -> PyResult<()> {
        let memory = this.get();
        let Some(format) = memory.dtype.format() else {
            return Err(PyBufferError::new_err(format!(
                "the buffer protocol has no format for {}",
                memory.dtype
            )));
        };
        let format = match format {
            "e" => c"e",
            "f" => c"f",
            "d" => c"d",
            _ => c"q",
        };
        // SAFETY: the interpreter's view; all pointers are valid as long as the object, which the view holds.
        unsafe {
            *view = ffi::Py_buffer {
                buf: memory.words.as_ptr().cast_mut().cast(),
                len: memory.shape.iter().product::<i64>() as isize * memory.dtype.size() as isize,
                readonly: 0,
                itemsize: memory.dtype.size() as isize,
                format: format.as_ptr().cast_mut(),
                ndim: memory.shape.len() as c_int,
                shape: memory.shape.as_ptr().cast_mut().cast(),
                strides: memory.byte_strides.as_ptr().cast_mut(),
                suboffsets: ptr::null_mut(),
                internal: ptr::null_mut(),
                ..std::mem::zeroed()
            };
            (*view).obj = this.into_ptr();
        }
        Ok(())
    }
}

/// Returns an element as a Python number.
pub fn number(value: u64, dtype: Dtype) -> PyResult<*mut PyObject> {
    Python::attach(|py| {
        let object = match (dtype.code, dtype.bits) {
            (code::FLOAT, 64) => f64::from_bits(value).into_pyobject(py)?.into_any(),
            (code::FLOAT, 32) => f64::from(f32::from_bits(value as u32))
                .into_pyobject(py)?
                .into_any(),
            (code::FLOAT, 16) => {
                let value = diptych::f16::from_bits(value as u16).to_f32();
                f64::from(value).into_pyobject(py)?.into_any()
            }
            (code::BFLOAT, _) => {
                let value = diptych::bf16::from_bits(value as u16).to_f32();
                f64::from(value).into_pyobject(py)?.into_any()
            }
            _ => (value as i64).into_pyobject(py)?.into_any(),
        };
        Ok(object.into_ptr())
    })
}

/// Turns memory into an array of the kind of `like`, whose type has DLPack, or into a `memoryview`.
///
/// # Safety
/// `object` is a reference to a [`Memory`], which this takes; `like` is alive; the GIL is held.
pub unsafe fn convert(
    object: *mut PyObject,
    like: *mut PyObject,
    dlpack: bool,
) -> PyResult<*mut PyObject> {
    Python::attach(|py| {
        // SAFETY: the caller's.
        let (memory, like): (Bound<'_, PyAny>, Bound<'_, PyAny>) = unsafe {
            (
                Bound::from_owned_ptr(py, object),
                Bound::from_borrowed_ptr(py, like),
            )
        };
        if !dlpack {
            return Ok(PyMemoryView::from(&memory)?.into_ptr());
        }
        let namespace = match like.call_method0("__array_namespace__") {
            Ok(namespace) => namespace,
            Err(_) => {
                let module: String = like.get_type().getattr("__module__")?.extract()?;
                let package = module.split('.').next().unwrap_or_default().to_owned();
                py.import(package)?.into_any()
            }
        };
        match namespace.getattr("from_dlpack") {
            Ok(from_dlpack) => Ok(from_dlpack.call1((memory,))?.into_ptr()),
            Err(_) => Ok(memory.into_ptr()),
        }
    })
}
