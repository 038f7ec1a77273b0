//! The least-squares gradient: the work on blocks of rows. `tree` adds up their results.

mod tree;

use crate::gpu::shared::Shared;
use crate::gpu::{Vector, no_unroll, thread};
use crate::ops::reduce::{
    FoldPass, RESULTS, Rows, Source, chunk, chunk_len, drain, exchange_at, push, thread_in_group,
};
use crate::real::Real;
use crate::unroll::{each_lane, unroll};
use diptych::backend::folds;
use diptych::backend::order::LSQ_ROWS;
pub use tree::FAN_IN;

/// grad = 2 A^T (A x - y). The rows are divided into row blocks of [`LSQ_ROWS`]. Each block of the grid processes a
/// part, an aligned run of 2^run row blocks, `stage` rows at a time; `stage` is 32, or 16 if blocks have 256 threads.
///
/// `scratch` has run + 1 vectors of n elements for each part, each padded to a multiple of 16 bytes. `counters` has,
/// for each level of the tree over parts, one counter for each [`FAN_IN`] nodes. Shared memory is that of
/// [`rows`](crate::ops::reduce::rows) with a run of all chunks of a row.
///
/// # Safety
/// The arrays must be valid.
#[inline(always)]
pub unsafe fn lsq_grad<T: Real>(
    m: u64,
    n: u64,
    a: *const T,
    a_rs: i64,
    a_cs: i64,
    x: *const T,
    y: *const T,
    grad: *mut T,
    run: u32,
    stage: u32,
    scratch: *mut T,
    counters: *mut u32,
) {
    let problem = Lsq::new((m, n), (a, a_rs, a_cs), (x, y), run, stage, scratch);
    problem.run::<false>(grad, counters)
}

/// As [`lsq_grad`], for A whose row stride is smaller than its column stride (as in column-major storage).
///
/// # Safety
/// As for [`lsq_grad`].
#[inline(always)]
pub unsafe fn lsq_grad_columns<T: Real>(
    m: u64,
    n: u64,
    a: *const T,
    a_rs: i64,
    a_cs: i64,
    x: *const T,
    y: *const T,
    grad: *mut T,
    run: u32,
    stage: u32,
    scratch: *mut T,
    counters: *mut u32,
) {
    let problem = Lsq::new((m, n), (a, a_rs, a_cs), (x, y), run, stage, scratch);
    problem.run::<true>(grad, counters)
}

/// A problem, and the scratch memory of its parts.
struct Lsq<T: Real> {
    /// The rows of A, with x as the second array.
    rows: Rows<T>,
    /// Whether the rows are contiguous and aligned to 16 bytes.
    packed: bool,
    y: *const T,
    run: u32,
    stage: u32,
    /// The digits of each part's binary counter, vectors of `pitch` elements: digit d holds the sum of 2^d row blocks.
    scratch: *mut T,
    pitch: u64,
}

/// The columns of one thread, at most [`Vector::WIDTH`] of them: adjacent, or as far apart as there are threads.
#[derive(Clone, Copy)]
struct Columns {
    first: u64,
    step: u64,
    /// Columns that exist.
    count: u32,
}

type Dot = FoldPass<folds::Dot>;

impl<T: Real> Lsq<T> {
    #[inline(always)]
    fn new(
        (m, n): (u64, u64),
        (a, a_rs, a_cs): (*const T, i64, i64),
        (x, y): (*const T, *const T),
        run: u32,
        stage: u32,
        scratch: *mut T,
    ) -> Self {
        let source = Source {
            x: a,
            x_inc: a_cs,
            y: x,
            y_inc: 1,
            out: scratch,
            format: (),
        };
        let rows = Rows {
            m,
            n,
            source,
            rs: a_rs,
        };
        Self {
            rows,
            packed: rows.are_packed::<Dot>(),
            y,
            run,
            stage,
            scratch,
            pitch: n.next_multiple_of(T::WIDTH as u64),
        }
    }

    #[inline(always)]
    unsafe fn run<const COLUMNS: bool>(&self, grad: *mut T, counters: *mut u32) {
        let part = thread::block_idx_x();
        let blocks = self.rows.m.div_ceil(LSQ_ROWS as u64);
        let first = (part as u64) << self.run;
        // 0 if there are no rows.
        let count = blocks.saturating_sub(first).min(1 << self.run) as u32;
        // SAFETY: as the caller's; every barrier is reached by the whole block.
        unsafe {
            let mut index = 0;
            while index < count {
                no_unroll();
                let from = (first + index as u64) * LSQ_ROWS as u64;
                let rows = (self.rows.m - from).min(LSQ_ROWS as u64) as u32;
                let mut done = 0;
                while done < rows {
                    no_unroll();
                    let stage = self.stage.min(rows - done);
                    self.residuals::<COLUMNS>(from + done as u64, stage);
                    thread::sync_threads();
                    self.update(index, from, (done, stage), done + stage == rows);
                    // With columns, the next residuals begin with chunks, which have barriers of their own.
                    if !COLUMNS {
                        thread::sync_threads();
                    }
                    done += stage;
                }
                index += 1;
            }
            self.drain(count);
            if self.combine_parts(part, counters) {
                self.finish(grad);
            }
        }
    }

    /// Stores the residuals, dot - y, of rows from..from + count to shared memory.
    #[inline(always)]
    unsafe fn residuals<const COLUMNS: bool>(&self, from: u64, count: u32) {
        let (group, q) = thread_in_group();
        let groups = thread::block_dim_x() / 16;
        let chunks = self.rows.n.div_ceil(chunk_len::<T>()) as u32;
        let levels = u32::BITS - chunks.saturating_sub(1).leading_zeros();
        let at = exchange_at(levels, T::BYTES);
        let mut base = 0;
        // SAFETY: the caller guarantees the rows; all threads of the block make the same number of iterations.
        unsafe {
            while base < count {
                no_unroll();
                let own = base + group;
                let loads = base + if COLUMNS { q } else { group };
                let mut source = self.rows.source;
                let row = (from + loads as u64) as i64 * self.rows.rs;
                source.x = source.x.wrapping_offset(row as isize);
                let mut dot = [T::ZERO];
                let mut k = 0;
                while k < chunks {
                    no_unroll();
                    let start = k as u64 * chunk_len::<T>();
                    let len = if loads < count {
                        (self.rows.n - start).min(chunk_len::<T>()) as u32
                    } else {
                        0
                    };
                    dot = chunk::<T, Dot, COLUMNS>(
                        source,
                        self.packed,
                        at,
                        T::ZERO,
                        start as i64,
                        len,
                    );
                    if chunks > 1 {
                        push::<T, Dot>(k, dot);
                    }
                    k += 1;
                }
                if chunks > 1 {
                    dot = drain::<T, Dot>(chunks);
                }
                if q == 0 && own < count {
                    let y = T::load(self.y.add((from + own as u64) as usize));
                    Shared::at_byte(RESULTS).store(own, dot[0] + T::ZERO - y);
                }
                base += groups;
            }
        }
    }

    /// Returns this thread's columns in iteration `turn`, at most [`Vector::WIDTH`]; `None` after the last iteration of
    /// the block.
    #[inline(always)]
    fn columns(&self, turn: u32) -> Option<Columns> {
        let (thread, threads) = (thread::thread_idx_x() as u64, thread::block_dim_x() as u64);
        let (width, n) = (T::WIDTH as u64, self.rows.n);
        let base = turn as u64 * threads * width;
        if base >= n {
            return None;
        }
        let (first, step) = if self.packed {
            (base + thread * width, 1)
        } else {
            (base + thread, threads)
        };
        let count = if first >= n {
            0
        } else {
            (n - first).div_ceil(step).min(width) as u32
        };
        Some(Columns { first, step, count })
    }

    /// Returns a pointer to element j of digit d of this block's counter.
    #[inline(always)]
    fn digit(&self, d: u32, j: u64) -> *mut T {
        let vector = thread::block_idx_x() as u64 * (self.run as u64 + 1) + d as u64;
        self.scratch
            .wrapping_add((vector * self.pitch + j) as usize)
    }

    /// Accumulates rows done..done + count of row block `index` into the sums of all columns. After the last row,
    /// pushes the sums to the binary counter, whose digit d holds 2^d row blocks. Until then they are kept in the digit
    /// that the push will write.
    #[inline(always)]
    unsafe fn update(&self, index: u32, from: u64, (done, count): (u32, u32), is_last: bool) {
        let target = index.trailing_ones();
        let mut turn = 0;
        // SAFETY: the rows and digits belong to this block, and each column to one thread.
        unsafe {
            while let Some(columns) = self.columns(turn) {
                no_unroll();
                let mut sums = [T::ZERO; 4];
                if done > 0 {
                    each_lane!(c of T, {
                        if (c as u32) < columns.count {
                            let j = columns.first + c as u64 * columns.step;
                            sums[c] = T::load(self.digit(target, j));
                        }
                    });
                }
                self.accumulate(&mut sums, columns, from + done as u64, count);
                each_lane!(c of T, {
                    if (c as u32) < columns.count {
                        let j = columns.first + c as u64 * columns.step;
                        let mut value = sums[c];
                        if is_last {
                            let mut d = 0;
                            while d < target {
                                no_unroll();
                                value = T::load(self.digit(d, j)) + value;
                                d += 1;
                            }
                        }
                        T::store(self.digit(target, j), value);
                    }
                });
                turn += 1;
            }
        }
    }

    /// Accumulates rows from..from + count into the sums of a thread's columns, one chain of fma per column.
    #[inline(always)]
    unsafe fn accumulate(&self, sums: &mut [T; 4], columns: Columns, from: u64, count: u32) {
        let Rows { source, rs, .. } = self.rows;
        let at = from as i64 * rs + columns.first as i64 * source.x_inc;
        let mut a = source.x.wrapping_offset(at as isize);
        let column_stride = (columns.step as i64 * source.x_inc) as isize;
        let rs = rs as isize;
        let residuals = Shared::<T>::at_byte(RESULTS);
        let mut i = 0;
        // SAFETY: the caller guarantees the rows; the residuals were stored before a barrier.
        unsafe {
            if self.packed && columns.count == T::WIDTH {
                while i + 8 <= count {
                    no_unroll();
                    let mut v = [T::ZERO.pack(); 8];
                    unroll!(u < 8, {
                        v[u] = T::load_pack(a);
                        a = a.wrapping_offset(rs);
                    });
                    unroll!(u < 8, {
                        let r = residuals.load(i + u as u32);
                        each_lane!(c of T, {
                            sums[c] = Vector::fma(v[u].as_ref()[c], r, sums[c]);
                        });
                    });
                    i += 8;
                }
            }
            while i < count {
                no_unroll();
                let r = residuals.load(i);
                each_lane!(c of T, {
                    if (c as u32) < columns.count {
                        let v = T::load(a.wrapping_offset(c as isize * column_stride));
                        sums[c] = Vector::fma(v, r, sums[c]);
                    }
                });
                a = a.wrapping_offset(rs);
                i += 1;
            }
        }
    }
}
