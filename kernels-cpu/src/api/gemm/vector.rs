//! Products with one column: each element is a dot product, in the order of dot, whatever k is.

use crate::api::reduce::{COLUMNS, Fold, Strided, finish_sum, fold};
use crate::element::Element;
use crate::exec::{Exec, share};
use crate::ops::gemm::Gemm;
use crate::table::Kernels;

/// Runs a batch of products of one shape with n = 1.
///
/// # Safety
/// The matrices must be valid, and C apart from all else.
pub unsafe fn batch<T: Element>(
    exec: &Exec<'_>,
    k: &Kernels<T>,
    first: &Gemm<T>,
    batch: usize,
    strides: [isize; 3],
) {
    let bytes = first
        .m
        .saturating_mul(first.k)
        .saturating_mul(size_of::<T>());
    if batch > 1 {
        let tasks = exec.tasks(bytes.saturating_mul(batch), batch);
        let each = share(batch, tasks);
        return exec.run(tasks, &|task| {
            for index in task * each..batch.min((task + 1) * each) {
                // SAFETY: as the caller's; a product is run by one task.
                unsafe { rows(&Exec::new(), k, &first.at(index, strides)) };
            }
        });
    }
    // With fewer rows than threads, the dot products themselves are cut.
    let tasks = if first.m < exec.threads() {
        1
    } else {
        exec.tasks(bytes, first.m)
    };
    if tasks == 1 {
        // SAFETY: as the caller's.
        return unsafe { rows(exec, k, first) };
    }
    let each = share(first.m, tasks);
    exec.run(tasks, &|task| {
        let from = (task * each).min(first.m);
        let count = each.min(first.m - from);
        // SAFETY: as the caller's; a row is run by one task.
        unsafe { rows(&Exec::new(), k, &first.block((from, count), (0, 1))) };
    });
}

/// All rows of a product with n = 1.
unsafe fn rows<T: Element>(exec: &Exec<'_>, k: &Kernels<T>, p: &Gemm<T>) {
    let mut dots = [T::ZERO; COLUMNS];
    let columns = p.a_rs == 1 && p.a_cs != 1 && p.k > 0;
    for i in (0..p.m).step_by(COLUMNS) {
        let count = COLUMNS.min(p.m - i);
        let part = p.block((i, count), (0, 1));
        if columns {
            let (a, b) = (part.a, part.b);
            let no_params = core::ptr::null();
            // SAFETY: the caller vouches for A and B; count <= COLUMNS.
            unsafe {
                (k.dot_columns)(
                    p.k,
                    count,
                    a,
                    p.a_cs,
                    b,
                    p.b_rs,
                    no_params,
                    dots.as_mut_ptr(),
                )
            };
        } else {
            let b = Strided::new(p.b, p.b_rs);
            for (r, dot) in dots.iter_mut().enumerate().take(count) {
                let row = Strided::new(part.a.wrapping_offset(r as isize * p.a_rs), p.a_cs);
                // SAFETY: the caller vouches for A and B.
                *dot = unsafe { fold(exec, Fold::dot(k), p.k, row, b, T::ZERO) };
            }
        }
        // SAFETY: as the caller's.
        unsafe { finish(k, &part, &mut dots) };
    }
}

/// From the dot products of at most [`COLUMNS`] rows to C.
unsafe fn finish<T: Element>(k: &Kernels<T>, p: &Gemm<T>, dots: &mut [T; COLUMNS]) {
    let e = &p.epilogue;
    let c = |i: usize| p.c.wrapping_offset(i as isize * p.c_rs);
    for (i, v) in dots.iter_mut().enumerate().take(p.m) {
        let dot = finish_sum(*v);
        // SAFETY: the caller vouches for C, read only where beta is not 0, and the biases.
        unsafe {
            *v = match (p.beta == T::ZERO, p.k == 0) {
                (true, _) => p.alpha * dot,
                (false, true) => p.beta * c(i).read(),
                (false, false) => p.alpha.fma(dot, p.beta * c(i).read()),
            };
            if !e.row_bias.is_null() {
                *v = *v + *e.row_bias.wrapping_offset(i as isize * e.row_inc);
            }
            if !e.column_bias.is_null() {
                *v = *v + *e.column_bias;
            }
        }
    }
    if let Some((lo, hi)) = e.clamp {
        let p_dots = dots.as_mut_ptr();
        // SAFETY: at most COLUMNS elements.
        unsafe {
            if lo.is_nan() || hi.is_nan() {
                (k.fill)(p.m, T::CANONICAL_NAN, p_dots, false);
            } else {
                (k.clamp)(p.m, p_dots, lo, hi, p_dots, false);
            }
        }
    }
    for (i, &v) in dots.iter().enumerate().take(p.m) {
        // SAFETY: the caller vouches for C.
        unsafe { c(i).write(v) };
    }
}
