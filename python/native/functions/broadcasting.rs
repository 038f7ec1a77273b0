//! How elementwise functions are called: numbers beside arrays, broadcasting, outputs, errors.

use diptych_gpu::Error;
use pyo3::ffi::PyObject;
use pyo3::prelude::*;

use super::{array, same_type};
use crate::call;
use crate::errors::{Class, raise, refuse};
use crate::explain::explain;
use crate::operand::{Named, Operand};
use crate::order::Order;
use crate::output::Output;
use crate::shape::Shape;
use crate::tensor::Backend;
use diptych::tensor::Tensor;

/// The names of the inputs.
pub type Names<const N: usize> = [&'static str; N];

/// An elementwise call: inputs that may be numbers, or absent (null) where the operation takes an `Option`.
///
/// # Safety
/// The GIL is held, the objects alive. The operation is an elementwise one of as many inputs.
#[inline(always)]
pub unsafe fn elementwise<const N: usize>(
    function: &str,
    names: Names<N>,
    objects: [*mut PyObject; N],
    out: *mut PyObject,
    operation: impl Fn(Backend<'_, '_>, [&Tensor; N], &Tensor) -> diptych_gpu::Result<()>,
) -> PyResult<*mut PyObject> {
    let mut inputs: [Operand; N] = std::array::from_fn(|_| Operand::new());
    let mut output = Output::new();
    // SAFETY: the caller's.
    unsafe {
        let first = read(function, names, objects, &mut inputs)?;
        if out.is_null() {
            let shape = broadcast(function, names, &inputs)?;
            let dtype = inputs[first].dtype();
            // A tensor without axes may be on the host beside those on a device.
            let is_beside = inputs[first].tensor.ndim == 0;
            let on_device = inputs
                .iter()
                .find(|input| is_beside && input.is_on_device());
            let first = on_device.unwrap_or(&inputs[first]);
            let shape = shape.as_slice();
            let order = Order::of(shape, &inputs);
            output.make(function, first, shape, dtype, order.as_ref())?;
        } else {
            output.take(function, "out", out)?;
            same_type(
                function,
                ("out", &output.operand),
                (names[first], &inputs[first]),
            )?;
        }
        run(function, names, &mut inputs, "out", &mut output, operation)?;
        output.finish()
    }
}

/// A call that changes one of its arguments, which it returns.
///
/// # Safety
/// As [`elementwise`].
pub unsafe fn in_place<const N: usize>(
    function: &str,
    names: Names<N>,
    objects: [*mut PyObject; N],
    changed: (&'static str, *mut PyObject),
    operation: impl Fn(Backend<'_, '_>, [&Tensor; N], &Tensor) -> diptych_gpu::Result<()>,
) -> PyResult<*mut PyObject> {
    let mut inputs: [Operand; N] = std::array::from_fn(|_| Operand::new());
    let mut output = Output::new();
    // SAFETY: the caller's.
    unsafe {
        output.take(function, changed.0, changed.1)?;
        for i in 0..N {
            inputs[i].read(function, names[i], objects[i])?;
            if inputs[i].is_number() {
                inputs[i].fit(function, names[i], output.operand.dtype())?;
            } else {
                same_type(
                    function,
                    (changed.0, &output.operand),
                    (names[i], &inputs[i]),
                )?;
            }
        }
        run(
            function,
            names,
            &mut inputs,
            changed.0,
            &mut output,
            operation,
        )?;
        output.finish()
    }
}

/// Reads the inputs, gives numbers the type of the arrays, and returns the place of the first array.
#[inline(always)]
unsafe fn read<const N: usize>(
    function: &str,
    names: Names<N>,
    objects: [*mut PyObject; N],
    inputs: &mut [Operand; N],
) -> PyResult<usize> {
    let mut first = None;
    let mut has_numbers = false;
    // SAFETY: the caller's.
    unsafe {
        for i in 0..N {
            if objects[i].is_null() {
                continue;
            }
            inputs[i].read(function, names[i], objects[i])?;
            if inputs[i].is_number() {
                has_numbers = true;
                continue;
            }
            match first {
                None => first = Some(i),
                Some(before) => {
                    same_type(
                        function,
                        (names[before], &inputs[before]),
                        (names[i], &inputs[i]),
                    )?;
                }
            }
        }
        let Some(first) = first else {
            array(function, names[0], &inputs[0])?;
            return Ok(0);
        };
        if has_numbers {
            let dtype = inputs[first].dtype();
            for i in 0..N {
                if inputs[i].is_number() && !objects[i].is_null() {
                    inputs[i].fit(function, names[i], dtype)?;
                }
            }
        }
        Ok(first)
    }
}

/// Returns the shape of the result.
fn broadcast<const N: usize>(
    function: &str,
    names: Names<N>,
    inputs: &[Operand; N],
) -> PyResult<Shape> {
    let mut shape = Shape::new(inputs[0].shape());
    for input in &inputs[1..] {
        if input.shape() != shape.as_slice() && !shape.broadcast(input.shape()) {
            return refuse(Class::Shape, mismatch(function, names, inputs));
        }
    }
    Ok(shape)
}

#[cold]
fn mismatch<const N: usize>(function: &str, names: Names<N>, inputs: &[Operand; N]) -> String {
    let shapes: Vec<String> = names
        .iter()
        .zip(inputs)
        .filter(|(_, input)| !input.object.is_null())
        .map(|(name, input)| format!("{name} {}", input.shape_text()))
        .collect();
    format!(
        "{function}: the shapes do not fit each other: {}",
        shapes.join(", ")
    )
}

/// # Safety
/// As [`elementwise`].
#[inline(always)]
unsafe fn run<const N: usize>(
    function: &str,
    names: Names<N>,
    inputs: &mut [Operand; N],
    out_name: &'static str,
    output: &mut Output,
    operation: impl Fn(Backend<'_, '_>, [&Tensor; N], &Tensor) -> diptych_gpu::Result<()>,
) -> PyResult<()> {
    let work = output.operand.bytes().saturating_mul(N as i64 + 1);
    let release = call::prepare(work, &mut [&mut output.operand]);
    if release {
        inputs.iter_mut().for_each(Operand::pin);
    }
    let inputs = &*inputs;
    let out = &output.operand;
    let arguments = || {
        let given = names.iter().copied().zip(inputs);
        let mut all: Named<'_> = vec![(out_name, out)];
        all.extend(given.filter(|(_, input)| !input.object.is_null()));
        all
    };
    // SAFETY: the caller's.
    let result = unsafe {
        call::attempt(function, release, out, &arguments, |backend| {
            operation(
                backend,
                std::array::from_fn(|i| &inputs[i].tensor),
                &out.tensor,
            )
        })?
    };
    result.map_err(|error| match error {
        Error::Argument(diptych::Error::ShapeMismatch { .. }) => {
            shape_error(function, names, inputs, out_name, out)
        }
        // SAFETY: operands that were read.
        _ => unsafe { explain(function, error, &arguments()) },
    })
}

#[cold]
fn shape_error<const N: usize>(
    function: &str,
    names: Names<N>,
    inputs: &[Operand; N],
    out_name: &'static str,
    output: &Operand,
) -> PyErr {
    match broadcast(function, names, inputs) {
        Err(error) => error,
        Ok(shape) => raise(
            Class::Shape,
            format!(
                "{function}: {out_name} has the shape {}, the result {}",
                output.shape_text(),
                crate::errors::shape_of(shape.as_slice())
            ),
        ),
    }
}
