//! The microkernel for a large B whose columns are contiguous: it reads B in place and transposes it in registers.

use core::ptr::without_provenance;

use super::super::markers::{Cached, Whole};
use super::super::microkernel::{MicrokernelArgs, PanelB, opaque, update_c};
use super::super::params::LINE;
use super::super::transpose::{MAX_LANES, finish, load_rows};
use crate::element::Element;
use crate::simd::Simd;

/// Computes a micro-tile of `MR` rows and `NB` registers over one segment of k. A is packed, `MR` elements at each step
/// of k. B has contiguous columns: `b.rs` is the stride between them. Its last `args.kc % S::N` steps are read from
/// `args.packed` instead, packed. `next` is the address of the B of the microkernel that runs next, to prefetch it, or
/// 0.
///
/// # Safety
/// `a` must hold `args.kc` steps of `MR` elements, `b` as many of `NB * S::N` columns, `args.packed` the last of them,
/// and `c` the micro-tile.
#[inline(always)]
// Indices, because iterators over `acc` can keep it in memory.
#[allow(clippy::needless_range_loop)]
pub unsafe fn along_k<S: Simd, const MR: usize, const NB: usize>(
    s: S,
    args: &MicrokernelArgs<S::T>,
    mut a: *const S::T,
    b: PanelB<S::T>,
    c: *mut S::T,
    next: usize,
) {
    // 32 registers hold a block of whole registers beside the sums: then each cache line of B is read once. This
    // matters where the distance between columns maps all of them to the same set of L1.
    let half = NB > 1 || size_of::<S::V>() < LINE;
    let steps = if half { S::N / 2 } else { S::N };
    let mut acc = [[s.splat(S::T::ZERO); NB]; MR];
    let mut p = b.p;
    let mut lines = Lines::new::<S>(next, b.rs, steps);
    for _ in 0..args.kc / S::N * (S::N / steps) {
        if next != 0 {
            lines.prefetch(s);
        }
        // SAFETY: the caller vouches for these columns and the elements of A at these steps.
        unsafe {
            add_block::<S, MR, NB, 0>(s, &mut acc, a, PanelB { p, ..b }, half);
            if NB == 2 {
                add_block::<S, MR, NB, 1>(s, &mut acc, a, PanelB { p, ..b }, half);
            }
        }
        p = p.wrapping_add(steps);
        a = a.wrapping_add(steps * MR);
    }
    let mut last = args.packed.cast_const();
    for _ in 0..args.kc % S::N {
        for i in 0..MR {
            // SAFETY: the caller vouches for the packed steps.
            unsafe {
                let a = s.splat(*a.add(i));
                for v in 0..NB {
                    acc[i][v] = s.fma(a, s.load(last.add(v * S::N)), acc[i][v]);
                }
            }
        }
        last = last.wrapping_add(NB * S::N);
        a = a.wrapping_add(MR);
    }
    // SAFETY: the caller vouches for the micro-tile.
    unsafe { update_c::<S, MR, NB, Whole, Cached>(s, args, acc, c, 0) };
}

/// Adds the products of N steps of k, or of N / 2 if `half`, to the sums of register `V`.
///
/// # Safety
/// `a` must hold these steps, `b` as many of the columns.
#[inline(always)]
unsafe fn add_block<S: Simd, const MR: usize, const NB: usize, const V: usize>(
    s: S,
    acc: &mut [[S::V; NB]; MR],
    a: *const S::T,
    b: PanelB<S::T>,
    half: bool,
) {
    // Otherwise the compiler would keep an address for each column.
    let rs = opaque(&b.rs);
    let first = b.p.wrapping_offset((V * S::N) as isize * rs);
    // SAFETY: as the caller's; a reference is valid to read.
    unsafe {
        // Otherwise the compiler would keep each splat element of A for the second register.
        let a = if V > 0 {
            core::ptr::read_volatile(&a)
        } else {
            a
        };
        let block = load_rows(s, first, rs, half);
        add_columns::<S, MR, NB, V>(s, acc, a, finish(s, block, 0));
        if !half {
            // Not before, so that it is transposed while the products of the first half are added.
            let rest = finish(s, block, S::N / 2);
            add_columns::<S, MR, NB, V>(s, acc, a.add(S::N / 2 * MR), rest);
        }
    }
}

/// Adds the products of the first N / 2 of `columns` with as many steps of A.
///
/// # Safety
/// `a` must hold these steps.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
unsafe fn add_columns<S: Simd, const MR: usize, const NB: usize, const V: usize>(
    s: S,
    acc: &mut [[S::V; NB]; MR],
    a: *const S::T,
    columns: [S::V; MAX_LANES],
) {
    for j in 0..MAX_LANES / 2 {
        if j < S::N / 2 {
            for i in 0..MR {
                // SAFETY: the caller vouches for this element.
                let a = s.splat(unsafe { *a.add(j * MR + i) });
                acc[i][V] = s.fma(a, columns[j], acc[i][V]);
            }
        }
    }
}

/// The cache lines that are prefetched: those of the columns of one register, the first lines of all columns first.
struct Lines<T> {
    p: *const T,
    rs: isize,
    /// The columns at each turn, the turns for a line of all columns, and the turns left for this line.
    columns: usize,
    turns: usize,
    left: usize,
}

impl<T> Lines<T> {
    /// The lines at `next`, for turns of `steps` steps of k.
    #[inline(always)]
    fn new<S: Simd<T = T>>(next: usize, rs: isize, steps: usize) -> Self {
        let turns = LINE / (steps * size_of::<T>());
        Self {
            p: without_provenance(next),
            rs,
            columns: S::N / turns,
            turns,
            left: turns,
        }
    }

    #[inline(always)]
    fn prefetch<S: Simd<T = T>>(&mut self, s: S) {
        for _ in 0..self.columns {
            s.prefetch_far(self.p);
            self.p = self.p.wrapping_offset(self.rs);
        }
        self.left -= 1;
        if self.left == 0 {
            self.left = self.turns;
            let line = self.p.wrapping_byte_add(LINE);
            self.p = line.wrapping_offset(-(S::N as isize) * self.rs);
        }
    }
}
