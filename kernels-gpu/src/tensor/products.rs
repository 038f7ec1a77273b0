//! Products of tensors.

use super::element;
use crate::ops::{gemm, mixed};
use crate::raw;
use diptych::backend::mixed::run_each;
use diptych::backend::tensor::{
    DotTypes, ElementType, Location, MatmulTypes, OuterTypes, Product, check_dot, check_matmul,
    check_outer,
};
use diptych::tensor::{Epilogue, Tensor};
use diptych::{Element, Error, with_element};
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
        match check_matmul(alpha, a, b, beta, c, epilogue, Location::Device)? {
            Some((MatmulTypes::Element(element), product)) => {
                run(device, &mut Some((element, product)))
            }
            Some((MatmulTypes::Mixed(types), mut product)) => {
                run_each(types, &mut product, &|p, count| {
                    mixed::batch(device, types, &p, count)
                })
            }
            None => Ok(()),
        }
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
        match check_dot(x, y, out, Location::Device)? {
            Some((DotTypes::Element(element), product)) => {
                run(device, &mut Some((element, product)))
            }
            Some((DotTypes::Half { .. } | DotTypes::Mixed(_), _)) => {
                Err(Error::UnsupportedType { arg: "x" }.into())
            }
            None => Ok(()),
        }
    }
}

/// Runs checked products, if there are any.
///
/// # Safety
/// As [`matmul`].
unsafe fn run<D: Device>(
    device: &D,
    products: &mut Option<(ElementType, Product)>,
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
            Some((element, product)) => {
                with_element!(*element, T => typed::<T, D>(device, product))
            }
        }
    }
}

/// Returns the type of all operands of an outer product.
fn outer_element(types: OuterTypes) -> Result<ElementType, Error> {
    match types {
        OuterTypes::Float(dtype) => element(dtype),
        OuterTypes::Unrounded(_) | OuterTypes::Integer(_) => {
            Err(Error::UnsupportedType { arg: "x" })
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
    let (types, (x, y, out)) = unsafe { check_outer(x, y, (out, "out"), Location::Device)? };
    let element = outer_element(types)?;
    let ([m], [n], [rs, cs]) = (x.shape, y.shape, out.strides);
    let ([incx], [incy]) = (x.strides, y.strides);
    // SAFETY: as the caller's.
    unsafe {
        let (x, y, out) = (x.p, y.p, out.p);
        with_element!(element, T => {
            raw::outer::<T, D>(device, m, n, x.cast(), incx, y.cast(), incy, out.cast(), rs, cs)
        })
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
    let (types, (x, y, a)) = unsafe { check_outer(x, y, (a, "a"), Location::Device)? };
    let element = outer_element(types)?;
    let ([m], [n], [rs, cs]) = (x.shape, y.shape, a.strides);
    let ([incx], [incy]) = (x.strides, y.strides);
    // SAFETY: as the caller's.
    unsafe {
        let (x, y, a) = (x.p, y.p, a.p);
        with_element!(element, T => {
            let alpha = T::from_f64(alpha);
            raw::ger::<T, D>(device, m, n, alpha, x.cast(), incx, y.cast(), incy, a.cast(), rs, cs)
        })
    }
}
