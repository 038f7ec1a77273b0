//! A kernel as one generic function for each level, compiled where a type is named or, with `cfg(precompiled)`, here.

#[cfg(precompiled)]
use core::mem::transmute_copy;

use super::Compute;
use crate::element::Storage;

/// Returns `value` with the type `B`, for generic code where the compiler cannot see that `A` and `B` are the same
/// type.
///
/// # Safety
/// `A` and `B` must be the same type.
#[cfg(precompiled)]
#[inline(always)]
pub const unsafe fn cast_same_type<A: Copy, B: Copy>(value: A) -> B {
    const { assert!(size_of::<A>() == size_of::<B>()) }
    // SAFETY: as the caller's.
    unsafe { transmute_copy(&value) }
}

/// A reference to the constant `$value` of the type `$Type`, which both depend on the element type `$T`.
///
/// The crate that names the element type compiles the constant, and with it the kernels that it points to. With
/// `cfg(precompiled)` this crate compiles it for all types of the list, which `build.rs` explains.
#[cfg(not(precompiled))]
macro_rules! for_type {
    ($for_each:ident $T:ident: $Type:ty = $value:expr) => {
        const { &$value as &'static $Type }
    };
}

/// As above.
#[cfg(precompiled)]
macro_rules! for_type {
    ($for_each:ident $T:ident: $Type:ty = $value:expr) => {
        $for_each!(for_type! { $T, $Type, $value })
    };
    ({ $T:ident, $Type:ty, $value:expr } [$($M:ident as $C:ident $Dtype:ident),*]) => {
        match <$T as Storage>::TYPE {
            $(Dtype::$Dtype => {
                /// Shadows the element type in `$Type` and in `$value`.
                type $T = $M;
                static VALUE: $Type = $value;
                // SAFETY: `T` is the type that `TYPE` names, so the two types are the same.
                unsafe { cast_same_type(&VALUE) }
            })*
            #[allow(unreachable_patterns)]
            _ => unreachable!(),
        }
    };
}

/// `$value`, kernels that a `const fn` looks up by the value of a type: as a constant, so that the crate that names the
/// type compiles those of this type and no others. With `cfg(precompiled)` this crate has compiled all of them.
#[cfg(not(precompiled))]
macro_rules! of_type {
    ($value:expr) => {
        const { $value }
    };
}

/// As above.
#[cfg(precompiled)]
macro_rules! of_type {
    ($value:expr) => {
        $value
    };
}
pub(crate) use of_type;

/// Defines the functions of one kernel, `NAME (PARAMETERS) [RESULT] (BODY)`, one for each level, generic over the element
/// type `T` in memory. They have the target features of the level and inline the generic body. `of` looks them up.
macro_rules! kernel {
    ($Bound:ident $for_each:ident $name:ident ($($arg:ident: $ty:ty),*) [$($result:ty)?] ($body:expr)) => {
        pub mod $name {
            #[allow(unused_imports)]
            use super::*;

            #[allow(type_alias_bounds)]
            pub type Function<T: $Bound> = unsafe fn($($ty),*) $(-> $result)?;

            #[inline(never)]
            unsafe fn portable<T: $Bound>($($arg: $ty),*) $(-> $result)? {
                // SAFETY: every machine has this level; the caller vouches for the arrays.
                unsafe { $body(T::Portable::token(), $($arg),*) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c")]
            unsafe fn avx2<T: $Bound>($($arg: $ty),*) $(-> $result)? {
                // SAFETY: this function is called only on a machine that has the level; the caller vouches for the arrays.
                unsafe { $body(T::Avx2::token(), $($arg),*) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2")]
            unsafe fn avx512<T: $Bound>($($arg: $ty),*) $(-> $result)? {
                // SAFETY: as above.
                unsafe { $body(T::Avx512::token(), $($arg),*) }
            }
            #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
            #[target_feature(enable = "neon")]
            unsafe fn neon<T: $Bound>($($arg: $ty),*) $(-> $result)? {
                // SAFETY: as above.
                unsafe { $body(T::Neon::token(), $($arg),*) }
            }

            /// In the order of `Level`. Levels of other architectures have the portable function.
            pub const fn levels<T: $Bound>() -> [Function<T>; 4] {
                #[allow(unused_mut)]
                let mut levels: [Function<T>; 4] = [portable::<T>; 4];
                #[cfg(target_arch = "x86_64")]
                {
                    levels[Level::Avx2 as usize] = avx2::<T>;
                    levels[Level::Avx512 as usize] = avx512::<T>;
                }
                #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
                {
                    levels[Level::Neon as usize] = neon::<T>;
                }
                levels
            }

            /// Returns the function of a level.
            #[inline(always)]
            pub fn of<T: $Bound>(level: Level) -> Function<T> {
                let levels: &[Function<T>; 4] = for_type!($for_each T: [Function<T>; 4] = levels::<T>());
                levels[level as usize]
            }
        }
    };
}

/// Whether `T` has arithmetic of its own.
pub const fn is_element<T: Storage>() -> bool {
    T::TYPE as u8 == <Compute<T> as Storage>::TYPE as u8
}
