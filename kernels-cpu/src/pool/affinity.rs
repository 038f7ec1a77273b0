//! The CPU that a thread runs on.

pub(super) use imp::{cpu, leave_cpu};

#[cfg(any(target_os = "linux", target_os = "android"))]
mod imp {
    use core::mem::{MaybeUninit, size_of};

    /// Returns the CPU that the calling thread runs on; a huge number when the system cannot tell.
    pub(in crate::pool) fn cpu() -> usize {
        // SAFETY: it takes no arguments. The result is negative when the system cannot tell.
        unsafe { libc::sched_getcpu() as usize }
    }

    /// Moves the calling thread to another CPU of its affinity mask, if there is one: excludes the current CPU from the
    /// mask, which makes the system move the thread, and then restores the mask.
    pub(in crate::pool) fn leave_cpu() {
        const SIZE: usize = size_of::<libc::cpu_set_t>();
        let mut allowed = MaybeUninit::<libc::cpu_set_t>::zeroed();
        // SAFETY: the sets have the size that is passed, and the first is initialised by zeros.
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
            // SAFETY: the set has this size, and is initialised by zeros.
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
            // SAFETY: it reads two sets.
            assert!(unsafe { libc::CPU_EQUAL(&before, &allowed()) });
            // SAFETY: it reads a set.
            assert!(left || unsafe { libc::CPU_COUNT(&before) } == 1);
        }
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
mod imp {
    pub(in crate::pool) fn cpu() -> usize {
        usize::MAX
    }

    pub(in crate::pool) fn leave_cpu() {}
}
