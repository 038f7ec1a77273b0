//! Detects the machine's CPU levels and its geometry by instructions alone, without std or the operating system, so
//! that a freestanding build dispatches exactly as a hosted one does.

use core::sync::atomic::Ordering::{Acquire, Relaxed, Release};
use core::sync::atomic::{AtomicBool, AtomicU8, AtomicUsize};

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

/// The current geometry. `llc` is stored last and is 0 until the others are known.
struct Known {
    l1: AtomicUsize,
    l2: AtomicUsize,
    llc: AtomicUsize,
    double_pumps_avx512: AtomicBool,
}

static KNOWN: Known = Known {
    l1: AtomicUsize::new(0),
    l2: AtomicUsize::new(0),
    llc: AtomicUsize::new(0),
    double_pumps_avx512: AtomicBool::new(false),
};

impl Known {
    /// Loads a field, after the first call has detected all of them.
    #[inline(always)]
    fn get<T>(&self, load: impl Fn(&Self) -> T) -> T {
        // Pairs with the store in `set`: whoever sees `llc` sees the other fields. On x86 it costs nothing.
        if self.llc.load(Acquire) == 0 {
            self.set(Geometry::of_this_machine());
        }
        load(self)
    }

    #[cold]
    fn set(&self, geometry: Geometry) {
        self.l1.store(geometry.l1, Relaxed);
        self.l2.store(geometry.l2, Relaxed);
        self.double_pumps_avx512
            .store(geometry.double_pumps_avx512, Relaxed);
        self.llc.store(geometry.llc.max(1), Release);
    }
}

impl Geometry {
    /// Asks the CPU. What it does not report is 32 KiB of L1, 512 KiB of L2, and 32 MiB of LLC.
    pub fn of_this_machine() -> Self {
        let unknown = Self {
            l1: 32 << 10,
            l2: 512 << 10,
            llc: 32 << 20,
            double_pumps_avx512: false,
        };
        #[cfg(target_arch = "x86_64")]
        let found = x86::geometry(unknown);
        #[cfg(not(target_arch = "x86_64"))]
        let found = unknown;
        found
    }

    /// Returns the one that calls use: the [forced](Geometry::force) one, else that of this machine.
    pub fn current() -> Self {
        KNOWN.get(|known| Self {
            l1: known.l1.load(Relaxed),
            l2: known.l2.load(Relaxed),
            llc: known.llc.load(Relaxed),
            double_pumps_avx512: known.double_pumps_avx512.load(Relaxed),
        })
    }

    /// Makes this the one that the calls of the whole process use; `None` restores that of this machine. For tests.
    pub fn force(geometry: Option<Self>) {
        KNOWN.set(geometry.unwrap_or_else(Self::of_this_machine));
    }
}

/// [`Geometry::double_pumps_avx512`] of the current geometry.
#[inline]
pub fn double_pumps_avx512() -> bool {
    KNOWN.get(|known| known.double_pumps_avx512.load(Relaxed))
}

/// Whether the output of a call that touches so many bytes is better written with non-temporal stores. Measured on
/// Zen 4: from the size of the LLC on, they are faster even if the output is read next; at half of it, they are 2 to 3
/// times slower.
#[inline]
pub fn exceeds_llc(bytes: usize) -> bool {
    /// Hardly any LLC is smaller than this, so small calls need not look up its size.
    const SMALL: usize = 1 << 20;
    bytes > SMALL && bytes >= KNOWN.get(|known| known.llc.load(Relaxed))
}

/// Bytes of the L1 data cache.
#[inline]
pub fn l1_bytes() -> usize {
    KNOWN.get(|known| known.l1.load(Relaxed))
}
