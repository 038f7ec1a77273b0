//! The routines of integers: for each pair of types, what each level and each extension has.

use super::in_place::{FAST, PORTABLE, in_place};
#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
use super::pack::Single;
use super::pack::{Bytes, Whole, Wide, column_sums, pack};
use super::product::MixedGemm;
use super::routines::{Panels, Routines, nothing};
use crate::api::mixed::Integers;
use crate::detect::Extensions;
use crate::isa::dots;
use crate::level::Level;
use crate::matrix::Matrix;

/// The most steps that a microkernel takes.
pub const SEGMENT: usize = 2048;

/// The bytes of the words that are packed together.
const VECTOR: usize = 32;

/// Defines the routines of instructions, each as `NAME::ROUTINES`:
///
/// * `a`, `b`: how elements become words;
/// * `start`: `[FACTOR]` if sums start from FACTOR times the sums of the columns of B, else `[]`;
/// * `in_place`: the types of A, B and the sums, and whether the code of products that are not packed should be small;
/// * `level`: the target features;
/// * `rows`, `registers`: the sizes of micro-tiles, from 1 to the largest.
macro_rules! routines {
    ($($name:ident: $Dot:ty {
        a: $A:ty, b: $B:ty, start: [$($factor:literal)?], in_place: [$X:ty, $Y:ty, $T:ty; $IS_SMALL:ident],
        level: $level:meta, rows: [$($rows:literal)*], registers: [$($registers:literal)*],
    })*) => {$(
        pub mod $name {
            use super::*;
            use crate::ops::mixed::pack::Words;

            const STEPS: usize = <$A as Words>::STEPS;
            const START: &[i32] = &[$($factor)?];

            crate::ops::mixed::words::microkernels!($Dot, steps STEPS, start !START.is_empty(), $level,
                rows [$($rows)*], registers [$($registers)*]);

            const LANES: usize = <$Dot as Dot>::LANES;
            const WORD: usize = size_of::<<$A as Words>::Word>();

            // With the features of the level, which its callers do not have: it is compiled once.
            #[$level]
            unsafe fn pack_words<W: Words>(from: Matrix<*const u8>, count: usize, kc: usize, width: usize, out: *mut u8) {
                // SAFETY: as the caller's.
                unsafe { pack::<W, { VECTOR / WORD }>(from, count, kc, width, out.cast()) }
            }

            #[cfg_attr(not(precompiled), inline)]
            unsafe fn pack_a(from: Matrix<*const u8>, count: usize, first: usize, kc: usize, out: *mut u8) {
                let to = out.wrapping_add(ROUTINES.a.offset(count, first, STEPS));
                // SAFETY: as the caller's.
                unsafe { pack_words::<$A>(from, count, kc, count, to) }
            }

            #[$level]
            #[cfg_attr(not(precompiled), inline)]
            unsafe fn add_columns(panel: *const u8, width: usize, kc: usize, is_first: bool, sums: *mut u8) {
                if let &[factor] = START {
                    let panel = (panel.cast(), kc.div_ceil(STEPS));
                    // SAFETY: as the caller's.
                    unsafe { column_sums(panel, width, factor, is_first, sums.cast()) }
                }
            }

            #[cfg_attr(not(precompiled), inline)]
            unsafe fn pack_b(from: Matrix<*const u8>, count: usize, first: usize, kc: usize, out: *mut u8) {
                let width = count.next_multiple_of(LANES);
                let to = out.wrapping_add(ROUTINES.b.offset(count, first, STEPS));
                // SAFETY: as the caller's.
                unsafe {
                    pack_words::<$B>(from, count, kc, width, to);
                    add_columns(to, width, kc, first == 0, out);
                }
            }

            #[$level]
            #[cfg_attr(not(precompiled), inline)]
            pub unsafe fn sums_in_place(
                p: &MixedGemm, at: (usize, usize), size: (usize, usize), sums: *mut u8, pitch: usize,
            ) {
                // SAFETY: as the caller's.
                unsafe { in_place::<$X, $Y, $T, { $IS_SMALL }>(p, at, size, sums, pitch) }
            }

            pub const ROUTINES: &Routines = &Routines {
                a: Panels {
                    most: [$($rows),*].len(),
                    grain: 1,
                    bytes: WORD,
                    header: 0,
                    pack: pack_a,
                },
                b: Panels {
                    most: [$($registers),*].len() * LANES,
                    grain: LANES,
                    bytes: WORD,
                    header: START.len() * size_of::<i32>(),
                    pack: pack_b,
                },
                steps: STEPS,
                segment: SEGMENT,
                sum_bytes: size_of::<<$Dot as Dot>::Sum>(),
                microkernel: run,
                enter: nothing,
                leave: nothing,
                in_place: sums_in_place,
                in_place_rows: if $IS_SMALL { 0 } else { 2 },
            };
        }
    )*};
}

routines! {
    portable_i8: dots::Pairs {
        a: Wide<true>, b: Wide<true>, start: [], in_place: [i8, i8, i32; PORTABLE],
        level: cfg(all()), rows: [1 2 3 4], registers: [1],
    }
    portable_u8: dots::Pairs {
        a: Wide<false>, b: Wide<true>, start: [], in_place: [u8, i8, i32; PORTABLE],
        level: cfg(all()), rows: [1 2 3 4], registers: [1],
    }
    portable_i32: dots::I32 {
        a: Whole<i32>, b: Whole<i32>, start: [], in_place: [i32, i32, i32; PORTABLE],
        level: cfg(all()), rows: [1 2 3 4], registers: [1],
    }
    portable_i64: dots::I64 {
        a: Whole<i64>, b: Whole<i64>, start: [], in_place: [i64, i64, i64; PORTABLE],
        level: cfg(all()), rows: [1 2 3 4], registers: [1],
    }
}

#[cfg(target_arch = "x86_64")]
pub mod x86 {
    use super::*;

    // VPDPBUSD takes unsigned bytes of A: signed ones are made 128 larger, and the sums start from -128 times those of the
    // columns. Unsigned ones start from zeros, so that both share a microkernel.
    routines! {
        avx2_i8: dots::Madd256 {
            a: Wide<true>, b: Wide<true>, start: [], in_place: [i8, i8, i32; FAST],
            level: target_feature(enable = "avx2,fma,f16c"), rows: [1 2 3 4 5 6], registers: [1 2],
        }
        avx2_u8: dots::Madd256 {
            a: Wide<false>, b: Wide<true>, start: [], in_place: [u8, i8, i32; FAST],
            level: target_feature(enable = "avx2,fma,f16c"), rows: [1 2 3 4 5 6], registers: [1 2],
        }
        vnni256_i8: dots::Vnni256 {
            a: Bytes<true>, b: Bytes<false>, start: [-128], in_place: [i8, i8, i32; FAST],
            level: target_feature(enable = "avxvnni,avx2,fma,f16c"), rows: [1 2 3 4 5 6], registers: [1 2],
        }
        vnni256_u8: dots::Vnni256 {
            a: Bytes<false>, b: Bytes<false>, start: [0], in_place: [u8, i8, i32; FAST],
            level: target_feature(enable = "avxvnni,avx2,fma,f16c"), rows: [1 2 3 4 5 6], registers: [1 2],
        }
        avx512_i8: dots::Madd512 {
            a: Wide<true>, b: Wide<true>, start: [], in_place: [i8, i8, i32; FAST],
            level: target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2"), rows: [1 2 3 4 5 6 7 8], registers: [1 2 3],
        }
        avx512_u8: dots::Madd512 {
            a: Wide<false>, b: Wide<true>, start: [], in_place: [u8, i8, i32; FAST],
            level: target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2"), rows: [1 2 3 4 5 6 7 8], registers: [1 2 3],
        }
        vnni512_i8: dots::Vnni512 {
            a: Bytes<true>, b: Bytes<false>, start: [-128], in_place: [i8, i8, i32; FAST],
            level: target_feature(enable = "avx512vnni,avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2"), rows: [1 2 3 4 5 6 7 8], registers: [1 2 3],
        }
        vnni512_u8: dots::Vnni512 {
            a: Bytes<false>, b: Bytes<false>, start: [0], in_place: [u8, i8, i32; FAST],
            level: target_feature(enable = "avx512vnni,avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2"), rows: [1 2 3 4 5 6 7 8], registers: [1 2 3],
        }
        avx2_i32: dots::I32x8 {
            a: Whole<i32>, b: Whole<i32>, start: [], in_place: [i32, i32, i32; FAST],
            level: target_feature(enable = "avx2,fma,f16c"), rows: [1 2 3 4 5 6], registers: [1 2],
        }
        avx512_i32: dots::I32x16 {
            a: Whole<i32>, b: Whole<i32>, start: [], in_place: [i32, i32, i32; FAST],
            level: target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2"), rows: [1 2 3 4], registers: [1 2],
        }
        avx2_i64: dots::I64x4 {
            a: Whole<i64>, b: Whole<i64>, start: [], in_place: [i64, i64, i64; FAST],
            level: target_feature(enable = "avx2,fma,f16c"), rows: [1 2 3 4 5], registers: [1],
        }
        avx512_i64: dots::I64x8 {
            a: Whole<i64>, b: Whole<i64>, start: [], in_place: [i64, i64, i64; FAST],
            level: target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2"), rows: [1 2 3 4], registers: [1 2],
        }
    }
}

#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
mod arm {
    use super::*;

    // SDOT takes signed bytes: unsigned ones are made 128 smaller, and the sums start from 128 times those of the columns.
    routines! {
        neon_i8: dots::Smlal {
            a: Single<true>, b: Single<true>, start: [], in_place: [i8, i8, i32; FAST],
            level: target_feature(enable = "neon"), rows: [1 2 3 4 5 6], registers: [1 2 3],
        }
        neon_u8: dots::Smlal {
            a: Single<false>, b: Single<true>, start: [], in_place: [u8, i8, i32; FAST],
            level: target_feature(enable = "neon"), rows: [1 2 3 4 5 6], registers: [1 2 3],
        }
        sdot_i8: dots::Sdot {
            a: Bytes<false>, b: Bytes<false>, start: [], in_place: [i8, i8, i32; FAST],
            level: target_feature(enable = "neon"), rows: [1 2 3 4 5 6], registers: [1 2 3],
        }
        sdot_u8: dots::Sdot {
            a: Bytes<true>, b: Bytes<false>, start: [128], in_place: [u8, i8, i32; FAST],
            level: target_feature(enable = "neon"), rows: [1 2 3 4 5 6], registers: [1 2 3],
        }
        neon_i32: dots::I32x4 {
            a: Whole<i32>, b: Whole<i32>, start: [], in_place: [i32, i32, i32; FAST],
            level: target_feature(enable = "neon"), rows: [1 2 3 4 5 6], registers: [1 2 3],
        }
    }
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
