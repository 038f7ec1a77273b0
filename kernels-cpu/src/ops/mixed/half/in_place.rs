//! Products of few rows of 16-bit numbers, without scratch memory: each block of steps is widened on the stack, or read
//! from B as it is, and added to the sums of all columns.

use core::mem::MaybeUninit;

use super::{BLOCK, SEGMENT};
use crate::array::from_fn;
use crate::element::Storage;
use crate::matrix::Matrix;
use crate::ops::mixed::product::MixedGemm;
use crate::ops::mixed::routines::{IN_PLACE_ROWS, MAX_TILE_BYTES};
use crate::ops::prefers_small_code;
use crate::simd::{Access, MAX_LANES, Simd};

/// The registers of columns that are added together.
pub const WIDE: usize = 8;
/// The most columns that are widened together.
const PANEL: usize = WIDE * MAX_LANES;

/// Room for as many sums as there are.
type Segments = MaybeUninit<[f32; MAX_TILE_BYTES / size_of::<f32>()]>;

/// Packs rows widened, step by step, each step padded to `width` of them.
pub type Widen =
    unsafe fn(from: Matrix<*const u8>, count: usize, kc: usize, width: usize, out: *mut f32);

/// The sums of some rows of C in a block of steps, from the first column of a part of B on.
#[derive(Clone, Copy)]
pub struct Block {
    /// The rows of A, widened: step after step, all rows of each.
    a: *const f32,
    rows: usize,
    steps: usize,
    /// The first sum of this segment; from row to row there are `pitch`.
    sums: *mut f32,
    pitch: usize,
}

/// Adds a block of steps of a panel of [`WIDE`] registers to the sums of all rows.
pub type AddPanel = unsafe fn(block: Block, panel: *const f32);

/// See [`InPlace`](crate::ops::mixed::routines::InPlace); `sums` has the elements from one row to the next.
///
/// # Safety
/// As [`InPlace`](crate::ops::mixed::routines::InPlace).
#[inline(always)]
pub unsafe fn in_place<S: Simd<T = f32> + Access<M>, M: Storage<Compute = f32>>(
    s: S,
    p: &MixedGemm,
    (i, j): (usize, usize),
    (rows, columns): (usize, usize),
    (sums, pitch): (*mut f32, usize),
    (widen, add_panel): (Widen, AddPanel),
) {
    let mut segments = Segments::uninit();
    let segments: *mut f32 = segments.as_mut_ptr().cast();
    let width = WIDE * S::N;
    let used = columns.next_multiple_of(width);
    for r in 0..rows {
        for start in [sums, segments] {
            start.wrapping_add(r * pitch).write_bytes(0, used);
        }
    }
    let mut a = MaybeUninit::<[f32; IN_PLACE_ROWS * BLOCK]>::uninit();
    let a: *mut f32 = a.as_mut_ptr().cast();
    let mut panel = MaybeUninit::<[f32; PANEL * BLOCK]>::uninit();
    let panel: *mut f32 = panel.as_mut_ptr().cast();
    if columns < used {
        // Columns beyond the last are added too, wherever their numbers come from.
        panel.write_bytes(0, BLOCK.min(p.k) * width);
    }
    let is_direct = p.b.cs == size_of::<M>() as isize && !prefers_small_code::<S>();
    for k in (0..p.k).step_by(BLOCK) {
        let steps = BLOCK.min(p.k - k);
        widen(p.a.offset(i, k), rows, steps, rows, a);
        let block = Block {
            a,
            rows,
            steps,
            sums: segments,
            pitch,
        };
        let mut c = 0;
        while c < columns {
            let block = block.at_column(c);
            if is_direct && columns - c >= width {
                let b = p.b.at(k, j + c).cast::<M>();
                add_columns::<S, M>(s, block, (b, p.b.rs / size_of::<M>() as isize));
            } else {
                let count = width.min(columns - c);
                let from = p.b.offset(k, j + c).transposed();
                widen(from, count, steps, width, panel);
                add_panel(block, panel);
            }
            c += width;
        }
        if (k + steps).is_multiple_of(SEGMENT) || k + steps == p.k {
            for r in 0..rows {
                for c in (r * pitch..r * pitch + used).step_by(S::N) {
                    let (sum, segment) = (sums.wrapping_add(c), segments.wrapping_add(c));
                    s.store(sum, s.add(s.load(sum), s.load(segment)));
                    s.store(segment, s.splat(0.0));
                }
            }
        }
    }
}

impl Block {
    /// The same from row `r` on; there are still `rows` in A.
    fn at_row(self, r: usize) -> Self {
        Self {
            a: self.a.wrapping_add(r),
            sums: self.sums.wrapping_add(r * self.pitch),
            ..self
        }
    }

    /// The same from column `c` on.
    fn at_column(self, c: usize) -> Self {
        Self {
            sums: self.sums.wrapping_add(c),
            ..self
        }
    }
}

/// Adds a block of steps of [`WIDE`] registers of columns to the sums of all rows. The rows of B are `rs` elements apart.
///
/// # Safety
/// B must have the steps, and the sums room for the columns.
#[inline(always)]
pub unsafe fn add_columns<S: Simd<T = f32> + Access<L>, L: Storage>(
    s: S,
    block: Block,
    (b, rs): (*const L, isize),
) {
    let mut r = 0;
    while r < block.rows {
        let rows = match block.rows - r {
            _ if prefers_small_code::<S>() => 1,
            4.. => 4,
            rest => rest.min(2),
        };
        let mut v = 0;
        while v < WIDE {
            let of = block.at_row(r).at_column(v * S::N);
            let b = (b.wrapping_add(v * S::N), rs);
            v += match rows {
                4 => add::<S, L, 4, 2>(s, of, b),
                2 => add::<S, L, 2, 4>(s, of, b),
                _ => add::<S, L, 1, WIDE>(s, of, b),
            };
        }
        r += rows;
    }
}

/// Adds a block of steps of R rows and NV registers of columns to the sums of their segment. The rows of B are `rs`
/// elements apart. Returns NV.
///
/// # Safety
/// As [`add_columns`].
#[inline(always)]
unsafe fn add<S: Simd<T = f32> + Access<L>, L: Storage, const R: usize, const NV: usize>(
    s: S,
    block: Block,
    (b, rs): (*const L, isize),
) -> usize {
    let zero = s.splat(0.0);
    let mut chains = [[[zero; NV]; R]; 2];
    for (parity, chains) in chains.iter_mut().enumerate() {
        for step in (parity..block.steps).step_by(2) {
            let a = block.a.wrapping_add(step * block.rows);
            let row = b.wrapping_offset(step as isize * rs);
            let row: [S::V; NV] = from_fn(|v| s.load(row.wrapping_add(v * S::N)));
            for (r, chain) in chains.iter_mut().enumerate() {
                let element = s.splat(*a.wrapping_add(r));
                for v in 0..NV {
                    chain[v] = s.fma(element, row[v], chain[v]);
                }
            }
        }
    }
    let [even, odd] = chains;
    for r in 0..R {
        for v in 0..NV {
            let sum = block.sums.wrapping_add(r * block.pitch + v * S::N);
            // As products of zeros would: a chain that rounded to -0 becomes +0. In a whole block that changes nothing,
            // because the sum of two chains and a segment is never -0.
            let both = s.add(s.add(even[r][v], zero), s.add(odd[r][v], zero));
            s.store(sum, s.add(s.load(sum.cast_const()), both));
        }
    }
    NV
}
