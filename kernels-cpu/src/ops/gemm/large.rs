//! The loops for large products where the LLC is slow: A and B are packed, and each part of the caches holds what the model of
//! Low et al. ("Analytical Modeling Is Enough for High-Performance BLIS", 2016) gives it.
//!
//! | loop | index | over | steps of | packs | which stays in |
//! |---|---|---|---|---|---|
//! | 5 | jc | columns of B and C | nc: 8 KiB | | |
//! | 4 | pc | k | kc: two segments | the panel of B | L3 |
//! | 3 | ic | rows of A and C | mc: an eighth of L2 | the block of A | L2 |
//! | 2 | jr | columns of the panel | NR | | |
//! | | | segments of kc | `KSEG` | | a micro-panel of B in L1, mc rows of C in L2 |
//! | 1 | ir | rows of the block | MR | | |
//!
//! The other loops keep the panel of B in L2, so that it is read again and packed again more often; their microkernels
//! wait for the lines that nobody prefetched, which costs little where L3 is fast. Here, each microkernel prefetches its
//! share of the micro-panel that is read next, spread over its steps: bursts before a microkernel were slower.

use super::Gemm;
use super::microkernel::{MicrokernelArgs, PanelA, PanelB, Update};
use super::microkernels::Variant;
use super::pack::PanelRange;
use super::params::{self, KSEG, LINE};
use super::routines::Routines;
use super::shapes::{MAX_MR, MAX_NR};
use super::widths::{balanced, balanced_step};
use super::write_back::{WriteBack, through_sums};
use crate::detect::Geometry;
use crate::element::Element;

/// The segments in kc. More were no faster, and take more scratch memory.
const SEGMENTS: usize = 2;
/// The bytes of a row of a panel of B.
const NC_BYTES: usize = 8 << 10;
/// The fewest columns with which packing A paid.
const MIN_COLUMNS: usize = 960;
/// The fewest rows of C: each micro-panel of B is read for a few blocks of A.
const MIN_ROWS: usize = 256;

/// mc, kc and nc.
#[derive(Clone, Copy)]
pub struct BlockSizes {
    mc: usize,
    kc: usize,
    nc: usize,
}

impl BlockSizes {
    /// The blocks of a product of this size that packs B, if these loops are faster on a machine of this geometry.
    pub fn new<T>(geometry: &Geometry, (m, n, k): (usize, usize, usize)) -> Option<Self> {
        let pays = geometry.has_slow_llc() && m >= MIN_ROWS && n >= MIN_COLUMNS && k > KSEG;
        pays.then(|| Self {
            // An eighth of L2 for a block of A. More rows were slower.
            mc: geometry.l2 / 8 / (SEGMENTS * KSEG * size_of::<T>()) / MAX_MR * MAX_MR,
            kc: (SEGMENTS * KSEG).min(k),
            nc: NC_BYTES / size_of::<T>(),
        })
    }

    /// The blocks of this product, which packs B, if the loops are faster on this machine and `bytes` bytes of scratch
    /// memory suffice.
    pub fn within<T>(p: &Gemm<T>, bytes: usize) -> Option<Self> {
        let blocks = Self::new::<T>(&Geometry::current(), (p.m, p.n, p.k))?;
        (blocks.scratch_bytes::<T>(p.n) <= bytes).then_some(blocks)
    }

    /// The bytes of a packed block of A.
    fn block_bytes<T>(&self) -> usize {
        self.mc * self.kc * size_of::<T>()
    }

    /// The bytes of scratch memory for a product of `n` columns.
    pub fn scratch_bytes<T>(&self, n: usize) -> usize {
        // Rows of the panel are padded to whole registers; the other lines are for the alignment and past the block of A.
        let row = (n.min(self.nc) * size_of::<T>()).next_multiple_of(LINE);
        row * self.kc + self.block_bytes::<T>() + 2 * LINE
    }
}

/// Computes the product with these blocks, in scratch memory of their [`scratch_bytes`](BlockSizes::scratch_bytes).
///
/// # Safety
/// As [`run`](super::run); k must not be 0.
#[inline(never)]
pub unsafe fn packed_loops<T: Element>(
    routines: &Routines<T>,
    blocks: BlockSizes,
    p: &Gemm<T>,
    block: *mut u8,
) {
    let widths = params::packed_widths::<T>(routines.microkernels.widths);
    let packed_a = block.wrapping_add(block.align_offset(LINE)).cast::<T>();
    // The last register of A may reach a line past the block.
    let packed_b = packed_a.wrapping_byte_add(blocks.block_bytes::<T>() + LINE);
    let loops = LargeLoops {
        routines,
        p,
        packed_a,
        packed_b,
        mc: balanced(p.m, blocks.mc, MAX_MR),
    };
    let nc = balanced(p.n, blocks.nc, widths.nr());
    let mut jc = 0;
    while jc < p.n {
        let mut pc = 0;
        while pc < p.k {
            let range = PanelRange {
                pc,
                kc: blocks.kc.min(p.k - pc),
                jc,
                nc: nc.min(p.n - jc),
                widths,
            };
            // SAFETY: as the caller's; there is room for the panel and a block of A.
            unsafe { loops.blocks(range) };
            pc += range.kc;
        }
        jc += nc;
    }
}

/// What all loops share.
struct LargeLoops<'a, T: 'static> {
    routines: &'a Routines<T>,
    p: &'a Gemm<T>,
    /// Room for a block of A, and for a panel of B.
    packed_a: *mut T,
    packed_b: *mut T,
    mc: usize,
}

/// The rows of a block of A and C, and whether others follow.
#[derive(Clone, Copy)]
struct RowBlock {
    first: usize,
    rows: usize,
    is_last: bool,
}

/// A micro-panel of B in one segment of k.
#[derive(Clone, Copy)]
struct MicroPanel {
    /// Its first column in the panel, and the number of columns.
    jr: usize,
    nr: usize,
    /// Its first step, counted from the panel's, and the number of steps.
    step: usize,
    kc: usize,
}

impl<T: Element> LargeLoops<'_, T> {
    /// LOOP 3: packs the panel of B, then each block of A, and computes with them.
    ///
    /// # Safety
    /// As [`packed_loops`]; there must be room for what is packed.
    unsafe fn blocks(&self, range: PanelRange) {
        let m = self.p.m;
        (self.routines.pack_b)(self.p, range, self.packed_b);
        let mut ic = 0;
        while ic < m {
            let rows = self.mc.min(m - ic);
            let block = RowBlock {
                first: ic,
                rows,
                is_last: ic + rows == m,
            };
            // SAFETY: as the caller's.
            unsafe {
                self.pack_block(range, block);
                self.micro_panels(range, block);
            }
            ic += rows;
        }
    }

    /// Packs a block of A: segment by segment, each as micro-panels.
    ///
    /// # Safety
    /// As [`LargeLoops::blocks`].
    unsafe fn pack_block(&self, range: PanelRange, block: RowBlock) {
        let p = self.p;
        for step in (0..range.kc).step_by(KSEG) {
            let kc = KSEG.min(range.kc - step);
            let mut ir = 0;
            while ir < block.rows {
                let mr = balanced_step(block.rows - ir, self.routines.microkernels.mr());
                let a = PanelA::in_place(&p.a, block.first + ir, range.pc + step);
                (self.routines.pack_a)(a, mr, kc, self.a(block, ir, (step, kc)));
                ir += mr;
            }
        }
    }

    /// The packed micro-panel of A from row `ir` of the block on, for `kc` steps from `step` on.
    #[inline(always)]
    fn a(&self, block: RowBlock, ir: usize, (step, kc): (usize, usize)) -> *mut T {
        self.packed_a.wrapping_add(step * block.rows + ir * kc)
    }

    /// LOOP 2: micro-panels of B, each segment by segment.
    ///
    /// # Safety
    /// As [`packed_loops`]; the panel and the block must have been packed.
    unsafe fn micro_panels(&self, range: PanelRange, block: RowBlock) {
        let mut jr = 0;
        while jr < range.nc {
            let nr = range.widths.next_nr(range.nc - jr);
            for step in (0..range.kc).step_by(KSEG) {
                let kc = KSEG.min(range.kc - step);
                let b = MicroPanel { jr, nr, step, kc };
                self.micro_tiles(range, block, b);
            }
            jr += nr;
        }
    }

    /// LOOP 1: micro-tiles. Each prefetches its share of the micro-panel of B that follows in memory, or of the first one
    /// for the next block of A.
    ///
    /// # Safety
    /// As [`LargeLoops::micro_panels`].
    unsafe fn micro_tiles(&self, range: PanelRange, block: RowBlock, b: MicroPanel) {
        let Self { routines, p, .. } = *self;
        let microkernels = &routines.microkernels;
        let (first, last) = (range.pc + b.step, range.pc + b.step + b.kc);
        let to = WriteBack::new(p, first == 0, last == p.k);
        let direct = to.is_direct();
        let (alpha, beta) = to.microkernel_scalars();
        let width = range.widths.padded(b.nr);
        let at = b.jr * range.kc + b.step * width;
        let after = at + b.kc * width;
        let panel = self.packed_b.cast_const();
        let panel_b = PanelB {
            p: panel.wrapping_add(at),
            rs: width as isize,
        };
        let mut next = if after < range.kc * range.widths.padded(range.nc) {
            panel.wrapping_add(after).addr()
        } else if !block.is_last {
            panel.addr()
        } else {
            // Nothing is left: lines that are in L1.
            panel_b.p.addr()
        };
        let share = (b.kc * width * size_of::<T>())
            .checked_div(block.rows.div_ceil(MAX_MR))
            .unwrap_or(0);
        let args = MicrokernelArgs {
            kc: b.kc,
            a_rs: 1,
            a_cs: 0,
            c_rs: if direct { p.c.rs } else { MAX_NR as isize },
            prefetch_stride: share.checked_div(b.kc).unwrap_or(0) as isize,
            packed: core::ptr::null_mut(),
            update: Update::new(alpha, beta),
            alpha,
            beta,
        };
        // SAFETY: the widths gave nr, so there are microkernels for it.
        let (by_rows, tail) = unsafe { microkernels.of_width(b.nr) };
        let mut ir = 0;
        while ir < block.rows {
            let mr = balanced_step(block.rows - ir, microkernels.mr());
            let args = MicrokernelArgs {
                a_cs: mr as isize,
                ..args
            };
            let a = self.a(block, ir, (b.step, b.kc)).cast_const();
            let at = (block.first + ir, range.jc + b.jr);
            // SAFETY: mr is at most the level's MR; the micro-tile lies in C, `a` and `panel_b` hold
            // its steps.
            unsafe {
                let (run, last) = match microkernels.largest(Variant::Prefetch, (mr, b.nr)) {
                    Some(run) => (run, next),
                    None => (*by_rows.get_unchecked(mr - 1), tail),
                };
                if direct {
                    run(&args, a, panel_b, to.at(at), last);
                } else {
                    let run = |sums| run(&args, a, panel_b, sums, last);
                    through_sums(routines, &to, run, (mr, b.nr), at);
                }
            }
            next = next.wrapping_add(share);
            ir += mr;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::agreement::{Layout, agrees};
    use super::*;
    use crate::dispatch::Kernels;
    use crate::level::Level;

    const EMERALD_RAPIDS: Geometry = Geometry {
        l1: 48 << 10,
        l2: 2 << 20,
        llc: 300 << 20,
        double_pumps_avx512: false,
    };

    /// Small blocks, so that products of a few hundred elements have several of each, give the bits of the five loops.
    fn all_layouts<T: Element>(level: Level) {
        let routines = Kernels::<T>::new(level).gemm();
        let blocks = BlockSizes {
            mc: 3 * MAX_MR,
            kc: 2 * KSEG,
            nc: 6 * routines.microkernels.widths.lanes,
        };
        let sizes = [
            (2, 3, 1),
            (24, 6, 256),
            (25, 100, 257),
            (47, 97, 300),
            (48, 96, 512),
            (49, 191, 513),
            (100, 250, 769),
            (7, 300, 1024),
            (75, 33, 1300),
        ];
        for (turn, (m, n, k)) in sizes.into_iter().enumerate() {
            for choice in 0..60 {
                if (turn + choice) % 3 != 0 {
                    continue;
                }
                let mut layout = Layout::new((m, n, k), choice);
                layout.b_by_columns = choice / 2 % 2 == 0;
                let bytes = blocks.scratch_bytes::<T>(n);
                agrees::<T>(level, layout, bytes, |p, block| {
                    // SAFETY: the machine has the level; the arrays hold the matrices.
                    unsafe { super::packed_loops(routines, blocks, p, block) };
                    true
                });
            }
        }
    }

    #[test]
    fn large_and_other_loops_agree() {
        for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
            all_layouts::<f32>(level);
            all_layouts::<f64>(level);
        }
    }

    /// Emerald Rapids has the block sizes that were measured; other machines have none.
    #[test]
    fn blocks_follow_from_the_geometry() {
        let square = |n| (n, n, n);
        let f32s = BlockSizes::new::<f32>(&EMERALD_RAPIDS, square(2048)).expect("large");
        assert_eq!((f32s.mc, f32s.kc, f32s.nc), (128, 512, 2048));
        let f64s = BlockSizes::new::<f64>(&EMERALD_RAPIDS, square(2048)).expect("large");
        assert_eq!((f64s.mc, f64s.kc, f64s.nc), (64, 512, 1024));
        let none = |geometry: &Geometry, n| BlockSizes::new::<f32>(geometry, square(n)).is_none();
        assert!(none(&EMERALD_RAPIDS, 512));
        for (l2, llc) in [(512, 32), (1024, 32), (1024, 96), (2048, 2)] {
            let geometry = Geometry {
                l2: l2 << 10,
                llc: llc << 20,
                ..EMERALD_RAPIDS
            };
            assert!(none(&geometry, 4096));
        }
    }
}
