//! The microkernel of all instructions that multiply words lane by lane and add the products to sums: a word of A, in all
//! lanes, times words of B, one of each column.

use super::routines::Tile;
use crate::array::from_fn;

/// An instruction that multiplies words of two packed panels, on one level.
pub trait Dot: 'static {
    /// What a lane multiplies: some steps of one row of A or of one column of B.
    type Word: Copy;
    /// A sum.
    type Sum: Copy;
    /// A register of sums.
    type Sums: Copy;
    /// A register of words, one for each sum.
    type Words: Copy;
    /// The sums in a register.
    const LANES: usize;

    /// Zeros.
    ///
    /// # Safety
    /// The machine must have the instruction, as for all of these.
    unsafe fn zero() -> Self::Sums;
    /// # Safety
    /// `p` must be valid for reading a register.
    unsafe fn load_sums(p: *const Self::Sum) -> Self::Sums;
    /// # Safety
    /// `p` must be valid for writing a register.
    unsafe fn store_sums(p: *mut Self::Sum, v: Self::Sums);
    /// a + b, modulo 2^bits.
    ///
    /// # Safety
    /// As [`Dot::zero`].
    unsafe fn add(a: Self::Sums, b: Self::Sums) -> Self::Sums;
    /// # Safety
    /// `p` must be valid for reading a register.
    unsafe fn load(p: *const Self::Word) -> Self::Words;
    /// # Safety
    /// As [`Dot::zero`].
    unsafe fn splat(word: Self::Word) -> Self::Words;
    /// sums + the sum of the products of the steps of a and b, modulo 2^bits.
    ///
    /// # Safety
    /// As [`Dot::zero`].
    unsafe fn dot(sums: Self::Sums, a: Self::Words, b: Self::Words) -> Self::Sums;
}

/// Computes a micro-tile of MR rows and NV registers of columns. The panel of A has the words of all rows of a group of
/// steps, then the next group; that of B the same of its columns, after the sums that it starts from, if `HAS_START`.
///
/// # Safety
/// As the microkernel of [`Routines`](super::Routines).
#[inline(always)]
pub unsafe fn microkernel<D: Dot, const MR: usize, const NV: usize, const HAS_START: bool>(
    tile: &Tile,
    groups: usize,
) {
    let mut b = tile.b;
    let start: [D::Sums; NV] = from_fn(|v| {
        if HAS_START {
            D::load_sums(b.cast::<D::Sum>().add(v * D::LANES))
        } else {
            D::zero()
        }
    });
    if HAS_START {
        b = b.add(NV * D::LANES * size_of::<D::Sum>());
    }
    let (mut a, mut b) = (tile.a.cast::<D::Word>(), b.cast::<D::Word>());
    let mut sums = [start; MR];
    for _ in 0..groups {
        let words: [D::Words; NV] = from_fn(|v| D::load(b.add(v * D::LANES)));
        for (i, sums) in sums.iter_mut().enumerate() {
            let word = D::splat(*a.add(i));
            for v in 0..NV {
                sums[v] = D::dot(sums[v], word, words[v]);
            }
        }
        (a, b) = (a.add(MR), b.add(NV * D::LANES));
    }
    write_sums::<D, MR, NV>(tile, &sums);
}

/// Writes the sums of a micro-tile, or adds them to those that are there.
///
/// # Safety
/// As the microkernel of [`Routines`](super::Routines).
#[inline(always)]
pub unsafe fn write_sums<D: Dot, const MR: usize, const NV: usize>(
    tile: &Tile,
    sums: &[[D::Sums; NV]; MR],
) {
    for (i, sums) in sums.iter().enumerate() {
        let row = tile
            .sums
            .wrapping_offset(i as isize * tile.sums_rs)
            .cast::<D::Sum>();
        for (v, &sum) in sums.iter().enumerate() {
            let to = row.add(v * D::LANES);
            D::store_sums(
                to,
                if tile.adds {
                    D::add(D::load_sums(to), sum)
                } else {
                    sum
                },
            );
        }
    }
}

/// Defines the microkernel of an instruction for micro-tiles of any of these rows and registers of columns, as `run`.
macro_rules! microkernels {
    ($Dot:ty, steps $steps:expr, start $start:expr, $features:meta, rows $rows:tt, registers $registers:tt) => {
        use crate::ops::mixed::routines::Tile;
        use crate::ops::mixed::words::{Dot, microkernel};

        #[$features]
        unsafe fn tile<const MR: usize, const NV: usize>(tile: &Tile, groups: usize) {
            // SAFETY: as the caller's.
            unsafe { microkernel::<$Dot, MR, NV, { $start }>(tile, groups) }
        }

        /// # Safety
        /// As the microkernel of [`Routines`](crate::ops::mixed::Routines).
        #[cfg_attr(not(precompiled), inline)]
        pub unsafe fn run(of: &Tile) {
            let lanes = const { <$Dot as Dot>::LANES };
            let run = crate::ops::mixed::words::choose!(
                of.rows,
                of.columns.div_ceil(lanes),
                $rows,
                $registers
            );
            // SAFETY: as the caller's.
            unsafe { run(of, of.kc.div_ceil($steps)) }
        }
    };
}
pub(crate) use microkernels;

/// The function `tile` for some rows and registers of columns; more than any in the lists count as the last.
macro_rules! choose {
    ($m:expr, $n:expr, [$($rows:literal)*], $registers:tt) => {{
        type Run = unsafe fn(&Tile, usize);
        const M: usize = [$($rows),*].len();
        const N: usize = $crate::ops::mixed::words::choose!(@count $registers);
        const ALL: [[Run; N]; M] = [$($crate::ops::mixed::words::choose!(@row $rows $registers)),*];
        ALL[($m - 1).min(M - 1)][($n - 1).min(N - 1)]
    }};
    (@count [$($registers:literal)*]) => {
        [$($registers),*].len()
    };
    (@row $rows:literal [$($registers:literal)*]) => {
        [$(tile::<$rows, $registers> as Run),*]
    };
}
pub(crate) use choose;
