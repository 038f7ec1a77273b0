//! Transposes blocks of at most N by N elements in registers, N being the lanes of one.

use crate::element::Element;
use crate::ops::{load, store};
use crate::simd::Simd;

/// The most lanes of a register on any level.
pub const MAX_LANES: usize = 16;

/// Repeats `$body` for each `$i` from 0 to 15, the largest register's lanes. Written out because with a loop the block
/// would be kept in memory.
macro_rules! each_row {
    (|$i:ident| $body:expr) => {
        each_row!(@ $i $body, 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15)
    };
    (@ $i:ident $body:expr, $($index:literal)*) => {
        $({ const $i: usize = $index; $body })*
    };
}

/// Transposes a block: `rows` rows at `p`, `rs` elements apart, of `cols` contiguous elements become `cols` rows at
/// `out`, `out_rs` apart, of `width` elements. If `width` is more than `rows`, +0 follows.
///
/// # Safety
/// rows, cols, width <= N; `p` must be valid for the block, `out` for the result.
#[inline(always)]
pub unsafe fn transpose<S: Simd>(
    s: S,
    (p, rs): (*const S::T, isize),
    (rows, cols): (usize, usize),
    (out, out_rs): (*mut S::T, isize),
    width: usize,
) {
    let mut v = [s.splat(S::T::ZERO); MAX_LANES];
    each_row!(|I| if I < S::N && I < rows {
        // SAFETY: the caller vouches for this row.
        v[s.unzip_slot(I)] = unsafe { load(s, p.wrapping_offset(I as isize * rs), cols) };
    });
    v = unzip_pass::<S, 8>(s, v);
    v = unzip_pass::<S, 4>(s, v);
    v = unzip_pass::<S, 2>(s, v);
    v = unzip_pass::<S, 1>(s, v);
    each_row!(|I| if I < S::N && I < cols {
        // SAFETY: the caller vouches for the room.
        unsafe { store(s, out.wrapping_offset(I as isize * out_rs), width, v[I]) };
    });
}

/// Loads a block of N rows, `rs` elements apart, of N contiguous elements, or of N / 2 if `half`, as the first pass of
/// the transposition leaves them: [`finish`] makes the block's first N / 2 columns of the first N / 2 registers, and
/// the other columns of the last N / 2 registers, if not `half`.
///
/// # Safety
/// The rows must be valid for reading these elements.
#[inline(always)]
pub unsafe fn load_rows<S: Simd>(s: S, p: *const S::T, rs: isize, half: bool) -> [S::V; MAX_LANES] {
    let mut v = [s.splat(S::T::ZERO); MAX_LANES];
    each_row!(|I| if I < S::N {
        let row = |slot: usize| p.wrapping_offset(s.unzip_row(slot) as isize * rs);
        // SAFETY: the caller vouches for these rows.
        unsafe {
            if !half {
                v[I] = s.load(row(I));
            } else if 2 * I < S::N {
                v[I] = s.load_halves(row(2 * I), row(2 * I + 1));
            }
        }
    });
    if half {
        return v;
    }
    match S::N {
        16 => unzip_pass::<S, 8>(s, v),
        8 => unzip_pass::<S, 4>(s, v),
        4 => unzip_pass::<S, 2>(s, v),
        _ => unzip_pass::<S, 1>(s, v),
    }
}

/// The passes that follow [`load_rows`], on its N / 2 registers from `first` on: register j is then a column of N rows,
/// for j < N / 2.
#[inline(always)]
pub fn finish<S: Simd>(s: S, v: [S::V; MAX_LANES], first: usize) -> [S::V; MAX_LANES] {
    let mut columns = [s.splat(S::T::ZERO); MAX_LANES];
    each_row!(|I| if 2 * I < S::N {
        columns[I] = v[first + I];
    });
    if S::N > 8 {
        columns = unzip_pass::<S, 4>(s, columns);
    }
    if S::N > 4 {
        columns = unzip_pass::<S, 2>(s, columns);
    }
    if S::N > 2 {
        columns = unzip_pass::<S, 1>(s, columns);
    }
    columns
}

/// A pass of the transposition, on groups of 2 `W` registers whose lanes are in blocks of 2 `W`. Unzips neighbouring
/// registers: the lower halves of the blocks go to the first `W` registers of the group, the upper halves to the last.
#[inline(always)]
fn unzip_pass<S: Simd, const W: usize>(s: S, v: [S::V; MAX_LANES]) -> [S::V; MAX_LANES] {
    let mut unzipped = v;
    for pair in 0..MAX_LANES / 2 {
        if W < S::N && pair < S::N / 2 {
            let (low, high) = s.unzip(v[2 * pair], v[2 * pair + 1], W);
            let to = pair / W * 2 * W + pair % W;
            unzipped[to] = low;
            unzipped[to + W] = high;
        }
    }
    unzipped
}
