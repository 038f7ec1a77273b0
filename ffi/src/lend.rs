//! Threads and workspace of a `dpt_exec`, lent to a call on the CPU.
use crate::error::Failure;
use crate::exec::dpt_exec;
use crate::pool;
use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use diptych::{Error, Exec, ParallelFor};

/// The threads of an exec. They are read only when a call shares out its work, which a small call never does.
///
/// The caller's `parallel_for` is checked: the number of tasks that ran and the sum of the [`hash`]es of their indices
/// must be right. A function that leaves out or repeats tasks is thus an error, not a silently wrong result.
struct CallerThreads<'a> {
    exec: &'a dpt_exec,
    wrong: AtomicBool,
}

struct Task<'a> {
    run: &'a (dyn Fn(usize) + Sync),
    count: usize,
    done: AtomicUsize,
    hashes: AtomicUsize,
}

/// A hash of an index. Different sets of indices have different sums of hashes, even if their plain sums are equal, as
/// those of 1, 1, 2, 2 and 0, 1, 2, 3 are. These are the last steps of SplitMix64 (Steele, Lea, Flood, "Fast Splittable
/// Pseudorandom Number Generators", 2014).
fn hash(index: usize) -> usize {
    let x = (index as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    let x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    (x ^ (x >> 31)) as usize
}

unsafe extern "C" fn run_task(task: *mut c_void, index: i64) {
    // SAFETY: `task` is the pointer that `parallel_for` below passed on; it is valid until the
    // caller's function returns, and is only read.
    let task = unsafe { &*task.cast::<Task<'_>>() };
    if let Ok(index) = usize::try_from(index)
        && index < task.count
    {
        (task.run)(index);
        task.done.fetch_add(1, Ordering::Relaxed);
        task.hashes.fetch_add(hash(index), Ordering::Relaxed);
    }
}

impl CallerThreads<'_> {
    fn ours(&self) -> Option<&dyn ParallelFor> {
        // SAFETY: the caller promises that the pool of the struct is valid.
        unsafe { pool::of(self.exec) }
    }
}

// SAFETY: every index runs exactly once, and the function returns after all of them: our pool does so, and the
// contract of `dpt_parallel_for_fn` demands it of the caller's function.
unsafe impl ParallelFor for CallerThreads<'_> {
    fn parallel_for(&self, count: usize, run: &(dyn Fn(usize) + Sync)) {
        if let Some(ours) = self.ours() {
            return ours.parallel_for(count, run);
        }
        let Some(theirs) = self.exec.parallel_for else {
            return (0..count).for_each(run);
        };
        let task = Task {
            run,
            count,
            done: AtomicUsize::new(0),
            hashes: AtomicUsize::new(0),
        };
        let pointer = (&raw const task).cast_mut().cast::<c_void>();
        // SAFETY: the function and `pool` come from the same `dpt_exec`; `task` outlives the call.
        // The count fits i64: it is at most the number of elements of an array in memory.
        unsafe { theirs(self.exec.pool, count as i64, Some(run_task), pointer) };
        let ran = (
            task.done.load(Ordering::Relaxed),
            task.hashes.load(Ordering::Relaxed),
        );
        let hashes = (0..count).map(hash).fold(0, usize::wrapping_add);
        if ran != (count, hashes) {
            self.wrong.store(true, Ordering::Relaxed);
        }
    }

    fn awake(&self) -> usize {
        self.ours().map_or(usize::MAX, ParallelFor::awake)
    }
}

/// Runs `host` on the CPU with the threads and the workspace of `exec`, which has been checked.
///
/// # Safety
/// The workspace is writable and used by nobody else during the call, and `parallel_for` keeps its contract.
#[inline(always)]
pub(crate) unsafe fn lend(
    exec: &dpt_exec,
    host: impl FnOnce(&Exec<'_>) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let threads = CallerThreads {
        exec,
        wrong: AtomicBool::new(false),
    };
    let mut rust = Exec::new();
    if exec.max_threads > 1 && exec.parallel_for.is_some() {
        rust = rust.with_pool(&threads, exec.max_threads as usize);
    }
    if exec.is_batch_invariant() {
        rust = rust.batch_invariant();
    }
    if !exec.workspace.is_null() {
        // SAFETY: the caller promises this many bytes for this call alone; the size has been checked.
        rust = rust.with_workspace(unsafe {
            let bytes = exec.workspace.cast::<MaybeUninit<u8>>();
            core::slice::from_raw_parts_mut(bytes, exec.workspace_size)
        });
    }
    let done = host(&rust);
    if done.is_ok() && threads.wrong.load(Ordering::Relaxed) {
        let arg = "exec->parallel_for";
        return Err(Error::InvalidValue { arg }.into());
    }
    done
}
