//! Detects the machine's CPU levels and its geometry by instructions alone, without std or the operating system, so
//! that a freestanding build dispatches exactly as a hosted one does.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize};

use crate::level::Level;

mod extensions;
#[cfg(target_arch = "x86_64")]
mod x86;

pub use extensions::Extensions;

/// The levels of this machine, as a bit set over `Level as u8`.
pub fn levels() -> u8 {
    // Read once: on virtual machines cpuid traps to the hypervisor.
    static LEVELS: AtomicU8 = AtomicU8::new(0);
    // Pairs with the store below: whoever sees the levels sees the geometry. On x86 it costs nothing.
    match LEVELS.load(Acquire) {
        0 => {
            Geometry::current();
            let levels = read_levels();
            LEVELS.store(levels, Release);
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

/// What the plans of calls depend on besides their arguments: the caches that one core uses, and the width of its
/// execution units. Results do not depend on it. It is one value, so that a test can put any other machine in the place of
/// this one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// Bytes of the L1 data cache.
    pub l1: usize,
    /// Bytes of L2.
    pub l2: usize,
    /// Bytes of the last-level cache: L3, or L2 where there is no L3.
    pub llc: usize,
    /// Whether AVX-512 is double-pumped: the execution units are 256 bits wide, so that an operation on a 512-bit
    /// register takes twice as long as on a 256-bit one, as on Zen 4.
    pub double_pumps_avx512: bool,
}

/// The current geometry. Every call knows its level before a kernel runs, and [`levels`] detects the geometry first, so
/// plans and kernels, which call nothing, load a field without asking whether it is known.
struct Current {
    is_known: AtomicBool,
    l1: AtomicUsize,
    l2: AtomicUsize,
    llc: AtomicUsize,
    usable_llc: AtomicUsize,
    double_pumps_avx512: AtomicBool,
}

static CURRENT: Current = Current {
    is_known: AtomicBool::new(false),
    l1: AtomicUsize::new(UNKNOWN.l1),
    l2: AtomicUsize::new(UNKNOWN.l2),
    llc: AtomicUsize::new(UNKNOWN.llc),
    usable_llc: AtomicUsize::new(UNKNOWN.usable_llc()),
    double_pumps_avx512: AtomicBool::new(UNKNOWN.double_pumps_avx512),
};

/// Assumed of a CPU that reports nothing.
const UNKNOWN: Geometry = Geometry {
    l1: 32 << 10,
    l2: 512 << 10,
    llc: 32 << 20,
    double_pumps_avx512: false,
};

impl Current {
    #[cold]
    fn set(&self, geometry: Geometry) {
        self.l1.store(geometry.l1, Relaxed);
        self.l2.store(geometry.l2, Relaxed);
        self.llc.store(geometry.llc, Relaxed);
        self.usable_llc.store(geometry.usable_llc(), Relaxed);
        self.double_pumps_avx512
            .store(geometry.double_pumps_avx512, Relaxed);
        self.is_known.store(true, Release);
    }
}

impl Geometry {
    /// Asks the CPU. What it does not report is 32 KiB of L1, 512 KiB of L2, and 32 MiB of LLC.
    pub fn of_this_machine() -> Self {
        #[cfg(target_arch = "x86_64")]
        let found = x86::geometry(UNKNOWN);
        #[cfg(not(target_arch = "x86_64"))]
        let found = UNKNOWN;
        found
    }

    /// Returns the geometry that calls use: the [forced](Geometry::force) one, else this machine's.
    #[inline(never)]
    pub fn current() -> Self {
        // Pairs with the store in `set`: whoever sees it sees the fields. On x86 it costs nothing.
        if !CURRENT.is_known.load(Acquire) {
            CURRENT.set(Self::of_this_machine());
        }
        Self {
            l1: l1_bytes(),
            l2: l2_bytes(),
            llc: CURRENT.llc.load(Relaxed),
            double_pumps_avx512: double_pumps_avx512(),
        }
    }

    /// Makes all calls of the process use this geometry; `None` restores this machine's. For tests.
    pub fn force(geometry: Option<Self>) {
        CURRENT.set(geometry.unwrap_or_else(Self::of_this_machine));
    }
}

impl Geometry {
    /// Whether the LLC is much slower than L2. An L2 of 2 MiB or more is the sign: Intel's servers have one (from Sapphire
    /// Rapids on) because their L3 is a mesh over the whole socket, which gives a core 10 bytes per cycle, a third of what
    /// it gets from L3 on Zen. There, software prefetches what comes from beyond L2.
    pub const fn has_slow_llc(&self) -> bool {
        self.l2 >= 2 << 20 && self.llc > self.l2
    }

    /// Bytes of the LLC that a core can count on. A slow one is reported with the size of the whole socket, hundreds of MiB
    /// that all cores share, and also to a virtual machine of two cores; what a core keeps there is a small multiple of its
    /// L2.
    pub const fn usable_llc(&self) -> usize {
        let most = 16 * self.l2;
        if self.has_slow_llc() && self.llc > most {
            most
        } else {
            self.llc
        }
    }

    /// Bytes of the caches that deliver about as fast as the microkernels read: L2 if the LLC is slow, else the LLC.
    pub const fn fast_cache(&self) -> usize {
        if self.has_slow_llc() {
            self.l2
        } else {
            self.llc
        }
    }
}

/// Whether the output of a call that touches so many bytes is better written with non-temporal stores. Measured on
/// Zen 4: from the size of the LLC on, they are faster even if the output is read next; at half of it, they are 2 to 3
/// times slower.
#[inline(always)]
pub fn exceeds_llc(bytes: usize) -> bool {
    bytes >= usable_llc()
}

/// Whether so many bytes exceed the [fast caches](Geometry::fast_cache), so that the next ones are worth prefetching.
#[inline]
pub fn exceeds_fast_cache(bytes: usize) -> bool {
    bytes >= Geometry::current().fast_cache()
}

/// Whether an operand of so many elements is expected in memory rather than in a cache, which holds other operands too.
#[inline(always)]
pub fn is_from_memory<T>(elements: usize) -> bool {
    elements >= usable_llc() / 4 / size_of::<T>().max(1)
}

/// [`Geometry::l1`] of the current geometry.
#[inline(always)]
pub fn l1_bytes() -> usize {
    CURRENT.l1.load(Relaxed)
}

/// [`Geometry::l2`] of the current geometry.
#[inline(always)]
pub fn l2_bytes() -> usize {
    CURRENT.l2.load(Relaxed)
}

/// [`Geometry::usable_llc`] of the current geometry.
#[inline(always)]
pub fn usable_llc() -> usize {
    CURRENT.usable_llc.load(Relaxed)
}

/// [`Geometry::double_pumps_avx512`] of the current geometry.
#[inline(always)]
pub fn double_pumps_avx512() -> bool {
    CURRENT.double_pumps_avx512.load(Relaxed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A slow LLC counts with 16 times L2; any other one, and an L2 that is the LLC, as it is.
    #[test]
    fn what_caches_count_with() {
        let of = |l2_kib: usize, llc_mib: usize| {
            let geometry = Geometry {
                l1: 48 << 10,
                l2: l2_kib << 10,
                llc: llc_mib << 20,
                double_pumps_avx512: false,
            };
            (geometry.usable_llc() >> 20, geometry.fast_cache() >> 10)
        };
        // Zen 3 (512 KiB), Zen 4 and 5, with and without stacked cache.
        assert_eq!(of(512, 32), (32, 32 << 10));
        assert_eq!(of(1024, 32), (32, 32 << 10));
        assert_eq!(of(1024, 96), (96, 96 << 10));
        // Ice Lake and Emerald Rapids servers, a desktop with 2 MiB and 30 MiB, a CPU without L3.
        assert_eq!(of(1280, 54), (54, 54 << 10));
        assert_eq!(of(2048, 300), (32, 2048));
        assert_eq!(of(2048, 30), (30, 2048));
        assert_eq!(of(4096, 4), (4, 4096));
    }
}
