//! CPU levels: which ones this machine has, which one is active, and how to force one.

use core::sync::atomic::{AtomicBool, AtomicU8, Ordering::Relaxed};

use crate::detect::{self, Extensions};
use crate::error::{Error, Result};

/// A CPU level: a set of instructions that the kernels are compiled for. Results have the same bits on all levels.
///
/// Every machine has [`Level::Portable`]. The best level of the machine is chosen at run time; [`Level::force`] and
/// [`Exec::with_level`](crate::Exec::with_level) choose another, for tests and comparisons. A level that is chosen so comes
/// without [`Extensions`].
///
/// ```
/// use diptych::{Exec, Level};
///
/// let exec = Exec::new().with_level(Level::Portable)?;
/// assert_eq!(diptych::sum(&exec, &[1.0_f32, 2.0])?, 3.0);
/// assert!(Level::active()?.is_available());
/// # Ok::<(), diptych::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Level {
    /// Plain Rust, compiled for the baseline instructions of the target. Much slower than the other levels.
    Portable = 0,
    /// x86-64 AVX2, FMA and F16C.
    Avx2 = 1,
    /// x86-64 AVX-512 F, VL, DQ, BW, CD, with BMI1 and BMI2.
    Avx512 = 2,
    /// AArch64 Advanced SIMD (NEON).
    Neon = 3,
}

/// The active level: a `Level as u8`, or one of the two values below.
static ACTIVE: AtomicU8 = AtomicU8::new(UNDECIDED);
const UNDECIDED: u8 = 0xFF;
/// `DIPTYCH_CPU_LEVEL` names a level that does not exist or that the machine does not have.
const UNAVAILABLE: u8 = 0xFE;

/// Whether the active level was chosen by nobody: calls then use the extensions of the machine too.
static HAS_EXTENSIONS: AtomicBool = AtomicBool::new(false);

impl Level {
    /// All levels, whether the machine has them or not.
    pub const ALL: [Level; 4] = [Level::Portable, Level::Avx2, Level::Avx512, Level::Neon];

    /// Returns the name of the level as `DIPTYCH_CPU_LEVEL` takes it: `portable`, `avx2`, `avx512` or `neon`.
    pub const fn name(self) -> &'static str {
        match self {
            Level::Portable => "portable",
            Level::Avx2 => "avx2",
            Level::Avx512 => "avx512",
            Level::Neon => "neon",
        }
    }

    /// Returns the level with this [`name`](Level::name), if there is one.
    pub fn from_name(name: &str) -> Option<Level> {
        Level::ALL.into_iter().find(|level| level.name() == name)
    }

    /// Returns whether this machine has the level.
    pub fn is_available(self) -> bool {
        detect::levels() >> self as u8 & 1 == 1
    }

    /// Returns the level that calls use unless their [`Exec`](crate::Exec) names another: the [forced](Level::force)
    /// one, else the one that the environment variable `DIPTYCH_CPU_LEVEL` names, else the best of this machine.
    ///
    /// The variable needs the feature `std`. It is read once, by the first call, and again by the first call after
    /// `force(None)`.
    ///
    /// # Errors
    /// [`Error::LevelUnavailable`] when the variable names a level that does not exist or that this machine does not
    /// have.
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

    /// Makes `level` the active one for the whole process. `None` restores the automatic choice. Calls in progress
    /// finish on the level that they started with.
    ///
    /// # Errors
    /// [`Error::LevelUnavailable`] when this machine does not have the level; then the active level does not change.
    pub fn force(level: Option<Level>) -> Result<()> {
        let state = match level {
            Some(level) if !level.is_available() => return Err(Error::LevelUnavailable),
            Some(level) => level as u8,
            None => UNDECIDED,
        };
        if level.is_some() {
            HAS_EXTENSIONS.store(false, Relaxed);
        }
        ACTIVE.store(state, Relaxed);
        Ok(())
    }

    /// Returns the extensions that calls on the active level use.
    pub(crate) fn active_extensions() -> Extensions {
        // Decides, if nobody has.
        let _ = Self::active();
        if HAS_EXTENSIONS.load(Relaxed) {
            Extensions::of_this_machine()
        } else {
            Extensions::NONE
        }
    }

    /// Returns the best level of this machine.
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
        let by_environment = requested_by_environment();
        let requested = match by_environment {
            None => Some(Level::best()),
            Some(level) => level.filter(|level| level.is_available()),
        };
        // Threads that race here make the same choice. A level that was forced in the meantime stays.
        let state = requested.map_or(UNAVAILABLE, |level| level as u8);
        let decided = ACTIVE.compare_exchange(UNDECIDED, state, Relaxed, Relaxed);
        if decided.is_ok() && by_environment.is_none() {
            HAS_EXTENSIONS.store(true, Relaxed);
        }
        requested.ok_or(Error::LevelUnavailable)
    }
}

/// Returns the level that `DIPTYCH_CPU_LEVEL` names: `None` when it is unset or empty, `Some(None)` when the name is
/// unknown.
fn requested_by_environment() -> Option<Option<Level>> {
    // Without `std::env`, which copies the value and aborts the process when there is no memory for the copy.
    #[cfg(all(feature = "std", unix))]
    {
        // SAFETY: the name is a C string. A program that changes the environment must not do so while others read it.
        let value = unsafe { libc::getenv(c"DIPTYCH_CPU_LEVEL".as_ptr()) };
        if value.is_null() {
            return None;
        }
        // SAFETY: not null, so a C string; it stays for the reason above.
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
