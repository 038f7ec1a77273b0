//! Where and how a call runs: CPU level, threads, scratch memory.

#[cfg(feature = "std")]
mod own;

use core::cell::Cell;
use core::mem::MaybeUninit;

use crate::error::{Error, Result};
use crate::level::Level;

/// Threads that the caller lends to a call.
///
/// # Safety
/// `parallel_for` must call `run(i)` exactly once for each `i` in `0..count`, in any order and on
/// any threads, and return only after all of these calls have returned.
pub unsafe trait ParallelFor {
    /// Runs `run(0)`, ..., `run(count - 1)`.
    fn parallel_for(&self, count: usize, run: &(dyn Fn(usize) + Sync));

    /// How many threads would start at once, the caller's among them. Work that is not much longer than it
    /// takes to wake a thread is cut for these alone.
    fn awake(&self) -> usize {
        usize::MAX
    }
}

/// Where and how calls run. `Exec::new()` means: the calling thread alone, on the active CPU
/// level, with the library's own scratch memory. Nothing here changes the bits of a result.
///
/// ```
/// let exec = diptych::Exec::new();
/// assert_eq!(diptych::sum(&exec, &[1.0f32, 2.0, 3.5])?, 6.5);
/// # Ok::<(), diptych::Error>(())
/// ```
#[derive(Default)]
pub struct Exec<'a> {
    level: Option<Level>,
    pool: Option<&'a dyn ParallelFor>,
    max_threads: usize,
    /// Taken while a call uses it, so that a call made from within finds none and uses its own.
    workspace: Cell<Option<&'a mut [MaybeUninit<u8>]>>,
}

impl<'a> Exec<'a> {
    /// The calling thread alone.
    pub const fn new() -> Self {
        Self {
            level: None,
            pool: None,
            max_threads: 1,
            workspace: Cell::new(None),
        }
    }

    /// Runs on `level` instead of the active one.
    ///
    /// # Errors
    /// [`Error::LevelUnavailable`] when the machine lacks it.
    pub fn with_level(mut self, level: Level) -> Result<Self> {
        if !level.is_available() {
            return Err(Error::LevelUnavailable);
        }
        self.level = Some(level);
        Ok(self)
    }

    /// Lets large calls run up to `max_threads` tasks at once on the threads of `pool`.
    pub fn with_pool(mut self, pool: &'a dyn ParallelFor, max_threads: usize) -> Self {
        self.pool = Some(pool);
        self.max_threads = max_threads;
        self
    }

    /// Gives calls that need scratch memory this block instead of the library's own. How much a
    /// call needs is answered by [`gemm_workspace`](crate::gemm_workspace) and
    /// [`lsq_grad_workspace`](crate::lsq_grad_workspace).
    pub fn with_workspace(self, workspace: &'a mut [MaybeUninit<u8>]) -> Self {
        self.workspace.set(Some(workspace));
        self
    }

    /// The level to run on.
    #[inline]
    pub(crate) fn level(&self) -> Result<Level> {
        match self.level {
            Some(level) => Ok(level),
            None => Level::active(),
        }
    }

    /// How many tasks can run at once.
    #[inline]
    pub(crate) fn threads(&self) -> usize {
        if self.pool.is_some() {
            self.max_threads.max(1)
        } else {
            1
        }
    }

    /// How many tasks work that touches `bytes` is worth, at most `most`.
    #[inline]
    pub(crate) fn tasks(&self, bytes: usize, most: usize) -> usize {
        const BYTES_PER_TASK: usize = 256 << 10;
        self.tasks_of(bytes / BYTES_PER_TASK, most)
    }

    /// How many tasks so many units of work are worth, each about 10 us long, at most `most`.
    pub(crate) fn tasks_of(&self, units: usize, most: usize) -> usize {
        /// What outweighs waking a thread, above all in a virtual machine.
        const TO_WAKE: usize = 16;
        let most = units.min(most).min(self.threads());
        let worth_waking = units / TO_WAKE;
        match self.pool {
            Some(pool) if most > worth_waking.max(1) => worth_waking.max(pool.awake().min(most)),
            _ => most,
        }
        .max(1)
    }

    /// Runs `run(0)`, ..., `run(tasks - 1)`, on the pool when there are several.
    #[inline]
    pub(crate) fn run(&self, tasks: usize, run: &(dyn Fn(usize) + Sync)) {
        match self.pool {
            Some(pool) if tasks > 1 => pool.parallel_for(tasks, run),
            _ => (0..tasks).for_each(run),
        }
    }

    /// Whether scratch memory comes from the caller.
    #[inline]
    pub(crate) fn has_workspace(&self) -> bool {
        let workspace = self.workspace.take();
        let has = workspace.is_some();
        self.workspace.set(workspace);
        has
    }

    /// Lends the scratch memory for `tasks` tasks of `bytes` each to `body`.
    pub(crate) fn with_scratch<R>(
        &self,
        tasks: usize,
        bytes: usize,
        body: impl FnOnce(&Scratch) -> R,
    ) -> Result<R> {
        let Some(workspace) = self.workspace.take() else {
            return Ok(body(&Scratch::own(bytes)));
        };
        let result = match tasks.checked_mul(bytes) {
            Some(needed) if needed <= workspace.len() => Ok(body(&Scratch {
                workspace: Some(Shared(workspace.as_mut_ptr())),
                bytes,
            })),
            needed => Err(Error::WorkspaceTooSmall {
                needed: needed.unwrap_or(usize::MAX),
            }),
        };
        self.workspace.set(Some(workspace));
        result
    }

    /// As [`Exec::with_scratch`], for work that can do without: where the workspace is too small, tasks
    /// are lent nothing.
    pub(crate) fn with_optional_scratch<R>(
        &self,
        tasks: usize,
        bytes: usize,
        body: impl FnOnce(&Scratch) -> R,
    ) -> R {
        let Some(workspace) = self.workspace.take() else {
            return body(&Scratch::own(bytes));
        };
        let needed = tasks.saturating_mul(bytes);
        let result = body(&Scratch {
            workspace: Some(Shared(workspace.as_mut_ptr())),
            bytes: if needed <= workspace.len() { bytes } else { 0 },
        });
        self.workspace.set(Some(workspace));
        result
    }
}

/// The units that each of `tasks` tasks takes, rounded up. (The compiler does not know that there is a
/// task, and would keep a panic for a division by zero.)
#[inline]
pub(crate) fn share(units: usize, tasks: usize) -> usize {
    units.div_ceil(tasks.max(1))
}

/// A pointer that tasks share; each keeps to its own part.
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
    /// The pointer. (A method, so that closures capture the whole wrapper.)
    #[inline(always)]
    pub(crate) fn get(self) -> *mut T {
        self.0
    }
}

/// Scratch memory, a block per task.
pub(crate) struct Scratch {
    /// The caller's; `None`: each thread's own.
    workspace: Option<Shared<MaybeUninit<u8>>>,
    bytes: usize,
}

/// Bytes of the block on the stack where there is neither a workspace nor a per-thread buffer.
pub(crate) const FIXED_SCRATCH: usize = 17 << 10;

impl Scratch {
    fn own(bytes: usize) -> Self {
        Self {
            workspace: None,
            bytes,
        }
    }

    /// Lends task `task` its block: a pointer and its length in bytes, which is that asked for
    /// or, where only the fixed block is to be had, [`FIXED_SCRATCH`].
    pub(crate) fn lend<R>(&self, task: usize, body: impl FnOnce(*mut u8, usize) -> R) -> R {
        match self.workspace {
            _ if self.bytes == 0 => body(core::ptr::null_mut(), 0),
            // The block lies inside the workspace: `with_scratch` has compared the sizes.
            Some(base) => body(
                base.get().cast::<u8>().wrapping_add(task * self.bytes),
                self.bytes,
            ),
            None => lend_own(self.bytes, body),
        }
    }
}

#[cfg(feature = "std")]
use own::lend as lend_own;

#[cfg(not(feature = "std"))]
fn lend_own<R>(_bytes: usize, body: impl FnOnce(*mut u8, usize) -> R) -> R {
    lend_fixed(body)
}

#[inline(never)]
fn lend_fixed<R>(body: impl FnOnce(*mut u8, usize) -> R) -> R {
    let mut block = [MaybeUninit::<u8>::uninit(); FIXED_SCRATCH];
    body(block.as_mut_ptr().cast(), FIXED_SCRATCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many threads that are awake.
    struct Threads(usize);

    // SAFETY: runs each index once.
    unsafe impl ParallelFor for Threads {
        fn parallel_for(&self, count: usize, run: &(dyn Fn(usize) + Sync)) {
            (0..count).for_each(run);
        }
        fn awake(&self) -> usize {
            self.0
        }
    }

    #[test]
    fn small_work_is_cut_for_threads_that_are_awake() {
        let tasks = |awake, units, most| {
            let pool = Threads(awake);
            Exec::new().with_pool(&pool, 4).tasks_of(units, most)
        };
        assert_eq!([0, 1, 3, 100].map(|units| tasks(4, units, 9)), [1, 1, 3, 4]);
        assert_eq!(
            [3, 31, 32, 64].map(|units| tasks(1, units, 9)),
            [1, 1, 2, 4]
        );
        assert_eq!([1, 3, 47, 48].map(|units| tasks(2, units, 9)), [1, 2, 2, 3]);
        assert_eq!([0, 1, 2].map(|most| tasks(4, 100, most)), [1, 1, 2]);
        assert_eq!(Exec::new().tasks_of(100, 9), 1);
    }
}
