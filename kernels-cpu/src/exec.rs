//! How a call runs: CPU level, threads, scratch memory.

mod control_word;
mod scratch;
mod tasks;
#[cfg(feature = "std")]
mod thread_buffer;

use core::cell::Cell;
use core::mem::MaybeUninit;

use crate::detect::Extensions;
use crate::error::{Error, Result};
use crate::level::Level;
pub(crate) use scratch::{STACK_SCRATCH, Scratch, with_stack_block};
pub(crate) use tasks::{Shared, share};

/// A set of threads that a caller lends to calls, with [`Exec::with_pool`]. `Pool` (feature `pool`) is one.
///
/// Tasks compute with the control word of the calling thread (rounding, flushing of subnormal numbers) instead of their own
/// thread's, on x86-64, AArch64 and RISC-V.
///
/// # Safety
/// `parallel_for` must call `run(i)` exactly once for each `i` in `0..count`, in any order and on any threads, and
/// return only after all of these calls have returned.
///
/// # Example
///
/// ```
/// use diptych::{Exec, ParallelFor};
///
/// struct ScopedThreads;
///
/// // SAFETY: each index has one thread, and the scope ends after all of them.
/// unsafe impl ParallelFor for ScopedThreads {
///     fn parallel_for(&self, count: usize, run: &(dyn Fn(usize) + Sync)) {
///         std::thread::scope(|scope| {
///             for i in 0..count {
///                 scope.spawn(move || run(i));
///             }
///         });
///     }
/// }
///
/// let x = vec![1.0_f32; 1 << 20];
/// let exec = Exec::new().with_pool(&ScopedThreads, 4);
/// assert_eq!(diptych::sum(&exec, x.as_slice())?, 1048576.0);
/// # Ok::<(), diptych::Error>(())
/// ```
pub unsafe trait ParallelFor {
    /// Runs `run(0)`, ..., `run(count - 1)`. `count` is at most the `max_threads` of [`Exec::with_pool`].
    fn parallel_for(&self, count: usize, run: &(dyn Fn(usize) + Sync));

    /// Returns how many threads, the caller's among them, are awake and would start a task at once. A call too short to
    /// be worth waking a thread, below about 160 us for each thread, uses these only. By default all threads count as
    /// awake.
    fn awake(&self) -> usize {
        usize::MAX
    }
}

/// How calls run: CPU level, threads, scratch memory. Nothing in it changes the bits of a result, except
/// [`batch_invariant`](Exec::batch_invariant).
///
/// `Exec::new()` stands for the active CPU level, the calling thread alone and the library's own scratch memory. An
/// `Exec` is cheap to make and may be reused for any number of calls. It is not `Sync`: each thread makes its own.
///
/// ```
/// let exec = diptych::Exec::new();
/// assert_eq!(diptych::sum(&exec, &[1.0f32, 2.0, 3.5])?, 6.5);
/// # Ok::<(), diptych::Error>(())
/// ```
#[derive(Default)]
pub struct Exec<'a> {
    level: Option<Level>,
    extensions: Extensions,
    pool: Option<&'a dyn ParallelFor>,
    max_threads: usize,
    batch_invariant: bool,
    /// Taken out while a call uses it. A nested call, made by a task of that call, finds none and uses the library's
    /// own scratch memory.
    workspace: Cell<Option<&'a mut [MaybeUninit<u8>]>>,
}

impl<'a> Exec<'a> {
    /// Returns the defaults: the active CPU level, the calling thread alone, the library's own scratch memory.
    pub const fn new() -> Self {
        Self {
            level: None,
            extensions: Extensions::NONE,
            pool: None,
            max_threads: 1,
            batch_invariant: false,
            workspace: Cell::new(None),
        }
    }

    /// Runs on `level` instead of the [active](Level::active) one.
    ///
    /// # Errors
    /// [`Error::LevelUnavailable`] when this machine does not have the level.
    pub fn with_level(mut self, level: Level) -> Result<Self> {
        if !level.is_available() {
            return Err(Error::LevelUnavailable);
        }
        self.level = Some(level);
        Ok(self)
    }

    /// Runs on `level` as [`with_level`](Exec::with_level), with these extensions.
    ///
    /// # Errors
    /// [`Error::LevelUnavailable`] when this machine does not have the level or an extension.
    pub fn with_extensions(self, level: Level, extensions: Extensions) -> Result<Self> {
        if !Extensions::of_this_machine().has(extensions) {
            return Err(Error::LevelUnavailable);
        }
        let mut exec = self.with_level(level)?;
        exec.extensions = extensions;
        Ok(exec)
    }

    /// Lets large calls run up to `max_threads` tasks at once on the threads of `pool`; 0 counts as 1, and more than
    /// the pool has threads is allowed. A call is split only if it is long enough to gain from that, and then into as
    /// many tasks as it is worth.
    pub fn with_pool(mut self, pool: &'a dyn ParallelFor, max_threads: usize) -> Self {
        self.pool = Some(pool);
        self.max_threads = max_threads;
        self
    }

    /// Gives calls that need scratch memory this block, of any alignment, instead of the library's own: a buffer of
    /// the thread with the feature `std`, without it a small block on the stack, which is slower for the same bits.
    ///
    /// Matrix products and `lsq_grad` need as many bytes as [`gemm_workspace`](crate::gemm_workspace) and
    /// [`lsq_grad_workspace`](crate::lsq_grad_workspace) say (32 KiB or more, unless one side is 1), and otherwise
    /// return [`Error::WorkspaceTooSmall`], even a product that would need none. Reductions of columns, and products of
    /// a transposed matrix with a vector, use the block if it is large enough (about 256 bytes for each column) and do
    /// without it if not; so do reductions of many vectors of 16-bit floats (up to half of L2 for each thread) and those of
    /// tensors over several axes. Other calls ignore it.
    pub fn with_workspace(self, workspace: &'a mut [MaybeUninit<u8>]) -> Self {
        self.workspace.set(Some(workspace));
        self
    }

    /// Makes a row of a matrix product of `f32` or `f64` independent of its batch: it has the same bits for every m, so
    /// that a row computed alone is that row of any batch. This concerns `gemm`, `gemm_fused`, `gemm_batched` and products of
    /// tensors.
    ///
    /// Without it, m = 1 with n > 1 has the order of `dot`, whereas m > 1 has one chain for each 256 steps of k. With it,
    /// m = 1 has that of m > 1 too. n = 1 has the order of `dot` for every m in either case, and products of other types do
    /// not depend on m in any case.
    ///
    /// ```
    /// use diptych::{Exec, MatMut, MatRef, gemm};
    ///
    /// let exec = Exec::new().batch_invariant();
    /// let a: Vec<f32> = (0..1000).map(|i| 1.0 / (i + 1) as f32).collect();
    /// let (mut batch, mut alone) = ([0.0; 6], [0.0; 3]);
    /// let b: Vec<f32> = (0..1500).map(|i| (i % 7) as f32 - 3.1).collect();
    /// let b = MatRef::new(&b, 500, 3)?;
    /// gemm(&exec, 1.0, MatRef::new(&a, 2, 500)?, b, 0.0, MatMut::new(&mut batch, 2, 3)?)?;
    /// gemm(&exec, 1.0, MatRef::new(&a[500..], 1, 500)?, b, 0.0, MatMut::new(&mut alone, 1, 3)?)?;
    /// assert_eq!(alone, batch[3..]);
    /// # Ok::<(), diptych::Error>(())
    /// ```
    pub fn batch_invariant(mut self) -> Self {
        self.batch_invariant = true;
        self
    }

    /// Returns whether rows of products are independent of their batch.
    #[inline(always)]
    pub(crate) fn is_batch_invariant(&self) -> bool {
        self.batch_invariant
    }

    /// Returns the level to run on.
    #[inline]
    pub(crate) fn level(&self) -> Result<Level> {
        match self.level {
            Some(level) => Ok(level),
            None => Level::active(),
        }
    }

    /// Returns the extensions to use.
    pub(crate) fn extensions(&self) -> Extensions {
        match self.level {
            Some(_) => self.extensions,
            None => Level::active_extensions(),
        }
    }

    /// Calls `body` with these settings and the level that is active now, for calls that read it more than once: another
    /// thread may [force](Level::force) another one meanwhile.
    ///
    /// # Errors
    /// `LevelUnavailable`; those of `body`.
    #[inline]
    pub(crate) fn with_level_fixed<R>(
        &self,
        body: impl FnOnce(&Exec<'a>) -> Result<R>,
    ) -> Result<R> {
        let exec = Exec {
            level: Some(self.level()?),
            extensions: self.extensions(),
            pool: self.pool,
            max_threads: self.max_threads,
            batch_invariant: self.batch_invariant,
            workspace: Cell::new(self.take_workspace()),
        };
        let result = body(&exec);
        if let Some(workspace) = exec.workspace.take() {
            self.workspace.set(Some(workspace));
        }
        result
    }

    /// Returns how many tasks can run at once.
    #[inline]
    pub(crate) fn threads(&self) -> usize {
        if self.pool.is_some() {
            self.max_threads.max(1)
        } else {
            1
        }
    }

    /// Returns into how many tasks, at most `most`, to split a call that reads or writes `bytes`.
    #[inline]
    pub(crate) fn tasks(&self, bytes: usize, most: usize) -> usize {
        const BYTES_PER_TASK: usize = 256 << 10;
        self.tasks_of(bytes / BYTES_PER_TASK, most)
    }

    /// Returns into how many tasks, at most `most`, to split a call of `units` units of work, each about 10 us long.
    pub(crate) fn tasks_of(&self, units: usize, most: usize) -> usize {
        /// Units per task that outweigh waking a thread, which takes long on virtual machines above all.
        const UNITS_TO_WAKE: usize = 16;
        let most = units.min(most).min(self.threads());
        let worth_waking = units / UNITS_TO_WAKE;
        match self.pool {
            Some(pool) if most > worth_waking.max(1) => worth_waking.max(pool.awake().min(most)),
            _ => most,
        }
        .max(1)
    }

    /// Runs `run(0)`, ..., `run(tasks - 1)`: several tasks on the pool, one on the calling thread.
    #[inline]
    pub(crate) fn run(&self, tasks: usize, run: &(impl Fn(usize) + Sync)) {
        match self.pool {
            Some(pool) if tasks > 1 => tasks::run_on(pool, tasks, run),
            _ => (0..tasks).for_each(run),
        }
    }

    /// Returns whether the caller has given scratch memory.
    #[inline]
    pub(crate) fn has_workspace(&self) -> bool {
        let workspace = self.workspace.take();
        let has = workspace.is_some();
        self.workspace.set(workspace);
        has
    }

    /// Returns what makes the settings of calls within the tasks of this call: without threads, and where the caller has
    /// given a workspace, which this call uses, with an empty one, so that they do not use their thread's buffer instead.
    pub(crate) fn within_tasks(&self) -> impl Fn() -> Exec<'static> + Copy + Sync {
        let has_workspace = self.has_workspace();
        move || {
            let exec = Exec::new();
            if has_workspace {
                exec.with_workspace(&mut [])
            } else {
                exec
            }
        }
    }

    /// Takes the caller's workspace, and leaves an empty one until it is put back.
    fn take_workspace(&self) -> Option<&'a mut [MaybeUninit<u8>]> {
        let workspace = self.workspace.take()?;
        self.workspace.set(Some(&mut []));
        Some(workspace)
    }

    /// Calls `body` with scratch memory for `tasks` tasks, `bytes` each: the caller's workspace, else the library's
    /// own.
    ///
    /// # Errors
    /// `WorkspaceTooSmall` when the caller's workspace is smaller than `tasks * bytes`.
    pub(crate) fn with_scratch<R>(
        &self,
        tasks: usize,
        bytes: usize,
        body: impl FnOnce(&Scratch) -> R,
    ) -> Result<R> {
        let Some(workspace) = self.take_workspace() else {
            return Ok(body(&Scratch::per_thread(bytes)));
        };
        let result = match tasks.checked_mul(bytes) {
            Some(needed) if needed <= workspace.len() => Ok(body(&Scratch {
                workspace: Some(Shared::new(workspace.as_mut_ptr())),
                bytes,
            })),
            needed => Err(Error::WorkspaceTooSmall {
                needed: needed.unwrap_or(usize::MAX),
            }),
        };
        self.workspace.set(Some(workspace));
        result
    }

    /// Returns the bytes of scratch memory that each of `tasks` tasks can have: its part of the workspace, or any number
    /// if there is none.
    pub(crate) fn scratch_room(&self, tasks: usize) -> usize {
        let workspace = self.workspace.take();
        let len = workspace.as_ref().map_or(usize::MAX, |all| all.len());
        self.workspace.set(workspace);
        len.checked_div(tasks).unwrap_or(0)
    }

    /// Calls `body` with scratch memory that the work can do without: when the workspace is too small, each task gets 0
    /// bytes.
    pub(crate) fn with_optional_scratch<R>(
        &self,
        tasks: usize,
        bytes: usize,
        body: impl FnOnce(&Scratch) -> R,
    ) -> R {
        let Some(workspace) = self.take_workspace() else {
            return body(&Scratch::per_thread(bytes));
        };
        let needed = tasks.saturating_mul(bytes);
        let result = body(&Scratch {
            workspace: Some(Shared::new(workspace.as_mut_ptr())),
            bytes: if needed <= workspace.len() { bytes } else { 0 },
        });
        self.workspace.set(Some(workspace));
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pool with this many threads awake.
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
    fn short_calls_are_split_for_awake_threads_only() {
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
