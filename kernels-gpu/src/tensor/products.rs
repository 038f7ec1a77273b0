//! Products of tensors.

use crate::ops::gemm;
use crate::raw;
use diptych::backend::tensor::{Location, Product, check_dot, check_matmul, check_outer};
use diptych::tensor::{Epilogue, Tensor};
use diptych::{Dtype, Element};
use diptych_device::launch::Device;
use diptych_device::real::Real;

/// Calls an operation on pointers for the type of the tensors.
macro_rules! typed {
    ($dtype:expr, $op:ident($($arg:expr),*)) => {
        match $dtype {
            Dtype::F64 => raw::$op::<f64, D>($($arg),*),
            _ => raw::$op::<f32, D>($($arg),*),
        }
    };
}

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
        run(
            device,
            &mut check_matmul(alpha, a, b, beta, c, epilogue, Location::Device)?,
        )
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
    unsafe { run(device, &mut check_dot(x, y, out, Location::Device)?) }
}

/// Runs checked products, if there are any.
///
/// # Safety
/// As [`matmul`].
unsafe fn run<D: Device>(
    device: &D,
    products: &mut Option<(Dtype, Product)>,
) -> Result<(), D::Error> {
    /// # Safety
    /// As [`matmul`].
    unsafe fn typed<T: Real, D: Device>(device: &D, product: &mut Product) -> Result<(), D::Error> {
        let batches = product.batches::<T>();
        for number in 0..batches.count() {
            // SAFETY: as the caller's.
            unsafe { gemm::batch(device, &batches.get(number))? };
        }
        Ok(())
    }
    // SAFETY: as the caller's.
    unsafe {
        match products {
            None => Ok(()),
            Some((Dtype::F64, product)) => typed::<f64, D>(device, product),
            Some((_, product)) => typed::<f32, D>(device, product),
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
    // SAFETY: as the caller's.
    unsafe {
        typed!(
            dtype,
            outer(
                device,
                m,
                n,
                x.p.cast(),
                incx,
                y.p.cast(),
                incy,
                out.p.cast(),
                rs,
                cs
            )
        )
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
    // SAFETY: as the caller's.
    unsafe {
        typed!(
            dtype,
            ger(
                device,
                m,
                n,
                Element::from_f64(alpha),
                x.p.cast(),
                incx,
                y.p.cast(),
                incy,
                a.p.cast(),
                rs,
                cs
            )
        )
    }
}
