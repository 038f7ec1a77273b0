//! Detects the machine's CPU levels and caches by instructions alone, without std or the operating system, so
//! that a freestanding build dispatches exactly as a hosted one does.

use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};

use crate::level::Level;

#[cfg(target_arch = "x86_64")]
mod x86;

/// The levels of this machine, as a bit set over `Level as u8`.
pub fn levels() -> u8 {
    // Read once: on virtual machines cpuid traps to the hypervisor.
    static LEVELS: AtomicU8 = AtomicU8::new(0);
    match LEVELS.load(Relaxed) {
        0 => {
            let levels = read_levels();
            LEVELS.store(levels, Relaxed);
            levels
        }
        known => known,
    }
}

fn read_levels() -> u8 {
    #[cfg(target_arch = "x86_64")]
    let native = x86::levels(&x86::Cpuid::read());
    // Part of the AArch64 baseline: if the target has it, so does every machine.
    #[cfg(not(target_arch = "x86_64"))]
    let native = if cfg!(all(target_arch = "aarch64", target_feature = "neon")) {
        1 << Level::Neon as u8
    } else {
        0
    };
    native | 1 << Level::Portable as u8
}

/// Whether AVX-512 is double-pumped: the execution units are 256 bits wide, so that an operation on a 512-bit register
/// takes twice as long as on a 256-bit one, as on Zen 4.
#[inline]
pub fn double_pumps_avx512() -> bool {
    const UNKNOWN: u8 = 2;
    static KNOWN: AtomicU8 = AtomicU8::new(UNKNOWN);
    match KNOWN.load(Relaxed) {
        UNKNOWN => {
            #[cfg(target_arch = "x86_64")]
            let double_pumps = x86::double_pumps_avx512();
            #[cfg(not(target_arch = "x86_64"))]
            let double_pumps = false;
            KNOWN.store(double_pumps.into(), Relaxed);
            double_pumps
        }
        known => known == 1,
    }
}

/// Whether the output of a call that touches so many bytes is better written with non-temporal stores. Measured on
/// Zen 4: from the size of the LLC on, they are faster even if the output is read next; at half of it, they are 2 to 3
/// times slower.
#[inline]
pub fn exceeds_llc(bytes: usize) -> bool {
    /// No LLC is smaller than this, so that small calls need not look up its size.
    const SMALL: usize = 1 << 20;
    bytes > SMALL && bytes >= cache(1)
}

/// Bytes of the L1 data cache; 32 KiB if the CPU does not report it.
#[inline]
pub fn l1_bytes() -> usize {
    cache(0)
}

/// Bytes of the L1 data cache (0) or of the LLC that a core can use (1); 32 KiB and 32 MiB if the CPU does not report
/// them.
fn cache(index: usize) -> usize {
    static SIZES: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];
    match SIZES[index].load(Relaxed) {
        0 => {
            #[cfg(target_arch = "x86_64")]
            let sizes = x86::caches();
            #[cfg(not(target_arch = "x86_64"))]
            let sizes: Option<[usize; 2]> = None;
            let sizes = sizes.unwrap_or([32 << 10, 32 << 20]);
            for (known, size) in SIZES.iter().zip(sizes) {
                known.store(size, Relaxed);
            }
            sizes[index]
        }
        known => known,
    }
}
