//! outer and ger: a write, or a read and a write, of each element of the matrix, and nothing else that
//! counts (m n elements against m + n). One product or fma per element: bound by memory alone.
//!
//! A row of the matrix is shared by 2^lanes neighbouring threads. A thread keeps its elements of the
//! column factor in registers and goes down the rows, four at a time, so that four accesses of 16 bytes
//! are under way at once.

use crate::gpu::{Vector, thread};
use crate::real::Real;

/// Threads of a block.
pub const THREADS: u32 = 256;

/// Rows that a thread has under way at once.
const ROWS: usize = 4;

/// A factor: where its elements are, and what they are multiplied by first.
#[derive(Clone, Copy)]
struct Factor<T> {
    p: *const T,
    inc: i64,
    alpha: T,
}

impl<T: Real> Factor<T> {
    /// Element i.
    ///
    /// # Safety
    /// It must be valid.
    #[inline(always)]
    unsafe fn get(self, i: u64) -> T {
        // SAFETY: as the caller's.
        let x = unsafe { T::load(self.p.wrapping_offset(i as isize * self.inc as isize)) };
        self.alpha * x
    }
}

/// The matrix.
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

/// What happens to an element.
trait Update<T: Real> {
    /// Whether it is read.
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
/// The factors and the matrix must be valid. Where `packs`, its rows are contiguous and begin at
/// multiples of 16 bytes.
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
    // SAFETY: as the caller's; whole packs only where they lie in the matrix.
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

/// The rows first, first + step, ... of the pack of columns from j on.
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
    // SAFETY: as the caller's.
    unsafe {
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
}

/// `N` rows of a pack of columns: all loads come before the stores.
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
    // SAFETY: as the caller's.
    unsafe {
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
}

/// The rows first, first + step, ... of column j, for any strides.
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
    // SAFETY: as the caller's.
    unsafe {
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
    // SAFETY: as the caller's.
    unsafe {
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
}

/// out\[i, j\] = x\[i\] * y\[j\].
///
/// A block of [`THREADS`] threads takes 2^`lanes` packs of columns where `packs`, else elements; blocks
/// along x cover the columns, those along y stride over the rows.
///
/// # Safety
/// `x` must be valid at `m` elements, `y` at `n`, `out` at m by n and apart from both. Where `packs`, `cs`
/// is 1 and every row begins at a multiple of 16 bytes.
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
    // SAFETY: as the caller's.
    unsafe { update::<T, Set>(factor(x, incx), factor(y, incy), out, lanes, packs != 0) }
}

/// a\[i, j\] = fma(alpha_x * x\[i\], alpha_y * y\[j\], a\[i, j\]), where one of the factors is 1.
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
    // SAFETY: as the caller's.
    unsafe { update::<T, Add>(x, y, out, lanes, packs != 0) }
}
