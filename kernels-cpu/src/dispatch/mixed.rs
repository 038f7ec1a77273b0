//! The functions of products of integers that every level has.

use crate::element::Storage;
use crate::half::{bf16, f16};
use crate::level::Level;
use crate::ops::mixed::product::Finish;
use crate::ops::mixed::write::{Write, WriteTile, scale, write_floats, write_integers};
use crate::simd::Token;

/// Defines a [`Write`] for each level: `NAME = BODY`, a body that takes the token of a level for `f32`, and the level.
macro_rules! write {
    ($($name:ident = $body:expr;)*) => {$(
        pub mod $name {
            use super::*;

            #[cfg_attr(not(precompiled), inline)]
            unsafe fn portable(finish: &Finish, tile: &WriteTile) {
                // SAFETY: every machine has this level; the rest is the caller's to vouch for.
                unsafe { $body(<f32 as Storage>::Portable::token(), Level::Portable, finish, tile) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,f16c")]
            #[cfg_attr(not(precompiled), inline)]
            unsafe fn avx2(finish: &Finish, tile: &WriteTile) {
                // SAFETY: as the caller's.
                unsafe { $body(<f32 as Storage>::Avx2::token(), Level::Avx2, finish, tile) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2")]
            #[cfg_attr(not(precompiled), inline)]
            unsafe fn avx512(finish: &Finish, tile: &WriteTile) {
                // SAFETY: as the caller's.
                unsafe { $body(<f32 as Storage>::Avx512::token(), Level::Avx512, finish, tile) }
            }
            #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
            #[target_feature(enable = "neon")]
            #[cfg_attr(not(precompiled), inline)]
            unsafe fn neon(finish: &Finish, tile: &WriteTile) {
                // SAFETY: as the caller's.
                unsafe { $body(<f32 as Storage>::Neon::token(), Level::Neon, finish, tile) }
            }

            /// Returns the function of a level.
            #[cfg_attr(not(precompiled), inline)]
            pub fn of(level: Level) -> Write {
                match level {
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx2 => avx2,
                    #[cfg(target_arch = "x86_64")]
                    Level::Avx512 => avx512,
                    #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
                    Level::Neon => neon,
                    _ => portable,
                }
            }
        }
    )*};
}

write! {
    write_i32 = |_, _, finish, tile| write_integers::<i32>(finish, tile);
    write_i64 = |_, _, finish, tile| write_integers::<i64>(finish, tile);
    write_scaled = |_, level, finish, tile| {
        scale(finish, tile);
        write_f32::of(level)(finish, tile);
    };
    write_f32 = |s, _, finish, tile| write_floats::<_, f32>(s, finish, tile);
    write_f16 = |s, _, finish, tile| write_floats::<_, f16>(s, finish, tile);
    write_bf16 = |s, _, finish, tile| write_floats::<_, bf16>(s, finish, tile);
}
