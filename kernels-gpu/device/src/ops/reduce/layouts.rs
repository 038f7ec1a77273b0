//! The bodies of the entries, by layout of the rows in memory.

use super::{Counted, Cut, Dot, Operation, Rows, Source, fold, known_bytes};
use crate::gpu::thread;
use crate::gpu::value::Value;
use crate::memory::Memory;
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
        pub unsafe fn $name<M: Memory, O: Operation<M::Number> + Counted>(
            format: M::Format, m: u64, n: u64, x: *const M, rs: i64, cs: i64, ddof: u64, out: *mut O::Out, inc_out: i64,
            x_bs: i64, out_bs: i64, team: u32, run: u32, first: u32, end: u32, scratch: *mut u8, counters: *mut u32,
        ) {
            let matrix = thread::block_idx_z() as i64;
            let x = x.wrapping_offset(matrix.wrapping_mul(x_bs) as isize);
            let out = M::result_at(format, out, matrix.wrapping_mul(out_bs));
            let parts = thread::grid_dim_y() as usize;
            let before = matrix as usize * m as usize;
            let known = before * known_bytes::<M, O>() as usize;
            let scratch = scratch.wrapping_add(before * parts * O::VALUE_BYTES as usize + known);
            let counters = counters.wrapping_add(before);
            let source = Source { x, x_inc: cs, y: x, y_inc: cs, out: x.cast_mut(), format };
            let cut = Cut { team, run, first, end, scratch, counters };
            fold::<M, O, $columns>(O::new(n, ddof), Rows { m, n, source, rs }, out, inc_out, cut)
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
        format: (),
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

/// out\[z * out_bs\] = x_z . y_z, where z is a block along z: `x_bs` and `y_bs` are the strides from one vector to the
/// next. The grid is that of [`rows`] for one row, as is the scratch memory.
///
/// # Safety
/// As [`dot`], of each product.
#[inline(always)]
pub unsafe fn dots<M: Memory>(
    format: M::Format,
    n: u64,
    x: *const M,
    incx: i64,
    x_bs: i64,
    y: *const M,
    incy: i64,
    y_bs: i64,
    out: *mut M::Number,
    out_bs: i64,
    team: u32,
    run: u32,
    scratch: *mut u8,
    counters: *mut u32,
) {
    let z = thread::block_idx_z() as i64;
    let parts = thread::grid_dim_y() as usize;
    let x = x.wrapping_offset(z.wrapping_mul(x_bs) as isize);
    let source = Source {
        x,
        x_inc: incx,
        y: y.wrapping_offset(z.wrapping_mul(y_bs) as isize),
        y_inc: incy,
        out: x.cast_mut(),
        format,
    };
    let rows = Rows {
        m: 1,
        n,
        source,
        rs: 0,
    };
    let bytes = <M::Number as Value>::BYTES as usize;
    let cut = Cut {
        team,
        run,
        first: 0,
        end: 1,
        scratch: scratch.wrapping_add(z as usize * parts * bytes),
        counters: counters.wrapping_add(z as usize),
    };
    let out = M::result_at(format, out, z.wrapping_mul(out_bs));
    fold::<M, Dot, false>(Dot, rows, out, 1, cut)
}
