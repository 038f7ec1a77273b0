//! The register tile: MR rows by NV registers of C, over one segment of k.
//!
//! Each size is a function of its own (`table.rs` lists them per level): inlined into the block
//! loops, the largest tile would share its registers with them and spill.

use core::ptr::without_provenance;

use super::few::Few;
use super::params::{LINE, MAX_MR};
use super::split::Split;
use crate::element::Element;
use crate::simd::Simd;

/// Rows of A, in place or packed.
#[derive(Clone, Copy)]
pub struct Left<T> {
    pub p: *const T,
    pub rs: isize,
    pub cs: isize,
}

/// Columns of B, in place or packed: neighbours at each step of k, `rs` elements on.
#[derive(Clone, Copy)]
pub struct Right<T> {
    pub p: *const T,
    pub rs: isize,
}

/// What tiles next to each other have in common. It lies in memory; what differs is passed in registers: a
/// tile would start late if it had to read what has just been written.
#[derive(Clone, Copy)]
pub struct Common<T> {
    /// Steps of k.
    pub depth: usize,
    /// From a row of A to the next, and from a column.
    pub a_rs: isize,
    pub a_cs: isize,
    /// From a row of c to the next. Rows are contiguous.
    pub out_rs: isize,
    /// Bytes from a line that [`AHEAD`] asks for to the next.
    pub ahead: isize,
    /// Where [`COPY`] writes B, one step after the other.
    pub copy: *mut T,
    pub update: Update,
    pub alpha: T,
    pub beta: T,
}

/// What becomes of the sums s of a tile. As large as a pointer, or the compiler would load it together with
/// alpha into a vector register, where its test waits for the arithmetic.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Update {
    /// c = s: alpha is 1, c is not read.
    Plain,
    /// c = alpha s: c is not read.
    Scaled,
    /// c = fma(alpha, s, beta c).
    Added,
}

impl Update {
    #[inline(always)]
    pub fn new<T: Element>(alpha: T, beta: T) -> Self {
        if beta != T::ZERO {
            Self::Added
        } else if alpha != T::ONE {
            Self::Scaled
        } else {
            Self::Plain
        }
    }
}

/// All registers of a tile are full.
pub const FULL: u8 = 0;
/// The last register of a tile has a mask.
pub const EDGE: u8 = 1;
/// A tile has at most half a register of columns more: see [`Few`]. Without others, they are a register of
/// half the size with a mask.
pub const HALF: u8 = 2;
/// All registers of a tile are full, and at each step it asks for a line of memory for those who come after:
/// at the address `last` and on from there.
pub const AHEAD: u8 = 3;
/// As [`HALF`], a quarter.
pub const QUARTER: u8 = 4;
/// All registers of a tile are full and go past the caches: beta is 0, c aligned to registers. A fence
/// must follow.
pub const STREAM: u8 = 5;
/// A tile has at most half a register of columns more, in registers of half the size: see [`Split`].
pub const SPLIT: u8 = 6;
/// All registers of a tile are full, and what it reads of B is written to contiguous memory for those that come
/// after: stores are idle otherwise, and a pass before the tiles would wait for B with nothing to compute.
pub const COPY: u8 = 7;

/// The rows of A at a step of k, three to a pointer, which x86 addresses as p, p + rs, p + 2 rs.
pub struct Steps<T> {
    rows: [*const T; MAX_MR.div_ceil(3)],
    strides: [isize; MAX_MR.div_ceil(3)],
}

impl<T> Steps<T> {
    /// The rows from `a` on. See [`again`] for `stride`.
    #[inline(always)]
    pub fn new(a: *const T, stride: impl Fn() -> isize) -> Self {
        let strides = [0; MAX_MR.div_ceil(3)].map(|_| stride());
        let mut rows = [a; MAX_MR.div_ceil(3)];
        for (r, row) in rows.iter_mut().enumerate() {
            *row = a.wrapping_offset(3 * r as isize * strides[r]);
        }
        Self { rows, strides }
    }

    #[inline(always)]
    pub fn row(&self, i: usize) -> *const T {
        self.rows[i / 3].wrapping_offset((i % 3) as isize * self.strides[i / 3])
    }

    #[inline(always)]
    pub fn next(&mut self, cs: isize) {
        for row in &mut self.rows {
            *row = row.wrapping_offset(cs);
        }
    }
}

/// Runs a tile of `MR` rows and `NV` registers; of the last one of an edge, and of few columns more, only `last`
/// are read and written.
///
/// # Safety
/// `a` and `b` must hold `depth` steps, and `out` the rows, of the tile's columns; with [`COPY`], `t.copy` must
/// have room for `depth` steps of whole registers.
#[inline(always)]
// Plain indices: iterators over `acc` can keep it in memory, and then each step stores it.
#[allow(clippy::needless_range_loop)]
pub unsafe fn tile<S: Simd, const MR: usize, const NV: usize, const END: u8>(
    s: S,
    t: &Common<S::T>,
    a: *const S::T,
    b: Right<S::T>,
    out: *mut S::T,
    last: usize,
) {
    if NV == 0 {
        // SAFETY: as the caller's.
        return unsafe { tile::<S::Half, MR, 1, EDGE>(s.half(), t, a, b, out, last) };
    }
    // What goes past the caches is not to be read first.
    for i in 0..if END == STREAM { 0 } else { MR } {
        let row = out.wrapping_offset(i as isize * t.out_rs);
        for line in (0..(NV * S::N * size_of::<S::T>())).step_by(LINE) {
            s.prefetch(row.wrapping_byte_add(line));
        }
    }
    let mut acc = [[s.splat(S::T::ZERO); NV]; MR];
    let mut few = Few::<S, MR, END>::new(s);
    let mut rows = Steps::new(a, || again(&t.a_rs));
    let mut split = Split::<S, MR>::new(s, a, || match END {
        SPLIT => again(&t.a_rs),
        _ => 0,
    });
    let mut bp = b.p;
    let mut line = without_provenance::<S::T>(last);
    let mut copy = if END == COPY {
        t.copy
    } else {
        core::ptr::null_mut()
    };
    for _ in 0..t.depth {
        if END == AHEAD {
            s.prefetch_far(line);
            line = line.wrapping_byte_offset(t.ahead);
        }
        let mut right = [s.splat(S::T::ZERO); NV];
        for v in 0..NV {
            let end = END == EDGE && v + 1 == NV;
            // SAFETY: the caller vouches for the columns at each step.
            right[v] = unsafe { load(s, bp.add(v * S::N), end, last) };
            if END == COPY {
                // SAFETY: the caller vouches for room for each step.
                unsafe { s.store(copy.add(v * S::N), right[v]) };
            }
        }
        if END == COPY {
            copy = copy.wrapping_add(NV * S::N);
        }
        if Few::<S, MR, END>::ARE_SOME {
            // SAFETY: as above.
            unsafe { few.start(s, bp.add(NV * S::N), last) };
        }
        for i in 0..MR {
            // SAFETY: row i of the tile has an element at each step.
            let left = s.splat(unsafe { *rows.row(i) });
            for v in 0..NV {
                acc[i][v] = s.fma(left, right[v], acc[i][v]);
            }
            if Few::<S, MR, END>::ARE_SOME {
                few.row(s, i, left);
            }
        }
        if END == SPLIT {
            // SAFETY: as above.
            unsafe { split.step(s, bp.add(NV * S::N), last, t.a_cs) };
        }
        rows.next(t.a_cs);
        bp = bp.wrapping_offset(b.rs);
    }
    // SAFETY: the caller vouches for the rows and columns.
    unsafe {
        write::<_, MR, NV, END>(s, t, acc, out, last);
        if Few::<S, MR, END>::ARE_SOME {
            let mut acc = [[s.splat(S::T::ZERO)]; MR];
            for i in 0..MR {
                acc[i][0] = few.sums(s, i);
            }
            write::<_, MR, 1, EDGE>(s, t, acc, out.wrapping_add(NV * S::N), last);
        }
        if END == SPLIT {
            let to = out.wrapping_add(NV * S::N);
            write::<_, MR, 1, EDGE>(s.half(), t, split.sums(), to, last);
        }
    }
}

/// The end of [`tile`]: from its sums to c.
///
/// # Safety
/// As [`tile`].
#[inline(always)]
#[allow(clippy::needless_range_loop)]
unsafe fn write<S: Simd, const MR: usize, const NV: usize, const END: u8>(
    s: S,
    t: &Common<S::T>,
    mut acc: [[S::V; NV]; MR],
    out: *mut S::T,
    last: usize,
) {
    let (alpha, beta) = (s.splat(t.alpha), s.splat(t.beta));
    let out_rs = again(&t.out_rs);
    if t.update == Update::Scaled {
        for row in &mut acc {
            for sum in row {
                *sum = s.mul(alpha, *sum);
            }
        }
    }
    // What an edge stores is kept apart: a loop over partial stores is not unrolled, and with it `acc`
    // would be in memory.
    let mut ends = [alpha; MR];
    for i in 0..MR {
        let row = out.wrapping_offset(i as isize * out_rs);
        for v in 0..NV {
            let (p, end) = (row.wrapping_add(v * S::N), END == EDGE && v + 1 == NV);
            // SAFETY: the caller vouches for these columns of row i.
            unsafe {
                let c = if t.update == Update::Added {
                    s.fma(alpha, acc[i][v], s.mul(beta, load(s, p, end, last)))
                } else {
                    acc[i][v]
                };
                if end {
                    ends[i] = c;
                } else if END == STREAM {
                    s.stream(p, c);
                } else {
                    s.store(p, c);
                }
            }
        }
    }
    if END == EDGE {
        let column = out.wrapping_add((NV - 1) * S::N);
        for (i, &end) in ends.iter().enumerate() {
            let p = column.wrapping_offset(i as isize * out_rs);
            // SAFETY: the caller vouches for the last columns of row i.
            unsafe { s.store_partial(p, last, end) };
        }
    }
}

/// A stride that the compiler takes for another one each time. Otherwise it would compute each row's
/// address from the one before in every step, or keep addresses on the stack for the end of the tile: every
/// store counts, since those of a whole tile fill most of the processor's queue of them.
#[inline(always)]
fn again(stride: &isize) -> isize {
    // SAFETY: a reference is valid to read.
    unsafe { core::ptr::read_volatile(stride) }
}

/// A register of a tile's row; at the end of an edge only the `last` columns that there are.
///
/// # Safety
/// `p` must be valid for them.
#[inline(always)]
unsafe fn load<S: Simd>(s: S, p: *const S::T, end: bool, last: usize) -> S::V {
    // SAFETY: as the caller's.
    unsafe {
        if end {
            s.load_partial(p, last)
        } else {
            s.load(p)
        }
    }
}
