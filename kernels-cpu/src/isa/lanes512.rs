//! Moves between the lanes of 512-bit registers, for AVX-512.

use core::arch::x86_64::*;

#[inline(always)]
pub(super) unsafe fn upper_f32(v: __m512, w: usize) -> __m512 {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        match w {
            8 => _mm512_castps256_ps512(_mm512_extractf32x8_ps::<1>(v)),
            4 => _mm512_castps128_ps512(_mm512_extractf32x4_ps::<1>(v)),
            2 => _mm512_permute_ps::<0b1110>(v),
            _ => _mm512_permute_ps::<0b0001>(v),
        }
    }
}

#[inline(always)]
pub(super) unsafe fn upper_f64(v: __m512d, w: usize) -> __m512d {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        match w {
            4 => _mm512_castpd256_pd512(_mm512_extractf64x4_pd::<1>(v)),
            2 => _mm512_castpd128_pd512(_mm512_extractf64x2_pd::<1>(v)),
            _ => _mm512_permute_pd::<0b0000_0001>(v),
        }
    }
}

#[inline(always)]
pub(super) unsafe fn unzip_f32(a: __m512, b: __m512, w: usize) -> (__m512, __m512) {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        let (c, d) = (_mm512_castps_pd(a), _mm512_castps_pd(b));
        match w {
            8 => (
                _mm512_shuffle_f32x4::<0x44>(a, b),
                _mm512_shuffle_f32x4::<0xEE>(a, b),
            ),
            4 => (
                _mm512_shuffle_f32x4::<0x88>(a, b),
                _mm512_shuffle_f32x4::<0xDD>(a, b),
            ),
            2 => (
                _mm512_castpd_ps(_mm512_unpacklo_pd(c, d)),
                _mm512_castpd_ps(_mm512_unpackhi_pd(c, d)),
            ),
            _ => (
                _mm512_shuffle_ps::<0x88>(a, b),
                _mm512_shuffle_ps::<0xDD>(a, b),
            ),
        }
    }
}

#[inline(always)]
pub(super) unsafe fn unzip_f64(a: __m512d, b: __m512d, w: usize) -> (__m512d, __m512d) {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        match w {
            4 => (
                _mm512_shuffle_f64x2::<0x44>(a, b),
                _mm512_shuffle_f64x2::<0xEE>(a, b),
            ),
            2 => (
                _mm512_shuffle_f64x2::<0x88>(a, b),
                _mm512_shuffle_f64x2::<0xDD>(a, b),
            ),
            _ => (_mm512_unpacklo_pd(a, b), _mm512_unpackhi_pd(a, b)),
        }
    }
}

#[inline(always)]
pub(super) unsafe fn permute_f32(a: __m512, b: __m512, start: usize, step: usize) -> __m512 {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        let lanes = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
        let steps = _mm512_mullo_epi32(lanes, _mm512_set1_epi32(step as i32));
        let places = _mm512_add_epi32(steps, _mm512_set1_epi32(start as i32));
        _mm512_permutex2var_ps(a, places, b)
    }
}

#[inline(always)]
pub(super) unsafe fn permute_f64(a: __m512d, b: __m512d, start: usize, step: usize) -> __m512d {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        let lanes = _mm512_setr_epi64(0, 1, 2, 3, 4, 5, 6, 7);
        let steps = _mm512_mullo_epi64(lanes, _mm512_set1_epi64(step as i64));
        let places = _mm512_add_epi64(steps, _mm512_set1_epi64(start as i64));
        _mm512_permutex2var_pd(a, places, b)
    }
}

#[inline(always)]
pub(super) unsafe fn load_halves_f32(low: *const f32, high: *const f32) -> __m512 {
    let (low, high) = (_mm256_loadu_ps(low), _mm256_loadu_ps(high));
    _mm512_insertf32x8::<1>(_mm512_castps256_ps512(low), high)
}

#[inline(always)]
pub(super) unsafe fn load_halves_f64(low: *const f64, high: *const f64) -> __m512d {
    let (low, high) = (_mm256_loadu_pd(low), _mm256_loadu_pd(high));
    _mm512_insertf64x4::<1>(_mm512_castpd256_pd512(low), high)
}
