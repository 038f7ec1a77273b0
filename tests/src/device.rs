//! Ways to run a call on the GPU backend: by default on the emulator, with several schedules and multiprocessor
//! counts; with `DIPTYCH_DEVICE=cuda` on the GPU of this machine.

use core::cell::Cell;
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr;

use diptych_emulator::{Emulator, Schedule};

use crate::gpu::{self, Gpu};
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

/// Whether the device suite runs all of its cases: `DIPTYCH_FULL`, set to anything but 0. `cargo xtask check` sets it.
pub fn is_full() -> bool {
    std::env::var_os("DIPTYCH_FULL").is_some_and(|value| !value.is_empty() && value != "0")
}
