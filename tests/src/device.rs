//! Ways to run a call on the GPU backend: by default on the emulator, with several schedules and multiprocessor
//! counts; with `DIPTYCH_DEVICE=cuda` on the GPU of this machine.

use core::cell::Cell;
use core::fmt;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::ptr;

use diptych::tensor::{Epilogue, Tensor};
use diptych_device::launch::entry;
use diptych_device::table::Entry;
use diptych_emulator::{Emulator, Schedule};

use crate::gpu::{self, Gpu};
use crate::mixed::Multiplies;
use crate::raw::On;

/// Numbers of multiprocessors: that of a large GPU, and smaller ones, for which kernels split the work differently.
const SIZES: [u32; 4] = [1, 132, 3, 16];

/// An emulated GPU: a schedule and a number of multiprocessors.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The order in which threads run.
    pub schedule: Schedule,
    /// The number of multiprocessors.
    pub multiprocessors: u32,
}

impl fmt::Display for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = gpu::name() {
            return write!(f, "device {name}");
        }
        let (schedule, multiprocessors) = (self.schedule, self.multiprocessors);
        write!(
            f,
            "device, schedule {schedule}, {multiprocessors} multiprocessors"
        )
    }
}

impl Config {
    /// Returns an emulator with this configuration.
    pub fn emulator(&self) -> Emulator {
        Emulator::new(self.schedule).with_multiprocessors(self.multiprocessors)
    }

    /// Calls `f` with an emulator of this configuration, or with the GPU if one was chosen.
    pub fn run<R>(&self, f: impl FnOnce(&dyn On) -> R) -> R {
        if gpu::is_chosen() {
            let workspace = (ptr::null_mut(), 0);
            return f(&Gpu { workspace });
        }
        f(&self.emulator())
    }

    /// Like [`Config::run`], with scratch memory for the GPU; the emulator uses its own.
    pub fn run_with<R>(
        &self,
        workspace: &mut [MaybeUninit<u8>],
        f: impl FnOnce(&dyn On) -> R,
    ) -> R {
        if gpu::is_chosen() && !workspace.is_empty() {
            let workspace = (workspace.as_mut_ptr().cast(), workspace.len());
            return f(&Gpu { workspace });
        }
        self.run(f)
    }

    fn turn(turn: usize) -> Config {
        let schedule = match Schedule::ALL[turn % Schedule::ALL.len()] {
            Schedule::Random(_) => Schedule::Random(turn as u64),
            other => other,
        };
        Config {
            schedule,
            multiprocessors: SIZES[turn / Schedule::ALL.len() % SIZES.len()],
        }
    }
}

std::thread_local! {
    static TURN: Cell<usize> = const { Cell::new(0) };
}

/// The size in bytes of an output large enough to be divided among many blocks.
pub const BEYOND_CACHES: usize = 1 << 20;

/// Thins out a long list of cases: on the emulator it keeps one in `one_in`, different ones on each call; on a GPU
/// it keeps all.
pub fn some<C>(cases: impl IntoIterator<Item = C>, one_in: usize) -> impl Iterator<Item = C> {
    let turn = TURN.get();
    TURN.set(turn + 1);
    let one_in = if gpu::is_chosen() { 1 } else { one_in };
    cases.into_iter().skip(turn % one_in).step_by(one_in)
}

/// Returns the next configuration in rotation, so that a loop over many cases covers all schedules.
pub fn single() -> Vec<Config> {
    let turn = TURN.get();
    TURN.set(turn + 1);
    vec![Config::turn(turn)]
}

/// Returns one configuration per schedule, with multiprocessor counts that change from call to call; unless the suite
/// [`is_full`], only one of them, another one in each call. A GPU has a single configuration.
pub fn all() -> Vec<Config> {
    if gpu::is_chosen() {
        return single();
    }
    let count = Schedule::ALL.len();
    let turn = TURN.get() / count % count;
    let mut all: Vec<Config> = (0..count).flat_map(|_| single()).collect();
    if is_full() {
        return all;
    }
    vec![all.swap_remove(turn)]
}

/// Whether the device suite runs all of its cases: `DIPTYCH_FULL`, set to anything but 0, as the step `device` of
/// `cargo xtask check` does.
pub fn is_full() -> bool {
    std::env::var_os("DIPTYCH_FULL").is_some_and(|value| !value.is_empty() && value != "0")
}

/// Returns the tensor in the memory of the device, which is that of the host here.
fn on_device(tensor: &Tensor) -> Tensor {
    Tensor {
        device_type: 2,
        ..*tensor
    }
}

impl Multiplies for Emulator {
    unsafe fn matmul(
        &self,
        (alpha, beta): (f64, f64),
        tensors: [&Tensor; 3],
        epilogue: &Epilogue<'_>,
    ) -> Result<(), String> {
        let [a, b, c] = tensors.map(on_device);
        let [bias, row_scale, column_scale] =
            [epilogue.bias, epilogue.row_scale, epilogue.column_scale]
                .map(|tensor| tensor.map(on_device));
        let epilogue = Epilogue {
            bias: bias.as_ref(),
            row_scale: row_scale.as_ref(),
            column_scale: column_scale.as_ref(),
            clamp: epilogue.clamp,
        };
        // SAFETY: as the caller's; the device's memory is that of the host.
        let done =
            unsafe { diptych_gpu::tensor::matmul(self, alpha, &a, &b, beta, &c, Some(&epilogue)) };
        done.map_err(|error| format!("{error:?}"))
    }
}

/// The kernels for large products of small types, and those for small ones.
pub const MIXED: [[&Entry; 2]; 2] = [
    [&entry::mixed_half_64x64, &entry::mixed_byte_64x64],
    [&entry::mixed_half_16x16, &entry::mixed_byte_16x16],
];

/// Calls `f` with each seed, on emulated devices in rotation: one in three runs products on large tiles only, and one on
/// small ones.
pub fn each(_threads: usize, seeds: Range<u64>, f: &dyn Fn(u64, &dyn Multiplies)) {
    for seed in seeds {
        for config in single() {
            let emulator = config.emulator();
            match MIXED.get(seed as usize % 3) {
                None => f(seed, &emulator),
                Some(&[half, byte]) => {
                    let kernel = if seed % 2 == 0 { half } else { byte };
                    f(seed, &emulator.with_product_kernel(kernel));
                }
            }
        }
    }
}
