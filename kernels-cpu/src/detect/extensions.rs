//! Instructions that serve only some kernels. A level does not imply them.

use core::sync::atomic::AtomicU16;
use core::sync::atomic::Ordering::Relaxed;

/// A set of instructions beside those of a [`Level`](crate::Level), which some products of integers and of bf16 use. Results have the same
/// bits with and without them.
///
/// Calls use those that the machine has, unless a level was chosen: [`Level::force`](crate::Level::force),
/// [`Exec::with_level`](crate::Exec::with_level) and `DIPTYCH_CPU_LEVEL` choose one without extensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Extensions(u16);

impl Extensions {
    /// No extension.
    pub const NONE: Self = Self(0);
    /// AVX512-VNNI: products of bytes on the AVX-512 level.
    pub const AVX512_VNNI: Self = Self(1 << 0);
    /// AVX-VNNI: products of bytes on the AVX2 level.
    pub const AVX_VNNI: Self = Self(1 << 1);
    /// AMX-INT8: products of bytes on the AVX-512 level, in tiles. Linux, feature `std`.
    pub const AMX_INT8: Self = Self(1 << 2);
    /// The dot products of bytes of Armv8.2, on the NEON level. Linux and macOS, feature `std`.
    pub const NEON_DOT: Self = Self(1 << 3);
    /// AMX-BF16: products of bf16 on the AVX-512 level, in tiles. Linux, feature `std`.
    pub const AMX_BF16: Self = Self(1 << 4);

    /// AVX512-BF16: products of bf16 on the AVX-512 level, where it is faster than FMA: on CPUs of AMD.
    pub const AVX512_BF16: Self = Self(1 << 5);

    /// All extensions, each with its name.
    pub const ALL: [(Self, &'static str); 6] = [
        (Self::AVX512_VNNI, "avx512_vnni"),
        (Self::AVX_VNNI, "avx_vnni"),
        (Self::AMX_INT8, "amx_int8"),
        (Self::NEON_DOT, "neon_dot"),
        (Self::AMX_BF16, "amx_bf16"),
        (Self::AVX512_BF16, "avx512_bf16"),
    ];

    /// Returns whether all of `others` are in the set.
    pub const fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }

    /// Returns whether any of `others` is in the set.
    #[cfg(feature = "models")]
    pub(crate) const fn intersects(self, others: Self) -> bool {
        self.0 & others.0 != 0
    }

    #[cfg(feature = "models")]
    pub(crate) const fn bits(self) -> u16 {
        self.0
    }

    #[cfg(feature = "models")]
    pub(crate) const fn of_bits(bits: u16) -> Self {
        Self(bits)
    }

    /// Returns the extensions that are missing in `others`.
    pub const fn without(self, others: Self) -> Self {
        Self(self.0 & !others.0)
    }

    /// Returns the extensions of both sets.
    pub const fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Returns the extensions that this machine has.
    ///
    /// AMX needs the permission of the operating system, which the first call asks for, for the whole process. Where it is
    /// refused, as for a process that has a thread with a small signal stack, the machine does not have AMX.
    pub fn of_this_machine() -> Self {
        static FOUND: AtomicU16 = AtomicU16::new(0);
        const IS_KNOWN: u16 = 1 << 15;
        #[cfg(feature = "models")]
        if crate::isa::models::modelled() != Self::NONE {
            return Self::with_models();
        }
        let found = FOUND.load(Relaxed);
        if found & IS_KNOWN != 0 {
            return Self(found & !IS_KNOWN);
        }
        let found = Self::detect();
        FOUND.store(found.0 | IS_KNOWN, Relaxed);
        found
    }

    /// The extensions of this machine, and those for which models stand.
    #[cfg(feature = "models")]
    fn with_models() -> Self {
        let modelled = crate::isa::models::modelled();
        // The panels of AMX are packed with AVX-512.
        let possible = if cfg!(all(feature = "std", target_os = "linux"))
            && crate::Level::Avx512.is_available()
        {
            modelled
        } else {
            Self(modelled.0 & Self::AVX512_BF16.0)
        };
        Self::detect().and(possible)
    }

    #[cold]
    fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        return super::x86::extensions();
        #[cfg(target_arch = "aarch64")]
        return if neon_dot() {
            Self::NEON_DOT
        } else {
            Self::NONE
        };
        #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
        Self::NONE
    }
}

/// Whether the CPU has SDOT and UDOT. No instruction tells a user program on all systems.
#[cfg(target_arch = "aarch64")]
fn neon_dot() -> bool {
    #[cfg(all(feature = "std", target_os = "linux"))]
    {
        const HWCAP_ASIMDDP: u64 = 1 << 20;
        // SAFETY: has no preconditions.
        let capabilities = unsafe { libc::getauxval(libc::AT_HWCAP) };
        capabilities as u64 & HWCAP_ASIMDDP != 0
    }
    // Every Apple CPU of this architecture with macOS.
    #[cfg(not(all(feature = "std", target_os = "linux")))]
    return cfg!(all(feature = "std", target_os = "macos"));
}
