//! What the example needs of its types of numbers beyond [`diptych::Storage`] and [`diptych::Element`].

use diptych::{Element, Storage, bf16, f16};

use crate::product::Product;

/// A type that the network can be trained in: of the images, of the activations, of the weights as products read them,
/// and of the gradients that go into products.
///
/// The parameters are of the type `Self::Compute`. For the 16-bit types that is `f32`: most steps are smaller than half a
/// unit in the last place of a 16-bit weight, and would be lost. It is also the type of the loss.
pub trait Number:
    Storage<Compute: Real> + Product<Self> + Product<<Self as Storage>::Compute>
{
    /// The name of the type.
    const NAME: &'static str;

    /// Returns the same numbers, if this is the type of the parameters: then none has to be rounded.
    fn unrounded(parameters: &[Self::Compute]) -> Option<&[Self]>;
}

/// A type of parameters: `f32` or `f64`.
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
        impl Number for $type {
            const NAME: &'static str = stringify!($type);

            fn unrounded(parameters: &[$type]) -> Option<&[$type]> {
                Some(parameters)
            }
        }

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

macro_rules! half {
    ($type:ident) => {
        impl Number for $type {
            const NAME: &'static str = stringify!($type);

            fn unrounded(_: &[f32]) -> Option<&[$type]> {
                None
            }
        }
    };
}

real!(f32);
real!(f64);
half!(f16);
half!(bf16);

/// Rounds each number to the type of `to`.
pub fn round<T: Storage>(from: &[T::Compute], to: &mut [T]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = T::from_compute(from);
    }
}

/// Converts each number to the type of arithmetic, which is exact.
pub fn widen<T: Storage>(from: &[T], to: &mut [T::Compute]) {
    for (to, &from) in to.iter_mut().zip(from) {
        *to = from.into_compute();
    }
}
