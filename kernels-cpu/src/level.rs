//! CPU levels: which exist here, which one is active, and how to force one.

use core::sync::atomic::{AtomicU8, Ordering::Relaxed};

use crate::detect;
use crate::error::{Error, Result};

/// A set of instructions that kernels are compiled for. Results have the same bits on all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Level {
    /// The target's baseline instructions.
    Portable = 0,
    /// x86-64 AVX2, FMA and F16C.
    Avx2 = 1,
    /// x86-64 AVX-512 F, VL, DQ, BW, CD, with BMI1 and BMI2.
    Avx512 = 2,
    /// AArch64 Advanced SIMD.
    Neon = 3,
}

/// The active level: a `Level as u8`, or one of the two states below.
static ACTIVE: AtomicU8 = AtomicU8::new(UNDECIDED);
const UNDECIDED: u8 = 0xFF;
/// `DIPTYCH_CPU_LEVEL` asks for what the machine lacks.
const UNAVAILABLE: u8 = 0xFE;

impl Level {
    /// All levels, whether the machine has them or not.
    pub const ALL: [Level; 4] = [Level::Portable, Level::Avx2, Level::Avx512, Level::Neon];

    /// The level's name, as `DIPTYCH_CPU_LEVEL` takes it.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Portable => "portable",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
            Level::Neon => "neon",
        }
    }

    /// The level of that name.
    pub fn from_name(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }

    /// Whether this machine has the level.
    pub fn is_available(self) -> bool {
        detect::levels() >> self as u8 & 1 == 1
    }

    /// The level that calls use unless their [`Exec`](crate::Exec) names another: the forced one,
    /// else that of the environment variable `DIPTYCH_CPU_LEVEL` (feature `std`; read at the first
    /// use, and at the next one after `force(None)`), else the best of the machine.
    ///
    /// # Errors
    /// [`Error::LevelUnavailable`] when the environment variable names no level of this machine.
    #[inline]
    pub fn active() -> Result<Level> {
        match ACTIVE.load(Relaxed) {
            0 => Ok(Level::Portable),
            1 => Ok(Level::Avx2),
            2 => Ok(Level::Avx512),
            3 => Ok(Level::Neon),
            _ => Level::decide(),
        }
    }

    /// Makes `level` the active one for the whole process; `None` goes back to the automatic choice.
    /// Calls that run at this moment finish on the level they began with.
    ///
    /// # Errors
    /// [`Error::LevelUnavailable`] when the machine lacks it; nothing changes then.
    pub fn force(level: Option<Level>) -> Result<()> {
        let state = match level {
            Some(level) if !level.is_available() => return Err(Error::LevelUnavailable),
            Some(level) => level as u8,
            None => UNDECIDED,
        };
        ACTIVE.store(state, Relaxed);
        Ok(())
    }

    /// The best level of this machine.
    fn best() -> Level {
        let levels = detect::levels();
        let better = [Level::Avx512, Level::Avx2, Level::Neon];
        better
            .into_iter()
            .find(|&l| levels >> l as u8 & 1 == 1)
            .unwrap_or(Level::Portable)
    }

    #[cold]
    fn decide() -> Result<Level> {
        if ACTIVE.load(Relaxed) == UNAVAILABLE {
            return Err(Error::LevelUnavailable);
        }
        let wanted = match wanted_by_environment() {
            None => Some(Level::best()),
            Some(level) => level.filter(|level| level.is_available()),
        };
        // Threads that race here decide alike; a level forced meanwhile stays.
        let state = wanted.map_or(UNAVAILABLE, |level| level as u8);
        let _ = ACTIVE.compare_exchange(UNDECIDED, state, Relaxed, Relaxed);
        wanted.ok_or(Error::LevelUnavailable)
    }
}

/// The level that `DIPTYCH_CPU_LEVEL` names: `None` when unset or empty, `Some(None)` when unknown.
fn wanted_by_environment() -> Option<Option<Level>> {
    // Not by `std::env`, which copies the value and ends the process where it has no memory for that.
    #[cfg(all(feature = "std", unix))]
    {
        // SAFETY: a string. Who changes the environment sees to it that nobody reads it meanwhile.
        let value = unsafe { libc::getenv(c"DIPTYCH_CPU_LEVEL".as_ptr()) };
        if value.is_null() {
            return None;
        }
        // SAFETY: as above.
        let name = unsafe { core::ffi::CStr::from_ptr(value) };
        (!name.is_empty()).then(|| Level::from_name(name.to_str().ok()?))
    }
    #[cfg(all(feature = "std", not(unix)))]
    return match std::env::var("DIPTYCH_CPU_LEVEL") {
        Ok(name) if name.is_empty() => None,
        Ok(name) => Some(Level::from_name(&name)),
        Err(std::env::VarError::NotPresent) => None,
        Err(std::env::VarError::NotUnicode(_)) => Some(None),
    };
    #[cfg(not(feature = "std"))]
    None
}
