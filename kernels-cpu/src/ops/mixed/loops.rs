//! The five loops; see the module.

use super::blocks::Blocks;
#[cfg(test)]
use super::blocks::LINE;
use super::packed::undo_header;
use super::product::MixedGemm;
use super::routines::{IN_PLACE_ROWS, MAX_NR, MAX_TILE_BYTES, Panels, Routines, Tile};
use super::write::WriteTile;
use crate::aligned::AlignedBytes;
use crate::matrix::Matrix;

pub(super) type Sums = AlignedBytes<MAX_TILE_BYTES>;

/// A range of rows or columns, and of steps.
#[derive(Clone, Copy)]
struct Part {
    first: usize,
    count: usize,
}

/// Computes a product in blocks.
///
/// # Safety
/// The machine must have the instructions of the routines; the matrices must be valid, and C must not overlap the others;
/// `scratch` must have the bytes that [`Blocks::scratch_bytes`] says, aligned to a cache line.
#[cfg_attr(not(precompiled), inline)]
pub unsafe fn run(routines: &Routines, blocks: &Blocks, p: &MixedGemm, scratch: *mut u8) {
    let packed_b = scratch.wrapping_add(blocks.a_bytes);
    let loops = Loops {
        routines,
        blocks,
        p,
        packed_a: scratch,
        packed_b,
        sums: packed_b.wrapping_add(blocks.b_bytes),
    };
    (routines.enter)();
    let mut jb = 0;
    while jb < p.n {
        let columns = Part::next(jb, blocks.nb, p.n);
        let mut ic = 0;
        while ic < p.m {
            let rows = Part::next(ic, blocks.mc, p.m);
            loops.blocks_of_k(rows, columns);
            ic += rows.count;
        }
        jb += columns.count;
    }
    (routines.leave)();
}

impl Part {
    /// The part of `most` rows, columns or steps from `first` on, of `all`.
    fn next(first: usize, most: usize, all: usize) -> Self {
        Self {
            first,
            count: most.min(all - first),
        }
    }
}

/// What all loops share.
struct Loops<'a> {
    routines: &'a Routines,
    blocks: &'a Blocks,
    p: &'a MixedGemm,
    packed_a: *mut u8,
    packed_b: *mut u8,
    /// The sums of a block of C from one block of k to the next.
    sums: *mut u8,
}

impl Loops<'_> {
    /// The loop over blocks of k, and the one over blocks of columns.
    ///
    /// # Safety
    /// As [`run`].
    #[cfg_attr(not(precompiled), inline)]
    unsafe fn blocks_of_k(&self, rows: Part, columns: Part) {
        let Self { routines: r, p, .. } = *self;
        let mut pc = 0;
        loop {
            let steps = Part::next(pc, self.blocks.kc, p.k);
            let a = p.a.offset(rows.first, pc);
            self.pack(&r.a, a, rows.count, steps.count, self.packed_a);
            let mut jc = 0;
            while jc < columns.count {
                let block = Part::next(
                    columns.first + jc,
                    self.blocks.nc,
                    columns.first + columns.count,
                );
                if p.packed_b.is_none() {
                    let b = p.b.offset(pc, block.first).transposed();
                    self.pack(&r.b, b, block.count, steps.count, self.packed_b);
                }
                self.micro_tiles(columns.first, rows, block, steps);
                jc += block.count;
            }
            pc += steps.count;
            if pc >= p.k {
                return;
            }
        }
    }

    /// Packs rows of A or columns of B: micro-panel by micro-panel, each segment by segment. If the elements of a step are
    /// closer together in memory than those of a row or column, all micro-panels get some steps before any gets more: so each
    /// cache line is read once.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn pack(
        &self,
        panels: &Panels,
        from: Matrix<*const u8>,
        count: usize,
        kc: usize,
        out: *mut u8,
    ) {
        /// The lines of so many rows stay in L1, or in L2 where a large power of two is between them.
        const CHUNK: usize = 16;
        let r = self.routines;
        let is_across = from.rs.unsigned_abs() < from.cs.unsigned_abs();
        let chunk = if is_across {
            CHUNK.next_multiple_of(r.steps())
        } else {
            r.segment
        };
        let mut step = 0;
        while step < kc {
            let (segment, first) = (step / r.segment(), step % r.segment());
            let steps = chunk.min(kc - step);
            let mut panel = out;
            let mut done = 0;
            while done < count {
                let most = panels.next(count - done);
                let before = segment * panels.micro_panel_bytes(most, r.segment() / r.steps());
                (panels.pack)(
                    from.offset(done, step),
                    most,
                    first,
                    steps,
                    panel.wrapping_add(before),
                );
                panel = panel.wrapping_add(self.panel_bytes(panels, most, kc));
                done += most;
            }
            step += steps;
        }
    }

    /// The bytes of a packed micro-panel in a block of kc steps, all segments together.
    #[inline(always)]
    fn panel_bytes(&self, panels: &Panels, count: usize, kc: usize) -> usize {
        let r = self.routines;
        let whole = kc / r.segment() * panels.micro_panel_bytes(count, r.segment() / r.steps());
        let rest = kc % r.segment();
        whole
            + if rest > 0 {
                panels.micro_panel_bytes(count, rest.div_ceil(r.steps()))
            } else {
                0
            }
    }

    /// The loops over micro-tiles.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn micro_tiles(&self, first_column: usize, rows: Part, columns: Part, steps: Part) {
        let Self { routines: r, p, .. } = *self;
        let mut a = self.packed_a.cast_const();
        let mut ir = 0;
        while ir < rows.count {
            let mr = r.a.next(rows.count - ir);
            let mut b = self.packed_b.cast_const();
            let mut jr = 0;
            while jr < columns.count {
                let mut nr = r.b.next(columns.count - jr);
                let at = (rows.first + ir, columns.first + jr);
                if let Some(packed) = &p.packed_b {
                    nr = packed.panels.most.min(columns.count - jr);
                    let before = self.panel_bytes(&packed.panels, nr, steps.first);
                    b = p.b.at(0, at.1).wrapping_add(before);
                }
                let waiting = (ir, at.1 - first_column);
                self.micro_tile((mr, nr), at, waiting, (a, b), steps);
                b = b.wrapping_add(self.panel_bytes(&r.b, nr, steps.count));
                jr += nr;
            }
            a = a.wrapping_add(self.panel_bytes(&r.a, mr, steps.count));
            ir += mr;
        }
    }

    /// One micro-tile of C, at `at`, in a block of k. `waiting` is its place among the sums that wait.
    ///
    /// # Safety
    /// As [`run`]; `a` and `b` must be its packed micro-panels.
    unsafe fn micro_tile(
        &self,
        (rows, columns): (usize, usize),
        at: (usize, usize),
        waiting: (usize, usize),
        (mut a, mut b): (*const u8, *const u8),
        steps: Part,
    ) {
        let Self { routines: r, p, .. } = *self;
        let is_first = steps.first == 0;
        let is_last = steps.first + steps.count >= p.k;
        let c = p.c.offset(at.0, at.1);
        let is_whole = columns.is_multiple_of(r.b.grain) && rows.is_multiple_of(r.a.grain);
        let in_c = p.is_plain && is_whole && p.c.cs == r.sum_bytes as isize && p.k > 0;
        let mut stack = Sums::new();
        let width = columns.next_multiple_of(r.b.grain());
        let (sums, sums_rs) = if in_c {
            (c.ptr, c.rs)
        } else if is_first && is_last {
            (stack.start(), (width * r.sum_bytes) as isize)
        } else {
            let rs = self.blocks.waiting_rs;
            let place = waiting.0 * rs + waiting.1 * r.sum_bytes;
            (self.sums.wrapping_add(place), rs as isize)
        };
        let adds_to_c = in_c && p.finish.beta != 0.0;
        let panels_b = p.packed_b.as_ref().map_or(&r.b, |packed| &packed.panels);
        let mut step = 0;
        while step < steps.count {
            let kc = r.segment.min(steps.count - step);
            let blocks = kc.div_ceil(r.steps());
            let mut tile = Tile {
                rows,
                columns,
                kc,
                a,
                b,
                sums,
                sums_rs,
                adds: !(is_first && step == 0) || adds_to_c,
            };
            if let Some(packed) = &p.packed_b
                && packed.is_for_other
            {
                undo_header(&mut tile, &packed.panels, &r.b);
            }
            (r.microkernel)(&tile);
            a = a.wrapping_add(r.a.micro_panel_bytes(rows, blocks));
            b = b.wrapping_add(panels_b.micro_panel_bytes(columns, blocks));
            step += kc;
        }
        if is_last && !in_c {
            (p.finish.write)(
                &p.finish,
                &WriteTile {
                    rows,
                    columns,
                    sums,
                    sums_rs,
                    c,
                    at,
                    has_sums: p.k > 0,
                },
            );
        }
    }
}

/// In place, there is room for the widest sums of columns of each row.
const _: () = assert!(MAX_TILE_BYTES / size_of::<u64>() / IN_PLACE_ROWS >= MAX_NR);

/// Computes a product from A and B as they are: one without scratch memory, which is slow, or one of few rows.
///
/// # Safety
/// As [`run`].
#[cfg_attr(not(precompiled), inline)]
pub unsafe fn run_in_place(routines: &Routines, p: &MixedGemm) {
    let mut stack = Sums::new();
    let sums: *mut u8 = stack.start();
    let most_rows = IN_PLACE_ROWS.min(p.m).max(1);
    // As many columns as there is room for: long parts of the rows of B.
    let room = MAX_TILE_BYTES / routines.sum_bytes.max(1) / most_rows;
    let most_columns = room / MAX_NR * MAX_NR;
    let pitch = most_columns * routines.sum_bytes;
    let mut i = 0;
    while i < p.m {
        let rows = Part::next(i, most_rows, p.m).count;
        let mut j = 0;
        while j < p.n {
            let columns = Part::next(j, most_columns, p.n).count;
            (routines.in_place)(p, (i, j), (rows, columns), sums, pitch);
            for first in (0..columns).step_by(MAX_NR) {
                let at = (i, j + first);
                let tile = WriteTile {
                    rows,
                    columns: MAX_NR.min(columns - first),
                    sums: sums.wrapping_add(first * routines.sum_bytes),
                    sums_rs: pitch as isize,
                    c: p.c.offset(at.0, at.1),
                    at,
                    has_sums: p.k > 0,
                };
                (p.finish.write)(&p.finish, &tile);
            }
            j += columns;
        }
        i += rows;
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Finish, half, integers};
    use super::*;
    use crate::api::mixed::{Half, Integers};
    use crate::detect::{Extensions, Geometry};
    use crate::dispatch;
    use crate::level::Level;
    use std::vec;

    /// Caches so small that products of some hundred elements have several blocks of each kind.
    const TINY: Geometry = Geometry {
        l1: 1 << 10,
        l2: 8 << 10,
        llc: 32 << 10,
        double_pumps_avx512: false,
    };

    /// Compares the sums of a product in place and by blocks, for the caches of this machine and for tiny ones.
    fn sums(
        r: &Routines,
        bytes: usize,
        write: super::super::write::Write,
        (m, n, k): (usize, usize, usize),
    ) {
        let operand = |count: usize, seed: usize| -> vec::Vec<u8> {
            (0..count * bytes)
                .map(|i| ((i * 7919 + seed) % 251) as u8)
                .collect()
        };
        let (a, b) = (operand(m * k, 1), operand(k * n, 2));
        let c_bytes = r.sum_bytes;
        let product = |c: &mut [u8], is_b_transposed: bool| MixedGemm {
            m,
            n,
            k,
            a: Matrix::new(a.as_ptr(), (k * bytes) as isize, bytes as isize),
            b: if is_b_transposed {
                Matrix::new(b.as_ptr(), bytes as isize, (k * bytes) as isize)
            } else {
                Matrix::new(b.as_ptr(), (n * bytes) as isize, bytes as isize)
            },
            packed_b: None,
            c: Matrix::new(c.as_mut_ptr(), (n * c_bytes) as isize, c_bytes as isize),
            is_plain: false,
            finish: Finish {
                write,
                ..Finish::NONE
            },
        };
        for is_b_transposed in [false, true] {
            let mut in_place = vec![1; m * n * c_bytes];
            // SAFETY: the machine has the level; the arrays hold the matrices.
            unsafe { run_in_place(r, &product(&mut in_place, is_b_transposed)) };
            for geometry in [Geometry::of_this_machine(), TINY] {
                let mut blocked = vec![2; m * n * c_bytes];
                let blocks = Blocks::new(&geometry, r, (m, n, k));
                let mut scratch = vec![0_u8; blocks.scratch_bytes()];
                let scratch = scratch.as_mut_ptr();
                let aligned = scratch.wrapping_add(scratch.align_offset(LINE));
                let p = product(&mut blocked, is_b_transposed);
                // SAFETY: as above; the scratch memory is as large as the blocks need.
                unsafe { run(r, &blocks, &p, aligned) };
                assert!(
                    in_place == blocked,
                    "{m} x {n}, k = {k}, B transposed: {is_b_transposed}, {geometry:?}"
                );
            }
        }
    }

    #[test]
    fn products_in_place_and_by_blocks_agree() {
        let extensions = Extensions::of_this_machine();
        for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
            for extensions in [Extensions::NONE, extensions] {
                for size in [
                    (1, 1, 1),
                    (1, 300, 70),
                    (2, 90, 1057),
                    (3, 130, 40),
                    (7, 17, 33),
                    (40, 70, 1100),
                    (33, 5, 2100),
                    (6, 1100, 1030),
                ] {
                    let f32s = dispatch::mixed::write_f32::of(level);
                    let i32s = dispatch::mixed::write_i32::of(level);
                    let i64s = dispatch::mixed::write_i64::of(level);
                    for of in [Half::F16, Half::Bf16] {
                        sums(half::routines(of, level, extensions), 2, f32s, size);
                    }
                    for of in [Integers::I8I8, Integers::U8I8] {
                        sums(integers::routines(of, level, extensions), 1, i32s, size);
                    }
                    sums(
                        integers::routines(Integers::I32, level, extensions),
                        4,
                        i32s,
                        size,
                    );
                    sums(
                        integers::routines(Integers::I64, level, extensions),
                        8,
                        i64s,
                        size,
                    );
                }
            }
        }
    }
}
