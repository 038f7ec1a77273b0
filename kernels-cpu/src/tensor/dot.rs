//! Dot products over tensors: `dot`.

use super::element_type::{ElementType, with_storage};
use super::kind::{Location, Type};
use super::loops::{MAX_OPERANDS, advance, for_each};
use super::matmul::{ONE, batch_loops};
use super::mixed;
use super::operand::{Operand, Tensor};
use super::product::Product;
use super::strided::StridedTensor;
use super::vectors::float_type;
use crate::api::mixed::ProductTypes;
use crate::api::reduce::{FoldKernels, StridedVector, fold};
use crate::dispatch::Compute;
use crate::element::{Dtype, Element, Storage};
use crate::error::{Error, Result};
use crate::exec::{Exec, Shared, share};
use crate::ops::reduce::Dot;
use crate::recipe::{Folded, finish_sum};
use crate::{raw, with_element};

/// The dot products along the last axes of `x` and `y`; the other axes are broadcast, and `out` has exactly the broadcast
/// shape. Each has the bits of [`dot`](crate::dot()). All have one type of floats, but results of `f16` and `bf16`
/// may also be `f32`, not rounded; or they are the integers of a
/// [`matmul`](super::matmul()).
///
/// # Errors
/// As [`matmul`](super::matmul()).
///
/// # Safety
/// The tensors must be valid at all elements, inputs for reading and the output for writing.
#[inline]
pub unsafe fn dot(exec: &Exec<'_>, x: &Tensor, y: &Tensor, out: &Tensor) -> Result<()> {
    // SAFETY: as the caller's.
    unsafe {
        if let Some(of) = Type::of(x.dtype_code, x.dtype_bits)
            && let Some(element) = of.element()
            && let (Some(x), Some(y)) = (
                StridedTensor::<1>::read(x, of),
                StridedTensor::<1>::read(y, of),
            )
            && let Some(out) = StridedTensor::<0>::read(out, of)
            && x.shape == y.shape
        {
            let ([n], [incx], [incy]) = (x.shape, x.strides, y.strides);
            let (x, y, out) = (x.p, y.p, out.p);
            return with_element!(element, T => {
                raw::dot::<T>(exec, n, x.cast(), incx, y.cast(), incy, out.cast())
            });
        }
        dot_general(exec, x, y, out)
    }
}

/// [`dot`] of any tensors.
///
/// # Safety
/// As [`dot`].
#[cold]
#[inline]
unsafe fn dot_general(exec: &Exec<'_>, x: &Tensor, y: &Tensor, out: &Tensor) -> Result<()> {
    // SAFETY: as the caller's.
    unsafe {
        match &mut check_dot(x, y, out, Location::Host)? {
            Some((DotTypes::Element(element), product)) => product.run(exec, *element),
            Some((DotTypes::Mixed(types), product)) => mixed::run(exec, *types, product),
            Some((DotTypes::Half { of, is_own }, product)) => with_storage!(*of, T => if *is_own {
                of_half::<T, T>(exec, product)
            } else {
                of_half::<T, Compute<T>>(exec, product)
            }),
            None => Ok(()),
        }
    }
}

/// The dot products of 16-bit floats, with results of the type `O`.
///
/// # Errors
/// `LevelUnavailable`.
///
/// # Safety
/// As [`Product::run`].
unsafe fn of_half<T: Storage, O: Storage<Compute = Compute<T>>>(
    exec: &Exec<'_>,
    product: &Product,
) -> Result<()> {
    let fold_of = FoldKernels::of::<Dot>(exec.level()?);
    let n = product.k;
    let [incx, incy] = product.inner.map(|step| step / size_of::<T>() as isize);
    let one = |exec: &Exec<'_>, [out, x, y, ..]: [*mut u8; MAX_OPERANDS]| {
        let x = StridedVector::<T>::new(x.cast_const().cast(), incx);
        let y = StridedVector::<T>::new(y.cast_const().cast(), incy);
        // SAFETY: as the caller's; no other task has this result.
        unsafe {
            let Folded(sum, _) = fold(exec, fold_of, n, x, y, Compute::<T>::ZERO);
            out.cast::<O>().write(O::from_compute(finish_sum(sum)));
        }
    };
    let loops = &product.loops;
    let count = loops.count();
    let bytes = count.saturating_mul(n).saturating_mul(2 * size_of::<T>());
    let tasks = if count < exec.threads() {
        1
    } else {
        exec.tasks(bytes, count)
    };
    if tasks == 1 {
        for_each(&loops.loops, loops.first, |p| one(exec, p));
        return Ok(());
    }
    let (each, axes) = (share(count, tasks), &loops.loops);
    let shared = loops.first.map(|p| Shared::new(p));
    exec.run(tasks, &|task| {
        for number in task * each..count.min((task + 1) * each) {
            let (mut p, mut rest) = (shared.map(Shared::get), number);
            for one in axes.iter().rev() {
                let index = rest.checked_rem(one.count).unwrap_or(0);
                rest = rest.checked_div(one.count).unwrap_or(0);
                p = advance(p, one, index);
            }
            one(&Exec::new(), p);
        }
    });
    Ok(())
}

/// The types of a dot product, by the code that computes it.
#[derive(Clone, Copy)]
pub enum DotTypes {
    /// One type of all tensors.
    Element(ElementType),
    /// Floats of 16 bits.
    Half {
        /// The type of the vectors.
        of: Dtype,
        /// Whether the results have that type, too; else they are `f32`.
        is_own: bool,
    },
    /// Integers.
    Mixed(ProductTypes),
}

/// Checks the types of dot products.
///
/// # Errors
/// `UnsupportedType`, `TypeMismatch`.
fn types(x: &Operand, y: &Operand, out: &Operand) -> Result<DotTypes> {
    if matches!(x.of, Type::Integer(_))
        && let Some(types) = mixed::types(x, y, out)?
    {
        return Ok(DotTypes::Mixed(types));
    }
    let of = float_type(x)?;
    y.same_type(x)?;
    let is_own = of.size() > 2 || out.of != Type::Float(Dtype::F32);
    if is_own {
        out.same_type(x)?;
    }
    Ok(match ElementType::of(of) {
        Some(element) => DotTypes::Element(element),
        None => DotTypes::Half { of, is_own },
    })
}

/// Checks the arguments of [`dot`], which are in `memory`; `None` if there is nothing to compute.
///
/// # Errors
/// As [`dot`].
///
/// # Safety
/// `shape` and `strides` of each tensor must be valid.
#[inline(never)]
pub unsafe fn check_dot(
    x: &Tensor,
    y: &Tensor,
    out: &Tensor,
    memory: Location,
) -> Result<Option<(DotTypes, Product)>> {
    // SAFETY: as the caller's.
    let read = |tensor, arg| unsafe { Operand::in_memory(tensor, arg, memory) };
    let (x, y, out) = (read(x, "x")?, read(y, "y")?, read(out, "out")?);
    let types = types(&x, &y, &out)?;
    let (Some(&along_x), Some(&along_y)) = (x.axes.last(), y.axes.last()) else {
        let arg = if x.rank() == 0 { x.arg } else { y.arg };
        return Err(Error::ShapeMismatch { arg });
    };
    if along_x.count != along_y.count {
        return Err(Error::ShapeMismatch { arg: y.arg });
    }
    let leading = |operand: &Operand| operand.leading(operand.rank().saturating_sub(1));
    if out.rank() + 1 != x.rank().max(y.rank()) {
        return Err(Error::ShapeMismatch { arg: out.arg });
    }
    let loops = batch_loops(&out, &leading(&x), &leading(&y))?;
    out.check_distinct()?;
    out.apart_from(&x)?;
    out.apart_from(&y)?;
    if out.count == 0 {
        return Ok(None);
    }
    // Products of one row and one column have the order of `dot`.
    let product = Product {
        of: x.of,
        k: along_x.count,
        rows: [ONE; 2],
        columns: [ONE; 2],
        inner: [along_x.step, along_y.step],
        loops,
        alpha: 1.0,
        beta: 0.0,
        row_bias: None,
        column_bias: None,
        bias_type: x.of,
        row_scale: None,
        column_scale: None,
        clamp: None,
    };
    Ok(Some((types, product)))
}
