//! What can be wrong with a call.
#![forbid(unsafe_code)]

use core::fmt;

use crate::level::Level;

/// The result of every operation.
pub type Result<T> = core::result::Result<T, Error>;

/// Why a call was refused. Nothing was written then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A pointer is null although elements would be read or written through it.
    NullPointer {
        /// The argument.
        arg: &'static str,
    },
    /// A pointer is not aligned to its element type.
    Misaligned {
        /// The argument.
        arg: &'static str,
    },
    /// A size or count is negative.
    NegativeSize {
        /// The argument.
        arg: &'static str,
    },
    /// Sizes and strides span more than the address space.
    SizeOverflow {
        /// The argument, or the product of sizes.
        arg: &'static str,
    },
    /// Shapes do not fit each other, or a view does not fit its slice.
    ShapeMismatch {
        /// The argument.
        arg: &'static str,
    },
    /// An output overlaps an input (other than exactly in place where that is allowed), another
    /// output, or itself.
    Overlap {
        /// The output.
        arg: &'static str,
    },
    /// A reduction that has no value for no elements was given none.
    EmptyReduction {
        /// The size that is zero.
        arg: &'static str,
    },
    /// A value is outside what the operation is defined for.
    InvalidValue {
        /// The argument.
        arg: &'static str,
    },
    /// The workspace is smaller than the workspace query says.
    WorkspaceTooSmall {
        /// Bytes needed.
        needed: usize,
    },
    /// The machine lacks the CPU level that was asked for.
    LevelUnavailable,
    /// Memory could not be had.
    OutOfMemory,
    /// Threads could not be started.
    ThreadsUnavailable,
    /// This build or machine cannot do it.
    Unsupported {
        /// What was asked for.
        arg: &'static str,
    },
}

impl Error {
    /// The argument at fault, where there is one.
    pub const fn arg(&self) -> Option<&'static str> {
        match *self {
            Error::NullPointer { arg }
            | Error::Misaligned { arg }
            | Error::NegativeSize { arg }
            | Error::SizeOverflow { arg }
            | Error::ShapeMismatch { arg }
            | Error::Overlap { arg }
            | Error::EmptyReduction { arg }
            | Error::InvalidValue { arg }
            | Error::Unsupported { arg } => Some(arg),
            Error::WorkspaceTooSmall { .. } => Some("workspace"),
            Error::LevelUnavailable | Error::OutOfMemory | Error::ThreadsUnavailable => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Error::NullPointer { arg } => write!(f, "{arg} is NULL but elements are needed there"),
            Error::Misaligned { arg } => write!(f, "{arg} is not aligned to its element type"),
            Error::NegativeSize { arg } => write!(f, "{arg} is negative"),
            Error::SizeOverflow { arg } => write!(f, "{arg} spans more than the address space"),
            Error::ShapeMismatch { arg } => write!(f, "{arg} does not have the right shape"),
            Error::Overlap { arg } => write!(f, "{arg} overlaps another argument or itself"),
            Error::EmptyReduction { arg } => {
                write!(
                    f,
                    "{arg} is 0, and nothing has no mean, variance or extreme"
                )
            }
            Error::InvalidValue { arg } => write!(f, "{arg} has a value that is not allowed"),
            Error::WorkspaceTooSmall { needed } => {
                write!(f, "workspace is too small: {needed} bytes are needed")
            }
            Error::LevelUnavailable => {
                f.write_str("this machine lacks the CPU level asked for (DIPTYCH_CPU_LEVEL takes one too); it has")?;
                Level::ALL
                    .iter()
                    .filter(|level| level.is_available())
                    .try_for_each(|level| {
                        f.write_str(" ")?;
                        f.write_str(level.name())
                    })
            }
            Error::OutOfMemory => f.write_str("memory could not be had"),
            Error::ThreadsUnavailable => f.write_str("threads could not be started"),
            Error::Unsupported { arg } => write!(f, "{arg} is not supported by this build"),
        }
    }
}

impl core::error::Error for Error {}
