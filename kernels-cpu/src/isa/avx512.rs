//! AVX-512 (F, VL, DQ, BW, CD: the x86-64-v4 set): 512-bit registers, and 256-bit registers with masks.

use core::arch::asm;
use core::arch::x86_64::*;
use core::marker::PhantomData;

use super::lanes256::{
    load_halves_f32 as load_halves_ymm_f32, load_halves_f64 as load_halves_ymm_f64,
};
use super::lanes256::{permute_f32 as permute_ymm_f32, permute_f64 as permute_ymm_f64};
use super::lanes256::{unzip_f32 as unzip_ymm_f32, unzip_f64 as unzip_ymm_f64};
use super::lanes256::{upper_f32 as upper_ymm_f32, upper_f64 as upper_ymm_f64};
use super::lanes512::{
    load_halves_f32, load_halves_f64, permute_f32, permute_f64, unzip_f32, unzip_f64, upper_f32,
    upper_f64,
};
use crate::element::Element;
use crate::half::{bf16, f16};
use crate::simd::{Access, Register, Simd, Token};

/// Token of the AVX-512 level: proof that the CPU and the operating system have AVX-512 F, VL,
/// DQ, BW and CD, besides AVX2, FMA, F16C, BMI1 and BMI2.
#[derive(Clone, Copy)]
pub struct Avx512<T>(PhantomData<T>);

impl<T: Element> Token for Avx512<T>
where
    Self: Simd<T = T>,
{
    /// # Safety
    /// The CPU must have AVX-512 F, VL, DQ, BW and CD, BMI1 and BMI2, and the operating system must
    /// save zmm and mask registers.
    #[inline(always)]
    unsafe fn token() -> Self {
        Self(PhantomData)
    }
}

/// Token of the AVX-512 level for registers of 256 bits.
#[derive(Clone, Copy)]
pub struct Avx512Half<T>(PhantomData<T>);

/// Immediate of `range`: the minimum or maximum of the operands, with the sign of the comparison's result. It takes
/// -0 < +0.
const RANGE_MIN: i32 = 0b0100;
const RANGE_MAX: i32 = 0b0101;

macro_rules! avx512 {
    ($Token:ident, half $Half:ident, $T:ty, $V:ty, $M:ty, $N:literal x $R:literal, set1 $set1:ident, first $first:ident,
     load $load:ident, store $store:ident, maskload $maskload:ident, maskstore $maskstore:ident,
     stream $stream:ident, add $add:ident, sub $sub:ident, mul $mul:ident, div $div:ident,
     fma $fma:ident, abs $abs:ident, min $min:ident, max $max:ident, range $range:ident,
     cmp $cmp:ident, blend $blend:ident, scalef $scalef:ident, upper $upper:ident,
     unzip $unzip:ident, permute $permute:ident, load_halves $load_halves:ident,
     slots $slots:expr, rows $rows:expr) => {
        impl Register for $Token<$T> {
            type V = $V;
            const N: usize = $N;
        }

        impl Access<$T> for $Token<$T> {
            #[inline(always)]
            unsafe fn load(self, p: *const $T) -> $V {
                // SAFETY: the caller vouches for N elements; the token for the instruction.
                unsafe { $load(p) }
            }
            #[inline(always)]
            unsafe fn load_partial(self, p: *const $T, n: usize) -> $V {
                // SAFETY: masked lanes are not accessed; the caller vouches for the others.
                unsafe { $maskload(self.first_lanes(n), p) }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $T, v: $V) {
                // SAFETY: the caller vouches for N elements; the token for the instruction.
                unsafe { $store(p, v) }
            }
            #[inline(always)]
            unsafe fn store_partial(self, p: *mut $T, n: usize, v: $V) {
                // SAFETY: masked lanes are not accessed; the caller vouches for the others.
                unsafe { $maskstore(p, self.first_lanes(n), v) }
            }
            #[inline(always)]
            unsafe fn stream(self, p: *mut $T, v: $V) {
                // SAFETY: the caller vouches for N elements and their alignment.
                unsafe { $stream(p, v) }
            }
        }

        impl Simd for $Token<$T> {
            const HAS_NON_TEMPORAL_STORES: bool = true;
            const HAS_PREFETCHES: bool = true;
            type T = $T;
            type M = $M;
            type Lanes = [$V; $R];
            type Half = $Half<$T>;

            methods! {
                fn splat(x: $T) -> $V { $set1(x) }
                fn first(v: $V) -> $T { $first(v) }
                fn add(a: $V, b: $V) -> $V { $add(a, b) }
                fn sub(a: $V, b: $V) -> $V { $sub(a, b) }
                fn mul(a: $V, b: $V) -> $V { $mul(a, b) }
                fn div(a: $V, b: $V) -> $V { $div(a, b) }
                fn fma(a: $V, b: $V, c: $V) -> $V { $fma(a, b, c) }
                fn accumulate_nan(sum: $V, x: $V) -> $V { $fma(x, $set1(0.5), sum) }
                fn abs(a: $V) -> $V { $abs(a) }
                fn min_or_second(a: $V, b: $V) -> $V { $min(a, b) }
                fn max_or_second(a: $V, b: $V) -> $V { $max(a, b) }
                fn min_ordered(a: $V, b: $V) -> $V { $range::<RANGE_MIN>(a, b) }
                fn max_ordered(a: $V, b: $V) -> $V { $range::<RANGE_MAX>(a, b) }
                fn pow2(n: $V) -> $V { $scalef($set1(<$T>::ONE), n) }
                fn le(a: $V, b: $V) -> $M { $cmp::<_CMP_LE_OQ>(a, b) }
                fn eq(a: $V, b: $V) -> $M { $cmp::<_CMP_EQ_OQ>(a, b) }
                fn unordered(a: $V, b: $V) -> $M { $cmp::<_CMP_UNORD_Q>(a, b) }
                fn select(m: $M, a: $V, b: $V) -> $V { $blend(m, b, a) }
                fn upper(v: $V, w: usize) -> $V { $upper(v, w) }
                fn unzip(a: $V, b: $V, w: usize) -> ($V, $V) { $unzip(a, b, w) }
                fn permute(a: $V, b: $V, start: usize, step: usize) -> $V { $permute(a, b, start, step) }
                fn fence() -> () { _mm_sfence() }
            }

            outlined!(
                $Token<$T>,
                target_feature(
                    enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2"
                )
            );

            #[inline(always)]
            unsafe fn load_halves(self, low: *const $T, high: *const $T) -> $V {
                // SAFETY: the caller vouches for the elements; the token for the instructions.
                unsafe { $load_halves(low, high) }
            }
            #[inline(always)]
            fn prefetch<P>(self, p: *const P) {
                // SAFETY: a hint, which never faults.
                unsafe { _mm_prefetch::<_MM_HINT_T0>(p.cast()) }
            }
            #[inline(always)]
            fn prefetch_far<P>(self, p: *const P) {
                // SAFETY: a hint, which never faults.
                unsafe { _mm_prefetch::<_MM_HINT_T1>(p.cast()) }
            }
            #[inline(always)]
            fn half(self) -> Self::Half {
                $Half(PhantomData)
            }
            #[inline(always)]
            fn lanes(self, v: $V) -> Self::Lanes {
                [v; $R]
            }
            #[inline(always)]
            fn first_lanes(self, n: usize) -> $M {
                ((1u32 << n) - 1) as $M
            }
            #[inline(always)]
            fn first_lanes_hidden(self, n: usize) -> $M {
                let mut mask = u32::from(self.first_lanes(n));
                // SAFETY: an empty instruction sequence.
                unsafe { asm!("/* {0:e} */", inout(reg) mask, options(pure, nomem, nostack)) };
                mask as $M
            }
            #[inline(always)]
            fn canonical(self, v: $V) -> $V {
                // Hides the constant from the compiler, so that it comes from a general register. Otherwise the
                // compiler would make it a masked load: with an empty mask, and if nothing has touched the page yet,
                // such a load takes 150 ns every time.
                let mut bits = u64::from(<$T>::CANONICAL_NAN.to_bits());
                // SAFETY: an empty instruction sequence.
                unsafe { asm!("/* {0} */", inout(reg) bits, options(pure, nomem, nostack)) };
                self.select(self.unordered(v, v), self.splat(<$T>::from_bits(bits as _)), v)
            }
            #[inline(always)]
            fn lanes_of(self, bits: u32) -> $M {
                bits as $M
            }
            #[inline(always)]
            fn bits(self, m: $M) -> u32 {
                m as u32
            }
            #[inline(always)]
            fn unzip_slot(self, i: usize) -> usize {
                const SLOTS: [usize; $N] = $slots;
                SLOTS[i % $N]
            }
            #[inline(always)]
            fn unzip_row(self, i: usize) -> usize {
                const ROWS: [usize; $N] = $rows;
                ROWS[i % $N]
            }
        }
    };
}

avx512!(Avx512, half Avx512Half, f32, __m512, __mmask16, 16 x 4, set1 _mm512_set1_ps, first _mm512_cvtss_f32,
    load _mm512_loadu_ps, store _mm512_storeu_ps, maskload _mm512_maskz_loadu_ps,
    maskstore _mm512_mask_storeu_ps, stream _mm512_stream_ps, add _mm512_add_ps,
    sub _mm512_sub_ps, mul _mm512_mul_ps, div _mm512_div_ps, fma _mm512_fmadd_ps,
    abs _mm512_abs_ps, min _mm512_min_ps, max _mm512_max_ps, range _mm512_range_ps,
    cmp _mm512_cmp_ps_mask, blend _mm512_mask_blend_ps, scalef _mm512_scalef_ps, upper upper_f32,
    unzip unzip_f32, permute permute_f32, load_halves load_halves_f32, slots [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15],
    rows [0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15]);

avx512!(Avx512, half Avx512Half, f64, __m512d, __mmask8, 8 x 4, set1 _mm512_set1_pd, first _mm512_cvtsd_f64,
    load _mm512_loadu_pd, store _mm512_storeu_pd, maskload _mm512_maskz_loadu_pd,
    maskstore _mm512_mask_storeu_pd, stream _mm512_stream_pd, add _mm512_add_pd,
    sub _mm512_sub_pd, mul _mm512_mul_pd, div _mm512_div_pd, fma _mm512_fmadd_pd,
    abs _mm512_abs_pd, min _mm512_min_pd, max _mm512_max_pd, range _mm512_range_pd,
    cmp _mm512_cmp_pd_mask, blend _mm512_mask_blend_pd, scalef _mm512_scalef_pd, upper upper_f64,
    unzip unzip_f64, permute permute_f64, load_halves load_halves_f64, slots [0, 4, 1, 5, 2, 6, 3, 7],
    rows [0, 2, 4, 6, 1, 3, 5, 7]);

/// The magnitude of each lane.
#[inline(always)]
unsafe fn abs_ymm_f32(v: __m256) -> __m256 {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe { _mm256_andnot_ps(_mm256_set1_ps(-0.0), v) }
}

/// The magnitude of each lane.
#[inline(always)]
unsafe fn abs_ymm_f64(v: __m256d) -> __m256d {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe { _mm256_andnot_pd(_mm256_set1_pd(-0.0), v) }
}

avx512!(Avx512Half, half Avx512Half, f32, __m256, __mmask8, 8 x 8, set1 _mm256_set1_ps,
    first _mm256_cvtss_f32, load _mm256_loadu_ps, store _mm256_storeu_ps,
    maskload _mm256_maskz_loadu_ps, maskstore _mm256_mask_storeu_ps, stream _mm256_stream_ps,
    add _mm256_add_ps, sub _mm256_sub_ps, mul _mm256_mul_ps, div _mm256_div_ps,
    fma _mm256_fmadd_ps, abs abs_ymm_f32, min _mm256_min_ps, max _mm256_max_ps,
    range _mm256_range_ps, cmp _mm256_cmp_ps_mask, blend _mm256_mask_blend_ps,
    scalef _mm256_scalef_ps, upper upper_ymm_f32, unzip unzip_ymm_f32, permute permute_ymm_f32,
    load_halves load_halves_ymm_f32, slots [0, 2, 4, 6, 1, 3, 5, 7], rows [0, 4, 1, 5, 2, 6, 3, 7]);

avx512!(Avx512Half, half Avx512Half, f64, __m256d, __mmask8, 4 x 8, set1 _mm256_set1_pd,
    first _mm256_cvtsd_f64, load _mm256_loadu_pd, store _mm256_storeu_pd,
    maskload _mm256_maskz_loadu_pd, maskstore _mm256_mask_storeu_pd, stream _mm256_stream_pd,
    add _mm256_add_pd, sub _mm256_sub_pd, mul _mm256_mul_pd, div _mm256_div_pd,
    fma _mm256_fmadd_pd, abs abs_ymm_f64, min _mm256_min_pd, max _mm256_max_pd,
    range _mm256_range_pd, cmp _mm256_cmp_pd_mask, blend _mm256_mask_blend_pd,
    scalef _mm256_scalef_pd, upper upper_ymm_f64, unzip unzip_ymm_f64, permute permute_ymm_f64,
    load_halves load_halves_ymm_f64, slots [0, 2, 1, 3], rows [0, 2, 1, 3]);

/// Loads and stores of sixteen 16-bit elements.
macro_rules! half {
    ($M:ty, widen $widen:ident, split $split:ident, round $round:ident) => {
        impl Access<$M> for Avx512<f32> {
            #[inline(always)]
            unsafe fn load(self, p: *const $M) -> __m512 {
                // SAFETY: the caller vouches for N elements; the token for the instructions.
                unsafe { $widen(_mm256_loadu_si256(p.cast())) }
            }
            #[inline(always)]
            unsafe fn load_partial(self, p: *const $M, n: usize) -> __m512 {
                // SAFETY: masked lanes are not accessed; the caller vouches for the others.
                unsafe { $widen(_mm256_maskz_loadu_epi16(self.first_lanes(n), p.cast())) }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $M, v: __m512) {
                // SAFETY: the caller vouches for N elements; the token for the instructions.
                unsafe { _mm256_storeu_si256(p.cast(), $round(v)) }
            }
            #[inline(always)]
            unsafe fn store_partial(self, p: *mut $M, n: usize, v: __m512) {
                // SAFETY: masked lanes are not accessed; the caller vouches for the others.
                unsafe { _mm256_mask_storeu_epi16(p.cast(), self.first_lanes(n), $round(v)) }
            }
            #[inline(always)]
            fn split(self, pairs: __m512) -> (__m512, __m512) {
                // SAFETY: the token vouches for the instructions.
                unsafe { $split(_mm512_castps_si512(pairs)) }
            }
            #[inline(always)]
            unsafe fn stream(self, p: *mut $M, v: __m512) {
                // SAFETY: the caller vouches for N elements and their alignment.
                unsafe { _mm256_stream_si256(p.cast(), $round(v)) }
            }
        }
    };
}

#[inline(always)]
unsafe fn widen_f16(v: __m256i) -> __m512 {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe { _mm512_cvtph_ps(v) }
}

#[inline(always)]
unsafe fn round_f16(v: __m512) -> __m256i {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe { _mm512_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v) }
}

#[inline(always)]
unsafe fn widen_bf16(v: __m256i) -> __m512 {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe { _mm512_castsi512_ps(_mm512_slli_epi32::<16>(_mm512_cvtepu16_epi32(v))) }
}

/// As [`bf16::from_f32`]. Not by `vcvtneps2bf16`, which takes subnormal numbers as zero.
#[inline(always)]
unsafe fn round_bf16(v: __m512) -> __m256i {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        let bits = _mm512_castps_si512(v);
        let high = _mm512_srli_epi32::<16>(bits);
        let odd = _mm512_and_si512(high, _mm512_set1_epi32(1));
        let half = _mm512_add_epi32(_mm512_set1_epi32(0x7FFF), odd);
        let rounded = _mm512_srli_epi32::<16>(_mm512_add_epi32(bits, half));
        let is_nan = _mm512_cmp_ps_mask::<_CMP_UNORD_Q>(v, v);
        let quiet = _mm512_mask_or_epi32(rounded, is_nan, high, _mm512_set1_epi32(0x40));
        _mm512_cvtepi32_epi16(quiet)
    }
}

#[inline(always)]
unsafe fn split_f16(pairs: __m512i) -> (__m512, __m512) {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        let second = _mm512_cvtepi32_epi16(_mm512_srli_epi32::<16>(pairs));
        (widen_f16(_mm512_cvtepi32_epi16(pairs)), widen_f16(second))
    }
}

#[inline(always)]
unsafe fn split_bf16(pairs: __m512i) -> (__m512, __m512) {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        let second = _mm512_and_si512(pairs, _mm512_set1_epi32(!0xFFFF));
        let first = _mm512_slli_epi32::<16>(pairs);
        (_mm512_castsi512_ps(first), _mm512_castsi512_ps(second))
    }
}

half!(f16, widen widen_f16, split split_f16, round round_f16);
half!(bf16, widen widen_bf16, split split_bf16, round round_bf16);
