//! When does the GPU pay? An estimate of what a call costs on each panel, with the copies that it needs, from
//! a model of few constants. The committed ones are guesses of order of magnitude, and an answer says so;
//! [`measure()`] puts those of the machine at hand in their place.

mod machine;
mod measure;
mod work;

pub use machine::{Machine, Rates, SIZES};
pub use measure::measure;
pub use work::{Work, work};

use crate::driver::Location;

/// An answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Advice {
    /// Where the call is faster.
    pub location: Location,
    /// Seconds on the CPU, with the copies from and to where the data lie.
    pub host: f64,
    /// Seconds on the device, likewise; infinite where there is none.
    pub device: f64,
    /// Whether the constants were measured on this machine.
    pub measured: bool,
}

/// What one call costs on each panel when its data lie in `at` and its result is wanted there, with so many
/// CPU threads.
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
