//! Outputs: the array given with `out=`, or a new one of the first array's kind.

use std::ptr;

use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use crate::device::cannot_allocate;
use crate::dtype::Dtype;
use crate::errors::{Class, refuse, shape_of};
use crate::memory::{self, Memory};
use crate::operand::{Kind, Operand};
use crate::order::Order;
use crate::{exchange, numpy};

/// An output. A single element lies in it, so it must not be moved after [`Output::prepare`].
pub struct Output {
    pub operand: Operand,
    /// What the call returns; null for a single element, which becomes an object at the end.
    object: *mut PyObject,
    /// The array whose kind the memory of this package becomes at the end.
    like: *mut PyObject,
}

impl Output {
    #[inline(always)]
    pub fn new() -> Self {
        Self {
            operand: Operand::new(),
            object: ptr::null_mut(),
            like: ptr::null_mut(),
        }
    }

    /// Takes an array that the caller has given.
    ///
    /// # Safety
    /// The GIL is held, the object alive.
    #[inline(always)]
    pub unsafe fn take(
        &mut self,
        function: &str,
        name: &str,
        object: *mut PyObject,
    ) -> PyResult<()> {
        // SAFETY: the caller's; the reference is returned or released when this is dropped.
        unsafe {
            self.operand.read_output(function, name, object)?;
            ffi::Py_INCREF(object);
        }
        self.object = object;
        Ok(())
    }

    /// As [`Output::take`], for a result of a known shape and type.
    ///
    /// # Safety
    /// As [`Output::take`].
    pub unsafe fn take_exact(
        &mut self,
        function: &str,
        object: *mut PyObject,
        shape: &[i64],
        dtype: Dtype,
    ) -> PyResult<()> {
        // SAFETY: the caller's.
        unsafe { self.take(function, "out", object) }?;
        self.check_exact(function, shape, dtype)
    }

    /// Refuses an array of another shape or type than that of the result.
    pub fn check_exact(&self, function: &str, shape: &[i64], dtype: Dtype) -> PyResult<()> {
        if self.operand.dtype() != dtype {
            return refuse(
                Class::Dtype,
                format!(
                    "{function}: out has the type {}, the result {dtype}",
                    self.operand.dtype()
                ),
            );
        }
        self.check_shape(function, shape)
    }

    /// Refuses an array of another shape than that of the result.
    pub fn check_shape(&self, function: &str, shape: &[i64]) -> PyResult<()> {
        if self.operand.shape() != shape {
            return refuse(
                Class::Shape,
                format!(
                    "{function}: out has the shape {}, the result {}",
                    self.operand.shape_text(),
                    shape_of(shape)
                ),
            );
        }
        Ok(())
    }

    /// Makes an array of the kind of `first`; `order`: unless it is row-major, as memory of this package always is.
    ///
    /// # Safety
    /// The GIL is held; the object of `first` is alive.
    #[inline(always)]
    pub unsafe fn make(
        &mut self,
        function: &str,
        first: &Operand,
        shape: &[i64],
        dtype: Dtype,
        order: Option<&Order>,
    ) -> PyResult<()> {
        let operand = &mut self.operand;
        operand.kind = first.kind;
        operand.stream = first.stream;
        // SAFETY: the caller's.
        unsafe {
            match first.kind {
                Kind::Exchange(api) => {
                    self.object = exchange::empty(api, shape, dtype, order, first.place(), operand)
                        .map_err(|error| exchange::without_memory(function, "the result", error))?;
                }
                _ if first.is_on_device() => return Err(cannot_allocate(function)),
                Kind::Numpy | Kind::Buffer | Kind::Number if shape.is_empty() => {
                    operand.point_at_value(dtype);
                }
                Kind::Numpy => {
                    self.object = numpy::empty(shape, dtype, order)?;
                    operand.object = self.object;
                    numpy::read(operand, function, "out")?;
                }
                _ => self.make_memory(first, shape, dtype)?,
            }
        }
        Ok(())
    }

    #[cold]
    fn make_memory(&mut self, first: &Operand, shape: &[i64], dtype: Dtype) -> PyResult<()> {
        Python::attach(|py| {
            let memory = Bound::new(py, Memory::new(shape, dtype)?)?;
            self.operand.tensor = memory.borrow().tensor();
            self.operand.set_shape(shape);
            self.object = memory.into_ptr();
            self.like = first.object;
            Ok(())
        })
    }

    /// As [`Output::take_exact`] if the caller has given an array, else [`Output::make`].
    ///
    /// # Safety
    /// As both.
    #[inline(always)]
    pub unsafe fn prepare(
        &mut self,
        function: &str,
        first: &Operand,
        shape: &[i64],
        dtype: Dtype,
        object: *mut PyObject,
    ) -> PyResult<()> {
        // SAFETY: the caller's.
        unsafe {
            if object.is_null() {
                self.make(function, first, shape, dtype, None)
            } else {
                self.take_exact(function, object, shape, dtype)
            }
        }
    }

    /// Returns a new reference to the result.
    ///
    /// # Safety
    /// The GIL is held.
    #[inline(always)]
    pub unsafe fn finish(&mut self) -> PyResult<*mut PyObject> {
        let object = std::mem::replace(&mut self.object, ptr::null_mut());
        if object.is_null() {
            let (value, dtype) = (self.operand.value(), self.operand.dtype());
            if matches!(self.operand.kind, Kind::Numpy) {
                // SAFETY: the caller's; NumPy was found when an operand was read.
                return unsafe { numpy::scalar(value, dtype) };
            }
            // SAFETY: the caller's.
            let py = unsafe { Python::assume_attached() };
            return Ok(memory::number(py, value, dtype)?.into_ptr());
        }
        if self.like.is_null() {
            return Ok(object);
        }
        // SAFETY: the reference made with the memory; `like` is alive during the call.
        unsafe { memory::convert(object, self.like, matches!(self.operand.kind, Kind::Dlpack)) }
    }
}

impl Drop for Output {
    #[inline(always)]
    fn drop(&mut self) {
        if !self.object.is_null() {
            // SAFETY: outputs are dropped with the GIL held, and own this reference.
            unsafe { ffi::Py_DECREF(self.object) };
        }
    }
}
