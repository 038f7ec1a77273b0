//! Rows of a few elements: blocks of them are copied to columns, which stay in L1, and the kernels of columns reduce
//! these.

use super::fold::StridedVector;
use super::vectors::{COLUMNS, VectorLayout, Vectors};
use crate::aligned::AlignedBytes;
use crate::detect::exceeds_llc;
use crate::dispatch::Kernels;
use crate::element::Element;
use crate::level::Level;

/// Most elements of a row for which copying is faster than a kernel of rows.
const LONGEST: usize = 8;
/// The same where the rows are in a cache, in bytes.
const LONGEST_CACHED: usize = 56;
/// The same for reductions with one pass, on levels with smaller registers than AVX-512.
const LONGEST_ONE_PASS: usize = 20;
/// Fewest rows that are copied.
const FEWEST: usize = 64;
/// Rows of a block are whole registers of this many bytes at least: two of the widest level.
const GRAIN: usize = 128;
/// Bytes of a block.
const BLOCK: usize = 8 << 10;
/// Most bytes of results of a block that are written with non-temporal stores: more at once hold up the next block.
const STREAMED: usize = 1 << 10;
/// Fewest rows of a block that are copied.
const FEWEST_OF_BLOCK: usize = 16;

/// Returns whether [`in_columns`] accepts these vectors.
#[inline(always)]
pub fn is_short<T: Element>(level: Level, m: &Vectors<T>, has_one_pass: bool) -> bool {
    let is_candidate = m.len <= LONGEST && m.len > 0 && m.count >= FEWEST;
    if !is_candidate || matches!(m.layout, VectorLayout::Columns { .. }) {
        return false;
    }
    let cached = if has_one_pass && level != Level::Avx512 {
        LONGEST_ONE_PASS
    } else {
        LONGEST_CACHED
    };
    m.work.from_memory || m.len * size_of::<T>() <= cached
}

/// Calls `each` with every vector, in blocks of at most [`COLUMNS`], and with where it must write their results. All
/// blocks are columns but perhaps the last, of few rows. Where rows and results exceed the LLC, results are written with
/// non-temporal stores.
///
/// # Safety
/// The machine must have the level; the vectors must be valid and [short](is_short), and `out` for a result of each.
#[inline(always)]
pub unsafe fn in_columns<T: Element, R: Copy>(
    level: Level,
    m: Vectors<T>,
    out: StridedVector<R>,
    mut each: impl FnMut(Vectors<T>, StridedVector<R>),
) {
    let kernels = Kernels::<T>::new(level);
    let (transpose, stream) = (kernels.transpose(), kernels.stream());
    let mut buffer = AlignedBytes::<BLOCK>::new();
    let p = buffer.start::<T>();
    let mut results = AlignedBytes::<STREAMED>::new();
    let results = StridedVector::new(results.start::<R>().cast_const(), 1);
    let grain = GRAIN / size_of::<T>();
    let bytes = m.count * (m.len * size_of::<T>() + size_of::<R>());
    let streams = out.inc == 1 && exceeds_llc(bytes);
    let most = if streams {
        COLUMNS.min(STREAMED / size_of::<R>())
    } else {
        COLUMNS
    };
    let width = (BLOCK / size_of::<T>() / m.len.max(1)).min(most) / grain * grain;
    let mut j = 0;
    while j < m.count {
        let mut block = m.part(j, width.min(m.count - j));
        if let VectorLayout::Rows { inc } = m.layout
            && block.count >= FEWEST_OF_BLOCK
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
            let layout = VectorLayout::Columns {
                inc: width as isize,
            };
            block = Vectors {
                x: p,
                layout,
                ..block
            };
        }
        let to = StridedVector::new(out.at(j), out.inc);
        j += block.count;
        if !streams {
            each(block, to);
            continue;
        }
        each(block, results);
        let n = block.count * size_of::<R>() / size_of::<T>();
        // SAFETY: the block's results have been written, and are elements of some type; `out` is the caller's.
        unsafe {
            stream(
                n,
                results.at(0).cast(),
                to.at(0).cast_mut().cast(),
                j == m.count,
            )
        };
    }
}
