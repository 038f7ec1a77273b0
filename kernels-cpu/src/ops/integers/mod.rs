//! The kernels of integers: loops over blocks of elements, each block an array that the compiler makes registers of.

pub mod dot;
pub mod elementwise;
pub mod reduce;

use core::ptr;

use crate::level::Level;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::{element::Storage, simd::Token};

/// Defines the functions of a kernel, `$body(ARGUMENTS)`, one for each level, with attributes and generic parameters;
/// `levels` returns them in the order of `Level`. Levels of other architectures have the portable one.
macro_rules! level_functions {
    ([$($attribute:tt)*] [$($parameters:tt)*] [$($names:tt)*] $Kernel:ty, ($($arg:ident: $ty:ty),*), $body:expr) => {
        $($attribute)*
        unsafe fn portable<$($parameters)*>($($arg: $ty),*) {
            // SAFETY: every machine has this level; the rest as the caller's.
            unsafe { $body($($arg),*) }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c")]
        $($attribute)*
        unsafe fn avx2<$($parameters)*>($($arg: $ty),*) {
            // SAFETY: called only on a machine that has the level; the rest as the caller's.
            unsafe { $body($($arg),*) }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2")]
        $($attribute)*
        unsafe fn avx512<$($parameters)*>($($arg: $ty),*) {
            // SAFETY: as above.
            unsafe { $body($($arg),*) }
        }
        #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
        #[target_feature(enable = "neon")]
        $($attribute)*
        unsafe fn neon<$($parameters)*>($($arg: $ty),*) {
            // SAFETY: as above.
            unsafe { $body($($arg),*) }
        }
        const fn levels<$($parameters)*>() -> [$Kernel; 4] {
            #[allow(unused_mut)]
            let mut levels: [$Kernel; 4] = [portable::<$($names)*>; 4];
            #[cfg(target_arch = "x86_64")]
            {
                levels[$crate::Level::Avx2 as usize] = avx2::<$($names)*>;
                levels[$crate::Level::Avx512 as usize] = avx512::<$($names)*>;
            }
            #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
            {
                levels[$crate::Level::Neon as usize] = neon::<$($names)*>;
            }
            levels
        }
    };
}
pub(crate) use level_functions;

/// Compiles a kernel, `$body(ARGUMENTS)`, for each level; returns the functions. They are a constant, so that the crate that
/// names it compiles them.
macro_rules! levels {
    ($Kernel:ty, $arguments:tt, $body:expr) => {{
        $crate::ops::integers::level_functions!([#[cfg_attr(not(precompiled), inline)]] [] [] $Kernel, $arguments, $body);
        const LEVELS: &[$Kernel; 4] = &levels();
        LEVELS
    }};
}
pub(crate) use levels;

/// Returns `value` such that the compiler does not know what it is. A loop whose step it does not know it leaves as it is,
/// and vectorises the block within; else it would vectorise the loop over blocks, with gathers.
#[inline(always)]
pub fn opaque<T: Copy>(value: &T) -> T {
    // SAFETY: the reference is valid.
    unsafe { ptr::read_volatile(value) }
}

/// Prefetches what will be read some distance behind `bytes` bytes from `p` on, where the level does.
#[cfg_attr(not(precompiled), inline)]
pub fn prefetch_pages(level: Level, p: *const u8, bytes: usize) {
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => {
            // SAFETY: prefetches are the only instructions that this uses, and all machines have them.
            let token = unsafe { <f32 as Storage>::Avx512::token() };
            super::prefetch_pages(token, p, bytes);
        }
        #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
        Level::Neon => {
            // SAFETY: every machine that this is compiled for has the level.
            let token = unsafe { <f32 as Storage>::Neon::token() };
            super::prefetch_pages(token, p, bytes);
        }
        _ => {}
    }
}
