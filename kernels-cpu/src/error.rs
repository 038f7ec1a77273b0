//! The errors of calls.
#![forbid(unsafe_code)]

use core::fmt;

use crate::level::Level;

/// A result with an [`Error`] of this crate.
pub type Result<T> = core::result::Result<T, Error>;

/// Why a call was refused. A refused call has written nothing.
///
/// `arg` is the name of the parameter at fault. Pointers and signed sizes exist in the functions of [`raw`](crate::raw)
/// and in C only, so the safe functions never return [`NullPointer`](Error::NullPointer) or
/// [`NegativeSize`](Error::NegativeSize), and [`Misaligned`](Error::Misaligned) only for packed matrices.
///
/// ```
/// use diptych::{Error, Exec, clamp};
///
/// let mut out = [0.0_f32; 3];
/// let error = clamp(&Exec::new(), &[1.0, 2.0], 0.0, 1.0, &mut out).unwrap_err();
/// assert_eq!(error, Error::ShapeMismatch { arg: "x" });
/// assert_eq!(error.to_string(), "x does not have the right shape");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Error {
    /// A pointer is null although the call would read or write elements through it.
    NullPointer {
        /// The name of the argument.
        arg: &'static str,
    },
    /// A pointer is not aligned to its element type.
    Misaligned {
        /// The name of the argument.
        arg: &'static str,
    },
    /// A size or count is negative.
    NegativeSize {
        /// The name of the argument.
        arg: &'static str,
    },
    /// Sizes and strides together span more than the address space.
    SizeOverflow {
        /// The name of the argument, or the product of sizes.
        arg: &'static str,
    },
    /// The shapes of two arguments do not match, or a view reaches outside its slice (`arg` is then `"view"`).
    ShapeMismatch {
        /// The name of the argument.
        arg: &'static str,
    },
    /// A tensor has another type of elements than the operation needs beside the others.
    TypeMismatch {
        /// The name of the argument.
        arg: &'static str,
    },
    /// The operation does not take tensors with this type of elements.
    UnsupportedType {
        /// The name of the argument.
        arg: &'static str,
    },
    /// An output overlaps an input (other than exactly in place, where that is allowed), overlaps another output, or
    /// has two elements at one address.
    Overlap {
        /// The name of the output.
        arg: &'static str,
    },
    /// There is nothing to reduce, and the reduction is undefined then: mean, variance, extremes and
    /// their indices.
    EmptyReduction {
        /// The name of the size that is zero.
        arg: &'static str,
    },
    /// A value is outside the range that the operation is defined for.
    InvalidValue {
        /// The name of the argument.
        arg: &'static str,
    },
    /// A packed matrix has the layout of another CPU level, of other instructions or of another version.
    PackedLayout {
        /// The name of the argument.
        arg: &'static str,
    },
    /// The bytes of a partial reduction were not made by this version on a machine with the same order of bytes, or have
    /// changed.
    InvalidPartial {
        /// The name of the argument.
        arg: &'static str,
    },
    /// A partial reduction is one of another operation or pass than the call is for.
    PartialOperation {
        /// The name of the argument.
        arg: &'static str,
    },
    /// A partial reduction does not begin where it must: at the end of the one before, which is at the border of a chunk, or
    /// at element 0.
    PartialOrder {
        /// The name of the argument.
        arg: &'static str,
    },
    /// A partial reduction has no result before a further pass over the elements.
    PartialPass {
        /// The name of the argument.
        arg: &'static str,
    },
    /// The workspace is smaller than the workspace query of the operation says.
    WorkspaceTooSmall {
        /// Bytes that the call needs.
        needed: usize,
    },
    /// The machine does not have the requested CPU level, or there is no level of that name.
    LevelUnavailable,
    /// There is not enough memory. Operations do not return this.
    OutOfMemory,
    /// The operating system refused to start a thread.
    ThreadsUnavailable,
    /// This build or machine does not support the request.
    Unsupported {
        /// The name of what was requested.
        arg: &'static str,
    },
}

impl Error {
    /// Returns the name of the argument at fault, if there is one.
    pub const fn arg(&self) -> Option<&'static str> {
        match *self {
            Error::NullPointer { arg }
            | Error::Misaligned { arg }
            | Error::NegativeSize { arg }
            | Error::SizeOverflow { arg }
            | Error::ShapeMismatch { arg }
            | Error::TypeMismatch { arg }
            | Error::UnsupportedType { arg }
            | Error::Overlap { arg }
            | Error::EmptyReduction { arg }
            | Error::InvalidValue { arg }
            | Error::PackedLayout { arg }
            | Error::InvalidPartial { arg }
            | Error::PartialOperation { arg }
            | Error::PartialOrder { arg }
            | Error::PartialPass { arg }
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
            Error::TypeMismatch { arg } => {
                write!(f, "{arg} has another element type than it should")
            }
            Error::UnsupportedType { arg } => {
                write!(
                    f,
                    "{arg} has an element type that this operation does not take"
                )
            }
            Error::Overlap { arg } => write!(f, "{arg} overlaps another argument or itself"),
            Error::EmptyReduction { arg } => {
                write!(
                    f,
                    "{arg} is 0: the mean, variance and extremes of no elements are undefined"
                )
            }
            Error::InvalidValue { arg } => write!(f, "{arg} has a value that is not allowed"),
            Error::PackedLayout { arg } => {
                write!(
                    f,
                    "{arg} was packed for another CPU level, for other instructions or by another version: pack it again"
                )
            }
            Error::InvalidPartial { arg } => write!(
                f,
                "{arg} is no partial reduction of this version and order of bytes, or has changed"
            ),
            Error::PartialOperation { arg } => {
                write!(f, "{arg} is part of another reduction or of another pass")
            }
            Error::PartialOrder { arg } => write!(
                f,
                "{arg} does not begin at the end of the part before, at the border of a chunk, or for a result at element 0"
            ),
            Error::PartialPass { arg } => {
                write!(
                    f,
                    "{arg} has no result yet: the reduction takes another pass"
                )
            }
            Error::WorkspaceTooSmall { needed } => {
                write!(f, "workspace is too small: {needed} bytes are needed")
            }
            Error::LevelUnavailable => {
                f.write_str("this machine does not have the requested CPU level (see DIPTYCH_CPU_LEVEL); it has")?;
                Level::ALL
                    .iter()
                    .filter(|level| level.is_available())
                    .try_for_each(|level| {
                        f.write_str(" ")?;
                        f.write_str(level.name())
                    })
            }
            Error::OutOfMemory => f.write_str("out of memory"),
            Error::ThreadsUnavailable => f.write_str("threads could not be started"),
            Error::Unsupported { arg } => write!(f, "{arg} is not supported by this build"),
        }
    }
}

impl core::error::Error for Error {}
