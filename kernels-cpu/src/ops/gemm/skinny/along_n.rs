//! Products with a large B whose rows are contiguous. B is read in place, once: sweep after sweep over a run of
//! columns, a few rows of B at a time. The sums of the run, a row for each row of C, stay in L1 for a segment of k.
//!
//! The rows of B in a sweep are as many streams, of a page each, which suits the hardware prefetchers and the TLB
//! better than the short pieces of 256 rows that make up a micro-panel.

use super::super::params::{KSEG, LINE};
use super::super::product::Epilogue;
use super::super::routines::Routines;
use super::super::write_back::WriteBack;
use super::super::{Gemm, Microkernels};
use super::from_memory;
use super::sweep::{FROM_CACHE_STEPS, FROM_MEMORY_STEPS, ONE_ROW_STEPS, Sweep};
use crate::detect;
use crate::element::Element;
use crate::matrix::Matrix;

/// The most bytes of a row of B in a run: a page.
const RUN_BYTES: usize = 4 << 10;
/// The same for one row of C, whose sums leave room in L1.
const RUN_BYTES_OF_ONE_ROW: usize = 4 * RUN_BYTES;
/// The fewest bytes of a B that one row of C reads so.
const MIN_BYTES_OF_ONE_ROW: usize = 32 << 10;
/// The fewest bytes of a row of B that comes from memory, for up to 8 rows of C; four times as many for more of them,
/// and from a cache.
const MIN_ROW_BYTES: usize = 256;
/// The fewest steps of k: with fewer, C is nearly as large as B, or larger.
const MIN_K: usize = 64;
/// From which row on memory is prefetched, counted from a sweep's first row.
const ROWS_AHEAD: usize = 4;

/// Whether this is the way to compute `p`. The limits for a B in a cache were measured on Zen 5, for 2 to 16 rows of C
/// and rows of B of 1 to 16 KiB: microkernels read it as fast, except where C has few rows, the rows of B compete for
/// the same sets of the caches, or B fills a third of the LLC.
pub fn pays<T: Element>(microkernels: &Microkernels<T>, p: &Gemm<T>) -> bool {
    /// The most rows of C.
    const MOST: usize = 16;
    /// Fewer bytes of B stay in L2.
    const FROM_L3: usize = 768 << 10;
    let in_registers = microkernels.sweeps[FROM_CACHE_STEPS.ilog2() as usize].len();
    let row = p.n.saturating_mul(size_of::<T>());
    let fits = !microkernels.sweeps[0].is_empty()
        && p.m <= MOST
        && p.b.cs == 1
        && row
            >= if p.m <= 8 {
                MIN_ROW_BYTES
            } else {
                4 * MIN_ROW_BYTES
            }
        && p.k >= MIN_K;
    if !fits || from_memory(p) {
        return fits;
    }
    let bytes = row.saturating_mul(p.k);
    if p.m == 1 {
        return bytes >= MIN_BYTES_OF_ONE_ROW;
    }
    let apart = p.b.rs.unsigned_abs().saturating_mul(size_of::<T>());
    let compete = apart.is_multiple_of(4 << 10) || detect::exceeds_llc(bytes.saturating_mul(3));
    // Microkernels three registers wide read longer pieces of the rows.
    let most = match (compete, microkernels.widths.nv > 2) {
        (false, _) => in_registers.min(4),
        (true, true) => in_registers,
        (true, false) => MOST,
    };
    bytes >= FROM_L3 && row >= 4 * MIN_ROW_BYTES && p.m <= most
}

/// Computes the product. `block` is scratch memory of `bytes` bytes; returns whether that sufficed.
///
/// # Safety
/// As [`super::run`]; the rows of B must be contiguous and at least a register long.
pub unsafe fn run<T: Element>(
    routines: &Routines<T>,
    p: &Gemm<T>,
    block: *mut u8,
    bytes: usize,
    from_memory: bool,
) -> bool {
    let lanes = routines.microkernels.widths.lanes;
    let align = block.align_offset(LINE).min(bytes);
    // Rows of C that are not contiguous are written once, from totals as large as the sums.
    let has_totals = p.c.cs != 1 && p.beta == T::ZERO;
    let rows = p.m * (1 + usize::from(has_totals));
    let room = ((bytes - align) / size_of::<T>())
        .checked_div(rows)
        .unwrap_or(0);
    // Besides the sums, L1 holds the rows of B that are read and prefetched.
    let in_l1 = (detect::l1_bytes() / 12 * 7 / size_of::<T>())
        .checked_div(p.m)
        .unwrap_or(0);
    let longest = if p.m == 1 {
        RUN_BYTES_OF_ONE_ROW
    } else {
        RUN_BYTES
    };
    let most = room.min(in_l1).min(longest / size_of::<T>()) & !(lanes - 1);
    if most == 0 {
        return false;
    }
    // Runs of about equal length.
    let runs = p.n.div_ceil(most).max(1);
    let pitch = routines.microkernels.widths.padded(p.n.div_ceil(runs));
    let sums = block.wrapping_add(align).cast::<T>();
    let mut j = 0;
    while j < p.n {
        let run = SweepRun {
            routines,
            p,
            j,
            columns: pitch.min(p.n - j),
            sums,
            totals: has_totals.then_some(sums.wrapping_add(p.m * pitch)),
            pitch,
            from_memory,
        };
        // SAFETY: as the caller's; there is room for a run of sums and totals.
        unsafe { run.segments() };
        j += pitch;
    }
    true
}

/// A run of columns.
struct SweepRun<'a, T: 'static> {
    routines: &'a Routines<T>,
    p: &'a Gemm<T>,
    /// The first column, and how many.
    j: usize,
    columns: usize,
    /// Room for `pitch` sums of each row of C.
    sums: *mut T,
    /// As much room, which takes the place of C until the last segment.
    totals: Option<*mut T>,
    pitch: usize,
    from_memory: bool,
}

impl<T: Element> SweepRun<'_, T> {
    /// Computes the run, segment by segment.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn segments(&self) {
        let Self { p, pitch, .. } = *self;
        let columns = p.block((0, p.m), (self.j, self.columns));
        let totals = self.totals.map(|c| Gemm {
            c: Matrix::new(c, pitch as isize, 1),
            epilogue: Epilogue::NONE,
            ..columns
        });
        let mut pc = 0;
        while pc < p.k {
            let kc = KSEG.min(p.k - pc);
            let (first, last) = (pc == 0, pc + kc == p.k);
            let to = totals.as_ref().unwrap_or(&columns);
            // SAFETY: as the caller's; the sums have been written.
            unsafe {
                self.segment(pc, kc);
                self.update(WriteBack::new(to, first, last));
            }
            pc += kc;
        }
        if let Some(totals) = self.totals {
            let finished = Gemm {
                alpha: T::ONE,
                ..columns
            };
            // SAFETY: as the caller's; the totals have been written.
            unsafe {
                let to = WriteBack::new(&finished, true, true).with_pitch(pitch);
                (self.routines.write_back)(&to, totals, p.m, (0, 0), self.columns);
            }
        }
    }

    /// Updates the run of C, or of the totals, with the sums.
    ///
    /// # Safety
    /// The sums must have been written.
    unsafe fn update(&self, to: WriteBack<'_, T>) {
        let lanes = self.routines.microkernels.widths.lanes;
        let rest = self.columns & (lanes - 1);
        let whole = self.columns - rest;
        let to = to.with_pitch(self.pitch);
        // SAFETY: the caller vouches for the elements; the last register ends with the run.
        unsafe {
            (self.routines.write_back)(&to, self.sums, self.p.m, (0, 0), whole);
            if rest > 0 {
                let sums = self.sums.add(whole + lanes - rest);
                (self.routines.write_back)(&to, sums, self.p.m, (0, whole), rest);
            }
        }
    }

    /// Computes the sums of the segment of `kc` steps from `pc` on.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn segment(&self, pc: usize, kc: usize) {
        let Self { p, j, pitch, .. } = *self;
        let lanes = self.routines.microkernels.widths.lanes;
        for i in 0..p.m * pitch {
            // SAFETY: there is room for the sums.
            unsafe { *self.sums.add(i) = T::ZERO };
        }
        let row = |k: usize| p.b.ptr.wrapping_offset(k as isize * p.b.rs).wrapping_add(j);
        let mut q = 0;
        while q < kc {
            let most = match (p.m, self.from_memory) {
                (1, _) => ONE_ROW_STEPS,
                (_, true) => FROM_MEMORY_STEPS,
                (_, false) => FROM_CACHE_STEPS,
            };
            let steps = most.min(1 << (kc - q).checked_ilog2().unwrap_or(0));
            let (k, ahead) = (pc + q, pc + q + ROWS_AHEAD);
            let sweep = Sweep {
                a: p.a.at(0, k),
                a_rs: p.a.rs,
                a_cs: p.a.cs,
                b: row(k),
                b_rs: p.b.rs,
                registers: self.routines.microkernels.widths.padded(self.columns)
                    >> lanes.trailing_zeros(),
                last: self.columns as isize - lanes as isize,
                sums: self.sums,
                pitch,
                ahead: if !self.from_memory {
                    core::ptr::null()
                } else if ahead < p.k {
                    row(ahead)
                } else {
                    row(ahead - p.k).wrapping_add(pitch)
                },
                zero: 0,
            };
            // SAFETY: as the caller's; the sums have been written.
            unsafe { self.rows(sweep, steps) };
            q += steps;
        }
    }

    /// Sweeps the run for all rows, in groups of as many as the level has sweeps for. All but the first find B in L1.
    ///
    /// # Safety
    /// As [`run`]; the sweep must begin with the first row.
    unsafe fn rows(&self, mut sweep: Sweep<T>, steps: usize) {
        let sweeps = &self.routines.microkernels.sweeps;
        let by_rows = sweeps
            .get(steps.trailing_zeros() as usize)
            .copied()
            .unwrap_or_default();
        let mut groups = self.p.m.div_ceil(by_rows.len().max(1));
        let mut left = self.p.m;
        while left > 0 {
            let rows = left.div_ceil(groups.max(1));
            // SAFETY: as the caller's. There are sweeps for this many rows.
            unsafe { by_rows.get_unchecked(rows - 1)(&sweep) };
            sweep.a = sweep.a.wrapping_offset(rows as isize * sweep.a_rs);
            sweep.sums = sweep.sums.wrapping_add(rows * self.pitch);
            sweep.ahead = core::ptr::null();
            left -= rows;
            groups -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::agreement::{Layout, agrees};
    use super::super::super::params;
    use super::*;
    use crate::dispatch::Kernels;
    use crate::exec::STACK_SCRATCH;
    use crate::level::Level;

    /// Small products have the bits of the five loops, even where `pays` is false.
    fn all_sizes<T: Element>(level: Level) {
        let routines = Kernels::<T>::new(level).gemm();
        let lanes = routines.microkernels.widths.lanes;
        if routines.microkernels.sweeps[0].is_empty() {
            return;
        }
        let run = RUN_BYTES / size_of::<T>();
        let widths = [
            lanes,
            lanes + 1,
            5 * lanes - 1,
            9 * lanes + 3,
            run,
            run + 1,
            run + lanes,
        ];
        let depths = [1, 2, 3, 4, 7, 8, 9, 255, 256, 257, 300, 513];
        for (turn, m) in (1..=17).chain(1..=17).enumerate() {
            for (other, (n, k)) in widths
                .into_iter()
                .flat_map(|n| depths.map(|k| (n, k)))
                .enumerate()
            {
                // All combinations would take minutes.
                if (turn + other) % 4 != 0 {
                    continue;
                }
                let layout = Layout::new((m, n, k), turn + other / 4);
                let bytes = params::scratch_bytes::<T>(m.max(n), k).expect("small");
                for bytes in [bytes, bytes.min(STACK_SCRATCH)] {
                    for from_memory in [false, true] {
                        agrees::<T>(level, layout, bytes, |p, block| {
                            // SAFETY: the machine has the level; the arrays hold the matrices.
                            unsafe { super::run(routines, p, block, bytes, from_memory) }
                        });
                    }
                }
            }
        }
    }

    #[test]
    fn sweeps_and_microkernels_agree() {
        for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
            all_sizes::<f32>(level);
            all_sizes::<f64>(level);
        }
    }
}
