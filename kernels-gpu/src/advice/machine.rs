//! The constants of the model.
#![forbid(unsafe_code)]

use super::work::Work;
use std::sync::{PoisonError, RwLock};

/// What the model knows about a machine. Rates are bytes, and operations of a multiply-add being two, in a
/// second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Whether the constants were measured here.
    pub measured: bool,
    /// Seconds of the smallest call on the CPU.
    pub host_call: f64,
    /// Bytes that one CPU thread reads and writes.
    pub host_bytes: f64,
    /// Bytes that all of them do.
    pub host_bytes_all: f64,
    /// Operations of one CPU thread: f32, f64.
    pub host_flops: [f64; 2],
    /// Seconds of the smallest call on the device, until its result is there.
    pub device_call: f64,
    /// Bytes that the device reads and writes in its memory.
    pub device_bytes: f64,
    /// Operations of the device: f32, f64.
    pub device_flops: [f64; 2],
    /// Seconds of the smallest copy.
    pub copy_call: f64,
    /// Bytes that are copied to the device.
    pub there: f64,
    /// Bytes that are copied from the device.
    pub back: f64,
}

/// Not measured: a desktop CPU, and a GPU behind PCI Express, by order of magnitude.
const NOT_MEASURED: Machine = Machine {
    measured: false,
    host_call: 2e-8,
    host_bytes: 2e10,
    host_bytes_all: 5e10,
    host_flops: [1e11, 5e10],
    device_call: 1e-5,
    device_bytes: 1e12,
    device_flops: [2e13, 5e11],
    copy_call: 1e-5,
    there: 1e10,
    back: 1e10,
};

static CURRENT: RwLock<Machine> = RwLock::new(NOT_MEASURED);

impl Machine {
    /// The constants that answers use.
    pub fn current() -> Machine {
        *CURRENT.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes answers use these.
    pub fn set_current(self) {
        *CURRENT.write().unwrap_or_else(PoisonError::into_inner) = self;
    }

    pub(super) fn host_seconds(&self, work: &Work, threads: usize) -> f64 {
        let threads = threads.max(1) as f64;
        let bytes = (self.host_bytes * threads).min(self.host_bytes_all.max(self.host_bytes));
        let flops = self.host_flops[work.dtype] * threads;
        self.host_call + (work.bytes() / bytes).max(work.flops / flops)
    }

    pub(super) fn device_seconds(&self, work: &Work) -> f64 {
        let busy =
            (work.bytes() / self.device_bytes).max(work.flops / self.device_flops[work.dtype]);
        self.device_call + busy
    }

    pub(super) fn seconds_there(&self, bytes: f64) -> f64 {
        copy(bytes, self.copy_call, self.there)
    }

    pub(super) fn seconds_back(&self, bytes: f64) -> f64 {
        copy(bytes, self.copy_call, self.back)
    }
}

fn copy(bytes: f64, call: f64, rate: f64) -> f64 {
    if bytes > 0.0 {
        call + bytes / rate
    } else {
        0.0
    }
}
