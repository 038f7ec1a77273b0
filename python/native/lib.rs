//! The native module of the Python package `diptych`: functions on anything that is an array to its users, over the
//! tensor operations of the crates `diptych` and `diptych-gpu`.
//!
//! The GIL is held in all functions but inside [`call::run`]. Errors are Python exceptions; a call that raises one has
//! written nothing.

mod arguments;
mod batches;
mod blocks;
mod call;
mod device;
mod dlpack;
mod dtype;
mod errors;
mod exchange;
mod explain;
mod fingerprint;
mod foreign;
mod functions;
mod memory;
mod number;
mod numpy;
mod operand;
mod order;
mod output;
mod packed;
mod read;
mod shape;
mod tensor;
mod threads;
mod weak;

// The C functions and those of BLAS, which this module exports beside its own.
extern crate diptych_blas as _;
extern crate diptych_ffi as _;

use diptych::Level;
use pyo3::exceptions::PyImportError;
use pyo3::ffi;
use pyo3::prelude::*;

use errors::{Class, raise, refuse};

/// Return the name of the CPU level in use: 'avx512', 'avx2', 'neon' or 'portable'.
///
/// >>> import diptych
/// >>> diptych.cpu_level() in ('avx512', 'avx2', 'neon', 'portable')
/// True
#[pyfunction]
fn cpu_level() -> PyResult<&'static str> {
    match Level::active() {
        Ok(level) => Ok(level.name()),
        Err(error) => refuse(Class::Error, error.to_string()),
    }
}

/// Use a CPU level, in the whole process: 'avx512', 'avx2', 'neon', 'portable', or None for the best.
///
/// Results have the same bits on all of them.
///
/// >>> import diptych
/// >>> diptych.force_cpu_level('portable')
/// >>> diptych.cpu_level()
/// 'portable'
/// >>> diptych.force_cpu_level(None)
#[pyfunction]
#[pyo3(signature = (name, /))]
fn force_cpu_level(name: Option<&str>) -> PyResult<()> {
    let level = match name {
        None => None,
        Some(name) => Some(Level::from_name(name).ok_or_else(|| unknown_level(name))?),
    };
    match Level::force(level) {
        Ok(()) => Ok(()),
        Err(error) => refuse(Class::Argument, error.to_string()),
    }
}

#[cold]
fn unknown_level(name: &str) -> PyErr {
    let names: Vec<&str> = Level::ALL
        .iter()
        .filter(|level| level.is_available())
        .map(|level| level.name())
        .collect();
    raise(
        Class::Argument,
        format!(
            "there is no CPU level '{name}'; this machine has {}",
            names.join(", ")
        ),
    )
}

/// Refuses to be imported in a sub-interpreter. The module's state is that of the process, and `PyGILState_Ensure`, by
/// which [`Python::attach`] takes the GIL, is for the main interpreter alone.
fn refuse_sub_interpreters() -> PyResult<()> {
    // SAFETY: the GIL of an interpreter is held.
    match unsafe { ffi::PyInterpreterState_GetID(ffi::PyInterpreterState_Get()) } {
        0 => Ok(()),
        _ => Err(PyImportError::new_err(
            "diptych works in the main interpreter of a process only, not in sub-interpreters",
        )),
    }
}

/// The native part of the package diptych.
#[pymodule(gil_used = true)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    refuse_sub_interpreters()?;
    errors::add_to(module)?;
    for family in [
        functions::elementwise::FUNCTIONS,
        functions::reduce::FUNCTIONS,
        functions::row_map::FUNCTIONS,
        functions::products::FUNCTIONS,
        functions::fused::FUNCTIONS,
        functions::concatenate::FUNCTIONS,
        functions::convert::FUNCTIONS,
    ] {
        arguments::add_to(module, family)?;
    }
    module.add_function(wrap_pyfunction!(cpu_level, module)?)?;
    module.add_function(wrap_pyfunction!(force_cpu_level, module)?)?;
    module.add_function(wrap_pyfunction!(threads::set_threads, module)?)?;
    module.add_function(wrap_pyfunction!(threads::get_threads, module)?)?;
    module.add_function(wrap_pyfunction!(fingerprint::of_library, module)?)?;
    module.add_function(wrap_pyfunction!(fingerprint::of_operations, module)?)?;
    module.add("_FINGERPRINT", diptych::fingerprint::FINGERPRINT)?;
    module.add("_NUMERICS_VERSION", diptych::fingerprint::NUMERICS_VERSION)?;
    module.add_class::<threads::Threads>()?;
    module.add_class::<batches::BatchInvariant>()?;
    threads::set_up(module)?;
    module.add_class::<memory::Memory>()?;
    module.add_class::<packed::Packed>()?;
    // What the tests compare with: every operation must have a function.
    let operations: Vec<&str> = diptych::table::OPS.iter().map(|op| op.name).collect();
    module.add("_operations", operations)?;
    module.add("__version__", env!("CARGO_PKG_VERSION"))
}
