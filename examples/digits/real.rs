//! What the example needs of its element types beyond [`diptych::Element`].

use diptych::Element;

/// An element type of the example: `f32` or `f64`.
pub trait Real: Element {
    /// Returns `value` rounded to nearest.
    fn nearest(value: f64) -> Self;

    /// Returns the same value as an `f64`.
    fn widen(self) -> f64;

    /// Calls `visit` with each byte of the value, in little-endian order.
    fn for_each_byte(self, visit: impl FnMut(u8));
}

macro_rules! real {
    ($type:ident) => {
        impl Real for $type {
            fn nearest(value: f64) -> Self {
                value as $type
            }

            fn widen(self) -> f64 {
                self.into()
            }

            fn for_each_byte(self, visit: impl FnMut(u8)) {
                self.to_le_bytes().into_iter().for_each(visit);
            }
        }
    };
}

real!(f32);
real!(f64);
