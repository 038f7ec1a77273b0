//! Losses and their gradients over tensors. Their kernels take contiguous arrays: other tensors are copied to scratch
//! memory first, and the gradient from there.

use super::convert::{copy, copy_of};
use super::element;
use crate::ops::fused::{LsqPlan, MsePlan};
use crate::raw;
use diptych::backend::check::fused::CheckedMatrix;
use diptych::backend::tensor::{
    List, Location, MseGradTensors, StridedTensor, Type, check_lsq_grad, check_mse_grad,
};
use diptych::tensor::Tensor;
use diptych::{Dtype, Error, with_element};
use diptych_device::launch::{Device, Scratch, entry};
use diptych_device::real::Real;

/// An argument of a kernel.
struct Argument {
    /// The first element.
    p: *mut u8,
    /// Its copy, if it is not contiguous.
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
        let job = copy_of(Type::Float(T::TYPE), axes, to, from);
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
/// Those of that function; errors of the device. Tensors that are not contiguous need scratch memory for their copies.
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
        with_element!(element(dtype)?, T => mse_grad_of::<T, D>(device, &tensors, loss.p.cast()))
    }
}

/// [`mse_grad`] of checked tensors.
///
/// # Safety
/// As [`mse_grad`].
unsafe fn mse_grad_of<T: Real, D: Device>(
    device: &D,
    tensors: &MseGradTensors,
    loss: *mut T,
) -> Result<(), D::Error> {
    /// The numbers of the tensors.
    const GRAD: usize = 0;
    const PRED: usize = 1;
    const TARGET: usize = 2;
    let n = tensors.count();
    if let Some([pred, target, grad]) = tensors.arrays() {
        let (pred, target, grad) = (pred.cast(), target.cast(), grad.cast());
        // SAFETY: as the caller's.
        return unsafe { raw::mse_grad::<T, D>(device, n as i64, pred, target, grad, loss) };
    }
    let mut room = Room::default();
    let mut argument = |k: usize, arg, at: Option<usize>| -> Result<Argument, Error> {
        let loops = tensors.loops();
        let p = loops.first[k];
        if tensors.array(k).is_some() {
            return Ok(Argument { p, copied: None });
        }
        let mut axes = List::new();
        let all = loops.loops.iter();
        all.for_each(|one| axes.push((one.count, one.steps[k])));
        let at = at.map_or_else(|| room.add::<T>(n, arg), Ok)?;
        let copied = Some(Copied { axes, at });
        Ok(Argument { p, copied })
    };
    let pred = argument(PRED, "pred", None)?;
    let target = argument(TARGET, "target", None)?;
    // The gradient may take the place of an input's copy.
    let input = pred.copied.as_ref().or(target.copied.as_ref());
    let grad = argument(GRAD, "grad", input.map(|copied| copied.at))?;
    let plan = MsePlan::new::<T, D>(device, n);
    device.prepare(&entry::mse_grad, T::TYPE)?;
    let scratch = room.allocate(device, plan.scratch())?;
    // SAFETY: as the caller's; there is room for the copies.
    unsafe {
        pred.copy::<T, D>(device, scratch, false)?;
        target.copy::<T, D>(device, scratch, false)?;
        let inputs = [&pred, &target].map(|input| input.place::<T>(scratch).cast_const());
        let outputs = [grad.place(scratch), loss];
        plan.launch(device, n, inputs, outputs, scratch.behind(room.0))?;
        grad.copy::<T, D>(device, scratch, true)
    }
}

/// See `diptych::tensor::lsq_grad`.
///
/// # Errors
/// Those of that function; errors of the device. Vectors that are not contiguous need scratch memory for their copies.
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
        with_element!(element(dtype)?, T => lsq_grad_of::<T, D>(device, &a, &vectors))
    }
}

/// [`lsq_grad`] of checked tensors.
///
/// # Safety
/// As [`lsq_grad`].
unsafe fn lsq_grad_of<T: Real, D: Device>(
    device: &D,
    a: &StridedTensor<2>,
    [x, y, grad]: &[StridedTensor<1>; 3],
) -> Result<(), D::Error> {
    let [m, n] = a.shape.map(|size| size as usize);
    let [a_rs, a_cs] = a.strides.map(|stride| stride as isize);
    if n == 0 {
        return Ok(());
    }
    let mut room = Room::default();
    let mut argument = |vector: &StridedTensor<1>, arg, is_used: bool| -> Result<Argument, Error> {
        let ([count], [stride], p) = (vector.shape, vector.strides, vector.p);
        if stride == 1 || !is_used {
            return Ok(Argument { p, copied: None });
        }
        let mut axes = List::new();
        axes.push((count as usize, stride as isize * size_of::<T>() as isize));
        let at = room.add::<T>(count as usize, arg)?;
        let copied = Some(Copied { axes, at });
        Ok(Argument { p, copied })
    };
    // Without rows x and y are not read.
    let (x, y) = (argument(x, "x", m > 0)?, argument(y, "y", m > 0)?);
    let grad = argument(grad, "grad", true)?;
    let plan = LsqPlan::new::<T, D>(device, CheckedMatrix { m, n, a_rs, a_cs })?;
    device.prepare(plan.kernel(), T::TYPE)?;
    let scratch = room.allocate(device, plan.scratch())?;
    // SAFETY: as the caller's; there is room for the copies.
    unsafe {
        x.copy::<T, D>(device, scratch, false)?;
        y.copy::<T, D>(device, scratch, false)?;
        let inputs = [&x, &y].map(|input| input.place::<T>(scratch).cast_const());
        let behind = scratch.behind(room.0);
        plan.launch(device, a.p.cast(), inputs, grad.place(scratch), behind)?;
        grad.copy::<T, D>(device, scratch, true)
    }
}
