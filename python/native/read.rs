//! Reading the arguments of a function.

use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use crate::dlpack::{CPU, CUDA, CUDA_HOST, CUDA_MANAGED, device_name};
use crate::dtype::Dtype;
use crate::errors::{Class, refuse};
use crate::operand::{Kind, Operand};
use crate::{foreign, number, numpy};

impl Operand {
    /// Reads an argument of a function.
    ///
    /// # Safety
    /// The GIL is held; `object` lives as long as the operand.
    #[inline(always)]
    pub unsafe fn read(
        &mut self,
        function: &str,
        name: &str,
        object: *mut PyObject,
    ) -> PyResult<()> {
        self.object = object;
        // SAFETY: the caller's; exact NumPy arrays have NumPy's layout.
        unsafe {
            if ffi::Py_TYPE(object) == numpy::array_type() {
                return numpy::read(self, function, name);
            }
            self.read_other(function, name)
        }
    }

    /// # Safety
    /// As [`Operand::read`].
    #[inline(never)]
    unsafe fn read_other(&mut self, function: &str, name: &str) -> PyResult<()> {
        // SAFETY: the caller's.
        unsafe {
            let object = self.object;
            if number::is_number(object) {
                self.kind = Kind::Number;
                return Ok(());
            }
            foreign::read(self, function, name)?;
        }
        self.check_device(function, name)
    }

    fn check_device(&self, function: &str, name: &str) -> PyResult<()> {
        let device = self.tensor.device_type;
        if matches!(device, CPU | CUDA | CUDA_HOST | CUDA_MANAGED) {
            return Ok(());
        }
        refuse(
            Class::Argument,
            format!(
                "{function}: {name} is in {} memory; diptych takes arrays in host memory and on CUDA devices",
                device_name(device)
            ),
        )
    }

    /// Reads an argument that is written.
    ///
    /// # Safety
    /// As [`Operand::read`].
    #[inline(always)]
    pub unsafe fn read_output(
        &mut self,
        function: &str,
        name: &str,
        object: *mut PyObject,
    ) -> PyResult<()> {
        // SAFETY: the caller's.
        unsafe { self.read(function, name, object) }?;
        if self.read_only || self.is_number() {
            return self.refuse_output(function, name);
        }
        Ok(())
    }

    #[cold]
    fn refuse_output(&self, function: &str, name: &str) -> PyResult<()> {
        if self.is_number() {
            return refuse(
                Class::Dtype,
                format!("{function}: {name} must be an array, not a number"),
            );
        }
        refuse(Class::Argument, format!("{function}: {name} is read-only"))
    }

    /// Makes a number an element of a type.
    ///
    /// # Safety
    /// The GIL is held. The operand is a number.
    pub unsafe fn fit(&mut self, function: &str, name: &str, dtype: Dtype) -> PyResult<()> {
        // SAFETY: the caller's.
        let value = unsafe { number::element(function, name, self.object, dtype) }?;
        self.set_value(value, dtype);
        Ok(())
    }
}
