//! All lanes of many columns at once, row after row, so that memory is read in order.
//!
//! Rows without a gap between them are one strip, which is walked like a single long row: short rows cost no
//! more than long ones. The last rows of a chunk are taken by several lanes at once, so that the first levels
//! of their tree stay in registers. Beyond the second-level cache lanes come one after the other, in blocks.

mod blocks;
mod ending;
mod walk;

use core::marker::PhantomData;
use core::ptr::null_mut;

use super::{Fold, Matrix, SECOND_LEVEL, STEPS, chunk_len, finish};
use crate::element::Element;
use crate::ops::reduce::leaf::has_nan;
use crate::ops::{load, store};
use crate::simd::Simd;
use ending::Ending;

/// Lanes that are walked at once: one of each group of lanes that follow each other.
const GROUPS: usize = 8;
/// Registers that mark NaN: so many sums are long enough not to be waited for.
const NAN_ACCS: usize = 4;
/// Registers that lanes stay in, at most, on every level; and where there are 32 registers.
const FEW: usize = 8;
const MANY: usize = 16;
/// Half of the rows that a lane takes at once.
const HALF_STEPS: usize = STEPS / 2;
/// Bytes of a page, and from an address to the next in the same set of the first-level cache.
const PAGE: usize = 4 << 10;

/// How rows are dealt to lanes.
#[derive(Clone, Copy)]
pub struct Deal {
    /// Rows of a chunk.
    chunk: usize,
    /// Lanes of a chunk, a power of two.
    lanes: usize,
}

impl Deal {
    /// The canonical order.
    pub fn canonical<T: Element>() -> Self {
        Self {
            chunk: chunk_len::<T>(),
            lanes: T::LANES,
        }
    }

    /// For folds in any order: of rows without gaps as many as stay in registers, else lanes long enough to
    /// be worth a loop.
    pub fn free<S: Simd>(rows: usize, cols: usize, inc: isize) -> Self {
        // Rows that fill whole registers.
        let whole = S::N >> cols.trailing_zeros().min(S::N.ilog2());
        let registers = whole * cols / S::N;
        if inc == cols as isize && (1..=FEW).contains(&registers) {
            let lanes = whole << ((FEW / registers) | 1).ilog2();
            if rows >= 2 * lanes {
                return Self::endless(lanes);
            }
        }
        let bytes = cols * size_of::<S::T>();
        let is_near = rows.saturating_mul(bytes) <= SECOND_LEVEL;
        // Steps that are further apart are streams that memory serves better.
        let long = if is_near { 2 << 10 } else { 16 << 10 };
        let lanes = (long / bytes.max(1)).min(rows) | 1;
        Self::endless(1 << lanes.ilog2())
    }

    /// One chunk of all rows.
    fn endless(lanes: usize) -> Self {
        let chunk = usize::MAX;
        Self { chunk, lanes }
    }

    /// Elements of work area for each column of so many rows: the lanes, the digits of a counter of chunks,
    /// and the parameters of a group.
    pub fn room(self, rows: usize) -> usize {
        self.lanes + self.digits(rows) + self.lanes / GROUPS
    }

    fn digits(self, rows: usize) -> usize {
        (usize::BITS - rows.div_ceil(self.chunk).leading_zeros()) as usize
    }
}

/// Columns, and their work area: the lanes of a chunk, `pitch` elements each.
struct Strip<S: Simd> {
    m: Matrix<S::T>,
    lanes: usize,
    cols: usize,
    pitch: usize,
    base: *mut S::T,
    /// Whether there are no gaps between rows.
    is_contiguous: bool,
    /// Whether the lanes take rows in the order of memory.
    is_in_order: bool,
    /// Whether the matrix may be in a cache.
    is_near: bool,
    /// Whether it is not, and memory has to be asked ahead of time for lanes as short as these.
    is_far: bool,
    /// For folds that keep NaN apart: NaN if an element is.
    nan_accs: [S::V; NAN_ACCS],
}

/// What the ways through a strip depend on.
struct Shape {
    rows: usize,
    cols: usize,
    lanes: usize,
    /// Bytes of an element, and of a register.
    size: usize,
    register: usize,
    is_gapless: bool,
    has_params: bool,
}

impl Shape {
    /// Bytes of an element: not 0, which the compiler does not know, so that it would keep a panic for a division.
    #[inline(always)]
    fn size(&self) -> usize {
        self.size.max(1)
    }
}

/// The ways through a strip of a shape; those that a fold lacks count for nothing.
struct Ways {
    in_blocks: bool,
    is_contiguous: bool,
    is_in_order: bool,
    is_near: bool,
    is_far: bool,
}

impl Ways {
    /// The same for all folds.
    #[inline(never)]
    fn new(shape: Shape) -> Self {
        /// Registers of a short row.
        const SHORT: usize = 16;
        /// Bytes that caches may hold.
        const NEAR: usize = 8 << 20;
        /// Bytes of a row that are worth a block.
        const BLOCK_ROW: usize = 512;
        let Shape {
            rows, cols, lanes, ..
        } = shape;
        let size = shape.size();
        let elements = rows.saturating_mul(cols);
        let is_in_order =
            shape.is_gapless && !shape.has_params && walk::pays_in_order(&shape, elements);
        let in_blocks = !is_in_order
            && elements > SECOND_LEVEL / size
            && cols >= BLOCK_ROW / size
            && rows >= STEPS * lanes;
        let is_short = cols <= SHORT * (shape.register / size);
        let is_near = elements <= NEAR / size;
        Self {
            in_blocks,
            is_contiguous: shape.is_gapless && (!shape.has_params || is_short),
            is_in_order,
            is_near,
            is_far: !is_near && lanes * cols <= PAGE / size,
        }
    }
}

/// Rows of a chunk that are dealt to lanes: row i of the matrix is row `row` of the chunk.
#[derive(Clone, Copy)]
struct Pass {
    i: usize,
    row: usize,
    /// How many each lane takes, and how many lanes, the first ones, take one more.
    steps: usize,
    more: usize,
    /// Whether no rows of the chunk follow.
    last: bool,
}

/// Folds `cols` columns; false, with nothing written, where an element may be a NaN that the fold keeps
/// apart.
///
/// # Safety
/// The matrix must have these rows and columns, `out` as many; `base` must have room for as many elements
/// for each column, in whole registers, as the deal says.
#[inline(always)]
pub unsafe fn strip<S: Simd, F: Fold<S>>(
    s: S,
    mut m: Matrix<S::T>,
    deal: Deal,
    rows: usize,
    cols: usize,
    out: *mut S::T,
    base: *mut S::T,
) -> bool {
    let ways = Ways::new(Shape {
        rows,
        cols,
        lanes: deal.lanes,
        size: size_of::<S::T>(),
        register: S::N * size_of::<S::T>(),
        is_gapless: m.inc == cols as isize && !F::PAIR,
        has_params: !m.param.is_null(),
    });
    let in_blocks = !F::ANY_ORDER && ways.in_blocks;
    let is_contiguous = !F::PAIR && ways.is_contiguous && !in_blocks;
    let whole = cols.div_ceil(S::N) * S::N;
    let digits = base.wrapping_add(deal.lanes * whole);
    // SAFETY: rows and columns lie in the matrix; lanes, digits and parameters in the work area.
    unsafe {
        if is_contiguous && !m.param.is_null() {
            let params = digits.wrapping_add(deal.digits(rows) * whole);
            for lane in 0..deal.lanes / GROUPS {
                let mut c = 0;
                while c < cols {
                    let (to, len) = (params.add(lane * cols + c), cols - c);
                    store(s, to, len, load(s, m.param.add(c), len));
                    c += S::N;
                }
            }
            m.param = params;
        }
        let mut strip = Strip {
            m,
            lanes: deal.lanes,
            cols,
            pitch: if is_contiguous { cols } else { whole },
            base,
            is_contiguous,
            is_in_order: !F::ANY_ORDER && !F::PAIR && ways.is_in_order,
            is_near: ways.is_near,
            is_far: is_contiguous && ways.is_far,
            nan_accs: [s.splat(S::T::ZERO); NAN_ACCS],
        };
        let chunks = rows.div_ceil(deal.chunk);
        for chunk in 0..chunks {
            let from = chunk * deal.chunk;
            let count = deal.chunk.min(rows - from);
            let lanes = if in_blocks {
                strip.blocks::<F>(s, from, count);
                deal.lanes
            } else {
                strip.chunk::<F>(s, from, count)
            };
            let is_last = chunk + 1 == chunks;
            let [a, b, c, d] = strip.nan_accs;
            if F::NAN_APART && is_last && has_nan(s, s.add(s.add(a, b), s.add(c, d))) {
                return false;
            }
            s.outlined(Ending {
                base,
                pitch: strip.pitch,
                lanes,
                chunk,
                digits,
                out: if is_last { out } else { null_mut() },
                cols,
                fold: PhantomData::<F::Tree>,
            });
        }
    }
    true
}

impl<S: Simd> Strip<S> {
    /// Elements from what is read to what memory is asked for, in its order.
    const PREFETCH_DISTANCE: usize = (24 << 10) / size_of::<S::T>();

    /// The chunk of `count` rows at `from`; returns how many lanes are left of it, the first ones.
    ///
    /// # Safety
    /// The rows must lie in the matrix.
    #[inline(always)]
    unsafe fn chunk<F: Fold<S>>(&mut self, s: S, from: usize, count: usize) -> usize {
        let lanes = self.lanes;
        let (most, last) = (self.most::<F>(), self.left::<F>());
        let in_groups =
            !F::ANY_ORDER && last >= STEPS / 2 && self.inc_of_groups() >= 4 * PAGE && self.is_near;
        let mut pass = Pass {
            i: from,
            row: 0,
            steps: 0,
            more: 0,
            last: false,
        };
        // SAFETY: the rows lie in the matrix; all lanes that are halved have been written.
        unsafe {
            pass.row = self.in_registers::<F>(s, from, count / lanes) * lanes;
            pass.i = from + pass.row;
            loop {
                let rest = count - pass.row;
                let steps = match rest / lanes {
                    _ if rest <= last * lanes => 0,
                    _ if self.is_in_order => (rest - 1) / lanes,
                    steps if steps >= STEPS && pass.row == 0 && !self.is_far => STEPS,
                    steps if steps >= most => most,
                    steps if steps >= HALF_STEPS => HALF_STEPS,
                    steps if F::ANY_ORDER => steps.max(1),
                    _ => 0,
                };
                if steps > 0 {
                    pass.steps = steps;
                } else if F::ANY_ORDER {
                    return lanes;
                } else {
                    (pass.steps, pass.more, pass.last) = (rest / lanes, rest % lanes, true);
                }
                if self.is_in_order && !pass.last {
                    self.in_order::<F>(s, pass);
                } else if in_groups || pass.last {
                    self.groups::<F>(s, pass);
                } else {
                    self.lanes::<F>(s, pass, lanes.min(rest));
                }
                if pass.last {
                    return lanes / GROUPS;
                }
                pass.row += pass.steps * lanes.min(rest);
                pass.i = from + pass.row;
            }
        }
    }

    /// Bytes from a group of rows to the next.
    #[inline(always)]
    fn inc_of_groups(&self) -> usize {
        self.lanes / GROUPS * self.m.inc.unsigned_abs() * size_of::<S::T>()
    }

    /// Rows that a lane takes at once: fewer where they follow each other so closely that streams would soon
    /// begin anew.
    #[inline(always)]
    fn most<F: Fold<S>>(&self) -> usize {
        if !F::PAIR && self.lanes * self.cols * size_of::<S::T>() <= PAGE {
            HALF_STEPS
        } else {
            STEPS
        }
    }

    /// Rows of a lane that are left for [`Strip::groups`]: few where the streams would share sets of the
    /// first-level cache, and in memory, which is fast for few streams.
    #[inline(always)]
    fn left<F: Fold<S>>(&self) -> usize {
        if F::ANY_ORDER {
            return 0;
        }
        if self.is_in_order {
            return 1;
        }
        let sets = PAGE >> self.inc_of_groups().trailing_zeros().min(PAGE.ilog2());
        sets.clamp(1, if self.is_near { STEPS } else { 2 })
    }
}

/// The lanes of a register each of all groups become one.
#[inline(always)]
fn tree<S: Simd, F: Fold<S>>(s: S, mut v: [S::V; GROUPS]) -> S::V {
    let mut w = GROUPS / 2;
    while w > 0 {
        for q in 0..w {
            v[q] = F::combine(s, v[q], v[q + w]);
        }
        w /= 2;
    }
    v[0]
}
