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
use crate::errors::{Class, refuse};
use crate::operand::Operand;
use crate::order::Order;
use crate::output::Output;
use crate::tensor;

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
pub unsafe fn read_dtype(function: &str, object: *mut PyObject) -> PyResult<Dtype> {
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
}
