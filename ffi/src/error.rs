//! Failures, and the text that `dpt_last_error` returns.
use crate::status::dpt_status_code::*;
use crate::status::{OK, dpt_status};
use core::ffi::c_char;
#[cfg(feature = "std")]
use core::fmt;
use diptych::Error;

/// An error of the library, of a C struct, or of the device.
#[derive(Clone, Copy)]
#[cfg_attr(
    not(feature = "std"),
    expect(dead_code, reason = "a freestanding build has no error texts")
)]
pub(crate) enum Failure {
    Core(Error),
    UnknownEnum(&'static str),
    UnknownFlag(&'static str),
    BadStructSize(&'static str),
    #[cfg(not(feature = "gpu"))]
    NoDevice,
    #[cfg(feature = "gpu")]
    Device(diptych_gpu::Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Core(error)
    }
}

#[cfg(feature = "gpu")]
impl From<diptych_gpu::Error> for Failure {
    fn from(error: diptych_gpu::Error) -> Self {
        match error {
            diptych_gpu::Error::Argument(error) => Failure::Core(error),
            error => Failure::Device(error),
        }
    }
}

impl Failure {
    pub(crate) fn status(self) -> dpt_status {
        let code = match self {
            Failure::UnknownEnum(_) => DPT_UNKNOWN_ENUM,
            Failure::UnknownFlag(_) => DPT_UNKNOWN_FLAG,
            Failure::BadStructSize(_) => DPT_BAD_STRUCT_SIZE,
            #[cfg(not(feature = "gpu"))]
            Failure::NoDevice => DPT_NO_DEVICE,
            #[cfg(feature = "gpu")]
            Failure::Device(error) => device_code(error),
            Failure::Core(error) => match error {
                Error::NullPointer { .. } => DPT_NULL_POINTER,
                Error::Misaligned { .. } => DPT_MISALIGNED,
                Error::NegativeSize { .. } => DPT_NEGATIVE_SIZE,
                Error::SizeOverflow { .. } => DPT_SIZE_OVERFLOW,
                Error::ShapeMismatch { .. } => DPT_SHAPE_MISMATCH,
                Error::TypeMismatch { .. } => DPT_TYPE_MISMATCH,
                Error::UnsupportedType { .. } => DPT_UNSUPPORTED_TYPE,
                Error::Overlap { .. } => DPT_OVERLAP,
                Error::EmptyReduction { .. } => DPT_EMPTY_REDUCTION,
                Error::InvalidValue { .. } => DPT_INVALID_VALUE,
                Error::PackedLayout { .. } => DPT_PACKED_LAYOUT,
                Error::WorkspaceTooSmall { .. } => DPT_WORKSPACE_TOO_SMALL,
                Error::LevelUnavailable => DPT_LEVEL_UNAVAILABLE,
                Error::OutOfMemory => DPT_OUT_OF_MEMORY,
                Error::ThreadsUnavailable => DPT_THREADS_UNAVAILABLE,
                _ => DPT_UNSUPPORTED,
            },
        };
        code as dpt_status
    }
}

#[cfg(feature = "gpu")]
fn device_code(error: diptych_gpu::Error) -> crate::status::dpt_status_code {
    use diptych_gpu::Error;
    match error {
        Error::NoDriver => DPT_NO_DRIVER,
        Error::DriverTooOld { .. } => DPT_DRIVER_TOO_OLD,
        Error::NoDevice => DPT_NO_DEVICE,
        Error::DeviceTooOld => DPT_DEVICE_TOO_OLD,
        Error::HostPointer { .. } => DPT_HOST_POINTER,
        Error::MixedPointers { .. } => DPT_MIXED_POINTERS,
        Error::WrongContext { .. } => DPT_WRONG_CONTEXT,
        Error::NotPreloaded | Error::NoScratch { .. } => DPT_NOT_PRELOADED,
        Error::ScratchTaken => DPT_SCRATCH_TAKEN,
        Error::OutOfMemory => DPT_DEVICE_OUT_OF_MEMORY,
        Error::Launch { .. } => DPT_LAUNCH_FAILED,
        _ => DPT_DRIVER_FAILED,
    }
}

#[cfg(feature = "std")]
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::UnknownEnum(arg) => write!(f, "{arg} has a value that is not known"),
            Failure::UnknownFlag(arg) => write!(f, "{arg} has a bit that is not known"),
            Failure::BadStructSize(arg) => write!(f, "{arg} is not the sizeof of the struct"),
            #[cfg(not(feature = "gpu"))]
            Failure::NoDevice => f.write_str("this build has no GPU support"),
            #[cfg(feature = "gpu")]
            Failure::Device(error) => write!(f, "{error}"),
            Failure::Core(error) => write!(f, "{error}"),
        }
    }
}

/// Turns the result of the C function `name` into a status, and keeps the text of a failure.
#[inline(always)]
pub(crate) fn report(name: &'static str, result: Result<(), Failure>) -> dpt_status {
    match result {
        Ok(()) => OK,
        Err(failure) => {
            text::store(name, failure);
            failure.status()
        }
    }
}

/// Returns the text of the last failure on the calling thread: the function, the argument and what
/// is wrong, for example "dpt_clamp_f32: x is NULL but elements are needed there". A success does
/// not change it. It is "" if nothing has failed yet, and always in a freestanding build. The text
/// stays until the next failure on this thread, at most until the thread ends.
#[unsafe(no_mangle)]
pub extern "C" fn dpt_last_error() -> *const c_char {
    text::last()
}

#[cfg(not(feature = "std"))]
mod text {
    use super::Failure;
    use core::ffi::c_char;

    pub(super) fn store(_: &'static str, _: Failure) {}

    pub(super) fn last() -> *const c_char {
        c"".as_ptr()
    }
}

#[cfg(feature = "std")]
pub(crate) mod text {
    use super::Failure;
    use core::cell::RefCell;
    use core::ffi::c_char;
    use core::fmt::{self, Write};

    /// A C string of fixed size. It needs no allocation, so that it can also report a lack of memory.
    /// The bytes come first: the address of the struct is that of the string.
    #[repr(C)]
    struct Text {
        bytes: [u8; 256],
        len: usize,
    }

    impl Write for Text {
        /// Truncates the text; the last byte stays zero.
        fn write_str(&mut self, s: &str) -> fmt::Result {
            let free = self.bytes.iter_mut().take(255).skip(self.len);
            self.len += free.zip(s.bytes()).map(|(to, from)| *to = from).count();
            Ok(())
        }
    }

    // Const and without a destructor: no lazy initialisation, no allocation, usable while a thread ends, and nothing
    // to register with the loader, which may wait for a thread that is loading a library. (If this library was opened
    // at run time, the loader makes a thread's copy at the thread's first failure. The memory comes from the C library;
    // in old versions of glibc the first copy of all involves that wait.)
    thread_local! {
        static LAST: RefCell<Text> = const { RefCell::new(Text { bytes: [0; 256], len: 0 }) };
    }

    pub(super) fn last() -> *const c_char {
        LAST.with(|last| last.as_ptr().cast())
    }

    #[cold]
    #[inline(never)]
    pub(super) fn store(name: &'static str, failure: Failure) {
        write(format_args!("{name}: {failure}"));
    }

    /// Replaces the text.
    pub(crate) fn write(all: fmt::Arguments<'_>) {
        LAST.with(|last| {
            if let Ok(mut text) = last.try_borrow_mut() {
                text.bytes.fill(0);
                text.len = 0;
                // `write_str` never fails.
                let _ = text.write_fmt(all);
            }
        });
    }
}
