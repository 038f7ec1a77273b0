//! What gemm does to a product after it: factors of rows and columns, a bias, bounds.

use std::ptr;

use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use super::super::{array, same_type};
use super::gemm::number;
use super::types::Family;
use crate::dtype::Dtype;
use crate::errors::{Class, refuse};
use crate::operand::{Named, Operand};
use diptych::tensor;

/// The arrays as read; a number as bias lies in its operand, so this must not be moved after [`Epilogue::read`].
pub struct Epilogue {
    bias: Option<Operand>,
    row_scale: Option<Operand>,
    column_scale: Option<Operand>,
    clamp: Option<(f64, f64)>,
}

impl Epilogue {
    #[inline(always)]
    pub fn new() -> Self {
        Self {
            bias: None,
            row_scale: None,
            column_scale: None,
            clamp: None,
        }
    }

    /// Reads the arguments bias, clip, `row_scale` and `column_scale` for a product with the first factor `a`.
    ///
    /// # Safety
    /// The GIL is held, the objects alive.
    pub unsafe fn read(
        &mut self,
        function: &str,
        a: &Operand,
        [bias, clip, row_scale, column_scale]: [*mut PyObject; 4],
    ) -> PyResult<()> {
        // SAFETY: the caller's.
        unsafe {
            self.clamp = read_clip(function, clip)?;
            if !bias.is_null() {
                read_bias(function, a, bias, self.bias.insert(Operand::new()))?;
            }
            for (name, object, scale) in [
                ("row_scale", row_scale, &mut self.row_scale),
                ("column_scale", column_scale, &mut self.column_scale),
            ] {
                if !object.is_null() {
                    read_scale(function, a, (name, object), scale.insert(Operand::new()))?;
                }
            }
        }
        Ok(())
    }

    /// Returns the type of a result that nobody has given: `float32` for bytes with an array of this type beside them.
    #[inline(always)]
    pub fn result(&self, a: &Operand) -> Dtype {
        let family = Family::of(a.dtype());
        let is_bare =
            self.bias.is_none() && self.row_scale.is_none() && self.column_scale.is_none();
        if family == Family::Bytes && !is_bare {
            return Dtype::F32;
        }
        family.result(a.dtype())
    }

    /// Refuses what a result of integers cannot have.
    #[inline(always)]
    pub fn check(
        &self,
        function: &str,
        (alpha, beta): (f64, f64),
        a: &Operand,
        result: Dtype,
    ) -> PyResult<()> {
        let family = Family::of(a.dtype());
        let has_integers = family == Family::Integers || family == Family::Bytes;
        if !has_integers || result.is_float() {
            return Ok(());
        }
        self.check_integers(function, (alpha, beta), result)
    }

    #[cold]
    fn check_integers(
        &self,
        function: &str,
        (alpha, beta): (f64, f64),
        result: Dtype,
    ) -> PyResult<()> {
        let refuse = |class, what| {
            let text = format!("{function}: {what} where the result has the type {result}");
            refuse(class, text)
        };
        for (is_given, what) in [
            (self.bias.is_some(), "bias cannot be added"),
            (self.row_scale.is_some(), "row_scale cannot be applied"),
            (
                self.column_scale.is_some(),
                "column_scale cannot be applied",
            ),
            (self.clamp.is_some(), "clip cannot be applied"),
        ] {
            if is_given {
                return refuse(Class::Dtype, what);
            }
        }
        if alpha != 1.0 {
            return refuse(Class::Argument, "alpha must be 1");
        }
        if beta != 0.0 && beta != 1.0 {
            return refuse(Class::Argument, "beta must be 0 or 1");
        }
        Ok(())
    }

    /// Copies the shapes and strides, so that they stay valid without the GIL.
    pub fn pin(&mut self) {
        let all = [&mut self.bias, &mut self.row_scale, &mut self.column_scale];
        all.into_iter().flatten().for_each(Operand::pin);
    }

    /// Adds the arrays that are given.
    pub fn list<'a>(&'a self, arguments: &mut Named<'a>) {
        for (name, operand) in [
            ("bias", &self.bias),
            ("row_scale", &self.row_scale),
            ("column_scale", &self.column_scale),
        ] {
            arguments.extend(operand.iter().map(|operand| (name, operand)));
        }
    }

    /// Returns it as the kernels take it; `None` if nothing follows the product.
    #[inline(always)]
    pub fn of_kernels(&self) -> Option<tensor::Epilogue<'_>> {
        let tensor = |operand| Option::as_ref(operand).map(|operand: &Operand| &operand.tensor);
        let epilogue = tensor::Epilogue {
            bias: tensor(&self.bias),
            clamp: self.clamp,
            row_scale: tensor(&self.row_scale),
            column_scale: tensor(&self.column_scale),
        };
        let arrays = [epilogue.bias, epilogue.row_scale, epilogue.column_scale];
        let is_empty = self.clamp.is_none() && arrays.iter().all(Option::is_none);
        (!is_empty).then_some(epilogue)
    }
}

/// # Safety
/// The GIL is held, the object alive.
unsafe fn read_bias(
    function: &str,
    a: &Operand,
    object: *mut PyObject,
    bias: &mut Operand,
) -> PyResult<()> {
    let first = a.dtype();
    let may_be_wide = Family::of(first).may_widen();
    // SAFETY: the caller's.
    unsafe {
        bias.read(function, "bias", object)?;
        if bias.is_number() {
            let dtype = if may_be_wide { Dtype::F32 } else { first };
            bias.fit(function, "bias", dtype)?;
        }
    }
    let given = bias.dtype();
    if may_be_wide && given == Dtype::F32 {
        return Ok(());
    }
    if Family::of(first) == Family::Bytes {
        let text =
            format!("{function}: bias has the type {given}; beside a of {first} it has float32");
        return refuse(Class::Dtype, text);
    }
    same_type(function, ("a", a), ("bias", bias))
}

/// # Safety
/// The GIL is held, the object alive.
unsafe fn read_scale(
    function: &str,
    a: &Operand,
    (name, object): (&str, *mut PyObject),
    scale: &mut Operand,
) -> PyResult<()> {
    // SAFETY: the caller's.
    unsafe { scale.read(function, name, object) }?;
    array(function, name, scale)?;
    let (first, given) = (a.dtype(), scale.dtype());
    let why = if Family::of(first) != Family::Bytes {
        format!("{name} is for products of int8 and uint8, and a has the type {first}")
    } else if given != Dtype::F32 {
        format!("{name} has the type {given}; it must have float32")
    } else {
        return Ok(());
    };
    refuse(Class::Dtype, format!("{function}: {why}"))
}

/// Reads `clip`: a pair of bounds, each of which may be None.
unsafe fn read_clip(function: &str, object: *mut PyObject) -> PyResult<Option<(f64, f64)>> {
    if object.is_null() {
        return Ok(None);
    }
    let mut bounds = [f64::NEG_INFINITY, f64::INFINITY];
    // SAFETY: the caller's.
    unsafe {
        if ffi::PyTuple_Check(object) == 0 || ffi::PyTuple_Size(object) != 2 {
            return refuse(
                Class::Argument,
                format!("{function}: clip must be a pair (min, max)"),
            );
        }
        for (i, bound) in bounds.iter_mut().enumerate() {
            let item = ffi::PyTuple_GetItem(object, i as isize);
            let item = if item == ffi::Py_None() {
                ptr::null_mut()
            } else {
                item
            };
            *bound = number(function, "clip", item, *bound)?;
        }
    }
    Ok(Some((bounds[0], bounds[1])))
}
