//! The element types of kernels.

use crate::gpu::Vector;
use crate::gpu::value::Value;
use crate::memory::Memory;
use diptych::Element;

/// `f32` or `f64`.
pub trait Real: Element + Vector + Value + Memory<Number = Self, Format = ()> {
    /// Whether the sign bit is set.
    fn sign_bit(self) -> bool;
}

impl Real for f32 {
    #[inline(always)]
    fn sign_bit(self) -> bool {
        self.is_sign_negative()
    }
}

impl Real for f64 {
    #[inline(always)]
    fn sign_bit(self) -> bool {
        self.is_sign_negative()
    }
}
