//! The five loops of BLIS around the microkernel, for all levels: they compute addresses; the work is in the level's
//! routines. Outermost first:
//!
//! | loop | over | steps of | packs |
//! |---|---|---|---|
//! | 5 | columns of B and C | nc | |
//! | 4 | k | kc | B, where A is packed too |
//! | 3 | rows of A and C | mc | A |
//! | 2 | columns of the panel of B | nr | B, where A is not |
//! | 1 | rows of the block of A | mr | |

use super::Gemm;
use super::in_place::in_place;
use super::microkernel::{MicrokernelArgs, PanelA, PanelB, Update};
use super::microkernels::{MicrokernelFn, Variant};
use super::pack::PanelRange;
use super::params::{self, KSEG};
use super::plan::{Part, ThreadPlan};
use super::prefetch::NextMicroPanel;
use super::routines::Routines;
use super::scratch::Scratch;
use super::shapes::MAX_NR;
use super::widths::next;
use super::write_back::{WriteBack, through_sums};
use crate::element::Element;

/// Runs the product on this thread. `block` is scratch memory of `bytes` bytes: as much as
/// [`params::scratch_bytes`] says, or at least a panel one register wide; none unless the plan packs.
///
/// # Safety
/// The machine must have the routines' level; the plan must be of this product or one of the same shape; the matrices
/// must be valid, and C apart from A, B and the biases.
pub unsafe fn run<T: Element>(
    k: &Routines<T>,
    plan: &ThreadPlan,
    p: &Gemm<T>,
    block: *mut u8,
    bytes: usize,
) {
    for (part, p) in plan.parts(p) {
        // SAFETY: as the caller's; a part of a product is one.
        unsafe {
            if part.in_place {
                in_place(&k.microkernels, &p);
            } else {
                five_loops(k, &part, &p, block, bytes);
            }
        }
    }
    if plan.needs_fence() {
        // SAFETY: as the caller's.
        unsafe { (k.fence)() }
    }
}

/// LOOP 5: panels of nc columns of B and C.
///
/// # Safety
/// As [`run`].
unsafe fn five_loops<T: Element>(
    k: &Routines<T>,
    part: &Part,
    p: &Gemm<T>,
    block: *mut u8,
    bytes: usize,
) {
    let mut loops = Loops {
        k,
        p,
        non_temporal: part.non_temporal,
        packed_a: None,
        packed_b: None,
    };
    let mut widths = k.microkernels.widths;
    let mut nc = p.n;
    if part.packs_a || part.packs_b {
        let scratch = Scratch::new(widths.lanes, block, bytes);
        loops.packed_a = scratch.micro_panel.filter(|_| part.packs_a);
        loops.packed_b = part.packs_b.then_some(scratch.panel);
        if loops.packed_b.is_some() {
            if loops.packed_a.is_none() {
                widths = params::packed_widths::<T>(widths);
            }
            let nr = widths.nr();
            nc = match scratch.columns {
                enough if enough >= p.n => p.n,
                some if some >= nr => some - some.checked_rem(nr).unwrap_or(0),
                few => few,
            };
        }
    }
    let mut jc = 0;
    while jc < p.n {
        let nc = nc.min(p.n - jc);
        let columns = PanelRange {
            pc: 0,
            kc: p.k,
            jc,
            nc,
            widths,
        };
        // SAFETY: as the caller's; there is room for `nc` columns of `KSEG` rows.
        unsafe { loops.segments(columns) };
        jc += nc;
    }
}

/// What is the same in all loops.
struct Loops<'a, T: 'static> {
    k: &'a Routines<T>,
    p: &'a Gemm<T>,
    non_temporal: bool,
    /// Room for a packed micro-panel of the most rows of A, if they are not read in place.
    packed_a: Option<*mut T>,
    /// Room for a packed panel of B, if it is not read in place.
    packed_b: Option<*mut T>,
}

impl<T: Element> Loops<'_, T> {
    /// LOOP 4: segments of k, kc steps each. Where A is packed too, the panel of B is packed here.
    ///
    /// # Safety
    /// As [`run`]; there must be room for a segment of the columns, and of rows of A.
    #[inline(always)]
    unsafe fn segments(&self, columns: PanelRange) {
        let p = self.p;
        let mut pc = 0;
        loop {
            let kc = KSEG.min(p.k - pc);
            let segment = Segment {
                loops: self,
                range: PanelRange { pc, kc, ..columns },
                to: WriteBack::new(p, pc == 0, pc + kc == p.k),
            };
            let mut fresh = self.packed_b;
            if let (Some(out), Some(_)) = (self.packed_b, self.packed_a) {
                // SAFETY: `out` has room for the panel.
                unsafe { (self.k.pack_b)(p, segment.range, out) };
                fresh = None;
            }
            // SAFETY: as the caller's.
            unsafe { segment.blocks(fresh) };
            pc += kc;
            if pc >= p.k {
                return;
            }
        }
    }
}

/// What is the same in the loops 3 to 1: one segment of k of a panel of B.
struct Segment<'a, T: 'static> {
    loops: &'a Loops<'a, T>,
    range: PanelRange,
    to: WriteBack<'a, T>,
}

/// A block of A: from its first row on, so many rows.
#[derive(Clone, Copy)]
struct Block<T> {
    a: PanelA<T>,
    first: usize,
    rows: usize,
}

/// A micro-panel of B: from column `jr` of its panel on, `nr` columns.
struct MicroPanelB<T: 'static> {
    jr: usize,
    nr: usize,
    b: PanelB<T>,
    /// The microkernel that packs it, and reads it in place, before the others of the block.
    packing: Option<(MicrokernelFn<T>, PanelB<T>)>,
}

impl<T: Element> Segment<'_, T> {
    /// LOOP 3: blocks of mc rows of A and C. A micro-panel is packed just after the microkernels before it have
    /// prefetched its lines: one of A here, one of B, to `fresh`, while the first block is computed. Where A is
    /// packed, a block is one micro-panel of A.
    ///
    /// # Safety
    /// As [`run`]; there must be room for what is packed.
    #[inline(always)]
    unsafe fn blocks(&self, mut fresh: Option<*mut T>) {
        let Loops { k, p, packed_a, .. } = *self.loops;
        let range = self.range;
        let mr = k.microkernels.mr();
        let stays = packed_a.is_none() && params::stays_in_l1::<T>(&range.widths);
        let mc = if stays { params::mc::<T>() } else { mr };
        let mut ic = 0;
        while ic < p.m {
            let least = if fresh.is_some() {
                params::FRESH_MICRO_TILES * mr
            } else {
                0
            };
            let rows = next(p.m - ic, mc.max(least));
            let mut to_prefetch = NextMicroPanel::NONE;
            let mut a = PanelA {
                p: self.a(ic),
                rs: p.a_rs,
                cs: p.a_cs,
            };
            if let Some(out) = packed_a {
                // SAFETY: `out` has room for the most rows of a segment.
                unsafe { (k.pack_a)(a, rows, range.kc, out) };
                a = PanelA {
                    p: out,
                    rs: 1,
                    cs: rows as isize,
                };
                let after = ic + rows;
                if p.a_rs == 1 && after < p.m {
                    to_prefetch = NextMicroPanel::new(self.a(after), next(p.m - after, mc), p.a_cs);
                }
            }
            let block = Block { a, first: ic, rows };
            // SAFETY: as the caller's.
            unsafe { self.micro_panels(block, fresh.take(), to_prefetch) };
            ic += rows;
        }
    }

    /// A from its row i on.
    #[inline(always)]
    fn a(&self, i: usize) -> *const T {
        let (p, pc) = (self.loops.p, self.range.pc as isize);
        p.a.wrapping_offset(i as isize * p.a_rs + pc * p.a_cs)
    }

    /// B from column j of the panel on.
    #[inline(always)]
    fn b(&self, j: usize) -> *const T {
        let (p, pc, jc) = (self.loops.p, self.range.pc as isize, self.range.jc);
        p.b.wrapping_offset(pc * p.b_rs + (jc + j) as isize * p.b_cs)
    }

    /// LOOP 2: micro-panels of nr columns of B. They are packed to `fresh`, if that is given. The microkernels
    /// prefetch the lines of `to_prefetch`, or of the next micro-panel of B to be packed.
    ///
    /// # Safety
    /// As [`Segment::blocks`]; the block must hold its rows, and the packed panel B unless it is `fresh`.
    #[inline(always)]
    unsafe fn micro_panels(
        &self,
        block: Block<T>,
        fresh: Option<*mut T>,
        mut to_prefetch: NextMicroPanel,
    ) {
        let (p, range) = (self.loops.p, self.range);
        let direct = self.to.direct();
        let (alpha, beta) = self.to.in_microkernel();
        let prefetches_b = fresh.is_some() && p.b_cs == 1;
        let mut args = MicrokernelArgs {
            kc: range.kc,
            a_rs: block.a.rs,
            a_cs: block.a.cs,
            c_rs: if direct { p.c_rs } else { MAX_NR as isize },
            prefetch_stride: if prefetches_b { p.b_rs } else { p.a_cs } * size_of::<T>() as isize,
            packed: core::ptr::null_mut(),
            update: Update::new(alpha, beta),
            alpha,
            beta,
        };
        let mut jr = 0;
        while jr < range.nc {
            let nr = range.widths.next(range.nc - jr);
            let after = jr + nr;
            let in_place = PanelB {
                p: self.b(jr),
                rs: p.b_rs,
            };
            let mut b = MicroPanelB {
                jr,
                nr,
                b: in_place,
                packing: None,
            };
            if let Some(packed) = self.loops.packed_b {
                b.b = PanelB {
                    p: packed.wrapping_add(jr * range.kc).cast_const(),
                    rs: range.widths.padded(nr) as isize,
                };
            }
            if let Some(out) = fresh {
                args.packed = out.wrapping_add(jr * range.kc);
                // SAFETY: `out` has room for the panel.
                let packing = unsafe { self.pack((jr, nr), block.rows, args.packed) };
                b.packing = packing.map(|run| (run, in_place));
                if prefetches_b && after < range.nc {
                    let nr = range.widths.next(range.nc - after);
                    to_prefetch = NextMicroPanel::new(self.b(after), nr, p.b_rs);
                }
            }
            // SAFETY: as the caller's; the micro-panel is packed, or will be by its first microkernel.
            unsafe { self.micro_tiles(&args, block, b, &mut to_prefetch) };
            jr = after;
        }
    }

    /// LOOP 1: micro-tiles of mr rows of A.
    ///
    /// # Safety
    /// As [`Segment::micro_panels`], for this micro-panel.
    #[inline(always)]
    unsafe fn micro_tiles(
        &self,
        args: &MicrokernelArgs<T>,
        block: Block<T>,
        mut b: MicroPanelB<T>,
        to_prefetch: &mut NextMicroPanel,
    ) {
        let k = self.loops.k;
        let direct = self.to.direct();
        // SAFETY: nr is within the microkernels'.
        let (by_rows, tail) = unsafe { k.microkernels.of_width(b.nr) };
        let mut ir = 0;
        while ir < block.rows {
            let mr = next(block.rows - ir, k.microkernels.mr());
            let a = block.a.p.wrapping_offset(ir as isize * block.a.rs);
            let at = (block.first + ir, self.range.jc + b.jr);
            // SAFETY: mr is within the microkernels'; the micro-tile lies in C, `a` and `b` hold `kc`
            // steps of it, and the panel has room for what is packed.
            unsafe {
                let (run, from, last) = if let Some((run, in_place)) = b.packing.take() {
                    (run, in_place, 0)
                } else {
                    let special = self.special((mr, b.nr), to_prefetch);
                    let ordinary = (*by_rows.get_unchecked(mr - 1), tail);
                    let (run, last) = special.unwrap_or(ordinary);
                    (run, b.b, last)
                };
                if direct {
                    run(args, a, from, self.to.at(at), last);
                } else {
                    let run = |sums| run(args, a, from, sums, last);
                    through_sums(k, &self.to, run, (mr, b.nr), at);
                }
            }
            ir += mr;
        }
    }

    /// The microkernel that packs these columns of the panel to `out` for the others of a block of `rows`; where
    /// there is none, they have been packed.
    ///
    /// # Safety
    /// `out` must have room for the columns, in whole registers.
    #[inline(always)]
    unsafe fn pack(
        &self,
        (jr, nr): (usize, usize),
        rows: usize,
        out: *mut T,
    ) -> Option<MicrokernelFn<T>> {
        let Loops { k, p, .. } = *self.loops;
        let all = &k.microkernels;
        if p.b_cs == 1
            && let Some(run) = all.largest(Variant::Pack, (next(rows, all.mr()), nr))
        {
            return Some(run);
        }
        let range = PanelRange {
            jc: self.range.jc + jr,
            nc: nr,
            ..self.range
        };
        // SAFETY: as the caller's.
        unsafe { (k.pack_b)(p, range, out) };
        None
    }

    /// A microkernel of this size with non-temporal stores, or one that prefetches, where one is wanted and there is
    /// one; and its last argument.
    #[inline(always)]
    fn special(
        &self,
        size: (usize, usize),
        to_prefetch: &mut NextMicroPanel,
    ) -> Option<(MicrokernelFn<T>, usize)> {
        let all = &self.loops.k.microkernels;
        if self.loops.non_temporal && self.to.direct() {
            Some((all.largest(Variant::NonTemporal, size)?, 0))
        } else if to_prefetch.is_some() {
            let run = all.largest(Variant::Prefetch, size)?;
            Some((run, to_prefetch.take()))
        } else {
            None
        }
    }
}
