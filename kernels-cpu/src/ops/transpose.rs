//! Transposed copies of matrices, in registers.

use super::gemm::transpose::transpose;
use crate::simd::Simd;

/// Copies element j of row i to out\[j * out_rs + i\], for `rows` rows of `cols` contiguous elements.
///
/// # Safety
/// `x` must be valid at `rows` by `cols` elements, `out` at `cols` by `rows`.
#[inline(always)]
pub unsafe fn transpose_block<S: Simd>(
    s: S,
    rows: usize,
    cols: usize,
    x: *const S::T,
    rs: isize,
    out: *mut S::T,
    out_rs: isize,
) {
    let mut i = 0;
    while i < rows {
        let height = S::N.min(rows - i);
        let mut j = 0;
        while j < cols {
            let width = S::N.min(cols - j);
            let from = x.wrapping_offset(i as isize * rs + j as isize);
            let to = out.wrapping_offset(j as isize * out_rs + i as isize);
            // SAFETY: the tile lies in the matrices.
            unsafe {
                if S::HAS_SHAPE_LOOPS && (height, width) == (S::N, S::N) {
                    transpose(s, (from, rs), (S::N, S::N), (to, out_rs), S::N);
                } else {
                    elements(s, height, width, from, rs, to, out_rs);
                }
            }
            j += width;
        }
        i += height;
    }
}

/// Transposes a tile element by element.
///
/// # Safety
/// As [`transpose_block`].
#[inline(always)]
unsafe fn elements<S: Simd>(
    _: S,
    rows: usize,
    cols: usize,
    x: *const S::T,
    rs: isize,
    out: *mut S::T,
    out_rs: isize,
) {
    for j in 0..cols as isize {
        for i in 0..rows as isize {
            // SAFETY: the caller vouches for both.
            unsafe {
                let element = x.wrapping_offset(i * rs + j).read();
                out.wrapping_offset(j * out_rs + i).write(element);
            }
        }
    }
}
