//! Products of matrices over tensors: `matmul`.

use super::element_type::ElementType;
use super::kind::{Location, Type};
use super::loops::Loops;
use super::mixed;
use super::operand::{Axis, Operand, Tensor};
use super::product::{Bias, Product};
use super::strided::StridedTensor;
use super::vectors::element_type;
use crate::api::gemm::{self, check::Arguments};
use crate::api::mixed::{Options, ProductTypes};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::with_element;

/// What follows a product: factors, a bias, then a clamp. See [`MatmulOptions`](crate::MatmulOptions).
#[derive(Clone, Copy, Default)]
pub struct Epilogue<'a> {
    /// `(n,)`: element j is added to column j; `(m, 1)`: element i is added to row i.
    pub bias: Option<&'a Tensor>,
    /// The bounds lo and hi of [`clamp`](crate::clamp()), rounded to the type of the product.
    pub clamp: Option<(f64, f64)>,
    /// `(m,)`, of `f32`: a factor for each row. For bytes with a `c` of `f32` only.
    pub row_scale: Option<&'a Tensor>,
    /// `(n,)`, of `f32`: a factor for each column. For bytes with a `c` of `f32` only.
    pub column_scale: Option<&'a Tensor>,
}

/// c = alpha a b + beta c for each pair of matrices, then the epilogue.
///
/// The last two axes are rows and columns; the axes before them are broadcast, and `c` has exactly the broadcast
/// shape. As in NumPy, a vector `a` is one row and a vector `b` one column, and `c` does not have that axis. Each product
/// has the bits of [`gemm_fused`](crate::gemm_fused) or [`matmul`](crate::matmul()) of its matrices alone. The types are `f32`
/// and `f64`, or those of [`Multiply`](crate::Multiply); `alpha` and `beta` are rounded to the type of the sums, and of
/// integers they are 1, and 0 or 1. A bias has the type of `a` or `f32`; sums that are stored as integers have none. With
/// beta = 0, `c` is not read.
///
/// # Errors
/// `ShapeMismatch`, `TypeMismatch`, `UnsupportedType`, `Unsupported` for memory of a GPU; `Overlap` when `c` overlaps
/// another argument or itself; `NullPointer`, `Misaligned`, `NegativeSize`, `SizeOverflow`, `InvalidValue` for a bad rank;
/// `WorkspaceTooSmall`.
///
/// # Safety
/// The tensors must be valid at all elements, `c` for writing, and for reading unless beta = 0.
#[inline]
pub unsafe fn matmul(
    exec: &Exec<'_>,
    alpha: f64,
    a: &Tensor,
    b: &Tensor,
    beta: f64,
    c: &Tensor,
    epilogue: Option<&Epilogue<'_>>,
) -> Result<()> {
    // SAFETY: as the caller's.
    unsafe {
        if epilogue.is_none()
            && let Some(of) = Type::of(a.dtype_code, a.dtype_bits)
            && let Some(element) = of.element()
            && let (Some(a), Some(b)) = (StridedTensor::read(a, of), StridedTensor::read(b, of))
            && let Some(c) = StridedTensor::read(c, of)
            && let ([m, k], [l, n]) = (a.shape, b.shape)
            && (k, c.shape) == (l, [m, n])
        {
            return with_element!(element, T => single::<T>(exec, alpha, &a, &b, beta, &c));
        }
        general(exec, alpha, a, b, beta, c, epilogue)
    }
}

/// One product of matrices.
///
/// # Safety
/// As [`matmul`].
#[inline(always)]
unsafe fn single<T: Element>(
    exec: &Exec<'_>,
    alpha: f64,
    a: &StridedTensor<2>,
    b: &StridedTensor<2>,
    beta: f64,
    c: &StridedTensor<2>,
) -> Result<()> {
    let ([m, k], [_, n]) = (a.shape, b.shape);
    let (alpha, beta) = (T::from_f64(alpha), T::from_f64(beta));
    let (a, b) = (a.matrix().cast_const(), b.matrix().cast_const());
    let args = Arguments::new((m, n, k), alpha, a, b, beta, c.matrix());
    // SAFETY: as the caller's.
    unsafe { gemm::single(exec, &args) }
}

/// An axis that a vector lacks.
pub(super) const ONE: Axis = Axis { count: 1, step: 0 };

/// [`matmul`] of any tensors.
///
/// # Safety
/// As [`matmul`].
#[cold]
#[inline]
unsafe fn general(
    exec: &Exec<'_>,
    alpha: f64,
    a: &Tensor,
    b: &Tensor,
    beta: f64,
    c: &Tensor,
    epilogue: Option<&Epilogue<'_>>,
) -> Result<()> {
    // SAFETY: as the caller's.
    unsafe {
        match &mut check_matmul(alpha, a, b, beta, c, epilogue, Location::Host)? {
            Some((MatmulTypes::Element(element), product)) => product.run(exec, *element),
            Some((MatmulTypes::Mixed(types), product)) => mixed::run(exec, *types, product),
            None => Ok(()),
        }
    }
}

/// Checks the arguments of [`matmul`], which are in `memory`; `None` if there is nothing to compute.
///
/// # Errors
/// As [`matmul`].
///
/// # Safety
/// `shape` and `strides` of each tensor must be valid.
#[inline(never)]
pub unsafe fn check_matmul(
    alpha: f64,
    a: &Tensor,
    b: &Tensor,
    beta: f64,
    c: &Tensor,
    epilogue: Option<&Epilogue<'_>>,
    memory: Location,
) -> Result<Option<(MatmulTypes, Product)>> {
    let epilogue = epilogue.copied().unwrap_or_default();
    // SAFETY: as the caller's.
    let read = |tensor, arg| unsafe { Operand::in_memory(tensor, arg, memory) };
    let (a, b) = (read(a, "a")?, read(b, "b")?);
    let bias = match epilogue.bias {
        Some(bias) => Some(read(bias, "bias")?),
        None => None,
    };
    let c = read(c, "c")?;
    let options = Options {
        alpha,
        beta,
        has_bias: bias.is_some(),
        has_clamp: epilogue.clamp.is_some(),
        has_row_scale: epilogue.row_scale.is_some(),
        has_column_scale: epilogue.column_scale.is_some(),
    };
    let types = types([&a, &b, &c], bias.as_ref(), &options)?;
    let Matrices {
        batch,
        a: [a_rows, a_columns],
        b: [b_rows, b_columns],
        c: [c_rows, c_columns],
    } = Matrices::of(&a, &b, &c)?;
    let leading = |operand: &Operand| operand.leading(operand.rank().saturating_sub(2));
    let loops = batch_loops(&c.leading(batch), &leading(&a), &leading(&b))?;
    let (row_bias, column_bias) = match &bias {
        None => (None, None),
        Some(bias) => biases(bias, a_rows.count, b_columns.count)?,
    };
    // SAFETY: as the caller's.
    let scale = |tensor, arg, count| unsafe { mixed::scale(tensor, arg, count, &c, memory) };
    let row_scale = scale(epilogue.row_scale, "row_scale", a_rows.count)?;
    let column_scale = scale(epilogue.column_scale, "column_scale", b_columns.count)?;
    c.check_distinct()?;
    for operand in [&a, &b].into_iter().chain(&bias) {
        c.apart_from(operand)?;
    }
    if c.count == 0 {
        return Ok(None);
    }
    let product = Product {
        of: a.of,
        k: a_columns.count,
        rows: [c_rows, a_rows],
        columns: [c_columns, b_columns],
        inner: [a_columns.step, b_rows.step],
        loops,
        alpha,
        beta,
        row_bias,
        column_bias,
        bias_type: bias.as_ref().map_or(a.of, |bias| bias.of),
        row_scale,
        column_scale,
        clamp: epilogue.clamp,
    };
    Ok(Some((types, product)))
}

/// The types of a product, by the code that computes it.
#[derive(Clone, Copy)]
pub enum MatmulTypes {
    /// One type of all matrices.
    Element(ElementType),
    /// Integers and 16-bit numbers.
    Mixed(ProductTypes),
}

/// Checks the types of a product of these matrices, and that it has these options.
///
/// # Errors
/// `UnsupportedType`, `TypeMismatch`, `InvalidValue`.
fn types(
    [a, b, c]: [&Operand; 3],
    bias: Option<&Operand>,
    options: &Options,
) -> Result<MatmulTypes> {
    if let Some(types) = mixed::types(a, b, c)? {
        types.check(options)?;
        if let Some(bias) = bias {
            mixed::check_bias(types, a, bias)?;
        }
        return Ok(MatmulTypes::Mixed(types));
    }
    let element = element_type(a)?;
    for operand in [b, c].into_iter().chain(bias) {
        operand.same_type(a)?;
    }
    options.check_without_scales()?;
    Ok(MatmulTypes::Element(element))
}

/// The axes of the matrices of a product: rows and columns. A vector has one row or one column.
struct Matrices {
    /// The number of axes before them in the output.
    batch: usize,
    a: [Axis; 2],
    b: [Axis; 2],
    c: [Axis; 2],
}

impl Matrices {
    /// Returns the axes, which fit each other.
    fn of(a: &Operand, b: &Operand, c: &Operand) -> Result<Self> {
        for operand in [a, b] {
            if operand.rank() == 0 {
                return Err(Error::ShapeMismatch { arg: operand.arg });
            }
        }
        let last_of = |operand: &Operand, back: usize| {
            let axis = operand.rank().checked_sub(back);
            axis.map_or(ONE, |axis| operand.axis(axis))
        };
        let (is_row, is_column) = (a.rank() == 1, b.rank() == 1);
        let [b_rows, b_columns] = if is_column {
            [last_of(b, 1), ONE]
        } else {
            [last_of(b, 2), last_of(b, 1)]
        };
        let [a_rows, a_columns] = [last_of(a, 2), last_of(a, 1)];
        if a_columns.count != b_rows.count {
            return Err(Error::ShapeMismatch { arg: b.arg });
        }
        let batch = (a.rank().max(b.rank())).saturating_sub(2);
        let c_rank = batch + usize::from(!is_row) + usize::from(!is_column);
        let [c_rows, c_columns] = match (is_row, is_column) {
            (true, true) => [ONE, ONE],
            (true, false) => [ONE, last_of(c, 1)],
            (false, true) => [last_of(c, 1), ONE],
            (false, false) => [last_of(c, 2), last_of(c, 1)],
        };
        let shape = (a_rows.count, b_columns.count);
        if c.rank() != c_rank || (c_rows.count, c_columns.count) != shape {
            return Err(Error::ShapeMismatch { arg: c.arg });
        }
        Ok(Self {
            batch,
            a: [a_rows, a_columns],
            b: [b_rows, b_columns],
            c: [c_rows, c_columns],
        })
    }
}

/// Returns the bias of each row and the bias of each column of an `m` by `n` product; a bias is one or the other.
fn biases(bias: &Operand, m: usize, n: usize) -> Result<(Bias, Bias)> {
    let of_axis = Some((bias.p, bias.axis(0)));
    match bias.rank() {
        1 if bias.axis(0).count == n => Ok((None, of_axis)),
        2 if bias.axis(0).count == m && bias.axis(1).count == 1 => Ok((of_axis, None)),
        _ => Err(Error::ShapeMismatch { arg: bias.arg }),
    }
}

/// Returns the loops over the batch axes of `a` and `b`. The batch axes of `c` must have their broadcast shape.
///
/// # Errors
/// `ShapeMismatch`.
pub(super) fn batch_loops(c: &Operand, a: &Operand, b: &Operand) -> Result<Loops> {
    for i in 0..c.rank() {
        let count = |operand: &Operand| {
            let own = (i + operand.rank()).checked_sub(c.rank());
            own.map_or(1, |own| operand.axis(own).count)
        };
        let (of_a, of_b) = (count(a), count(b));
        if of_a != of_b && of_a != 1 && of_b != 1 {
            return Err(Error::ShapeMismatch { arg: b.arg });
        }
        if c.axis(i).count != if of_a == 1 { of_b } else { of_a } {
            return Err(Error::ShapeMismatch { arg: c.arg });
        }
    }
    Loops::new(c, [a, b].into_iter())
}
