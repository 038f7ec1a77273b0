//! From a checked product to kernels: which orientation, which order of summation, how many tasks.

use core::ops::Range;

use crate::detect;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::exec::{Exec, share};
use crate::ops::gemm::{self, Gemm, Tiles, packs, params};
use crate::table::Kernels;

/// How many tasks so many multiplications are worth, at most `most`.
fn tasks(exec: &Exec<'_>, multiplications: usize, most: usize) -> usize {
    /// About 10 us at 50 GFLOP/s.
    const PER_TASK: usize = 1 << 18;
    /// More parts would be too small, and to choose the cut takes time for each.
    const MOST: usize = 1 << 10;
    exec.tasks_of(multiplications / PER_TASK, most.min(MOST))
}

/// Runs a batch of products of one shape, none of m, n, batch 0.
///
/// # Safety
/// The matrices must be valid, and C apart from all else.
pub unsafe fn batch<T: Element>(
    exec: &Exec<'_>,
    k: &Kernels<T>,
    first: &Gemm<T>,
    batch: usize,
    strides: [isize; 3],
) -> Result<()> {
    let is_vector = first.m == 1 || first.n == 1;
    let turn = if is_vector {
        first.n != 1
    } else {
        first.c_cs != 1 && first.c_rs == 1
    };
    let turned;
    let (first, strides) = if turn {
        turned = first.transposed();
        (&turned, [strides[1], strides[0], strides[2]])
    } else {
        (first, strides)
    };
    if is_vector {
        // SAFETY: as the caller's.
        unsafe { super::vector::batch(exec, k, first, batch, strides) };
        return Ok(());
    }
    let stream = true;
    let streamed = streams(first, batch).then_some(Gemm { stream, ..*first });
    let first = streamed.as_ref().unwrap_or(first);
    // As `gemm_workspace` says, whichever way the product is turned.
    let too_large = Error::SizeOverflow { arg: "m * n * k" };
    let needed = params::scratch_bytes::<T>(first.m.max(first.n), first.k).ok_or(too_large)?;
    let bytes = if exec.has_workspace() || packs(&k.tiles, first) {
        needed
    } else {
        0
    };
    let each = first.m.saturating_mul(first.n).saturating_mul(first.k);
    let by_product = tasks(exec, each.saturating_mul(batch), batch);
    let by_block = if by_product > 1 {
        1
    } else {
        tasks(exec, each, usize::MAX)
    };
    // A workspace must suffice for all threads, however many of them this shape uses: then a size
    // that passed once passes always.
    exec.with_scratch(exec.threads(), bytes, |scratch| {
        if by_block > 1 {
            let grid = grid(first, by_block);
            for index in 0..batch {
                let product = first.at(index, strides);
                exec.run(by_block, &|task| {
                    let Some(part) = cell(&product, grid, task) else {
                        return;
                    };
                    scratch.lend(task, |block, len| {
                        // SAFETY: as the caller's; tasks write different elements.
                        unsafe { gemm::gemm(k, &part, block, len) }
                    });
                });
            }
            return;
        }
        let share = share(batch, by_product);
        let way = Way::of(&k.tiles, first, batch, strides);
        exec.run(by_product, &|task| {
            scratch.lend(task, |block, len| {
                let mine = task * share..batch.min((task + 1) * share);
                // SAFETY: as the caller's; tasks write different products.
                unsafe { one_by_one(k, first, strides, way, mine, block, len) }
            });
        });
    })
}

/// Whether C is better written past the caches, and can be: once, by whole registers. That begins before C is
/// as large as the last of them, for tiles write a few lines of many rows in turn, which the hardware does not
/// bring ahead (on Zen 5, K = 4: even at 0.8 of that cache, 1.3 times as fast at 0.95). Not the products of a
/// batch: they wait for A and B from memory, and take up to twice as long if they stream.
fn streams<T: Element>(p: &Gemm<T>, batch: usize) -> bool {
    let bytes = p.m.saturating_mul(p.n).saturating_mul(size_of::<T>());
    let row = p.c_rs.unsigned_abs().saturating_mul(size_of::<T>());
    batch == 1
        && detect::is_past_the_caches(bytes.saturating_add(bytes / 8))
        && p.beta == T::ZERO
        && p.k <= params::KSEG
        && p.c_cs == 1
        && row.is_multiple_of(params::LINE)
}

/// How products of one shape are computed one after the other: what they have in common is found once.
#[derive(Clone, Copy)]
enum Way {
    /// With packing, or whatever else they need.
    Any,
    /// In place.
    Direct,
    /// In place, while the matrices of the next one are brought from memory.
    DirectBefore,
}

impl Way {
    fn of<T: Element>(tiles: &Tiles<T>, p: &Gemm<T>, batch: usize, strides: [isize; 3]) -> Self {
        /// Multiplications of a product from which on there is time for the next one's memory.
        const LARGE: usize = 1 << 15;
        if params::turned(tiles, p) > 0 || !gemm::is_direct(tiles, p) {
            return Self::Any;
        }
        let large = p.m.saturating_mul(p.n).saturating_mul(p.k) >= LARGE;
        let step = |sum: usize, stride: isize| sum.saturating_add(stride.unsigned_abs());
        let elements = strides.into_iter().fold(0, step).saturating_mul(batch);
        let bytes = elements.saturating_mul(size_of::<T>());
        if batch > 1 && large && detect::is_past_the_caches(bytes) {
            Self::DirectBefore
        } else {
            Self::Direct
        }
    }
}

/// The products of the batch of which `first` is the first, in the order of their numbers.
///
/// # Safety
/// As [`batch`]; `way` must be that of their shape, `block` scratch memory as [`gemm::gemm`] needs it.
unsafe fn one_by_one<T: Element>(
    k: &Kernels<T>,
    first: &Gemm<T>,
    strides: [isize; 3],
    way: Way,
    numbers: Range<usize>,
    block: *mut u8,
    len: usize,
) {
    let at = |index| first.at(index, strides);
    // SAFETY: as the caller's; of the product after the last nothing is read.
    unsafe {
        match way {
            Way::Any => {
                for index in numbers {
                    gemm::gemm(k, &at(index), block, len);
                }
            }
            Way::Direct => {
                for index in numbers {
                    gemm::direct(&k.tiles, &at(index));
                }
            }
            Way::DirectBefore => {
                for index in numbers {
                    gemm::direct_before(&k.tiles, &at(index), &at(index + 1));
                }
            }
        }
    }
}

/// Rows and columns at whose multiples C is cut: whole tiles of most levels.
const GRAIN: (usize, usize) = (8, 48);

/// The largest part of an extent that is cut into so many parts at multiples of a grain.
fn part(extent: usize, parts: usize, grain: usize) -> usize {
    (share(extent, parts).div_ceil(grain) * grain).min(extent)
}

/// How C is cut for so many tasks: into the grid whose largest part is smallest; of those, into the
/// one that repeats the least packing.
fn grid<T>(p: &Gemm<T>, tasks: usize) -> (usize, usize) {
    let cost = |&(rows, cols): &(usize, usize)| {
        let (m, n) = (part(p.m, rows, GRAIN.0), part(p.n, cols, GRAIN.1));
        (m.saturating_mul(n), m.saturating_add(n))
    };
    (1..=tasks)
        .filter_map(|rows| Some((rows, tasks.checked_div(rows)?)))
        .filter(|(rows, cols)| rows * cols == tasks)
        .min_by_key(cost)
        .unwrap_or((1, 1))
}

/// The part of C that a task computes.
fn cell<T: Element>(p: &Gemm<T>, (rows, cols): (usize, usize), task: usize) -> Option<Gemm<T>> {
    let (row, column) = (task.checked_div(cols)?, task.checked_rem(cols)?);
    let at = |extent: usize, parts: usize, index: usize, grain: usize| {
        let each = part(extent, parts, grain);
        let from = (index * each).min(extent);
        (from, each.min(extent - from))
    };
    let (i, m) = at(p.m, rows, row, GRAIN.0);
    let (j, n) = at(p.n, cols, column, GRAIN.1);
    (m > 0 && n > 0).then(|| p.block((i, m), (j, n)))
}
