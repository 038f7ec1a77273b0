//! Products with a B that was packed before the call: its packing, and what the loops need beside.

use super::loops::Sums;
use super::product::MixedGemm;
use super::routines::{Panels, Routines, Tile};
use super::write::WriteTile;
use crate::aligned::AlignedBytes;
use crate::matrix::Matrix;

/// Packs all of B, which has `k` rows and `n` columns: to micro-panels of all k, the most columns each.
///
/// # Safety
/// The machine must have the instructions of the routines; B must be valid, and there must be room for the panels.
// Not inlined: tasks on a pool and the calling thread share one copy.
#[cfg_attr(precompiled, inline(never))]
#[cfg_attr(not(precompiled), inline)]
pub unsafe fn pack_b(r: &Routines, b: Matrix<*const u8>, (k, n): (usize, usize), out: *mut u8) {
    let mut to = out;
    for j in (0..n).step_by(r.b.most.max(1)) {
        let columns = r.b.most.min(n - j);
        for step in (0..k).step_by(r.segment()) {
            let kc = r.segment().min(k - step);
            (r.b.pack)(b.offset(step, j).transposed(), columns, 0, kc, to);
            to = to.wrapping_add(r.b.micro_panel_bytes(columns, kc.div_ceil(r.steps())));
        }
    }
}

/// Prepares a micro-tile for a micro-panel of B whose header has sums of columns for another type of A: `own` is what the
/// microkernel expects. Where it begins with them, they are subtracted first; else they are left out.
///
/// # Safety
/// As the microkernel of [`Routines`].
#[cold]
#[cfg_attr(not(precompiled), inline)]
pub unsafe fn undo_header(tile: &mut Tile, packed: &Panels, own: &Panels) {
    let width = tile.columns.next_multiple_of(packed.grain());
    if own.header == 0 {
        tile.b = tile.b.wrapping_add(width * packed.header);
        return;
    }
    let header = tile.b.cast::<i32>();
    for i in 0..tile.rows {
        let row = tile
            .sums
            .wrapping_offset(i as isize * tile.sums_rs)
            .cast::<i32>();
        for j in 0..width {
            let sum = if tile.adds { *row.wrapping_add(j) } else { 0 };
            *row.wrapping_add(j) = sum.wrapping_sub(*header.wrapping_add(j));
        }
    }
    tile.adds = true;
}

/// 16 rows of 2 KiB with a header, as AMX has; or a row of 16 KiB.
const ROWS_BYTES: usize = 33 << 10;

/// Computes a product with a packed B without scratch memory, which is slow: for as few rows of A as can be packed.
///
/// # Safety
/// As [`run`](super::loops::run); B must be packed.
#[cfg_attr(precompiled, inline(never))]
#[cfg_attr(not(precompiled), inline)]
pub unsafe fn run_packed_on_stack(r: &Routines, p: &MixedGemm) {
    let mut memory = AlignedBytes::<ROWS_BYTES>::new();
    let packed_a: *mut u8 = memory.start();
    let Some(packed) = &p.packed_b else { return };
    debug_assert!(r.a.micro_panel_bytes(1, r.segment() / r.steps()) <= ROWS_BYTES);
    (r.enter)();
    for i in (0..p.m).step_by(r.a.grain()) {
        let rows = r.a.grain().min(p.m - i);
        let mut j = 0;
        while j < p.n {
            let columns = packed.panels.most.min(p.n - j);
            let mut stack = Sums::new();
            let width = columns.next_multiple_of(r.b.grain());
            let mut tile = Tile {
                rows,
                columns,
                kc: 0,
                a: packed_a.cast_const(),
                b: p.b.at(0, j),
                sums: stack.start(),
                sums_rs: (width * r.sum_bytes) as isize,
                adds: false,
            };
            let mut step = 0;
            while step < p.k {
                tile.kc = r.segment().min(p.k - step);
                let next = packed
                    .panels
                    .micro_panel_bytes(columns, tile.kc.div_ceil(r.steps()));
                let next = tile.b.wrapping_add(next);
                (r.a.pack)(p.a.offset(i, step), rows, 0, tile.kc, packed_a);
                if packed.is_for_other {
                    undo_header(&mut tile, &packed.panels, &r.b);
                }
                (r.microkernel)(&tile);
                (tile.adds, tile.b) = (true, next);
                step += tile.kc;
            }
            (p.finish.write)(
                &p.finish,
                &WriteTile {
                    rows,
                    columns,
                    sums: tile.sums,
                    sums_rs: tile.sums_rs,
                    c: p.c.offset(i, j),
                    at: (i, j),
                    has_sums: true,
                },
            );
            j += columns;
        }
    }
    (r.leave)();
}
