//! Which CPU levels the machine has, from the CPU's own answers: no std, no operating system, so
//! that a freestanding build dispatches exactly as a hosted one does.

use core::sync::atomic::{AtomicU8, AtomicUsize, Ordering::Relaxed};

use crate::level::Level;

#[cfg(target_arch = "x86_64")]
mod x86;

/// The levels of this machine, as a bit set over `Level as u8`.
pub fn levels() -> u8 {
    // cpuid traps to the hypervisor on virtual machines, so it is asked once.
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
    // Part of the AArch64 baseline: where the target has it, so does every machine.
    #[cfg(not(target_arch = "x86_64"))]
    let native = if cfg!(all(target_arch = "aarch64", target_feature = "neon")) {
        1 << Level::Neon as u8
    } else {
        0
    };
    native | 1 << Level::Portable as u8
}

/// Whether the CPU's units are half as wide as its largest registers, so that one of those takes twice as long as
/// one of half the size: Zen 4 and AVX-512.
#[inline]
pub fn splits_registers() -> bool {
    const UNKNOWN: u8 = 2;
    static SPLITS: AtomicU8 = AtomicU8::new(UNKNOWN);
    match SPLITS.load(Relaxed) {
        UNKNOWN => {
            #[cfg(target_arch = "x86_64")]
            let splits = x86::splits_registers();
            #[cfg(not(target_arch = "x86_64"))]
            let splits = false;
            SPLITS.store(splits.into(), Relaxed);
            splits
        }
        known => known == 1,
    }
}

/// Whether the output of a call that touches so many bytes is better written past the caches. Measured on
/// Zen 4: from the size of the last cache on, streaming wins even where the output is read next; at half of
/// it, it is 2 to 3 times slower.
#[inline]
pub fn is_past_the_caches(bytes: usize) -> bool {
    /// No last-level cache is smaller, and small calls need not ask.
    const SMALL: usize = 1 << 20;
    bytes > SMALL && bytes >= cache(1)
}

/// Bytes of the cache that a core asks first; 32 KiB where the CPU does not say.
#[inline]
pub fn first_level_cache() -> usize {
    cache(0)
}

/// Bytes of the first cache, or of the last, the largest that a core can use; 32 KiB and 32 MiB where the CPU
/// does not say.
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
