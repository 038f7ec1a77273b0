//! The fingerprint of the library.

use diptych::Exec;
use diptych::fingerprint::{self, memory};
use diptych_gpu::{Context, Stream};
use pyo3::prelude::*;

use crate::errors::{Class, raise, refuse};
use crate::threads::with_exec;

/// Where the calls run.
enum Device {
    Cpu,
    Cuda(Stream),
}

impl Device {
    fn new(name: &str) -> PyResult<Self> {
        match name {
            "cpu" => Ok(Self::Cpu),
            "cuda" => {
                let stream = Context::new(0).and_then(|context| Stream::new(&context));
                stream.map(Self::Cuda).map_err(failed)
            }
            _ => refuse(
                Class::Argument,
                format!("fingerprint: the device is 'cpu' or 'cuda', not '{name}'"),
            ),
        }
    }
}

#[cold]
fn failed(error: impl std::fmt::Display) -> PyErr {
    raise(Class::Error, format!("fingerprint: {error}"))
}

/// Return the hash of the results of a fixed set of calls: the same integer on every machine.
///
/// The calls reach every operation, on the CPU with the level and the threads in use, or on a CUDA
/// device. ``python -m diptych.verify`` compares the result with what is promised, and says which
/// operation differs.
///
/// >>> import diptych, diptych.verify
/// >>> diptych.fingerprint() == diptych.verify.FINGERPRINT
/// True
#[pyfunction]
#[pyo3(name = "fingerprint", signature = (*, device = "cpu"))]
pub fn of_library(device: &str) -> PyResult<u64> {
    match Device::new(device)? {
        Device::Cpu => {
            let run = |exec: &Exec<'_>| diptych::fingerprint(exec, &mut Box::new(memory()));
            // SAFETY: Python calls this, and it does not release the GIL.
            unsafe { with_exec(run) }?.map_err(failed)
        }
        Device::Cuda(stream) => diptych_gpu::fingerprint(&stream).map_err(failed),
    }
}

/// Return the name of each operation, the hash of its calls, and what that should be.
#[pyfunction]
#[pyo3(name = "_fingerprint_of_operations", signature = (device))]
pub fn of_operations(device: &str) -> PyResult<Vec<(&'static str, u64, u64)>> {
    let device = Device::new(device)?;
    let mut all = Vec::new();
    for number in 0..fingerprint::OPERATIONS {
        let found = match &device {
            Device::Cpu => {
                let run = |exec: &Exec<'_>| {
                    fingerprint::of_operation(exec, &mut Box::new(memory()), number)
                };
                // SAFETY: as in `of_library`.
                unsafe { with_exec(run) }?.map_err(failed)?
            }
            Device::Cuda(stream) => {
                diptych_gpu::fingerprint_of_operation(stream, number).map_err(failed)?
            }
        };
        if let (Some(name), Some(found)) = (fingerprint::name(number), found) {
            all.push((name, found, fingerprint::expected(number)));
        }
    }
    Ok(all)
}
