//! The floating-point control word of a thread: rounding, exception masks, and whether subnormal numbers are flushed to
//! zero. The tasks of a call compute with the caller's, so that results do not depend on which threads run them.

/// A control word, without the flags that arithmetic raises.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct ControlWord(u64);

impl ControlWord {
    /// Calls `body` with this control word.
    pub(super) fn with(self, body: impl FnOnce()) {
        let own = Self::get();
        if own == self {
            return body();
        }
        self.set();
        let _restore = Restore(own);
        body();
    }

    /// Returns the control word of the calling thread. Where none is known to be there, all are equal.
    pub(super) fn get() -> Self {
        #[cfg(target_arch = "x86_64")]
        let word = u64::from(mxcsr() & !FLAGS);
        #[cfg(target_arch = "aarch64")]
        let word = {
            let word;
            // SAFETY: reads a register.
            unsafe { core::arch::asm!("mrs {}, fpcr", out(reg) word, options(nomem, nostack)) };
            word
        };
        #[cfg(all(target_arch = "riscv64", target_feature = "f"))]
        let word = {
            let word;
            // SAFETY: reads a register.
            unsafe { core::arch::asm!("frrm {}", out(reg) word, options(nomem, nostack)) };
            word
        };
        #[cfg(not(any(
            target_arch = "x86_64",
            target_arch = "aarch64",
            all(target_arch = "riscv64", target_feature = "f")
        )))]
        let word = 0;
        Self(word)
    }

    /// Sets the control word of the calling thread. (Not `nomem`: no access to memory moves across.)
    fn set(self) {
        // SAFETY: a word that a thread of the process had; flags stay.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            let word = self.0 as u32 | mxcsr() & FLAGS;
            core::arch::asm!("ldmxcsr [{}]", in(reg) &word, options(nostack));
        }
        // SAFETY: as above; the flags are in another register.
        #[cfg(target_arch = "aarch64")]
        unsafe {
            core::arch::asm!("msr fpcr, {}", in(reg) self.0, options(nostack));
        }
        // SAFETY: as above.
        #[cfg(all(target_arch = "riscv64", target_feature = "f"))]
        unsafe {
            core::arch::asm!("fsrm {}", in(reg) self.0, options(nostack));
        }
    }
}

/// Sets a control word when dropped, also when a task panics.
struct Restore(ControlWord);

impl Drop for Restore {
    fn drop(&mut self) {
        self.0.set();
    }
}

/// The flags of MXCSR.
#[cfg(target_arch = "x86_64")]
const FLAGS: u32 = 0x3F;

/// Returns the control and status register of SSE.
#[cfg(target_arch = "x86_64")]
fn mxcsr() -> u32 {
    let mut word = 0_u32;
    // SAFETY: stores the register to a local variable.
    unsafe { core::arch::asm!("stmxcsr [{}]", in(reg) &mut word, options(nostack)) };
    word
}
