//! Reductions of columns of 16-bit floats, which are widened as they are loaded.

use super::fold::{Join, Named};
use super::reduction::ReductionKernels;
use super::tree::ChunkTree;
use crate::dispatch::{FoldOfMany, Kernels, WidenIntoLanes};
use crate::element::{Element, Storage};
use crate::level::Level;
use crate::ops::reduce::{PADDING, chunk_len};
use crate::recipe::{Cpu, Divisors, Folded};

/// A fold of columns.
#[derive(Clone, Copy)]
pub struct WidenedFold<T: Element> {
    /// Folds rows into lanes.
    into_lanes: WidenIntoLanes<T>,
    /// Combines the elements of two lanes, or the results of two chunks.
    combine: Combine<T>,
}

/// The kernel of an elementwise operation of two arrays.
type Combine<T> = unsafe fn(usize, *const T, *const T, *mut T, bool);

impl<T: Element> WidenedFold<T> {
    /// Returns the fold `F` of elements of the type `M`.
    #[inline(always)]
    pub fn of<F: FoldOfMany<T> + Named, M: Storage<Compute = T>>(level: Level) -> Self {
        let kernels = Kernels::<T>::new(level);
        Self {
            into_lanes: F::widen_into_lanes::<M>(level),
            combine: match const { F::JOIN } {
                Join::Add => kernels.add(),
                Join::Mul => kernels.mul(),
                Join::Min => kernels.minimum(),
                Join::Max => kernels.maximum(),
            },
        }
    }
}

/// The folds of the passes that nearly every column needs.
pub type WidenedFolds<T> = [Option<WidenedFold<T>>; 2];

/// Bytes of a 16-bit float.
const HALF: isize = 2;
/// Bytes of rows that are folded into lanes at once.
const WINDOW_BYTES: usize = 16 << 10;
/// The most accumulators of a fold.
const ACCUMULATORS: usize = 2;

/// Memory for columns that are reduced together: `pitch` elements for each of these.
#[derive(Clone, Copy)]
pub struct ColumnsArea<T> {
    /// The results.
    pub values: *mut T,
    /// The parameters of a fold.
    params: *mut T,
    /// The lanes of a chunk, of each accumulator.
    pub lanes: *mut T,
    /// The results of chunks, of each accumulator. Those that are not yet combined lie one after the other.
    chunks: *mut T,
    pitch: usize,
}

impl<T: Element> ColumnsArea<T> {
    /// Returns the elements of the area for each column of n elements.
    pub const fn each(n: usize) -> usize {
        // As many results of chunks as a number of chunks has bits, and one more.
        let bits = usize::BITS - n.div_ceil(chunk_len::<T>()).leading_zeros();
        2 + ACCUMULATORS * (T::LANES + bits as usize + 1)
    }

    /// Returns the area at `p`, aligned to a cache line, for so many columns.
    pub fn at(p: *mut T, columns: usize) -> Self {
        let pitch = columns.next_multiple_of(PADDING);
        let place = |number: usize| p.wrapping_add(number * pitch);
        Self {
            values: p,
            params: place(1),
            lanes: place(2),
            chunks: place(2 + ACCUMULATORS * T::LANES),
            pitch,
        }
    }
}

/// Reduces columns of n elements, as far as the passes that nearly every column needs, to the values of the area.
///
/// # Safety
/// The matrix must have n rows of `cols` elements of the type that `reduction` was made for, `inc` elements apart. The area
/// must have [`ColumnsArea::each`] for so many columns, padded to [`PADDING`].
#[inline(never)]
pub unsafe fn reduce_columns<T: Element>(
    reduction: &ReductionKernels<T>,
    [n, cols]: [usize; 2],
    x: *const u8,
    inc: isize,
    area: ColumnsArea<T>,
) {
    let recipe = reduction.recipe;
    let divisors = Divisors::of_one(n, reduction.one.ddof);
    let folds = reduction.widened.map(|of| of(reduction.level));
    for (pass, fold) in (0..recipe.usual_passes()).zip(folds.into_iter().flatten()) {
        let Some(fold) = fold else {
            return;
        };
        // Of two passes, the second may have two accumulators.
        let (params, accs) = match pass {
            0 => (core::ptr::null(), 1),
            _ => (area.params.cast_const(), recipe.accumulators()),
        };
        // SAFETY: as the caller's; the area has room for a value and a parameter of each column.
        unsafe {
            if pass > 0 {
                for j in 0..cols {
                    let known = area.values.add(j).read();
                    // Columns that do not need this pass take it too, with a harmless parameter.
                    area.params.add(j).write(if recipe.needs_pass(pass, known) {
                        recipe.pass_param(pass, known)
                    } else {
                        T::ZERO
                    });
                }
            }
            fold.run([n, cols], (x, inc), params, area, accs);
            for j in 0..cols {
                let value = area.values.add(j);
                let known = if pass == 0 { T::ZERO } else { value.read() };
                if pass == 0 || recipe.needs_pass(pass, known) {
                    let second = area.chunks.add((accs - 1) * area.pitch + j).read();
                    let folded = Folded(area.chunks.add(j).read(), second);
                    value.write(recipe.after_pass(pass, known, folded, divisors, Cpu));
                }
            }
        }
    }
}

impl<T: Element> WidenedFold<T> {
    /// Folds columns of n elements to the first results of chunks.
    ///
    /// # Safety
    /// As [`reduce_columns`]; `params` must be null or have an element for each column.
    unsafe fn run(
        &self,
        [n, cols]: [usize; 2],
        (x, inc): (*const u8, isize),
        params: *const T,
        area: ColumnsArea<T>,
        accs: usize,
    ) {
        let len = accs * area.pitch;
        let place = |number: usize| area.chunks.wrapping_add(number * len);
        let join = |a: usize, b: usize| {
            // SAFETY: both results have been written.
            unsafe { (self.combine)(len, place(a), place(b), place(a), false) };
            a
        };
        let mut tree = ChunkTree::EMPTY;
        let chunk = chunk_len::<T>();
        for (number, from) in (0..n.max(1)).step_by(chunk).enumerate() {
            // The results before it that are not yet combined.
            let at = number.count_ones() as usize;
            let count = chunk.min(n - from);
            // SAFETY: as the caller's; there is room for another result.
            unsafe {
                self.chunk([from, count, cols], (x, inc), params, area, accs, place(at));
            }
            tree.push(at, join);
        }
        tree.finish(join);
    }

    /// Folds a chunk of rows: into lanes, and these to `out`.
    ///
    /// # Safety
    /// As [`WidenedFold::run`].
    unsafe fn chunk(
        &self,
        [from, count, cols]: [usize; 3],
        (x, inc): (*const u8, isize),
        params: *const T,
        area: ColumnsArea<T>,
        accs: usize,
        out: *mut T,
    ) {
        // As many rows of each lane at once as stay in L1, for the next lanes are in the same cache lines and pages.
        let steps = (WINDOW_BYTES / T::LANES / HALF as usize / cols.max(1)).clamp(8, 32);
        // At least one, so that lanes without a row are written.
        for first in (0..count.max(1)).step_by(steps * T::LANES) {
            let rows = (steps * T::LANES).min(count - first);
            let row = x.wrapping_offset((from + first) as isize * inc * HALF);
            // SAFETY: as the caller's; these rows lie in the matrix.
            unsafe { (self.into_lanes)(rows, cols, row, inc, params, area.lanes, first == 0) };
        }
        for acc in 0..accs {
            let lanes = area.lanes.wrapping_add(acc * T::LANES * area.pitch);
            // SAFETY: the lanes have been written, and there is room for the result.
            unsafe {
                let mut count = T::LANES / 2;
                while count > 1 {
                    let len = count * area.pitch;
                    (self.combine)(len, lanes, lanes.add(len), lanes, false);
                    count /= 2;
                }
                let to = out.add(acc * area.pitch);
                (self.combine)(area.pitch, lanes, lanes.add(area.pitch), to, false);
            }
        }
    }
}
