//! Estimates the time of a call on the CPU and on the GPU, including the copies that it needs, to tell when the GPU is
//! worth it. The model has a few machine constants. The built-in ones are order-of-magnitude guesses, which [`Advice`]
//! reports as not measured; [`measure()`] replaces them with the constants of this machine.

mod machine;
mod measure;
mod work;

pub use machine::{Machine, Rates, SIZES};
pub use measure::measure;
pub use work::{Work, work};

use crate::driver::Location;

/// The estimate for one call.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advice {
    /// Where the call is faster.
    pub location: Location,
    /// Seconds on the CPU, including the copies of inputs and results if they are in device memory.
    pub host: f64,
    /// Seconds on the device, including the copies of inputs and results if they are in host memory; infinite if there
    /// is no device.
    pub device: f64,
    /// Whether the constants were measured on this machine.
    pub measured: bool,
}

/// Estimates the time of one call on each backend, with `threads` CPU threads. The inputs are in the memory `at`, and
/// the result is wanted there.
pub fn advise(work: &Work, at: Location, threads: usize) -> Advice {
    let machine = Machine::current();
    let (mut host, mut device) = (
        machine.host_seconds(work, threads),
        machine.device_seconds(work),
    );
    if crate::driver::available().is_err() {
        device = f64::INFINITY;
    }
    match at {
        Location::Host => {
            device += machine.seconds_there(work.read) + machine.seconds_back(work.written)
        }
        Location::Device => {
            host += machine.seconds_back(work.read) + machine.seconds_there(work.written)
        }
    }
    let location = if device < host {
        Location::Device
    } else {
        Location::Host
    };
    Advice {
        location,
        host,
        device,
        measured: machine.measured,
    }
}
