//! Ways to run a call on the device panel: the emulator's schedules, and GPUs of several sizes; or, where
//! `DIPTYCH_DEVICE=cuda` says so, the GPU of this machine.

use core::cell::Cell;
use core::fmt;
use core::mem::MaybeUninit;
use core::ptr;

use diptych_emulator::{Emulator, Schedule};

use crate::gpu::{self, Gpu};
use crate::raw::On;

/// Multiprocessors: those of a large GPU, and fewer, which cut work differently.
const SIZES: [u32; 4] = [1, 132, 3, 16];

/// A schedule and a size.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// In which order threads run.
    pub schedule: Schedule,
    /// Multiprocessors.
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
    /// The device.
    pub fn emulator(&self) -> Emulator {
        Emulator::new(self.schedule).with_multiprocessors(self.multiprocessors)
    }

    /// Calls `f` with a device of this kind.
    pub fn run<R>(&self, f: impl FnOnce(&dyn On) -> R) -> R {
        if gpu::is_chosen() {
            let workspace = (ptr::null_mut(), 0);
            return f(&Gpu { workspace });
        }
        f(&self.emulator())
    }

    /// As [`Config::run`]; the emulator has scratch memory of its own.
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

/// Bytes of an output that many blocks share.
pub const BEYOND_CACHES: usize = 1 << 20;

/// The cases of a long list that this panel takes: one in so many, each time others; a GPU takes all.
pub fn some<C>(cases: impl IntoIterator<Item = C>, one_in: usize) -> impl Iterator<Item = C> {
    let turn = TURN.get();
    TURN.set(turn + 1);
    let one_in = if gpu::is_chosen() { 1 } else { one_in };
    cases.into_iter().skip(turn % one_in).step_by(one_in)
}

/// The next schedule: callers that go through many cases go through all schedules.
pub fn single() -> Vec<Config> {
    let turn = TURN.get();
    TURN.set(turn + 1);
    vec![Config::turn(turn)]
}

/// Every schedule, with sizes that change from call to call. A GPU has but one.
pub fn all() -> Vec<Config> {
    let count = if gpu::is_chosen() {
        1
    } else {
        Schedule::ALL.len()
    };
    (0..count).flat_map(|_| single()).collect()
}
