//! The errors of calls on the device.
#![forbid(unsafe_code)]

use super::api::code;
use core::fmt;

/// Why a call on the device was refused or failed. A call that refuses its arguments has launched nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// An argument is invalid on every backend: its size, its alignment, an overlap.
    Argument(diptych::Error),
    /// There is no CUDA driver.
    NoDriver,
    /// The driver lacks a function, or does not support the version of the embedded PTX.
    DriverTooOld {
        /// What the driver lacks.
        missing: &'static str,
    },
    /// The driver finds no device.
    NoDevice,
    /// The device is older than compute capability 7.5.
    DeviceTooOld,
    /// An argument points to host memory.
    HostPointer {
        /// The argument.
        arg: &'static str,
    },
    /// Some arguments point to host memory and some to device memory.
    MixedPointers {
        /// The first argument that is in other memory than the arguments before it.
        arg: &'static str,
    },
    /// Memory or a stream belongs to another context than the current one.
    WrongContext {
        /// The argument.
        arg: &'static str,
    },
    /// The stream is being captured, and the call needs a kernel that has not been loaded into the context (or is
    /// `preload`, and the context has no scratch memory yet).
    NotPreloaded,
    /// The call needs scratch memory, but has no workspace, and the library has not allocated its own in this context.
    NoScratch {
        /// A workspace of this many bytes is enough.
        needed: usize,
    },
    /// All of the library's slots of scratch memory belong to other streams.
    ScratchTaken,
    /// An allocation of memory failed.
    OutOfMemory,
    /// The driver refused a launch.
    Launch {
        /// The `CUresult` of the launch.
        code: i32,
    },
    /// Another function of the driver failed, or reported the failure of an earlier launch.
    Driver {
        /// The name of the function.
        call: &'static str,
        /// The `CUresult` of the function.
        code: i32,
    },
}

/// A result with the errors of the GPU backend.
pub type Result<T> = core::result::Result<T, Error>;

impl Error {
    /// Converts the `CUresult` of the driver function `call`.
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

    /// Returns whether the driver cannot use the code that it was to load, though it may be able to compile the PTX of the
    /// same kernel: it is too old for the format, or was told to compile (`CUDA_FORCE_PTX_JIT`).
    pub(crate) fn refuses_code(self) -> bool {
        let codes = [
            code::INVALID_IMAGE,
            code::JIT_COMPILER_NOT_FOUND,
            code::JIT_COMPILATION_DISABLED,
            code::INVALID_SOURCE,
        ];
        match self {
            Error::DriverTooOld { .. } => true,
            Error::Driver { code, .. } => codes.contains(&code),
            _ => false,
        }
    }

    /// Converts the `CUresult` of a launch on a stream of the caller.
    pub(crate) fn check_launch(code: i32) -> Result<()> {
        Self::check_stream(code, || Err(Error::Launch { code }))
    }

    /// Converts the `CUresult` of a copy by the driver function `call` on a stream of the caller.
    pub(crate) fn check_copy(call: &'static str, code: i32) -> Result<()> {
        Self::check_stream(code, || Self::check(call, code))
    }

    /// Blames the stream for errors that an invalid stream causes; passes all other failures to `other`.
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
            Error::MixedPointers { arg } => write!(f, "{arg} is in another memory than the arguments before it: one in host memory, the other in device memory"),
            Error::WrongContext { arg } => write!(f, "{arg} belongs to another CUDA context than the current one"),
            Error::NotPreloaded => f.write_str("the stream is being captured, and this context has not been preloaded"),
            Error::NoScratch { needed } => write!(f, "{needed} bytes of scratch memory are needed: call dpt_cuda_preload in this context first, or pass a workspace"),
            Error::ScratchTaken => f.write_str("all of the library's scratch blocks belong to other streams: pass a workspace, or release another stream's block with dpt_cuda_release"),
            Error::OutOfMemory => f.write_str("device memory could not be allocated"),
            Error::Launch { code } => write!(f, "the CUDA driver refused the launch with error {code}{}", reason(code)),
            Error::Driver { call, code } => write!(f, "{call} failed with CUDA error {code}{}", reason(code)),
        }
    }
}

/// What a code of the driver means, where the name of the function does not suggest it.
fn reason(code: i32) -> &'static str {
    match code {
        code::JIT_COMPILER_NOT_FOUND => {
            ": the driver's compiler is missing (libnvidia-ptxjitcompiler.so.1)"
        }
        code::JIT_COMPILATION_DISABLED => {
            ": the driver's compiler is disabled (CUDA_DISABLE_PTX_JIT)"
        }
        code::STREAM_CAPTURE_UNSUPPORTED => ": a stream is being captured",
        code::STREAM_CAPTURE_INVALIDATED => {
            ": another call has invalidated the capture of the stream"
        }
        code::STREAM_CAPTURE_IMPLICIT => {
            ": a stream is being captured, and work on the legacy default stream would depend on it"
        }
        code if code::is_fault(code) => {
            ": an earlier kernel in this context failed, not necessarily one of this library"
        }
        _ => "",
    }
}

impl core::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_reasons() {
        let text = |code| {
            Error::check("cuModuleLoadDataEx", code)
                .unwrap_err()
                .to_string()
        };
        assert!(text(221).ends_with(
            "error 221: the driver's compiler is missing (libnvidia-ptxjitcompiler.so.1)"
        ));
        assert!(text(223).contains("CUDA_DISABLE_PTX_JIT"));
        assert!(text(900).contains("is being captured"));
        assert!(text(999).ends_with("error 999"));
        let fault = Error::check_launch(700).unwrap_err().to_string();
        assert!(fault.contains("an earlier kernel"), "{fault}");
    }
}
