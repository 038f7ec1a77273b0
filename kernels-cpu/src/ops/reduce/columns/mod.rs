//! Reductions down the columns of a row-major matrix: each column in the canonical order, many columns at once. Three
//! ways, for the same bits: `short` columns; a `strip` of as many columns as there is memory for all lanes of; and
//! `long` columns a few lanes at a time, where steps are long or registers small, and for extremes with a NaN.

mod long;
mod short;
mod strip;

use core::mem::MaybeUninit;

use super::{Fold, chunk_len, finish};
use crate::element::Element;
use crate::ops::load;
use crate::simd::Simd;
use strip::{Deal, strip};

/// A matrix whose columns are folded. Consecutive columns are consecutive elements.
#[derive(Clone, Copy)]
struct Matrix<T> {
    x: *const T,
    /// From a row to the next.
    inc: isize,
    /// The second vector of a fold of two, an element per row.
    y: *const T,
    incy: isize,
    /// The parameter of each column, or null.
    param: *const T,
}

impl<T: Element> Matrix<T> {
    /// Element i of the second vector.
    ///
    /// # Safety
    /// There must be an element i.
    #[inline(always)]
    unsafe fn second(self, i: usize) -> T {
        // SAFETY: the caller vouches for an element per row.
        unsafe { *self.y.wrapping_offset(i as isize * self.incy) }
    }

    /// The parameters of `len` columns from j.
    ///
    /// # Safety
    /// There must be a parameter for each of these columns, or none at all.
    #[inline(always)]
    unsafe fn param<S: Simd<T = T>, F: Fold<S>>(self, s: S, j: usize, len: usize) -> S::V {
        if F::PAIR || self.param.is_null() {
            return s.splat(T::ZERO);
        }
        // SAFETY: the caller vouches for a parameter per column.
        unsafe { load(s, self.param.add(j), len) }
    }

    /// What a step in row i takes beside the row: the element of the second vector, or the parameter.
    ///
    /// # Safety
    /// There must be a row i.
    #[inline(always)]
    unsafe fn operand<S: Simd<T = T>, F: Fold<S>>(self, s: S, i: usize, param: S::V) -> S::V {
        if F::PAIR {
            // SAFETY: as the caller's.
            s.splat(unsafe { self.second(i) })
        } else {
            param
        }
    }

    /// Elements i, i + L, ... of the second vector, `steps` of them, for [`Matrix::steps`].
    ///
    /// # Safety
    /// The elements must be there where the fold reads them.
    #[inline(always)]
    unsafe fn seconds<S: Simd<T = T>, F: Fold<S>>(
        self,
        s: S,
        i: usize,
        steps: usize,
    ) -> [S::V; STEPS] {
        let mut all = [s.splat(T::ZERO); STEPS];
        if F::PAIR {
            for (step, slot) in all.iter_mut().enumerate() {
                if step < steps {
                    // SAFETY: the caller vouches for the rows, L apart.
                    *slot = s.splat(unsafe { self.second(i + step * T::LANES) });
                }
            }
        }
        all
    }

    /// A lane, `v`, goes on with `steps` <= [`STEPS`] of its rows, from row i on, in columns j..j + len
    /// or as many of them as a register holds. `seconds` are those of the rows.
    ///
    /// # Safety
    /// The rows and columns must lie in the matrix.
    #[inline(always)]
    unsafe fn steps<S: Simd<T = T>, F: Fold<S>>(
        self,
        s: S,
        mut v: S::V,
        i: usize,
        steps: usize,
        j: usize,
        len: usize,
        seconds: &[S::V; STEPS],
    ) -> S::V {
        // SAFETY: the caller vouches for the rows, L apart, and the columns.
        unsafe {
            let param = self.param::<S, F>(s, j, len);
            for (step, &second) in seconds.iter().enumerate().take(steps) {
                let x = load(s, self.at(i + step * T::LANES, j), len);
                v = F::step(s, v, x, if F::PAIR { second } else { param });
            }
        }
        v
    }

    /// The columns from j on.
    #[inline(always)]
    fn from(self, j: usize) -> Self {
        let param = if self.param.is_null() {
            self.param
        } else {
            self.param.wrapping_add(j)
        };
        Self {
            x: self.x.wrapping_add(j),
            param,
            ..self
        }
    }

    #[inline(always)]
    fn at(self, i: usize, j: usize) -> *const T {
        self.x
            .wrapping_offset(i as isize * self.inc)
            .wrapping_add(j)
    }
}

/// Rows that a lane takes at once, at most.
const STEPS: usize = 8;

/// Bytes of stack for accumulators and the tree.
const WORK: usize = 24 << 10;

/// Scratch memory that a kernel is lent: so many bytes, of any alignment.
#[derive(Clone, Copy)]
pub struct Work {
    /// Where it begins.
    pub p: *mut u8,
    /// Its size; 0 where there is none.
    pub bytes: usize,
}

/// Bytes of a second-level cache.
const SECOND_LEVEL: usize = 1 << 20;
/// A cache line.
const LINE: usize = 64;

/// Bytes of scratch memory with which [`columns`] reads whole rows, or as long parts of them as caches
/// hold the lanes of; 0 where it needs none.
pub fn work_bytes<T: Element>(rows: usize, cols: usize) -> usize {
    /// Columns whose lanes, 256 bytes each, fill the second-level cache.
    const MOST: usize = 4096;
    let strips = cols.div_ceil(MOST);
    let width = cols.div_ceil(strips.max(1)).next_multiple_of(T::LANES);
    let each = Deal::canonical::<T>().room(rows);
    let bytes = each * width * size_of::<T>();
    if rows <= T::LANES || bytes <= WORK {
        return 0;
    }
    bytes + LINE
}

/// The work area on the stack.
#[repr(align(64))]
struct Stack([MaybeUninit<u8>; WORK]);

/// out\[j\] = the fold of column j, with its last step, for columns 0..cols. `y` holds an
/// element per row for folds of two vectors, `param` one per column for folds with a parameter.
///
/// # Safety
/// `x` must be valid at `rows` by `cols` elements, `y` and `param` as far as the fold reads them,
/// `out` for `cols` elements.
#[inline(always)]
pub unsafe fn columns<S: Simd, F: Fold<S>>(
    s: S,
    rows: usize,
    cols: usize,
    x: *const S::T,
    inc: isize,
    y: *const S::T,
    incy: isize,
    param: *const S::T,
    out: *mut S::T,
    work: Work,
) {
    let matrix = Matrix {
        x,
        inc,
        y,
        incy,
        param,
    };
    const {
        // The area on the stack holds a register of columns in the canonical order, however many rows there are.
        let most = <S::T as Element>::LANES * 9 / 8 + usize::BITS as usize;
        assert!(most * S::N * size_of::<S::T>() <= WORK);
    }
    let in_strips = S::MANY_LOOPS && !F::IS_LONG;
    let few = if in_strips && F::ANY_ORDER {
        short::FEW
    } else {
        <S::T as Element>::LANES
    };
    let mut stack = Stack([MaybeUninit::uninit(); WORK]);
    let base = stack.0.as_mut_ptr().cast::<S::T>();
    // SAFETY: as the caller's.
    unsafe {
        if rows <= few {
            return short::short::<S, F>(s, matrix, rows, cols, out);
        }
        let own = Work {
            p: base.cast(),
            bytes: WORK,
        };
        let lent = Work {
            p: work.p.wrapping_add(work.p.align_offset(LINE)),
            bytes: work.bytes.saturating_sub(LINE),
        };
        let areas = [own, lent];
        let done = in_strips
            && if F::ANY_ORDER {
                let deal = Deal::free::<S>(rows, cols, inc);
                strips::<S, F::Finite>(s, matrix, deal, rows, cols, out, areas)
            } else {
                let deal = Deal::canonical::<S::T>();
                strips::<S, F>(s, matrix, deal, rows, cols, out, areas)
            };
        // In strips only extremes come here, with a NaN or with more lanes than an area holds.
        if !done && (!in_strips || F::ANY_ORDER) {
            long::long::<S, F>(s, matrix, rows, cols, out, base);
        }
    }
}

/// The first of two work areas with room for `wanted` columns of `bytes` each, else the larger one; and for how many
/// it has. The same for all folds.
#[inline(never)]
fn choose(areas: &[Work; 2], bytes: usize, wanted: usize) -> (*mut u8, usize) {
    let rooms = || areas.iter().map(|area| (area.p, area.bytes / bytes.max(1)));
    let fitting = rooms().find(|&(_, room)| room >= wanted);
    fitting.unwrap_or_else(|| {
        rooms().fold((core::ptr::null_mut(), 0), |most, area| {
            if area.1 > most.1 { area } else { most }
        })
    })
}

/// Folds all columns in strips, as wide as one of two work areas allows; false where neither has room for a register
/// of columns, or where there may be a NaN that the fold keeps apart.
///
/// # Safety
/// As [`columns`]; the areas must be as large as they say.
#[inline(always)]
unsafe fn strips<S: Simd, F: Fold<S>>(
    s: S,
    m: Matrix<S::T>,
    deal: Deal,
    rows: usize,
    cols: usize,
    out: *mut S::T,
    areas: [Work; 2],
) -> bool {
    /// Bytes of a row that are worth a strip.
    const LEAST: usize = 4096;
    let size = size_of::<S::T>();
    let wanted = (cols.div_ceil(S::N) * S::N).min(LEAST / size);
    let (base, room) = choose(&areas, deal.room(rows) * size, wanted);
    let (base, width) = (base.cast(), room / S::N * S::N);
    if width == 0 {
        return false;
    }
    let mut j = 0;
    while j < cols {
        let some = width.min(cols - j);
        // SAFETY: as the caller's; the area has room for these columns.
        unsafe {
            if !strip::<S, F>(s, m.from(j), deal, rows, some, out.add(j), base) {
                return false;
            }
        }
        j += some;
    }
    true
}
