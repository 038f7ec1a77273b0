//! Products with one column (gemv): each element is a dot product in the canonical order of `dot`, whatever k is.

use core::mem::MaybeUninit;

use super::check::Batch;
use crate::api::reduce::{COLUMNS, FoldKernels, StridedVector, fold};
use crate::detect::is_from_memory;
use crate::dispatch::{FoldOfMany, Kernels};
use crate::element::Element;
use crate::exec::{Exec, share};
use crate::ops::gemm::{Gemm, Rule};
use crate::ops::reduce::{Dot, Sum, WorkArea, work_bytes};
use crate::recipe::finish_sum;

/// Runs a batch of products of one shape with n = 1.
///
/// # Safety
/// The matrices must be valid, and C must not overlap the other arguments.
pub unsafe fn batch<T: Element>(exec: &Exec<'_>, k: Kernels<T>, batch: &Batch<T>) {
    let (first, count) = (&batch.first, batch.count);
    if count > 1 && is_small(first) {
        // SAFETY: as the caller's.
        return unsafe { small(exec, k, batch) };
    }
    let bytes = first
        .m
        .saturating_mul(first.k)
        .saturating_mul(size_of::<T>());
    let work = if is_column_major(first) {
        work_bytes::<T>(first.k, first.m, 1)
    } else {
        0
    };
    exec.with_optional_scratch(exec.threads(), work, |scratch| {
        let rows = |exec: &Exec<'_>, task: usize, p: &Gemm<T>| {
            // SAFETY: as the caller's; each row belongs to one task.
            scratch.with_optional_block(task, |block, bytes| unsafe {
                let from_memory = is_from_memory::<T>(p.m.saturating_mul(p.k));
                rows(
                    exec,
                    k,
                    p,
                    WorkArea {
                        p: block,
                        bytes,
                        from_memory,
                    },
                )
            });
        };
        if count > 1 {
            let tasks = exec.tasks(bytes.saturating_mul(count), count);
            let each = share(count, tasks);
            return exec.run(tasks, &|task| {
                for index in task * each..count.min((task + 1) * each) {
                    rows(&Exec::new(), task, &first.at(index));
                }
            });
        }
        // With fewer rows than threads, each dot product is split instead.
        let tasks = if first.m < exec.threads() {
            1
        } else {
            exec.tasks(bytes, first.m)
        };
        if tasks == 1 {
            return rows(exec, 0, first);
        }
        let each = share(first.m, tasks);
        exec.run(tasks, &|task| {
            let from = (task * each).min(first.m);
            let count = each.min(first.m - from);
            rows(&Exec::new(), task, &first.block((from, count), (0, 1)));
        });
    });
}

/// The most elements of A in a block of small products.
const BLOCK: usize = 1024;

/// Returns whether products are so small that several are computed together, and each lane of the canonical order of `dot`
/// has one product of elements at most.
fn is_small<T: Element>(p: &Gemm<T>) -> bool {
    let elements = p.m.saturating_mul(p.k);
    p.k > 0 && p.k <= T::LANES && elements <= BLOCK / 4 && p.m <= COLUMNS / 4
}

/// [`batch`] of small products: the products of elements of several of them are the rows of a matrix, which are summed.
///
/// # Safety
/// As [`batch`]; the products must be [small](is_small).
#[inline(never)]
unsafe fn small<T: Element>(exec: &Exec<'_>, k: Kernels<T>, batch: &Batch<T>) {
    let (first, count) = (&batch.first, batch.count);
    // Both are at least 1, which the compiler does not know, and would keep a panic for division by zero.
    let (m, elements) = (first.m.max(1), (first.m * first.k).max(1));
    let at_once = (BLOCK / elements).min(COLUMNS / m);
    let tasks = exec.tasks(count.saturating_mul(elements * size_of::<T>()), count);
    let each = share(count, tasks);
    exec.run(tasks, &|task| {
        let end = count.min((task + 1) * each);
        let mut index = task * each;
        while index < end {
            let part = Batch {
                first: first.at(index),
                count: at_once.min(end - index),
            };
            // SAFETY: as the caller's; tasks write different products.
            unsafe { small_block(k, &part) };
            index += part.count;
        }
    });
}

/// [`small`], of products that fit a block.
///
/// # Safety
/// As [`small`].
#[inline(never)]
unsafe fn small_block<T: Element>(k: Kernels<T>, batch: &Batch<T>) {
    let (p, count) = (&batch.first, batch.count);
    let mut terms = [const { MaybeUninit::<T>::uninit() }; BLOCK];
    let mut dots = [const { MaybeUninit::<T>::uninit() }; COLUMNS];
    let terms: *mut T = terms.as_mut_ptr().cast();
    let is_plain = p.alpha == T::ONE && p.beta == T::ZERO && !p.epilogue.is_some();
    let in_place = is_plain && p.c.rs == 1 && p.c.bs == p.m as isize;
    let dots = if in_place {
        p.c.ptr
    } else {
        dots.as_mut_ptr().cast()
    };
    let (rows, none) = (count * p.m, core::ptr::null());
    // SAFETY: as the caller's; the blocks have room for the elements and the rows of these products.
    unsafe {
        multiply(batch, terms);
        <Sum as FoldOfMany<T>>::rows(k.level())(
            rows,
            p.k,
            terms,
            p.k as isize,
            terms,
            1,
            none,
            dots,
            false,
        );
        for index in 0..if in_place { 0 } else { count } {
            finish(k, &p.at(index), dots.add(index * p.m));
        }
    }
}

/// Writes the products of the elements of each row of A and the elements of B, row by row.
///
/// # Safety
/// A and B must be valid, and `terms` for all elements of A.
unsafe fn multiply<T: Element>(batch: &Batch<T>, mut terms: *mut T) {
    let (p, count) = (&batch.first, batch.count);
    let (m, k, is_packed) = (p.m, p.k, p.a.cs == 1 && p.b.rs == 1);
    // SAFETY: as the caller's.
    unsafe {
        if is_packed && m == 1 && (p.a.bs, p.b.bs) == (k as isize, k as isize) {
            for i in 0..count * k {
                terms.add(i).write(*p.a.ptr.add(i) * *p.b.ptr.add(i));
            }
            return;
        }
        for index in 0..count {
            let (a, b) = (p.a.item(index), p.b.item(index));
            for i in 0..m {
                let row = a.offset(i, 0);
                for j in 0..k {
                    terms.write(*row.at(0, j) * *b.at(j, 0));
                    terms = terms.add(1);
                }
            }
        }
    }
}

/// Returns whether A is column-major, so that all dot products advance together, column by column.
fn is_column_major<T>(p: &Gemm<T>) -> bool {
    p.a.rs == 1 && p.a.cs != 1 && p.k > 0
}

/// Computes all rows of a product with n = 1.
///
/// # Safety
/// The machine must have the kernels' level; the matrices must be valid, and C must not overlap A or B.
// Not inlined: otherwise each crate that instantiates a caller gets its own copy.
#[inline(never)]
pub(super) unsafe fn rows<T: Element>(exec: &Exec<'_>, k: Kernels<T>, p: &Gemm<T>, work: WorkArea) {
    let is_unscaled = p.alpha == T::ONE && !p.epilogue.is_some();
    if p.beta == T::ZERO && p.c.rs == 1 {
        // SAFETY: as the caller's. C is not read, so the dot products can be stored there.
        return unsafe {
            dots(exec, k, p, p.c.ptr, work);
            for i in (0..if is_unscaled { 0 } else { p.m }).step_by(COLUMNS) {
                let part = p.block((i, COLUMNS.min(p.m - i)), (0, 1));
                finish(k, &part, part.c.ptr);
            }
        };
    }
    let mut block = [const { MaybeUninit::<T>::uninit() }; COLUMNS];
    for i in (0..p.m).step_by(COLUMNS) {
        let part = p.block((i, COLUMNS.min(p.m - i)), (0, 1));
        // SAFETY: as the caller's; the block has room for the part's rows.
        unsafe {
            dots(exec, k, &part, block.as_mut_ptr().cast(), work);
            finish(k, &part, block.as_mut_ptr().cast());
        }
    }
}

/// Computes the dot products of all rows of A with B.
///
/// # Safety
/// A and B must be valid, and `out` for m elements.
// Not inlined: otherwise each crate that instantiates a caller gets its own copy.
#[inline(never)]
unsafe fn dots<T: Element>(
    exec: &Exec<'_>,
    k: Kernels<T>,
    p: &Gemm<T>,
    out: *mut T,
    work: WorkArea,
) {
    let none = core::ptr::null();
    let b = StridedVector::new(p.b.ptr, p.b.rs);
    // SAFETY: the caller vouches for the matrices and `out`.
    unsafe {
        if is_column_major(p) {
            let columns = <Dot as FoldOfMany<T>>::columns(k.level());
            columns(p.k, p.m, p.a.ptr, p.a.cs, p.b.ptr, p.b.rs, none, out, work);
        } else if p.a.cs == 1 && p.k > 0 && p.m >= exec.threads() {
            <Dot as FoldOfMany<T>>::rows(k.level())(
                p.m,
                p.k,
                p.a.ptr,
                p.a.rs,
                p.b.ptr,
                p.b.rs,
                none,
                out,
                work.from_memory,
            );
        } else {
            for i in 0..p.m {
                let row = StridedVector::new(p.a.at(i, 0), p.a.cs);
                let dot = fold(
                    exec,
                    FoldKernels::of::<Dot>(k.level()),
                    p.k,
                    row,
                    b,
                    T::ZERO,
                );
                out.add(i).write(finish_sum(dot.0));
            }
        }
    }
}

/// Applies alpha, beta and the epilogue to the dot products of at most [`COLUMNS`] rows, and writes C.
///
/// # Safety
/// C and the biases must be valid, and `dots` for m elements. If beta is 0, so that C is not read, `dots` may be C.
// Not inlined: otherwise each crate that instantiates a caller gets its own copy.
#[inline(never)]
unsafe fn finish<T: Element>(k: Kernels<T>, p: &Gemm<T>, dots: *mut T) {
    let e = &p.epilogue;
    let c = |i: usize| p.c.at(i, 0);
    for i in 0..p.m {
        // SAFETY: the caller vouches for C, which is read only if beta is not 0, and for the biases.
        unsafe {
            let dot = *dots.add(i);
            let mut v = match (p.beta == T::ZERO, p.k == 0) {
                (true, _) => p.alpha * dot,
                (false, true) => p.beta * c(i).read(),
                (false, false) => p.alpha.fma(dot, p.beta * c(i).read()),
            };
            if !e.row_bias.is_null() {
                v = v + *e.row_bias.wrapping_offset(i as isize * e.row_inc);
            }
            if !e.column_bias.is_null() {
                v = v + *e.column_bias;
            }
            dots.add(i).write(v);
        }
    }
    // SAFETY: at most COLUMNS elements; the caller vouches for C.
    unsafe {
        let (lo, hi) = e.clamp.bounds();
        match e.clamp.rule() {
            Rule::Keep => {}
            Rule::Limit => (k.clamp())(p.m, dots, lo, hi, dots, false),
            Rule::Nan => (k.fill())(p.m, T::CANONICAL_NAN, dots, false),
        }
        for i in 0..p.m {
            c(i).write(*dots.add(i));
        }
    }
}
