//! Short rows copied to columns, so that registers run over rows and not over the few elements of one.

use crate::element::Element;
use crate::simd::{Register, Simd};

/// Bytes from the rows that are copied to those that are prefetched.
const PREFETCH_DISTANCE: usize = 4 << 10;
/// Bytes of a cache line.
const LINE: usize = 64;
/// Most rows and columns of a tile.
const MAX_TILE: usize = 8;

/// Copies element j of row i to out\[j * width + i\], for `rows` rows of `n` contiguous elements. With `prefetch`, rows
/// further on are prefetched: partial loads that miss the caches wait for one another.
///
/// # Safety
/// `x` must be valid at `rows` >= 8 by `n` elements, `out` for `n` times `width` >= `rows` elements.
#[inline(always)]
pub unsafe fn transpose<S: Simd>(
    s: S,
    rows: usize,
    n: usize,
    x: *const S::T,
    inc: isize,
    out: *mut S::T,
    width: usize,
    prefetch: bool,
) {
    if !S::HAS_SHAPE_LOOPS {
        for i in 0..rows {
            let row = x.wrapping_offset(i as isize * inc);
            for j in 0..n {
                // SAFETY: the caller vouches for the row and its copy.
                unsafe { out.add(j * width + i).write(*row.add(j)) };
            }
        }
        return;
    }
    let s = s.half();
    let mut j = 0;
    while j < n {
        let tile = Tile {
            rows,
            cols: n - j,
            x: x.wrapping_add(j),
            inc,
            out: out.wrapping_add(j * width),
            width,
            ahead: Ahead::new::<S::T>(<S::Half as Register>::N, inc, prefetch && j == 0),
        };
        // SAFETY: the rows and their copies are the caller's.
        unsafe {
            if tile.cols <= MAX_TILE / 2 {
                tile.transpose::<S::Half, { MAX_TILE / 2 }>(s);
            } else {
                tile.transpose::<S::Half, MAX_TILE>(s);
            }
        }
        j += <S::Half as Register>::N;
    }
}

/// What is prefetched while a register of rows is copied, in bytes.
#[derive(Clone, Copy)]
struct Ahead {
    /// From the first of these rows to the first address.
    distance: isize,
    /// From an address to the next.
    step: isize,
    count: usize,
}

impl Ahead {
    /// For `rows` rows at a time; nothing unless `enabled`.
    #[inline(always)]
    fn new<T>(rows: usize, inc: isize, enabled: bool) -> Self {
        let stride = inc.unsigned_abs() * size_of::<T>();
        let step = stride.max(LINE);
        let inc = inc * size_of::<T>() as isize;
        Self {
            distance: (PREFETCH_DISTANCE / stride.max(1) + 1) as isize * inc,
            step: step as isize * inc.signum(),
            count: if enabled {
                (rows * stride).div_ceil(step)
            } else {
                0
            },
        }
    }
}

/// Some columns of the rows.
#[derive(Clone, Copy)]
struct Tile<T> {
    rows: usize,
    /// Elements of a row from `x` on; at most N are copied.
    cols: usize,
    x: *const T,
    inc: isize,
    out: *mut T,
    width: usize,
    ahead: Ahead,
}

impl<T: Element> Tile<T> {
    /// Copies `cols`, at most N and `MAX_COLS`, elements of each row.
    ///
    /// # Safety
    /// The rows and their copies must be valid; there must be N rows.
    #[inline(always)]
    unsafe fn transpose<S: Simd<T = T>, const MAX_COLS: usize>(self, s: S) {
        let cols = S::N.min(self.cols);
        let last = self.rows - S::N;
        let mut i = 0;
        loop {
            let x = self.x.wrapping_offset(i as isize * self.inc);
            for k in 0..self.ahead.count {
                s.prefetch(
                    x.wrapping_byte_offset(self.ahead.distance + k as isize * self.ahead.step),
                );
            }
            let mut v = [s.splat(T::ZERO); MAX_TILE];
            for (slot, v) in v.iter_mut().enumerate().take(S::N) {
                let row = x.wrapping_offset(s.unzip_row(slot) as isize * self.inc);
                // SAFETY: the caller vouches for the row.
                *v = unsafe { s.load_partial(row, cols) };
            }
            let v = step::<S, MAX_COLS>(s, v, 1);
            let v = step::<S, MAX_COLS>(s, v, 2);
            let v = step::<S, MAX_COLS>(s, v, 4);
            for (j, &v) in v.iter().enumerate().take(MAX_COLS.min(S::N)) {
                if j < cols {
                    // SAFETY: the caller vouches for the copy.
                    unsafe { s.store(self.out.wrapping_add(j * self.width + i), v) };
                }
            }
            if i == last {
                return;
            }
            // The last rows may overlap those before, so that all copies are of whole registers.
            i = last.min(i + S::N);
        }
    }
}

/// A step of the transposition of an N x N tile, of which the first `MAX_COLS` columns are needed: from `sets` sets of
/// N / `sets` registers, which have the elements of as many columns each, to twice as many sets.
#[inline(always)]
fn step<S: Simd, const MAX_COLS: usize>(
    s: S,
    v: [S::V; MAX_TILE],
    sets: usize,
) -> [S::V; MAX_TILE] {
    let w = S::N / 2 / sets;
    let mut next = v;
    for set in 0..sets {
        let at = set * 2 * w;
        for i in 0..w {
            if at < MAX_COLS {
                let (low, high) = s.unzip(v[at + 2 * i], v[at + 2 * i + 1], w);
                next[at + i] = low;
                next[at + w + i] = high;
            }
        }
    }
    next
}
