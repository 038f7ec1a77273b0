//! Version, CPU level and build information.
use crate::error::{Failure, report};
use crate::status::dpt_status;
use core::ffi::{CStr, c_char};
use diptych::Level;

/// The CPU levels, for dpt_force_cpu_level.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum dpt_level {
    /// The default: the level of the environment variable DIPTYCH_CPU_LEVEL (not in a freestanding
    /// build), else the best level of the machine.
    DPT_LEVEL_AUTO = -1,
    /// Portable code, on every CPU.
    DPT_LEVEL_PORTABLE = 0,
    /// x86-64 with AVX2, FMA and F16C.
    DPT_LEVEL_AVX2 = 1,
    /// x86-64 with AVX-512.
    DPT_LEVEL_AVX512 = 2,
    /// AArch64.
    DPT_LEVEL_NEON = 3,
}

/// The version of the binary interface. It is raised when a program that was linked before could
/// break, which includes a change of the canonical orders.
const ABI_VERSION: u32 = 1;

/// Parses a part of the package's version: cargo sets it, so it is made of digits.
const fn number(digits: &str) -> u32 {
    let mut rest = digits.as_bytes();
    let mut value = 0;
    while let [digit, tail @ ..] = rest {
        value = value * 10 + (*digit - b'0') as u32;
        rest = tail;
    }
    value
}

const VERSION: u32 = number(env!("CARGO_PKG_VERSION_MAJOR")) * 10000
    + number(env!("CARGO_PKG_VERSION_MINOR")) * 100
    + number(env!("CARGO_PKG_VERSION_PATCH"));

/// Returns the version of the library in use: major * 10000 + minor * 100 + patch. Compare it with
/// DPT_VERSION, the version of this header.
#[unsafe(no_mangle)]
pub extern "C" fn dpt_version() -> u32 {
    VERSION
}

/// Returns the version of the binary interface (ABI), currently 1.
#[unsafe(no_mangle)]
pub extern "C" fn dpt_abi_version() -> u32 {
    ABI_VERSION
}

/// Returns how the library was built, for bug reports: version, target, features. The text is
/// constant.
#[unsafe(no_mangle)]
pub extern "C" fn dpt_build_info() -> *const c_char {
    const STD: &str = if cfg!(feature = "std") {
        "std pool"
    } else {
        "freestanding"
    };
    const OS: &str = if cfg!(target_os = "linux") {
        "linux"
    } else {
        "other"
    };
    const ARCH: &str = if cfg!(target_arch = "x86_64") {
        "x86_64"
    } else if cfg!(target_arch = "aarch64") {
        "aarch64"
    } else {
        "other"
    };
    const PARTS: [&str; 9] = [
        "diptych ",
        env!("CARGO_PKG_VERSION"),
        "; ",
        ARCH,
        "-",
        OS,
        "; ",
        STD,
        if cfg!(feature = "gpu") {
            "; backends: cpu cuda"
        } else {
            "; backends: cpu"
        },
    ];
    // Joined at compile time: a freestanding build has neither an allocator nor a formatter.
    const TEXT: [u8; 96] = join(&PARTS);
    // The array is zero after its text; `from_bytes_until_nul` cannot fail.
    const INFO: &CStr = match CStr::from_bytes_until_nul(&TEXT) {
        Ok(text) => text,
        Err(_) => c"",
    };
    INFO.as_ptr()
}

/// Joins the parts and fills up with zeros. Only for constants: a text that is too long does not
/// compile.
const fn join<const N: usize>(parts: &[&str]) -> [u8; N] {
    let mut text = [0; N];
    let (mut at, mut parts) = (0, parts);
    while let [part, others @ ..] = parts {
        let mut bytes = part.as_bytes();
        while let [byte, tail @ ..] = bytes {
            text[at] = *byte;
            at += 1;
            bytes = tail;
        }
        parts = others;
    }
    assert!(at < N, "room for the zero");
    text
}

/// Returns the name of the CPU level that calls use: "portable", "avx2", "avx512" or "neon". That
/// is the level set by dpt_force_cpu_level, else the level of the environment variable
/// DIPTYCH_CPU_LEVEL (not in a freestanding build), else the best level of the machine. The name is
/// "unknown" if the variable names no level, or one that the machine lacks. Every operation then
/// fails with DPT_LEVEL_UNAVAILABLE, and dpt_last_error names the levels that the machine has.
#[unsafe(no_mangle)]
pub extern "C" fn dpt_cpu_level() -> *const c_char {
    let name = match Level::active() {
        Ok(Level::Portable) => c"portable",
        Ok(Level::Avx2) => c"avx2",
        Ok(Level::Avx512) => c"avx512",
        Ok(Level::Neon) => c"neon",
        Ok(_) => c"unknown",
        Err(error) => {
            report("dpt_cpu_level", Err(error.into()));
            c"unknown"
        }
    };
    name.as_ptr()
}

/// Makes all later calls of the process use one CPU level, for tests and measurements: the result
/// bits are the same on every level. DPT_LEVEL_AUTO restores the default.
///
/// Errors: DPT_UNKNOWN_ENUM; DPT_LEVEL_UNAVAILABLE if the machine lacks the level.
#[unsafe(no_mangle)]
pub extern "C" fn dpt_force_cpu_level(level: i32) -> dpt_status {
    const AUTO: i32 = dpt_level::DPT_LEVEL_AUTO as i32;
    const PORTABLE: i32 = dpt_level::DPT_LEVEL_PORTABLE as i32;
    const AVX2: i32 = dpt_level::DPT_LEVEL_AVX2 as i32;
    const AVX512: i32 = dpt_level::DPT_LEVEL_AVX512 as i32;
    const NEON: i32 = dpt_level::DPT_LEVEL_NEON as i32;
    let wanted = match level {
        AUTO => Ok(None),
        PORTABLE => Ok(Some(Level::Portable)),
        AVX2 => Ok(Some(Level::Avx2)),
        AVX512 => Ok(Some(Level::Avx512)),
        NEON => Ok(Some(Level::Neon)),
        _ => Err(Failure::UnknownEnum("level")),
    };
    let result = wanted.and_then(|level| Level::force(level).map_err(Failure::Core));
    report("dpt_force_cpu_level", result)
}
