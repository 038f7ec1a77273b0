//! The least-squares gradient: row blocks, and the tree over them (`tree`).

mod tree;

use crate::gpu::shared::Shared;
use crate::gpu::{Vector, keep_loop, thread};
use crate::ops::reduce::{
    Of, RESULTS, Rows, Source, chunk, chunk_len, exchange_at, leftovers, place, push,
};
use crate::real::Real;
use crate::unroll::{each_lane, unroll};
use diptych::backend::folds;
use diptych::backend::order::LSQ_ROWS;
pub use tree::FAN_IN;

/// grad = 2 A^T (A x - y). Each block of the grid has a part of the row blocks, an aligned run of 2^run of
/// them, and takes `stage` rows at once, a multiple of 16 that divides 32, or less than 32 only where blocks have
/// 256 threads.
///
/// `scratch`: for each part run + 1 vectors of n elements, each padded to a multiple of 16 bytes; `counters`: for
/// each level of the tree over parts one for each [`FAN_IN`] of them. Shared memory as for [`rows`](crate::ops::reduce::rows) with
/// runs of all chunks of a row.
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
    // SAFETY: as the caller's.
    unsafe { problem.run::<false>(grad, counters) }
}

/// As [`lsq_grad`], for A whose rows lie side by side.
///
/// # Safety
/// As there.
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
    // SAFETY: as the caller's.
    unsafe { problem.run::<true>(grad, counters) }
}

/// A problem, and this block's part of it.
struct Lsq<T> {
    /// A as rows, with x as the second array.
    rows: Rows<T>,
    /// Whether they are contiguous and multiples of 16.
    packed: bool,
    y: *const T,
    run: u32,
    stage: u32,
    /// The digits of this block's counter: vectors of `pitch` elements.
    scratch: *mut T,
    pitch: u64,
}

/// Columns of one thread: W of them, side by side or as far apart as there are threads.
#[derive(Clone, Copy)]
struct Columns {
    first: u64,
    step: u64,
    /// How many exist.
    count: u32,
}

type Dot = Of<folds::Dot>;

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
        // Without rows there is nothing to walk.
        let count = blocks.saturating_sub(first).min(1 << self.run) as u32;
        // SAFETY: as the caller's; every barrier is reached by the whole block.
        unsafe {
            let mut index = 0;
            while index < count {
                keep_loop();
                let from = (first + index as u64) * LSQ_ROWS as u64;
                let rows = (self.rows.m - from).min(LSQ_ROWS as u64) as u32;
                let mut done = 0;
                while done < rows {
                    keep_loop();
                    let stage = self.stage.min(rows - done);
                    self.residuals::<COLUMNS>(from + done as u64, stage);
                    thread::sync_threads();
                    self.update(index, from, (done, stage), done + stage == rows);
                    // Columns have barriers in the chunks of the next residuals.
                    if !COLUMNS {
                        thread::sync_threads();
                    }
                    done += stage;
                }
                index += 1;
            }
            self.leftovers(count);
            if self.climb(part, counters) {
                self.finish(grad);
            }
        }
    }

    /// Shared memory gets dot - y of rows from..from + count.
    #[inline(always)]
    unsafe fn residuals<const COLUMNS: bool>(&self, from: u64, count: u32) {
        let (group, q) = place();
        let groups = thread::block_dim_x() / 16;
        let chunks = self.rows.n.div_ceil(chunk_len::<T>()) as u32;
        let levels = u32::BITS - chunks.saturating_sub(1).leading_zeros();
        let at = exchange_at(levels, T::BYTES);
        let mut base = 0;
        // SAFETY: the rows are the caller's; the number of turns is the block's.
        unsafe {
            while base < count {
                keep_loop();
                let own = base + group;
                let loads = base + if COLUMNS { q } else { group };
                let mut source = self.rows.source;
                let row = (from + loads as u64) as i64 * self.rows.rs;
                source.x = source.x.wrapping_offset(row as isize);
                let mut dot = T::ZERO;
                let mut k = 0;
                while k < chunks {
                    keep_loop();
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
                    dot = leftovers::<T, Dot>(chunks);
                }
                if q == 0 && own < count {
                    let y = T::load(self.y.add((from + own as u64) as usize));
                    Shared::at_byte(RESULTS).store(own, dot + T::ZERO - y);
                }
                base += groups;
            }
        }
    }

    /// Runs `body` on this thread's columns, W at a time.
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

    /// Element j of digit d of this block's counter.
    #[inline(always)]
    fn digit(&self, d: u32, j: u64) -> *mut T {
        let place = thread::block_idx_x() as u64 * (self.run as u64 + 1) + d as u64;
        self.scratch.wrapping_add((place * self.pitch + j) as usize)
    }

    /// The chains of row block `index` go on over its rows done..done + count; after the last they enter the
    /// counter, whose digit d holds 2^d row blocks. Until then they are in the digit that they will become.
    #[inline(always)]
    unsafe fn update(&self, index: u32, from: u64, (done, count): (u32, u32), is_last: bool) {
        let target = index.trailing_ones();
        let mut turn = 0;
        // SAFETY: the rows and the digits are this block's, each column one thread's.
        unsafe {
            while let Some(columns) = self.columns(turn) {
                keep_loop();
                let mut chains = [T::ZERO; 4];
                if done > 0 {
                    each_lane!(c of T, {
                        if (c as u32) < columns.count {
                            let j = columns.first + c as u64 * columns.step;
                            chains[c] = T::load(self.digit(target, j));
                        }
                    });
                }
                self.chains(&mut chains, columns, from + done as u64, count);
                each_lane!(c of T, {
                    if (c as u32) < columns.count {
                        let j = columns.first + c as u64 * columns.step;
                        let mut value = chains[c];
                        if is_last {
                            let mut d = 0;
                            while d < target {
                                keep_loop();
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

    /// The chains of a thread's columns go on over rows from..from + count.
    #[inline(always)]
    unsafe fn chains(&self, chains: &mut [T; 4], columns: Columns, from: u64, count: u32) {
        let Rows { source, rs, .. } = self.rows;
        let at = from as i64 * rs + columns.first as i64 * source.x_inc;
        let mut a = source.x.wrapping_offset(at as isize);
        let jump = (columns.step as i64 * source.x_inc) as isize;
        let rs = rs as isize;
        let residuals = Shared::<T>::at_byte(RESULTS);
        let mut i = 0;
        // SAFETY: the rows are the caller's; the residuals have been written before a barrier.
        unsafe {
            if self.packed && columns.count == T::WIDTH {
                while i + 8 <= count {
                    keep_loop();
                    let mut v = [T::ZERO.pack(); 8];
                    unroll!(u < 8, {
                        v[u] = T::load_pack(a);
                        a = a.wrapping_offset(rs);
                    });
                    unroll!(u < 8, {
                        let r = residuals.load(i + u as u32);
                        each_lane!(c of T, {
                            chains[c] = Vector::fma(v[u].as_ref()[c], r, chains[c]);
                        });
                    });
                    i += 8;
                }
            }
            while i < count {
                keep_loop();
                let r = residuals.load(i);
                each_lane!(c of T, {
                    if (c as u32) < columns.count {
                        let v = T::load(a.wrapping_offset(c as isize * jump));
                        chains[c] = Vector::fma(v, r, chains[c]);
                    }
                });
                a = a.wrapping_offset(rs);
                i += 1;
            }
        }
    }
}
