//! The threads of a pool. On Unix they are made without std, which ends the process when it has no memory
//! for what it keeps of a thread.

use super::Board;
use crate::error::{Error, Result};

pub(super) use imp::Helper;
pub(super) use place::{cpu, leave_cpu};

#[cfg(any(target_os = "linux", target_os = "android"))]
mod place {
    use core::mem::{MaybeUninit, size_of};

    /// The CPU that the calling thread is on; huge where the system cannot say.
    pub(in crate::pool) fn cpu() -> usize {
        // SAFETY: only says where the thread is; negative where it cannot.
        unsafe { libc::sched_getcpu() as usize }
    }

    /// Moves the calling thread to another CPU that it may use, if there is one.
    pub(in crate::pool) fn leave_cpu() {
        const SIZE: usize = size_of::<libc::cpu_set_t>();
        let mut allowed = MaybeUninit::<libc::cpu_set_t>::zeroed();
        // SAFETY: the set is written and read with its size.
        unsafe {
            if libc::sched_getaffinity(0, SIZE, allowed.as_mut_ptr()) != 0 {
                return;
            }
            let allowed = allowed.assume_init();
            let mut others = allowed;
            let cpu = cpu();
            if cpu < 8 * SIZE {
                libc::CPU_CLR(cpu, &mut others);
            }
            if libc::CPU_COUNT(&others) > 0
                && libc::sched_setaffinity(0, SIZE, &raw const others) == 0
            {
                libc::sched_setaffinity(0, SIZE, &raw const allowed);
            }
        }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        fn allowed() -> libc::cpu_set_t {
            let mut allowed = MaybeUninit::zeroed();
            // SAFETY: a set of this size, for which zeros are a value.
            unsafe {
                libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), allowed.as_mut_ptr());
                allowed.assume_init()
            }
        }

        #[test]
        fn a_thread_leaves_its_cpu_and_may_return() {
            let before = allowed();
            let left = (0..1000).any(|_| {
                let from = cpu();
                leave_cpu();
                cpu() != from
            });
            // SAFETY: two sets.
            assert!(unsafe { libc::CPU_EQUAL(&before, &allowed()) });
            // SAFETY: a set.
            assert!(left || unsafe { libc::CPU_COUNT(&before) } == 1);
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod place {
    pub(in crate::pool) fn cpu() -> usize {
        usize::MAX
    }

    pub(in crate::pool) fn leave_cpu() {}
}

/// Gives the calling thread the default floating-point environment. A new one has that of the thread which made
/// the pool, and results would differ from those of the callers.
fn default_environment() {
    // SAFETY: what a program starts with: rounding to nearest, subnormal numbers, no traps.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        core::arch::asm!("ldmxcsr [{}]", in(reg) &0x1f80_u32, options(nostack, readonly));
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        core::arch::asm!("msr fpcr, xzr", options(nostack, nomem));
    }
    // SAFETY: as above.
    #[cfg(all(target_arch = "riscv64", target_feature = "f"))]
    unsafe {
        core::arch::asm!("fscsr zero", options(nostack, nomem));
    }
}

#[cfg(unix)]
mod imp {
    use super::{Board, Error, Result, default_environment};
    use core::ffi::c_void;
    use core::mem::MaybeUninit;
    use core::ptr;

    /// As std's threads have: tasks may be the caller's code.
    const STACK: usize = 2 << 20;

    /// A thread that helps; to be joined.
    #[derive(Debug)]
    pub(in crate::pool) struct Helper(libc::pthread_t);

    // SAFETY: any thread may join another.
    unsafe impl Send for Helper {}
    // SAFETY: a shared one is of no use.
    unsafe impl Sync for Helper {}

    impl Helper {
        /// Starts a thread.
        ///
        /// # Safety
        /// The board stays where it is until the thread has been joined.
        pub(in crate::pool) unsafe fn start(board: &Board) -> Result<Helper> {
            let board = ptr::from_ref(board).cast_mut().cast();
            let mut attributes = MaybeUninit::uninit();
            let mut thread = MaybeUninit::uninit();
            let signals = Signals::block();
            // SAFETY: the attributes are used between their making and their end only; the board is there
            // for the thread, as the caller says.
            unsafe {
                if libc::pthread_attr_init(attributes.as_mut_ptr()) != 0 {
                    return Err(Error::ThreadsUnavailable);
                }
                libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK);
                let (thread, attributes) = (thread.as_mut_ptr(), attributes.as_mut_ptr());
                let refused = libc::pthread_create(thread, attributes, life, board) != 0;
                drop(signals);
                libc::pthread_attr_destroy(attributes);
                if refused {
                    return Err(Error::ThreadsUnavailable);
                }
            }
            // SAFETY: written by the call that succeeded.
            Ok(Helper(unsafe { thread.assume_init() }))
        }

        /// Waits for the thread's end.
        pub(in crate::pool) fn join(self) {
            // SAFETY: started and not joined before, for that takes the helper.
            unsafe { libc::pthread_join(self.0, ptr::null_mut()) };
        }
    }

    /// Signals that are blocked on the calling thread, and so on one that it makes: a handler runs on the program's
    /// own threads. Not those that a thread raises by what it does, which would end the process unhandled, and not
    /// those of profilers.
    struct Signals {
        before: libc::sigset_t,
    }

    impl Signals {
        fn block() -> Self {
            const OWN: [libc::c_int; 8] = [
                libc::SIGSEGV,
                libc::SIGBUS,
                libc::SIGFPE,
                libc::SIGILL,
                libc::SIGTRAP,
                libc::SIGSYS,
                libc::SIGABRT,
                libc::SIGPROF,
            ];
            let mut all = MaybeUninit::uninit();
            let mut before = MaybeUninit::uninit();
            // SAFETY: both sets are written before they are read.
            unsafe {
                libc::sigfillset(all.as_mut_ptr());
                for signal in OWN {
                    libc::sigdelset(all.as_mut_ptr(), signal);
                }
                libc::sigemptyset(before.as_mut_ptr());
                libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
                Self {
                    before: before.assume_init(),
                }
            }
        }
    }

    impl Drop for Signals {
        fn drop(&mut self) {
            // SAFETY: the set that was there before.
            unsafe {
                libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut());
            }
        }
    }

    extern "C" fn life(board: *mut c_void) -> *mut c_void {
        // SAFETY: a name for the calling thread.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        unsafe {
            libc::pthread_setname_np(libc::pthread_self(), c"diptych".as_ptr())
        };
        // SAFETY: as above.
        #[cfg(target_vendor = "apple")]
        unsafe {
            libc::pthread_setname_np(c"diptych".as_ptr())
        };
        default_environment();
        // SAFETY: `start` was given a board that outlives this thread.
        unsafe { &*board.cast::<Board>() }.help();
        ptr::null_mut()
    }
}

#[cfg(not(unix))]
mod imp {
    use super::{Board, Error, Result, default_environment};
    use std::thread::{Builder, JoinHandle};

    /// A thread that helps; to be joined.
    #[derive(Debug)]
    pub(in crate::pool) struct Helper(JoinHandle<()>);

    impl Helper {
        /// Starts a thread.
        ///
        /// # Safety
        /// The board stays where it is until the thread has been joined.
        pub(in crate::pool) unsafe fn start(board: &Board) -> Result<Helper> {
            // SAFETY: as the caller's: it outlives the thread.
            let board: &'static Board = unsafe { &*core::ptr::from_ref(board) };
            let thread = Builder::new().name("diptych".into());
            let thread = thread.spawn(|| {
                default_environment();
                board.help();
            });
            thread.map(Helper).map_err(|_| Error::ThreadsUnavailable)
        }

        /// Waits for the thread's end.
        pub(in crate::pool) fn join(self) {
            // A helper catches what its tasks panic with.
            let _ = self.0.join();
        }
    }
}
