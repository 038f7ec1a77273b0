//! Conversion between types.

use std::sync::Mutex;

use pyo3::ffi;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;
use pyo3::types::{PyString, PyType};

use super::{array, is_true};
use crate::arguments::{Arguments, functions};
use crate::call;
use crate::dtype::Dtype;
use crate::errors::{Class, explain, refuse};
use crate::operand::Operand;
use crate::output::Output;
use crate::shape::{Order, Shape, View, normal_axis};
use crate::{device, tensor};
use diptych::backend::tensor::{Location, Operand as Checked};

/// Types that have been read, by their objects, which stay alive: reading one takes a microsecond.
static KNOWN: Mutex<Vec<(Py<PyAny>, Dtype)>> = Mutex::new(Vec::new());

/// The most that are remembered.
const MOST_KNOWN: usize = 16;

fn known(object: *mut PyObject) -> Option<Dtype> {
    let known = KNOWN.lock().ok()?;
    let mut all = known.iter();
    all.find_map(|(one, dtype)| (one.as_ptr() == object).then_some(*dtype))
}

/// Remembers what an object means, if that cannot change.
fn remember(object: &Bound<'_, PyAny>, dtype: Dtype) {
    let of = object.get_type();
    let is_constant = object.is_instance_of::<PyString>()
        || object.is_instance_of::<PyType>()
        // NumPy's dtype and Float32DType, PyTorch's dtype.
        || of.name().is_ok_and(|name| name.to_string().to_lowercase().ends_with("dtype"));
    if let Ok(mut known) = KNOWN.lock()
        && is_constant
        && known.len() < MOST_KNOWN
    {
        known.push((object.clone().unbind(), dtype));
    }
}

/// Reads a type: its name, NumPy's or PyTorch's object for it, or a Python type.
unsafe fn read_dtype(function: &str, object: *mut PyObject) -> PyResult<Dtype> {
    if let Some(dtype) = known(object) {
        return Ok(dtype);
    }
    Python::attach(|py| {
        // SAFETY: the caller's.
        let object: Bound<'_, PyAny> = unsafe { Bound::from_borrowed_ptr(py, object) };
        let named = match object.getattr("name") {
            Ok(name) => name,
            Err(_) => object
                .getattr("__name__")
                .unwrap_or_else(|_| object.clone()),
        };
        let text = named.str()?.to_string();
        let name = match text.rsplit('.').next().unwrap_or_default() {
            "float" => "float64",
            "int" => "int64",
            name => name,
        };
        match Dtype::from_name(name) {
            Some(dtype) => {
                remember(&object, dtype);
                Ok(dtype)
            }
            None => refuse(
                Class::Dtype,
                format!(
                    "{function}: '{text}' is not an element type; float32, float64 and int64, for example, are"
                ),
            ),
        }
    })
}

/// # Safety
/// The GIL is held, the objects alive.
unsafe fn astype(function: &str, a: &Arguments) -> PyResult<*mut PyObject> {
    let mut x = Operand::new();
    let mut output = Output::new();
    // SAFETY: the caller's.
    unsafe {
        x.read(function, "x", a[0])?;
        array(function, "x", &x)?;
        let dtype = read_dtype(function, a[1])?;
        let copy = a[2].is_null() || is_true(a[2])?;
        if !copy && a[3].is_null() && dtype == x.dtype() {
            ffi::Py_INCREF(a[0]);
            return Ok(a[0]);
        }
        if a[3].is_null() {
            let order = Order::of(x.shape(), std::slice::from_ref(&x));
            output.make(function, &x, x.shape(), dtype, order.as_ref())?;
        } else {
            output.take_exact(function, a[3], x.shape(), dtype)?;
        }
        let work = x.bytes().saturating_add(output.operand.bytes());
        let release = call::prepare(work, &mut [&mut x, &mut output.operand]);
        let (x, out) = (&x, &output.operand);
        let arguments = || vec![("x", x), ("out", out)];
        call::run(function, release, out, arguments, |backend| {
            tensor::convert(backend, &x.tensor, &out.tensor)
        })?;
        output.finish()
    }
}

/// Returns the items of a sequence of arrays.
///
/// # Safety
/// The GIL is held, the object alive.
unsafe fn items_of(function: &str, list: *mut PyObject) -> PyResult<Vec<Py<PyAny>>> {
    // SAFETY: the caller's.
    let list = unsafe { Bound::from_borrowed_ptr(Python::assume_attached(), list) };
    let Ok(items) = list.try_iter() else {
        let class = list.get_type().name()?;
        return refuse(
            Class::Dtype,
            format!("{function}: arrays must be a sequence of arrays, not {class}"),
        );
    };
    items.map(|item| item.map(Bound::unbind)).collect()
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
    let mut parts: Vec<Operand> = items.iter().map(|_| Operand::new()).collect();
    let mut output = Output::new();
    // SAFETY: the caller's; `parts` is not moved any more.
    unsafe {
        for (i, (part, item)) in parts.iter_mut().zip(&items).enumerate() {
            read_part(function, i, part, item.as_ptr())?;
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
    let out = &*out;
    // SAFETY: the caller's.
    unsafe {
        for part in parts.iter() {
            check_part(function, part, out)?;
        }
        if out.is_on_device() {
            let parts = parts.iter().map(|part| ("arrays", part));
            device::check(function, &[("out", out)].into_iter().chain(parts).collect())?;
        }
        let mut from = 0;
        for part in parts.iter() {
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
    part.shape().iter().copied().fold(1, i64::saturating_mul)
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
    /// Convert the elements of x to another type.
    ///
    /// Parameters
    /// ----------
    /// x : array
    /// dtype : str or type object
    ///     'float32', 'float64', 'float16', 'bfloat16', an integer type such as 'int64', or NumPy's or
    ///     PyTorch's object for one.
    /// copy : bool
    ///     Whether the result is a new array also if x has the type already; if not, it is x then.
    /// out : array, optional
    ///     Where to write the result: an array of exactly its shape and type.
    ///
    /// Returns
    /// -------
    /// array
    ///     out, x, or a new array of the kind of x. Floats are rounded to nearest even; to an
    ///     integer they are truncated and saturate, NaN gives 0.
    ///
    /// Examples
    /// --------
    /// >>> import numpy as np, diptych
    /// >>> diptych.astype(np.array([1.5, 2.5]), 'float32')
    /// array([1.5, 2.5], dtype=float32)
    astype("x, dtype, *, copy=True, out=None") => |f, a| astype(f, a);

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
