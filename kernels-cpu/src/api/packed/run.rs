//! Layouts and packing, for each type.

use super::layout::{ALIGN, Description, HEADER, Header, Layout};
use crate::api::gemm::check::Batch;
use crate::api::gemm::{packed, run as gemm};
use crate::api::mixed::{Operands, ProductTypes, run as mixed_run};
use crate::dispatch::Kernels;
use crate::element::Element;
use crate::error::Result;
use crate::exec::{Exec, Shared, share};
use crate::matrix::Matrix;
use crate::ops::gemm::{Epilogue, Gemm, packed as ops};
use crate::ops::mixed::{MixedGemm, packed as mixed_ops};

/// Returns the layout of a B of `f32` or `f64` with `n` columns.
///
/// # Errors
/// `LevelUnavailable`.
#[inline(always)]
pub fn layout_of_elements<T: Element>(exec: &Exec<'_>, n: usize) -> Result<Layout> {
    let routines = Kernels::<T>::new(exec.level()?).gemm();
    Ok(Layout::of_elements(&routines.microkernels, n))
}

/// Returns the layout of a B of other types with `n` columns.
///
/// # Errors
/// `LevelUnavailable`.
#[cfg_attr(not(precompiled), inline)]
pub fn layout_of_mixed(exec: &Exec<'_>, operands: Operands, n: usize) -> Result<Layout> {
    let r = mixed_run::packing_routines(operands, exec.level()?, exec.extensions());
    // 16-bit numbers that are widened to be multiplied would take twice as long to read.
    let keeps_size = matches!(operands, Operands::Half(_));
    Ok(Layout::of_mixed(r, n, operands.b_bytes(), keeps_size))
}

/// Packs a B of `f32` or `f64` to the panels at `out`, on as many threads as are worth it.
///
/// # Errors
/// `LevelUnavailable`.
///
/// # Safety
/// B must be valid, of `k` rows and `n` columns, and `out` for the bytes that the layout says.
#[inline(always)]
pub unsafe fn pack_elements<T: Element>(
    exec: &Exec<'_>,
    layout: &Layout,
    b: Matrix<*const T>,
    (k, n): (usize, usize),
    out: *mut u8,
) -> Result<()> {
    if layout.is_rows() {
        let b = Matrix::new(b.ptr.cast(), bytes::<T>(b.rs), bytes::<T>(b.cs));
        // SAFETY: as the caller's.
        unsafe { copy_rows_in_tasks(exec, b, (k, n), size_of::<T>(), out) };
        return Ok(());
    }
    let routines = Kernels::<T>::new(exec.level()?).gemm();
    let p = Gemm {
        m: 0,
        n,
        k,
        alpha: T::ONE,
        a: Matrix::new(core::ptr::null(), 0, 0),
        b,
        beta: T::ZERO,
        c: Matrix::new(core::ptr::null_mut(), 0, 0),
        epilogue: Epilogue::NONE,
    };
    in_tasks_of_columns(exec, layout, (k, n), out, &|j, columns, out| {
        // SAFETY: as the caller's; the layout is that of the level, and these columns are whole micro-panels of this task.
        unsafe { ops::pack(routines, &p.block((0, 0), (j, columns)), out.cast()) };
    });
    Ok(())
}

/// Calls `pack` with ranges of columns, whole micro-panels each, and with where they are packed to: the first column, and
/// their number. Other tasks have others.
#[cfg_attr(not(precompiled), inline)]
fn in_tasks_of_columns(
    exec: &Exec<'_>,
    layout: &Layout,
    (k, n): (usize, usize),
    out: *mut u8,
    pack: &(dyn Fn(usize, usize, *mut u8) + Sync),
) {
    let (nr, column) = (layout.columns(), layout.column_bytes(k).unwrap_or(0));
    let out = Shared::new(out);
    in_tasks(
        exec,
        column.saturating_mul(n),
        n.div_ceil(nr),
        &|first, panels| {
            let j = first * nr;
            let columns = panels.saturating_mul(nr).min(n - j);
            pack(j, columns, out.get().wrapping_add(j * column));
        },
    );
}

/// Calls `pack` with ranges of 0..`units`, for a packed matrix of `bytes` bytes: the first unit, and their number.
#[cfg_attr(not(precompiled), inline)]
fn in_tasks(exec: &Exec<'_>, bytes: usize, units: usize, pack: &(dyn Fn(usize, usize) + Sync)) {
    let tasks = exec.tasks(bytes, units);
    let share = share(units, tasks);
    exec.run(tasks, &|task| {
        let first = task * share;
        if first < units {
            pack(first, share.min(units - first));
        }
    });
}

/// A stride in bytes. Those of valid matrices cannot overflow where they mean something.
const fn bytes<T>(stride: isize) -> isize {
    stride.wrapping_mul(size_of::<T>() as isize)
}

/// [`pack_elements`] for other types, with strides in bytes.
///
/// # Errors
/// `LevelUnavailable`.
///
/// # Safety
/// As [`pack_elements`].
#[cfg_attr(not(precompiled), inline)]
pub unsafe fn pack_mixed(
    exec: &Exec<'_>,
    operands: Operands,
    layout: &Layout,
    b: Matrix<*const u8>,
    size: (usize, usize),
    out: *mut u8,
) -> Result<()> {
    let r = mixed_run::packing_routines(operands, exec.level()?, exec.extensions());
    if layout.is_rows() {
        // SAFETY: as the caller's.
        unsafe { copy_rows_in_tasks(exec, b, size, operands.b_bytes(), out) };
        return Ok(());
    }
    let from = Matrix::new(Shared::new(b.ptr), b.rs, b.cs);
    in_tasks_of_columns(exec, layout, size, out, &|j, columns, out| {
        let b = Matrix::new(from.at(0, j).cast_const(), from.rs, from.cs);
        // SAFETY: as the caller's; the layout is that of these routines, and these columns are whole micro-panels of this
        // task.
        unsafe { mixed_ops::pack_b(r, b, (size.0, columns), out) };
    });
    Ok(())
}

/// Copies a matrix to contiguous rows, in tasks of some rows each.
///
/// # Safety
/// As [`copy_rows`].
#[cfg_attr(not(precompiled), inline)]
unsafe fn copy_rows_in_tasks(
    exec: &Exec<'_>,
    b: Matrix<*const u8>,
    (k, n): (usize, usize),
    element: usize,
    out: *mut u8,
) {
    let from = Matrix::new(Shared::new(b.ptr), b.rs, b.cs);
    let (out, row) = (Shared::new(out), n * element);
    in_tasks(exec, row.saturating_mul(k), k, &|i, rows| {
        let b = Matrix::new(from.at(i, 0).cast_const(), from.rs, from.cs);
        let out = out.get().wrapping_add(i * row);
        // SAFETY: as the caller's; these rows belong to this task.
        unsafe { copy_rows(b, (rows, n), element, out) };
    });
}

/// Copies a matrix to contiguous rows.
///
/// # Safety
/// It must be valid, and `out` for as many elements.
// Not inlined: tasks on a pool and the calling thread share one copy.
#[cfg_attr(precompiled, inline(never))]
#[cfg_attr(not(precompiled), inline)]
unsafe fn copy_rows(b: Matrix<*const u8>, (k, n): (usize, usize), element: usize, out: *mut u8) {
    /// The bytes of a column in a cache line of the source are used while that is in L1.
    const COLUMNS: usize = 64;
    for first in (0..n).step_by(COLUMNS) {
        let columns = COLUMNS.min(n - first);
        for i in 0..k {
            let to = out.wrapping_add((i * n + first) * element);
            // SAFETY: as the caller's.
            unsafe {
                if b.cs == element as isize {
                    core::ptr::copy_nonoverlapping(b.at(i, first), to, columns * element);
                    continue;
                }
                for j in 0..columns {
                    let to = to.wrapping_add(j * element);
                    core::ptr::copy_nonoverlapping(b.at(i, first + j), to, element);
                }
            }
        }
    }
}

/// Runs products of `f32` or `f64` with a packed B, whose panels begin at `p.b.ptr`.
///
/// # Errors
/// `LevelUnavailable`; those of a product of the same shape if it is a few columns.
///
/// # Safety
/// The matrices must be valid, and C must not overlap the other arguments; the panels must have this layout, which must be
/// that of `exec`.
#[inline(always)]
pub unsafe fn elements<T: Element>(
    exec: &Exec<'_>,
    layout: &Layout,
    mut batch: Batch<T>,
) -> Result<()> {
    let kernels = Kernels::<T>::new(exec.level()?);
    let p = &mut batch.first;
    // SAFETY: as the caller's.
    unsafe {
        if layout.is_rows() || p.k == 0 {
            let (rs, cs) = if p.k == 0 { (0, 0) } else { (p.n as isize, 1) };
            p.b = Matrix::new(p.b.ptr, rs, cs);
            gemm::batch(exec, kernels, batch)
        } else {
            packed::batch(exec, kernels, batch);
            Ok(())
        }
    }
}

/// Runs products of other types with a packed B of `k` rows, whose panels begin at `p.b.ptr`.
///
/// # Errors
/// `LevelUnavailable`, `WorkspaceTooSmall`.
///
/// # Safety
/// As [`elements`].
#[cfg_attr(not(precompiled), inline)]
pub unsafe fn mixed(
    exec: &Exec<'_>,
    layout: &Layout,
    types: ProductTypes,
    mut p: MixedGemm,
    count: usize,
) -> Result<()> {
    let bytes = types.operands.b_bytes();
    // SAFETY: as the caller's.
    unsafe {
        if layout.is_rows() {
            p.b = Matrix::new(p.b.ptr, (p.n * bytes) as isize, bytes as isize);
            mixed_run::batch(exec, types, p, count)
        } else {
            let column = layout.column_bytes(p.k).unwrap_or(0);
            p.b = Matrix::new(p.b.ptr, 0, column as isize);
            mixed_run::packed_batch(exec, types, p, count)
        }
    }
}

/// Reads a header.
///
/// # Safety
/// `packed` must be aligned, and valid for reading [`HEADER`] bytes.
pub unsafe fn header(packed: *const u8) -> Header {
    // SAFETY: as the caller's.
    unsafe { packed.cast::<Header>().read() }
}

/// Writes the header and the bytes that may follow the last panel, and returns where the panels begin.
///
/// # Safety
/// `packed` must be aligned, and valid for writing as many bytes as the description says.
pub unsafe fn begin(description: &Description, packed: *mut u8) -> *mut u8 {
    // SAFETY: as the caller's; the header alone takes the alignment.
    unsafe {
        packed
            .wrapping_add(description.bytes - ALIGN)
            .write_bytes(0, ALIGN);
        packed.cast::<Header>().write(description.header());
    }
    packed.wrapping_add(HEADER)
}
