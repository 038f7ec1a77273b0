//! Rows of a few elements: blocks of them are copied to columns, which stay in L1, and the kernels of columns reduce
//! these.

use core::mem::MaybeUninit;

use super::reduction::{Layout, Vectors};
use crate::dispatch::{Compute, transpose};
use crate::element::Storage;
use crate::level::Level;

/// Most elements of a row for which copying is faster than a kernel of rows.
const LONGEST: usize = 8;
/// The same where the rows are in a cache, in bytes.
const LONGEST_CACHED: usize = 32;
/// The same for reductions with one pass, and on AVX-512.
const LONGEST_ONE_PASS: usize = 16;
const LONGEST_ONE_PASS_AVX512: usize = 24;
/// Fewest rows that are copied.
const FEWEST: usize = 64;
/// Rows of a block are a multiple of this.
const GRAIN: usize = 16;
/// Bytes of a block.
const BLOCK: usize = 4 << 10;

/// A block of columns.
#[repr(align(64))]
struct Buffer([MaybeUninit<u8>; BLOCK]);

/// Returns whether [`in_columns`] accepts these vectors.
#[inline(always)]
pub fn is_short<T: Storage>(level: Level, m: &Vectors<T>, has_one_pass: bool) -> bool {
    let has_columns = const { T::TYPE as u8 == Compute::<T>::TYPE as u8 };
    let is_candidate = has_columns && m.len <= LONGEST && m.len > 0 && m.count >= FEWEST;
    if !is_candidate || matches!(m.layout, Layout::Columns { .. }) {
        return false;
    }
    let cached = match (has_one_pass, level) {
        (false, _) => LONGEST_CACHED,
        (true, Level::Avx512) => LONGEST_ONE_PASS_AVX512,
        (true, _) => LONGEST_ONE_PASS,
    };
    m.work.from_memory || m.len * size_of::<T>() <= cached
}

/// Calls `each` with every vector, in blocks of at most [`COLUMNS`](super::COLUMNS): the number of the first vector,
/// and the block. All blocks are columns but perhaps the last, of few rows.
///
/// # Safety
/// The machine must have the level; the vectors must be valid and [short](is_short).
#[inline(always)]
pub unsafe fn in_columns<T: Storage>(
    level: Level,
    m: Vectors<T>,
    mut each: impl FnMut(usize, Vectors<T>),
) {
    let Some(transpose) = transpose::<T>(level) else {
        return each(0, m);
    };
    let mut buffer = Buffer([MaybeUninit::uninit(); BLOCK]);
    let p = buffer.0.as_mut_ptr().cast::<T>();
    let width = BLOCK / size_of::<T>() / m.len.max(2) / GRAIN * GRAIN;
    let mut j = 0;
    while j < m.count {
        let mut block = m.part(j, width.min(m.count - j));
        if let Layout::Rows { inc } = m.layout
            && block.count >= GRAIN
        {
            // SAFETY: the rows are the caller's; the buffer has room for `width` of them.
            unsafe {
                transpose(
                    block.count,
                    m.len,
                    block.x,
                    inc,
                    p,
                    width,
                    m.work.from_memory,
                )
            };
            let layout = Layout::Columns {
                inc: width as isize,
            };
            block = Vectors {
                x: p,
                layout,
                ..block
            };
        }
        each(j, block);
        j += block.count;
    }
}
