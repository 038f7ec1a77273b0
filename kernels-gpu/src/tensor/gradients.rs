//! Losses and their gradients over tensors. Their kernels take contiguous arrays of numbers: other tensors, and those of 16
//! bits, are copied to scratch memory first, and the gradient from there.

use super::convert::{copy, copy_of};
use super::with_memory;
use crate::ops::fused::{LsqPlan, MsePlan};
use crate::raw;
use diptych::backend::check::fused::CheckedMatrix;
use diptych::backend::tensor::{
    List, Location, MseGradTensors, StridedTensor, Type, check_lsq_grad, check_mse_grad,
};
use diptych::tensor::Tensor;
use diptych::{Dtype, Error};
use diptych_device::launch::{Device, Scratch, entry};
use diptych_device::memory::Memory;
use diptych_device::real::Real;

/// An argument of a kernel.
struct Argument {
    /// The first element.
    p: *mut u8,
    /// The type of the elements.
    of: Dtype,
    /// Its copy, if it is not contiguous, or not of the type of arithmetic.
    copied: Option<Copied>,
}

/// A copy in scratch memory, which is contiguous in row-major order.
struct Copied {
    /// The axes of the original, the outermost first: their lengths, and bytes from one element to the next.
    axes: List<(usize, isize)>,
    /// Where the copy begins in scratch memory.
    at: usize,
}

impl Argument {
    /// An argument that is not copied.
    fn in_place(p: *mut u8, of: Dtype) -> Self {
        let copied = None;
        Self { p, of, copied }
    }

    /// Returns where the kernel finds it.
    fn place<T>(&self, scratch: Scratch) -> *mut T {
        let copied = self.copied.as_ref();
        copied
            .map_or(self.p, |one| scratch.bytes.wrapping_add(one.at))
            .cast()
    }

    /// Launches its copy to scratch memory or, if `back`, from there; nothing if it is not copied.
    ///
    /// # Safety
    /// It must be valid on the device until the launch has run, the scratch memory have room.
    unsafe fn copy<T: Real, D: Device>(
        &self,
        device: &D,
        scratch: Scratch,
        back: bool,
    ) -> Result<(), D::Error> {
        let Some(copied) = &self.copied else {
            return Ok(());
        };
        if copied.axes.iter().any(|(count, _)| *count == 0) {
            return Ok(());
        }
        let mut next = size_of::<T>() as isize;
        let axes = copied.axes.iter().rev().map(|&(count, step)| {
            let own = next;
            next *= count as isize;
            if back {
                (count, step, own)
            } else {
                (count, own, step)
            }
        });
        let (mut to, mut from) = (self.place(scratch), self.p);
        if back {
            (to, from) = (from, to);
        }
        let mut job = copy_of(Type::Float(self.of), axes, to, from);
        let number = Type::Float(T::TYPE);
        *(if back { &mut job.of } else { &mut job.to }) = number;
        // SAFETY: as the caller's.
        unsafe { copy(device, job, None) }
    }
}

/// The scratch memory for the copies of a call, in bytes; that of the kernel is behind it.
#[derive(Default)]
struct Room(usize);

impl Room {
    /// Adds room for `n` elements of the argument `arg`; returns where it begins.
    fn add<T>(&mut self, n: usize, arg: &'static str) -> Result<usize, Error> {
        let at = self.0;
        let bytes = n.checked_mul(size_of::<T>());
        let bytes = bytes.and_then(|bytes| bytes.checked_next_multiple_of(16));
        let end = bytes.and_then(|bytes| at.checked_add(bytes));
        self.0 = end.ok_or(Error::SizeOverflow { arg })?;
        Ok(at)
    }

    /// Allocates it, with the bytes and counters of the kernel, after all kernels have been prepared.
    fn allocate<D: Device>(
        &self,
        device: &D,
        (bytes, counters): (usize, usize),
    ) -> Result<Scratch, D::Error> {
        if self.0 > 0 {
            device.prepare(&entry::convert, Dtype::F32)?;
        }
        device.scratch(self.0.saturating_add(bytes), counters)
    }
}

/// See `diptych::tensor::mse_grad`.
///
/// # Errors
/// Those of that function; errors of the device. Tensors that are not contiguous, or of 16 bits, need scratch memory for
/// their copies.
///
/// # Safety
/// The tensors must be valid on the device until the launches have run.
// Not inlined: a call on the CPU, which has the larger part of the stack, would have these descriptions on it too.
#[inline(never)]
pub unsafe fn mse_grad<D: Device>(
    device: &D,
    pred: &Tensor,
    target: &Tensor,
    grad: &Tensor,
    loss: &Tensor,
) -> Result<(), D::Error> {
    // SAFETY: as the caller's.
    unsafe {
        let (dtype, tensors, loss) = check_mse_grad(pred, target, grad, loss, Location::Device)?;
        with_memory!(dtype, M, _format => {
            mse_grad_of::<<M as Memory>::Number, D>(device, dtype, &tensors, (loss.p, loss.is_own))
        })
    }
}

/// [`mse_grad`] of checked tensors; the loss has a place, and may have the type of the elements.
///
/// # Safety
/// As [`mse_grad`].
unsafe fn mse_grad_of<T: Real, D: Device>(
    device: &D,
    of: Dtype,
    tensors: &MseGradTensors,
    (loss, loss_is_own): (*mut u8, bool),
) -> Result<(), D::Error> {
    /// The numbers of the tensors.
    const GRAD: usize = 0;
    const PRED: usize = 1;
    const TARGET: usize = 2;
    let (n, is_own) = (tensors.count(), of == T::TYPE);
    if is_own && let Some([pred, target, grad]) = tensors.arrays() {
        let loss = loss.cast();
        let (pred, target, grad) = (pred.cast(), target.cast(), grad.cast());
        // SAFETY: as the caller's.
        return unsafe { raw::mse_grad::<T, D>(device, n as i64, pred, target, grad, loss) };
    }
    let mut room = Room::default();
    let mut argument = |k: usize, arg, at: Option<usize>| -> Result<Argument, Error> {
        let loops = tensors.loops();
        let p = loops.first[k];
        if is_own && tensors.array(k).is_some() {
            return Ok(Argument::in_place(p, of));
        }
        let mut axes = List::new();
        let all = loops.loops.iter();
        all.for_each(|one| axes.push((one.count, one.steps[k])));
        let at = at.map_or_else(|| room.add::<T>(n, arg), Ok)?;
        let copied = Some(Copied { axes, at });
        Ok(Argument { p, of, copied })
    };
    let pred = argument(PRED, "pred", None)?;
    let target = argument(TARGET, "target", None)?;
    // The gradient may take the place of an input's copy.
    let input = pred.copied.as_ref().or(target.copied.as_ref());
    let grad = argument(GRAD, "grad", input.map(|copied| copied.at))?;
    let mut sum = Argument::in_place(loss, of);
    if !is_own && loss_is_own {
        let (axes, at) = (List::new(), room.add::<T>(1, "loss")?);
        sum.copied = Some(Copied { axes, at });
    }
    let plan = MsePlan::new::<T, D>(device, n);
    device.prepare(&entry::mse_grad, T::TYPE)?;
    let scratch = room.allocate(device, plan.scratch())?;
    // SAFETY: as the caller's; there is room for the copies.
    unsafe {
        pred.copy::<T, D>(device, scratch, false)?;
        target.copy::<T, D>(device, scratch, false)?;
        let inputs = [&pred, &target].map(|input| input.place::<T>(scratch).cast_const());
        let outputs = [grad.place(scratch), sum.place(scratch)];
        plan.launch(device, n, inputs, outputs, scratch.behind(room.0))?;
        grad.copy::<T, D>(device, scratch, true)?;
        sum.copy::<T, D>(device, scratch, true)
    }
}

/// See `diptych::tensor::lsq_grad`.
///
/// # Errors
/// Those of that function; errors of the device. Vectors that are not contiguous, and all tensors of 16 bits, need scratch
/// memory for their copies.
///
/// # Safety
/// The tensors must be valid on the device until the launches have run.
pub unsafe fn lsq_grad<D: Device>(
    device: &D,
    a: &Tensor,
    x: &Tensor,
    y: &Tensor,
    grad: &Tensor,
) -> Result<(), D::Error> {
    // SAFETY: as the caller's.
    unsafe {
        let (dtype, a, vectors) = check_lsq_grad(a, x, y, grad, Location::Device)?;
        with_memory!(dtype, M, _format => {
            lsq_grad_of::<<M as Memory>::Number, D>(device, dtype, &a, &vectors)
        })
    }
}

/// [`lsq_grad`] of checked tensors.
///
/// # Safety
/// As [`lsq_grad`].
unsafe fn lsq_grad_of<T: Real, D: Device>(
    device: &D,
    of: Dtype,
    a: &StridedTensor<2>,
    [x, y, grad]: &[StridedTensor<1>; 3],
) -> Result<(), D::Error> {
    let [m, n] = a.shape.map(|size| size as usize);
    let [mut a_rs, mut a_cs] = a.strides.map(|stride| stride as isize);
    let is_own = of == T::TYPE;
    if n == 0 {
        return Ok(());
    }
    let mut room = Room::default();
    let mut argument = |vector: &StridedTensor<1>, arg, is_used: bool| -> Result<Argument, Error> {
        let ([count], [stride], p) = (vector.shape, vector.strides, vector.p);
        if is_own && stride == 1 || !is_used {
            return Ok(Argument::in_place(p, of));
        }
        let mut axes = List::new();
        axes.push((count as usize, stride as isize * of.size() as isize));
        let at = room.add::<T>(count as usize, arg)?;
        let copied = Some(Copied { axes, at });
        Ok(Argument { p, of, copied })
    };
    // Without rows x and y are not read.
    let (x, y) = (argument(x, "x", m > 0)?, argument(y, "y", m > 0)?);
    let grad = argument(grad, "grad", true)?;
    let mut matrix = Argument::in_place(a.p, of);
    if !is_own && m > 0 {
        let elements = m.checked_mul(n).ok_or(Error::SizeOverflow { arg: "a" })?;
        let at = room.add::<T>(elements, "a")?;
        let size = of.size() as isize;
        let [rows, columns] = [(m, a_rs * size), (n, a_cs * size)];
        // The copy keeps which axis is the inner one.
        let mut axes = List::new();
        if a_rs.unsigned_abs() < a_cs.unsigned_abs() {
            (a_rs, a_cs) = (1, m as isize);
            axes.push(columns);
            axes.push(rows);
        } else {
            (a_rs, a_cs) = (n as isize, 1);
            axes.push(rows);
            axes.push(columns);
        }
        matrix.copied = Some(Copied { axes, at });
    }
    let plan = LsqPlan::new::<T, D>(device, CheckedMatrix { m, n, a_rs, a_cs })?;
    device.prepare(plan.kernel(), T::TYPE)?;
    let scratch = room.allocate(device, plan.scratch())?;
    // SAFETY: as the caller's; there is room for the copies.
    unsafe {
        matrix.copy::<T, D>(device, scratch, false)?;
        x.copy::<T, D>(device, scratch, false)?;
        y.copy::<T, D>(device, scratch, false)?;
        let inputs = [&x, &y].map(|input| input.place::<T>(scratch).cast_const());
        let behind = scratch.behind(room.0);
        let a = matrix.place::<T>(scratch).cast_const();
        plan.launch(device, a, inputs, grad.place(scratch), behind)?;
        grad.copy::<T, D>(device, scratch, true)
    }
}
