//! Losses and their gradients over tensors. Their kernels take contiguous arrays: other tensors are copied to scratch
//! memory first, and the gradient from there.

use super::convert::copy;
use crate::ops::fused::{LsqPlan, MsePlan};
use crate::raw;
use diptych::backend::check::fused::Shape;
use diptych::backend::tensor::{
    Converted, Given, List, Location, Loop, Loops, MAX_OPERANDS, Squares, Type, check_lsq_grad,
    check_mse_grad,
};
use diptych::tensor::Tensor;
use diptych::{Dtype, Error};
use diptych_device::launch::{Device, Scratch, entry};
use diptych_device::real::Real;

/// A tensor and its copy in scratch memory, which is contiguous in row-major order.
struct Copied {
    /// The axes, the outermost first: their lengths, and bytes from one element to the next.
    axes: List<(usize, isize)>,
    /// The first element.
    p: *mut u8,
    /// Where the copy begins in scratch memory.
    at: usize,
}

impl Copied {
    /// Launches a copy to scratch memory, or back.
    ///
    /// # Safety
    /// The tensor must be valid on the device until the launch has run, the scratch memory have room.
    unsafe fn launch<T: Real, D: Device>(
        &self,
        device: &D,
        scratch: Scratch,
        back: bool,
    ) -> Result<(), D::Error> {
        let mut loops = List::new();
        let mut own = size_of::<T>() as isize;
        for &(count, step) in self.axes.iter().rev() {
            let mut steps = [0; MAX_OPERANDS];
            [steps[0], steps[1]] = if back { [step, own] } else { [own, step] };
            loops.push(Loop { count, steps });
            own *= count as isize;
        }
        let copy_at = scratch.bytes.wrapping_add(self.at);
        let (to, from) = if back {
            (self.p, copy_at)
        } else {
            (copy_at, self.p)
        };
        let of = Type::Float(T::TYPE);
        let job = Converted {
            of,
            to: of,
            loops: Loops::of_copy(loops, to, from),
        };
        // SAFETY: as the caller's.
        unsafe { copy(device, job, None) }
    }
}

/// The scratch memory of a call: room for copies, then that of its kernel.
#[derive(Default)]
struct Room(usize);

impl Room {
    /// Adds room for `n` elements; returns where it begins.
    fn add<T>(&mut self, n: usize) -> Result<usize, Error> {
        let at = self.0;
        let bytes = n
            .checked_mul(size_of::<T>())
            .and_then(|bytes| bytes.checked_next_multiple_of(16));
        let end = bytes.and_then(|bytes| at.checked_add(bytes));
        self.0 = end.ok_or(Error::SizeOverflow { arg: "n" })?;
        Ok(at)
    }

    /// Returns the scratch memory, and that of the kernel, which takes so many bytes and counters.
    fn allocate<D: Device>(
        &self,
        device: &D,
        (bytes, counters): (usize, usize),
    ) -> Result<(Scratch, Scratch), D::Error> {
        let bytes = self
            .0
            .checked_add(bytes)
            .ok_or(Error::SizeOverflow { arg: "n" })?;
        let all = device.scratch(bytes, counters)?;
        let behind = Scratch {
            bytes: all.bytes.wrapping_add(self.0),
            ..all
        };
        Ok((all, behind))
    }
}

/// See `diptych::tensor::mse_grad`.
///
/// # Errors
/// Those of that function; errors of the device. Tensors that are not contiguous need scratch memory for their copies.
///
/// # Safety
/// The tensors must be valid on the device until the launches have run.
pub unsafe fn mse_grad<D: Device>(
    device: &D,
    pred: &Tensor,
    target: &Tensor,
    grad: &Tensor,
    loss: &Tensor,
) -> Result<(), D::Error> {
    // SAFETY: as the caller's.
    unsafe {
        let (dtype, squares, loss) = check_mse_grad(pred, target, grad, loss, Location::Device)?;
        match dtype {
            Dtype::F64 => mse_grad_of::<f64, D>(device, &squares, loss.cast()),
            _ => mse_grad_of::<f32, D>(device, &squares, loss.cast()),
        }
    }
}

/// [`mse_grad`] of checked tensors.
///
/// # Safety
/// As [`mse_grad`].
unsafe fn mse_grad_of<T: Real, D: Device>(
    device: &D,
    squares: &Squares,
    loss: *mut T,
) -> Result<(), D::Error> {
    /// The numbers of the tensors.
    const GRAD: usize = 0;
    const PRED: usize = 1;
    const TARGET: usize = 2;
    let n = squares.count();
    if let Some([pred, target, grad]) = squares.arrays() {
        let (pred, target, grad) = (pred.cast(), target.cast(), grad.cast());
        // SAFETY: as the caller's.
        return unsafe { raw::mse_grad::<T, D>(device, n as i64, pred, target, grad, loss) };
    }
    let mut room = Room::default();
    let mut copied = |k: usize, at: Option<usize>| -> Result<Option<Copied>, Error> {
        if squares.array(k).is_some() {
            return Ok(None);
        }
        let loops = squares.loops();
        let mut axes = List::new();
        loops
            .loops
            .iter()
            .for_each(|one| axes.push((one.count, one.steps[k])));
        let at = match at {
            Some(at) => at,
            None => room.add::<T>(n)?,
        };
        Ok(Some(Copied {
            axes,
            p: loops.first[k],
            at,
        }))
    };
    let (pred, target) = (copied(PRED, None)?, copied(TARGET, None)?);
    // The gradient may take the place of an input's copy.
    let input = pred.as_ref().or(target.as_ref());
    let grad = copied(GRAD, input.map(|input| input.at))?;
    let plan = MsePlan::new::<T, D>(device, n);
    device.prepare(&entry::convert, Dtype::F32)?;
    device.prepare(&entry::mse_grad, T::TYPE)?;
    let (scratch, behind) = room.allocate(device, plan.scratch())?;
    let place = |k: usize, copied: &Option<Copied>| -> *mut T {
        let copy = copied
            .as_ref()
            .map(|one| scratch.bytes.wrapping_add(one.at));
        copy.or(squares.array(k)).unwrap_or_default().cast()
    };
    // SAFETY: as the caller's; there is room for the copies.
    unsafe {
        for input in [&pred, &target].into_iter().flatten() {
            input.launch::<T, D>(device, scratch, false)?;
        }
        let inputs = [place(PRED, &pred), place(TARGET, &target)].map(<*mut T>::cast_const);
        plan.launch(device, n, inputs, [place(GRAD, &grad), loss], behind)?;
        match grad {
            Some(grad) => grad.launch::<T, D>(device, scratch, true),
            None => Ok(()),
        }
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
        match dtype {
            Dtype::F64 => lsq_grad_of::<f64, D>(device, &a, &vectors),
            _ => lsq_grad_of::<f32, D>(device, &a, &vectors),
        }
    }
}

/// [`lsq_grad`] of checked tensors.
///
/// # Safety
/// As [`lsq_grad`].
unsafe fn lsq_grad_of<T: Real, D: Device>(
    device: &D,
    a: &Given<2>,
    vectors: &[Given<1>; 3],
) -> Result<(), D::Error> {
    const GRAD: usize = 2;
    let ([m, n], [a_rs, a_cs]) = (
        a.shape.map(|size| size as usize),
        a.strides.map(|stride| stride as isize),
    );
    if n == 0 {
        return Ok(());
    }
    let mut room = Room::default();
    let mut copies = [const { None }; 3];
    for (k, (slot, vector)) in copies.iter_mut().zip(vectors).enumerate() {
        // Without rows x and y are not read.
        if vector.strides == [1] || (m == 0 && k != GRAD) {
            continue;
        }
        let count = vector.shape[0] as usize;
        let mut axes = List::new();
        axes.push((count, vector.strides[0] as isize * size_of::<T>() as isize));
        *slot = Some(Copied {
            axes,
            p: vector.p,
            at: room.add::<T>(count)?,
        });
    }
    let plan = LsqPlan::new::<T, D>(device, Shape { m, n, a_rs, a_cs })?;
    if room.0 > 0 {
        device.prepare(&entry::convert, Dtype::F32)?;
    }
    device.prepare(plan.kernel(), T::TYPE)?;
    let (scratch, behind) = room.allocate(device, plan.scratch())?;
    let place = |k: usize| -> *mut T {
        let copy = copies[k]
            .as_ref()
            .map(|one: &Copied| scratch.bytes.wrapping_add(one.at));
        copy.unwrap_or(vectors[k].p).cast()
    };
    let [x, y, grad] = [0, 1, GRAD].map(place);
    // SAFETY: as the caller's; there is room for the copies.
    unsafe {
        for input in copies[..GRAD].iter().flatten() {
            input.launch::<T, D>(device, scratch, false)?;
        }
        plan.launch(
            device,
            a.p.cast(),
            [x, y].map(<*mut T>::cast_const),
            grad,
            behind,
        )?;
        match &copies[GRAD] {
            Some(grad) => grad.launch::<T, D>(device, scratch, true),
            None => Ok(()),
        }
    }
}
