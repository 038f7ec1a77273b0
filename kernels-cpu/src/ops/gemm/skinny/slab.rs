//! The kernel of [`short_kc`](super::short_kc): adds the products of a slab, a few dozen steps of k, to the sums of a
//! run of columns.

use super::super::params::LINE;
use crate::element::Element;
use crate::simd::Simd;

/// The rows of a tile of sums, and the registers in each.
pub const ROWS: usize = 8;
pub const REGISTERS: usize = 2;

/// A compiled [`slab`].
pub type SlabFn<T> = unsafe fn(&Slab<T>);

/// The arguments of a slab over a run. The rows of C are cut into groups of [`ROWS`], and the columns of the run into pieces of
/// [`REGISTERS`] registers.
pub struct Slab<T> {
    /// Steps of k.
    pub steps: usize,
    /// A, packed: for each group in turn, at each step, the elements of its rows.
    pub a: *const T,
    pub groups: usize,
    /// B at the first step, at the first column of the run.
    pub b: *const T,
    pub b_rs: isize,
    /// The rows of B that are prefetched, from the first column on, `b_rs` apart. They need not be valid.
    pub ahead: *const T,
    pub pieces: usize,
    /// The column at which the last piece begins: it ends with the run, and so may overlap the one before.
    pub last: isize,
    /// The sums: a tile for each piece and group, in this order, whose rows are contiguous.
    pub sums: *mut T,
    /// Whether the slab continues the chains in the sums; if not, it begins them from +0.
    pub continues: bool,
    /// Room for a piece of B: its steps, each of [`REGISTERS`] registers.
    pub copy: *mut T,
}

/// Adds the products of the slab to the sums, or begins them. The first group reads a piece of
/// B in place, prefetches as many lines of the rows ahead, and copies the piece for the other groups: in B its rows may
/// all fall on a few sets of L1, and would not stay there.
///
/// # Safety
/// A and B must have these rows, columns and steps, and the sums must have been written if the slab continues them.
#[inline(always)]
pub unsafe fn slab<S: Simd>(s: S, f: &Slab<S::T>) {
    let columns = REGISTERS * S::N;
    let (mut sums, mut column) = (f.sums, 0);
    for piece in 1..=f.pieces {
        if piece == f.pieces {
            column = f.last;
        }
        // SAFETY: as the caller's; there is room for the copy.
        unsafe {
            let b = (f.b.wrapping_offset(column), f.b_rs);
            let ahead = f.ahead.wrapping_offset(column);
            add::<S, true>(s, f, (f.a, sums), b, ahead);
            for group in 1..f.groups {
                let a = f.a.wrapping_add(group * ROWS * f.steps);
                sums = sums.wrapping_add(ROWS * columns);
                let copy = (f.copy.cast_const(), columns as isize);
                add::<S, false>(s, f, (a, sums), copy, ahead);
            }
        }
        sums = sums.wrapping_add(ROWS * columns);
        column += columns as isize;
    }
}

/// Adds the products of a piece of B to the sums of a group; if `IS_FIRST`, also prefetches and copies.
///
/// # Safety
/// As [`slab`], for this group and piece.
#[inline(always)]
// Indices, because iterators over `acc` can keep it in memory.
#[allow(clippy::needless_range_loop)]
unsafe fn add<S: Simd, const IS_FIRST: bool>(
    s: S,
    f: &Slab<S::T>,
    (mut a, sums): (*const S::T, *mut S::T),
    (mut b, b_rs): (*const S::T, isize),
    mut ahead: *const S::T,
) {
    let mut acc = [[s.splat(S::T::ZERO); REGISTERS]; ROWS];
    let mut copy = f.copy;
    // SAFETY: the caller vouches for A, B, the sums and the room.
    unsafe {
        if f.continues {
            for row in 0..ROWS {
                for v in 0..REGISTERS {
                    acc[row][v] = s.load(sums.wrapping_add((row * REGISTERS + v) * S::N));
                }
            }
        }
        for _ in 0..f.steps {
            let mut row_of_b = [s.splat(S::T::ZERO); REGISTERS];
            for v in 0..REGISTERS {
                row_of_b[v] = s.load(b.wrapping_add(v * S::N));
                if IS_FIRST {
                    s.store(copy.wrapping_add(v * S::N), row_of_b[v]);
                }
            }
            if IS_FIRST {
                for line in (0..REGISTERS * S::N * size_of::<S::T>()).step_by(LINE) {
                    s.prefetch_far(ahead.wrapping_byte_add(line));
                }
                ahead = ahead.wrapping_offset(b_rs);
                copy = copy.wrapping_add(REGISTERS * S::N);
            }
            for row in 0..ROWS {
                let scalar = s.splat(*a.wrapping_add(row));
                for v in 0..REGISTERS {
                    acc[row][v] = s.fma(scalar, row_of_b[v], acc[row][v]);
                }
            }
            a = a.wrapping_add(ROWS);
            b = b.wrapping_offset(b_rs);
        }
        for row in 0..ROWS {
            for v in 0..REGISTERS {
                s.store(sums.wrapping_add((row * REGISTERS + v) * S::N), acc[row][v]);
            }
        }
    }
}
