//! The routines of integers: for each pair of types, what each level and each extension has.

#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
use super::pack::Single;
use super::pack::{Bytes, Whole, Wide, column_sums, pack};
use super::product::MixedGemm;
use super::routines::{Panels, Routines, nothing};
use super::write::Integer;
use crate::api::mixed::Integers;
use crate::detect::Extensions;
use crate::isa::dots;
use crate::level::Level;
use crate::matrix::Matrix;

/// Elements that are widened to the type of the sums.
pub trait Widen<T> {
    /// Returns the element at `p`.
    ///
    /// # Safety
    /// `p` must be valid for reading it.
    unsafe fn widen(p: *const u8) -> T;
}

macro_rules! widen {
    ($($E:ty as $T:ty),*) => {$(
        impl Widen<$T> for $E {
            #[inline(always)]
            unsafe fn widen(p: *const u8) -> $T {
                <$T>::from(*p.cast::<$E>())
            }
        }
    )*};
}
widen!(i8 as i32, u8 as i32, i32 as i32, i64 as i64);

/// See [`Direct`](super::routines::Direct).
pub unsafe fn direct<A: Widen<T>, B: Widen<T>, T: Integer>(
    p: &MixedGemm,
    (i, j): (usize, usize),
    columns: usize,
    sums: *mut u8,
) {
    for c in 0..columns {
        let mut sum = T::ZERO;
        for l in 0..p.k {
            sum = sum.plus(A::widen(p.a.at(i, l)).times(B::widen(p.b.at(l, j + c))));
        }
        *sums.cast::<T>().add(c) = sum;
    }
}

/// The most steps that a microkernel takes.
pub const SEGMENT: usize = 2048;

/// Defines the routines of an instruction, `$name::ROUTINES`. Words of `$A` and `$B` are multiplied; sums start from
/// `$factor` times the sums of the columns, if that is not 0.
macro_rules! routines {
    ($name:ident: $Dot:ty, $A:ty, $B:ty, $sums:ty, $direct:expr, factor $factor:literal start $start:literal, steps $steps:literal,
     $features:meta, rows $rows:tt of $mr:literal, registers $registers:tt of $nv:literal) => {
        pub mod $name {
            use super::*;
            use crate::ops::mixed::pack::Words;

            crate::ops::mixed::words::microkernels!($Dot, steps $steps, start $start, $features, rows $rows, registers $registers);

            const LANES: usize = <$Dot as Dot>::LANES;

            // With the features of the level, which its callers do not have: it is compiled once.
            #[$features]
            unsafe fn pack_words<W: Words>(from: Matrix<*const u8>, count: usize, kc: usize, width: usize, out: *mut u8) {
                // SAFETY: as the caller's.
                unsafe { pack::<W>(from, count, kc, width, out.cast()) }
            }

            #[cfg_attr(not(precompiled), inline)]
            unsafe fn pack_a(from: Matrix<*const u8>, count: usize, first: usize, kc: usize, out: *mut u8) {
                let to = out.wrapping_add(ROUTINES.a.offset(count, first, $steps));
                // SAFETY: as the caller's.
                unsafe { pack_words::<$A>(from, count, kc, count, to) }
            }

            #[$features]
            #[allow(dead_code)]
            unsafe fn start(panel: (*const i8, usize), width: usize, is_first: bool, sums: *mut i32) {
                // SAFETY: as the caller's.
                unsafe { column_sums(panel, width, $factor, is_first, sums) }
            }

            #[cfg_attr(not(precompiled), inline)]
            unsafe fn pack_b(from: Matrix<*const u8>, count: usize, first: usize, kc: usize, out: *mut u8) {
                let width = count.next_multiple_of(LANES);
                let to = out.wrapping_add(ROUTINES.b.offset(count, first, $steps));
                // SAFETY: as the caller's.
                unsafe {
                    pack_words::<$B>(from, count, kc, width, to);
                    if $start {
                        let panel = (to.cast_const().cast(), kc.div_ceil($steps));
                        start(panel, width, first == 0, out.cast());
                    }
                }
            }

            const WORD: usize = size_of::<<$A as Words>::Word>();

            pub const ROUTINES: &Routines = &Routines {
                a: Panels { most: $mr, grain: 1, bytes: WORD, header: 0, pack: pack_a },
                b: Panels {
                    most: $nv * LANES,
                    grain: LANES,
                    bytes: WORD,
                    header: if $start { 4 } else { 0 },
                    pack: pack_b,
                },
                steps: $steps,
                segment: SEGMENT,
                sum_bytes: size_of::<$sums>(),
                microkernel: run,
                enter: nothing,
                leave: nothing,
                direct: $direct,
                direct_rows: 0,
            };
        }
    };
}

/// The routines of signed and of unsigned bytes.
macro_rules! bytes {
    ($signed:ident $unsigned:ident: $Dot:ty, $A:ident, $B:ty, factors $f:literal $s:literal, $g:literal $t:literal, flips $flips:literal $not:literal,
     steps $steps:literal, $features:meta, rows $rows:tt of $mr:literal, registers $registers:tt of $nv:literal) => {
        routines!($signed: $Dot, $A<$flips>, $B, i32, direct::<i8, i8, i32>, factor $f start $s, steps $steps, $features,
            rows $rows of $mr, registers $registers of $nv);
        routines!($unsigned: $Dot, $A<$not>, $B, i32, direct::<u8, i8, i32>, factor $g start $t, steps $steps, $features,
            rows $rows of $mr, registers $registers of $nv);
    };
}

bytes!(portable_i8 portable_u8: dots::Pairs, Wide, Wide<true>, factors 0 false, 0 false, flips true false, steps 2, cfg(all()),
    rows [1 2 3 4] of 4, registers [1] of 1);
routines!(portable_i32: dots::I32, Whole<i32>, Whole<i32>, i32, direct::<i32, i32, i32>, factor 0 start false, steps 1,
    cfg(all()), rows [1 2 3 4] of 4, registers [1] of 1);
routines!(portable_i64: dots::I64, Whole<i64>, Whole<i64>, i64, direct::<i64, i64, i64>, factor 0 start false, steps 1,
    cfg(all()), rows [1 2 3 4] of 4, registers [1] of 1);

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::*;

    bytes!(avx2_i8 avx2_u8: dots::Madd256, Wide, Wide<true>, factors 0 false, 0 false, flips true false, steps 2,
        target_feature(enable = "avx2,fma,f16c"), rows [1 2 3 4 5 6] of 6, registers [1 2] of 2);
    bytes!(vnni256_i8 vnni256_u8: dots::Vnni256, Bytes, Bytes<false>, factors -128 true, 0 true, flips true false, steps 4,
        target_feature(enable = "avxvnni,avx2,fma,f16c"), rows [1 2 3 4 5 6] of 6, registers [1 2] of 2);
    bytes!(avx512_i8 avx512_u8: dots::Madd512, Wide, Wide<true>, factors 0 false, 0 false, flips true false, steps 2,
        target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2"),
        rows [1 2 3 4 5 6 7 8] of 8, registers [1 2 3] of 3);
    bytes!(vnni512_i8 vnni512_u8: dots::Vnni512, Bytes, Bytes<false>, factors -128 true, 0 true, flips true false, steps 4,
        target_feature(enable = "avx512vnni,avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2"),
        rows [1 2 3 4 5 6 7 8] of 8, registers [1 2 3] of 3);

    routines!(avx2_i32: dots::I32x8, Whole<i32>, Whole<i32>, i32, direct::<i32, i32, i32>, factor 0 start false, steps 1,
        target_feature(enable = "avx2,fma,f16c"), rows [1 2 3 4 5 6] of 6, registers [1 2] of 2);
    routines!(avx512_i32: dots::I32x16, Whole<i32>, Whole<i32>, i32, direct::<i32, i32, i32>, factor 0 start false, steps 1,
        target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2"),
        rows [1 2 3 4] of 4, registers [1 2] of 2);
    routines!(avx2_i64: dots::I64x4, Whole<i64>, Whole<i64>, i64, direct::<i64, i64, i64>, factor 0 start false, steps 1,
        target_feature(enable = "avx2,fma,f16c"), rows [1 2 3 4] of 4, registers [1 2] of 2);
    routines!(avx512_i64: dots::I64x8, Whole<i64>, Whole<i64>, i64, direct::<i64, i64, i64>, factor 0 start false, steps 1,
        target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2"),
        rows [1 2 3 4] of 4, registers [1 2] of 2);
}

#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
mod arm {
    use super::*;

    bytes!(neon_i8 neon_u8: dots::Smlal, Single, Single<true>, factors 0 false, 0 false, flips true false, steps 1,
        target_feature(enable = "neon"), rows [1 2 3 4 5 6] of 6, registers [1 2 3] of 3);
    // SDOT has signed bytes only: unsigned ones are 128 smaller, and the sums start from 128 times those of the columns.
    bytes!(sdot_i8 sdot_u8: dots::Sdot, Bytes, Bytes<false>, factors 0 false, 128 true, flips false true, steps 4,
        target_feature(enable = "neon"), rows [1 2 3 4 5 6] of 6, registers [1 2 3] of 3);
    routines!(neon_i32: dots::I32x4, Whole<i32>, Whole<i32>, i32, direct::<i32, i32, i32>, factor 0 start false, steps 1,
        target_feature(enable = "neon"), rows [1 2 3 4 5 6] of 6, registers [1 2 3] of 3);
}

/// Returns the routines of integers that are fastest with these instructions, which the machine must have.
#[cfg_attr(not(precompiled), inline)]
pub fn routines(operands: Integers, level: Level, extensions: Extensions) -> &'static Routines {
    let _ = extensions;
    #[cfg(all(target_arch = "x86_64", target_os = "linux", feature = "std"))]
    if level == Level::Avx512
        && extensions.has(Extensions::AMX_INT8)
        && let Some(routines) = super::amx::routines(operands)
    {
        return routines;
    }
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if extensions.has(Extensions::AVX512_VNNI) && operands == Integers::I8I8 => {
            x86::vnni512_i8::ROUTINES
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 if extensions.has(Extensions::AVX512_VNNI) && operands == Integers::U8I8 => {
            x86::vnni512_u8::ROUTINES
        }
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => match operands {
            Integers::I8I8 => x86::avx512_i8::ROUTINES,
            Integers::U8I8 => x86::avx512_u8::ROUTINES,
            Integers::I32 => x86::avx512_i32::ROUTINES,
            Integers::I64 => x86::avx512_i64::ROUTINES,
        },
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => match operands {
            Integers::I8I8 if extensions.has(Extensions::AVX_VNNI) => x86::vnni256_i8::ROUTINES,
            Integers::U8I8 if extensions.has(Extensions::AVX_VNNI) => x86::vnni256_u8::ROUTINES,
            Integers::I8I8 => x86::avx2_i8::ROUTINES,
            Integers::U8I8 => x86::avx2_u8::ROUTINES,
            Integers::I32 => x86::avx2_i32::ROUTINES,
            Integers::I64 => x86::avx2_i64::ROUTINES,
        },
        #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
        Level::Neon => match operands {
            Integers::I8I8 if extensions.has(Extensions::NEON_DOT) => arm::sdot_i8::ROUTINES,
            Integers::U8I8 if extensions.has(Extensions::NEON_DOT) => arm::sdot_u8::ROUTINES,
            Integers::I8I8 => arm::neon_i8::ROUTINES,
            Integers::U8I8 => arm::neon_u8::ROUTINES,
            Integers::I32 => arm::neon_i32::ROUTINES,
            Integers::I64 => portable_i64::ROUTINES,
        },
        _ => match operands {
            Integers::I8I8 => portable_i8::ROUTINES,
            Integers::U8I8 => portable_u8::ROUTINES,
            Integers::I32 => portable_i32::ROUTINES,
            Integers::I64 => portable_i64::ROUTINES,
        },
    }
}
