//! The machine constants of the model, and the times that follow from them.
#![forbid(unsafe_code)]

use super::work::Work;
use diptych::Dtype;
use diptych::backend::tensor::ElementType;
use std::sync::{PoisonError, RwLock};

/// The array sizes in bytes for which the CPU's bandwidth is known, from the caches to main memory. For a size between
/// two of these the time is interpolated.
pub const SIZES: [usize; 5] = [1 << 19, 1 << 21, 1 << 23, 1 << 25, 1 << 27];

/// A rate for each type of arithmetic. Another type is another field, and an arm in [`Rates::of`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Rates {
    /// The rate of f32 arithmetic, which 16-bit elements use too.
    pub f32: f64,
    /// The rate of f64 arithmetic.
    pub f64: f64,
}

impl Rates {
    /// Returns the rate for elements of this type.
    pub fn of(self, dtype: Dtype) -> f64 {
        match ElementType::of(dtype) {
            Some(ElementType::F64) => self.f64,
            Some(ElementType::F32) | None => self.f32,
        }
    }
}

/// The constants of a machine. Rates are per second; a multiply-add counts as two operations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Machine {
    /// Whether the constants were measured on this machine.
    pub measured: bool,
    /// Seconds of the smallest call on the CPU: the overhead of a call.
    pub host_call: f64,
    /// Bytes per second that one CPU thread reads, for each of [`SIZES`].
    pub host_read: [f64; 5],
    /// Bytes per second that one CPU thread writes, for each of [`SIZES`].
    pub host_written: [f64; 5],
    /// Memory bandwidth of all threads divided by that of one thread, for the largest of [`SIZES`].
    pub host_scaling: f64,
    /// Operations per second of one CPU thread.
    pub host_flops: Rates,
    /// Exponentials per second of one CPU thread.
    pub host_exps: Rates,
    /// Seconds of the smallest call on the device, until its result is available.
    pub device_call: f64,
    /// Bytes per second that the device reads and writes in its memory.
    pub device_bytes: f64,
    /// Operations per second of the device.
    pub device_flops: Rates,
    /// Seconds of the smallest copy.
    pub copy_call: f64,
    /// Bytes per second of a copy from host to device.
    pub there: f64,
    /// Bytes per second of a copy from device to host.
    pub back: f64,
}

/// The constants until [`measure`](super::measure()) is called: the orders of magnitude of a desktop CPU with a GPU on
/// PCI Express, not measured.
const NOT_MEASURED: Machine = Machine {
    measured: false,
    host_call: 2e-8,
    host_read: [8e10, 6e10, 4e10, 3e10, 2e10],
    host_written: [4e10, 3e10, 2e10, 1.5e10, 1e10],
    host_scaling: 2.5,
    host_flops: Rates {
        f32: 1e11,
        f64: 5e10,
    },
    host_exps: Rates { f32: 2e9, f64: 1e9 },
    device_call: 1e-5,
    device_bytes: 1e12,
    device_flops: Rates {
        f32: 2e13,
        f64: 5e11,
    },
    copy_call: 1e-5,
    there: 1e10,
    back: 1e10,
};

static CURRENT: RwLock<Machine> = RwLock::new(NOT_MEASURED);

impl Machine {
    /// Returns the constants that estimates use now.
    pub fn current() -> Machine {
        *CURRENT.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes all later estimates of the process use these constants.
    pub fn set_current(self) {
        *CURRENT.write().unwrap_or_else(PoisonError::into_inner) = self;
    }

    /// Returns the seconds of a call on the CPU, without copies to or from the device.
    pub(super) fn host_seconds(&self, work: &Work, threads: usize) -> f64 {
        let threads = threads.max(1) as f64;
        let size = work.bytes();
        // Arrays that are updated in place count as written only: they are in the cache when they are written.
        let walk = self.host_walk(size, work.read - work.updated, work.written, threads);
        let again = self.host_walk(size, work.again, 0.0, threads);
        let flops = work.flops / self.host_flops.of(work.dtype) / threads;
        let exps = work.exps / self.host_exps.of(work.dtype) / threads;
        self.host_call + again + walk.max(flops).max(exps)
    }

    /// Returns the seconds to read and write these bytes of arrays that have `size` bytes in total.
    pub(super) fn host_walk(&self, size: f64, read: f64, written: f64, threads: f64) -> f64 {
        let seconds = |i: usize| {
            // Each thread has its own caches; all threads share the bandwidth of main memory.
            let parallel = if i + 1 == SIZES.len() {
                threads.min(self.host_scaling)
            } else {
                threads
            };
            (read / self.host_read[i] + written / self.host_written[i]) / parallel
        };
        let above = SIZES.iter().position(|&known| size <= known as f64);
        match above {
            Some(0) => seconds(0),
            None => seconds(SIZES.len() - 1),
            Some(i) => {
                let [low, high] = [SIZES[i - 1], SIZES[i]].map(|known| (known as f64).log2());
                let part = (size.log2() - low) / (high - low);
                seconds(i - 1) * (1.0 - part) + seconds(i) * part
            }
        }
    }

    /// Returns the seconds of a call on the device, without copies to or from the host.
    pub(super) fn device_seconds(&self, work: &Work) -> f64 {
        /// Operations of an exponential.
        const EXP: f64 = 20.0;
        let bytes = (work.read + work.again + work.written) / self.device_bytes;
        let flops = (work.flops + EXP * work.exps) / self.device_flops.of(work.dtype);
        self.device_call + bytes.max(flops)
    }

    /// Returns the seconds to copy `bytes` to the device.
    pub(super) fn seconds_there(&self, bytes: f64) -> f64 {
        copy(bytes, self.copy_call, self.there)
    }

    /// Returns the seconds to copy `bytes` from the device.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::work;

    fn host(name: &str, n: i64, threads: usize) -> f64 {
        NOT_MEASURED.host_seconds(&work(name, Dtype::F32, [1, n, 1]).unwrap(), threads)
    }

    #[test]
    fn a_second_pass_doubles_the_host_time_but_not_the_copy() {
        let n = 1 << 26;
        let ratio = host("var", n, 1) / host("sum", n, 1);
        assert!((ratio - 2.0).abs() < 0.01, "{ratio}");
        let copies = |name| {
            let work = work(name, Dtype::F32, [1, n, 1]).unwrap();
            NOT_MEASURED.seconds_there(work.read) + NOT_MEASURED.seconds_back(work.written)
        };
        assert_eq!(copies("var"), copies("sum"));
    }

    #[test]
    fn rates_depend_on_the_size() {
        for (i, &size) in SIZES.iter().enumerate() {
            let elements = (size / 4) as f64;
            let seconds = host("sum", elements as i64, 1);
            let expected = NOT_MEASURED.host_call + 4.0 * elements / NOT_MEASURED.host_read[i];
            assert!(
                (seconds / expected - 1.0).abs() < 0.01,
                "{size}: {seconds} {expected}"
            );
        }
        let mut last = 0.0;
        for n in (10..30).map(|log| 1 << log) {
            let seconds = host("add", n, 1);
            assert!(seconds > last, "{n}");
            last = seconds;
        }
    }

    #[test]
    fn an_array_updated_in_place_counts_once() {
        let (axpy, scale) = (host("axpy", 1 << 20, 1), host("scale", 1 << 20, 1));
        assert!((axpy / scale - 1.0).abs() < 1e-9);
        let on_device = |name| {
            let work = work(name, Dtype::F32, [1, 1 << 26, 1]).unwrap();
            NOT_MEASURED.device_seconds(&work) - NOT_MEASURED.device_call
        };
        assert!((on_device("axpy") / on_device("scale") - 1.5).abs() < 1e-9);
    }

    #[test]
    fn threads_share_memory_bandwidth_but_not_caches() {
        let faster = |n| host("sum", n, 1) / host("sum", n, 8);
        assert!(faster(1 << 18) > 6.0 && (faster(1 << 28) - 2.5).abs() < 0.01);
    }

    #[test]
    fn exponentials_bound_logsumexp() {
        let (n, rate) = (1 << 16, NOT_MEASURED.host_exps.f32);
        let again = 4.0 * n as f64 / NOT_MEASURED.host_read[0];
        let expected = NOT_MEASURED.host_call + again + n as f64 / rate;
        assert!((host("logsumexp", n, 1) / expected - 1.0).abs() < 1e-9);
    }
}
