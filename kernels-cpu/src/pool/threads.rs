//! The threads of a pool. On Unix they are created without std, which aborts the process when it has no memory for its
//! data about a thread.

use super::control::Control;
use crate::error::{Error, Result};

pub(super) use imp::Worker;

/// Sets the default floating-point environment on the calling thread. A new thread inherits the environment of the
/// thread that made the pool, so its results could differ from the callers'.
fn set_default_float_environment() {
    // SAFETY: the environment that a program starts with: round to nearest, subnormal numbers kept, no traps.
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
    use super::{Control, Error, Result, set_default_float_environment};
    use core::ffi::c_void;
    use core::mem::MaybeUninit;
    use core::ptr;

    /// As large as std's default: tasks may run code of the caller.
    const STACK: usize = 2 << 20;

    /// A thread of the pool, which must be joined.
    #[derive(Debug)]
    pub(in crate::pool) struct Worker(libc::pthread_t);

    // SAFETY: any thread may join another.
    unsafe impl Send for Worker {}
    // SAFETY: it has no method that takes a shared reference.
    unsafe impl Sync for Worker {}

    impl Worker {
        /// Starts a thread.
        ///
        /// # Safety
        /// `control` must stay in place until the thread has been joined.
        pub(in crate::pool) unsafe fn start(control: &Control) -> Result<Worker> {
            let control = ptr::from_ref(control).cast_mut().cast();
            let mut attributes = MaybeUninit::uninit();
            let mut thread = MaybeUninit::uninit();
            let signals = Signals::block();
            // SAFETY: the attributes are used between their initialisation and destruction only; `control` outlives the
            // thread, as the caller guarantees.
            unsafe {
                if libc::pthread_attr_init(attributes.as_mut_ptr()) != 0 {
                    return Err(Error::ThreadsUnavailable);
                }
                libc::pthread_attr_setstacksize(attributes.as_mut_ptr(), STACK);
                let (thread, attributes) = (thread.as_mut_ptr(), attributes.as_mut_ptr());
                let refused = libc::pthread_create(thread, attributes, worker_main, control) != 0;
                drop(signals);
                libc::pthread_attr_destroy(attributes);
                if refused {
                    return Err(Error::ThreadsUnavailable);
                }
            }
            // SAFETY: written by the call that succeeded.
            Ok(Worker(unsafe { thread.assume_init() }))
        }

        /// Waits for the thread to end.
        pub(in crate::pool) fn join(self) {
            // SAFETY: the thread was started, and not joined before, since joining consumes the worker.
            unsafe { libc::pthread_join(self.0, ptr::null_mut()) };
        }
    }

    /// Blocks signals on the calling thread, so that a thread which it creates inherits that, and restores them when
    /// dropped: signal handlers are to run on the program's own threads. Not blocked are signals that a thread's own
    /// instructions raise, which would kill the process unhandled, and SIGPROF, which profilers use.
    struct Signals {
        before: libc::sigset_t,
    }

    impl Signals {
        fn block() -> Self {
            const NOT_BLOCKED: [libc::c_int; 8] = [
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
                for signal in NOT_BLOCKED {
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
            // SAFETY: the set is the one that was there before.
            unsafe {
                libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.before, ptr::null_mut());
            }
        }
    }

    extern "C" fn worker_main(control: *mut c_void) -> *mut c_void {
        // SAFETY: it sets the name of the calling thread to a C string.
        #[cfg(any(target_os = "linux", target_os = "android"))]
        unsafe {
            libc::pthread_setname_np(libc::pthread_self(), c"diptych".as_ptr())
        };
        // SAFETY: as above.
        #[cfg(target_vendor = "apple")]
        unsafe {
            libc::pthread_setname_np(c"diptych".as_ptr())
        };
        set_default_float_environment();
        // SAFETY: `start` was given a control that outlives this thread.
        unsafe { &*control.cast::<Control>() }.serve();
        ptr::null_mut()
    }
}

#[cfg(not(unix))]
mod imp {
    use super::{Control, Error, Result, set_default_float_environment};
    use std::thread::{Builder, JoinHandle};

    /// A thread of the pool, which must be joined.
    #[derive(Debug)]
    pub(in crate::pool) struct Worker(JoinHandle<()>);

    impl Worker {
        /// Starts a thread.
        ///
        /// # Safety
        /// `control` must stay in place until the thread has been joined.
        pub(in crate::pool) unsafe fn start(control: &Control) -> Result<Worker> {
            // SAFETY: guaranteed by the caller: it outlives the thread.
            let control: &'static Control = unsafe { &*core::ptr::from_ref(control) };
            let thread = Builder::new().name("diptych".into());
            let thread = thread.spawn(|| {
                set_default_float_environment();
                control.serve();
            });
            thread.map(Worker).map_err(|_| Error::ThreadsUnavailable)
        }

        /// Waits for the thread to end.
        pub(in crate::pool) fn join(self) {
            // A worker catches the panics of its tasks.
            let _ = self.0.join();
        }
    }
}
