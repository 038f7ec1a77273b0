//! Exceptions and their texts.

use diptych::Error as Refusal;
use diptych_gpu::Error;
use pyo3::exceptions::{PyException, PyMemoryError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::dlpack::device_name;
use crate::dtype::{Dtype, code};
use crate::operand::Operand;
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

/// Turns a refusal of the kernels into an exception that names all arguments.
///
/// # Safety
/// The shapes of the tensors have `ndim` elements.
#[cold]
pub unsafe fn explain(
    function: &str,
    error: Error,
    arguments: &[(&'static str, &Operand)],
) -> PyErr {
    let Error::Argument(refusal) = error else {
        let class = match error {
            Error::OutOfMemory => return PyMemoryError::new_err(error.to_string()),
            Error::HostPointer { .. }
            | Error::MixedPointers { .. }
            | Error::WrongContext { .. } => Class::Argument,
            _ => Class::Error,
        };
        return raise(class, format!("{function}: {error}"));
    };
    let is_on_device = arguments.iter().any(|(_, operand)| operand.is_on_device());
    let arguments: Vec<(&str, &Tensor)> = arguments
        .iter()
        .map(|(name, operand)| (*name, &operand.tensor))
        .collect();
    let (class, text) = match refusal {
        Refusal::ShapeMismatch { .. } | Refusal::EmptyReduction { .. } => (
            Class::Shape,
            // SAFETY: the caller's.
            format!("{refusal}; {}", unsafe { shapes(&arguments) }),
        ),
        Refusal::Overlap { arg } => (Class::Argument, overlap(arg, &arguments)),
        Refusal::InvalidValue { arg: "ddof" } => {
            let rule = "ddof must be at least 0 and less than the number of elements that each result is of";
            // SAFETY: the caller's.
            let shapes = unsafe { shapes(&arguments) };
            (Class::Argument, format!("{rule}; {shapes}"))
        }
        Refusal::Unsupported { arg } if is_on_device => {
            (Class::Argument, unsupported_on_device(arg, &arguments))
        }
        Refusal::WorkspaceTooSmall { needed } => {
            let text = format!(
                "the call needs {needed} bytes of scratch memory, more than the library has of its own; for arrays whose \
                 type has DLPack's exchange API, such as PyTorch's, their framework allocates it"
            );
            (Class::Argument, text)
        }
        Refusal::OutOfMemory => return PyMemoryError::new_err("out of memory"),
        Refusal::LevelUnavailable => (Class::Error, refusal.to_string()),
        Refusal::TypeMismatch { .. } | Refusal::UnsupportedType { .. } => {
            (Class::Dtype, unfit_types(refusal, is_on_device, &arguments))
        }
        _ => (Class::Argument, refusal.to_string()),
    };
    raise(class, format!("{function}: {text}"))
}

/// Says something about each argument.
fn list(arguments: &[(&str, &Tensor)], what: impl Fn(&Tensor) -> String) -> String {
    let each: Vec<String> = arguments
        .iter()
        .map(|(name, tensor)| format!("{name} {}", what(tensor)))
        .collect();
    each.join(", ")
}

/// Says what the shapes are.
///
/// # Safety
/// As [`explain`].
unsafe fn shapes(arguments: &[(&str, &Tensor)]) -> String {
    // SAFETY: the caller's.
    let shapes = list(arguments, |tensor| unsafe { shape_text(tensor) });
    format!("the shapes are {shapes}")
}

/// Says that an output overlaps something.
fn overlap(arg: &str, arguments: &[(&str, &Tensor)]) -> String {
    // The kernels' names for the output differ.
    let known = arguments.iter().any(|(name, _)| *name == arg);
    let arg = if known { arg } else { "out" };
    format!(
        "{arg} overlaps another argument or itself; an output may be exactly an input of an elementwise function, and \
         nothing else"
    )
}

/// Says what is wrong with the types of elements.
fn unfit_types(refusal: Refusal, is_on_device: bool, arguments: &[(&str, &Tensor)]) -> String {
    let of = |tensor: &Tensor| Dtype::new(tensor.dtype_code, tensor.dtype_bits);
    let first = arguments.first().map(|(_, tensor)| of(tensor));
    match first {
        Some(first) if arguments.iter().all(|(_, tensor)| of(tensor) == first) => {
            let advice = match first.code {
                _ if is_on_device => " on CUDA devices",
                code::INT | code::UINT => "; diptych.astype converts them",
                code::BOOL => "; convert them with NumPy or PyTorch first",
                _ => "",
            };
            format!("arrays of type {first} are not supported{advice}")
        }
        _ => {
            let types = list(arguments, |tensor| of(tensor).to_string());
            format!("{refusal}; the types are {types}")
        }
    }
}

/// Says what a call on a device lacks.
fn unsupported_on_device(arg: &str, arguments: &[(&str, &Tensor)]) -> String {
    /// The operations' names of arguments that have others in Python.
    const NAMES: [(&str, &str); 6] = [
        ("lo", "min"),
        ("hi", "max"),
        ("a", "x"),
        ("b", "y"),
        ("c", "out"),
        ("x", "arrays"),
    ];
    let is_known = |name: &str| arguments.iter().any(|(known, _)| *known == name);
    let other = NAMES
        .iter()
        .find(|(own, name)| *own == arg && is_known(name));
    let name = match other {
        Some((_, name)) if !is_known(arg) => name,
        _ => arg,
    };
    match arg {
        "alpha" | "lo" | "hi" | "value" => {
            format!("{name} must be a number, or an array without axes in host memory")
        }
        _ => {
            let place = |tensor: &Tensor| format!("in {} memory", device_name(tensor.device_type));
            let places = list(arguments, place);
            format!("arrays must all be in CUDA memory, or none of them; {places}")
        }
    }
}
