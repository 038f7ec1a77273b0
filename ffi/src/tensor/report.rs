//! Failures of calls over tensors.
use super::Tensors;
#[cfg(feature = "std")]
use super::describe::Described;
use crate::error::{self, Failure};
use crate::status::dpt_status;
#[cfg(feature = "std")]
use diptych::Error;

/// As [`error::report`]; the text also says what types and shapes the tensors have, where one of them does not fit.
///
/// # Safety
/// Each tensor is NULL or valid.
pub(super) unsafe fn report(
    name: &'static str,
    result: Result<(), Failure>,
    tensors: Tensors<'_>,
) -> dpt_status {
    let status = error::report(name, result);
    #[cfg(feature = "std")]
    if let Err(failure) = result {
        // SAFETY: passed on from the caller.
        unsafe { add_tensors(name, failure, tensors) };
    }
    #[cfg(not(feature = "std"))]
    let _ = tensors;
    status
}

/// # Safety
/// As [`report`].
#[cfg(feature = "std")]
#[cold]
#[inline(never)]
unsafe fn add_tensors(name: &'static str, failure: Failure, tensors: Tensors<'_>) {
    match failure {
        Failure::Core(
            Error::ShapeMismatch { .. }
            | Error::TypeMismatch { .. }
            | Error::UnsupportedType { .. },
        ) => {
            // SAFETY: passed on from the caller.
            let tensors = unsafe { Described::new(tensors) };
            error::text::write(format_args!("{name}: {failure}{tensors}"));
        }
        Failure::Core(Error::Unsupported { arg }) => error::text::write(format_args!(
            "{name}: {arg} has memory or strides that the call does not take"
        )),
        _ => {}
    }
}
