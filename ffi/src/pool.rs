//! `dpt_pool`: threads for callers who have none.
use crate::error::{Failure, report};
use crate::exec::dpt_exec;
use crate::status::dpt_status;
use diptych::Error;

/// A pool of threads, made by dpt_pool_create.
pub struct dpt_pool {
    #[cfg(feature = "std")]
    pool: diptych::Pool,
}

/// Creates a pool with which `threads` threads can work on a call at once: the calling thread, and
/// threads - 1 that the pool starts. Writes it to *out.
///
/// Sharing: any number of calls may use a pool at the same time. The pool serves one of them; the
/// others run on their calling threads alone.
/// Waking: after a call the threads stay awake for a millisecond, yielding to other threads, and
/// then sleep. A short call (below about 300 us) that finds them asleep runs on its calling thread
/// alone, unless another such call came within the last millisecond.
/// Threads: they have stacks of 2 MiB and the default floating-point environment (the tasks of a
/// call: the caller's control word), and allocate nothing. They block all signals except SIGPROF
/// and those of a thread's own faults, such as SIGSEGV. On Linux a thread on the same CPU as its
/// caller moves to another CPU of its affinity mask. If the program changes the mask at that moment,
/// the thread may overwrite the new mask.
/// Fork: the threads do not survive it. Calls in the child that are given the pool run on the
/// calling thread alone; create a new pool there.
///
/// Errors: DPT_NULL_POINTER; DPT_MISALIGNED; DPT_INVALID_VALUE if threads < 1;
/// DPT_THREADS_UNAVAILABLE or DPT_OUT_OF_MEMORY if the system refuses; DPT_UNSUPPORTED in a
/// freestanding build. *out is NULL after a failure.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_pool_create(threads: i32, out: *mut *mut dpt_pool) -> dpt_status {
    if out.is_null() {
        return report(
            "dpt_pool_create",
            Err(Error::NullPointer { arg: "out" }.into()),
        );
    }
    if !out.is_aligned() {
        return report(
            "dpt_pool_create",
            Err(Error::Misaligned { arg: "out" }.into()),
        );
    }
    let made = match usize::try_from(threads) {
        Ok(threads) if threads > 0 => imp::create(threads),
        _ => Err(Error::InvalidValue { arg: "threads" }),
    };
    // SAFETY: `out` is not NULL, so it points to a place for the pool.
    unsafe { out.write(made.unwrap_or(core::ptr::null_mut())) };
    report("dpt_pool_create", made.map(|_| ()).map_err(Failure::Core))
}

/// Ends the threads of a pool, waits for their end, and frees the pool. No call may be using it.
/// NULL is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_pool_destroy(pool: *mut dpt_pool) {
    if !pool.is_null() {
        // SAFETY: the pool came from `dpt_pool_create` and is not used any more.
        unsafe { imp::destroy(pool) };
    }
}

/// Makes calls with *exec run on the pool: sets parallel_for, pool and max_threads, and leaves the
/// other members as they are. Set struct_size before.
///
/// Errors: DPT_NULL_POINTER; DPT_MISALIGNED; DPT_BAD_STRUCT_SIZE; DPT_UNSUPPORTED in a freestanding
/// build.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dpt_pool_exec(pool: *mut dpt_pool, exec: *mut dpt_exec) -> dpt_status {
    // SAFETY: the pointers are NULL or valid, by the contract of the header.
    report("dpt_pool_exec", unsafe { fill(pool, exec) })
}

/// # Safety
/// `pool` is NULL or came from `dpt_pool_create`; `exec` is NULL or points to a `dpt_exec`.
unsafe fn fill(pool: *mut dpt_pool, exec: *mut dpt_exec) -> Result<(), Failure> {
    if pool.is_null() {
        return Err(Error::NullPointer { arg: "pool" }.into());
    }
    if exec.is_null() {
        return Err(Error::NullPointer { arg: "exec" }.into());
    }
    if !exec.is_aligned() {
        return Err(Error::Misaligned { arg: "exec" }.into());
    }
    // SAFETY: not NULL and aligned; `struct_size` is there in every version of the struct.
    if unsafe { (&raw const (*exec).struct_size).read() } != size_of::<dpt_exec>() {
        return Err(Failure::BadStructSize("exec->struct_size"));
    }
    // SAFETY: the size says that the whole struct is there, and the caller lends it to this call.
    unsafe { imp::fill(pool, &mut *exec) }
}

/// Returns the pool of an exec that dpt_pool_exec filled, so that calls use it directly and not through C.
pub(crate) use imp::of;

#[cfg(feature = "std")]
mod imp {
    use super::dpt_pool;
    use crate::error::Failure;
    use crate::exec::{ParallelForFn, dpt_exec, dpt_task_fn};
    use core::ffi::c_void;
    use core::ptr::fn_addr_eq;
    use diptych::{Error, ParallelFor, Pool};
    use std::alloc::{Layout, alloc};

    pub(super) fn create(threads: usize) -> Result<*mut dpt_pool, Error> {
        let pool = Pool::new(threads)?;
        // Not `Box::new`, which ends the process when memory is short.
        // SAFETY: the layout is not empty.
        let place = unsafe { alloc(Layout::new::<dpt_pool>()) }.cast::<dpt_pool>();
        if place.is_null() {
            return Err(Error::OutOfMemory);
        }
        // SAFETY: memory for a pool.
        unsafe { place.write(dpt_pool { pool }) };
        Ok(place)
    }

    /// # Safety
    /// `pool` came from `create`, and is no longer used.
    pub(super) unsafe fn destroy(pool: *mut dpt_pool) {
        // SAFETY: `create` allocated it with the layout of a box.
        drop(unsafe { Box::from_raw(pool) });
    }

    /// # Safety
    /// `pool` came from `create` and has not been destroyed.
    pub(super) unsafe fn fill(pool: *mut dpt_pool, exec: &mut dpt_exec) -> Result<(), Failure> {
        // SAFETY: the pool is alive; it is only shared, never changed.
        let threads = unsafe { (*pool).pool.threads() };
        exec.parallel_for = Some(parallel_for);
        exec.pool = pool.cast();
        exec.max_threads = i32::try_from(threads).unwrap_or(i32::MAX);
        Ok(())
    }

    /// # Safety
    /// The pool of the exec is valid.
    #[inline(always)]
    pub(crate) unsafe fn of(exec: &dpt_exec) -> Option<&dyn ParallelFor> {
        let ours: ParallelForFn = parallel_for;
        let filled = exec
            .parallel_for
            .is_some_and(|theirs| fn_addr_eq(theirs, ours));
        // SAFETY: only `fill` sets this function, together with a pool, which is alive.
        filled.then(|| unsafe { &(*exec.pool.cast::<dpt_pool>()).pool } as _)
    }

    struct Task {
        run: unsafe extern "C" fn(*mut c_void, i64),
        task: *mut c_void,
    }

    // SAFETY: `dpt_parallel_for_fn` allows tasks to run on any thread.
    unsafe impl Sync for Task {}

    impl Task {
        fn call(&self, index: usize) {
            // SAFETY: the caller of `parallel_for` passed both as one task; the index is below the
            // count, which came as an i64.
            unsafe { (self.run)(self.task, index as i64) }
        }
    }

    unsafe extern "C" fn parallel_for(
        pool: *mut c_void,
        count: i64,
        run: dpt_task_fn,
        task: *mut c_void,
    ) {
        let (Some(run), Ok(count)) = (run, usize::try_from(count)) else {
            return;
        };
        let task = Task { run, task };
        // SAFETY: `fill` set `pool` together with this function, and the pool is alive.
        let pool = unsafe { &(*pool.cast::<dpt_pool>()).pool };
        pool.parallel_for(count, &|index| task.call(index));
    }
}

#[cfg(not(feature = "std"))]
mod imp {
    use super::dpt_pool;
    use crate::error::Failure;
    use crate::exec::dpt_exec;
    use diptych::{Error, ParallelFor};

    pub(crate) unsafe fn of(_: &dpt_exec) -> Option<&dyn ParallelFor> {
        None
    }

    pub(super) fn create(_: usize) -> Result<*mut dpt_pool, Error> {
        Err(Error::Unsupported { arg: "threads" })
    }

    pub(super) unsafe fn destroy(_: *mut dpt_pool) {}

    pub(super) unsafe fn fill(_: *mut dpt_pool, _: &mut dpt_exec) -> Result<(), Failure> {
        Err(Error::Unsupported { arg: "pool" }.into())
    }
}
