//! Products of tensors.

use super::axes::take;
use super::integers;
use crate::ops::outer::{run_ger, run_outer, run_outer_unrounded};
use crate::ops::reduce::Dots;
use crate::ops::{gemm, mixed};
use diptych::backend::mixed::{ProductTypes, run_each};
use diptych::backend::outer::Arguments;
use diptych::backend::tensor::{
    DotTypes, ElementType, Location, MatmulTypes, Orders, OuterTypes, Product, StridedTensor,
    check_dot, check_matmul, check_outer, for_each,
};
use diptych::tensor::{Epilogue, Tensor};
use diptych::{Dtype, Element, Error, Storage, f16, with_element};
use diptych_device::launch::Device;
use diptych_device::memory::{Half, HalfFormat, Memory};
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
            Some((MatmulTypes::Mixed(types), product)) => run_mixed(device, types, product),
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
            Some((DotTypes::Half { of, is_own }, product)) => {
                half_dots(device, of, is_own, &product)
            }
            Some((DotTypes::Mixed(types), product)) => run_mixed(device, types, product),
            None => Ok(()),
        }
    }
}

/// Runs checked products whose operands are not what is summed.
///
/// # Safety
/// As [`matmul`].
unsafe fn run_mixed<D: Device>(
    device: &D,
    types: ProductTypes,
    mut product: Product,
) -> Result<(), D::Error> {
    // SAFETY: as the caller's.
    unsafe {
        run_each(types, &mut product, &|p, count| {
            mixed::batch(device, types, &p, count)
        })
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
        let batches = product.batches::<T>(Orders::of(device.batch_invariant()));
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

/// Runs checked dot products of 16-bit floats, whose results are rounded if `is_own`; a launch for each index of all axes but
/// the longest.
///
/// # Safety
/// As [`dot`].
unsafe fn half_dots<D: Device>(
    device: &D,
    of: Dtype,
    is_own: bool,
    product: &Product,
) -> Result<(), D::Error> {
    let format = HalfFormat::of(of);
    let format = if is_own {
        format
    } else {
        Half::unrounded(format)
    };
    let size = size_of::<Half>() as isize;
    let result = if is_own { size } else { 2 * size };
    let mut outer = product.loops.loops.clone();
    let along = take(&mut outer, |one| one.count);
    let [out_bs, x_bs, y_bs] = [
        along.steps[0] / result,
        along.steps[1] / size,
        along.steps[2] / size,
    ];
    let dots = Dots {
        count: along.count,
        n: product.k,
        increments: product.inner.map(|step| step / size),
        strides: [x_bs, y_bs, out_bs],
    };
    let mut done = Ok(());
    for_each(&outer, product.loops.first, |[out, x, y, ..]| {
        if done.is_ok() {
            let (x, y) = (x.cast_const().cast(), y.cast_const().cast());
            // SAFETY: as the caller's.
            done = unsafe { dots.launch::<Half, D>(device, format, x, y, out.cast()) };
        }
    });
    done
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
    let (types, vectors) = unsafe { check_outer(x, y, (out, "out"), Location::Device)? };
    // SAFETY: as the caller's.
    unsafe {
        match types {
            OuterTypes::Float(Dtype::F32) => {
                run_outer::<f32, f32, D>(device, (), &outer_arguments(vectors))
            }
            OuterTypes::Float(Dtype::F64) => {
                run_outer::<f64, f64, D>(device, (), &outer_arguments(vectors))
            }
            OuterTypes::Float(of) => {
                run_outer::<f16, Half, D>(device, HalfFormat::of(of), &outer_arguments(vectors))
            }
            OuterTypes::Unrounded(of) => run_outer_unrounded::<f16, Half, D>(
                device,
                HalfFormat::of(of.dtype()),
                &outer_arguments(vectors),
            ),
            OuterTypes::Integer(of) => integers::outer(device, of, &vectors),
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
    let (types, vectors) = unsafe { check_outer(x, y, (a, "a"), Location::Device)? };
    // SAFETY: as the caller's.
    unsafe {
        match types {
            OuterTypes::Float(Dtype::F32) => {
                run_ger::<f32, f32, D>(device, (), &ger_arguments(alpha, vectors))
            }
            OuterTypes::Float(Dtype::F64) => {
                run_ger::<f64, f64, D>(device, (), &ger_arguments(alpha, vectors))
            }
            OuterTypes::Float(of) => {
                run_ger::<f16, Half, D>(device, HalfFormat::of(of), &ger_arguments(alpha, vectors))
            }
            OuterTypes::Unrounded(_) => Err(Error::TypeMismatch { arg: "a" }.into()),
            OuterTypes::Integer(of) => integers::ger(device, of, alpha, &vectors),
        }
    }
}

/// Two vectors and a matrix.
type Vectors = (StridedTensor<1>, StridedTensor<1>, StridedTensor<2>);

/// Returns the arguments of [`outer`], with 16-bit floats as `f16`: the checks of addresses see the size alone.
fn outer_arguments<S: Storage, O>((x, y, out): Vectors) -> Arguments<S, O> {
    let sizes = (x.shape[0], y.shape[0]);
    Arguments::outer(sizes, x.vector(), y.vector(), out.matrix())
}

/// Returns the arguments of [`ger`], as [`outer_arguments`].
fn ger_arguments<S: Storage>(alpha: f64, (x, y, a): Vectors) -> Arguments<S, S> {
    let sizes = (x.shape[0], y.shape[0]);
    let alpha = S::Compute::from_f64(alpha);
    Arguments::ger(sizes, alpha, x.vector(), y.vector(), a.matrix())
}
