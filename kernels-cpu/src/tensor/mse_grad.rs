//! The squared error of tensors that are not contiguous: chunk by chunk in row-major order, through buffers in L1.

use super::list::List;
use super::loops::{Loop, Loops, MAX_OPERANDS, is_dense};
use super::operand::Operand;
use crate::aligned::AlignedBytes;
use crate::api::fused::mse_grad_part;
use crate::api::reduce::{ChunkTree, MAX_PARTS, Parts, pairwise};
use crate::copy::{CopyLoop, copy};
use crate::dispatch::{Compute, Kernels};
use crate::element::{Element, Storage};
use crate::error::Result;
use crate::exec::{Exec, Shared};
use crate::level::Level;
use crate::ops::reduce::chunk_len;
use crate::recipe::finish_sum;

/// The numbers of the tensors.
const GRAD: usize = 0;
const PRED: usize = 1;
const TARGET: usize = 2;

/// The tensors of a call, in row-major order.
pub struct MseGradTensors {
    loops: Loops,
    /// Bytes of an element.
    size: usize,
    is_dense: [bool; 3],
}

// SAFETY: the addresses in it are read by each task; what tasks write at them is apart.
unsafe impl Sync for MseGradTensors {}

/// Bytes of a chunk of the canonical order.
const CHUNK: usize = chunk_len::<f32>() * size_of::<f32>();

impl MseGradTensors {
    /// Returns the tensors, which have one shape.
    ///
    /// # Errors
    /// `ShapeMismatch` if they do not.
    pub fn new(pred: &Operand, target: &Operand, grad: &Operand) -> Result<Self> {
        let loops = Loops::in_order(grad, [pred, target].into_iter())?;
        let size = grad.of.size();
        let is_dense =
            [GRAD, PRED, TARGET].map(|k| is_dense(&loops.loops, k, [size; MAX_OPERANDS]));
        Ok(Self {
            loops,
            size,
            is_dense,
        })
    }

    /// Returns the number of elements of each tensor.
    pub fn count(&self) -> usize {
        self.loops.count()
    }

    /// Returns where the prediction, the target and the gradient begin, if all are contiguous arrays.
    pub fn arrays(&self) -> Option<[*mut u8; 3]> {
        let [grad, pred, target, ..] = self.loops.first;
        let are_contiguous = self.count() == 0 || self.is_dense == [true; 3];
        are_contiguous.then_some([pred, target, grad])
    }

    /// Returns the loops over the elements in row-major order: tensor 0 is the gradient, 1 the prediction, 2 the target.
    pub fn loops(&self) -> &Loops {
        &self.loops
    }

    /// Returns where tensor k begins, if it is a contiguous array.
    pub fn array(&self, k: usize) -> Option<*mut u8> {
        self.dense(k, 0)
    }

    /// Writes the gradient and returns the loss, for at least one element.
    ///
    /// # Safety
    /// The tensors must be valid, and the gradient be exactly an input or apart from it; the machine must have the kernels'
    /// level.
    pub unsafe fn run<T: Storage>(
        &self,
        exec: &Exec<'_>,
        kernels: Kernels<Compute<T>>,
    ) -> Compute<T> {
        let n = self.loops.count();
        let parts = Parts::new::<Compute<T>>(exec, n, n.saturating_mul(2 * size_of::<T>()));
        let mut results = [Compute::<T>::ZERO; MAX_PARTS];
        let slots = Shared::new(results.as_mut_ptr());
        exec.run(parts.tasks, &move |task| {
            for (p, from, count) in parts.of_task(task) {
                // SAFETY: as the caller's; the part lies in 0..n, and slot p < MAX_PARTS is its own.
                unsafe {
                    slots
                        .get()
                        .add(p)
                        .write(self.part::<T>(kernels, from, count))
                };
            }
        });
        finish_sum(pairwise(&mut results, parts.count, |a, b| a + b))
    }

    /// Returns the sum over `count` elements from `from` on, the beginning of a chunk.
    ///
    /// # Safety
    /// As [`MseGradTensors::run`].
    unsafe fn part<T: Storage>(
        &self,
        kernels: Kernels<Compute<T>>,
        from: usize,
        count: usize,
    ) -> Compute<T> {
        let mut buffers = [const { AlignedBytes::<CHUNK>::new() }; 3];
        let [of_grad, of_pred, of_target] = buffers.each_mut().map(AlignedBytes::start);
        let level = kernels.level();
        let mut sums = ChunkTree::EMPTY;
        let mut done = 0;
        while done < count {
            let (at, len) = (from + done, chunk_len::<Compute<T>>().min(count - done));
            // SAFETY: as the caller's; a chunk fits a buffer.
            let sum = unsafe {
                let pred = self.read(level, PRED, at, len, of_pred);
                let target = self.read(level, TARGET, at, len, of_target);
                let grad = self.dense(GRAD, at).unwrap_or(of_grad);
                let (p, q) = (pred.cast::<T>(), target.cast());
                let sum = mse_grad_part(kernels, len, p, q, grad.cast(), false);
                if grad == of_grad {
                    self.copy(level, GRAD, at, len, grad, false);
                }
                sum
            };
            sums.push(sum, |a, b| a + b);
            done += len;
        }
        sums.finish(|a, b| a + b).unwrap_or(Compute::<T>::ZERO)
    }

    /// Returns where the elements of tensor k from `from` on are, if it is a contiguous array.
    fn dense(&self, k: usize, from: usize) -> Option<*mut u8> {
        let first = self.loops.first.get(k)?;
        (self.is_dense.get(k) == Some(&true)).then(|| first.wrapping_add(from * self.size))
    }

    /// Returns where `count` elements of tensor k from `from` on are: there, or copied to the buffer.
    ///
    /// # Safety
    /// As [`MseGradTensors::run`]; the buffer must have room.
    unsafe fn read(
        &self,
        level: Level,
        k: usize,
        from: usize,
        count: usize,
        buffer: *mut u8,
    ) -> *const u8 {
        if let Some(p) = self.dense(k, from) {
            return p;
        }
        // SAFETY: as the caller's.
        unsafe { self.copy(level, k, from, count, buffer, true) };
        buffer
    }

    /// Copies `count` elements of tensor k from `from` on to a buffer, or back.
    ///
    /// # Safety
    /// As [`MseGradTensors::read`].
    unsafe fn copy(
        &self,
        level: Level,
        k: usize,
        from: usize,
        count: usize,
        buffer: *mut u8,
        to_buffer: bool,
    ) {
        let Some(&first) = self.loops.first.get(k) else {
            return;
        };
        let step_of = |one: &Loop| one.steps.get(k).copied().unwrap_or(0);
        // The index of the first element.
        let mut index = List::new();
        self.loops.loops.iter().for_each(|_| index.push(0));
        let (mut rest, mut p) = (from, first);
        for (one, index) in self.loops.loops.iter().zip(index.iter_mut()).rev() {
            *index = rest.checked_rem(one.count).unwrap_or(0);
            rest = rest.checked_div(one.count).unwrap_or(0);
            p = p.wrapping_offset(step_of(one).wrapping_mul(*index as isize));
        }
        let inner = self.loops.innermost();
        let (inner_step, size) = (step_of(&inner), self.size as isize);
        let mut done = 0;
        while done < count {
            let at = index.last().copied().unwrap_or(0);
            let run = (inner.count - at).min(count - done);
            let place = buffer.wrapping_add(done * self.size);
            // SAFETY: as the caller's: these are elements of one axis.
            unsafe {
                if to_buffer {
                    let line = line(run, size, inner_step);
                    copy(level, self.size, place, p, &[line]);
                } else {
                    let line = line(run, inner_step, size);
                    copy(level, self.size, p, place, &[line]);
                }
            }
            done += run;
            // To the next element: along the innermost axis, or where its end is reached along the one around it.
            let mut ahead = run;
            for (one, index) in self.loops.loops.iter().zip(index.iter_mut()).rev() {
                *index += ahead;
                p = p.wrapping_offset(step_of(one).wrapping_mul(ahead as isize));
                if *index < one.count {
                    break;
                }
                p = p.wrapping_offset(step_of(one).wrapping_mul(*index as isize).wrapping_neg());
                *index = 0;
                ahead = 1;
            }
        }
    }
}

/// A loop of a copy.
fn line(count: usize, to: isize, from: isize) -> CopyLoop {
    CopyLoop { count, to, from }
}
