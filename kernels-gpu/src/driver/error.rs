//! What can be wrong with a call on the device.
#![forbid(unsafe_code)]

use super::api::code;
use core::fmt;

/// Why a call was refused, or failed. A call that refuses its arguments has launched nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// What is wrong on every panel: sizes, alignment, overlap.
    Argument(diptych::Error),
    /// There is no CUDA driver.
    NoDriver,
    /// The driver lacks a function, or cannot read the device code.
    DriverTooOld {
        /// What it lacks.
        missing: &'static str,
    },
    /// The driver finds no device.
    NoDevice,
    /// The device is older than compute capability 7.5.
    DeviceTooOld,
    /// A pointer is of host memory.
    HostPointer {
        /// The argument.
        arg: &'static str,
    },
    /// Some pointers are of host memory, and some of device memory.
    MixedPointers {
        /// The first argument that lies elsewhere than those before it.
        arg: &'static str,
    },
    /// Memory, or a stream, of another context than the current one.
    WrongContext {
        /// The argument.
        arg: &'static str,
    },
    /// The stream is being captured, and the call needs a kernel that has not been loaded into the context.
    NotPreloaded,
    /// The call needs scratch memory, and has neither a workspace nor a context with the library's own.
    NoScratch {
        /// Bytes that would be enough.
        needed: usize,
    },
    /// All of the library's own blocks of scratch memory belong to other streams.
    ScratchTaken,
    /// The device has no memory left.
    OutOfMemory,
    /// The driver refused a launch.
    Launch {
        /// Its `CUresult`.
        code: i32,
    },
    /// Another function of the driver failed, or an earlier launch did.
    Driver {
        /// The function.
        call: &'static str,
        /// Its `CUresult`.
        code: i32,
    },
}

/// What calls give.
pub type Result<T> = core::result::Result<T, Error>;

impl Error {
    /// The result of a function of the driver.
    pub(crate) fn check(call: &'static str, code: i32) -> Result<()> {
        match code {
            code::SUCCESS => Ok(()),
            code::OUT_OF_MEMORY => Err(Error::OutOfMemory),
            code::NO_DEVICE => Err(Error::NoDevice),
            code::NO_BINARY_FOR_GPU | code::INVALID_PTX | code::UNSUPPORTED_PTX_VERSION => {
                Err(Error::DriverTooOld {
                    missing: "the PTX version of the device code",
                })
            }
            _ => Err(Error::Driver { call, code }),
        }
    }

    /// The result of a launch on the stream that the caller gave.
    pub(crate) fn check_launch(code: i32) -> Result<()> {
        Self::check_stream(code, || Err(Error::Launch { code }))
    }

    /// The result of a copy, by the function `call`, on the stream that the caller gave.
    pub(crate) fn check_copy(call: &'static str, code: i32) -> Result<()> {
        Self::check_stream(code, || Self::check(call, code))
    }

    fn check_stream(code: i32, other: impl FnOnce() -> Result<()>) -> Result<()> {
        match code {
            code::SUCCESS => Ok(()),
            code::INVALID_CONTEXT | code::INVALID_HANDLE | code::CONTEXT_IS_DESTROYED => {
                Err(Error::WrongContext { arg: "stream" })
            }
            _ => other(),
        }
    }
}

impl From<diptych::Error> for Error {
    fn from(error: diptych::Error) -> Self {
        Error::Argument(error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::Argument(error) => write!(f, "{error}"),
            Error::NoDriver => f.write_str("there is no CUDA driver (libcuda.so.1)"),
            Error::DriverTooOld { missing } => write!(f, "the CUDA driver is too old: it lacks {missing}"),
            Error::NoDevice => f.write_str("the CUDA driver finds no device"),
            Error::DeviceTooOld => f.write_str("the device is older than compute capability 7.5"),
            Error::HostPointer { arg } => write!(f, "{arg} points to host memory, and the call runs on the device"),
            Error::MixedPointers { arg } => write!(f, "{arg} lies elsewhere than the arguments before it: one in host memory, the other in device memory"),
            Error::WrongContext { arg } => write!(f, "{arg} belongs to another CUDA context than the current one"),
            Error::NotPreloaded => f.write_str("the stream is being captured, and this context has not been preloaded"),
            Error::NoScratch { needed } => write!(f, "{needed} bytes of scratch memory are needed: call dpt_cuda_preload in this context before, or give a workspace"),
            Error::ScratchTaken => f.write_str("all of the library's scratch blocks belong to other streams: give this one a workspace, or release another with dpt_cuda_release"),
            Error::OutOfMemory => f.write_str("device memory could not be had"),
            Error::Launch { code } => write!(f, "the CUDA driver refused the launch with error {code}"),
            Error::Driver { call, code } => write!(f, "{call} failed with CUDA error {code}"),
        }
    }
}

impl core::error::Error for Error {}
