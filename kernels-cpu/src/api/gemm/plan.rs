//! The plan of a batch of products of one shape, made once: orientation, stores of C, packing, and the split into
//! tasks. No choice changes the bits of a result, except the orientation of products with a vector, which is fixed.

use super::check::Batch;
use crate::detect;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::exec::{Exec, share};
use crate::ops::gemm::shapes::{MAX_MR, MAX_NR};
use crate::ops::gemm::{Gemm, Microkernels, ThreadPlan, params};

/// How a batch of products runs.
pub struct BatchPlan<T> {
    /// The products, as [`oriented`] returns them.
    batch: Batch<T>,
    /// How a thread computes a product that is not split.
    pub thread: ThreadPlan,
    /// Bytes of scratch memory for each thread whose products pack.
    pub scratch: usize,
    /// How the batch is split into tasks.
    pub cut: Cut,
}

/// How a batch is split into tasks.
#[derive(Clone, Copy)]
pub enum Cut {
    /// Each task computes a share of the batch.
    Batch {
        tasks: usize,
        /// Whether to prefetch the matrices of the next product while one is computed.
        prefetch: bool,
    },
    /// Each task computes one cell of each product.
    Grid(Cells),
}

/// An `m` by `n` matrix C, split into a grid of cells.
#[derive(Clone, Copy)]
pub struct Cells<G = MicroTiles> {
    m: usize,
    n: usize,
    rows: usize,
    columns: usize,
    grain: G,
}

/// Rows and columns at multiples of which cells begin.
pub trait Grain: Copy {
    fn get(self) -> (usize, usize);
}

/// The largest micro-tile of all levels, which is a multiple of the micro-tile of most levels.
#[derive(Clone, Copy)]
pub struct MicroTiles;

impl Grain for MicroTiles {
    #[inline(always)]
    fn get(self) -> (usize, usize) {
        (MAX_MR, MAX_NR)
    }
}

impl Grain for (usize, usize) {
    #[inline(always)]
    fn get(self) -> (usize, usize) {
        self
    }
}

/// Transposes all products (C^T = B^T A^T) if needed: so that n = 1 if one of m and n is 1, for `gemv.rs`; otherwise so
/// that the rows of C are contiguous if its columns are. Returns them, and whether they are for `gemv.rs`: a product with
/// one row and more columns is not if its bits must not depend on m.
pub fn oriented<T: Element>(exec: &Exec<'_>, mut batch: Batch<T>) -> (Batch<T>, bool) {
    let p = &mut batch.first;
    let has_vector = p.n == 1 || (p.m == 1 && !exec.is_batch_invariant());
    let transpose = if has_vector {
        p.n != 1
    } else {
        p.c.cs != 1 && p.c.rs == 1 && p.m > 1
    };
    if transpose {
        *p = p.transposed();
    }
    (batch, has_vector)
}

impl<T: Element> BatchPlan<T> {
    /// Makes the plan of an oriented batch that is not for `gemv.rs`.
    ///
    /// # Errors
    /// `SizeOverflow`.
    pub fn new(exec: &Exec<'_>, all: &Microkernels<T>, batch: Batch<T>) -> Result<Self> {
        let non_temporal = non_temporal(&batch.first, batch.count);
        let thread = ThreadPlan::new(all, &batch.first, non_temporal);
        Self::with_thread(exec, batch, thread)
    }

    /// As [`Plan::new`], with the plan that one thread would compute a whole product by.
    ///
    /// # Errors
    /// As [`Plan::new`].
    pub fn with_thread(exec: &Exec<'_>, batch: Batch<T>, thread: ThreadPlan) -> Result<Self> {
        let (p, count) = (&batch.first, batch.count);
        // The size that `gemm_workspace` returns, in either orientation.
        let too_large = Error::SizeOverflow { arg: "m * n * k" };
        let needed = params::scratch_bytes::<T>(p.m.max(p.n), p.k).ok_or(too_large)?;
        let each = multiplications(p);
        let by_product = tasks(exec, each.saturating_mul(count), count);
        let by_cell = if by_product > 1 {
            1
        } else {
            tasks(exec, each, usize::MAX)
        };
        let cut = if by_cell > 1 {
            Cut::Grid(Cells::new((p.m, p.n), by_cell, MicroTiles))
        } else {
            Cut::Batch {
                tasks: by_product,
                prefetch: thread.is_in_place() && prefetch_pays(&batch),
            }
        };
        Ok(Self {
            batch,
            thread,
            scratch: needed,
            cut,
        })
    }

    /// Returns the number of products.
    pub fn count(&self) -> usize {
        self.batch.count
    }

    /// Returns product `index`. An index past the end is allowed if the product is not read.
    #[inline(always)]
    pub fn product(&self, index: usize) -> Gemm<T> {
        self.batch.first.at(index)
    }

    /// Returns the part of a product in cell `index` of a grid, and its own plan; `None` if the cell is empty.
    pub fn cell(
        &self,
        all: &Microkernels<T>,
        p: &Gemm<T>,
        cells: Cells,
        index: usize,
    ) -> Option<(Gemm<T>, ThreadPlan)> {
        let (rows, columns) = cells.get(index)?;
        let cell = p.block(rows, columns);
        let thread = ThreadPlan::new(all, &cell, self.thread.is_non_temporal());
        Some((cell, thread))
    }
}

fn multiplications<T>(p: &Gemm<T>) -> usize {
    p.m.saturating_mul(p.n).saturating_mul(p.k)
}

/// Returns into how many tasks, at most `most`, to split this many multiplications.
pub fn tasks(exec: &Exec<'_>, multiplications: usize, most: usize) -> usize {
    /// About 10 us at 50 GFLOP/s.
    const PER_TASK: usize = 1 << 18;
    /// More tasks would be too small, and the search for the grid takes time for each.
    const MOST: usize = 1 << 10;
    exec.tasks_of(multiplications / PER_TASK, most.min(MOST))
}

/// Returns whether to write C with non-temporal stores. It must be written only once, in whole aligned lines. They pay
/// a little before C is as large as the LLC, because microkernels write a few lines of many rows in turn, which the
/// hardware does not prefetch (Zen 5, k = 4: no difference at 0.8 of the LLC, 1.3 times as fast at 0.95). Not for the
/// products of a batch: they wait for A and B from memory, and take up to twice as long with non-temporal stores.
fn non_temporal<T: Element>(p: &Gemm<T>, count: usize) -> bool {
    let bytes = p.m.saturating_mul(p.n).saturating_mul(size_of::<T>());
    let row = p.c.rs.unsigned_abs().saturating_mul(size_of::<T>());
    count == 1
        && detect::exceeds_llc(bytes.saturating_add(bytes / 8))
        && p.beta == T::ZERO
        && p.k <= params::KSEG
        && p.c.cs == 1
        && row.is_multiple_of(params::LINE)
}

/// Returns whether to prefetch the next product: the batch comes from a slow cache or from memory, and a product is long
/// enough to hide that.
fn prefetch_pays<T: Element>(batch: &Batch<T>) -> bool {
    /// A product with at least this many multiplications leaves time to prefetch the next one.
    const LARGE: usize = 1 << 15;
    let step = |sum: usize, stride: isize| sum.saturating_add(stride.unsigned_abs());
    let Gemm { a, b, c, .. } = &batch.first;
    let elements = [a.bs, b.bs, c.bs].into_iter().fold(0, step);
    let bytes = elements
        .saturating_mul(batch.count)
        .saturating_mul(size_of::<T>());
    batch.count > 1 && multiplications(&batch.first) >= LARGE && detect::exceeds_fast_cache(bytes)
}

/// Returns the size of the largest part when `extent` is split into `parts` parts at multiples of `grain`.
fn part(extent: usize, parts: usize, grain: usize) -> usize {
    let grain = grain.max(1);
    (share(extent, parts).div_ceil(grain) * grain).min(extent)
}

impl<G: Grain> Cells<G> {
    /// Returns the grid for this many tasks, of cells that begin at multiples of `grain`: the one whose largest cell is
    /// smallest, and among those the one that repeats the least packing.
    pub fn new((m, n): (usize, usize), tasks: usize, grain: G) -> Self {
        let cost = |&(rows, columns): &(usize, usize)| {
            let (m, n) = (
                part(m, rows, grain.get().0),
                part(n, columns, grain.get().1),
            );
            (m.saturating_mul(n), m.saturating_add(n))
        };
        let grids = (1..=tasks).filter_map(|rows| Some((rows, tasks.checked_div(rows)?)));
        let (rows, columns) = grids
            .filter(|(rows, columns)| rows * columns == tasks)
            .min_by_key(cost)
            .unwrap_or((1, 1));
        Self {
            m,
            n,
            rows,
            columns,
            grain,
        }
    }

    /// Returns the number of cells.
    pub fn count(&self) -> usize {
        self.rows * self.columns
    }

    /// Returns the first row of a cell and their number, and the same of its columns; `None` if it is empty.
    pub fn get(&self, index: usize) -> Option<((usize, usize), (usize, usize))> {
        let (row, column) = (
            index.checked_div(self.columns)?,
            index.checked_rem(self.columns)?,
        );
        let at = |extent: usize, parts: usize, index: usize, grain: usize| {
            let each = part(extent, parts, grain);
            let from = (index * each).min(extent);
            (from, each.min(extent - from))
        };
        let rows = at(self.m, self.rows, row, self.grain.get().0);
        let columns = at(self.n, self.columns, column, self.grain.get().1);
        (rows.1 > 0 && columns.1 > 0).then_some((rows, columns))
    }
}
