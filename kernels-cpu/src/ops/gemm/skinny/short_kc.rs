//! Products of 8 to 64 rows of C with a large B whose rows are contiguous, where the LLC is slow. B is read in place, once,
//! in slabs of 32 rows of a run of columns; the sums of the run stay in L2 from slab to slab.
//!
//! A micro-panel of B is 256 rows high, a segment of k. Where the rows are a large power of two apart, 256 of them fall on
//! 8 of the 2048 sets of L2 or fewer, which have no room for a line of each: such a B can be neither packed nor prefetched
//! one micro-panel at a time, and came at 2 to 5 GB/s. A slab of 32 rows can: measured on Emerald Rapids, 15 to 20 GB/s.

use super::super::params::{KSEG, LINE};
use super::super::routines::Routines;
use super::super::write_back::WriteBack;
use super::super::{Gemm, Microkernels, PanelA};
use super::slab::{REGISTERS, ROWS, Slab, SlabFn};
use crate::detect::Geometry;
use crate::element::Element;

/// The rows of B in a slab; they divide a segment. A slab loads and stores the sums once: 64 were up to 10 % slower, 16
/// as fast.
const STEPS: usize = 32;
/// From which row on B is prefetched, counted from a slab's first row.
const ROWS_AHEAD: usize = 16;
/// The most bytes of a row of B in a run: a page. A quarter of it was 5 to 17 % slower.
const RUN_BYTES: usize = 4 << 10;
/// The fewest and the most rows of C. With fewer than a group, `along_n` has no sums to load and store; with more, packing
/// B costs little.
const FEWEST: usize = ROWS;
const MOST: usize = 64;

/// Whether this is the way to compute `p` on such a machine: if B does not stay in L2 beside what else is there, and its rows
/// are long enough for the prefetches.
pub fn pays<T>(geometry: &Geometry, microkernels: &Microkernels<T>, p: &Gemm<T>) -> bool {
    /// The fewest bytes of a row of B.
    const MIN_ROW_BYTES: usize = 1 << 10;
    /// The fewest steps of k: with fewer, C is nearly as large as B, or larger.
    const MIN_K: usize = 64;
    let row = p.n.saturating_mul(size_of::<T>());
    geometry.has_slow_llc()
        && microkernels.slab.is_some()
        && (FEWEST..=MOST).contains(&p.m)
        && p.b.cs == 1
        && p.k >= MIN_K
        && row >= MIN_ROW_BYTES
        && row.saturating_mul(p.k) > geometry.l2 / 2
}

/// Computes the product. `block` is scratch memory of `bytes` bytes; returns whether that sufficed.
///
/// # Safety
/// As [`super::run`]; it must be a product for which this [`pays`] on some machine.
pub unsafe fn run<T: Element>(
    routines: &Routines<T>,
    p: &Gemm<T>,
    block: *mut u8,
    bytes: usize,
) -> bool {
    let Some(kernel) = routines.microkernels.slab else {
        return false;
    };
    let piece = REGISTERS * routines.microkernels.widths.lanes;
    let groups = p.m.div_ceil(ROWS);
    let align = block.align_offset(LINE).min(bytes);
    // Packing may write a register past the end of A, into the copy, which is written later.
    let (a, copy) = (groups * ROWS * KSEG, STEPS * piece);
    let room = ((bytes - align) / size_of::<T>()).saturating_sub(a + copy);
    let most = room
        .checked_div(groups * ROWS)
        .unwrap_or(0)
        .min(RUN_BYTES / size_of::<T>());
    // `piece` is a power of two.
    let most = most & !(piece - 1);
    if most == 0 || p.n < piece {
        return false;
    }
    // Runs of about equal length.
    let runs = p.n.div_ceil(most).max(1);
    let columns = (p.n.div_ceil(runs) + piece - 1) & !(piece - 1);
    let packed = block.wrapping_add(align).cast::<T>();
    let mut j = 0;
    while j < p.n {
        let run = SlabRun {
            routines,
            kernel,
            p,
            j,
            columns: columns.min(p.n - j),
            groups,
            packed,
            copy: packed.wrapping_add(a),
            sums: packed.wrapping_add(a + copy),
        };
        // SAFETY: as the caller's; there is room for a segment of A, a piece of B and the sums of a run.
        unsafe { run.segments() };
        j += columns;
    }
    true
}

/// A run of columns.
struct SlabRun<'a, T: 'static> {
    routines: &'a Routines<T>,
    kernel: SlabFn<T>,
    p: &'a Gemm<T>,
    /// The first column, and how many.
    j: usize,
    columns: usize,
    /// The groups of [`ROWS`] rows. The last one ends with C, and so may overlap the one before: a kernel for each number
    /// of rows would take more code than it saves time.
    groups: usize,
    /// Room for a segment of A, for a piece of a slab of B, and for the sums.
    packed: *mut T,
    copy: *mut T,
    sums: *mut T,
}

impl<T: Element> SlabRun<'_, T> {
    /// Computes the run, segment by segment.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn segments(&self) {
        let mut pc = 0;
        while pc < self.p.k {
            let kc = KSEG.min(self.p.k - pc);
            // SAFETY: as the caller's.
            unsafe {
                self.pack(pc, kc);
                self.segment(pc, kc);
                self.update(WriteBack::new(self.p, pc == 0, pc + kc == self.p.k));
            }
            pc += kc;
        }
    }

    /// The columns of a piece.
    #[inline(always)]
    fn piece(&self) -> usize {
        REGISTERS * self.routines.microkernels.widths.lanes
    }

    /// The first row of a group.
    #[inline(always)]
    fn first_row(&self, group: usize) -> usize {
        (group * ROWS).min(self.p.m - ROWS)
    }

    /// Packs the segment of `kc` steps of A from `pc` on, slab by slab.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn pack(&self, pc: usize, kc: usize) {
        let p = self.p;
        let mut out = self.packed;
        for q in (0..kc).step_by(STEPS) {
            let steps = STEPS.min(kc - q);
            for group in 0..self.groups {
                let a = PanelA::in_place(&p.a, self.first_row(group), pc + q);
                // SAFETY: as the caller's; there is room for the segment, and for a register more.
                unsafe { (self.routines.pack_a)(a, ROWS, steps, out) };
                out = out.wrapping_add(ROWS * steps);
            }
        }
    }

    /// Computes the sums of the segment, whose A has been packed.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn segment(&self, pc: usize, kc: usize) {
        let Self { p, groups, .. } = *self;
        let pieces = self.columns.div_ceil(self.piece().max(1));
        let row = |k: usize, j: usize| p.b.ptr.wrapping_offset(k as isize * p.b.rs).wrapping_add(j);
        for q in (0..kc).step_by(STEPS) {
            let (k, steps) = (pc + q, STEPS.min(kc - q));
            let slab = Slab {
                steps,
                a: self.packed.wrapping_add(q * groups * ROWS),
                groups,
                b: row(k, self.j),
                b_rs: p.b.rs,
                // After the last rows of this run, the first of the next; in the last run, lines that are in L1.
                ahead: if k + ROWS_AHEAD + steps <= p.k {
                    row(k + ROWS_AHEAD, self.j)
                } else if self.j + self.columns < p.n {
                    row(0, self.j + self.columns)
                } else {
                    row(k, self.j)
                },
                pieces,
                last: self.columns as isize - self.piece() as isize,
                sums: self.sums,
                continues: q > 0,
                copy: self.copy,
            };
            // SAFETY: as the caller's; the first slab writes the sums. A piece before the run's first column lies in B, which
            // is at least a piece wide.
            unsafe { (self.kernel)(&slab) };
        }
    }

    /// Updates the run of C with the sums.
    ///
    /// # Safety
    /// The sums must have been written.
    unsafe fn update(&self, to: WriteBack<'_, T>) {
        let piece = self.piece();
        let to = to.with_pitch(piece).of_unscaled_sums();
        let mut sums = self.sums;
        let mut column = 0;
        while column < self.columns {
            let columns = piece.min(self.columns - column);
            for group in 0..self.groups {
                // What the last piece and the last group share with those before has been written.
                let row = group * ROWS;
                let skip = (row - self.first_row(group)) * piece + (piece - columns);
                let rows = ROWS.min(self.p.m - row);
                // SAFETY: the caller vouches for the sums.
                unsafe {
                    let sums = sums.add(skip);
                    (self.routines.write_back)(&to, sums, rows, (row, self.j + column), columns);
                }
                sums = sums.wrapping_add(ROWS * piece);
            }
            column += piece;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::agreement::{Layout, agrees};
    use super::super::super::params;
    use super::*;
    use crate::dispatch::Kernels;
    use crate::level::Level;
    use crate::matrix::Matrix;

    const EMERALD_RAPIDS: Geometry = Geometry {
        l1: 48 << 10,
        l2: 2 << 20,
        llc: 300 << 20,
        double_pumps_avx512: false,
    };
    const ZEN_5: Geometry = Geometry {
        l2: 1 << 20,
        llc: 32 << 20,
        ..EMERALD_RAPIDS
    };

    /// Every number of rows, with pieces, runs and slabs that are whole and that are not, has the bits of the five loops.
    fn all_sizes<T: Element>(level: Level) {
        let routines = Kernels::<T>::new(level).gemm();
        if routines.microkernels.slab.is_none() {
            return;
        }
        let piece = REGISTERS * routines.microkernels.widths.lanes;
        let run = RUN_BYTES / size_of::<T>();
        let widths = [piece, piece + 1, 3 * piece - 1, run, run + 1, run + piece];
        let depths = [1, 31, 32, 33, 64, 255, 256, 257, 300, 513];
        for m in FEWEST..=MOST {
            for (other, (n, k)) in widths
                .into_iter()
                .flat_map(|n| depths.map(|k| (n, k)))
                .enumerate()
            {
                // All combinations would take minutes.
                if (m + other) % 11 != 0 {
                    continue;
                }
                let layout = Layout::new((m, n, k), m + other / 11);
                let room = params::scratch_bytes::<T>(m.max(n), k).expect("small");
                // The least: one piece.
                let rows = m.div_ceil(ROWS) * ROWS;
                let least = LINE + (rows * (KSEG + piece) + STEPS * piece) * size_of::<T>();
                for bytes in [room.max(least), least] {
                    agrees::<T>(level, layout, bytes, |p, block| {
                        // SAFETY: the machine has the level; the arrays hold the matrices.
                        unsafe { super::run(routines, p, block, bytes) }
                    });
                }
            }
        }
    }

    #[test]
    fn slabs_and_microkernels_agree() {
        for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
            all_sizes::<f32>(level);
            all_sizes::<f64>(level);
        }
    }

    /// It is for a B of more than half an L2 whose LLC is slow, and leaves other machines as they are.
    #[test]
    fn pays_where_the_llc_is_slow() {
        if !Level::Avx512.is_available() {
            return;
        }
        let microkernels = &Kernels::<f32>::new(Level::Avx512).gemm().microkernels;
        let pays = |geometry: &Geometry, (m, n, k): (usize, usize, usize)| {
            let p = Gemm {
                m,
                n,
                k,
                alpha: 1.0,
                a: Matrix::new(core::ptr::null(), k as isize, 1),
                b: Matrix::new(core::ptr::null(), n as isize, 1),
                beta: 0.0,
                c: Matrix::new(core::ptr::null_mut(), n as isize, 1),
                epilogue: super::super::super::Epilogue::NONE,
            };
            super::pays(geometry, microkernels, &p)
        };
        for m in [8, 9, 33, 64] {
            assert!(pays(&EMERALD_RAPIDS, (m, 1024, 1024)));
            assert!(!pays(&EMERALD_RAPIDS, (m, 512, 512)));
            assert!(!pays(&EMERALD_RAPIDS, (m, 128, 65536)));
            assert!(!pays(&ZEN_5, (m, 4096, 4096)));
        }
        assert!(!pays(&EMERALD_RAPIDS, (7, 1024, 1024)));
        assert!(!pays(&EMERALD_RAPIDS, (65, 1024, 1024)));
    }
}
