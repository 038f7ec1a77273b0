//! The bodies of the entries, by layout of the rows in memory.

use super::{Counted, Cut, Dot, Operation, Rows, Source, fold};
use crate::gpu::thread;
use crate::real::Real;

macro_rules! layouts {
    ($($(#[$doc:meta])* $name:ident, $columns:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// Blocks have 256 threads and [`shared_bytes`](super::shared_bytes) of shared memory. The rows are distributed
        /// over the blocks along x: any number of blocks if rows have one part, else as many as cover all rows. The
        /// blocks along y are the parts of a row, those along z the matrices of a batch: `x_bs` and `out_bs` are the
        /// strides from one to the next. Each matrix has scratch memory and counters of its own, one behind the other.
        ///
        /// # Safety
        /// `x` must be valid for m by n elements, `out` for m, in each matrix of the batch, and the cut must be as [`Cut`]
        /// requires.
        #[inline(always)]
        pub unsafe fn $name<T: Real, O: Operation<T> + Counted>(
            m: u64, n: u64, x: *const T, rs: i64, cs: i64, ddof: u64, out: *mut O::Out, inc_out: i64,
            x_bs: i64, out_bs: i64, team: u32, run: u32, first: u32, end: u32, scratch: *mut u8, counters: *mut u32,
        ) {
            let matrix = thread::block_idx_z() as i64;
            let x = x.wrapping_offset(matrix.wrapping_mul(x_bs) as isize);
            let out = out.wrapping_offset(matrix.wrapping_mul(out_bs) as isize);
            let parts = thread::grid_dim_y() as usize;
            let before = matrix as usize * m as usize;
            let scratch = scratch.wrapping_add(before * parts * O::VALUE_BYTES as usize);
            let counters = counters.wrapping_add(before);
            let source = Source { x, x_inc: cs, y: x, y_inc: cs, out: x.cast_mut() };
            let cut = Cut { team, run, first, end, scratch, counters };
            fold::<T, O, $columns>(O::new(n, ddof), Rows { m, n, source, rs }, out, inc_out, cut)
        }
    )*};
}

layouts! {
    /// out\[i * inc_out\] = the reduction of row i.
    rows, false;
    /// As [`rows`], where the row stride is smaller than the column stride (as in column-major storage).
    columns, true;
}

/// out = x . y. The grid is that of [`rows`] for one row.
///
/// # Safety
/// `x` and `y` must be valid for `n` elements, `out` for one, and the cut must be as [`Cut`] requires.
#[inline(always)]
pub unsafe fn dot<T: Real>(
    n: u64,
    x: *const T,
    incx: i64,
    y: *const T,
    incy: i64,
    out: *mut T,
    team: u32,
    run: u32,
    scratch: *mut u8,
    counters: *mut u32,
) {
    let source = Source {
        x,
        x_inc: incx,
        y,
        y_inc: incy,
        out,
    };
    let rows = Rows {
        m: 1,
        n,
        source,
        rs: 0,
    };
    let cut = Cut {
        team,
        run,
        first: 0,
        end: 1,
        scratch,
        counters,
    };
    fold::<T, Dot, false>(Dot, rows, out, 1, cut)
}
