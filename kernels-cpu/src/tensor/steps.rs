//! The kernels of conversions between types of elements.

use super::kind::Integer;
use crate::dispatch::Kernels;
use crate::element::Dtype;
use crate::half::{bf16, f16, round_to_odd, sticky};
use crate::level::Level;
use crate::ops::integers::levels;

/// Converts `n` elements. The two arrays must not overlap.
pub type Cast = unsafe fn(n: usize, from: *const u8, to: *mut u8);

/// A step of a conversion: its kernel for each level, and the bytes of an element of the result.
#[derive(Clone, Copy)]
pub struct Step(pub &'static [Cast; 4], pub usize);

/// Returns the kernel that computes `$value` for each element `$x`: a loop that the compiler vectorises.
macro_rules! cast {
    ($A:ty => $B:ty, |$x:ident| $value:expr) => {{
        #[inline(always)]
        unsafe fn body(n: usize, from: *const u8, to: *mut u8) {
            let (from, to) = (from.cast::<$A>(), to.cast::<$B>());
            for i in 0..n {
                // SAFETY: the caller vouches for element i.
                let $x = unsafe { from.add(i).read() };
                let value = $value;
                // SAFETY: as above.
                unsafe { to.add(i).write(value) };
            }
        }
        let levels = levels!(Cast, (n: usize, from: *const u8, to: *mut u8), body);
        Step(levels, size_of::<$B>())
    }};
}

/// Returns the kernel that converts between `f32` and a type of 16 bits.
macro_rules! half {
    ($T:ident $method:ident $To:ident $(, $ahead:literal)?) => {{
        unsafe fn convert<const LEVEL: usize>(n: usize, from: *const u8, to: *mut u8) {
            let kernels = Kernels::<$T>::new(const { Level::ALL[LEVEL] });
            // SAFETY: as the caller's.
            unsafe { kernels.$method()(n, from.cast(), to.cast() $(, $ahead)?) }
        }
        const STEPS: &[Cast; 4] = &[convert::<0>, convert::<1>, convert::<2>, convert::<3>];
        Step(STEPS, size_of::<$To>())
    }};
}

/// Truncates to an integer from `low` to `high`; NaN gives 0.
#[inline(always)]
fn truncate(x: f64, low: i32, high: i32) -> i32 {
    let x = if x.is_nan() { 0.0 } else { x };
    let x = if x >= f64::from(low) {
        x
    } else {
        f64::from(low)
    };
    let x = if x <= f64::from(high) {
        x
    } else {
        f64::from(high)
    };
    // SAFETY: the bounds are numbers of the type, and a NaN has been replaced.
    unsafe { x.to_int_unchecked() }
}

/// Truncates to an integer type whose bounds `f64` may not have; NaN gives 0. (Loops of `as` do not become vector code.)
macro_rules! truncate_wide {
    ($T:ty, $x:ident) => {{
        const HIGH: f64 = (<$T>::MAX / 2 + 1) as f64 * 2.0;
        let is_low = $x <= <$T>::MIN as f64;
        let is_high = $x >= HIGH;
        let inside = if is_low || is_high || $x.is_nan() {
            0.0
        } else {
            $x
        };
        // SAFETY: below the bounds.
        let value: $T = unsafe { inside.to_int_unchecked() };
        let value = if is_high { <$T>::MAX } else { value };
        if is_low { <$T>::MIN } else { value }
    }};
}

/// Returns the step from a type of integers to `f64`, rounded to nearest even; if `odd`, so that rounding it once more
/// gives what one rounding gives.
#[cfg_attr(not(precompiled), inline)]
pub const fn to_f64(of: Integer, odd: bool) -> Step {
    match of {
        Integer::I8 => cast!(i8 => f64, |x| f64::from(x)),
        Integer::U8 => cast!(u8 => f64, |x| f64::from(x)),
        Integer::I16 => cast!(i16 => f64, |x| f64::from(x)),
        Integer::U16 => cast!(u16 => f64, |x| f64::from(x)),
        Integer::I32 => cast!(i32 => f64, |x| f64::from(x)),
        Integer::U32 => cast!(u32 => f64, |x| f64::from(x)),
        Integer::I64 if odd => {
            cast!(i64 => f64, |x| { let y = sticky(x.unsigned_abs()); if x < 0 { -y } else { y } })
        }
        Integer::I64 => cast!(i64 => f64, |x| x as f64),
        Integer::U64 if odd => cast!(u64 => f64, |x| sticky(x)),
        Integer::U64 => cast!(u64 => f64, |x| x as f64),
    }
}

/// Returns the step from a type of integers to `f32`, if there is one.
#[cfg_attr(not(precompiled), inline)]
pub const fn to_f32(of: Integer) -> Option<Step> {
    match of {
        Integer::I8 => Some(cast!(i8 => f32, |x| f32::from(x))),
        Integer::U8 => Some(cast!(u8 => f32, |x| f32::from(x))),
        Integer::I32 => Some(cast!(i32 => f32, |x| x as f32)),
        Integer::I64 => Some(cast!(i64 => f32, |x| x as f32)),
        Integer::U64 => Some(cast!(u64 => f32, |x| x as f32)),
        Integer::I16 | Integer::U16 | Integer::U32 => None,
    }
}

/// Returns the step from `f64` to a type of integers.
#[cfg_attr(not(precompiled), inline)]
pub const fn from_f64(to: Integer) -> Step {
    match to {
        Integer::I8 => cast!(f64 => i8, |x| truncate(x, -0x80, 0x7F) as i8),
        Integer::U8 => cast!(f64 => u8, |x| truncate(x, 0, 0xFF) as u8),
        Integer::I16 => cast!(f64 => i16, |x| truncate(x, -0x8000, 0x7FFF) as i16),
        Integer::U16 => cast!(f64 => u16, |x| truncate(x, 0, 0xFFFF) as u16),
        Integer::I32 => cast!(f64 => i32, |x| truncate(x, i32::MIN, i32::MAX)),
        Integer::U32 => cast!(f64 => u32, |x| truncate_wide!(u32, x)),
        Integer::I64 => cast!(f64 => i64, |x| truncate_wide!(i64, x)),
        Integer::U64 => cast!(f64 => u64, |x| truncate_wide!(u64, x)),
    }
}

/// Returns the step from `f64` to `bool`.
#[cfg_attr(not(precompiled), inline)]
pub const fn f64_to_bool() -> Step {
    cast!(f64 => u8, |x| u8::from(x != 0.0))
}

/// Returns the step from a type of integers to 64 bits, if it has fewer.
#[cfg_attr(not(precompiled), inline)]
pub const fn to_i64(of: Integer) -> Option<Step> {
    match of {
        Integer::I8 => Some(cast!(i8 => i64, |x| i64::from(x))),
        Integer::U8 => Some(cast!(u8 => i64, |x| i64::from(x))),
        Integer::I16 => Some(cast!(i16 => i64, |x| i64::from(x))),
        Integer::U16 => Some(cast!(u16 => i64, |x| i64::from(x))),
        Integer::I32 => Some(cast!(i32 => i64, |x| i64::from(x))),
        Integer::U32 => Some(cast!(u32 => i64, |x| i64::from(x))),
        Integer::I64 | Integer::U64 => None,
    }
}

/// Returns the step from integers of 64 bits to a type of integers, if that has fewer.
#[cfg_attr(not(precompiled), inline)]
pub const fn from_i64(to: Integer) -> Option<Step> {
    match to {
        Integer::I8 | Integer::U8 => Some(cast!(i64 => i8, |x| x as i8)),
        Integer::I16 | Integer::U16 => Some(cast!(i64 => i16, |x| x as i16)),
        Integer::I32 | Integer::U32 => Some(cast!(i64 => i32, |x| x as i32)),
        Integer::I64 | Integer::U64 => None,
    }
}

/// Returns the step from integers of 64 bits to `bool`.
#[cfg_attr(not(precompiled), inline)]
pub const fn i64_to_bool() -> Step {
    cast!(i64 => u8, |x| u8::from(x != 0))
}

/// Returns the step from a floating-point type to `f32`, if it is another.
#[cfg_attr(not(precompiled), inline)]
pub const fn float_to_f32(of: Dtype) -> Option<Step> {
    match of {
        Dtype::F32 => None,
        Dtype::F64 => Some(narrow(false)),
        Dtype::F16 => Some(half!(f16 widen f32, 0)),
        Dtype::Bf16 => Some(half!(bf16 widen f32, 0)),
    }
}

/// Returns the step from `f32` to a floating-point type, if it is another.
#[cfg_attr(not(precompiled), inline)]
pub const fn f32_to_float(to: Dtype) -> Option<Step> {
    match to {
        Dtype::F32 => None,
        Dtype::F64 => Some(widen()),
        Dtype::F16 => Some(half!(f16 round f16)),
        Dtype::Bf16 => Some(half!(bf16 round bf16)),
    }
}

/// Returns the step from `f64` to `f32`; if `odd`, such that rounding the result once more, to 16 bits, gives what one
/// rounding gives.
#[cfg_attr(not(precompiled), inline)]
pub const fn narrow(odd: bool) -> Step {
    if odd {
        cast!(f64 => u32, |x| round_to_odd(x))
    } else {
        cast!(f64 => f32, |x| x as f32)
    }
}

/// Returns the step from `f32` to `f64`.
#[cfg_attr(not(precompiled), inline)]
pub const fn widen() -> Step {
    cast!(f32 => f64, |x| f64::from(x))
}

/// Returns the step from any byte to a `bool`.
#[cfg_attr(not(precompiled), inline)]
pub const fn to_bool() -> Step {
    cast!(u8 => u8, |x| u8::from(x != 0))
}
