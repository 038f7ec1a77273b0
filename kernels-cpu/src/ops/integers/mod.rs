//! The kernels of integers: loops over blocks of elements, each block an array that the compiler makes registers of.

pub mod elementwise;
pub mod reduce;

use core::ptr;

use crate::level::Level;
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
use crate::{element::Storage, simd::Token};

/// Compiles a kernel, `$body(ARGUMENTS)`, for each level. The value has the functions in the order of `Level`; levels of
/// other architectures have the portable one. It is a constant, so that the crate that names it compiles them.
macro_rules! levels {
    ($Kernel:ty, ($($arg:ident: $ty:ty),*), $body:expr) => {{
        #[cfg_attr(not(precompiled), inline)]
        unsafe fn portable($($arg: $ty),*) {
            // SAFETY: every machine has this level; the rest as the caller's.
            unsafe { $body($($arg),*) }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c")]
        #[cfg_attr(not(precompiled), inline)]
        unsafe fn avx2($($arg: $ty),*) {
            // SAFETY: called only on a machine that has the level; the rest as the caller's.
            unsafe { $body($($arg),*) }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2")]
        #[cfg_attr(not(precompiled), inline)]
        unsafe fn avx512($($arg: $ty),*) {
            // SAFETY: as above.
            unsafe { $body($($arg),*) }
        }
        #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
        #[target_feature(enable = "neon")]
        #[cfg_attr(not(precompiled), inline)]
        unsafe fn neon($($arg: $ty),*) {
            // SAFETY: as above.
            unsafe { $body($($arg),*) }
        }
        const LEVELS: &[$Kernel; 4] = &{
            #[allow(unused_mut)]
            let mut levels: [$Kernel; 4] = [portable; 4];
            #[cfg(target_arch = "x86_64")]
            {
                levels[$crate::Level::Avx2 as usize] = avx2;
                levels[$crate::Level::Avx512 as usize] = avx512;
            }
            #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
            {
                levels[$crate::Level::Neon as usize] = neon;
            }
            levels
        };
        LEVELS
    }};
}
pub(crate) use levels;

/// Defines the functions of a kernel, `$body(ARGUMENTS)`, one for each level, generic over a type `T` of integers and the
/// number `N` of elements in a block; `levels` returns them in the order of `Level`.
macro_rules! generic_levels {
    ($Kernel:ty, ($($arg:ident: $ty:ty),*), $body:expr) => {
        unsafe fn portable<T: Wrapping, const N: usize>($($arg: $ty),*) {
            // SAFETY: every machine has this level; the rest as the caller's.
            unsafe { $body($($arg),*) }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c")]
        unsafe fn avx2<T: Wrapping, const N: usize>($($arg: $ty),*) {
            // SAFETY: called only on a machine that has the level; the rest as the caller's.
            unsafe { $body($($arg),*) }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2")]
        unsafe fn avx512<T: Wrapping, const N: usize>($($arg: $ty),*) {
            // SAFETY: as above.
            unsafe { $body($($arg),*) }
        }
        #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
        #[target_feature(enable = "neon")]
        unsafe fn neon<T: Wrapping, const N: usize>($($arg: $ty),*) {
            // SAFETY: as above.
            unsafe { $body($($arg),*) }
        }
        const fn levels<T: Wrapping, const N: usize>() -> [$Kernel; 4] {
            #[allow(unused_mut)]
            let mut levels: [$Kernel; 4] = [portable::<T, N>; 4];
            #[cfg(target_arch = "x86_64")]
            {
                levels[Level::Avx2 as usize] = avx2::<T, N>;
                levels[Level::Avx512 as usize] = avx512::<T, N>;
            }
            #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
            {
                levels[Level::Neon as usize] = neon::<T, N>;
            }
            levels
        }
    };
}
pub(crate) use generic_levels;

/// Returns `value` such that the compiler does not know what it is. A loop whose step it does not know it leaves as it is,
/// and vectorises the block within; else it would vectorise the loop over blocks, with gathers.
#[inline(always)]
fn opaque<T: Copy>(value: &T) -> T {
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
