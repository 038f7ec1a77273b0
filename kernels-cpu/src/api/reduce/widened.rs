//! Reductions of 16-bit floats. Their elements are widened to `f32`, which holds every value exactly, a block at a time that
//! stays in a cache; the kernels of `f32` reduce that, and results are rounded once.

use core::mem::MaybeUninit;

use super::fold::StridedVector;
use super::gathered::{Chunks, MAX_GATHERED};
use super::kernel::{Kernel, KernelOf};
use super::rows::RowMatrix;
use super::tall_columns::TallColumns;
use super::vectors::VectorLayout;
use super::widened_chunks::WidenedChunks;
use crate::api::widen::{CHUNK, WidenedChunk};
use crate::copy::{CopyLoop, copy};
use crate::detect::l2_bytes;
use crate::dispatch::{Compute, Kernels};
use crate::element::Storage;
use crate::exec::Exec;
use crate::level::Level;
use crate::ops::reduce::work_bytes;

/// Bytes of a cache line.
const LINE: usize = 64;
/// Bytes of a block of widened rows: a part of L1.
const ROWS_BYTES: usize = 32 << 10;
/// The fewest rows of a block.
const FEWEST_ROWS: usize = 16;
/// The fewest columns of a block, and the most vectors, whose results are on the stack.
const FEWEST_COLUMNS: usize = 32;
const MOST: usize = 256;
/// Most bytes of a block of columns.
const MOST_BYTES: usize = 4 << 20;
/// The most accumulators of a reduction: sums and sums of squares.
const MOST_ACCUMULATORS: usize = 2;

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
            let are_columns = matches!(layout, VectorLayout::Columns { .. });
            if matrix.m <= MOST && matrix.m.saturating_mul(matrix.n) <= CHUNK {
                return self.on_stack(exec, matrix, are_columns, out);
            }
            match Block::new(are_columns, matrix.m, matrix.n) {
                Some(block) => self.blocks(exec, matrix, block, out),
                None => self.tall_columns(exec, matrix, out),
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

/// Blocks of vectors that are widened together.
#[derive(Clone, Copy)]
struct Block {
    are_columns: bool,
    /// The most vectors.
    most: usize,
    /// Bytes of the widened elements.
    bytes: usize,
    /// Bytes of scratch memory of the kernel that reduces them.
    work: usize,
}

impl Block {
    /// Returns the blocks of `m` vectors of `n` elements; `None` if they are too long.
    fn new(are_columns: bool, m: usize, n: usize) -> Option<Self> {
        let each = n.checked_mul(size_of::<f32>())?.max(1);
        let most = if are_columns {
            if each > MOST_BYTES / FEWEST_COLUMNS {
                return None;
            }
            (l2_bytes() / 2 / each).clamp(FEWEST_COLUMNS, MOST)
        } else {
            (ROWS_BYTES / each).clamp(FEWEST_ROWS, MOST)
        };
        let most = most.min(m);
        let work = if are_columns {
            work_bytes::<f32>(n, most, MOST_ACCUMULATORS)
        } else {
            0
        };
        Some(Self {
            are_columns,
            most,
            bytes: most * each,
            work,
        })
    }
}

impl<M: Storage> Widened<'_, M> {
    /// Reduces vectors in blocks, or one by one where there is no memory for a block.
    ///
    /// # Safety
    /// As [`Kernel::rows`].
    unsafe fn blocks(
        &self,
        exec: &Exec<'_>,
        matrix: RowMatrix<M>,
        block: Block,
        out: StridedVector<u8>,
    ) {
        let bytes = block.bytes + LINE + block.work;
        exec.with_optional_scratch(exec.threads(), bytes, |scratch| {
            matrix.split(exec, FEWEST_COLUMNS, |task, from, to| {
                scratch.with_optional_block(task, |p, bytes| {
                    let p = p.wrapping_add(p.addr().wrapping_neg() % LINE);
                    let mut at = from;
                    while at < to {
                        let part = matrix.part(at, block.most.min(to - at));
                        let out = out.from(at);
                        at += part.m;
                        // SAFETY: as the caller's; no other task has these vectors. The work area follows the widened
                        // elements.
                        unsafe {
                            if bytes == 0 {
                                self.vectors(&Exec::new(), part, out);
                                continue;
                            }
                            let work = p.add(block.bytes).cast();
                            let work = core::slice::from_raw_parts_mut(work, block.work);
                            let exec = Exec::new().with_workspace(work);
                            self.block(&exec, part, block.are_columns, out, p.cast());
                        }
                    }
                });
            });
        });
    }

    /// Reduces at most [`MOST`] vectors of together at most [`CHUNK`] elements, which are widened on the stack.
    ///
    /// # Safety
    /// As [`Kernel::rows`].
    #[inline(never)]
    unsafe fn on_stack(
        &self,
        exec: &Exec<'_>,
        matrix: RowMatrix<M>,
        are_columns: bool,
        out: StridedVector<u8>,
    ) {
        let mut buffer = WidenedChunk::new();
        // SAFETY: as the caller's; the elements fit the buffer.
        unsafe { self.block(exec, matrix, are_columns, out, buffer.start()) };
    }

    /// Widens the vectors of a block at `p`, and reduces them.
    ///
    /// # Safety
    /// As [`Kernel::rows`]; there must be at most [`MOST`] vectors, and room for them.
    unsafe fn block(
        &self,
        exec: &Exec<'_>,
        part: RowMatrix<M>,
        are_columns: bool,
        out: StridedVector<u8>,
        p: *mut Compute<M>,
    ) {
        let widen = Kernels::<M>::new(self.level()).widen();
        let (m, n) = (part.m, part.n);
        // Lines of the matrix, of elements that lie next to each other.
        let (lines, len, step) = if are_columns {
            (n, m, part.x.cs)
        } else {
            (m, n, part.x.rs)
        };
        let size = size_of::<Compute<M>>() as isize;
        let [near, far] = [size, size * len as isize];
        let strides = if are_columns {
            [near, far]
        } else {
            [far, near]
        };
        // Lines without gaps are one.
        let is_dense = step == len as isize;
        let (lines, len) = if is_dense {
            (1, lines * len)
        } else {
            (lines, len)
        };
        let mut results = [const { MaybeUninit::<u64>::uninit() }; MOST];
        let results = results.as_mut_ptr().cast::<u8>();
        // SAFETY: as the caller's; there is room for the results.
        unsafe {
            for i in 0..lines {
                let line = part.x.ptr.get().wrapping_offset(step * i as isize);
                widen(len, line, p.add(i * len), is_dense);
            }
            let rows = RowMatrix::new([m, n], p.cast_const().cast(), strides);
            let to = StridedVector::new(results, self.kernel.result_size() as isize);
            self.kernel.rows(exec, rows, to);
            self.write(m, results, out);
        }
    }

    /// Reduces columns that are too long for a block, chunk by chunk.
    ///
    /// # Safety
    /// As [`Kernel::rows`].
    unsafe fn tall_columns(&self, exec: &Exec<'_>, matrix: RowMatrix<M>, out: StridedVector<u8>) {
        exec.with_optional_scratch(exec.threads(), TallColumns::<M>::BYTES, |scratch| {
            matrix.split(exec, MAX_GATHERED, |task, from, to| {
                scratch.with_optional_block(task, |p, bytes| {
                    let p = p.wrapping_add(p.addr().wrapping_neg() % LINE).cast();
                    let mut at = from;
                    while at < to {
                        let part = matrix.part(at, MAX_GATHERED.min(to - at));
                        // SAFETY: as the caller's; no other task has these columns.
                        unsafe {
                            if bytes == 0 {
                                self.vectors(&Exec::new(), part, out.from(at));
                            } else {
                                self.group(part, out.from(at), p);
                            }
                        }
                        at += part.m;
                    }
                });
            });
        });
    }

    /// Reduces at most [`MAX_GATHERED`] columns.
    ///
    /// # Safety
    /// As [`Kernel::rows`]; there must be room for [`TallColumns`] at `p`.
    unsafe fn group(&self, part: RowMatrix<M>, out: StridedVector<u8>, p: *mut Compute<M>) {
        let mut results = [const { MaybeUninit::<u64>::uninit() }; MAX_GATHERED];
        let results = results.as_mut_ptr().cast();
        let size = self.kernel.result_size() as isize;
        let level = self.level();
        let mut chunks = TallColumns { level, part, p };
        // SAFETY: as the caller's; there is room for the results.
        unsafe {
            (self.kernel).gathered(part.m, part.n, &mut chunks, results, size);
            self.write(part.m, results, out);
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

    /// Writes `count` results of the kernel, at most [`MOST`], to `out`.
    ///
    /// # Safety
    /// `results` must have as many, and `out` be valid for them.
    unsafe fn write(&self, count: usize, results: *const u8, out: StridedVector<u8>) {
        let mut rounded = [const { MaybeUninit::<M>::uninit() }; MOST];
        let rounded = rounded.as_mut_ptr().cast::<M>();
        let (size, from) = if self.rounds {
            // SAFETY: as the caller's; results to be rounded are in the type of arithmetic.
            unsafe { Kernels::<M>::new(self.level()).round()(count, results.cast(), rounded) };
            (size_of::<M>(), rounded.cast_const().cast())
        } else {
            (self.kernel.result_size(), results)
        };
        let line = CopyLoop {
            count,
            to: out.inc,
            from: size as isize,
        };
        // SAFETY: as the caller's.
        unsafe { copy(self.level(), size, out.at(0).cast_mut(), from, &[line]) };
    }
}
