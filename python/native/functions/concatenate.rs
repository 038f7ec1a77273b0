//! Arrays joined along an axis.

use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::array;
use super::convert::read_dtype;
use crate::arguments::{Arguments, functions};
use crate::call;
use crate::device;
use crate::dlpack::CPU;
use crate::errors::{Class, refuse};
use crate::explain::explain;
use crate::operand::Operand;
use crate::output::Output;
use crate::shape::{Shape, View, normal_axis};
use crate::tensor;
use diptych::backend::tensor::{Location, Operand as Checked};

/// Returns the items of a sequence of arrays.
///
/// # Safety
/// The GIL is held, the object alive.
unsafe fn items_of<'py>(function: &str, list: *mut PyObject) -> PyResult<Bound<'py, PyTuple>> {
    // SAFETY: the caller's.
    unsafe {
        let py = Python::assume_attached();
        let list = Bound::from_borrowed_ptr(py, list);
        let Ok(items) = list.try_iter() else {
            let class = list.get_type().name()?;
            return refuse(
                Class::Dtype,
                format!("{function}: arrays must be a sequence of arrays, not {class}"),
            );
        };
        let items = Bound::from_owned_ptr_or_err(py, ffi::PySequence_Tuple(items.as_ptr()))?;
        Ok(items.cast_into_unchecked())
    }
}

/// Reads the axis along which arrays are joined; none to join all elements.
///
/// # Safety
/// The GIL is held, the object NULL or alive.
unsafe fn read_axis(
    function: &str,
    object: *mut PyObject,
    first: &Operand,
) -> PyResult<Option<usize>> {
    let ndim = first.shape().len();
    // SAFETY: the caller's.
    unsafe {
        match object.is_null() {
            true if ndim > 0 => Ok(Some(0)),
            true => refuse(Class::Shape, format!("{function}: arrays[0] has no axes")),
            false if object == ffi::Py_None() => Ok(None),
            false => Ok(Some(normal_axis(function, object, ndim)?)),
        }
    }
}

/// # Safety
/// The GIL is held, the objects alive.
unsafe fn concatenate(function: &str, a: &Arguments) -> PyResult<*mut PyObject> {
    // SAFETY: the caller's.
    let items = unsafe { items_of(function, a[0])? };
    let mut parts: Vec<Operand> = (0..items.len()).map(|_| Operand::new()).collect();
    let mut output = Output::new();
    // SAFETY: the caller's; `parts` is not moved any more, and the tuple keeps the items alive.
    unsafe {
        for (i, part) in parts.iter_mut().enumerate() {
            let item = ffi::PyTuple_GetItem(items.as_ptr(), i as isize);
            read_part(function, i, part, item)?;
        }
        let Some(first) = parts.first() else {
            return refuse(
                Class::Argument,
                format!("{function}: there are no arrays to join"),
            );
        };
        let axis = read_axis(function, a[1], first)?;
        let shape = match axis {
            Some(axis) => joined(function, &parts, axis)?,
            None => Shape::new(&[parts.iter().map(elements).fold(0, i64::saturating_add)]),
        };
        let dtype = if a[2].is_null() {
            for (i, part) in parts.iter().enumerate() {
                one_type(function, first, i, part)?;
            }
            first.dtype()
        } else {
            read_dtype(function, a[2])?
        };
        output.prepare(function, first, shape.as_slice(), dtype, a[3])?;
        join(function, &mut parts, axis, &mut output.operand)?;
        output.finish()
    }
}

/// Reads an array to join.
///
/// # Safety
/// The GIL is held; the object lives as long as the operand.
unsafe fn read_part(
    function: &str,
    i: usize,
    part: &mut Operand,
    object: *mut PyObject,
) -> PyResult<()> {
    let mut read = |name: &str| {
        *part = Operand::new();
        // SAFETY: the caller's.
        unsafe { part.read(function, name, object) }?;
        array(function, name, part)
    };
    // A name takes longer to make than an array to read, and only errors need it.
    read("arrays").or_else(|_| read(&format!("arrays[{i}]")))
}

/// Bytes of a part that is worth the threads of a call of its own.
const LARGE: i64 = 256 << 10;

/// Copies the parts to their places in the result.
///
/// # Safety
/// The GIL is held; the operands have been read.
unsafe fn join(
    function: &str,
    parts: &mut [Operand],
    axis: Option<usize>,
    out: &mut Operand,
) -> PyResult<()> {
    let release = call::prepare(out.bytes(), &mut [&mut *out]);
    if release {
        parts.iter_mut().for_each(Operand::pin);
    }
    let (parts, out) = (&*parts, &*out);
    // SAFETY: the caller's.
    unsafe {
        let each = out.bytes() / parts.len().max(1) as i64;
        if each < LARGE && are_dense(parts, out) {
            let arguments = || vec![("out", out)];
            return call::run(function, release, out, arguments, |_| {
                join_dense(parts, axis.unwrap_or(0), out);
                Ok(())
            });
        }
        for part in parts {
            check_part(function, part, out)?;
        }
        if out.is_on_device() {
            let parts = parts.iter().map(|part| ("arrays", part));
            device::check(function, &[("out", out)].into_iter().chain(parts).collect())?;
        }
        let mut from = 0;
        for part in parts {
            let mut view = View::new(out);
            let len = match axis {
                Some(axis) => part.shape()[axis],
                None => elements(part),
            };
            view.narrow(axis.unwrap_or(0), from, len);
            from += len;
            if axis.is_none() {
                view.unflatten(part.shape());
            }
            let to = view.tensor();
            let arguments = || vec![("arrays", part), ("out", out)];
            call::run(function, release, out, arguments, |backend| {
                tensor::convert(backend, &part.tensor, &to)
            })?;
        }
    }
    Ok(())
}

/// Returns the product of sizes.
fn product(sizes: &[i64]) -> i64 {
    sizes.iter().copied().fold(1, i64::saturating_mul)
}

/// Returns whether the parts and the result have one type, lie in host memory in row-major order without gaps, and the
/// parts apart from the result.
fn are_dense(parts: &[Operand], out: &Operand) -> bool {
    let range = |operand: &Operand| {
        let first = operand.first().addr();
        first..first.saturating_add(operand.bytes() as usize)
    };
    let dense = |operand: &Operand| {
        let is_alike = operand.tensor.device_type == CPU && operand.dtype() == out.dtype();
        is_alike && operand.is_dense()
    };
    let to = range(out);
    let fits = |part: &Operand| {
        let from = range(part);
        dense(part) && (from.end <= to.start || to.end <= from.start)
    };
    dense(out) && parts.iter().all(fits)
}

/// Copies [dense](are_dense) parts.
///
/// # Safety
/// They have been read, and fit the result.
unsafe fn join_dense(parts: &[Operand], axis: usize, out: &Operand) {
    let size = out.dtype().size() as usize;
    let (outer, inner) = out.shape().split_at(axis);
    let (rows, pitch) = (product(outer) as usize, product(inner) as usize * size);
    let mut to = out.first();
    for part in parts {
        let from = part.first();
        let len = (elements(part) as usize * size)
            .checked_div(rows)
            .unwrap_or(0);
        for row in 0..rows {
            let (from, to) = (from.wrapping_add(row * len), to.wrapping_add(row * pitch));
            // SAFETY: the parts and their places in the result have these bytes, apart from each other.
            unsafe { std::ptr::copy_nonoverlapping(from, to, len) };
        }
        to = to.wrapping_add(len);
    }
}

/// Refuses, before anything is written, an array that is not where the result is, or overlaps it.
///
/// # Safety
/// Both have been read.
unsafe fn check_part(function: &str, part: &Operand, out: &Operand) -> PyResult<()> {
    // SAFETY: the caller's.
    unsafe {
        let memory = if out.is_on_device() {
            Location::Device
        } else {
            Location::Host
        };
        let to = Checked::in_memory(&out.tensor, "out", memory);
        let checked = to.and_then(|to| {
            let part = Checked::in_memory(&part.tensor, "arrays", memory)?;
            to.apart_from(&part)
        });
        checked.map_err(|error| explain(function, error.into(), &[("arrays", part), ("out", out)]))
    }
}

/// Refuses arrays of two types where no type of the result is given: it would be a guess.
fn one_type(function: &str, first: &Operand, i: usize, part: &Operand) -> PyResult<()> {
    if part.dtype() == first.dtype() {
        return Ok(());
    }
    refuse(
        Class::Dtype,
        format!(
            "{function}: arrays[0] has the type {}, arrays[{i}] {}; dtype= says which the result has",
            first.dtype(),
            part.dtype()
        ),
    )
}

/// Returns the number of elements.
fn elements(part: &Operand) -> i64 {
    product(part.shape())
}

/// Returns the shape of arrays joined along an axis.
fn joined(function: &str, parts: &[Operand], axis: usize) -> PyResult<Shape> {
    let first = parts[0].shape();
    let mut total = 0_i64;
    for (i, part) in parts.iter().enumerate() {
        let shape = part.shape();
        let fits = shape.len() == first.len()
            && (0..first.len()).all(|place| place == axis || shape[place] == first[place]);
        if !fits {
            return refuse(
                Class::Shape,
                format!(
                    "{function}: arrays[0] {} and arrays[{i}] {} differ in more than axis {axis}",
                    parts[0].shape_text(),
                    part.shape_text()
                ),
            );
        }
        total = total.saturating_add(shape[axis]);
    }
    let mut shape = Shape::EMPTY;
    for (place, size) in first.iter().enumerate() {
        shape.push(if place == axis { total } else { *size });
    }
    Ok(shape)
}

functions! {
    /// Join arrays along an axis, converting them on the way.
    ///
    /// Parameters
    /// ----------
    /// arrays : sequence of arrays
    ///     Of one shape, except along axis; of one type, unless dtype is given.
    /// axis : int or None
    ///     None joins all elements, each array's in row-major order, to an array of one axis.
    /// dtype : str or type object, optional
    ///     The type of the result; by default that of the arrays.
    /// out : array, optional
    ///     Where to write the result: an array of exactly its shape and type.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, diptych
    /// >>> frames = [np.array([[1, 2]], np.uint8), np.array([[3, 4]], np.uint8)]
    /// >>> diptych.concatenate(frames, dtype='float32')
    /// array([[1., 2.],
    ///        [3., 4.]], dtype=float32)
    concatenate("arrays, *, axis=0, dtype=None, out=None") => |f, a| concatenate(f, a);
}
