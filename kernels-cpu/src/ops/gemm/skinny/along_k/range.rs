//! The columns of C for a range of k, and the copies of columns of B.

use core::mem::MaybeUninit;

use super::super::microkernel::{AHEAD_IN_CACHE, AlongK, AlongKFn};
use crate::detect::Geometry;
use crate::element::Element;
use crate::ops::gemm::Gemm;
use crate::ops::gemm::microkernel::{MicrokernelArgs, PanelA, PanelB, Update};
use crate::ops::gemm::pack::PanelRange;
use crate::ops::gemm::params::{KSEG, LINE};
use crate::ops::gemm::routines::Routines;
use crate::ops::gemm::shapes::{MAX_MR, MAX_NR};
use crate::ops::gemm::transpose::MAX_LANES;
use crate::ops::gemm::write_back::WriteBack;

/// The most rows that are computed with two registers of `lanes` columns. There are microkernels for up to 4 rows.
fn most_rows_of_two(geometry: &Geometry, lanes: usize) -> usize {
    // On an Intel server, 3 and 4 rows took 7 to 20 % longer with the 32 columns of two registers than with 16, probably
    // because each column is a stream from L2.
    if lanes == MAX_LANES && geometry.has_slow_llc() {
        2
    } else {
        4
    }
}

/// The stride between copied columns: a cache line more than a segment of f32, so that they lie in different sets of L1.
const COPY_RS: usize = KSEG + 16;
/// The elements of such a copy.
pub const COPY: usize = MAX_LANES / 2 * COPY_RS;

/// A range of k, in whole segments; the last may be shorter.
pub struct KRange<'a, T: 'static> {
    pub routines: &'a Routines<T>,
    pub p: &'a Gemm<T>,
    /// Room for the packed steps of A; `None` if A is read in place.
    pub packed: Option<*mut T>,
    /// Room for a copy of the upper half of a register of columns; `None` if they are read in place.
    pub upper: Option<*mut T>,
    pub pc: usize,
    pub kc: usize,
    /// Whether B is expected to come from memory.
    pub from_memory: bool,
}

impl<T: Element> KRange<'_, T> {
    /// Packs A, and computes all columns.
    ///
    /// # Safety
    /// As [`run`](super::run).
    pub unsafe fn multiply(&self) {
        let p = self.p;
        let groups = p.m.div_ceil(MAX_MR).max(1);
        let each = p.m.div_ceil(groups).max(1);
        if let Some(packed) = self.packed {
            for i in (0..p.m).step_by(each) {
                let a = PanelA::in_place(&p.a, i, self.pc);
                let out = packed.wrapping_add(i * self.kc);
                // SAFETY: there is room for these rows, and for the register that may be written past their end.
                unsafe { (self.routines.pack_a)(a, each.min(p.m - i), self.kc, out) };
            }
        }
        let lanes = self.routines.microkernels.widths.lanes;
        // Registers of 32 bytes read a line in several turns. For one row, whose sums would wait for each other in one
        // register, it pays nevertheless.
        let is_apart = !self.few_sets()
            || (each <= AHEAD_IN_CACHE && self.reads_whole_lines())
            || (each == 1 && lanes * size_of::<T>() < LINE);
        let two =
            each <= most_rows_of_two(&Geometry::current(), lanes) && !self.from_memory && is_apart;
        if let Some(upper) = self.upper {
            // SAFETY: as the caller's; there is at least a register of columns.
            unsafe { self.copy(upper, (0, 0)) };
        }
        let mut j = 0;
        while j < p.n {
            let registers = if two && p.n - j >= 2 * lanes { 2 } else { 1 };
            let nr = registers * lanes;
            for i in (0..p.m).step_by(each) {
                let rows = (i, each.min(p.m - i));
                // SAFETY: as the caller's; the microkernel exists.
                unsafe {
                    let run = self.routines.microkernels.along_k(rows.1, registers);
                    self.columns(run, rows, (j, nr));
                }
            }
            j += nr;
        }
    }

    /// The distance between columns in bytes.
    fn apart(&self) -> usize {
        self.p.b.cs.unsigned_abs().wrapping_mul(size_of::<T>())
    }

    /// Whether the columns of two registers fill the L1 sets that their distance maps them to. In registers of 8 lanes
    /// they are half as many, and each line is read once.
    fn few_sets(&self) -> bool {
        let lanes = self.routines.microkernels.widths.lanes;
        let once = lanes * size_of::<T>() == LINE && lanes < MAX_LANES;
        self.apart()
            .is_multiple_of(if once { 4 << 10 } else { 2 << 10 })
    }

    /// Whether it pays to read the columns of two registers with few sets as whole lines. It does not for 32 columns in
    /// the same set.
    fn reads_whole_lines(&self) -> bool {
        let lanes = self.routines.microkernels.widths.lanes;
        lanes * size_of::<T>() == LINE
            && (lanes < MAX_LANES || !self.apart().is_multiple_of(4 << 10))
    }

    /// The address of B in column `j` at step `pc` of the range.
    #[inline(always)]
    fn b(&self, pc: usize, j: usize) -> *const T {
        let at = (self.pc + pc) as isize + j as isize * self.p.b.cs;
        self.p.b.ptr.wrapping_offset(at)
    }

    /// The first of the `nr` columns that are computed to write the columns from `j` on. The last columns are computed
    /// together with some before them, which are not written again.
    #[inline(always)]
    fn from(&self, j: usize, nr: usize) -> usize {
        j.min(self.p.n - nr)
    }

    /// The segment of B that is read after the one at step `pc` in the columns from `j` on: its step and its columns. It
    /// is the same segment if no other follows. `last` is whether these are the last rows of C.
    #[inline(always)]
    fn after(&self, (pc, j): (usize, usize), nr: usize, last: bool) -> (usize, usize) {
        if pc + KSEG < self.kc {
            (pc + KSEG, j)
        } else if !last {
            (0, j)
        } else if j + nr < self.p.n {
            (0, j + nr)
        } else {
            (pc, j)
        }
    }

    /// The steps of k in the segment at step `pc` that are read in whole registers.
    #[inline(always)]
    fn whole(&self, pc: usize) -> usize {
        KSEG.min(self.kc - pc) & !(self.routines.microkernels.widths.lanes - 1)
    }

    /// Copies the upper half of a register of columns, from the segment at step `pc` in the columns from `j` on.
    ///
    /// # Safety
    /// As [`run`](super::run).
    unsafe fn copy(&self, upper: *mut T, (pc, j): (usize, usize)) {
        let half = self.routines.microkernels.widths.lanes / 2;
        for column in 0..half {
            let from = self.b(pc, j + half + column);
            let to = upper.wrapping_add(column * COPY_RS);
            for step in 0..self.whole(pc) {
                // SAFETY: these steps lie in B; there is room for a segment.
                unsafe { *to.add(step) = *from.add(step) };
            }
        }
    }

    /// Computes `mr` rows of the `nr` columns from `j` on, or of the columns that are left.
    ///
    /// # Safety
    /// As [`run`](super::run); `run` must be the microkernel of this size.
    unsafe fn columns(&self, run: AlongKFn<T>, (i, mr): (usize, usize), (j, nr): (usize, usize)) {
        let p = self.p;
        let from = self.from(j, nr);
        let (skip, columns) = (j - from, nr - (j - from));
        // With beta = 0, a tile takes the place of C until the last segment has been added.
        let direct = p.c.cs == 1 && !p.epilogue.is_some() && skip == 0;
        let tiled = !direct && p.beta == T::ZERO && self.kc == p.k;
        let mut tile = [const { MaybeUninit::<T>::uninit() }; MAX_MR * MAX_NR];
        let tile = tile.as_mut_ptr().cast::<T>();
        let sums = tile.wrapping_add(skip);
        let mut last_steps = [const { MaybeUninit::<T>::uninit() }; 2 * MAX_LANES * MAX_LANES];
        let last_steps = last_steps.as_mut_ptr().cast::<T>();
        let write_back = self.routines.write_back;
        let mut pc = 0;
        while pc < self.kc {
            let (first, last) = (self.pc + pc == 0, self.pc + (pc + KSEG).min(self.kc) == p.k);
            let to = WriteBack::new(p, first, last);
            let mut f = self.arguments(pc, (i, mr), (j, nr));
            (f.args.packed, f.c, f.args.beta) = (last_steps, tile, to.beta());
            let args = &mut f.args;
            // SAFETY: as the caller's; there is room for the last steps of two registers of columns.
            unsafe {
                self.pack_last_steps(pc, (from, nr), last_steps);
                if tiled {
                    args.update = Update::new(args.alpha, args.beta);
                    run(&f);
                    if last {
                        let finished = Gemm {
                            alpha: T::ONE,
                            ..*p
                        };
                        let to = WriteBack::new(&finished, true, true);
                        write_back(&to, sums, mr, (i, j), columns);
                    }
                } else if to.is_direct() && skip == 0 {
                    args.c_rs = p.c.rs;
                    args.update = Update::new(args.alpha, args.beta);
                    f.c = to.at((i, j));
                    run(&f);
                } else {
                    (args.alpha, args.beta) = if to.is_direct() {
                        // The last columns, which the microkernel does not write itself.
                        (T::ONE, T::ZERO)
                    } else {
                        to.microkernel_scalars()
                    };
                    args.update = Update::new(args.alpha, args.beta);
                    run(&f);
                    write_back(&to, sums, mr, (i, j), columns);
                }
                if !f.copies {
                    self.copy_next((pc, j), nr, i + mr == p.m);
                }
            }
            pc += KSEG;
        }
    }

    /// The arguments of the microkernel for the segment at step `pc` in the columns from `j` on; C is set later.
    fn arguments(&self, pc: usize, (i, mr): (usize, usize), (j, nr): (usize, usize)) -> AlongK<T> {
        let p = self.p;
        let from = self.from(j, nr);
        let panel = |j| PanelB {
            p: self.b(pc, j),
            rs: p.b.cs,
        };
        let mut upper = panel(from + self.routines.microkernels.widths.lanes / 2);
        let mut copies = false;
        if let Some(copy) = self.upper {
            (upper.p, upper.rs) = (copy, COPY_RS as isize);
            copies = self.whole(self.after((pc, j), nr, i + mr == p.m).0) == self.whole(pc);
        }
        let mut next = [core::ptr::null(); 2];
        let two = nr > self.routines.microkernels.widths.lanes;
        if self.from_memory || (two && mr <= AHEAD_IN_CACHE) {
            let mut segment = (pc, j);
            for next in &mut next {
                segment = self.after(segment, nr, i + mr == p.m);
                segment.1 = self.from(segment.1, nr);
                *next = self.b(segment.0, segment.1);
            }
        }
        let a = self
            .packed
            .map_or(p.a.ptr, |packed| packed.wrapping_add(i * self.kc));
        AlongK {
            args: MicrokernelArgs {
                kc: KSEG.min(self.kc - pc),
                a_rs: 1,
                a_cs: mr as isize,
                c_rs: MAX_NR as isize,
                prefetch_stride: 0,
                packed: core::ptr::null_mut(),
                update: Update::Plain,
                alpha: p.alpha,
                beta: p.beta,
            },
            a: a.wrapping_add(pc * mr),
            b: panel(from),
            upper,
            c: core::ptr::null_mut(),
            next,
            copies,
            few_sets: self.few_sets(),
        }
    }

    /// Packs the steps of the segment at step `pc` that do not fill a register.
    ///
    /// # Safety
    /// As [`run`](super::run); there must be room for a step less than a register has lanes.
    unsafe fn pack_last_steps(&self, pc: usize, (from, nr): (usize, usize), out: *mut T) {
        let (kc, whole) = (KSEG.min(self.kc - pc), self.whole(pc));
        if whole < kc {
            let range = PanelRange {
                pc: self.pc + pc + whole,
                kc: kc - whole,
                jc: from,
                nc: nr,
                widths: self.routines.microkernels.widths,
            };
            (self.routines.pack_b)(self.p, range, out);
        }
    }

    /// Copies the upper half of the register of columns that is read after the segment at step `pc` in the columns from
    /// `j` on, if copies are read: where the microkernel does not, because the next segment has another length.
    ///
    /// # Safety
    /// As [`run`](super::run).
    unsafe fn copy_next(&self, (pc, j): (usize, usize), nr: usize, last: bool) {
        if let Some(upper) = self.upper {
            let next = self.after((pc, j), nr, last);
            self.copy(upper, (next.0, self.from(next.1, nr)));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_follow_from_the_geometry() {
        let zen = Geometry {
            l1: 48 << 10,
            l2: 1 << 20,
            llc: 32 << 20,
            double_pumps_avx512: false,
        };
        let intel = Geometry { l2: 2 << 20, ..zen };
        assert_eq!(
            (most_rows_of_two(&zen, 16), most_rows_of_two(&zen, 8)),
            (4, 4)
        );
        assert_eq!(
            (most_rows_of_two(&intel, 16), most_rows_of_two(&intel, 8)),
            (2, 4)
        );
    }
}
