//! Columns of 16-bit floats, which are widened as they are loaded.

use super::super::fold::start;
use super::{Fold, load_acc, store_acc};
use crate::element::{Element, Storage};
use crate::level::Level;
use crate::ops::{load, prefers_small_code};
use crate::simd::{Access, Simd};

/// Columns to which lanes are padded: a cache line of `f32`.
pub const PADDING: usize = 16;

/// Returns whether a level has [`widen_into_lanes`]: any but one that [`prefers_small_code`].
pub const fn can_widen_into_lanes(level: Level) -> bool {
    cfg!(not(target_arch = "x86_64")) || !matches!(level, Level::Portable)
}

/// Folds rows of a matrix, row i into lane i mod L, whose elements are widened. A lane is `cols` elements, padded to
/// [`PADDING`], for each accumulator: first the lanes of the first accumulator. With `is_first`, lanes begin with the start
/// value. `param` holds an element per column for folds with a parameter, or is null.
///
/// For elements that are widened, folds of one vector, and levels that [have it](can_widen_into_lanes).
///
/// # Safety
/// `x` must point to elements of the type `M` and be valid at `rows` by `cols` of them; `param`, unless it is null, must be valid for `cols` elements, and `lanes` for all lanes.
#[inline(always)]
pub unsafe fn widen_into_lanes<S: Simd + Access<M>, M: Storage, F: Fold<S>>(
    s: S,
    rows: usize,
    cols: usize,
    x: *const u8,
    inc: isize,
    param: *const S::T,
    lanes: *mut S::T,
    is_first: bool,
) {
    if const { F::PAIR || size_of::<M>() == size_of::<S::T>() || prefers_small_code::<S>() } {
        return;
    }
    let count = <S::T as Element>::LANES;
    let pitch = cols.next_multiple_of(PADDING);
    let stride = count as isize * inc;
    let first = x.cast::<M>();
    for lane in 0..count {
        // There may be none.
        let steps = (rows + count - 1 - lane) / count;
        if steps == 0 && !is_first {
            return;
        }
        let row = first.wrapping_offset(lane as isize * inc);
        let to = lanes.wrapping_add(lane * pitch);
        let window = |c: usize| Window {
            steps,
            x: row.wrapping_add(c),
            stride,
            param: if param.is_null() {
                param
            } else {
                param.wrapping_add(c)
            },
            acc: to.wrapping_add(c),
            gap: count * pitch,
            is_first,
        };
        let mut c = 0;
        // SAFETY: these columns of the rows are valid, and lanes have whole registers.
        unsafe {
            while cols - c >= VECTORS * S::N {
                window(c).fold::<S, F, VECTORS>(s, VECTORS * S::N);
                c += VECTORS * S::N;
            }
            while c < cols {
                window(c).fold::<S, F, 1>(s, cols - c);
                c += S::N;
            }
        }
    }
}

/// Registers of columns that are folded at once, in chains that do not wait for each other.
const VECTORS: usize = 4;

/// Rows of a lane, at columns that are folded at once.
struct Window<M, T> {
    steps: usize,
    x: *const M,
    /// Elements from a row to the next of the lane.
    stride: isize,
    param: *const T,
    acc: *mut T,
    /// Elements between accumulators.
    gap: usize,
    is_first: bool,
}

impl<M: Storage, T: Element> Window<M, T> {
    /// Folds `len` columns, or those that `V` registers hold.
    ///
    /// # Safety
    /// As [`widen_into_lanes`]; with more than one register, `len` must fill them.
    #[inline(always)]
    unsafe fn fold<S: Simd<T = T> + Access<M>, F: Fold<S>, const V: usize>(self, s: S, len: usize) {
        let mut acc = [start::<S, F>(s); V];
        let mut operand = [s.splat(T::ZERO); V];
        let at = |v: usize| v * S::N;
        for v in 0..V {
            if !self.is_first {
                acc[v] = load_acc::<S, F>(s, self.acc.add(at(v)), self.gap, S::N);
            }
            if !self.param.is_null() {
                operand[v] = load(s, self.param.add(at(v)), len - at(v));
            }
        }
        let mut p = self.x;
        for _ in 0..self.steps {
            for (v, acc) in acc.iter_mut().enumerate() {
                let x = load(s, p.wrapping_add(at(v)), len - at(v));
                *acc = F::step(s, *acc, x, operand[v]);
            }
            p = p.wrapping_offset(self.stride);
        }
        for (v, &acc) in acc.iter().enumerate() {
            store_acc(s, self.acc.add(at(v)), self.gap, S::N, acc);
        }
    }
}
