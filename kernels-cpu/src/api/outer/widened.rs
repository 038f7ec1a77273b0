//! Outer products of 16-bit floats, computed in `f32` and rounded once, or not at all.

use core::mem::MaybeUninit;

use super::check::{Arguments, Factor, OuterOutput, check};
use crate::detect;
use crate::dispatch::{Compute, Kernels, is_element};
use crate::element::{Element, Storage};
use crate::error::Result;
use crate::exec::Exec;

/// Elements of a part of a row.
const PART: usize = 512;
/// Bytes of the shortest part that is written with non-temporal stores: a kernel waits for them at the end of each.
const STREAMED: usize = 2 * PART;

/// [`run_outer`](super::run_outer) of such elements. An output of `f32` is not rounded.
///
/// # Errors
/// As [`raw::outer`](super::raw::outer).
///
/// # Safety
/// As there; `O` must be `T` or its type of arithmetic.
#[inline(never)]
pub unsafe fn outer<T: Storage, O: Storage<Compute = Compute<T>>>(
    exec: &Exec<'_>,
    args: Arguments<T, O>,
) -> Result<()> {
    let level = exec.level()?;
    let (widen, scale) = (
        Kernels::<T>::new(level).widen(),
        Kernels::<O>::new(level).scale(),
    );
    let (u, v, output) = check(&args)?;
    let bytes = output.m.saturating_mul(output.n);
    let exceeds_llc = detect::exceeds_llc(bytes.saturating_mul(size_of::<O>()));
    for_parts(exec, &output, &|(i, rows), (j, cols)| {
        let mut copy = [T::default(); PART];
        let mut wide = [O::default(); PART];
        // SAFETY: the part lies in the output, and no other task writes it. Elements of the type of arithmetic are
        // what `widen` writes; others are of the type of the vectors.
        unsafe {
            let mut part: *const O = contiguous(&v, j, cols, &mut copy).cast();
            if const { is_element::<O>() } {
                widen(cols, part.cast(), wide.as_mut_ptr().cast(), 0);
                part = wide.as_ptr();
            }
            let stream = exceeds_llc && cols * size_of::<O>() >= STREAMED;
            for i in i..i + rows {
                let factor = u.at(i).read().into_compute();
                if output.has_rows() {
                    scale(cols, factor, part, output.at(i, j), stream);
                    continue;
                }
                for k in 0..cols {
                    let product = factor * part.add(k).read().into_compute();
                    output.at(i, j + k).write(O::from_compute(product));
                }
            }
        }
    });
    Ok(())
}

/// [`run_ger`](super::run_ger) of such elements.
///
/// # Errors
/// As [`raw::ger`](super::raw::ger).
///
/// # Safety
/// As there.
#[inline(never)]
pub unsafe fn ger<T: Storage>(exec: &Exec<'_>, args: Arguments<T>) -> Result<()> {
    let kernels = Kernels::<T>::new(exec.level()?);
    let (u, v, output) = check(&args)?;
    for_parts(exec, &output, &|(i, rows), (j, cols)| {
        let mut copy = [T::default(); PART];
        let mut scaled = [Compute::<T>::ZERO; PART];
        // SAFETY: the part lies in the output, and no other task writes it.
        unsafe {
            let part = contiguous(&v, j, cols, &mut copy);
            (kernels.widen())(cols, part, scaled.as_mut_ptr(), 0);
            for one in scaled.iter_mut().take(cols) {
                *one = v.alpha * *one;
            }
            for i in i..i + rows {
                let factor = u.alpha * u.at(i).read().into_compute();
                if output.has_rows() {
                    update(kernels, cols, factor, &scaled, output.at(i, j));
                    continue;
                }
                for (k, &one) in scaled.iter().enumerate().take(cols) {
                    let a = output.at(i, j + k);
                    a.write(T::from_compute(factor.fma(one, a.read().into_compute())));
                }
            }
        }
    });
    Ok(())
}

/// a\[k\] = fma(factor, scaled\[k\], a\[k\]), for k in 0 .. n <= [`PART`].
///
/// # Safety
/// The machine must have the kernels' level; `a` must be valid for `n` elements.
unsafe fn update<T: Storage>(
    kernels: Kernels<T>,
    n: usize,
    factor: Compute<T>,
    scaled: &[Compute<T>; PART],
    a: *mut T,
) {
    let mut sums = MaybeUninit::<[Compute<T>; PART]>::uninit();
    let sums = sums.as_mut_ptr().cast();
    let axpy = Kernels::<Compute<T>>::new(kernels.level()).axpy();
    // SAFETY: as the caller's.
    unsafe {
        (kernels.widen())(n, a, sums, 0);
        axpy(n, factor, scaled.as_ptr(), sums, false);
        (kernels.round())(n, sums, a);
    }
}

/// Calls `body` with the rows and the columns of each part of an output, as (first, count). Threads share the parts.
fn for_parts<O>(
    exec: &Exec<'_>,
    output: &OuterOutput<O>,
    body: &(dyn Fn((usize, usize), (usize, usize)) + Sync),
) {
    if output.m == 0 || output.n == 0 {
        return;
    }
    output.split(exec, |i, rows, j, cols| {
        for from in (0..cols).step_by(PART) {
            body((i, rows), (j + from, PART.min(cols - from)));
        }
    });
}

/// Returns `n` elements of a vector from element j on: in place if they are contiguous, else copied.
///
/// # Safety
/// The vector must have these elements, at most [`PART`].
unsafe fn contiguous<T: Storage>(
    v: &Factor<T>,
    j: usize,
    n: usize,
    copy: &mut [T; PART],
) -> *const T {
    if v.inc == 1 {
        return v.at(j);
    }
    for (k, slot) in copy.iter_mut().enumerate().take(n) {
        // SAFETY: as the caller's.
        *slot = unsafe { v.at(j + k).read() };
    }
    copy.as_ptr()
}
