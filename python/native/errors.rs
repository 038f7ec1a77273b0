//! Exceptions and their texts.

use pyo3::exceptions::{PyException, PyMemoryError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

use diptych::tensor::Tensor;

/// The exceptions of this package.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// `diptych.Error`, the base of the others.
    Error,
    /// Shapes that do not fit: also a `ValueError`.
    Shape,
    /// Element types, and objects that are no arrays: also a `TypeError`.
    Dtype,
    /// Other values: axes, overlap, read-only memory; also a `ValueError`.
    Argument,
}

const CLASSES: [(Class, &str, &str, &str); 4] = [
    (
        Class::Error,
        "Error",
        "",
        "Base of the exceptions that Diptych raises. A call that raises has written nothing.",
    ),
    (
        Class::Shape,
        "ShapeError",
        "ValueError",
        "Shapes do not fit each other, the output or the operation.",
    ),
    (
        Class::Dtype,
        "DtypeError",
        "TypeError",
        "Element types differ or are not supported, or an argument is not the array, number or integer that it must be.",
    ),
    (
        Class::Argument,
        "ArgumentError",
        "ValueError",
        "An argument has a value that is not allowed: an axis out of range, read-only or overlapping memory.",
    ),
];

static TYPES: PyOnceLock<Vec<Py<PyType>>> = PyOnceLock::new();

/// Returns the exception types in the order of [`CLASSES`].
fn types(py: Python<'_>) -> PyResult<&'static Vec<Py<PyType>>> {
    TYPES.get_or_try_init(py, || {
        let metatype = py.get_type::<PyType>();
        let builtins = py.import("builtins")?;
        let mut types: Vec<Py<PyType>> = Vec::new();
        for (_, name, second, doc) in CLASSES {
            let bases = match types.first() {
                None => PyTuple::new(py, [py.get_type::<PyException>()])?,
                Some(base) => {
                    PyTuple::new(py, [base.bind(py).as_any(), &builtins.getattr(second)?])?
                }
            };
            let namespace = PyDict::new(py);
            namespace.set_item("__module__", "diptych")?;
            namespace.set_item("__doc__", doc)?;
            let class = metatype.call1((name, bases, namespace))?;
            types.push(class.cast_into::<PyType>()?.unbind());
        }
        Ok(types)
    })
}

/// Adds the exceptions to the module.
pub fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let types = types(module.py())?;
    for ((_, name, ..), class) in CLASSES.iter().zip(types) {
        module.add(*name, class)?;
    }
    Ok(())
}

/// Returns an exception with a text.
#[cold]
pub fn raise(class: Class, text: String) -> PyErr {
    Python::attach(|py| {
        let place = CLASSES.iter().position(|row| row.0 == class);
        match types(py) {
            Ok(types) => PyErr::from_type(types[place.unwrap_or(0)].bind(py).clone(), text),
            Err(error) => error,
        }
    })
}

/// As [`raise`], as the result of a call.
#[cold]
pub fn refuse<T>(class: Class, text: String) -> PyResult<T> {
    Err(raise(class, text))
}

/// Returns the exception where an object does not give its memory. What is out of a library's hands stays as it is:
/// `MemoryError`, `KeyboardInterrupt`.
#[cold]
pub fn unreadable(function: &str, name: &str, cause: PyErr) -> PyErr {
    let text = format!("{function}: {name} cannot be read");
    caused(Class::Argument, text, cause)
}

/// Returns an exception with a text that ends with the first line of its cause, which may have many.
#[cold]
pub fn caused(class: Class, text: String, cause: PyErr) -> PyErr {
    Python::attach(|py| {
        if cause.is_instance_of::<PyMemoryError>(py) || !cause.is_instance_of::<PyException>(py) {
            return cause;
        }
        let why = cause.value(py).to_string();
        let why = why.lines().next().unwrap_or_default();
        let error = raise(class, format!("{text}: {why}"));
        error.set_cause(py, Some(cause));
        error
    })
}

/// Returns the exception that is set.
#[cold]
pub fn fetch() -> PyErr {
    Python::attach(PyErr::fetch)
}

/// Returns the shape of a tensor as Python prints it.
///
/// # Safety
/// The shape of `tensor` has `ndim` elements.
pub unsafe fn shape_text(tensor: &Tensor) -> String {
    let ndim = tensor.ndim.max(0) as usize;
    if ndim == 0 {
        return shape_of(&[]);
    }
    // SAFETY: the caller's.
    shape_of(unsafe { std::slice::from_raw_parts(tensor.shape, ndim) })
}

/// Returns a shape as Python prints it.
pub fn shape_of(shape: &[i64]) -> String {
    match shape {
        [n] => format!("({n},)"),
        _ => {
            let sizes: Vec<String> = shape.iter().map(i64::to_string).collect();
            format!("({})", sizes.join(", "))
        }
    }
}
