//! Moves between the lanes of 256-bit registers, for AVX2 and for the halves of AVX-512's registers.

use core::arch::x86_64::*;

#[inline(always)]
pub(super) unsafe fn upper_f32(v: __m256, w: usize) -> __m256 {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        match w {
            4 => _mm256_castps128_ps256(_mm256_extractf128_ps::<1>(v)),
            2 => _mm256_permute_ps::<0b1110>(v),
            _ => _mm256_permute_ps::<0b0001>(v),
        }
    }
}

#[inline(always)]
pub(super) unsafe fn upper_f64(v: __m256d, w: usize) -> __m256d {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        match w {
            2 => _mm256_castpd128_pd256(_mm256_extractf128_pd::<1>(v)),
            _ => _mm256_permute_pd::<0b0001>(v),
        }
    }
}

#[inline(always)]
pub(super) unsafe fn load_halves_f32(low: *const f32, high: *const f32) -> __m256 {
    _mm256_insertf128_ps::<1>(
        _mm256_castps128_ps256(_mm_loadu_ps(low)),
        _mm_loadu_ps(high),
    )
}

#[inline(always)]
pub(super) unsafe fn load_halves_f64(low: *const f64, high: *const f64) -> __m256d {
    _mm256_insertf128_pd::<1>(
        _mm256_castpd128_pd256(_mm_loadu_pd(low)),
        _mm_loadu_pd(high),
    )
}

#[inline(always)]
pub(super) unsafe fn unzip_f32(a: __m256, b: __m256, w: usize) -> (__m256, __m256) {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        let (c, d) = (_mm256_castps_pd(a), _mm256_castps_pd(b));
        match w {
            4 => (
                _mm256_permute2f128_ps::<0x20>(a, b),
                _mm256_permute2f128_ps::<0x31>(a, b),
            ),
            2 => (
                _mm256_castpd_ps(_mm256_unpacklo_pd(c, d)),
                _mm256_castpd_ps(_mm256_unpackhi_pd(c, d)),
            ),
            _ => (
                _mm256_shuffle_ps::<0x88>(a, b),
                _mm256_shuffle_ps::<0xDD>(a, b),
            ),
        }
    }
}

#[inline(always)]
pub(super) unsafe fn unzip_f64(a: __m256d, b: __m256d, w: usize) -> (__m256d, __m256d) {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        match w {
            2 => (
                _mm256_permute2f128_pd::<0x20>(a, b),
                _mm256_permute2f128_pd::<0x31>(a, b),
            ),
            _ => (_mm256_unpacklo_pd(a, b), _mm256_unpackhi_pd(a, b)),
        }
    }
}

/// Each lane's place in a and b for [`Simd::permute`](crate::simd::Simd::permute), of 32-bit elements. Known to the compiler, like all that is
/// computed from it.
#[inline(always)]
unsafe fn places(start: usize, step: usize) -> __m256i {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
        let steps = _mm256_mullo_epi32(lanes, _mm256_set1_epi32(step as i32));
        _mm256_add_epi32(steps, _mm256_set1_epi32(start as i32))
    }
}

/// Takes the elements at `places` in a and b. The permutation ignores the higher bits of a place.
#[inline(always)]
unsafe fn take(a: __m256, b: __m256, places: __m256i) -> __m256 {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        _mm256_blendv_ps(
            _mm256_permutevar8x32_ps(a, places),
            _mm256_permutevar8x32_ps(b, places),
            _mm256_castsi256_ps(_mm256_slli_epi32::<28>(places)),
        )
    }
}

#[inline(always)]
pub(super) unsafe fn permute_f32(a: __m256, b: __m256, start: usize, step: usize) -> __m256 {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe { take(a, b, places(start, step)) }
}

#[inline(always)]
pub(super) unsafe fn permute_f64(a: __m256d, b: __m256d, start: usize, step: usize) -> __m256d {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        let pairs = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(places(2 * start, 2 * step)));
        let upper = _mm256_slli_epi64::<32>(_mm256_add_epi64(pairs, _mm256_set1_epi64x(1)));
        let (a, b) = (_mm256_castpd_ps(a), _mm256_castpd_ps(b));
        _mm256_castps_pd(take(a, b, _mm256_or_si256(pairs, upper)))
    }
}
