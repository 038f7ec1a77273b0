//! outer and ger: they write, or read and write, each of the m n elements of the matrix once, with one product or fma
//! each; the m + n elements of the vectors hardly matter. Both are memory-bound.
//!
//! 2^lanes consecutive threads share a row of the matrix. A thread keeps its elements of `y` in registers and walks
//! down the rows, four at a time, so that four accesses of 16 bytes are in flight at once.

use crate::gpu::{Vector, thread};
use crate::real::Real;

/// Threads per block.
pub const THREADS: u32 = 256;

/// Rows that a thread processes at once.
const ROWS: usize = 4;

/// A vector of the product, with the scalar by which its elements are multiplied first.
#[derive(Clone, Copy)]
struct Factor<T> {
    p: *const T,
    inc: i64,
    alpha: T,
}

impl<T: Real> Factor<T> {
    /// Loads and scales element `i`.
    ///
    /// # Safety
    /// The element must be valid.
    #[inline(always)]
    unsafe fn get(self, i: u64) -> T {
        let x = T::load(self.p.wrapping_offset(i as isize * self.inc as isize));
        self.alpha * x
    }
}

/// The output matrix.
#[derive(Clone, Copy)]
struct Output<T> {
    m: u64,
    n: u64,
    p: *mut T,
    rs: i64,
    cs: i64,
}

impl<T> Output<T> {
    #[inline(always)]
    fn at(self, i: u64, j: u64) -> *mut T {
        let at = i as isize * self.rs as isize + j as isize * self.cs as isize;
        self.p.wrapping_offset(at)
    }
}

/// The update of one element.
trait Update<T: Real> {
    /// Whether the old value of the element is read.
    const READS: bool;
    fn apply(x: T, y: T, a: T) -> T;
}

struct Set;

impl<T: Real> Update<T> for Set {
    const READS: bool = false;
    #[inline(always)]
    fn apply(x: T, y: T, _a: T) -> T {
        x * y
    }
}

struct Add;

impl<T: Real> Update<T> for Add {
    const READS: bool = true;
    #[inline(always)]
    fn apply(x: T, y: T, a: T) -> T {
        Vector::fma(x, y, a)
    }
}

/// Updates the whole matrix.
///
/// # Safety
/// The factors and the matrix must be valid. If `packs`, its rows must be contiguous and aligned to 16 bytes.
#[inline(always)]
unsafe fn update<T: Real, U: Update<T>>(
    x: Factor<T>,
    y: Factor<T>,
    out: Output<T>,
    lanes: u32,
    packs: bool,
) {
    let (row, lane) = (
        thread::thread_idx_x() >> lanes,
        thread::thread_idx_x() & ((1 << lanes) - 1),
    );
    let rows = THREADS >> lanes;
    let column = (thread::block_idx_x() as u64) << lanes | lane as u64;
    let first = thread::block_idx_y() as u64 * rows as u64 + row as u64;
    let step = thread::grid_dim_y() as u64 * rows as u64;
    // SAFETY: as the caller's; packs are used only if they lie in the matrix completely.
    unsafe {
        if packs && (column + 1) * T::WIDTH as u64 <= out.n {
            down_packs::<T, U>(x, y, out, (first, step), column * T::WIDTH as u64);
            return;
        }
        let width = if packs { T::WIDTH as u64 } else { 1 };
        let mut j = column * width;
        while j < out.n && j < (column + 1) * width {
            down_elements::<T, U>(x, y, out, (first, step), j);
            j += 1;
        }
    }
}

/// Updates rows first, first + step, ... of the pack of columns that begins at column j.
///
/// # Safety
/// As [`update`], and the pack must lie in the matrix.
#[inline(always)]
unsafe fn down_packs<T: Real, U: Update<T>>(
    x: Factor<T>,
    y: Factor<T>,
    out: Output<T>,
    (first, step): (u64, u64),
    j: u64,
) {
    let mut right = T::ZERO.pack();
    for (e, y_j) in right.as_mut().iter_mut().enumerate() {
        *y_j = y.get(j + e as u64);
    }
    let mut i = first;
    while i + (ROWS as u64 - 1) * step < out.m {
        packs::<T, U, ROWS>(x, right, out, (i, step), j);
        i += ROWS as u64 * step;
    }
    while i < out.m {
        packs::<T, U, 1>(x, right, out, (i, step), j);
        i += step;
    }
}

/// Updates `N` rows of a pack of columns: all loads come before the stores.
///
/// # Safety
/// As [`down_packs`], and the rows must lie in the matrix.
#[inline(always)]
unsafe fn packs<T: Real, U: Update<T>, const N: usize>(
    x: Factor<T>,
    right: T::Pack,
    out: Output<T>,
    (i, step): (u64, u64),
    j: u64,
) {
    let at = |u: usize| i + u as u64 * step;
    let mut left = [T::ZERO; N];
    let mut a = [T::ZERO.pack(); N];
    for u in 0..N {
        left[u] = x.get(at(u));
        if U::READS {
            a[u] = T::load_pack(out.at(at(u), j));
        }
    }
    for u in 0..N {
        for (a, &y_j) in a[u].as_mut().iter_mut().zip(right.as_ref()) {
            *a = U::apply(left[u], y_j, *a);
        }
        T::store_pack(out.at(at(u), j), a[u]);
    }
}

/// Updates rows first, first + step, ... of column j, for any strides.
///
/// # Safety
/// As [`update`], and the column must lie in the matrix.
#[inline(always)]
unsafe fn down_elements<T: Real, U: Update<T>>(
    x: Factor<T>,
    y: Factor<T>,
    out: Output<T>,
    (first, step): (u64, u64),
    j: u64,
) {
    let right = y.get(j);
    let mut i = first;
    while i + (ROWS as u64 - 1) * step < out.m {
        elements::<T, U, ROWS>(x, right, out, (i, step), j);
        i += ROWS as u64 * step;
    }
    while i < out.m {
        elements::<T, U, 1>(x, right, out, (i, step), j);
        i += step;
    }
}

/// As [`packs`], for one column.
///
/// # Safety
/// As [`down_elements`], and the rows must lie in the matrix.
#[inline(always)]
unsafe fn elements<T: Real, U: Update<T>, const N: usize>(
    x: Factor<T>,
    right: T,
    out: Output<T>,
    (i, step): (u64, u64),
    j: u64,
) {
    let at = |u: usize| i + u as u64 * step;
    let mut left = [T::ZERO; N];
    let mut a = [T::ZERO; N];
    for u in 0..N {
        left[u] = x.get(at(u));
        if U::READS {
            a[u] = T::load(out.at(at(u), j));
        }
    }
    for u in 0..N {
        T::store(out.at(at(u), j), U::apply(left[u], right, a[u]));
    }
}

/// out\[i, j\] = x\[i\] * y\[j\].
///
/// A block of [`THREADS`] threads covers 2^`lanes` packs of columns if `packs`, else 2^`lanes` columns. The blocks
/// along x cover the columns; the blocks along y loop over the rows.
///
/// # Safety
/// `x` must be valid for `m` elements, `y` for `n`, and `out` for m by n, which must not overlap `x` or `y`. If
/// `packs`, `cs` must be 1 and every row must be aligned to 16 bytes.
#[inline(always)]
pub unsafe fn outer<T: Real>(
    m: u64,
    n: u64,
    x: *const T,
    incx: i64,
    y: *const T,
    incy: i64,
    out: *mut T,
    rs: i64,
    cs: i64,
    lanes: u32,
    packs: u32,
) {
    let factor = |p, inc| Factor {
        p,
        inc,
        alpha: T::ONE,
    };
    let p = out;
    let out = Output { m, n, p, rs, cs };
    update::<T, Set>(factor(x, incx), factor(y, incy), out, lanes, packs != 0)
}

/// a\[i, j\] = fma(alpha_x * x\[i\], alpha_y * y\[j\], a\[i, j\]), where `alpha_x` or `alpha_y` is 1.
///
/// The grid is as for [`outer`].
///
/// # Safety
/// As [`outer`].
#[inline(always)]
pub unsafe fn ger<T: Real>(
    m: u64,
    n: u64,
    alpha_x: T,
    x: *const T,
    incx: i64,
    alpha_y: T,
    y: *const T,
    incy: i64,
    a: *mut T,
    rs: i64,
    cs: i64,
    lanes: u32,
    packs: u32,
) {
    let factor = |p, inc, alpha| Factor { p, inc, alpha };
    let (x, y) = (factor(x, incx, alpha_x), factor(y, incy, alpha_y));
    let p = a;
    let out = Output { m, n, p, rs, cs };
    update::<T, Add>(x, y, out, lanes, packs != 0)
}
