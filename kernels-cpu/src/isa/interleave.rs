//! Words of 32 bits from rows of narrower elements, with AVX-512: for each of 16 columns the elements of successive rows.

use core::arch::x86_64::*;

/// Loads the first `bytes` bytes at `p`, at most 64, and zeros.
///
/// # Safety
/// The CPU must have AVX-512 F and BW; `p` must be valid for reading these bytes.
#[inline(always)]
pub unsafe fn load_bytes(p: *const u8, bytes: usize) -> __m512i {
    let mask = if bytes >= 64 {
        u64::MAX
    } else {
        (1 << bytes) - 1
    };
    // SAFETY: as the caller's; masked bytes are not read.
    unsafe { _mm512_maskz_loadu_epi8(mask, p.cast()) }
}

/// The words of two rows of 16-bit elements: the first `columns` of them, and zeros. Rows from `rows` on count as zeros.
///
/// # Safety
/// The CPU must have AVX-512 F, VL and BW; the rows, `rs` bytes apart, must be valid for reading.
#[inline(always)]
pub unsafe fn halves(p: *const u8, rs: isize, rows: usize, columns: usize) -> __m512i {
    let mask = ((1_u32 << columns) - 1) as __mmask16;
    // SAFETY: as the caller's; masked elements are not read.
    unsafe {
        let row = |i: usize| {
            let mask = if i < rows { mask } else { 0 };
            _mm256_maskz_loadu_epi16(mask, p.wrapping_offset(i as isize * rs).cast())
        };
        let both = _mm512_inserti64x4::<1>(_mm512_castsi256_si512(row(0)), row(1));
        let order = _mm512_set_epi16(
            31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9, 24, 8, 23, 7, 22, 6, 21, 5, 20,
            4, 19, 3, 18, 2, 17, 1, 16, 0,
        );
        _mm512_permutexvar_epi16(order, both)
    }
}

/// The words of four rows of bytes: the first `columns` of them, and zeros. Rows from `rows` on count as zeros.
///
/// # Safety
/// As [`halves`].
#[inline(always)]
pub unsafe fn bytes(p: *const u8, rs: isize, rows: usize, columns: usize) -> __m512i {
    let mask = ((1_u32 << columns) - 1) as __mmask16;
    // SAFETY: as the caller's; masked elements are not read.
    unsafe {
        let row = |i: usize| {
            let mask = if i < rows { mask } else { 0 };
            _mm_maskz_loadu_epi8(mask, p.wrapping_offset(i as isize * rs).cast())
        };
        let all = _mm512_castsi128_si512(row(0));
        let all = _mm512_inserti32x4::<1>(all, row(1));
        let all = _mm512_inserti32x4::<2>(all, row(2));
        let all = _mm512_inserti32x4::<3>(all, row(3));
        // Four columns of each row to a lane of 128 bits, then a transposition of four by four bytes in each.
        let order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
        let lane = _mm_set_epi8(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
        _mm512_shuffle_epi8(
            _mm512_permutexvar_epi32(order, all),
            _mm512_broadcast_i32x4(lane),
        )
    }
}

/// The least of the magnitudes of the 16-bit numbers of each lane, less one, so that zero becomes the largest.
///
/// # Safety
/// As [`halves`].
#[inline(always)]
pub unsafe fn least_magnitudes(least: __m512i, numbers: __m512i) -> __m512i {
    // SAFETY: as the caller's.
    unsafe {
        let magnitude = _mm512_and_si512(numbers, _mm512_set1_epi16(0x7FFF));
        _mm512_min_epu16(least, _mm512_sub_epi16(magnitude, _mm512_set1_epi16(1)))
    }
}

/// The least magnitude of the lanes; 0 if all numbers were 0.
///
/// # Safety
/// As [`halves`].
#[inline(always)]
pub unsafe fn least_magnitude(lanes: __m512i) -> u16 {
    // SAFETY: as the caller's. The register is copied to an array of its size.
    let lanes: [u16; 32] = unsafe { core::mem::transmute(lanes) };
    let least = lanes.into_iter().fold(u16::MAX, u16::min);
    least.wrapping_add(1)
}
