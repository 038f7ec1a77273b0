//! Reductions of 16-bit floats. Their elements are widened to `f32`, which holds every value exactly: columns as they are
//! loaded, others a block at a time that stays in a cache and that the kernels of `f32` reduce. Results are rounded once.

use core::mem::MaybeUninit;

use super::fold::StridedVector;
use super::gathered::{Chunks, MAX_GATHERED};
use super::kernel::{Kernel, KernelOf};
use super::rows::RowMatrix;
use super::vectors::VectorLayout;
use super::widened_chunks::WidenedChunks;
use super::widened_columns::ColumnsArea;
use crate::aligned::AlignedBytes;
use crate::copy::{CopyLoop, copy};
use crate::detect::l2_bytes;
use crate::dispatch::{Compute, Kernels};
use crate::element::Storage;
use crate::exec::Exec;
use crate::level::Level;
use crate::ops::convert::CHUNK_AHEAD;
use crate::ops::reduce::{PADDING, can_widen_into_lanes};

/// Bytes of a cache line.
const LINE: usize = 64;
/// Bytes of a block of widened rows: a part of L1.
const ROWS_BYTES: usize = 32 << 10;
/// The fewest rows of a block.
const FEWEST_ROWS: usize = 16;
/// The most rows that are reduced at once, and the most results that are rounded at once, on the stack.
const MOST: usize = 128;
/// How many columns are reduced at once if they and their lanes are to stay in L1.
const COLUMNS_IN_L1: usize = 64;
/// Fewest elements of columns for which it pays to have more lanes than L1 holds.
const FEWEST_OF_LONG: usize = 64;
/// How many are reduced at once without scratch memory, however long they are.
const COLUMNS_ON_STACK: usize = 16;
/// Bytes of an area on the stack.
const AREA_ON_STACK: usize = 16 << 10;
const _: () = assert!(area_bytes(usize::MAX, COLUMNS_ON_STACK) <= AREA_ON_STACK);

/// Returns the bytes of the results of columns of n elements, and of their [`ColumnsArea`].
const fn area_bytes(n: usize, columns: usize) -> usize {
    let each = size_of::<u64>() + ColumnsArea::<f32>::each(n) * size_of::<f32>();
    columns.next_multiple_of(PADDING) * each
}

/// The reduction of elements of the type `M` by a kernel of its type of arithmetic.
pub struct Widened<'a, M> {
    pub kernel: &'a dyn KernelOf<M>,
    /// Whether results are rounded to the type `M`.
    pub rounds: bool,
}

impl<M: Storage> Kernel for Widened<'_, M> {
    fn level(&self) -> Level {
        self.kernel.level()
    }

    fn result_size(&self) -> usize {
        if self.rounds {
            size_of::<M>()
        } else {
            self.kernel.result_size()
        }
    }

    unsafe fn rows(&self, exec: &Exec<'_>, rows: RowMatrix<u8>, out: StridedVector<u8>) {
        let matrix = rows.elements::<M>();
        // SAFETY: as the caller's.
        unsafe {
            let Some(layout) = matrix.layout() else {
                return self.vectors(exec, matrix, out);
            };
            if matches!(layout, VectorLayout::Columns { .. }) {
                if can_widen_into_lanes(self.level()) {
                    self.columns(exec, matrix, out);
                } else {
                    self.vectors(exec, matrix, out);
                }
            } else {
                self.rows_in_blocks(exec, matrix, out);
            }
        }
    }

    unsafe fn gathered(
        &self,
        vectors: usize,
        n: usize,
        chunks: &mut dyn Chunks,
        out: *mut u8,
        inc: isize,
    ) {
        let mut results = [const { MaybeUninit::<u64>::uninit() }; MAX_GATHERED];
        let results = results.as_mut_ptr().cast();
        let size = self.kernel.result_size() as isize;
        let mut chunks = WidenedChunks::<M>::new(self.level(), chunks);
        // SAFETY: as the caller's; there is room for the results.
        unsafe {
            (self.kernel).gathered(vectors, n, &mut chunks, results, size);
            self.write(vectors, results, StridedVector::new(out, inc));
        }
    }
}

impl<M: Storage> Widened<'_, M> {
    /// Reduces contiguous rows in blocks, or one by one where there is no memory for a block.
    ///
    /// # Safety
    /// As [`Kernel::rows`].
    unsafe fn rows_in_blocks(&self, exec: &Exec<'_>, matrix: RowMatrix<M>, out: StridedVector<u8>) {
        let row = (matrix.n * size_of::<f32>()).max(1);
        let most = (ROWS_BYTES / row).clamp(FEWEST_ROWS, MOST).min(matrix.m);
        exec.with_optional_scratch(exec.threads(), most * row + LINE, |scratch| {
            matrix.split(exec, FEWEST_ROWS, |task, from, to| {
                scratch.with_optional_block(task, |p, bytes| {
                    let p = p.wrapping_add(p.addr().wrapping_neg() % LINE).cast();
                    let mut at = from;
                    while at < to {
                        let part = matrix.part(at, most.min(to - at));
                        let out = out.from(at);
                        at += part.m;
                        // SAFETY: as the caller's; no other task has these rows.
                        unsafe {
                            if bytes == 0 {
                                self.vectors(&Exec::new(), part, out);
                            } else {
                                self.rows_of_block(part, out, p);
                            }
                        }
                    }
                });
            });
        });
    }

    /// Widens the rows of a block at `p`, and reduces them.
    ///
    /// # Safety
    /// As [`Kernel::rows`]; there must be at most [`MOST`] rows, and room for them.
    unsafe fn rows_of_block(&self, part: RowMatrix<M>, out: StridedVector<u8>, p: *mut Compute<M>) {
        let widen = Kernels::<M>::new(self.level()).widen();
        let (m, n) = (part.m, part.n);
        // Rows without gaps are one.
        let (lines, len, ahead) = if part.x.rs == n as isize {
            (1, m * n, CHUNK_AHEAD)
        } else {
            (m, n, 0)
        };
        let mut results = [const { MaybeUninit::<u64>::uninit() }; MOST];
        let results = results.as_mut_ptr().cast::<u8>();
        let size = size_of::<Compute<M>>() as isize;
        // SAFETY: as the caller's; there is room for the results.
        unsafe {
            for i in 0..lines {
                widen(len, part.row(i), p.add(i * len), ahead);
            }
            let rows = RowMatrix::new([m, n], p.cast_const().cast(), [size * n as isize, size]);
            let to = StridedVector::new(results, self.kernel.result_size() as isize);
            self.kernel.rows(&Exec::new(), rows, to);
            self.write(m, results, out);
        }
    }

    /// Reduces columns, some at once: as many as their lanes stay in L1, or more of a matrix that is read from afar, in long
    /// parts of its rows.
    ///
    /// # Safety
    /// As [`Kernel::rows`].
    unsafe fn columns(&self, exec: &Exec<'_>, matrix: RowMatrix<M>, out: StridedVector<u8>) {
        let bytes = matrix
            .m
            .saturating_mul(matrix.n)
            .saturating_mul(size_of::<M>());
        let most = if matrix.n >= FEWEST_OF_LONG && bytes > l2_bytes() {
            let each = area_bytes(matrix.n, PADDING) / PADDING;
            COLUMNS_IN_L1.max(l2_bytes() / 2 / each.max(1))
        } else {
            COLUMNS_IN_L1
        };
        let most = most.min(matrix.m);
        let (needed, most_on_stack) = match area_bytes(matrix.n, most) {
            ..=AREA_ON_STACK => (0, most),
            bytes => (bytes + LINE, COLUMNS_ON_STACK),
        };
        exec.with_optional_scratch(exec.threads(), needed, |scratch| {
            matrix.split(exec, 2 * COLUMNS_ON_STACK, |task, from, to| {
                let part = matrix.part(from, to - from);
                let out = out.from(from);
                scratch.with_optional_block(task, |p, bytes| {
                    // SAFETY: as the caller's; no other task has these columns.
                    unsafe {
                        if bytes == 0 {
                            return self.columns_on_stack(part, most_on_stack, out);
                        }
                        let p = p.wrapping_add(p.addr().wrapping_neg() % LINE);
                        self.columns_in(p, part, most, out);
                    }
                });
            });
        });
    }

    /// [`Widened::columns`] without scratch memory.
    ///
    /// # Safety
    /// As [`Kernel::rows`]; [`AREA_ON_STACK`] must suffice for `most` columns.
    #[inline(never)]
    unsafe fn columns_on_stack(&self, matrix: RowMatrix<M>, most: usize, out: StridedVector<u8>) {
        let mut area = AlignedBytes::<AREA_ON_STACK>::new();
        // SAFETY: as the caller's.
        unsafe { self.columns_in(area.start(), matrix, most, out) };
    }

    /// Reduces columns, at most `most` at once, in an area at `p`.
    ///
    /// # Safety
    /// As [`Kernel::rows`]; the area must suffice for `most` columns.
    unsafe fn columns_in(
        &self,
        p: *mut u8,
        matrix: RowMatrix<M>,
        most: usize,
        out: StridedVector<u8>,
    ) {
        let padded = most.next_multiple_of(PADDING);
        let (results, area) = (p, p.wrapping_add(padded * size_of::<u64>()));
        let mut at = 0;
        while at < matrix.m {
            let part = matrix.part(at, most.min(matrix.m - at));
            let area = ColumnsArea::at(area.cast(), part.m);
            // SAFETY: as the caller's; there is room for the results.
            unsafe {
                self.kernel.columns(part, area, results);
                self.write(part.m, results, out.from(at));
            }
            at += part.m;
        }
    }

    /// Reduces vectors one by one.
    ///
    /// # Safety
    /// As [`Kernel::rows`].
    unsafe fn vectors(&self, exec: &Exec<'_>, matrix: RowMatrix<M>, out: StridedVector<u8>) {
        let one = |exec: &Exec<'_>, i: usize| {
            let mut result = MaybeUninit::<u64>::uninit();
            let result = result.as_mut_ptr().cast();
            let x = StridedVector::new(matrix.row(i), matrix.x.cs);
            // SAFETY: as the caller's; no other task has this vector.
            unsafe {
                self.kernel.vector(exec, matrix.n, x, result);
                self.write(1, result, out.from(i));
            }
        };
        if matrix.m < exec.threads() {
            return (0..matrix.m).for_each(|i| one(exec, i));
        }
        matrix.split(exec, 1, |_, from, to| {
            (from..to).for_each(|i| one(&Exec::new(), i));
        });
    }

    /// Writes `count` results of the kernel to `out`.
    ///
    /// # Safety
    /// `results` must have as many, and `out` be valid for them.
    unsafe fn write(&self, count: usize, results: *const u8, out: StridedVector<u8>) {
        let size = self.kernel.result_size();
        if !self.rounds {
            // SAFETY: as the caller's.
            return unsafe { self.copy_results(count, size, results, out) };
        }
        let mut rounded = [const { MaybeUninit::<M>::uninit() }; MOST];
        let rounded = rounded.as_mut_ptr().cast::<M>();
        for from in (0..count).step_by(MOST) {
            let part = MOST.min(count - from);
            // SAFETY: as the caller's; results to be rounded are in the type of arithmetic.
            unsafe {
                let results = results.add(from * size).cast();
                Kernels::<M>::new(self.level()).round()(part, results, rounded);
                self.copy_results(part, size_of::<M>(), rounded.cast(), out.from(from));
            }
        }
    }

    /// Copies `count` results of so many bytes to `out`.
    ///
    /// # Safety
    /// As [`Widened::write`].
    unsafe fn copy_results(
        &self,
        count: usize,
        size: usize,
        results: *const u8,
        out: StridedVector<u8>,
    ) {
        let line = CopyLoop {
            count,
            to: out.inc,
            from: size as isize,
        };
        // SAFETY: as the caller's.
        unsafe { copy(self.level(), size, out.at(0).cast_mut(), results, &[line]) };
    }
}
