//! The routines on vectors. They report no errors: a vector with n < 1 is empty.
//!
//! Vectors with other increments than 1 are copied in blocks to the kernels, which take contiguous arrays.

use core::mem::MaybeUninit;

use diptych::{Element, Exec, Result, raw};

use crate::arguments::{Matrix, first, work};
use crate::copies::{copy, needs_copies, on_some_level};
use crate::threads::with_exec;

/// Elements that are copied at once.
const BLOCK: i64 = 256;

/// Returns the elements of a block that begins at `i`.
fn block(n: i64, i: i64) -> i64 {
    BLOCK.min(n - i)
}

fn element<T>(x: *const T, inc: i64, i: i64) -> *const T {
    x.wrapping_offset(i.wrapping_mul(inc) as isize)
}

fn element_mut<T>(x: *mut T, inc: i64, i: i64) -> *mut T {
    x.wrapping_offset(i.wrapping_mul(inc) as isize)
}

/// A block of a vector.
struct Block<T>([MaybeUninit<T>; BLOCK as usize]);

impl<T: Element> Block<T> {
    fn new() -> Self {
        Self([const { MaybeUninit::uninit() }; BLOCK as usize])
    }

    /// Copies `count` elements, at most [`BLOCK`].
    ///
    /// # Safety
    /// `x` must be valid for reading; it need not be aligned.
    unsafe fn read(&mut self, count: i64, x: *const T, inc: i64) -> *mut T {
        for (i, slot) in (0..count).zip(&mut self.0) {
            // SAFETY: as the caller's.
            slot.write(unsafe { element(x, inc, i).read_unaligned() });
        }
        self.0.as_mut_ptr().cast()
    }
}

/// Writes `count` elements.
///
/// # Safety
/// `from` must be valid for reading, `x` for writing; `x` need not be aligned.
unsafe fn store<T: Element>(count: i64, from: *const T, x: *mut T, inc: i64) {
    for i in 0..count {
        // SAFETY: as the caller's.
        unsafe { element_mut(x, inc, i).write_unaligned(*element(from, 1, i)) };
    }
}

/// Whether an element of `y` may lie where a later step reads one of `x`. `x` and `y` are the first elements.
fn may_overlap<T>(n: i64, (x, incx): (*const T, i64), (y, incy): (*mut T, i64)) -> bool {
    let span = |p: usize, inc: i64| {
        let last =
            p.wrapping_add_signed((inc.wrapping_mul(n - 1) as isize) * size_of::<T>() as isize);
        (p.min(last), p.max(last) + size_of::<T>())
    };
    let (xs, ys) = (span(x.addr(), incx), span(y.addr(), incy));
    let apart = xs.1 <= ys.0 || ys.1 <= xs.0;
    // In the same steps: each step reads what it writes; or the vectors alternate.
    let between = x.addr().abs_diff(y.addr());
    let step = size_of::<T>() * incx.unsigned_abs().max(1) as usize;
    let alternate =
        between == 0 || (between.is_multiple_of(size_of::<T>()) && !between.is_multiple_of(step));
    let each_step_alone = incx == incy && incx != 0 && alternate;
    !(apart || each_step_alone)
}

/// Copies `x` if a step that writes `y` may change what a later one reads. If there is no memory, the steps are made one
/// after another.
///
/// # Safety
/// `x` must be valid for reading.
unsafe fn copy_if_overlapping<T: Element>(
    n: i64,
    x: (*const T, i64),
    y: (*mut T, i64),
) -> Option<Vec<T>> {
    if !may_overlap(n, x, y) {
        return None;
    }
    // SAFETY: as the caller's.
    unsafe { copy(n, 1, Matrix::new(x.0, x.1, 1)) }.ok()
}

/// Makes a call that reduces vectors: on the vectors, or on copies. A vector that is not there counts as empty.
#[inline(always)]
unsafe fn reduce<T: Element, const N: usize>(
    n: i64,
    vectors: [(*const T, i64); N],
    call: impl Fn(&Exec<'_>, [(*const T, i64); N], *mut T) -> Result<()>,
) -> T {
    let mut out = T::ZERO;
    let p = &raw mut out;
    let done = on_some_level(|| with_exec(work(&[n]), |exec| call(exec, vectors, p)));
    if done.is_err_and(needs_copies) {
        // SAFETY: as the caller's.
        let copies = vectors.map(|(x, inc)| unsafe { copy(n, 1, Matrix::new(x, inc, 1)) });
        if copies.iter().all(|copy| copy.is_ok()) {
            let on_copies = copies
                .each_ref()
                .map(|copy| (copy.as_ref().map_or(vectors[0].0, |copy| copy.as_ptr()), 1));
            let _ = call(&Exec::new(), on_copies, p);
        }
    }
    out
}

/// # Safety
/// The vectors must be valid for reading.
#[inline(always)]
pub unsafe fn dot<T: Element>(n: i64, x: *const T, incx: i64, y: *const T, incy: i64) -> T {
    if n <= 0 {
        return T::ZERO;
    }
    let vectors = [(first(n, x, incx), incx), (first(n, y, incy), incy)];
    // SAFETY: as the caller's.
    unsafe {
        reduce(n, vectors, |exec, [x, y], out| {
            raw::dot(exec, n, x.0, x.1, y.0, y.1, out)
        })
    }
}

/// # Safety
/// The vector must be valid for reading.
pub unsafe fn nrm2<T: Element>(n: i64, x: *const T, incx: i64) -> T {
    if n <= 0 {
        return T::ZERO;
    }
    // SAFETY: as the caller's.
    unsafe {
        reduce(n, [(first(n, x, incx), incx)], |exec, [x], out| {
            raw::nrm2(exec, n, x.0, x.1, out)
        })
    }
}

/// # Safety
/// The vector must be valid for reading.
pub unsafe fn asum<T: Element>(n: i64, x: *const T, incx: i64) -> T {
    if n <= 0 || incx <= 0 {
        return T::ZERO;
    }
    // SAFETY: as the caller's.
    unsafe {
        reduce(n, [(x, incx)], |exec, [x], out| {
            raw::asum(exec, n, x.0, x.1, out)
        })
    }
}

/// Returns the index of the first element of the largest absolute value, from 1; 0 if there is none. A NaN is larger
/// than nothing, and nothing is larger than a NaN that comes first.
///
/// # Safety
/// The vector must be valid for reading.
pub unsafe fn iamax<T: Element>(n: i64, x: *const T, incx: i64) -> i64 {
    if n <= 0 || incx <= 0 {
        return 0;
    }
    // SAFETY: as the caller's.
    let abs = |i: i64| unsafe { magnitude(element(x, incx, i).read_unaligned()) };
    let (mut largest, mut at) = (abs(0), 0);
    // The maximum of a block is a loop without branches; few blocks have a larger one than those before.
    const WIDTH: i64 = 32;
    let mut i = 1;
    while i < n {
        let end = n.min(i + WIDTH);
        let mut of_block = largest;
        for j in i..end {
            let value = abs(j);
            of_block = if value > of_block { value } else { of_block };
        }
        if of_block > largest {
            largest = of_block;
            at = (i..end).find(|&j| abs(j) == largest).unwrap_or(at);
        }
        i = end;
    }
    at + 1
}

#[inline(always)]
fn magnitude<T: Element>(x: T) -> T {
    if x < T::ZERO { T::ZERO - x } else { x }
}

/// y += alpha x, each element rounded once.
///
/// # Safety
/// `x` must be valid for reading, `y` for reading and writing.
pub unsafe fn axpy<T: Element>(n: i64, alpha: T, x: *const T, incx: i64, y: *mut T, incy: i64) {
    if n <= 0 || alpha == T::ZERO {
        return;
    }
    let add = |n, x: *const T, y: *mut T| {
        on_some_level(|| {
            with_exec(work(&[n]), |exec| {
                // SAFETY: as the caller's, or a block's.
                unsafe { raw::axpy(exec, n, alpha, x, y) }
            })
        })
    };
    if incx == 1 && incy == 1 && add(n, x, y).is_ok() {
        return;
    }
    let (x, y) = (first(n, x, incx), first(n, y, incy).cast_mut());
    // SAFETY: as the caller's.
    let apart = unsafe { copy_if_overlapping(n, (x, incx), (y, incy)) };
    let (x, incx) = apart.as_ref().map_or((x, incx), |copy| (copy.as_ptr(), 1));
    // All steps are to one element of y: they are made one after another.
    let most = if incy == 0 { 1 } else { BLOCK };
    let (mut from, mut to) = (Block::new(), Block::new());
    let mut i = 0;
    while i < n {
        let count = most.min(block(n, i));
        let y = element_mut(y, incy, i);
        // SAFETY: as the caller's; the blocks have room.
        unsafe {
            let from = from.read(count, element(x, incx, i), incx);
            let to = to.read(count, y, incy);
            // Valid arguments: nothing refuses them.
            let _ = add(count, from, to);
            store(count, to, y, incy);
        }
        i += count;
    }
}

/// x *= alpha.
///
/// # Safety
/// `x` must be valid for reading and writing.
pub unsafe fn scal<T: Element>(n: i64, alpha: T, x: *mut T, incx: i64) {
    if n <= 0 || incx <= 0 || alpha == T::ONE {
        return;
    }
    let scale = |n, x: *mut T| {
        on_some_level(|| {
            with_exec(work(&[n]), |exec| {
                // SAFETY: as the caller's, or a block's.
                unsafe { raw::scale(exec, n, alpha, x, x) }
            })
        })
    };
    if incx == 1 && scale(n, x).is_ok() {
        return;
    }
    let mut copy = Block::new();
    for i in (0..n).step_by(BLOCK as usize) {
        let (count, x) = (block(n, i), element_mut(x, incx, i));
        // SAFETY: as the caller's; the block has room.
        unsafe {
            let copy = copy.read(count, x, incx);
            let _ = scale(count, copy);
            store(count, copy, x, incx);
        }
    }
}

/// # Safety
/// `x` must be valid for reading, `y` for writing.
pub unsafe fn copy_vector<T: Element>(n: i64, x: *const T, incx: i64, y: *mut T, incy: i64) {
    if n <= 0 {
        return;
    }
    if incx == 1 && incy == 1 {
        // SAFETY: as the caller's. Bytes need no alignment, and may overlap.
        unsafe { core::ptr::copy(x.cast::<u8>(), y.cast(), n as usize * size_of::<T>()) };
        return;
    }
    let (x, y) = (first(n, x, incx), first(n, y, incy).cast_mut());
    // SAFETY: as the caller's.
    let apart = unsafe { copy_if_overlapping(n, (x, incx), (y, incy)) };
    let (x, incx) = apart.as_ref().map_or((x, incx), |copy| (copy.as_ptr(), 1));
    for i in 0..n {
        // SAFETY: as the caller's, or in the copy.
        unsafe {
            let value = element(x, incx, i).read_unaligned();
            element_mut(y, incy, i).write_unaligned(value);
        }
    }
}

/// # Safety
/// The vectors must be valid for reading and writing.
pub unsafe fn swap<T: Element>(n: i64, x: *mut T, incx: i64, y: *mut T, incy: i64) {
    let (x, y) = (first(n, x, incx).cast_mut(), first(n, y, incy).cast_mut());
    for i in 0..n {
        let (x, y) = (element_mut(x, incx, i), element_mut(y, incy, i));
        // SAFETY: as the caller's.
        unsafe {
            let value = x.read_unaligned();
            x.write_unaligned(y.read_unaligned());
            y.write_unaligned(value);
        }
    }
}
