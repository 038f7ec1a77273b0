//! The calls of a fingerprint on the CPU.

use super::backend::{Backend, Tensors, Typed};
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::tensor::element_type::ElementType;
use crate::{raw, tensor};

/// The CPU, with the level, the threads and the workspace of an `Exec`.
pub struct Cpu<'a, 'b>(pub &'a Exec<'b>);

// SAFETY: there is no other memory.
unsafe impl Backend for Cpu<'_, '_> {
    type Error = Error;

    #[inline]
    unsafe fn typed(&mut self, call: &Typed) -> Result<()> {
        // SAFETY: as the caller's.
        unsafe {
            match ElementType::of(call.dtype) {
                Some(ElementType::F32) => in_single(self.0, call),
                Some(ElementType::F64) => in_double(self.0, call),
                None => Err(Error::UnsupportedType { arg: "dtype" }),
            }
        }
    }

    #[inline]
    unsafe fn tensors(&mut self, call: &Tensors<'_>) -> Result<()> {
        // SAFETY: as the caller's.
        unsafe { over_tensors(self.0, call) }
    }
}

// Inline, so that the calls are compiled where a program asks for a fingerprint, and not in this crate.
crate::fingerprint_typed!(
    in_single,
    f32,
    raw,
    &Exec<'_>,
    Error,
    core::convert::identity
);
crate::fingerprint_typed!(
    in_double,
    f64,
    raw,
    &Exec<'_>,
    Error,
    core::convert::identity
);
crate::fingerprint_tensors!(over_tensors, tensor, &Exec<'_>, Error);
