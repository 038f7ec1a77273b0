//! Reductions of columns of 16-bit floats, for which there are no kernels: blocks of columns are converted to `f32`, which
//! holds every value exactly, and the results back.

use core::mem::MaybeUninit;

use super::blocks::{ResultBlock, ResultBlocks, block_bytes};
use super::gather::{CHUNK, LINE};
use super::kernel::Kernel;
use super::plan::AxisPlan;
use crate::api::reduce::{Chunks, RowMatrix, StridedVector};
use crate::copy::{CopyLoop, copy};
use crate::element::Dtype;
use crate::exec::Exec;
use crate::level::Level;
use crate::tensor::cast::Conversion;
use crate::tensor::kind::Type;

/// Bytes of a 16-bit float, and of what it is converted to.
const HALF: usize = 2;
const WIDE: usize = 4;
/// Most bytes of a block of converted columns, where columns are long.
const MOST_BYTES: usize = 4 << 20;
/// The fewest and the most columns of a block: a cache line of them, and as many as have results on the stack.
const FEWEST: usize = LINE / HALF;
const MOST: usize = 256;

impl AxisPlan {
    /// Returns the bytes of a column of 16-bit floats once it is converted, if this is such a reduction.
    fn widened_bytes(&self) -> Option<usize> {
        let (&[axis], Some(last)) = (&*self.reduced, self.kept.last()) else {
            return None;
        };
        let bytes = self.elements.checked_mul(WIDE)?;
        let are_columns = self.size == HALF && last.x == HALF as isize && axis.step > last.x;
        let fits = last.count >= FEWEST / 2 && bytes > WIDE && bytes <= MOST_BYTES / FEWEST;
        (are_columns && fits).then_some(bytes)
    }

    /// Returns whether [`AxisPlan::run_widened`] takes this reduction.
    pub(super) fn takes_widening(&self) -> bool {
        self.widened_bytes().is_some()
    }

    /// Computes all results with the kernel of `f32`, for elements of the type `of`.
    ///
    /// # Safety
    /// As [`AxisPlan::run`].
    #[inline(never)]
    pub(super) unsafe fn run_widened(&self, exec: &Exec<'_>, kernel: &dyn Kernel, of: Dtype) {
        let Some(each) = self.widened_bytes() else {
            return;
        };
        let most = block_bytes(exec).checked_div(each).unwrap_or(0);
        let most = most.clamp(FEWEST, MOST);
        let bytes = most * each + LINE;
        let blocks = ResultBlocks::of_axis(self, self.kept.len().wrapping_sub(1), most);
        exec.with_optional_scratch(exec.threads(), bytes, |scratch| {
            blocks.for_each_block(self, exec, false, &|exec, task, block| {
                scratch.with_optional_block(task, |p, bytes| {
                    let p = p.wrapping_add(p.addr().wrapping_neg() % LINE);
                    let p = (bytes > 0).then_some(p);
                    let inc = blocks.split.out;
                    // SAFETY: as the caller's; no other block has these results.
                    unsafe { self.widened_block(exec, kernel, of, block, inc, p) };
                });
            });
        });
    }

    /// Reduces the columns of a block, whose results are `inc` bytes apart. `p` is room for their elements as `f32`; without
    /// it, they are converted column by column.
    ///
    /// # Safety
    /// As [`AxisPlan::run`].
    unsafe fn widened_block(
        &self,
        exec: &Exec<'_>,
        kernel: &dyn Kernel,
        of: Dtype,
        block: ResultBlock,
        inc: isize,
        p: Option<*mut u8>,
    ) {
        let mut results = [const { MaybeUninit::<u64>::uninit() }; MOST];
        let (results, size) = (results.as_mut_ptr().cast::<u8>(), kernel.result_size());
        let (half, wide) = (Type::Float(of), Type::Float(Dtype::F32));
        let (level, widen) = (kernel.level(), Conversion::new(half, wide));
        let step = self.closest() as isize;
        // SAFETY: as the caller's; there is room for the elements and for the results.
        unsafe {
            match p {
                Some(p) => {
                    for i in 0..self.elements {
                        let row = block.x.wrapping_offset(step * i as isize);
                        widen.convert(level, block.len, row, p.add(i * block.len * WIDE), false);
                    }
                    let strides = [WIDE as isize, (block.len * WIDE) as isize];
                    let rows = RowMatrix::new([block.len, self.elements], p.cast_const(), strides);
                    let to = StridedVector::new(results, size as isize);
                    kernel.rows(exec, rows, to);
                }
                None => {
                    let mut column = Column {
                        level,
                        widen,
                        x: block.x,
                        step,
                        elements: MaybeUninit::uninit(),
                    };
                    for j in 0..block.len {
                        column.x = block.x.wrapping_add(j * HALF);
                        kernel.gathered(1, self.elements, &mut column, results.add(j * size), 0);
                    }
                }
            }
            let mut narrow = [const { MaybeUninit::<u16>::uninit() }; MOST];
            let narrow = narrow.as_mut_ptr().cast::<u8>();
            let (size, results) = if size == WIDE {
                Conversion::new(wide, half).convert(level, block.len, results, narrow, false);
                (HALF, narrow)
            } else {
                (size, results)
            };
            let back = CopyLoop {
                count: block.len,
                to: inc,
                from: size as isize,
            };
            copy(level, size, block.out, results, &[back]);
        }
    }
}

/// A column, as `f32`.
struct Column {
    level: Level,
    widen: Conversion,
    x: *const u8,
    step: isize,
    elements: MaybeUninit<[u32; CHUNK / WIDE]>,
}

impl Chunks for Column {
    unsafe fn chunk(&mut self, from: usize, len: usize) -> (*const u8, isize) {
        let p: *mut u8 = self.elements.as_mut_ptr().cast();
        for i in 0..len {
            let x = self.x.wrapping_offset(self.step * (from + i) as isize);
            // SAFETY: the column has this element, and there is room for a chunk.
            unsafe { self.widen.convert(self.level, 1, x, p.add(i * WIDE), false) };
        }
        (p, 0)
    }
}
