//! AVX2 with FMA and F16C: 256-bit registers.

use core::arch::x86_64::*;
use core::marker::PhantomData;

use super::lanes256::*;
use crate::element::Element;
use crate::half::{bf16, f16};
use crate::simd::{Access, Register, Simd, Token};

/// Token of the AVX2 level: proof that the CPU and the operating system have AVX2, FMA and F16C.
#[derive(Clone, Copy)]
pub struct Avx2<T>(PhantomData<T>);

impl<T: Element> Token for Avx2<T>
where
    Self: Simd<T = T>,
{
    /// # Safety
    /// The CPU must have AVX2, FMA and F16C, and the operating system must save ymm registers.
    #[inline(always)]
    unsafe fn token() -> Self {
        Self(PhantomData)
    }
}

/// The masks for 0 to 8 lanes, overlapping: that for n lanes starts at element 8 - n. Constants, whose values are known in
/// every crate that compiles a kernel: blends by a known mask need no register.
const MASKS_32: &[i32; 16] = &[-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];
/// The masks for 0 to 4 lanes: that for n lanes starts at element 4 - n.
const MASKS_64: &[i64; 8] = &[-1, -1, -1, -1, 0, 0, 0, 0];

macro_rules! avx2 {
    ($T:ty, $V:ty, $I:ty, $N:literal, masks $masks:ident, set1 $set1:ident, first $first:ident,
     load $load:ident, store $store:ident, maskload $maskload:ident, maskstore $maskstore:ident,
     stream $stream:ident, add $add:ident, sub $sub:ident, mul $mul:ident, div $div:ident,
     fma $fma:ident, min $min:ident, max $max:ident, and $and:ident, andnot $andnot:ident,
     or $or:ident, cmp $cmp:ident, blendv $blendv:ident, movemask $movemask:ident,
     to_int $to_int:ident, from_int $from_int:ident, int ($iset1:ident, $iadd:ident, $islli:ident, $mant:literal),
     bias $bias:literal, upper $upper:ident, unzip $unzip:ident,
     permute $permute:ident, load_halves $load_halves:ident, slots $slots:expr, rows $rows:expr) => {
        impl Register for Avx2<$T> {
            type V = $V;
            const N: usize = $N;
        }

        impl Access<$T> for Avx2<$T> {
            #[inline(always)]
            unsafe fn load(self, p: *const $T) -> $V {
                // SAFETY: the caller vouches for N elements; the token for the instruction.
                unsafe { $load(p) }
            }
            #[inline(always)]
            unsafe fn load_partial(self, p: *const $T, n: usize) -> $V {
                // SAFETY: masked lanes are not accessed; the caller vouches for the others.
                unsafe { $maskload(p, $to_int(self.first_lanes(n))) }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $T, v: $V) {
                // SAFETY: the caller vouches for N elements; the token for the instruction.
                unsafe { $store(p, v) }
            }
            #[inline(always)]
            unsafe fn store_partial(self, p: *mut $T, n: usize, v: $V) {
                // SAFETY: the caller vouches for n elements.
                unsafe { $maskstore(p, n, v) }
            }
            #[inline(always)]
            unsafe fn stream(self, p: *mut $T, v: $V) {
                // SAFETY: the caller vouches for N elements and their alignment.
                unsafe { $stream(p, v) }
            }
        }

        impl Simd for Avx2<$T> {
            const HAS_NON_TEMPORAL_STORES: bool = true;
            const HAS_PREFETCHES: bool = true;
            type T = $T;
            type M = $V;
            type Lanes = [$V; 8];
            type Half = Self;
            const FIX_ZEROS_AFTER: bool = true;
            const PREFETCH_NEXT_PAGE: bool = false;

            methods! {
                fn splat(x: $T) -> $V { $set1(x) }
                fn first(v: $V) -> $T { $first(v) }
                fn add(a: $V, b: $V) -> $V { $add(a, b) }
                fn sub(a: $V, b: $V) -> $V { $sub(a, b) }
                fn mul(a: $V, b: $V) -> $V { $mul(a, b) }
                fn div(a: $V, b: $V) -> $V { $div(a, b) }
                fn fma(a: $V, b: $V, c: $V) -> $V { $fma(a, b, c) }
                fn accumulate_nan(sum: $V, x: $V) -> $V { $fma(x, $set1(0.5), sum) }
                fn abs(a: $V) -> $V { $andnot($set1(-0.0), a) }
                fn min_or_second(a: $V, b: $V) -> $V { $min(a, b) }
                fn max_or_second(a: $V, b: $V) -> $V { $max(a, b) }
                // The instructions return the second of equal operands, so of +0 and -0 the two orders return both:
                // `or` keeps the sign of -0, `and` clears it.
                fn min_ordered(a: $V, b: $V) -> $V { $or($min(a, b), $min(b, a)) }
                fn max_ordered(a: $V, b: $V) -> $V { $and($max(a, b), $max(b, a)) }
                fn pow2(n: $V) -> $V {{
                    let magic = $set1(<$T as crate::element::Element>::ROUNDING_MAGIC);
                    $from_int($islli::<$mant>($iadd($to_int($add(n, magic)), $iset1($bias))))
                }}
                fn le(a: $V, b: $V) -> $V { $cmp::<_CMP_LE_OQ>(a, b) }
                fn eq(a: $V, b: $V) -> $V { $cmp::<_CMP_EQ_OQ>(a, b) }
                fn unordered(a: $V, b: $V) -> $V { $cmp::<_CMP_UNORD_Q>(a, b) }
                fn bits(m: $V) -> u32 { $movemask(m) as u32 }
                fn select(m: $V, a: $V, b: $V) -> $V { $blendv(b, a, m) }
                fn upper(v: $V, w: usize) -> $V { $upper(v, w) }
                fn unzip(a: $V, b: $V, w: usize) -> ($V, $V) { $unzip(a, b, w) }
                fn permute(a: $V, b: $V, start: usize, step: usize) -> $V { $permute(a, b, start, step) }
                fn fence() -> () { _mm_sfence() }
            }

            outlined!(Avx2<$T>, target_feature(enable = "avx2,fma,f16c"));

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
                self
            }
            #[inline(always)]
            fn lanes(self, v: $V) -> Self::Lanes {
                [v; 8]
            }
            #[inline(always)]
            fn first_lanes(self, n: usize) -> $V {
                // SAFETY: n <= N, so the N elements from N - n on lie inside the table.
                unsafe { $load($masks.as_ptr().add($N - n).cast()) }
            }
            #[inline(always)]
            fn lanes_of(self, bits: u32) -> $V {
                let mut lanes = [<$T>::from_bits(0); $N];
                for (i, lane) in lanes.iter_mut().enumerate() {
                    if bits >> i & 1 != 0 {
                        *lane = <$T>::from_bits(!0);
                    }
                }
                // SAFETY: the array has N elements.
                unsafe { $load(lanes.as_ptr()) }
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

/// Stores the first `n` lanes, by stores of 4, 2 and 1 elements: a masked store takes dozens of cycles on some AMD
/// CPUs.
///
/// # Safety
/// The CPU must have AVX; `p` must be valid for n <= 8 elements.
#[inline(always)]
unsafe fn store_first_f32(mut p: *mut f32, n: usize, v: __m256) {
    // SAFETY: as the caller's; the sizes of the stores add up to n.
    unsafe {
        if n >= 8 {
            return _mm256_storeu_ps(p, v);
        }
        let mut rest = _mm256_castps256_ps128(v);
        if n & 4 != 0 {
            _mm_storeu_ps(p, rest);
            p = p.add(4);
            rest = _mm256_extractf128_ps::<1>(v);
        }
        if n & 2 != 0 {
            _mm_storel_pd(p.cast(), _mm_castps_pd(rest));
            p = p.add(2);
            rest = _mm_movehl_ps(rest, rest);
        }
        if n & 1 != 0 {
            _mm_store_ss(p, rest);
        }
    }
}

/// As `store_first_f32`.
///
/// # Safety
/// The CPU must have AVX; `p` must be valid for n <= 4 elements.
#[inline(always)]
unsafe fn store_first_f64(mut p: *mut f64, n: usize, v: __m256d) {
    // SAFETY: as in `store_first_f32`.
    unsafe {
        if n >= 4 {
            return _mm256_storeu_pd(p, v);
        }
        let mut rest = _mm256_castpd256_pd128(v);
        if n & 2 != 0 {
            _mm_storeu_pd(p, rest);
            p = p.add(2);
            rest = _mm256_extractf128_pd::<1>(v);
        }
        if n & 1 != 0 {
            _mm_store_sd(p, rest);
        }
    }
}

avx2!(f32, __m256, __m256i, 8, masks MASKS_32, set1 _mm256_set1_ps, first _mm256_cvtss_f32,
    load _mm256_loadu_ps, store _mm256_storeu_ps, maskload _mm256_maskload_ps,
    maskstore store_first_f32, stream _mm256_stream_ps, add _mm256_add_ps, sub _mm256_sub_ps,
    mul _mm256_mul_ps, div _mm256_div_ps, fma _mm256_fmadd_ps, min _mm256_min_ps,
    max _mm256_max_ps, and _mm256_and_ps, andnot _mm256_andnot_ps, or _mm256_or_ps,
    cmp _mm256_cmp_ps, blendv _mm256_blendv_ps, movemask _mm256_movemask_ps,
    to_int _mm256_castps_si256, from_int _mm256_castsi256_ps,
    int (_mm256_set1_epi32, _mm256_add_epi32, _mm256_slli_epi32, 23), bias 127, upper upper_f32,
    unzip unzip_f32, permute permute_f32, load_halves load_halves_f32, slots [0, 2, 4, 6, 1, 3, 5, 7],
    rows [0, 4, 1, 5, 2, 6, 3, 7]);

avx2!(f64, __m256d, __m256i, 4, masks MASKS_64, set1 _mm256_set1_pd, first _mm256_cvtsd_f64,
    load _mm256_loadu_pd, store _mm256_storeu_pd, maskload _mm256_maskload_pd,
    maskstore store_first_f64, stream _mm256_stream_pd, add _mm256_add_pd, sub _mm256_sub_pd,
    mul _mm256_mul_pd, div _mm256_div_pd, fma _mm256_fmadd_pd, min _mm256_min_pd,
    max _mm256_max_pd, and _mm256_and_pd, andnot _mm256_andnot_pd, or _mm256_or_pd,
    cmp _mm256_cmp_pd, blendv _mm256_blendv_pd, movemask _mm256_movemask_pd,
    to_int _mm256_castpd_si256, from_int _mm256_castsi256_pd,
    int (_mm256_set1_epi64x, _mm256_add_epi64, _mm256_slli_epi64, 52), bias 1023, upper upper_f64,
    unzip unzip_f64, permute permute_f64, load_halves load_halves_f64, slots [0, 2, 1, 3],
    rows [0, 2, 1, 3]);

/// Loads and stores of eight 16-bit elements. AVX2 has no masked loads and stores of fewer.
macro_rules! half {
    ($M:ty, widen $widen:ident, split $split:ident, round $round:ident) => {
        impl Access<$M> for Avx2<f32> {
            #[inline(always)]
            unsafe fn load(self, p: *const $M) -> __m256 {
                // SAFETY: the caller vouches for N elements; the token for the instructions.
                unsafe { $widen(_mm_loadu_si128(p.cast())) }
            }
            #[inline(always)]
            unsafe fn load_partial(self, p: *const $M, n: usize) -> __m256 {
                // SAFETY: the caller vouches for n <= 8 elements; the token for the instructions.
                unsafe { $widen(load_words(p.cast(), n)) }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $M, v: __m256) {
                // SAFETY: the caller vouches for N elements; the token for the instructions.
                unsafe { _mm_storeu_si128(p.cast(), $round(v)) }
            }
            #[inline(always)]
            unsafe fn store_partial(self, p: *mut $M, n: usize, v: __m256) {
                // SAFETY: the caller vouches for n <= 8 elements; the token for the instructions.
                unsafe { store_words(p.cast(), n, $round(v)) }
            }
            #[inline(always)]
            fn split(self, pairs: __m256) -> (__m256, __m256) {
                // SAFETY: the token vouches for the instructions.
                unsafe { $split(_mm256_castps_si256(pairs)) }
            }
            #[inline(always)]
            unsafe fn stream(self, p: *mut $M, v: __m256) {
                // SAFETY: the caller vouches for N elements and their alignment.
                unsafe { _mm_stream_si128(p.cast(), $round(v)) }
            }
        }
    };
}

/// Loads n <= 8 words, by accesses that overlap; the others are 0.
///
/// # Safety
/// `p` must be valid for them, the CPU have AVX2.
#[inline(always)]
unsafe fn load_words(p: *const u16, n: usize) -> __m128i {
    // SAFETY: as the caller's; every access lies within the n words.
    unsafe {
        let (low, high) = match n {
            4.. => {
                let last = p.add(n - 4).cast::<u64>().read_unaligned();
                // Twice half the shift, which may be 64.
                let half = 8 * (8 - n);
                (p.cast::<u64>().read_unaligned(), last >> half >> half)
            }
            2.. => {
                let last: u64 = p.add(n - 2).cast::<u32>().read_unaligned().into();
                let first: u64 = p.cast::<u32>().read_unaligned().into();
                (first | last >> (16 * (4 - n)) << 32, 0)
            }
            1 => (p.read_unaligned().into(), 0),
            0 => (0, 0),
        };
        _mm_set_epi64x(high as i64, low as i64)
    }
}

/// Stores the first n <= 8 words, by accesses that overlap.
///
/// # Safety
/// As [`load_words`], for writing.
#[inline(always)]
unsafe fn store_words(p: *mut u16, n: usize, v: __m128i) {
    // SAFETY: as the caller's; every access lies within the n words.
    unsafe {
        let low = _mm_cvtsi128_si64(v) as u64;
        match n {
            4.. => {
                let high = _mm_extract_epi64::<1>(v) as u64;
                let last = (u128::from(high) << 64 | u128::from(low)) >> (16 * (n - 4));
                p.cast::<u64>().write_unaligned(low);
                p.add(n - 4).cast::<u64>().write_unaligned(last as u64);
            }
            2.. => {
                p.cast::<u32>().write_unaligned(low as u32);
                let last = (low >> (16 * (n - 2))) as u32;
                p.add(n - 2).cast::<u32>().write_unaligned(last);
            }
            1 => p.write_unaligned(low as u16),
            0 => {}
        }
    }
}

#[inline(always)]
unsafe fn widen_f16(v: __m128i) -> __m256 {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe { _mm256_cvtph_ps(v) }
}

#[inline(always)]
unsafe fn round_f16(v: __m256) -> __m128i {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe { _mm256_cvtps_ph::<_MM_FROUND_TO_NEAREST_INT>(v) }
}

#[inline(always)]
unsafe fn widen_bf16(v: __m128i) -> __m256 {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<16>(_mm256_cvtepu16_epi32(v))) }
}

/// As [`bf16::from_f32`].
#[inline(always)]
unsafe fn round_bf16(v: __m256) -> __m128i {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        let bits = _mm256_castps_si256(v);
        let high = _mm256_srli_epi32::<16>(bits);
        let odd = _mm256_and_si256(high, _mm256_set1_epi32(1));
        let half = _mm256_add_epi32(_mm256_set1_epi32(0x7FFF), odd);
        let rounded = _mm256_srli_epi32::<16>(_mm256_add_epi32(bits, half));
        let quiet = _mm256_or_si256(high, _mm256_set1_epi32(0x40));
        let is_nan = _mm256_castps_si256(_mm256_cmp_ps::<_CMP_UNORD_Q>(v, v));
        let each = _mm256_blendv_epi8(rounded, quiet, is_nan);
        // `packus` works in each 128-bit half; the permutation brings the lower parts together.
        let packed = _mm256_packus_epi32(each, each);
        _mm256_castsi256_si128(_mm256_permute4x64_epi64::<0b1000>(packed))
    }
}

#[inline(always)]
unsafe fn split_f16(pairs: __m256i) -> (__m256, __m256) {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        let first = _mm256_and_si256(pairs, _mm256_set1_epi32(0xFFFF));
        // `packus` works in each 128-bit half.
        let packed = _mm256_packus_epi32(first, _mm256_srli_epi32::<16>(pairs));
        let halves = _mm256_permute4x64_epi64::<0b11_01_10_00>(packed);
        let second = _mm256_extracti128_si256::<1>(halves);
        (widen_f16(_mm256_castsi256_si128(halves)), widen_f16(second))
    }
}

#[inline(always)]
unsafe fn split_bf16(pairs: __m256i) -> (__m256, __m256) {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        let second = _mm256_and_si256(pairs, _mm256_set1_epi32(!0xFFFF));
        let first = _mm256_slli_epi32::<16>(pairs);
        (_mm256_castsi256_ps(first), _mm256_castsi256_ps(second))
    }
}

half!(f16, widen widen_f16, split split_f16, round round_f16);
half!(bf16, widen widen_bf16, split split_bf16, round round_bf16);
