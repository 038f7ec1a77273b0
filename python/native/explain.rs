//! Refusals of the kernels as exceptions that name all arguments.

use diptych::Error as Refusal;
use diptych::tensor::Tensor;
use diptych_gpu::Error;
use pyo3::exceptions::PyMemoryError;
use pyo3::prelude::*;

use crate::dlpack::device_name;
use crate::dtype::{Dtype, code};
use crate::errors::{Class, raise, shape_text};
use crate::operand::Operand;

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
            (Class::Dtype, unfit_types(refusal, &arguments))
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
        "{arg} overlaps another argument or itself; an output may be exactly an input of an elementwise function or of \
         a map over rows, and nothing else"
    )
}

/// Says what is wrong with the types of elements.
fn unfit_types(refusal: Refusal, arguments: &[(&str, &Tensor)]) -> String {
    let of = |tensor: &Tensor| Dtype::new(tensor.dtype_code, tensor.dtype_bits);
    let first = arguments.first().map(|(_, tensor)| of(tensor));
    // A product of bytes has a result of another type, and so have reductions.
    let is_of_first = matches!(refusal, Refusal::UnsupportedType { arg: "x" });
    match first {
        Some(first) if is_of_first || arguments.iter().all(|(_, tensor)| of(tensor) == first) => {
            let advice = match first.code {
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
