//! How columns are folded: which rows go to which lane, and in what order the rows are read.

use super::{GROUPS, MAX_ACCS, PAGE};
use crate::detect::{is_from_memory, l1_bytes, l2_bytes, usable_llc};
use crate::element::Element;
use crate::ops::reduce::chunk_len;
use crate::ops::reduce::columns::STEPS;
use crate::simd::Simd;

/// How rows are assigned to lanes: row i of a chunk goes to lane i mod `lanes`.
#[derive(Clone, Copy)]
pub struct LaneAssignment {
    /// Rows of a chunk.
    pub(super) chunk: usize,
    /// Lanes of a chunk; a power of two.
    pub(super) lanes: usize,
}

impl LaneAssignment {
    /// The canonical order.
    pub fn canonical<T: Element>() -> Self {
        Self {
            chunk: chunk_len::<T>(),
            lanes: T::LANES,
        }
    }

    /// A single chunk, for folds in any order (min, max). Rows without gaps: as many lanes as fit in registers.
    /// Otherwise: enough lanes that one row of each is a loop over 2 KiB (16 KiB if the matrix exceeds half of L2).
    #[inline(always)]
    pub fn any_order<S: Simd>(rows: usize, cols: usize, inc: isize) -> Self {
        /// Rows of a few elements take longer with more lanes: twice as long with 1024 of 16 bytes.
        const MAX_LANES: usize = 128;
        // The fewest rows that fill whole registers.
        let unit = S::N >> cols.trailing_zeros().min(S::N.ilog2());
        let registers = unit * cols / S::N;
        if inc == cols as isize && (1..=MAX_ACCS).contains(&registers) {
            let lanes = unit << ((MAX_ACCS / registers) | 1).ilog2();
            if rows >= 2 * lanes {
                return Self::single_chunk(lanes);
            }
        }
        let bytes = cols * size_of::<S::T>();
        let is_in_l2 = rows.saturating_mul(bytes) <= l2_bytes() / 2;
        // From afar, lanes whose rows are farther apart form streams that are served better.
        let lane_bytes = if is_in_l2 { 2 << 10 } else { 16 << 10 };
        let lanes = (lane_bytes / bytes.max(1)).min(rows).min(MAX_LANES) | 1;
        Self::single_chunk(1 << lanes.ilog2())
    }

    /// All rows form one chunk.
    fn single_chunk(lanes: usize) -> Self {
        let chunk = usize::MAX;
        Self { chunk, lanes }
    }

    /// Elements of work area for a column of `rows` rows: the lanes and the digits of the binary counter of chunks, for
    /// each of `accs` accumulators, and the parameters for the lanes of one group.
    pub fn work_per_column(self, rows: usize, accs: usize) -> usize {
        accs * (self.lanes + self.digits(rows)) + self.lanes / GROUPS
    }

    /// Digits of the binary counter of chunks, see [`CombineChunk`](super::combine::CombineChunk).
    pub(super) fn digits(self, rows: usize) -> usize {
        (usize::BITS - rows.div_ceil(self.chunk).leading_zeros()) as usize
    }
}

/// What a [`StripPlan`] depends on.
pub(super) struct StripShape {
    pub(super) rows: usize,
    pub(super) cols: usize,
    pub(super) lanes: usize,
    /// Bytes of an element.
    pub(super) size: usize,
    /// Bytes of a register.
    pub(super) register: usize,
    /// Whether rows have no gaps between them, and the fold reads one vector.
    pub(super) is_gapless: bool,
    pub(super) has_params: bool,
}

impl StripShape {
    /// Bytes of an element. `max` tells the compiler that it is not 0, so that divisions need no panic.
    #[inline(always)]
    fn size(&self) -> usize {
        self.size.max(1)
    }
}

/// How a strip is folded, from its shape alone; [`strip`](super::strip()) ignores what does not apply to its fold.
pub(super) struct StripPlan {
    pub(super) in_blocks: bool,
    pub(super) is_contiguous: bool,
    pub(super) is_in_order: bool,
    pub(super) may_be_cached: bool,
    pub(super) needs_prefetch: bool,
}

impl StripPlan {
    /// Not inlined: all folds share one copy.
    #[inline(never)]
    pub(super) fn new(shape: StripShape) -> Self {
        /// Most registers of a short row.
        const SHORT_ROW: usize = 16;
        /// Shortest row, in bytes, that is folded in blocks.
        const MIN_BLOCK_ROW: usize = 512;
        let StripShape {
            rows, cols, lanes, ..
        } = shape;
        let size = shape.size();
        let elements = rows.saturating_mul(cols);
        let is_in_order = shape.is_gapless && !shape.has_params && pays_in_order(&shape, elements);
        let in_blocks = !is_in_order
            && elements > l2_bytes() / 2 / size
            && cols >= MIN_BLOCK_ROW / size
            && rows >= STEPS * lanes;
        let is_short = cols <= SHORT_ROW * (shape.register / size);
        let may_be_cached = !is_from_memory::<u8>(elements.saturating_mul(size));
        Self {
            in_blocks,
            is_contiguous: shape.is_gapless && (!shape.has_params || is_short),
            is_in_order,
            may_be_cached,
            needs_prefetch: !may_be_cached && lanes * cols <= PAGE / size,
        }
    }
}

/// Whether it pays to fold a matrix without gaps, of `elements` elements, in memory order: where the lanes fit L1
/// together with the data being read, and the matrix fits half the LLC but not L1. From memory, several streams are
/// faster than this single one.
fn pays_in_order(shape: &StripShape, elements: usize) -> bool {
    /// Fewest registers of lanes for which the loop pays.
    const MIN_REGISTERS: usize = 28;
    let (size, register) = (shape.size(), shape.register);
    let l1 = l1_bytes() / size;
    // Every register costs a store, so a matrix in L2, or of less than 1 MiB, gains only with 64-byte registers.
    let min_elements = if register == 64 {
        l1 / 4 * 5
    } else {
        l2_bytes().max(1 << 20) / size
    };
    (MIN_REGISTERS * register / size..=l1 / 12 * 5).contains(&(shape.lanes * shape.cols))
        && (min_elements..=usable_llc() / 2 / size).contains(&elements)
}
