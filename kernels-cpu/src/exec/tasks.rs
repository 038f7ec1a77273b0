//! How tasks run on a pool, and what they share.

use super::ParallelFor;
use super::control_word::ControlWord;

/// A function of the number of a task. Not `dyn Fn`, in whose vtable the code of a closure stands twice.
pub trait Task: Sync {
    fn run(&self, number: usize);
}

impl<F: Fn(usize) + Sync> Task for F {
    fn run(&self, number: usize) {
        self(number);
    }
}

/// Runs tasks on a pool, with the control word of the calling thread. Not inlined: all callers share one copy.
#[inline(never)]
pub fn run_on(pool: &dyn ParallelFor, tasks: usize, task: &dyn Task) {
    let control = ControlWord::get();
    pool.parallel_for(tasks, &|number| control.with(|| task.run(number)));
}

/// Returns the units per task, rounded up. (`max` because the compiler does not know that `tasks` > 0, and would keep a
/// panic for division by zero.)
#[inline]
pub(crate) fn share(units: usize, tasks: usize) -> usize {
    units.div_ceil(tasks.max(1))
}

/// A pointer that tasks share. Each task accesses its own part only.
pub(crate) struct Shared<T>(*mut T);

// SAFETY: only an address; every use of it says why it does not race.
unsafe impl<T> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for Shared<T> {}

impl<T> Clone for Shared<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Shared<T> {}

impl<T> Shared<T> {
    pub(crate) fn new(p: *const T) -> Self {
        Self(p.cast_mut())
    }
    /// Returns the pointer. (A method, so that closures capture the wrapper, which is `Sync`, and not the field.)
    #[inline(always)]
    pub(crate) fn get(self) -> *mut T {
        self.0
    }
}
