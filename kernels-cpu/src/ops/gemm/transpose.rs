//! Blocks of at most N by N elements, transposed in registers.

use crate::element::Element;
use crate::ops::{load, store};
use crate::simd::Simd;

/// The most lanes of a register on any level.
pub const LANES: usize = 16;

/// Does something for each row that a register may have: written out, not a loop, so that the block stays in
/// registers.
macro_rules! each_row {
    (|$i:ident| $body:expr) => {
        each_row!(@ $i $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $i:ident $body:expr, $($index:literal)*) => {
        $({ const $i: usize = $index; $body })*
    };
}

/// `cols` rows of `width` elements at `out`, `out_rs` apart: the columns of the block at `p` of `rows` rows of
/// `cols` contiguous elements, `rs` apart, and +0 behind their ends.
///
/// # Safety
/// rows, cols, width <= N; the elements must be there, and room for theirs.
#[inline(always)]
pub unsafe fn transpose<S: Simd>(
    s: S,
    (p, rs): (*const S::T, isize),
    (rows, cols): (usize, usize),
    (out, out_rs): (*mut S::T, isize),
    width: usize,
) {
    let mut v = [s.splat(S::T::ZERO); LANES];
    each_row!(|I| if I < S::N && I < rows {
        // SAFETY: the caller vouches for this row.
        v[s.unzip_slot(I)] = unsafe { load(s, p.wrapping_offset(I as isize * rs), cols) };
    });
    v = halve::<S, 8>(s, v);
    v = halve::<S, 4>(s, v);
    v = halve::<S, 2>(s, v);
    v = halve::<S, 1>(s, v);
    each_row!(|I| if I < S::N && I < cols {
        // SAFETY: the caller vouches for the room.
        unsafe { store(s, out.wrapping_offset(I as isize * out_rs), width, v[I]) };
    });
}

/// Of sets of 2 `W` registers that hold parts of rows 2 `W` long, sets of half the size: the lower halves of
/// the rows, and the upper ones.
#[inline(always)]
fn halve<S: Simd, const W: usize>(s: S, v: [S::V; LANES]) -> [S::V; LANES] {
    let mut halved = v;
    for pair in 0..LANES / 2 {
        if W < S::N && pair < S::N / 2 {
            let (low, high) = s.unzip(v[2 * pair], v[2 * pair + 1], W);
            let to = pair / W * 2 * W + pair % W;
            halved[to] = low;
            halved[to + W] = high;
        }
    }
    halved
}
