//! outer and ger: they write, or read and write, each of the m n elements of the matrix once, with one product or fma
//! each; the m + n elements of the vectors hardly matter. Both are memory-bound.
//!
//! 2^lanes consecutive threads share a row of the matrix. A thread keeps its elements of `y` in registers and walks
//! down the rows, four at a time, so that four accesses of 16 bytes are in flight at once.

use crate::gpu::{Vector, thread, unroll};
use crate::memory::Memory;
use crate::real::Real;
use diptych::Element;

/// Threads per block.
pub const THREADS: u32 = 256;

/// Rows that a thread processes at once.
const ROWS: usize = 4;

/// A vector of the product, with the scalar by which its elements are multiplied first.
#[derive(Clone, Copy)]
struct Factor<M: Memory> {
    p: *const M,
    inc: i64,
    alpha: M::Number,
    format: M::Format,
}

impl<M: Memory> Factor<M> {
    #[inline(always)]
    fn new(format: M::Format, (p, inc): (*const M, i64), alpha: M::Number) -> Self {
        Self {
            p,
            inc,
            alpha,
            format,
        }
    }
    /// Loads and scales element `i`.
    ///
    /// # Safety
    /// The element must be valid.
    #[inline(always)]
    unsafe fn get(self, i: u64) -> M::Number {
        let p = self.p.wrapping_offset(i as isize * self.inc as isize);
        self.alpha * M::get(self.format, p)
    }
}

/// The output matrix.
#[derive(Clone, Copy)]
struct Output<O: Memory> {
    m: u64,
    n: u64,
    p: *mut O,
    rs: i64,
    cs: i64,
    format: O::Format,
}

impl<O: Memory> Output<O> {
    #[inline(always)]
    fn new(format: O::Format, [m, n]: [u64; 2], p: *mut O, [rs, cs]: [i64; 2]) -> Self {
        Self {
            m,
            n,
            p,
            rs,
            cs,
            format,
        }
    }
    #[inline(always)]
    fn at(self, i: u64, j: u64) -> *mut O {
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
unsafe fn update<M: Memory, O: Memory<Number = M::Number>, U: Update<M::Number>>(
    x: Factor<M>,
    y: Factor<M>,
    out: Output<O>,
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
        if packs && (column + 1) * O::PACKED as u64 <= out.n {
            down_packs::<M, O, U>(x, y, out, (first, step), column * O::PACKED as u64);
            return;
        }
        let width = if packs { O::PACKED as u64 } else { 1 };
        let mut j = column * width;
        while j < out.n && j < (column + 1) * width {
            down_elements::<M, O, U>(x, y, out, (first, step), j);
            j += 1;
        }
    }
}

/// Updates rows first, first + step, ... of the pack of columns that begins at column j.
///
/// # Safety
/// As [`update`], and the pack must lie in the matrix.
#[inline(always)]
unsafe fn down_packs<M: Memory, O: Memory<Number = M::Number>, U: Update<M::Number>>(
    x: Factor<M>,
    y: Factor<M>,
    out: Output<O>,
    (first, step): (u64, u64),
    j: u64,
) {
    let mut right = O::copies(M::Number::ZERO);
    unroll!(e in 0..O::PACKED as usize => {
        right.as_mut()[e] = y.get(j + e as u64);
    });
    let mut i = first;
    while i + (ROWS as u64 - 1) * step < out.m {
        packs::<M, O, U, ROWS>(x, right, out, (i, step), j);
        i += ROWS as u64 * step;
    }
    while i < out.m {
        packs::<M, O, U, 1>(x, right, out, (i, step), j);
        i += step;
    }
}

/// Updates `N` rows of a pack of columns: all loads come before the stores.
///
/// # Safety
/// As [`down_packs`], and the rows must lie in the matrix.
#[inline(always)]
unsafe fn packs<M: Memory, O: Memory<Number = M::Number>, U: Update<M::Number>, const N: usize>(
    x: Factor<M>,
    right: O::Unpacked,
    out: Output<O>,
    (i, step): (u64, u64),
    j: u64,
) {
    let at = |u: usize| i + u as u64 * step;
    let mut left = [M::Number::ZERO; N];
    let mut a = [O::EMPTY; N];
    unroll!(u in 0..N => {
        left[u % N] = x.get(at(u));
        if U::READS {
            a[u % N] = O::get_packed(out.at(at(u), j));
        }
    });
    unroll!(u in 0..N => {
        let mut a = O::unpack(out.format, a[u % N]);
        unroll!(e in 0..O::PACKED as usize => {
            a.as_mut()[e] = U::apply(left[u % N], right.as_ref()[e], a.as_ref()[e]);
        });
        O::put_packed(out.at(at(u), j), O::pack::<false>(out.format, a));
    });
}

/// Updates rows first, first + step, ... of column j, for any strides.
///
/// # Safety
/// As [`update`], and the column must lie in the matrix.
#[inline(always)]
unsafe fn down_elements<M: Memory, O: Memory<Number = M::Number>, U: Update<M::Number>>(
    x: Factor<M>,
    y: Factor<M>,
    out: Output<O>,
    (first, step): (u64, u64),
    j: u64,
) {
    let right = y.get(j);
    let mut i = first;
    while i + (ROWS as u64 - 1) * step < out.m {
        elements::<M, O, U, ROWS>(x, right, out, (i, step), j);
        i += ROWS as u64 * step;
    }
    while i < out.m {
        elements::<M, O, U, 1>(x, right, out, (i, step), j);
        i += step;
    }
}

/// As [`packs`], for one column.
///
/// # Safety
/// As [`down_elements`], and the rows must lie in the matrix.
#[inline(always)]
unsafe fn elements<
    M: Memory,
    O: Memory<Number = M::Number>,
    U: Update<M::Number>,
    const N: usize,
>(
    x: Factor<M>,
    right: M::Number,
    out: Output<O>,
    (i, step): (u64, u64),
    j: u64,
) {
    let at = |u: usize| i + u as u64 * step;
    let mut left = [M::Number::ZERO; N];
    let mut a = [M::Number::ZERO; N];
    for u in 0..N {
        left[u] = x.get(at(u));
        if U::READS {
            a[u] = O::get(out.format, out.at(at(u), j));
        }
    }
    for u in 0..N {
        let value = U::apply(left[u], right, a[u]);
        O::put::<false>(out.format, out.at(at(u), j), value);
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
pub unsafe fn outer<M: Memory>(
    format: M::Format,
    m: u64,
    n: u64,
    x: *const M,
    incx: i64,
    y: *const M,
    incy: i64,
    out: *mut M,
    rs: i64,
    cs: i64,
    lanes: u32,
    packs: u32,
) {
    let factor = |vector| Factor::new(format, vector, M::Number::ONE);
    let out = Output::new(format, [m, n], out, [rs, cs]);
    update::<M, M, Set>(factor((x, incx)), factor((y, incy)), out, lanes, packs != 0)
}

/// As [`outer`], with products that are not rounded to the type of the vectors.
///
/// # Safety
/// As [`outer`].
#[inline(always)]
pub unsafe fn outer_unrounded<M: Memory>(
    format: M::Format,
    m: u64,
    n: u64,
    x: *const M,
    incx: i64,
    y: *const M,
    incy: i64,
    out: *mut M::Number,
    rs: i64,
    cs: i64,
    lanes: u32,
    packs: u32,
) {
    let factor = |vector| Factor::new(format, vector, M::Number::ONE);
    let out = Output::new((), [m, n], out, [rs, cs]);
    update::<M, M::Number, Set>(factor((x, incx)), factor((y, incy)), out, lanes, packs != 0)
}

/// a\[i, j\] = fma(alpha_x * x\[i\], alpha_y * y\[j\], a\[i, j\]), where `alpha_x` or `alpha_y` is 1.
///
/// The grid is as for [`outer`].
///
/// # Safety
/// As [`outer`].
#[inline(always)]
pub unsafe fn ger<M: Memory>(
    format: M::Format,
    m: u64,
    n: u64,
    alpha_x: M::Number,
    x: *const M,
    incx: i64,
    alpha_y: M::Number,
    y: *const M,
    incy: i64,
    a: *mut M,
    rs: i64,
    cs: i64,
    lanes: u32,
    packs: u32,
) {
    let x = Factor::new(format, (x, incx), alpha_x);
    let y = Factor::new(format, (y, incy), alpha_y);
    let out = Output::new(format, [m, n], a, [rs, cs]);
    update::<M, M, Add>(x, y, out, lanes, packs != 0)
}
