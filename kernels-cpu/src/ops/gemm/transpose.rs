//! Transposes blocks of at most N by N elements in registers, N being the lanes of one.

use crate::element::{Element, Storage};
use crate::ops::{load, store};
use crate::simd::{Access, Simd};

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
/// `out`, `out_rs` apart, of `width` elements, in the type of arithmetic. If `width` is more than `rows`, +0 follows.
///
/// # Safety
/// rows, cols, width <= N; `p` must be valid for the block, `out` for the result.
#[inline(always)]
pub unsafe fn transpose<S: Simd + Access<M>, M: Storage>(
    s: S,
    (p, rs): (*const M, isize),
    (rows, cols): (usize, usize),
    (out, out_rs): (*mut S::T, isize),
    width: usize,
) {
    let mut v = [s.splat(S::T::ZERO); MAX_LANES];
    each_row!(|I| if I < S::N && I < rows {
        // SAFETY: the caller vouches for this row.
        v[s.unzip_slot(I)] = unsafe { load(s, p.wrapping_offset(I as isize * rs), cols) };
    });
    v = unzip::<S>(s, v);
    each_row!(|I| if I < S::N && I < cols {
        // SAFETY: the caller vouches for the room.
        unsafe { store(s, out.wrapping_offset(I as isize * out_rs), width, v[I]) };
    });
}

/// As [`transpose`], of N rows of 2N elements that are half as large as those of arithmetic and are moved in pairs. Rows from
/// `rows` on are not read; what stands in their place is unspecified.
///
/// # Safety
/// As [`transpose`]; `rows` is not 0.
#[inline(always)]
pub unsafe fn transpose_pairs<S: Simd + Access<M>, M: Storage>(
    s: S,
    (p, rs): (*const M, isize),
    rows: usize,
    (out, out_rs): (*mut S::T, isize),
    width: usize,
) {
    const { assert!(2 * S::N * size_of::<M>() == size_of::<S::V>()) };
    let mut v = [s.splat(S::T::ZERO); MAX_LANES];
    each_row!(|I| if I < S::N {
        let row = if I < rows { I } else { 0 };
        let pairs = p.wrapping_offset(row as isize * rs).cast::<S::V>();
        // SAFETY: the caller vouches for this row, which is as long as a register.
        v[s.unzip_slot(I)] = unsafe { pairs.read_unaligned() };
    });
    v = unzip::<S>(s, v);
    each_row!(|I| if I < S::N {
        let (first, second) = <S as Access<M>>::split(s, v[I]);
        let to = out.wrapping_offset(2 * I as isize * out_rs);
        // SAFETY: the caller vouches for the room.
        unsafe {
            store(s, to, width, first);
            store(s, to.wrapping_offset(out_rs), width, second);
        }
    });
}

/// Loads a block of N rows of N contiguous elements, or of N / 2 if `half`, as the first passes of the transposition leave
/// them: [`finish`] makes the block's columns of them, a few at a time. `row` returns the address of a row.
///
/// # Safety
/// The rows must be valid for reading these elements.
#[inline(always)]
pub unsafe fn load_rows<S: Simd>(
    s: S,
    row: impl Fn(usize) -> *const S::T,
    half: bool,
) -> [S::V; MAX_LANES] {
    let mut v = [s.splat(S::T::ZERO); MAX_LANES];
    let row = |slot: usize| row(s.unzip_row(slot));
    each_row!(|I| if I < S::N {
        // SAFETY: the caller vouches for these rows.
        unsafe {
            if !half {
                v[I] = s.load(row(I));
            } else if 2 * I < S::N {
                v[I] = s.load_halves(row(2 * I), row(2 * I + 1));
            }
        }
    });
    if !half {
        v = match S::N {
            16 => unzip_pass::<S, 8>(s, v),
            8 => unzip_pass::<S, 4>(s, v),
            4 => unzip_pass::<S, 2>(s, v),
            _ => unzip_pass::<S, 1>(s, v),
        };
    }
    if S::N > 8 {
        v = unzip_pass::<S, 4>(s, v);
    }
    v
}

/// How many columns [`finish`] makes.
#[inline(always)]
pub fn finished<S: Simd>() -> usize {
    (S::N / 2).min(4)
}

/// The passes that follow [`load_rows`], on the registers from `first` on, a multiple of [`finished`]: each becomes the
/// column of N rows of the same number.
#[inline(always)]
pub fn finish<S: Simd>(s: S, v: &[S::V; MAX_LANES], first: usize) -> [S::V; 4] {
    let (mut a, mut b) = ([v[first], v[first + 1]], [v[first], v[first + 1]]);
    if S::N > 4 {
        let (low, high) = s.unzip(v[first], v[first + 1], 2);
        let (low_b, high_b) = s.unzip(v[first + 2], v[first + 3], 2);
        (a, b) = ([low, low_b], [high, high_b]);
    }
    if S::N > 2 {
        (a, b) = (s.unzip(a[0], a[1], 1).into(), s.unzip(b[0], b[1], 1).into());
    }
    [a[0], a[1], b[0], b[1]]
}

/// All passes of the transposition: the rows, each in its slot, become the columns.
#[inline(always)]
fn unzip<S: Simd>(s: S, v: [S::V; MAX_LANES]) -> [S::V; MAX_LANES] {
    let v = unzip_pass::<S, 8>(s, v);
    let v = unzip_pass::<S, 4>(s, v);
    let v = unzip_pass::<S, 2>(s, v);
    unzip_pass::<S, 1>(s, v)
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
