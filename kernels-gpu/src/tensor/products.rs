//! Products and gradients of tensors.

use crate::ops::gemm;
use crate::raw;
use diptych::backend::tensor::{
    Axis, Location, Operand, Product, Squares, check_dot, check_lsq_grad, check_matmul,
    check_mse_grad, check_outer,
};
use diptych::tensor::{Epilogue, Tensor};
use diptych::{Dtype, Error};
use diptych_device::launch::Device;
use diptych_device::real::Real;

/// See `diptych::tensor::matmul`; one launch or two for each index of all batch axes but the longest.
///
/// # Errors
/// Those of that function; errors of the device.
///
/// # Safety
/// The tensors must be valid on the device until the launches have run.
pub unsafe fn matmul<D: Device>(
    device: &D,
    alpha: f64,
    a: &Tensor,
    b: &Tensor,
    beta: f64,
    c: &Tensor,
    epilogue: Option<&Epilogue<'_>>,
) -> Result<(), D::Error> {
    // SAFETY: as the caller's.
    unsafe {
        let product = check_matmul(alpha, a, b, beta, c, epilogue, Location::Device)?;
        product.map_or(Ok(()), |product| run(device, product))
    }
}

/// See `diptych::tensor::dot`.
///
/// # Errors
/// Those of that function; errors of the device.
///
/// # Safety
/// The tensors must be valid on the device until the launches have run.
pub unsafe fn dot<D: Device>(
    device: &D,
    x: &Tensor,
    y: &Tensor,
    out: &Tensor,
) -> Result<(), D::Error> {
    // SAFETY: as the caller's.
    unsafe {
        let product = check_dot(x, y, out, Location::Device)?;
        product.map_or(Ok(()), |product| run(device, product))
    }
}

/// Runs checked products.
///
/// # Safety
/// As [`matmul`].
unsafe fn run<D: Device>(device: &D, (dtype, product): (Dtype, Product)) -> Result<(), D::Error> {
    /// # Safety
    /// As [`matmul`].
    unsafe fn typed<T: Real, D: Device>(device: &D, product: Product) -> Result<(), D::Error> {
        let batches = product.batches::<T>();
        for number in 0..batches.count() {
            // SAFETY: as the caller's.
            unsafe { gemm::batch(device, &batches.get(number))? };
        }
        Ok(())
    }
    // SAFETY: as the caller's.
    unsafe {
        match dtype {
            Dtype::F64 => typed::<f64, D>(device, product),
            _ => typed::<f32, D>(device, product),
        }
    }
}

/// See `diptych::tensor::outer`.
///
/// # Errors
/// Those of that function; errors of the device.
///
/// # Safety
/// The tensors must be valid on the device until the launch has run.
pub unsafe fn outer<D: Device>(
    device: &D,
    x: &Tensor,
    y: &Tensor,
    out: &Tensor,
) -> Result<(), D::Error> {
    // SAFETY: as the caller's.
    let (dtype, (x, y, out)) = unsafe { check_outer(x, y, (out, "out"), Location::Device)? };
    let ([m], [n], [rs, cs]) = (x.shape, y.shape, out.strides);
    let ([incx], [incy]) = (x.strides, y.strides);
    macro_rules! typed {
        ($T:ty) => {
            raw::outer::<$T, D>(
                device,
                m,
                n,
                x.p.cast(),
                incx,
                y.p.cast(),
                incy,
                out.p.cast(),
                rs,
                cs,
            )
        };
    }
    // SAFETY: as the caller's.
    unsafe {
        match dtype {
            Dtype::F64 => typed!(f64),
            _ => typed!(f32),
        }
    }
}

/// See `diptych::tensor::ger`.
///
/// # Errors
/// Those of that function; errors of the device.
///
/// # Safety
/// The tensors must be valid on the device until the launch has run.
pub unsafe fn ger<D: Device>(
    device: &D,
    alpha: f64,
    x: &Tensor,
    y: &Tensor,
    a: &Tensor,
) -> Result<(), D::Error> {
    // SAFETY: as the caller's.
    let (dtype, (x, y, a)) = unsafe { check_outer(x, y, (a, "a"), Location::Device)? };
    let ([m], [n], [rs, cs]) = (x.shape, y.shape, a.strides);
    let ([incx], [incy]) = (x.strides, y.strides);
    macro_rules! typed {
        ($T:ty) => {
            raw::ger::<$T, D>(
                device,
                m,
                n,
                alpha as $T,
                x.p.cast(),
                incx,
                y.p.cast(),
                incy,
                a.p.cast(),
                rs,
                cs,
            )
        };
    }
    // SAFETY: as the caller's.
    unsafe {
        match dtype {
            Dtype::F64 => typed!(f64),
            _ => typed!(f32),
        }
    }
}

/// See `diptych::tensor::mse_grad`.
///
/// # Errors
/// Those of that function; `Unsupported` unless `pred`, `target` and `grad` are contiguous; errors of the device.
///
/// # Safety
/// The tensors must be valid on the device until the launch has run.
pub unsafe fn mse_grad<D: Device>(
    device: &D,
    pred: &Tensor,
    target: &Tensor,
    grad: &Tensor,
    loss: &Tensor,
) -> Result<(), D::Error> {
    // SAFETY: as the caller's.
    let (dtype, [pred, target, grad, loss]) =
        unsafe { check_mse_grad(pred, target, grad, loss, Location::Device)? };
    if !Squares::new(&pred, &target, &grad)?.are_contiguous() {
        return Err(Error::Unsupported { arg: grad.arg }.into());
    }
    let n = grad.count as i64;
    macro_rules! typed {
        ($T:ty) => {
            raw::mse_grad::<$T, D>(
                device,
                n,
                pred.p.cast(),
                target.p.cast(),
                grad.p.cast(),
                loss.p.cast(),
            )
        };
    }
    // SAFETY: as the caller's.
    unsafe {
        match dtype {
            Dtype::F64 => typed!(f64),
            _ => typed!(f32),
        }
    }
}

/// See `diptych::tensor::lsq_grad`.
///
/// # Errors
/// Those of that function; `Unsupported` for a vector that is not contiguous; errors of the device.
///
/// # Safety
/// The tensors must be valid on the device until the launch has run.
pub unsafe fn lsq_grad<D: Device>(
    device: &D,
    a: &Tensor,
    x: &Tensor,
    y: &Tensor,
    grad: &Tensor,
) -> Result<(), D::Error> {
    // SAFETY: as the caller's.
    let (dtype, [a, x, y, grad]) = unsafe { check_lsq_grad(a, x, y, grad, Location::Device)? };
    for vector in [&x, &y, &grad] {
        if stride(vector, 0) != 1 {
            return Err(Error::Unsupported { arg: vector.arg }.into());
        }
    }
    let (m, n) = (a.axis(0).count as i64, a.axis(1).count as i64);
    let (rs, cs) = (stride(&a, 0), stride(&a, 1));
    macro_rules! typed {
        ($T:ty) => {
            raw::lsq_grad::<$T, D>(
                device,
                m,
                n,
                a.p.cast(),
                rs,
                cs,
                x.p.cast(),
                y.p.cast(),
                grad.p.cast(),
            )
        };
    }
    // SAFETY: as the caller's.
    unsafe {
        match dtype {
            Dtype::F64 => typed!(f64),
            _ => typed!(f32),
        }
    }
}

/// Returns the stride of an axis in elements; 1 where it has no meaning.
fn stride(operand: &Operand, axis: usize) -> i64 {
    match operand.axis(axis) {
        Axis { count, .. } if count < 2 => 1,
        axis => axis.stride(operand.of) as i64,
    }
}
