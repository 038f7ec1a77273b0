//! The `dpt_exec` of a call: NULL, valid, or invalid; and correct and broken ways to run its tasks.

use core::ffi::c_void;
use core::mem::MaybeUninit;
use core::ptr;

use diptych_ffi::{dpt_exec, dpt_parallel_for_fn, dpt_status_code as Code, dpt_task_fn};

use super::judge::Verdict;
use crate::random::Input;

/// The `exec` argument of a call, with the memory that it points to.
pub struct Execution {
    /// As many bytes as `struct_size` says (8 to the full size), and 8 more to align the struct.
    memory: Option<Box<[MaybeUninit<u8>]>>,
    misaligned: bool,
    workspace: Vec<u8>,
    /// Whether `parallel_for` omits or repeats tasks, which leaves the contents of the outputs undefined.
    pub undefined: bool,
}

const FILLER: u8 = 0xA5;
/// Bytes filled with `FILLER` on each side of the workspace.
const MARGIN: usize = 16;

unsafe extern "C" fn in_order(_: *mut c_void, count: i64, run: dpt_task_fn, task: *mut c_void) {
    for index in 0..count {
        one(run, task, index);
    }
}

unsafe extern "C" fn backwards(_: *mut c_void, count: i64, run: dpt_task_fn, task: *mut c_void) {
    for index in (0..count).rev() {
        one(run, task, index);
    }
}

/// Also runs indices out of range, which must do nothing.
unsafe extern "C" fn excessive(_: *mut c_void, count: i64, run: dpt_task_fn, task: *mut c_void) {
    for index in [-1, count, i64::MIN, i64::MAX].into_iter().chain(0..count) {
        one(run, task, index);
    }
}

unsafe extern "C" fn forgetful(_: *mut c_void, count: i64, run: dpt_task_fn, task: *mut c_void) {
    for index in 1..count {
        one(run, task, index);
    }
}

unsafe extern "C" fn repetitive(_: *mut c_void, count: i64, run: dpt_task_fn, task: *mut c_void) {
    for index in (0..count).chain(0..count) {
        one(run, task, index);
    }
}

fn one(run: dpt_task_fn, task: *mut c_void, index: i64) {
    let run = run.expect("the library hands over a task");
    // SAFETY: the library's own function and argument, on the thread that received them.
    unsafe { run(task, index) };
}

const fn plain() -> dpt_exec {
    dpt_exec {
        struct_size: size_of::<dpt_exec>(),
        device: 0,
        flags: 0,
        stream: ptr::null_mut(),
        workspace: ptr::null_mut(),
        workspace_size: 0,
        parallel_for: None,
        pool: ptr::null_mut(),
        max_threads: 0,
        reserved: 0,
    }
}

impl Execution {
    /// Draws an `exec` and adds its faults to the verdict. `query` returns the bytes of scratch memory that the
    /// call needs; it is `None` for calls that need no scratch memory.
    pub fn new(
        input: &mut Input<'_>,
        verdict: &mut Verdict,
        query: Option<&dyn Fn(*const dpt_exec) -> Option<usize>>,
    ) -> Execution {
        let mut made = Execution {
            memory: None,
            misaligned: false,
            workspace: Vec::new(),
            undefined: false,
        };
        if input.rarely(2) {
            return made;
        }
        let mut exec = plain();
        made.lend_threads(input, &mut exec, verdict);
        if let Some(query) = query {
            made.lend_workspace(input, &mut exec, verdict, query);
        }
        if input.rarely(8) {
            made.corrupt(input, &mut exec, verdict);
        }
        made.store(&exec);
        made
    }

    fn lend_threads(&mut self, input: &mut Input<'_>, exec: &mut dpt_exec, verdict: &mut Verdict) {
        let ways: [dpt_parallel_for_fn; 6] = [
            None,
            Some(in_order),
            Some(backwards),
            Some(excessive),
            Some(forgetful),
            Some(repetitive),
        ];
        let way = input.below(ways.len());
        exec.parallel_for = ways[way];
        exec.max_threads = input.pick(&[0, 1, 2, 3, 7, 64, i32::MAX]);
        if way >= 4 {
            self.undefined = true;
            verdict.may(Code::DPT_INVALID_VALUE);
        }
    }

    fn lend_workspace(
        &mut self,
        input: &mut Input<'_>,
        exec: &mut dpt_exec,
        verdict: &mut Verdict,
        query: &dyn Fn(*const dpt_exec) -> Option<usize>,
    ) {
        const MOST: usize = 1 << 24;
        let Some(needed) = query(exec).filter(|&needed| needed <= MOST) else {
            return;
        };
        let size = match input.below(8) {
            0..=2 => return,
            3..=5 => needed,
            6 => needed + input.below(100),
            _ => (needed * input.below(256)) >> 8,
        };
        if size < needed {
            // The query returns an upper bound: the call may succeed with less.
            verdict.may(Code::DPT_WORKSPACE_TOO_SMALL);
        }
        self.workspace = vec![FILLER; size + 2 * MARGIN];
        exec.workspace = self.workspace[MARGIN..].as_mut_ptr().cast();
        exec.workspace_size = size;
    }

    fn corrupt(&mut self, input: &mut Input<'_>, exec: &mut dpt_exec, verdict: &mut Verdict) {
        match input.below(9) {
            0 => {
                exec.struct_size = input.pick(&[0usize, 8, 56, 63, 65, 72, 1 << 20, usize::MAX]);
                verdict.fault(Code::DPT_BAD_STRUCT_SIZE);
            }
            1 => {
                exec.flags = 2 << input.below(31);
                verdict.fault(Code::DPT_UNKNOWN_FLAG);
            }
            2 => {
                exec.reserved = input.pick(&[1, -1, i32::MIN]);
                verdict.fault(Code::DPT_INVALID_VALUE);
            }
            3 => {
                exec.device = input.pick(&[3, -1, i32::MAX, i32::MIN]);
                verdict.fault(Code::DPT_UNKNOWN_ENUM);
            }
            // With a GPU present, the call would be valid and run there.
            4 if diptych_ffi::dpt_cuda_available() == 0 => {
                exec.device = 1;
                // SAFETY: NULL is allowed. The status says whether the driver or the device is missing.
                verdict.fault_of(unsafe { diptych_ffi::dpt_cuda_preload(ptr::null()) });
            }
            5 => {
                exec.max_threads = input.pick(&[-1, i32::MIN]);
                verdict.fault(Code::DPT_INVALID_VALUE);
            }
            6 => {
                (exec.workspace, exec.workspace_size) = (ptr::null_mut(), 1 + input.below(9));
                verdict.fault(Code::DPT_NULL_POINTER);
            }
            7 => {
                exec.workspace = ptr::dangling_mut::<c_void>();
                exec.workspace_size = input.pick(&[usize::MAX, (isize::MAX as usize) + 1]);
                verdict.fault(Code::DPT_SIZE_OVERFLOW);
            }
            _ => {
                self.misaligned = true;
                verdict.fault(Code::DPT_MISALIGNED);
            }
        }
    }

    /// Copies as many bytes of the struct as `struct_size` says to memory that ends there, up to alignment.
    fn store(&mut self, exec: &dpt_exec) {
        let length = exec.struct_size.clamp(8, size_of::<dpt_exec>());
        let mut memory: Box<[MaybeUninit<u8>]> = vec![MaybeUninit::new(0); length + 8].into();
        let start = memory.as_ptr().align_offset(8) + usize::from(self.misaligned);
        let from: *const MaybeUninit<u8> = ptr::from_ref(exec).cast();
        // SAFETY: copies `length` bytes of the struct; the target has 8 more, and starts at most 8 bytes in.
        unsafe { ptr::copy_nonoverlapping(from, memory[start..].as_mut_ptr(), length) };
        self.memory = Some(memory);
    }

    /// Returns the pointer to pass to the call.
    pub fn pointer(&self) -> *const dpt_exec {
        let Some(memory) = &self.memory else {
            return ptr::null();
        };
        let start = memory.as_ptr().align_offset(8) + usize::from(self.misaligned);
        memory[start..].as_ptr().cast()
    }

    /// Returns whether the bytes next to the workspace are unchanged.
    pub fn is_intact(&self) -> bool {
        let bytes = &self.workspace;
        let margin = MARGIN.min(bytes.len());
        let (front, back) = (&bytes[..margin], &bytes[bytes.len() - margin..]);
        front.iter().chain(back).all(|&byte| byte == FILLER)
    }
}
