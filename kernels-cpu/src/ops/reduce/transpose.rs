//! Short rows copied to columns, so that registers run over rows and not over the few elements of one, and their
//! results copied to where they belong.

use crate::element::Element;
use crate::ops::load;
use crate::simd::Simd;

/// Bytes from the rows being copied to the rows being prefetched.
const PREFETCH_DISTANCE: usize = 12 << 10;
/// Bytes of a cache line.
const LINE: usize = 64;
/// Most elements of a row, and most rows and columns of a tile.
const MAX: usize = 8;

/// Copies element j of row i to out\[j * width + i\], for `rows` rows of `n` contiguous elements. With `prefetch`, rows
/// further on are prefetched: the kernel does not run far enough ahead of memory by itself.
///
/// # Safety
/// `x` must be valid at `rows` >= 16 by `n` <= 8 elements, `out` for `n` times `width` >= `rows` elements.
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
    let m = RowCopy {
        rows,
        x,
        inc,
        out,
        width,
        prefetch,
    };
    // SAFETY: the rows and their copies are the caller's.
    unsafe {
        match n {
            2 if inc == 2 => m.contiguous::<S, 2>(s),
            3 if inc == 3 => m.contiguous::<S, 3>(s),
            4 if inc == 4 => m.contiguous::<S, 4>(s),
            5 if inc == 5 => m.contiguous::<S, 5>(s),
            6 if inc == 6 => m.contiguous::<S, 6>(s),
            7 if inc == 7 => m.contiguous::<S, 7>(s),
            8 if S::N >= MAX => m.tile::<S, MAX, true>(s, n),
            _ => m.tiles(s.half(), n),
        }
    }
}

/// Copies `n` elements with non-temporal stores, and orders these before all later ones if no more will follow.
///
/// # Safety
/// `from` and `to` must be valid for `n` elements.
#[inline(always)]
pub unsafe fn stream<S: Simd>(s: S, n: usize, from: *const S::T, to: *mut S::T, is_last: bool) {
    // Non-temporal stores need whole aligned registers.
    let head = to.align_offset(S::N * size_of::<S::T>()).min(n);
    // SAFETY: every access lies in 0..n.
    unsafe {
        if head > 0 {
            s.store_partial(to, head, s.load_partial(from, head));
        }
        let mut i = head;
        while i + S::N <= n {
            s.stream(to.add(i), s.load(from.add(i)));
            i += S::N;
        }
        if i < n {
            s.store_partial(to.add(i), n - i, s.load_partial(from.add(i), n - i));
        }
    }
    if is_last {
        s.fence();
    }
}

/// The rows and where their copies go.
#[derive(Clone, Copy)]
struct RowCopy<T> {
    rows: usize,
    x: *const T,
    inc: isize,
    out: *mut T,
    width: usize,
    prefetch: bool,
}

impl<T: Element> RowCopy<T> {
    #[inline(always)]
    fn row(self, i: usize) -> *const T {
        self.x.wrapping_offset(i as isize * self.inc)
    }

    /// Copies rows of n elements that follow one another: n registers hold N rows.
    ///
    /// # Safety
    /// The rows and their copies must be valid; there must be N rows.
    #[inline(always)]
    unsafe fn contiguous<S: Simd<T = T>, const LEN: usize>(self, s: S) {
        let last = self.rows - S::N;
        let mut i = 0;
        loop {
            let x = self.x.wrapping_add(i * LEN);
            let mut v = [s.splat(T::ZERO); MAX];
            for (r, v) in v.iter_mut().enumerate().take(LEN) {
                let p = x.wrapping_add(r * S::N);
                if self.prefetch && (r * S::N * size_of::<T>()).is_multiple_of(LINE) {
                    s.prefetch(p.wrapping_byte_add(PREFETCH_DISTANCE));
                }
                // SAFETY: the caller vouches for the rows.
                *v = unsafe { s.load(p) };
            }
            for (r, &v) in deinterleave(s, v, LEN).iter().enumerate().take(LEN) {
                let column = self.out.wrapping_add(column(r, LEN) * self.width + i);
                // SAFETY: the caller vouches for the copies.
                unsafe { s.store(column, v) };
            }
            if i == last {
                return;
            }
            // The last rows may overlap those before, so that all copies are of whole registers.
            i = last.min(i + S::N);
        }
    }

    /// Copies rows of `n` elements, each loaded by itself.
    ///
    /// # Safety
    /// As [`RowCopy::contiguous`].
    #[inline(always)]
    unsafe fn tiles<S: Simd<T = T>>(self, s: S, n: usize) {
        let mut j = 0;
        while j < n {
            let tile = Self {
                x: self.x.wrapping_add(j),
                out: self.out.wrapping_add(j * self.width),
                prefetch: self.prefetch && j == 0,
                ..self
            };
            let cols = n - j;
            // SAFETY: as the caller's.
            unsafe {
                if S::N < MAX && cols >= S::N {
                    tile.tile::<S, MAX, true>(s, cols);
                } else if cols <= MAX / 2 {
                    tile.tile::<S, { MAX / 2 }, false>(s, cols);
                } else {
                    tile.tile::<S, MAX, false>(s, cols);
                }
            }
            j += S::N;
        }
    }

    /// Copies the first min(`cols`, N, `MAX_COLS`) elements of each row; if `WHOLE`, `cols` is at least the others.
    ///
    /// # Safety
    /// As [`RowCopy::contiguous`].
    #[inline(always)]
    unsafe fn tile<S: Simd<T = T>, const MAX_COLS: usize, const WHOLE: bool>(
        self,
        s: S,
        cols: usize,
    ) {
        let max_cols = S::N.min(MAX_COLS);
        let cols = if WHOLE { max_cols } else { cols.min(max_cols) };
        let bytes = self.inc * size_of::<T>() as isize;
        let ahead = bytes * (PREFETCH_DISTANCE / bytes.unsigned_abs().max(1) + 1) as isize;
        let last = self.rows - S::N;
        let mut i = 0;
        loop {
            let mut v = [s.splat(T::ZERO); MAX];
            for (slot, v) in v.iter_mut().enumerate().take(S::N) {
                // SAFETY: the caller vouches for the rows.
                *v = unsafe {
                    if S::N > MAX {
                        let (low, high) = (s.unzip_row(2 * slot), s.unzip_row(2 * slot + 1));
                        s.load_halves(self.row(i + low), self.row(i + high))
                    } else {
                        load(s, self.row(i + s.unzip_row(slot)), cols)
                    }
                };
            }
            if self.prefetch {
                for k in 0..S::N {
                    s.prefetch(self.row(i + k).wrapping_byte_offset(ahead));
                }
            }
            // Not a loop, which the compiler might unroll too late to keep `v` in registers.
            let v = step::<S, MAX_COLS>(s, v, 4);
            let v = step::<S, MAX_COLS>(s, v, 2);
            let v = step::<S, MAX_COLS>(s, v, 1);
            for (j, &v) in v.iter().enumerate().take(max_cols) {
                if j < cols {
                    // SAFETY: the caller vouches for the copy.
                    unsafe { s.store(self.out.wrapping_add(j * self.width + i), v) };
                }
            }
            if i == last {
                return;
            }
            i = last.min(i + S::N);
        }
    }
}

/// A step of the transposition of a tile, of which the first `MAX_COLS` columns are needed: from sets of registers with
/// the elements of 2w columns each to twice as many sets.
#[inline(always)]
fn step<S: Simd, const MAX_COLS: usize>(s: S, v: [S::V; MAX], w: usize) -> [S::V; MAX] {
    let mut next = v;
    for at in (0..MAX_COLS.min(S::N)).step_by(2 * w) {
        for i in 0..w {
            if 2 * w <= S::N {
                let (low, high) = s.unzip(v[at + 2 * i], v[at + 2 * i + 1], w);
                next[at + i] = low;
                next[at + w + i] = high;
            }
        }
    }
    next
}

/// Returns the columns of N rows of `n` elements, which the first `n` registers hold one after the other. Register r has
/// column [`column`]`(r, n)`.
#[inline(always)]
fn deinterleave<S: Simd>(s: S, mut v: [S::V; MAX], n: usize) -> [S::V; MAX] {
    let mut len = n;
    while len.is_multiple_of(2) {
        let mut next = v;
        for from in (0..n).step_by(len) {
            for i in 0..len / 2 {
                let (a, b) = (v[from + 2 * i], v[from + 2 * i + 1]);
                next[from + i] = s.permute(a, b, 0, 2);
                next[from + len / 2 + i] = s.permute(a, b, 1, 2);
            }
        }
        v = next;
        len /= 2;
    }
    if len > 1 {
        for from in (0..n).step_by(len) {
            v = deinterleave_odd(s, v, from, len);
        }
    }
    v
}

/// Returns the columns in the `n` registers from `from` on, n odd: register from + j has column j.
#[inline(always)]
fn deinterleave_odd<S: Simd>(s: S, v: [S::V; MAX], from: usize, n: usize) -> [S::V; MAX] {
    // Lane l of register r has column (r * N + l) mod n. With register r at place r * N mod n this is the place plus l,
    // and l mod n places on is where the element belongs. It gets there in steps of 1, 2 and 4 places.
    let mut placed = v;
    for r in 0..n {
        placed[from + r * S::N % n] = v[from + r];
    }
    let mut step = 1;
    while step < n {
        let mut lanes = 0;
        for l in 0..S::N {
            if (l % n) & step != 0 {
                lanes |= 1 << l;
            }
        }
        let (moving, before) = (s.lanes_of(lanes), placed);
        for j in 0..n {
            let back = (j + n - step) % n;
            placed[from + j] = s.select(moving, before[from + back], before[from + j]);
        }
        step *= 2;
    }
    // The element of row i in column j is in lane (i * n + j) mod N.
    for j in 0..n {
        placed[from + j] = s.permute(placed[from + j], placed[from + j], j, n);
    }
    placed
}

/// The column in register `r` after [`deinterleave`]: each halving of the columns has put the odd ones last.
#[inline(always)]
fn column(mut r: usize, n: usize) -> usize {
    let (mut len, mut distance, mut column) = (n, 1, 0);
    while len.is_multiple_of(2) {
        len /= 2;
        column += distance * (r / len);
        r %= len;
        distance *= 2;
    }
    column + distance * r
}
