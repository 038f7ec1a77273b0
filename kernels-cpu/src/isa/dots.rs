//! The instructions that multiply words: of integers, or of pairs of bf16.

use crate::ops::mixed::words::Dot;

/// Defines an instruction whose registers the compiler knows as vectors.
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_feature = "neon")
))]
macro_rules! dot {
    ($(#[$doc:meta])* $Dot:ident: $Word:ty [$Words:ty], $Sum:ty [$Sums:ty; $lanes:literal],
     zero $zero:expr, load_sums $load_sums:expr, store_sums $store_sums:expr, add $add:path,
     load $load:expr, splat $splat:expr, dot $dot:expr) => {
        $(#[$doc])*
        pub struct $Dot;

        impl Dot for $Dot {
            type Word = $Word;
            type Sum = $Sum;
            type Sums = $Sums;
            type Words = $Words;
            const LANES: usize = $lanes;

            #[inline(always)]
            unsafe fn zero() -> $Sums {
                $zero
            }
            #[inline(always)]
            unsafe fn load_sums(p: *const $Sum) -> $Sums {
                $load_sums(p.cast())
            }
            #[inline(always)]
            unsafe fn store_sums(p: *mut $Sum, v: $Sums) {
                $store_sums(p.cast(), v)
            }
            #[inline(always)]
            unsafe fn add(a: $Sums, b: $Sums) -> $Sums {
                $add(a, b)
            }
            #[inline(always)]
            unsafe fn load(p: *const $Word) -> $Words {
                $load(p.cast())
            }
            #[inline(always)]
            unsafe fn splat(word: $Word) -> $Words {
                $splat(word)
            }
            #[inline(always)]
            unsafe fn dot(sums: $Sums, a: $Words, b: $Words) -> $Sums {
                $dot(sums, a, b)
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
mod x86 {
    use core::arch::x86_64::*;

    use crate::ops::mixed::words::Dot;

    #[inline(always)]
    fn set_u32_512(word: u32) -> __m512i {
        // SAFETY: called by kernels with AVX-512.
        unsafe { _mm512_set1_epi32(word as i32) }
    }

    #[inline(always)]
    fn set_u32_256(word: u32) -> __m256i {
        // SAFETY: called by kernels with AVX2.
        unsafe { _mm256_set1_epi32(word as i32) }
    }

    #[inline(always)]
    fn pairs(words: __m512i) -> __m512bh {
        // SAFETY: both are 64 bytes of any bits.
        unsafe { core::mem::transmute(words) }
    }

    #[inline(always)]
    fn high(words: __m512i) -> __m512 {
        // SAFETY: called by kernels with AVX-512.
        unsafe { _mm512_castsi512_ps(_mm512_and_si512(words, _mm512_set1_epi32(!0xFFFF))) }
    }

    #[inline(always)]
    fn low(words: __m512i) -> __m512 {
        // SAFETY: as above.
        unsafe { _mm512_castsi512_ps(_mm512_slli_epi32::<16>(words)) }
    }

    /// # Safety
    /// `p` must be valid for reading a register.
    #[inline(always)]
    unsafe fn load_floats(p: *const __m512) -> __m512 {
        // SAFETY: as the caller's.
        unsafe { _mm512_loadu_ps(p.cast()) }
    }

    /// # Safety
    /// `p` must be valid for writing a register.
    #[inline(always)]
    unsafe fn store_floats(p: *mut __m512, v: __m512) {
        // SAFETY: as the caller's.
        unsafe { _mm512_storeu_ps(p.cast(), v) }
    }

    dot! {
        /// VPDPBUSD of AVX512-VNNI: four unsigned bytes of A times four signed bytes of B. Not VPDPBUSDS, which saturates.
        Vnni512: u32 [__m512i], i32 [__m512i; 16],
        zero _mm512_setzero_si512(), load_sums _mm512_loadu_si512, store_sums _mm512_storeu_si512, add _mm512_add_epi32,
        load _mm512_loadu_si512, splat set_u32_512, dot _mm512_dpbusd_epi32
    }
    dot! {
        /// VDPBF16PS: two steps of a chain, of which the upper half of a word is the first.
        Vdpbf16ps: u32 [__m512i], f32 [__m512; 16],
        zero _mm512_setzero_ps(), load_sums load_floats, store_sums store_floats, add _mm512_add_ps,
        load _mm512_loadu_si512, splat set_u32_512, dot |sums, a, b| _mm512_dpbf16_ps(sums, pairs(a), pairs(b))
    }
    dot! {
        /// The same by two FMA, without flushing.
        FmaPairs512: u32 [__m512i], f32 [__m512; 16],
        zero _mm512_setzero_ps(), load_sums load_floats, store_sums store_floats, add _mm512_add_ps,
        load _mm512_loadu_si512, splat set_u32_512,
        dot |sums, a, b| _mm512_fmadd_ps(low(a), low(b), _mm512_fmadd_ps(high(a), high(b), sums))
    }
    dot! {
        /// VPDPBUSD of AVX-VNNI.
        Vnni256: u32 [__m256i], i32 [__m256i; 8],
        zero _mm256_setzero_si256(), load_sums _mm256_loadu_si256, store_sums _mm256_storeu_si256, add _mm256_add_epi32,
        load _mm256_loadu_si256, splat set_u32_256, dot _mm256_dpbusd_avx_epi32
    }
    dot! {
        /// VPMADDWD of AVX-512 BW on bytes widened to 16 bits.
        Madd512: u32 [__m512i], i32 [__m512i; 16],
        zero _mm512_setzero_si512(), load_sums _mm512_loadu_si512, store_sums _mm512_storeu_si512, add _mm512_add_epi32,
        load _mm512_loadu_si512, splat set_u32_512, dot |sums, a, b| _mm512_add_epi32(sums, _mm512_madd_epi16(a, b))
    }
    dot! {
        /// VPMADDWD of AVX2 on bytes widened to 16 bits.
        Madd256: u32 [__m256i], i32 [__m256i; 8],
        zero _mm256_setzero_si256(), load_sums _mm256_loadu_si256, store_sums _mm256_storeu_si256, add _mm256_add_epi32,
        load _mm256_loadu_si256, splat set_u32_256, dot |sums, a, b| _mm256_add_epi32(sums, _mm256_madd_epi16(a, b))
    }
    dot! {
        /// VPMULLD of AVX-512.
        I32x16: i32 [__m512i], i32 [__m512i; 16],
        zero _mm512_setzero_si512(), load_sums _mm512_loadu_si512, store_sums _mm512_storeu_si512, add _mm512_add_epi32,
        load _mm512_loadu_si512, splat _mm512_set1_epi32, dot |sums, a, b| _mm512_add_epi32(sums, _mm512_mullo_epi32(a, b))
    }
    dot! {
        /// VPMULLD of AVX2.
        I32x8: i32 [__m256i], i32 [__m256i; 8],
        zero _mm256_setzero_si256(), load_sums _mm256_loadu_si256, store_sums _mm256_storeu_si256, add _mm256_add_epi32,
        load _mm256_loadu_si256, splat _mm256_set1_epi32, dot |sums, a, b| _mm256_add_epi32(sums, _mm256_mullo_epi32(a, b))
    }
    dot! {
        /// VPMULLQ of AVX-512 DQ.
        I64x8: i64 [__m512i], i64 [__m512i; 8],
        zero _mm512_setzero_si512(), load_sums _mm512_loadu_si512, store_sums _mm512_storeu_si512, add _mm512_add_epi64,
        load _mm512_loadu_si512, splat _mm512_set1_epi64, dot |sums, a, b| _mm512_add_epi64(sums, _mm512_mullo_epi64(a, b))
    }
    dot! {
        /// Products of 64 bits from those of 32.
        I64x4: i64 [__m256i], i64 [SplitSums; 4],
        zero SplitSums { low: _mm256_setzero_si256(), cross: _mm256_setzero_si256() },
        load_sums load_split, store_sums store_split, add add_split,
        load _mm256_loadu_si256, splat _mm256_set1_epi64x, dot mul_add_split
    }

    /// Sums modulo 2^64 that are not yet put together: low + 2^32 (the upper + the lower half of cross).
    #[derive(Clone, Copy)]
    pub struct SplitSums {
        /// Sums of the products of lower halves.
        low: __m256i,
        /// Sums of the products of a lower and an upper half, modulo 2^32.
        cross: __m256i,
    }

    /// # Safety
    /// `p` must be valid for reading a register.
    #[inline(always)]
    unsafe fn load_split(p: *const __m256i) -> SplitSums {
        SplitSums {
            low: _mm256_loadu_si256(p),
            cross: _mm256_setzero_si256(),
        }
    }

    /// # Safety
    /// `p` must be valid for writing a register.
    #[inline(always)]
    unsafe fn store_split(p: *mut __m256i, SplitSums { low, cross }: SplitSums) {
        let both = _mm256_add_epi32(cross, _mm256_srli_epi64::<32>(cross));
        _mm256_storeu_si256(p, _mm256_add_epi64(low, _mm256_slli_epi64::<32>(both)));
    }

    /// # Safety
    /// The machine must have AVX2.
    #[inline(always)]
    unsafe fn add_split(x: SplitSums, y: SplitSums) -> SplitSums {
        SplitSums {
            low: _mm256_add_epi64(x.low, y.low),
            cross: _mm256_add_epi32(x.cross, y.cross),
        }
    }

    /// sums + a b.
    ///
    /// # Safety
    /// The machine must have AVX2.
    #[inline(always)]
    unsafe fn mul_add_split(sums: SplitSums, a: __m256i, b: __m256i) -> SplitSums {
        let swapped = _mm256_shuffle_epi32::<0b10_11_00_01>(b);
        SplitSums {
            low: _mm256_add_epi64(sums.low, _mm256_mul_epu32(a, b)),
            cross: _mm256_add_epi32(sums.cross, _mm256_mullo_epi32(a, swapped)),
        }
    }
}
#[cfg(target_arch = "x86_64")]
pub use x86::*;

#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
mod neon {
    use core::arch::aarch64::*;
    use core::arch::asm;

    use crate::ops::mixed::words::Dot;

    #[inline(always)]
    fn set_i16(word: u16) -> int16x4_t {
        // SAFETY: NEON is part of the target.
        unsafe { vdup_n_s16(word as i16) }
    }

    #[inline(always)]
    fn set_bytes(word: u32) -> int8x16_t {
        // SAFETY: as above.
        unsafe { vreinterpretq_s8_u32(vdupq_n_u32(word)) }
    }

    dot! {
        /// SMLAL on bytes widened to 16 bits.
        Smlal: u16 [int16x4_t], i32 [int32x4_t; 4],
        zero vdupq_n_s32(0), load_sums vld1q_s32, store_sums vst1q_s32, add vaddq_s32,
        load vld1_s16, splat set_i16, dot vmlal_s16
    }
    dot! {
        /// SDOT: four signed bytes of A times four of B.
        Sdot: u32 [int8x16_t], i32 [int32x4_t; 4],
        zero vdupq_n_s32(0), load_sums vld1q_s32, store_sums vst1q_s32, add vaddq_s32,
        load vld1q_s8, splat set_bytes, dot sdot
    }
    dot! {
        /// MLA.
        I32x4: i32 [int32x4_t], i32 [int32x4_t; 4],
        zero vdupq_n_s32(0), load_sums vld1q_s32, store_sums vst1q_s32, add vaddq_s32,
        load vld1q_s32, splat vdupq_n_s32, dot vmlaq_s32
    }

    /// sums + the products of four bytes each.
    #[inline(always)]
    unsafe fn sdot(mut sums: int32x4_t, a: int8x16_t, b: int8x16_t) -> int32x4_t {
        // The intrinsic is not stable.
        asm!(".arch_extension dotprod", "sdot {0:v}.4s, {1:v}.16b, {2:v}.16b", inout(vreg) sums, in(vreg) a, in(vreg) b,
             options(pure, nomem, nostack, preserves_flags));
        sums
    }
}
#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
pub use neon::*;

/// Plain Rust: registers of eight sums, and words that are multiplied by a function.
macro_rules! portable {
    ($(#[$doc:meta])* $Dot:ident: $Word:ty, $Sum:ty, dot $dot:expr) => {
        $(#[$doc])*
        pub struct $Dot;

        impl Dot for $Dot {
            type Word = $Word;
            type Sum = $Sum;
            type Sums = [$Sum; 8];
            type Words = [$Word; 8];
            const LANES: usize = 8;

            #[inline(always)]
            unsafe fn zero() -> [$Sum; 8] {
                [0; 8]
            }
            #[inline(always)]
            unsafe fn load_sums(p: *const $Sum) -> [$Sum; 8] {
                p.cast::<[$Sum; 8]>().read_unaligned()
            }
            #[inline(always)]
            unsafe fn store_sums(p: *mut $Sum, v: [$Sum; 8]) {
                p.cast::<[$Sum; 8]>().write_unaligned(v);
            }
            #[inline(always)]
            unsafe fn add(a: [$Sum; 8], b: [$Sum; 8]) -> [$Sum; 8] {
                crate::array::from_fn(|i| a[i].wrapping_add(b[i]))
            }
            #[inline(always)]
            unsafe fn load(p: *const $Word) -> [$Word; 8] {
                p.cast::<[$Word; 8]>().read_unaligned()
            }
            #[inline(always)]
            unsafe fn splat(word: $Word) -> [$Word; 8] {
                [word; 8]
            }
            #[inline(always)]
            unsafe fn dot(sums: [$Sum; 8], a: [$Word; 8], b: [$Word; 8]) -> [$Sum; 8] {
                crate::array::from_fn(|i| sums[i].wrapping_add($dot(a[i], b[i])))
            }
        }
    };
}

portable! {
    /// Pairs of bytes widened to 16 bits.
    Pairs: u32, i32, dot |a: u32, b: u32| {
        let low = i32::from(a as i16) * i32::from(b as i16);
        low.wrapping_add(i32::from((a >> 16) as i16) * i32::from((b >> 16) as i16))
    }
}
portable! {
    /// Integers of 32 bits.
    I32: i32, i32, dot i32::wrapping_mul
}
portable! {
    /// Integers of 64 bits.
    I64: i64, i64, dot i64::wrapping_mul
}
