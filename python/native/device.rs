//! Calls on arrays in CUDA memory: on the stream of the arrays, without waiting for it.

use std::ffi::c_void;
use std::ptr;

use diptych_gpu::Error;
use diptych_gpu::driver::{self, Arguments, Launcher};
use pyo3::ffi;
use pyo3::prelude::*;

use crate::batches;
use crate::dtype::Dtype;
use crate::errors::{Class, raise, refuse};
use crate::exchange;
use crate::explain::explain;
use crate::operand::{DEFAULT_STREAM, Kind, Named, Operand};

/// Runs an operation on the stream of its arrays. Scratch memory comes from the framework of `out`, as its arrays do, if
/// that has DLPack's exchange API, else from the library.
///
/// # Safety
/// The GIL is held; the operands have been read.
#[cold]
pub unsafe fn run(
    function: &str,
    out: &Operand,
    arguments: &Named<'_>,
    operation: &dyn Fn(&Launcher<'_>) -> diptych_gpu::Result<()>,
) -> PyResult<diptych_gpu::Result<()>> {
    let stream = stream_of(function, arguments)?;
    let (names, pointers) = pointers_of(arguments);
    // SAFETY: the caller's.
    let batch_invariant = unsafe { batches::are_invariant()? };
    let launch = |workspace| {
        let arguments = Arguments {
            pointers: &pointers,
            names: &names,
        };
        // SAFETY: the stream of the arrays; the workspace is memory of the device, used on that stream only.
        let device = unsafe { Launcher::new(stream, workspace, arguments) };
        let device = device?.batch_invariant(batch_invariant);
        operation(&match out.kind {
            Kind::Exchange(_) => device.without_library_scratch(),
            _ => device,
        })
    };
    let needed = match launch((ptr::null_mut(), 0)) {
        Err(Error::NoScratch { needed }) => needed,
        // A refused call has launched nothing.
        done => return Ok(done),
    };
    let Kind::Exchange(api) = out.kind else {
        // SAFETY: a stream or the default stream.
        return Ok(
            unsafe { driver::allocate_scratch(stream) }.and_then(|()| launch((ptr::null_mut(), 0)))
        );
    };
    let mut workspace = Operand::new();
    let bytes = needed as i64;
    // SAFETY: the caller's. The framework frees memory in the order of the stream.
    unsafe {
        let object = exchange::empty(api, &[bytes], Dtype::U8, None, out.place(), &mut workspace)?;
        let done = launch((workspace.tensor.data, needed));
        ffi::Py_DECREF(object);
        Ok(done)
    }
}

/// Refuses arrays of which some belong to another stream than others, or are not where they claim to be.
///
/// # Safety
/// The GIL is held; the operands have been read.
pub unsafe fn check(function: &str, arguments: &Named<'_>) -> PyResult<()> {
    let stream = stream_of(function, arguments)?;
    let (names, pointers) = pointers_of(arguments);
    let pointers = Arguments {
        pointers: &pointers,
        names: &names,
    };
    // SAFETY: the stream of the arrays; nothing is launched on it.
    let device = unsafe { Launcher::new(stream, (ptr::null_mut(), 0), pointers) };
    let checked = device.and_then(|device| device.check());
    // SAFETY: the caller's.
    checked.map_err(|error| unsafe { explain(function, error, arguments) })
}

/// Returns the names and the first elements of the arrays on a device.
fn pointers_of(arguments: &Named<'_>) -> (Vec<&'static str>, Vec<*const c_void>) {
    // The address of an array without elements may be any.
    let on_device = arguments
        .iter()
        .filter(|(_, operand)| operand.is_on_device() && !operand.shape().contains(&0));
    let first = |operand: &Operand| {
        let offset = operand.tensor.byte_offset as usize;
        operand.tensor.data.wrapping_byte_add(offset).cast_const()
    };
    on_device
        .map(|(name, operand)| (*name, first(operand)))
        .unzip()
}

/// Returns the stream of all arrays on a device.
fn stream_of(function: &str, arguments: &Named<'_>) -> PyResult<*mut c_void> {
    let mut streams = arguments
        .iter()
        .filter(|(_, operand)| operand.is_on_device())
        .map(|(name, operand)| (*name, operand.stream));
    let Some((first, stream)) = streams.next() else {
        return Ok(DEFAULT_STREAM);
    };
    match streams.find(|(_, other)| *other != stream) {
        None => Ok(stream),
        Some((other, _)) => refuse(
            Class::Argument,
            format!(
                "{function}: {first} and {other} belong to different CUDA streams; arrays without DLPack's exchange API \
                 belong to the default stream"
            ),
        ),
    }
}

/// Refuses to make an array in CUDA memory for a type that cannot make one itself.
pub fn cannot_allocate(function: &str) -> PyErr {
    raise(
        Class::Argument,
        format!(
            "{function}: the type of the arrays does not say how to allocate CUDA memory; pass out="
        ),
    )
}
