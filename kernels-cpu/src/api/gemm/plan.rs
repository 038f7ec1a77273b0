//! The plan of a batch of products of one shape, made once: orientation, how C is stored, what each thread does, how
//! the work is cut into tasks. None of its choices changes a bit but the orientation of vectors, which is fixed.

use super::check::Batch;
use crate::detect;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::exec::{Exec, share};
use crate::ops::gemm::shapes::{MAX_MR, MAX_NR};
use crate::ops::gemm::{Gemm, Microkernels, ThreadPlan, params};

/// How a batch of products runs.
pub struct Plan<T> {
    /// The products, as [`oriented`].
    batch: Batch<T>,
    /// Whether C is written with non-temporal stores.
    non_temporal: bool,
    /// How a thread computes a product that is not cut.
    pub thread: ThreadPlan,
    /// Bytes of scratch memory for each thread.
    pub scratch: usize,
    pub cut: Cut,
}

/// What a task computes.
#[derive(Clone, Copy)]
pub enum Cut {
    /// A share of the batch.
    Batch {
        tasks: usize,
        /// Whether a product's matrices are prefetched while the one before it is computed.
        prefetch: bool,
    },
    /// A cell of each product: C is cut into so many rows and columns of cells.
    Grid { rows: usize, columns: usize },
}

/// The products, or all of them transposed: those with a vector so that n = 1, which is computed in the order of dot;
/// others so that rows of C are contiguous where its columns are.
pub fn oriented<T: Element>(mut batch: Batch<T>) -> Batch<T> {
    let p = &batch.first;
    let transpose = if p.m == 1 || p.n == 1 {
        p.n != 1
    } else {
        p.c_cs != 1 && p.c_rs == 1
    };
    if transpose {
        let [a, b, c] = batch.strides;
        batch.first = batch.first.transposed();
        batch.strides = [b, a, c];
    }
    batch
}

impl<T: Element> Plan<T> {
    /// The plan of an oriented batch without vectors.
    ///
    /// # Errors
    /// `SizeOverflow`.
    pub fn new(exec: &Exec<'_>, all: &Microkernels<T>, batch: Batch<T>) -> Result<Self> {
        let (p, count) = (&batch.first, batch.count);
        let non_temporal = non_temporal(p, count);
        let thread = ThreadPlan::new(all, p, non_temporal);
        // As `gemm_workspace` says, whichever way the product is oriented.
        let too_large = Error::SizeOverflow { arg: "m * n * k" };
        let needed = params::scratch_bytes::<T>(p.m.max(p.n), p.k).ok_or(too_large)?;
        let packs = exec.has_workspace() || thread.packs();
        let each = multiplications(p);
        let by_product = tasks(exec, each.saturating_mul(count), count);
        let by_cell = if by_product > 1 {
            1
        } else {
            tasks(exec, each, usize::MAX)
        };
        let cut = if by_cell > 1 {
            grid(p, by_cell)
        } else {
            Cut::Batch {
                tasks: by_product,
                prefetch: thread.is_in_place() && prefetch_pays(&batch),
            }
        };
        Ok(Self {
            batch,
            non_temporal,
            thread,
            scratch: if packs { needed } else { 0 },
            cut,
        })
    }

    /// How many products there are.
    pub fn count(&self) -> usize {
        self.batch.count
    }

    /// Product `index`, of which nothing is read where there is none.
    #[inline(always)]
    pub fn product(&self, index: usize) -> Gemm<T> {
        self.batch.first.at(index, self.batch.strides)
    }

    /// The part of a product in cell `index` of a grid, and its own plan; `None` where the cell is empty.
    pub fn cell(
        &self,
        all: &Microkernels<T>,
        p: &Gemm<T>,
        (rows, columns): (usize, usize),
        index: usize,
    ) -> Option<(Gemm<T>, ThreadPlan)> {
        let (row, column) = (index.checked_div(columns)?, index.checked_rem(columns)?);
        let at = |extent: usize, parts: usize, index: usize, grain: usize| {
            let each = part(extent, parts, grain);
            let from = (index * each).min(extent);
            (from, each.min(extent - from))
        };
        let (i, m) = at(p.m, rows, row, GRAIN.0);
        let (j, n) = at(p.n, columns, column, GRAIN.1);
        if m == 0 || n == 0 {
            return None;
        }
        let cell = p.block((i, m), (j, n));
        Some((cell, ThreadPlan::new(all, &cell, self.non_temporal)))
    }
}

fn multiplications<T>(p: &Gemm<T>) -> usize {
    p.m.saturating_mul(p.n).saturating_mul(p.k)
}

/// How many tasks so many multiplications are worth, at most `most`.
fn tasks(exec: &Exec<'_>, multiplications: usize, most: usize) -> usize {
    /// About 10 us at 50 GFLOP/s.
    const PER_TASK: usize = 1 << 18;
    /// More parts would be too small, and to choose the cut takes time for each.
    const MOST: usize = 1 << 10;
    exec.tasks_of(multiplications / PER_TASK, most.min(MOST))
}

/// Whether C is better written with non-temporal stores, and can be: once, by whole registers. That begins before C
/// is as large as the LLC, for microkernels write a few lines of many rows in turn, which the hardware does not
/// prefetch (on Zen 5, K = 4: even at 0.8 of that cache, 1.3 times as fast at 0.95). Not the products of a batch: they
/// wait for A and B from memory, and take up to twice as long with such stores.
fn non_temporal<T: Element>(p: &Gemm<T>, count: usize) -> bool {
    let bytes = p.m.saturating_mul(p.n).saturating_mul(size_of::<T>());
    let row = p.c_rs.unsigned_abs().saturating_mul(size_of::<T>());
    count == 1
        && detect::is_past_the_caches(bytes.saturating_add(bytes / 8))
        && p.beta == T::ZERO
        && p.k <= params::KSEG
        && p.c_cs == 1
        && row.is_multiple_of(params::LINE)
}

/// Whether products computed in place wait for memory, and each leaves time to prefetch the next one's.
fn prefetch_pays<T: Element>(batch: &Batch<T>) -> bool {
    /// Multiplications of a product from which on there is time for the next one's memory.
    const LARGE: usize = 1 << 15;
    let step = |sum: usize, stride: isize| sum.saturating_add(stride.unsigned_abs());
    let elements = batch.strides.into_iter().fold(0, step);
    let bytes = elements
        .saturating_mul(batch.count)
        .saturating_mul(size_of::<T>());
    batch.count > 1 && multiplications(&batch.first) >= LARGE && detect::is_past_the_caches(bytes)
}

/// Rows and columns at whose multiples C is cut: the largest micro-tile of all levels, a whole number of most levels'.
const GRAIN: (usize, usize) = (MAX_MR, MAX_NR);

/// The largest part of an extent that is cut into so many parts at multiples of a grain.
fn part(extent: usize, parts: usize, grain: usize) -> usize {
    (share(extent, parts).div_ceil(grain) * grain).min(extent)
}

/// How C is cut for so many tasks: into the grid whose largest part is smallest; of those, into the
/// one that repeats the least packing.
fn grid<T>(p: &Gemm<T>, tasks: usize) -> Cut {
    let cost = |&(rows, columns): &(usize, usize)| {
        let (m, n) = (part(p.m, rows, GRAIN.0), part(p.n, columns, GRAIN.1));
        (m.saturating_mul(n), m.saturating_add(n))
    };
    let grids = (1..=tasks).filter_map(|rows| Some((rows, tasks.checked_div(rows)?)));
    let (rows, columns) = grids
        .filter(|(rows, columns)| rows * columns == tasks)
        .min_by_key(cost)
        .unwrap_or((1, 1));
    Cut::Grid { rows, columns }
}
