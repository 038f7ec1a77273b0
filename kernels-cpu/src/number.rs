//! The types of numbers that the operations on slices and views take: floats and integers.
#![forbid(unsafe_code)]

use core::fmt::Debug;

use crate::api::elementwise::kinds::Elementwise;
use crate::api::outer::kinds::OuterProducts;
use crate::api::reduce::kinds::Reductions;
use crate::dispatch::Compute;
use crate::element::Storage;
use crate::scalar::integers::Wrapping;
use crate::tensor::element_type::IntegerType;

mod sealed {
    use crate::element::Storage;

    pub trait Sealed {}
    impl<T: Storage> Sealed for T {}
    impl Sealed for i8 {}
    impl Sealed for u8 {}
    impl Sealed for i32 {}
    impl Sealed for i64 {}
}

/// A type of numbers: a type of floats, which are those with the trait [`Storage`], or `i8`, `u8`, `i32` or `i64`.
///
/// Operations that are generic over `Number` take all eight. Results of integers are exact modulo 2^bits, as those of
/// `wrapping_add` are; sums and products in more bits are in [`wide`](crate::wide). Operations that are generic over
/// [`Storage`] would have to round, and take floats only. The trait is sealed.
#[diagnostic::on_unimplemented(
    message = "Diptych has no arithmetic on `{Self}`",
    note = "numbers are `f32`, `f64`, `f16`, `bf16`, `i8`, `u8`, `i32` and `i64`"
)]
pub trait Number:
    sealed::Sealed + Copy + Debug + Default + PartialEq + Send + Sync + 'static
{
    /// The type of a number beside arrays of this type: that of the arithmetic, [`Storage::Compute`], or the type of
    /// integers itself.
    type Scalar: Copy + Debug + Send + Sync + 'static;

    /// The code for the type.
    #[doc(hidden)]
    type Kind: Elementwise<Self> + Reductions<Self, Self> + OuterProducts<Self>;
}

/// The code for floats.
pub struct Floats;

/// The code for integers.
pub struct Integers;

impl<T: Storage> Number for T {
    type Scalar = Compute<T>;
    type Kind = Floats;
}

/// The type of a number beside arrays of the type `T`.
pub type Scalar<T> = <T as Number>::Scalar;

/// A type of integers with arithmetic modulo 2^bits.
pub trait IntegerElement: Number<Scalar = Self, Kind = Integers> + Wrapping + Into<i64> {
    /// The type, as a value.
    const TYPE: IntegerType;

    /// Returns a number modulo 2^bits.
    fn wrapped(number: i64) -> Self;
}

macro_rules! integers {
    ($($T:ident $Type:ident;)*) => {$(
        impl Number for $T {
            type Scalar = Self;
            type Kind = Integers;
        }

        impl IntegerElement for $T {
            const TYPE: IntegerType = IntegerType::$Type;

            #[inline(always)]
            fn wrapped(number: i64) -> Self {
                number as $T
            }
        }
    )*};
}
integers! { i8 I8; u8 U8; i32 I32; i64 I64; }

/// A type whose sums and products can have the type `O`, which has as many bits or more; see [`wide`](crate::wide).
///
/// | `Self` | `O` |
/// |---|---|
/// | `f16`, `bf16`, `f32` | `f32` |
/// | `f64` | `f64` |
/// | `i8`, `u8`, `i32` | `i32`, `i64` |
/// | `i64` | `i64` |
///
/// The trait is sealed.
#[diagnostic::on_unimplemented(message = "sums of `{Self}` cannot be computed as `{O}`")]
pub trait Accumulate<O: Number>: Number<Kind: Reductions<Self, O>> {}

impl<T: Storage> Accumulate<Compute<T>> for T {}

macro_rules! accumulate {
    ($($T:ident: $($O:ident),*;)*) => {
        $($(impl Accumulate<$O> for $T {})*)*
    };
}
accumulate! {
    i8: i32, i64;
    u8: i32, i64;
    i32: i32, i64;
    i64: i64;
}
