//! Memory of this package, for results that no framework has made: a `memoryview` of it, or what a framework makes of
//! it with `from_dlpack`.

use std::ffi::{c_int, c_void};
use std::ptr;

use pyo3::exceptions::{PyBufferError, PyMemoryError};
use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyCapsule, PyFloat, PyInt, PyList, PyMemoryView, PyTuple};

use crate::dlpack::{CPU, LEGACY, Managed, ManagedVersioned, VERSIONED, Version};
use crate::dtype::{Dtype, code};
use crate::errors::{Class, caused, refuse, shape_of};
use diptych::tensor::Tensor;
use diptych::{bf16, f16};

/// An array that owns its memory: a result for an array whose package has no `from_dlpack`, or of a type that a
/// `memoryview` cannot read. It has `__dlpack__` and, except for bfloat16, the buffer protocol.
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

impl Memory {
    /// Returns the elements from `from` on, along the axes from `axis` on, as nested lists.
    fn nested<'py>(&self, py: Python<'py>, axis: usize, from: i64) -> PyResult<Bound<'py, PyAny>> {
        let Some(size) = self.shape.get(axis) else {
            return number(py, self.bits(from as usize), self.dtype);
        };
        let step = self.strides[axis];
        let items: PyResult<Vec<_>> = (0..*size)
            .map(|i| self.nested(py, axis + 1, from + i * step))
            .collect();
        Ok(PyList::new(py, items?)?.into_any())
    }

    /// Returns the bits of an element.
    fn bits(&self, i: usize) -> u64 {
        let data = self.words.as_ptr();
        // SAFETY: `i` is less than the number of elements; others may write the memory through pointers.
        unsafe {
            match self.dtype.size() {
                1 => data.cast::<u8>().add(i).read_volatile().into(),
                2 => data.cast::<u16>().add(i).read_volatile().into(),
                4 => data.cast::<u32>().add(i).read_volatile().into(),
                _ => data.cast::<u64>().add(i).read_volatile(),
            }
        }
    }

    /// Returns the only element.
    fn only<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        if self.shape.iter().product::<i64>() != 1 {
            let text = format!(
                "an array of the shape {} is not one number",
                shape_of(&self.shape)
            );
            return refuse(Class::Dtype, text);
        }
        number(py, self.bits(0), self.dtype)
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

    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.shape)
    }

    #[getter]
    fn dtype(&self) -> String {
        self.dtype.to_string()
    }

    /// Return the elements as nested lists of Python numbers, or the only element of an array without axes.
    fn tolist<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.nested(py, 0, 0)
    }

    fn __len__(&self) -> PyResult<usize> {
        match self.shape.first() {
            Some(size) => Ok(*size as usize),
            None => refuse(
                Class::Dtype,
                "an array without axes has no length".to_owned(),
            ),
        }
    }

    fn __bool__(&self, py: Python<'_>) -> PyResult<bool> {
        self.only(py)?.is_truthy()
    }

    fn __float__(&self, py: Python<'_>) -> PyResult<f64> {
        self.only(py)?.extract()
    }

    fn __int__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        py.get_type::<PyInt>().call1((self.only(py)?,))
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let list = self.nested(py, 0, 0)?;
        Ok(format!("diptych.Memory({list}, dtype={})", self.dtype))
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

/// Returns an element, whose bits are the low ones, as a Python number.
pub fn number(py: Python<'_>, bits: u64, dtype: Dtype) -> PyResult<Bound<'_, PyAny>> {
    let float = |value: f64| PyFloat::new(py, value).into_any();
    // A kernel has written these bits of an element, and no others.
    let unused = 64 - u32::from(dtype.bits);
    Ok(match (dtype.code, dtype.bits) {
        (code::FLOAT, 64) => float(f64::from_bits(bits)),
        (code::FLOAT, 32) => float(f32::from_bits(bits as u32).into()),
        (code::FLOAT, _) => float(f16::from_bits(bits as u16).to_f32().into()),
        (code::BFLOAT, _) => float(bf16::from_bits(bits as u16).to_f32().into()),
        (code::BOOL, _) => PyBool::new(py, bits & 0xFF != 0).to_owned().into_any(),
        (code::INT, _) => ((bits << unused) as i64 >> unused)
            .into_pyobject(py)?
            .into_any(),
        _ => (bits << unused >> unused).into_pyobject(py)?.into_any(),
    })
}

/// Turns memory into an array of the kind of `like`, whose type has DLPack, or into a `memoryview`; where neither is
/// possible, the memory itself is the array.
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
        let memory = memory.cast_into::<Memory>()?;
        if !dlpack {
            let dtype = memory.get().dtype;
            // A `memoryview` cannot read floats of 16 bits.
            return match dtype.is_float() && dtype.size() == 2 {
                true => Ok(memory.into_ptr()),
                false => Ok(PyMemoryView::from(&memory)?.into_ptr()),
            };
        }
        let Some((namespace, from_dlpack)) = from_dlpack_of(&like) else {
            return Ok(memory.into_ptr());
        };
        match from_dlpack.call1((memory,)) {
            Ok(array) => Ok(array.into_ptr()),
            Err(cause) => Err(caused(
                Class::Error,
                format!("{namespace} does not take the result"),
                cause,
            )),
        }
    })
}

/// Returns the namespace of an array, by the array API's standard or else the package of its type, and its
/// `from_dlpack`, if there is one.
fn from_dlpack_of<'py>(like: &Bound<'py, PyAny>) -> Option<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
    let package = || {
        let module: String = like.get_type().getattr("__module__")?.extract()?;
        let package = module.split('.').next().unwrap_or_default().to_owned();
        PyResult::Ok(like.py().import(package)?.into_any())
    };
    let namespace = like.call_method0("__array_namespace__");
    let namespace = namespace.or_else(|_| package()).ok()?;
    let from_dlpack = namespace.getattr("from_dlpack").ok()?;
    Some((namespace, from_dlpack))
}
