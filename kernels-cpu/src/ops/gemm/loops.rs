//! The five loops of BLIS around the microkernel, shared by all levels. They only compute addresses; the level's
//! [`Routines`] do the work. Outermost first:
//!
//! | loop | index | over | steps of | packs |
//! |---|---|---|---|---|
//! | 5 | jc | columns of B and C | nc | |
//! | 4 | pc | k | kc = `KSEG` | the panel of B, if A is packed too |
//! | 3 | ic | rows of A and C | mc | the micro-panel of A |
//! | 2 | jr | columns of the panel of B | NR | a micro-panel of B, if A is not packed |
//! | 1 | ir | rows of the block of A | MR | |

use core::num::NonZeroUsize;

use super::Gemm;
use super::in_place::in_place;
use super::large::{self, BlockSizes};
use super::microkernel::{MicrokernelArgs, PanelA, PanelB, Update};
use super::pack::PanelRange;
use super::params::{self, KSEG};
use super::plan::{Part, ThreadPlan};
use super::prefetch::NextMicroPanel;
use super::routines::Routines;
use super::scratch::PackingScratch;
use super::segment::{Block, Loops, MicroPanelB, Segment};
use super::shapes::MAX_NR;
use super::skinny;
use super::widths::balanced_step;
use super::write_back::{WriteBack, through_sums};
use crate::element::Element;
use crate::exec::with_stack_block;

/// Runs the product on this thread. `block` is scratch memory of `bytes` bytes: [`params::scratch_bytes`], or less, which
/// is slower. It may be null, with 0 bytes; a plan that packs then takes a block on the stack.
///
/// # Safety
/// The machine must have the routines' level; the plan must be of this product or of one of the same shape; the
/// matrices must be valid, and C must not overlap A, B or the biases.
// Not inlined: otherwise each crate that instantiates a caller gets its own copy.
#[inline(never)]
pub unsafe fn run<T: Element>(
    routines: &Routines<T>,
    plan: &ThreadPlan,
    p: &Gemm<T>,
    block: *mut u8,
    bytes: usize,
) {
    if let Some(skinny) = plan.skinny
        && skinny::run(routines, skinny, p, block, bytes)
    {
        return;
    }
    for (part, p) in plan.parts(p) {
        // SAFETY: as the caller's; a part of a product is a product.
        unsafe {
            if part.in_place {
                in_place(&routines.microkernels, &p);
            } else if part.packs_b
                && let Some(blocks) = BlockSizes::within(&p, bytes)
            {
                large::packed_loops(routines, blocks, &p, block);
            } else {
                five_loops(routines, &part, &p, block, bytes);
            }
        }
    }
    if plan.is_non_temporal() {
        (routines.fence)()
    }
}

/// LOOP 5: panels of nc columns of B and C.
///
/// # Safety
/// As [`run`].
// Not inlined: it has two callers, of which one is itself.
#[inline(never)]
unsafe fn five_loops<T: Element>(
    routines: &Routines<T>,
    part: &Part,
    p: &Gemm<T>,
    block: *mut u8,
    bytes: usize,
) {
    let mut loops = Loops {
        routines,
        p,
        non_temporal: part.non_temporal,
        packed_a: None,
        packed_b: None,
    };
    let mut widths = routines.microkernels.widths;
    let mut columns = NonZeroUsize::MAX;
    if part.packs_a || part.packs_b {
        let Some(scratch) = PackingScratch::new(widths.lanes, block, bytes) else {
            // SAFETY: as the caller's.
            return with_stack_block(|block, bytes| unsafe {
                five_loops(routines, part, p, block, bytes);
            });
        };
        loops.packed_a = scratch.micro_panel_a.filter(|_| part.packs_a);
        loops.packed_b = part.packs_b.then_some(scratch.panel_b);
        if loops.packed_b.is_some() {
            if loops.packed_a.is_none() {
                widths = params::packed_widths::<T>(widths);
            }
            columns = scratch.panel_columns(p.n, widths.nr());
        }
    }
    let mut jc = 0;
    while jc < p.n {
        let nc = columns.get().min(p.n - jc);
        let range = PanelRange {
            pc: 0,
            kc: p.k,
            jc,
            nc,
            widths,
        };
        // SAFETY: as the caller's; there is room for `nc` columns of `KSEG` rows.
        unsafe { loops.segments(range) };
        jc += nc;
    }
}

impl<T: Element> Loops<'_, T> {
    /// LOOP 4: segments of k, kc steps each. If A is packed too, the panel of B is packed here.
    ///
    /// # Safety
    /// As [`run`]; `packed_b` must have room for the panel of these columns, `packed_a` for a micro-panel of A.
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
            let mut pack_to = self.packed_b;
            if let (Some(out), Some(_)) = (self.packed_b, self.packed_a) {
                // SAFETY: `out` has room for the panel.
                unsafe { (self.routines.pack_b)(p, segment.range, out) };
                pack_to = None;
            }
            segment.blocks(pack_to);
            pc += kc;
            if pc >= p.k {
                return;
            }
        }
    }
}

impl<T: Element> Segment<'_, T> {
    /// LOOP 3: blocks of mc rows of A and C. A block is a single micro-panel of A, mc = MR, if A is packed, or if
    /// micro-panels of B do not stay in L1. A block in which B is packed has more rows than that
    /// ([`params::MICRO_TILES_WHILE_PACKING`]).
    ///
    /// Packing follows prefetching: the microkernels of one micro-panel prefetch the next. A is packed here, B (into
    /// `pack_to`) in loop 2 of the first block.
    ///
    /// # Safety
    /// As [`run`]; there must be room for what is packed.
    #[inline(always)]
    unsafe fn blocks(&self, mut pack_to: Option<*mut T>) {
        let Loops {
            routines,
            p,
            packed_a,
            ..
        } = *self.loops;
        let range = self.range;
        let mr = routines.microkernels.mr();
        let stays = packed_a.is_none() && params::stays_in_l1::<T>(&range.widths);
        let mc = if stays { params::mc::<T>() } else { mr };
        let mut ic = 0;
        while ic < p.m {
            let min_rows = if pack_to.is_some() {
                params::MICRO_TILES_WHILE_PACKING * mr
            } else {
                0
            };
            let rows = balanced_step(p.m - ic, mc.max(min_rows));
            let mut to_prefetch = NextMicroPanel::NONE;
            let mut a = PanelA::in_place(&p.a, ic, range.pc);
            if let Some(out) = packed_a {
                // SAFETY: `out` has room for a micro-panel of the greatest MR.
                unsafe { (routines.pack_a)(a, rows, range.kc, out) };
                a = PanelA {
                    p: out,
                    rs: 1,
                    cs: rows as isize,
                };
                let after = ic + rows;
                if p.a.rs == 1 && after < p.m {
                    let next = p.a.at(after, range.pc);
                    to_prefetch = NextMicroPanel::new(next, balanced_step(p.m - after, mc), p.a.cs);
                }
            }
            let block = Block { a, first: ic, rows };
            self.micro_panels(block, pack_to.take(), to_prefetch);
            ic += rows;
        }
    }

    /// LOOP 2: micro-panels of NR columns of B. Each is packed to `pack_to` first, if that is given. Microkernels
    /// prefetch the lines of `to_prefetch`, or of the next micro-panel of B that will be packed.
    ///
    /// # Safety
    /// As [`Segment::blocks`]; the block must hold its rows, and `packed_b` the panel unless it is packed here.
    #[inline(always)]
    unsafe fn micro_panels(
        &self,
        block: Block<T>,
        pack_to: Option<*mut T>,
        mut to_prefetch: NextMicroPanel,
    ) {
        let (p, range) = (self.loops.p, self.range);
        let direct = self.to.is_direct();
        let (alpha, beta) = self.to.microkernel_scalars();
        let prefetches_b = pack_to.is_some() && p.b.cs == 1;
        let mut args = MicrokernelArgs {
            kc: range.kc,
            a_rs: block.a.rs,
            a_cs: block.a.cs,
            c_rs: if direct { p.c.rs } else { MAX_NR as isize },
            prefetch_stride: if prefetches_b { p.b.rs } else { p.a.cs } * size_of::<T>() as isize,
            packed: core::ptr::null_mut(),
            update: Update::new(alpha, beta),
            alpha,
            beta,
        };
        let mut jr = 0;
        while jr < range.nc {
            let nr = range.widths.next_nr(range.nc - jr);
            let after = jr + nr;
            let in_place = PanelB {
                p: self.b(jr),
                rs: p.b.rs,
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
            if let Some(out) = pack_to {
                args.packed = out.wrapping_add(jr * range.kc);
                // SAFETY: `out` has room for the panel.
                let packing = unsafe { self.pack_micro_panel((jr, nr), block.rows, args.packed) };
                b.packing = packing.map(|run| (run, in_place));
                if prefetches_b && after < range.nc {
                    let nr = range.widths.next_nr(range.nc - after);
                    to_prefetch = NextMicroPanel::new(self.b(after), nr, p.b.rs);
                }
            }
            // SAFETY: as the caller's; the micro-panel is packed, or will be by its first microkernel.
            unsafe { self.micro_tiles(&args, block, b, &mut to_prefetch) };
            jr = after;
        }
    }

    /// LOOP 1: micro-tiles of MR rows of the block of A.
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
        let routines = self.loops.routines;
        let direct = self.to.is_direct();
        // SAFETY: the widths gave nr, so there are microkernels for it.
        let (by_rows, tail) = unsafe { routines.microkernels.of_width(b.nr) };
        let mut ir = 0;
        while ir < block.rows {
            let mr = balanced_step(block.rows - ir, routines.microkernels.mr());
            let a = block.a.p.wrapping_offset(ir as isize * block.a.rs);
            let at = (block.first + ir, self.range.jc + b.jr);
            // SAFETY: mr is at most the level's MR; the micro-tile lies in C, `a` and `b` hold its `kc` steps, and
            // the panel has room for what is packed.
            unsafe {
                let (run, from, last) = if let Some((run, in_place)) = b.packing.take() {
                    (run, in_place, 0)
                } else {
                    let special = self.special_microkernel((mr, b.nr), to_prefetch);
                    let ordinary = (*by_rows.get_unchecked(mr - 1), tail);
                    let (run, last) = special.unwrap_or(ordinary);
                    (run, b.b, last)
                };
                if direct {
                    run(args, a, from, self.to.at(at), last);
                } else {
                    let run = |sums| run(args, a, from, sums, last);
                    through_sums(routines, &self.to, run, (mr, b.nr), at);
                }
            }
            ir += mr;
        }
    }
}
