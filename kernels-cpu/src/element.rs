//! The element types, with the constants and scalar functions that the generic code needs.
#![forbid(unsafe_code)]

use core::fmt::Debug;
use core::ops::{Add, Div, Mul, Sub};

use crate::half::{bf16, f16};
use crate::simd::{Access, Token};

mod sealed {
    use super::*;

    pub trait Sealed {}
    impl Sealed for f32 {}
    impl Sealed for f64 {}
    impl Sealed for f16 {}
    impl Sealed for bf16 {}
}

/// The type of elements in memory, as a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
#[repr(u8)]
pub enum Dtype {
    /// IEEE 754 binary32.
    F32,
    /// IEEE 754 binary64.
    F64,
    /// IEEE 754 binary16.
    F16,
    /// bfloat16, the upper half of a binary32.
    Bf16,
}

/// The number of types in the list.
macro_rules! count {
    ({} [$($M:ident as $C:ident $Dtype:ident),*]) => {
        [$(Dtype::$Dtype),*].len()
    };
}

impl Dtype {
    /// The number of types. `dtype as usize` is always less.
    pub const COUNT: usize = crate::for_each_storage!(count! {});

    /// Returns the number of bytes of an element.
    pub const fn size(self) -> usize {
        match self {
            Self::F64 => 8,
            Self::F32 => 4,
            Self::F16 | Self::Bf16 => 2,
        }
    }
}

/// A type of elements in memory: `f32`, `f64`, [`struct@f16`] or [`bf16`].
///
/// Operations that are generic over `Storage` take all four; they compute in [`Storage::Compute`]. The 16-bit types are
/// widened to `f32`, and a result is rounded once, to nearest even, when it is stored. The trait is sealed: kernels
/// exist for these types only. Operations that are generic over [`Number`](crate::Number) take integers too.
#[diagnostic::on_unimplemented(
    message = "this operation takes floats, and `{Self}` is not one",
    note = "the types of floats are `f32`, `f64`, `f16` and `bf16`"
)]
pub trait Storage:
    sealed::Sealed + Copy + Debug + Default + PartialEq + Send + Sync + 'static
{
    /// The type of arithmetic: `f32` for the 16-bit types, else the type itself.
    type Compute: Element;
    /// The type, as a value.
    const TYPE: Dtype;

    /// The registers of the portable level.
    #[doc(hidden)]
    type Portable: Token<T = Self::Compute> + Access<Self>;
    /// The registers of the AVX2 level.
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    type Avx2: Token<T = Self::Compute> + Access<Self>;
    /// The registers of the AVX-512 level.
    #[cfg(target_arch = "x86_64")]
    #[doc(hidden)]
    type Avx512: Token<T = Self::Compute> + Access<Self>;
    /// The registers of the NEON level.
    #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
    #[doc(hidden)]
    type Neon: Token<T = Self::Compute> + Access<Self>;

    /// Converts to the type of arithmetic, which is exact.
    fn into_compute(self) -> Self::Compute;
    /// Rounds a result to nearest even.
    fn from_compute(value: Self::Compute) -> Self;
}

/// A type of elements that has arithmetic of its own: `f32` or `f64`.
///
/// Operations that are generic over `Element` take these two. The trait is sealed.
pub trait Element:
    Storage<Compute = Self>
    + crate::scalar::ExpConstants
    + PartialOrd
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
{
    /// +0.
    const ZERO: Self;
    /// 1.
    const ONE: Self;
    /// The NaN that reductions return: 0x7FC00000 for `f32`, 0x7FF8000000000000 for `f64`.
    const CANONICAL_NAN: Self;
    /// +infinity.
    const INFINITY: Self;
    /// -infinity.
    const NEG_INFINITY: Self;
    /// The number of virtual lanes in the canonical order of summation: 256 bytes of elements.
    #[doc(hidden)]
    const LANES: usize;
    /// The bound below which a sum of squares may have lost digits to underflow.
    #[doc(hidden)]
    const SUMSQ_TINY: Self;
    /// `var` and `std` scale by 2 to the power of plus or minus this, after which sums of squares neither overflow nor lose
    /// digits to underflow.
    #[doc(hidden)]
    const VARIANCE_EXPONENT: i32;
    /// The bounds of the exponent that `nrm2` scales by; 2 to the power of either is a normal number.
    #[doc(hidden)]
    const SCALE_EXPONENTS: (i32, i32);
    /// 1.5 * 2^(mantissa bits): adding it leaves the rounded integer in the low bits.
    #[doc(hidden)]
    const ROUNDING_MAGIC: Self;

    /// Converts `n`, rounded to nearest.
    #[doc(hidden)]
    fn from_count(n: usize) -> Self;
    /// Converts to an integer; the value must be an integer from 0 to 2^20.
    #[doc(hidden)]
    fn to_count(self) -> usize;
    /// Converts `value`, rounded to nearest.
    #[doc(hidden)]
    fn from_f64(value: f64) -> Self;
    /// Returns self * a + b with one rounding.
    #[doc(hidden)]
    fn fma(self, a: Self, b: Self) -> Self;
    /// Returns the correctly rounded square root.
    #[doc(hidden)]
    fn sqrt(self) -> Self;
    /// Returns the absolute value.
    #[doc(hidden)]
    fn abs(self) -> Self;
    /// Returns the natural logarithm of a positive finite number: [`crate::scalar::ln`] in `f64`, rounded to the type.
    /// Of an `f64`, the number must be normal.
    #[doc(hidden)]
    fn ln(self) -> Self;
    /// Returns whether the sign bit is set.
    #[doc(hidden)]
    fn is_negative(self) -> bool;
    /// Returns whether this is a NaN.
    #[doc(hidden)]
    fn is_nan(self) -> bool;
    /// Returns whether this is neither infinite nor a NaN.
    #[doc(hidden)]
    fn is_finite(self) -> bool;
    /// Returns e with |self| in [2^e, 2^(e+1)), for a nonzero finite value; for subnormal numbers, the smallest normal
    /// exponent.
    #[doc(hidden)]
    fn exponent(self) -> i32;
    /// Returns 2^e, for the exponent e of a normal number.
    #[doc(hidden)]
    fn pow2(e: i32) -> Self;
    /// Returns the number with this sign, and with these as the last two bits of its fraction.
    #[doc(hidden)]
    fn with_low_bits(self, negative: bool, bits: u32) -> Self;
    /// Returns the last two bits of the fraction.
    #[doc(hidden)]
    fn low_bits(self) -> u32;
    /// Returns 2^n, for an integral n that is the exponent of a normal number.
    #[doc(hidden)]
    fn pow2_integral(n: Self) -> Self;
}

macro_rules! element {
    ($T:ty, $U:ty, $Dtype:ident, lanes $lanes:expr, nan $nan:expr, tiny $tiny:expr, variance $variance:expr, mantissa $mant:expr,
     bias $bias:expr, fma $fma:path, sqrt $sqrt:path, abs $abs:path) => {
        impl Storage for $T {
            type Compute = $T;
            crate::isa::registers!($T);
            const TYPE: Dtype = Dtype::$Dtype;

            #[inline(always)]
            fn into_compute(self) -> $T {
                self
            }
            #[inline(always)]
            fn from_compute(value: $T) -> $T {
                value
            }
        }

        impl Element for $T {
            const ZERO: Self = 0.0;
            const ONE: Self = 1.0;
            const CANONICAL_NAN: Self = <$T>::from_bits($nan);
            const INFINITY: Self = <$T>::INFINITY;
            const NEG_INFINITY: Self = <$T>::NEG_INFINITY;
            const LANES: usize = $lanes;
            const SUMSQ_TINY: Self = <$T>::from_bits($tiny << $mant); // 2^-90, 2^-970
            const VARIANCE_EXPONENT: i32 = $variance;
            const SCALE_EXPONENTS: (i32, i32) = (1 - $bias as i32, $bias as i32 - 1);
            const ROUNDING_MAGIC: Self = 1.5 * (1u64 << $mant) as $T;

            #[inline(always)]
            fn from_count(n: usize) -> Self {
                n as $T
            }
            #[inline(always)]
            fn to_count(self) -> usize {
                // Adding 2^(mantissa bits) leaves the integer in the lowest bits. So this vectorises on levels without
                // an instruction that converts registers.
                let unit = (1u64 << $mant) as $T;
                ((self + unit).to_bits() - unit.to_bits()) as usize
            }
            #[inline(always)]
            fn from_f64(value: f64) -> Self {
                value as $T
            }
            #[inline(always)]
            fn fma(self, a: Self, b: Self) -> Self {
                $fma(self, a, b)
            }
            #[inline(always)]
            fn sqrt(self) -> Self {
                $sqrt(self)
            }
            #[inline(always)]
            fn abs(self) -> Self {
                $abs(self)
            }
            #[inline(always)]
            fn ln(self) -> Self {
                crate::scalar::ln(self as f64) as $T
            }
            #[inline(always)]
            fn is_negative(self) -> bool {
                <$T>::is_sign_negative(self)
            }
            #[inline(always)]
            fn is_nan(self) -> bool {
                self != self
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                <$T>::is_finite(self)
            }
            #[inline(always)]
            fn exponent(self) -> i32 {
                let e = (self.to_bits() >> $mant) as i32 & (2 * $bias as i32 + 1);
                if e == 0 {
                    1 - $bias as i32
                } else {
                    e - $bias as i32
                }
            }
            #[inline(always)]
            fn pow2(e: i32) -> Self {
                <$T>::from_bits(((e + $bias as i32) as $U) << $mant)
            }
            #[inline(always)]
            fn with_low_bits(self, negative: bool, bits: u32) -> Self {
                let magnitude = self.to_bits() & (<$U>::MAX >> 1) & !3;
                let sign = (negative as $U) << (<$U>::BITS - 1);
                <$T>::from_bits(sign | magnitude | bits as $U)
            }
            #[inline(always)]
            fn low_bits(self) -> u32 {
                (self.to_bits() & 3) as u32
            }
            #[inline(always)]
            fn pow2_integral(n: Self) -> Self {
                let bits = (n + Self::ROUNDING_MAGIC).to_bits();
                <$T>::from_bits(bits.wrapping_add($bias) << $mant)
            }
        }
    };
}

element!(f32, u32, F32, lanes 64, nan 0x7FC0_0000, tiny 37, variance 80, mantissa 23, bias 127,
    fma crate::scalar::fma_f32, sqrt crate::isa::sqrt::f32, abs libm::fabsf);
element!(f64, u64, F64, lanes 32, nan 0x7FF8_0000_0000_0000, tiny 53, variance 600, mantissa 52, bias 1023,
    fma libm::fma, sqrt crate::isa::sqrt::f64, abs libm::fabs);
