//! `dpt_exec` and its checked conversion to `diptych::Exec`.
use crate::error::Failure;
use crate::location::is_device_memory;
use crate::sized;
use core::ffi::c_void;
use diptych::Error;

/// One task of a parallel call. dpt_parallel_for_fn calls it with the task pointer that it was
/// given and an index.
pub type dpt_task_fn = Option<unsafe extern "C" fn(task: *mut c_void, index: i64)>;

/// A function of the caller that calls run(task, i) exactly once for every i in 0 .. count, in any
/// order and on any threads, and returns when all of these calls have returned. Neither longjmp nor
/// a C++ exception may leave a task. count is at least 2 and at most max_threads. The result bits
/// do not depend on how the tasks are run. When tasks were left out or repeated, the operation
/// fails with DPT_INVALID_VALUE, and its output is undefined.
pub type dpt_parallel_for_fn = Option<
    unsafe extern "C" fn(pool: *mut c_void, count: i64, run: dpt_task_fn, task: *mut c_void),
>;

/// Where a call runs: the values of dpt_exec.device.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum dpt_device {
    /// Host memory, on the CPU.
    DPT_DEVICE_CPU = 0,
    /// Device memory, on the GPU.
    DPT_DEVICE_CUDA = 1,
    /// Where the pointers lie; the CPU if there is no driver. No context is created to find out: a
    /// driver that does not answer because the thread has no current context is asked again in an
    /// active primary context, such as the CUDA runtime's. If there is none, the pointers are taken
    /// for host memory, so a program whose contexts all come from cuCtxCreate must make one current
    /// before such a call.
    DPT_DEVICE_AUTO = 2,
}

/// The bits of dpt_exec.flags.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum dpt_exec_flag {
    /// A row of a matrix product of float or double has the same bits for every m, so that a row
    /// computed alone is that row of any batch: m = 1 with n > 1 has the order of m > 1. (n = 1 has
    /// that of dot for every m in either case, and products of other types do not depend on m.)
    /// Other operations ignore it.
    DPT_EXEC_BATCH_INVARIANT = 1,
}

/// Where and how a call runs: plain data, owned by the caller. A NULL pointer to it means: on the
/// CPU, in the calling thread alone, with the library's own scratch memory.
///
/// Set the struct to zero, set struct_size to sizeof(dpt_exec), then set the members that you need.
/// A call only reads it, so threads may share one dpt_exec that has no workspace.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct dpt_exec {
    /// sizeof(dpt_exec). Another value is DPT_BAD_STRUCT_SIZE.
    pub struct_size: usize,
    /// A value of dpt_device. An unknown value is DPT_UNKNOWN_ENUM.
    pub device: i32,
    /// 0 or DPT_EXEC_BATCH_INVARIANT. An unknown bit is DPT_UNKNOWN_FLAG.
    pub flags: u32,
    /// CUDA: the CUstream (cudaStream_t) to use; NULL: the default stream. Ignored on the CPU.
    pub stream: *mut c_void,
    /// Scratch memory of any alignment, in the memory of `device`; NULL: the library's own. Only
    /// this call may use it while the call runs, and it must overlap no argument (this is not
    /// checked). On the GPU the call runs until its work is done; later calls on the same stream
    /// may have the same workspace.
    pub workspace: *mut c_void,
    /// The size of workspace in bytes, 0 if that is NULL (else DPT_NULL_POINTER); the workspace
    /// queries tell how many a call needs.
    pub workspace_size: usize,
    /// CPU: runs tasks on the caller's threads. NULL: on the calling thread alone.
    pub parallel_for: dpt_parallel_for_fn,
    /// The first argument of parallel_for.
    pub pool: *mut c_void,
    /// How many tasks can run at once; 0 and 1 mean the calling thread alone. Calls too small to
    /// gain from threads run on the calling thread in any case. A negative number is
    /// DPT_INVALID_VALUE.
    pub max_threads: i32,
    /// 0. Another value is DPT_INVALID_VALUE.
    pub reserved: i32,
}

const BATCH_INVARIANT: u32 = dpt_exec_flag::DPT_EXEC_BATCH_INVARIANT as u32;

impl dpt_exec {
    /// Whether rows of products are independent of their batch.
    pub(crate) fn is_batch_invariant(&self) -> bool {
        self.flags & BATCH_INVARIANT != 0
    }
}

/// A `dpt_parallel_for_fn` that is not NULL.
pub(crate) type ParallelForFn = unsafe extern "C" fn(*mut c_void, i64, dpt_task_fn, *mut c_void);

/// Returns the struct at `exec` if it asks for the CPU and is valid. In all other cases [`read`] reads it and names
/// the error.
///
/// # Safety
/// NULL, or points to readable memory that begins with `struct_size`, and is as large as that says.
#[inline(always)]
pub(crate) unsafe fn on_host<'a>(exec: *const dpt_exec) -> Option<&'a dpt_exec> {
    // SAFETY: passed on from the caller.
    unsafe { whole(exec) }.filter(|c| {
        let sized = c.workspace_size <= isize::MAX as usize;
        let placed = !c.workspace.is_null() | (c.workspace_size == 0);
        says_host(c) & (c.max_threads >= 0) & sized & placed
    })
}

/// Whether a call of these sizes may treat `exec` as NULL: it asks for the CPU, gives no workspace, and has one thread
/// or the call is too small to use more.
///
/// # Safety
/// As [`on_host`].
#[inline(always)]
pub(crate) unsafe fn is_plain<const N: usize>(exec: *const dpt_exec, sizes: [i64; N]) -> bool {
    /// No operation with less work than this uses more than one thread.
    const SMALL: u64 = 1 << 14;
    let plain = |c: &dpt_exec| {
        let lends = !c.workspace.is_null() | (c.workspace_size != 0);
        // Four sizes of 16 bits do not overflow.
        let bits = sizes.iter().fold(0, |bits, &size| bits | size as u64);
        let work = sizes
            .iter()
            .fold(1, |work: u64, &size| work.wrapping_mul(size as u64));
        let small = (bits >> 16 == 0) & (work < SMALL);
        says_host(c) & !lends & ((0..=1).contains(&c.max_threads) | (small & (c.max_threads > 1)))
    };
    // SAFETY: passed on from the caller.
    exec.is_null() || unsafe { whole(exec) }.is_some_and(plain)
}

/// Returns the struct if it is aligned and has the size that this version knows.
#[inline(always)]
unsafe fn whole<'a>(exec: *const dpt_exec) -> Option<&'a dpt_exec> {
    // SAFETY: aligned; the size comes first in every version, and tells whether the rest is there.
    unsafe {
        let known = exec.is_aligned() && (*exec).struct_size == size_of::<dpt_exec>();
        known.then(|| &*exec)
    }
}

#[inline(always)]
fn says_host(c: &dpt_exec) -> bool {
    (c.device == dpt_device::DPT_DEVICE_CPU as i32) & (c.flags == 0) & (c.reserved == 0)
}

/// Whether a call with these pointers runs on the device.
pub(crate) fn runs_on_device(
    exec: &dpt_exec,
    pointers: &[*const c_void],
    names: &'static [&'static str],
) -> Result<bool, Failure> {
    const CPU: i32 = dpt_device::DPT_DEVICE_CPU as i32;
    const CUDA: i32 = dpt_device::DPT_DEVICE_CUDA as i32;
    match exec.device {
        CPU => Ok(false),
        CUDA => Ok(true),
        _ => is_device_memory(pointers, names),
    }
}

/// Reads a `dpt_exec` and refuses what this version does not know.
///
/// # Safety
/// `exec` points to readable memory that begins with `struct_size`, and is as large as that says.
pub(crate) unsafe fn read(exec: *const dpt_exec) -> Result<dpt_exec, Failure> {
    // SAFETY: passed on from the caller.
    let c = unsafe { sized::read(exec, "exec", "exec->struct_size") }?;
    if c.flags & !BATCH_INVARIANT != 0 {
        return Err(Failure::UnknownFlag("exec->flags"));
    }
    if c.reserved != 0 {
        return Err(Error::InvalidValue {
            arg: "exec->reserved",
        }
        .into());
    }
    const KNOWN: core::ops::RangeInclusive<i32> =
        dpt_device::DPT_DEVICE_CPU as i32..=dpt_device::DPT_DEVICE_AUTO as i32;
    if !KNOWN.contains(&c.device) {
        return Err(Failure::UnknownEnum("exec->device"));
    }
    if c.max_threads < 0 {
        return Err(Error::InvalidValue {
            arg: "exec->max_threads",
        }
        .into());
    }
    if c.workspace.is_null() && c.workspace_size > 0 {
        return Err(Error::NullPointer {
            arg: "exec->workspace",
        }
        .into());
    }
    if c.workspace_size > isize::MAX as usize {
        return Err(Error::SizeOverflow {
            arg: "exec->workspace_size",
        }
        .into());
    }
    Ok(c)
}

/// Writes the answer of a workspace query.
///
/// # Safety
/// `size` is NULL or points to a place for the answer.
pub(crate) unsafe fn write_size(size: *mut usize, bytes: usize) -> Result<(), Error> {
    if size.is_null() {
        return Err(Error::NullPointer { arg: "size" });
    }
    if !size.is_aligned() {
        return Err(Error::Misaligned { arg: "size" });
    }
    // SAFETY: not NULL and aligned.
    unsafe { size.write(bytes) };
    Ok(())
}
