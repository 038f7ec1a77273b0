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
use crate::simd::{Access, Simd};

/// The columns that are widened together.
const PANEL: usize = 64;
/// The registers of columns of one row that are summed together. There are as many sums of two rows and of four.
const WIDE: usize = 8;

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
    /// Whether a segment ends with the block.
    ends: bool,
    /// The first sum of all segments that are done, and that of this segment; from row to row there are `pitch`.
    totals: *mut f32,
    segments: *mut f32,
    pitch: usize,
}

/// Adds a block of steps of a panel, `width` columns wide, to the sums of all rows.
pub type AddPanel = unsafe fn(block: Block, panel: *const f32, width: usize);

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
    for start in [sums, segments] {
        start.write_bytes(0, rows * pitch);
    }
    let mut a = MaybeUninit::<[f32; IN_PLACE_ROWS * BLOCK]>::uninit();
    let a: *mut f32 = a.as_mut_ptr().cast();
    let mut panel = MaybeUninit::<[f32; PANEL * BLOCK]>::uninit();
    let panel: *mut f32 = panel.as_mut_ptr().cast();
    let is_direct = p.b.cs == size_of::<M>() as isize && !prefers_small_code::<S>();
    let whole = if is_direct {
        columns / (WIDE * S::N) * (WIDE * S::N)
    } else {
        0
    };
    for k in (0..p.k).step_by(BLOCK) {
        let steps = BLOCK.min(p.k - k);
        widen(p.a.offset(i, k), rows, steps, rows, a);
        let block = Block {
            a,
            rows,
            steps,
            ends: (k + steps).is_multiple_of(SEGMENT) || k + steps == p.k,
            totals: sums,
            segments,
            pitch,
        };
        let row = (p.b.at(k, j).cast::<M>(), p.b.rs / size_of::<M>() as isize);
        add_columns::<S, M>(s, block, row, whole);
        let mut c = whole;
        while c < columns {
            let count = PANEL.min(columns - c);
            let width = count.next_multiple_of(S::N);
            widen(
                p.b.offset(k, j + c).transposed(),
                count,
                steps,
                width,
                panel,
            );
            add_panel(block.at_column(c), panel, width);
            c += count;
        }
    }
}

impl Block {
    /// The same from column `c` on.
    fn at_column(self, c: usize) -> Self {
        Self {
            totals: self.totals.wrapping_add(c),
            segments: self.segments.wrapping_add(c),
            ..self
        }
    }
}

/// Adds a block of steps of `width` columns, a multiple of a register, to the sums of all rows. The rows of B are `rs` elements
/// apart.
///
/// # Safety
/// B must have the steps, and the sums room for the columns.
#[inline(always)]
pub unsafe fn add_columns<S: Simd<T = f32> + Access<L>, L: Storage>(
    s: S,
    block: Block,
    (b, rs): (*const L, isize),
    width: usize,
) {
    let mut v = 0;
    while v < width {
        let registers = (width - v) / S::N;
        let mut r = 0;
        let part = WIDE.min(registers);
        while r < block.rows {
            let of = Block {
                a: block.a.wrapping_add(r),
                totals: block.totals.wrapping_add(r * block.pitch + v),
                segments: block.segments.wrapping_add(r * block.pitch + v),
                ..block
            };
            let rest = block.rows - r;
            let rows = match rest {
                _ if prefers_small_code::<S>() => 1,
                4.. => 4,
                _ => rest.min(2),
            };
            let mut w = 0;
            while w < part {
                let of = of.at_column(w * S::N);
                let b = (b.wrapping_add(v + w * S::N), rs);
                w += match (rows, part - w) {
                    (4, 2..) => add::<S, L, 4, 2>(s, of, b),
                    (4, _) => add::<S, L, 4, 1>(s, of, b),
                    (2, 4..) => add::<S, L, 2, 4>(s, of, b),
                    (2, _) => add::<S, L, 2, 1>(s, of, b),
                    (_, WIDE..) => add::<S, L, 1, WIDE>(s, of, b),
                    _ => add::<S, L, 1, 1>(s, of, b),
                };
            }
            r += rows;
        }
        v += part * S::N;
    }
}

/// Adds a block of steps of R rows and NV registers of columns to the sums of their segment, and these to the totals where it
/// ends. The rows of B are `rs` elements apart. Returns NV.
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
            let place = r * block.pitch + v * S::N;
            let (total, segment) = (
                block.totals.wrapping_add(place),
                block.segments.wrapping_add(place),
            );
            // As products of zeros would: a chain that rounded to -0 becomes +0. In a whole block that changes nothing,
            // because the sum of two chains and a segment is never -0.
            let both = s.add(s.add(even[r][v], zero), s.add(odd[r][v], zero));
            let mut sum = s.add(s.load(segment.cast_const()), both);
            if block.ends {
                s.store(total, s.add(s.load(total.cast_const()), sum));
                sum = zero;
            }
            s.store(segment, sum);
        }
    }
    NV
}
