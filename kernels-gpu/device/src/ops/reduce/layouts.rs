//! The bodies of the entries: how rows lie in memory.

use super::{Counted, Cut, Dot, Operation, Rows, Source, fold};
use crate::real::Real;

macro_rules! layouts {
    ($($(#[$doc:meta])* $name:ident, $columns:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// Blocks of 256 threads. Along x of the grid rows, any number of blocks, but all of them where
        /// rows have several parts; along y the parts of a row, `shared_bytes` of shared memory.
        ///
        /// # Safety
        /// `x` must be valid at m by n elements, `out` at m, the cut as [`Cut`] says.
        #[inline(always)]
        pub unsafe fn $name<T: Real, O: Operation<T> + Counted>(
            m: u64, n: u64, x: *const T, rs: i64, cs: i64, ddof: u64, out: *mut O::Out, inc_out: i64,
            team: u32, run: u32, first: u32, end: u32, scratch: *mut u8, counters: *mut u32,
        ) {
            let source = Source { x, x_inc: cs, y: x, y_inc: cs, out: x.cast_mut() };
            let cut = Cut { team, run, first, end, scratch, counters };
            // SAFETY: as the caller's.
            unsafe { fold::<T, O, $columns>(O::new(n, ddof), Rows { m, n, source, rs }, out, inc_out, cut) }
        }
    )*};
}

layouts! {
    /// out\[i * inc_out\] = the reduction of row i.
    rows, false;
    /// As [`rows`], for rows that lie side by side.
    columns, true;
}

/// out = x . y: one row of the layout of [`rows`].
///
/// # Safety
/// `x` and `y` must be valid at `n` elements, `out` for one, the cut as [`Cut`] says.
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
    // SAFETY: as the caller's.
    unsafe { fold::<T, Dot, false>(Dot, rows, out, 1, cut) }
}
