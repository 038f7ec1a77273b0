//! Products with a B that was packed before the call: micro-panels of all k, [`widths`] columns each, one after the other.
//!
//! | loop | index | over | steps of | packs | which stays in |
//! |---|---|---|---|---|---|
//! | 4 | pc | k | kc: some segments, all of k for few rows | | |
//! | 3 | ic | rows of A and C | mc | the block of A | L2 |
//! | 2 | jr | columns of B | NR | | |
//! | | | segments of kc | `KSEG` | | a micro-panel of B in L1, mc rows of C in L2 |
//! | 1 | ir | rows of the block | MR | | |
//!
//! B is read once for each block of A, in the order in which it lies in memory. Each microkernel prefetches its share of the
//! micro-panel that is read next, as in `large`.

use super::Gemm;
use super::microkernel::{MicrokernelArgs, PanelA, PanelB, Update};
use super::microkernels::{Microkernels, Variant};
use super::pack::PanelRange;
use super::params::{KSEG, LINE};
use super::routines::Routines;
use super::shapes::{MAX_MR, MAX_NR};
use super::widths::{Widths, balanced_step};
use super::write_back::{WriteBack, through_sums};
use crate::detect::Geometry;
use crate::element::Element;

/// The widths of the micro-panels: two registers. In one segment they fill two thirds of an L1 of 48 KiB at most, and the
/// micro-tile has enough chains of fma. Unlike those of a call, they depend on the level alone, so that a packed matrix can be
/// used on another machine.
pub fn widths<T>(microkernels: &Microkernels<T>) -> Widths {
    const REGISTERS: usize = 2;
    Widths {
        nv: REGISTERS,
        ..microkernels.widths
    }
}

/// Packs all of B.
///
/// # Safety
/// The machine must have the routines' level; B must be valid, and `out` must have room for all micro-panels.
// Not inlined: tasks on a pool and the calling thread share one copy.
#[inline(never)]
pub unsafe fn pack<T: Element>(routines: &Routines<T>, p: &Gemm<T>, out: *mut T) {
    let widths = widths(&routines.microkernels);
    let nr = widths.nr().max(1);
    for jc in (0..p.n).step_by(nr) {
        let range = PanelRange {
            pc: 0,
            kc: p.k,
            jc,
            nc: nr.min(p.n - jc),
            widths,
        };
        // SAFETY: as the caller's.
        unsafe { (routines.pack_b)(p, range, out.wrapping_add(jc * p.k)) };
    }
}

/// The sizes of a block of A.
#[derive(Clone, Copy)]
struct BlockSizes {
    mc: usize,
    kc: usize,
}

impl BlockSizes {
    /// The blocks of a product with `m` rows and k steps, in `room` bytes of scratch memory.
    fn new<T>((m, k): (usize, usize), room: usize) -> Option<Self> {
        /// Blocks of fewer rows read B more often, and memory would have to deliver it faster.
        const ROWS: usize = 128;
        let steps = room.saturating_sub(2 * LINE) / size_of::<T>();
        let rows = m.min(ROWS).next_multiple_of(MAX_MR);
        let segments = (steps.checked_div(rows)? / KSEG).max(1);
        let kc = (segments * KSEG).min(k);
        let mc = steps.checked_div(kc)? / MAX_MR * MAX_MR;
        (mc > 0).then_some(Self { mc, kc })
    }

    /// The bytes of scratch memory for a block: with a line for its alignment, and one that the last register of A may reach.
    fn bytes<T>(&self, m: usize) -> usize {
        let rows = self.mc.min(m.next_multiple_of(MAX_MR));
        rows * self.kc * size_of::<T>() + 2 * LINE
    }
}

/// The bytes of scratch memory for a product of this size, of which there are at most `most`.
pub fn scratch_bytes<T>((m, k): (usize, usize), most: usize) -> usize {
    let room = most.min(Geometry::current().l2 / 4);
    BlockSizes::new::<T>((m, k), room).map_or(0, |blocks| blocks.bytes::<T>(m))
}

/// Runs a product with a packed B, to whose micro-panels `p.b` points. `block` is scratch memory of [`scratch_bytes`], or of
/// any other size. Without any, A is read in place, which is slower.
///
/// # Safety
/// The machine must have the routines' level; A and C must be valid, and C must not overlap the others; k must not be 0.
// Not inlined: otherwise each crate that instantiates a caller gets its own copy.
#[inline(never)]
pub unsafe fn run<T: Element>(routines: &Routines<T>, p: &Gemm<T>, block: *mut u8, bytes: usize) {
    let in_place = BlockSizes {
        mc: routines.microkernels.mr(),
        kc: p.k,
    };
    let blocks = BlockSizes::new::<T>((p.m, p.k), bytes);
    let BlockSizes { mc, kc } = blocks.unwrap_or(in_place);
    let packed_a = block.wrapping_add(block.align_offset(LINE)).cast::<T>();
    let size = p.n.saturating_mul(p.k).saturating_mul(size_of::<T>());
    let is_beyond_l2 = size > Geometry::current().l2;
    let loops = Loops {
        routines,
        p,
        widths: widths(&routines.microkernels),
        packed_a: blocks.map(|_| packed_a),
        prefetches: is_beyond_l2,
        touches: size / 8 > Geometry::current().l2,
    };
    for pc in (0..p.k).step_by(kc.max(1)) {
        for ic in (0..p.m).step_by(mc.max(1)) {
            let block = Block {
                first: ic,
                rows: mc.min(p.m - ic),
                pc,
                kc: kc.min(p.k - pc),
            };
            // SAFETY: as the caller's; there is room for the block.
            unsafe {
                loops.pack_a(block);
                loops.micro_panels(block);
            }
        }
    }
}

/// What all loops share.
struct Loops<'a, T: 'static> {
    routines: &'a Routines<T>,
    p: &'a Gemm<T>,
    widths: Widths,
    /// Room for a block of A; `None` if A is read in place.
    packed_a: Option<*mut T>,
    /// Whether B does not come from L2, so that it is prefetched.
    prefetches: bool,
    /// Whether it is so large that it comes from memory.
    touches: bool,
}

/// A block of A: rows and steps of k.
#[derive(Clone, Copy)]
struct Block {
    first: usize,
    rows: usize,
    pc: usize,
    kc: usize,
}

/// A micro-panel of B in one segment of k.
#[derive(Clone, Copy)]
struct MicroPanel<T> {
    /// Its first column, and the number of columns.
    jr: usize,
    nr: usize,
    /// Its first step in the block, and the number of steps.
    step: usize,
    kc: usize,
    b: PanelB<T>,
    /// The micro-panel that is read after it.
    next: *const T,
}

impl<T: Element> Loops<'_, T> {
    /// The rows of the next micro-tile of a block in which `rest` are left.
    #[inline(always)]
    fn next_mr(&self, rest: usize) -> usize {
        let mr = self.routines.microkernels.mr();
        if self.prefetches {
            mr.min(rest)
        } else {
            balanced_step(rest, mr)
        }
    }

    /// Packs a block of A: segment by segment, each as micro-panels.
    ///
    /// # Safety
    /// As [`run`]; there must be room for the block.
    unsafe fn pack_a(&self, block: Block) {
        let Some(out) = self.packed_a else { return };
        for step in (0..block.kc).step_by(KSEG) {
            let kc = KSEG.min(block.kc - step);
            let mut ir = 0;
            while ir < block.rows {
                let rows = self.next_mr(block.rows - ir);
                let a = PanelA::in_place(&self.p.a, block.first + ir, block.pc + step);
                let to = out.wrapping_add(step * block.rows + ir * kc);
                (self.routines.pack_a)(a, rows, kc, to);
                ir += rows;
            }
        }
    }

    /// Rows `ir` of a block and on, for `kc` steps from `step` on.
    #[inline(always)]
    fn a(&self, block: Block, (ir, mr): (usize, usize), (step, kc): (usize, usize)) -> PanelA<T> {
        let Some(packed) = self.packed_a else {
            return PanelA::in_place(&self.p.a, block.first + ir, block.pc + step);
        };
        PanelA {
            p: packed
                .wrapping_add(step * block.rows + ir * kc)
                .cast_const(),
            rs: 1,
            cs: mr as isize,
        }
    }

    /// LOOP 2: micro-panels of B, each segment by segment.
    ///
    /// # Safety
    /// As [`run`]; the block must have been packed.
    unsafe fn micro_panels(&self, block: Block) {
        let (p, nr) = (self.p, self.widths.nr().max(1));
        let panel = |jr: usize, step: usize| {
            let width = self.widths.padded(nr.min(p.n - jr));
            p.b.at(0, jr).wrapping_add((block.pc + step) * width)
        };
        for jr in (0..p.n).step_by(nr) {
            let columns = nr.min(p.n - jr);
            for step in (0..block.kc).step_by(KSEG) {
                let kc = KSEG.min(block.kc - step);
                let b = PanelB {
                    p: panel(jr, step),
                    rs: self.widths.padded(columns) as isize,
                };
                let next = if step + kc < block.kc {
                    panel(jr, step + kc)
                } else if jr + nr < p.n {
                    panel(jr + nr, 0)
                } else {
                    b.p
                };
                let b = MicroPanel {
                    jr,
                    nr: columns,
                    step,
                    kc,
                    b,
                    next,
                };
                // SAFETY: as the caller's.
                unsafe { self.micro_tiles(block, b) };
            }
        }
    }

    /// LOOP 1: micro-tiles.
    ///
    /// # Safety
    /// As [`Loops::micro_panels`].
    unsafe fn micro_tiles(&self, block: Block, b: MicroPanel<T>) {
        let Self { routines, p, .. } = *self;
        let microkernels = &routines.microkernels;
        let (first, last) = (block.pc + b.step, block.pc + b.step + b.kc);
        let to = WriteBack::new(p, first == 0, last == p.k);
        let direct = to.is_direct();
        let (alpha, beta) = to.microkernel_scalars();
        // The lines of the next micro-panel are shared by the micro-tiles that prefetch; a single one fetches half of them.
        let tiles = block.rows / microkernels.mr().max(1);
        let row = b.b.rs.unsigned_abs() * size_of::<T>();
        let stride = row.checked_div(tiles).unwrap_or(0).min(LINE);
        if self.touches && tiles < 2 {
            // SAFETY: the micro-panel has these bytes.
            unsafe { touch(b.b.p.cast(), b.kc * row) };
        }
        let mut next = b.next.addr();
        let mut args = MicrokernelArgs {
            kc: b.kc,
            a_rs: 0,
            a_cs: 0,
            c_rs: if direct { p.c.rs } else { MAX_NR as isize },
            prefetch_stride: stride as isize,
            packed: core::ptr::null_mut(),
            update: Update::new(alpha, beta),
            alpha,
            beta,
        };
        // SAFETY: a micro-panel has at most the level's NR columns.
        let (by_rows, tail) = unsafe { microkernels.of_width(b.nr) };
        let mut ir = 0;
        while ir < block.rows {
            let mr = self.next_mr(block.rows - ir);
            let a = self.a(block, (ir, mr), (b.step, b.kc));
            (args.a_rs, args.a_cs) = (a.rs, a.cs);
            let at = (block.first + ir, b.jr);
            let prefetch = microkernels
                .largest(Variant::Prefetch, (mr, b.nr))
                .filter(|_| self.prefetches);
            // SAFETY: mr is at most the level's MR; the micro-tile lies in C, `a` and `b` hold its steps.
            unsafe {
                let (run, last) = match prefetch {
                    Some(run) => (run, next),
                    None => (*by_rows.get_unchecked(mr - 1), tail),
                };
                if direct {
                    run(&args, a.p, b.b, to.at(at), last);
                } else {
                    let run = |sums| run(&args, a.p, b.b, sums, last);
                    through_sums(routines, &to, run, (mr, b.nr), at);
                }
            }
            next = next.wrapping_add(stride * b.kc);
            ir += mr;
        }
    }
}

/// Reads a micro-panel into L1, several pages at once: the prefetching of hardware ends with a page, and the few fma of a small
/// micro-tile leave it too little time to begin another.
///
/// # Safety
/// The bytes must be valid for reading.
#[inline(never)]
unsafe fn touch(panel: *const u8, bytes: usize) {
    const PAGE: usize = 4 << 10;
    const PAGES: usize = 8;
    for first in (0..bytes).step_by(PAGES * PAGE) {
        for line in (0..PAGE).step_by(LINE) {
            for page in 0..PAGES {
                let at = first + page * PAGE + line;
                if at < bytes {
                    // SAFETY: inside the micro-panel.
                    unsafe { panel.wrapping_add(at).read_volatile() };
                }
            }
        }
    }
}
