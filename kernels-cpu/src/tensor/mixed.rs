//! Products of tensors of integers and of 16-bit numbers.

use super::kind::{Integer, Location, Type};
use super::operand::{Axis, Operand, Tensor};
use super::product::{Bias, ONCE, Orders, Product};
use crate::api::mixed::{Half, Integers, Operands, Output, ProductTypes, run as calls};
use crate::element::Dtype;
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::matrix::Matrix;
use crate::ops::mixed::product::Numbers;
use crate::ops::mixed::{Finish, MixedGemm};

/// `f32`.
const F32: Type = Type::Float(Dtype::F32);

/// Returns the types of a product of these matrices; `None` if `a` has another type than those of this module.
///
/// # Errors
/// `TypeMismatch`.
pub fn types(a: &Operand, b: &Operand, c: &Operand) -> Result<Option<ProductTypes>> {
    let operands = match a.of {
        Type::Float(Dtype::F16) => Operands::Half(Half::F16),
        Type::Float(Dtype::Bf16) => Operands::Half(Half::Bf16),
        Type::Integer(Integer::I8) => Operands::Integers(Integers::I8I8),
        Type::Integer(Integer::U8) => Operands::Integers(Integers::U8I8),
        Type::Integer(Integer::I32) => Operands::Integers(Integers::I32),
        Type::Integer(Integer::I64) => Operands::Integers(Integers::I64),
        Type::Float(Dtype::F32 | Dtype::F64)
        | Type::Bool
        | Type::Integer(Integer::I16 | Integer::U16 | Integer::U32 | Integer::U64) => {
            return Ok(None);
        }
    };
    let (of_b, of_sum) = match operands {
        Operands::Half(_) => (a.of, None),
        Operands::Integers(Integers::I8I8 | Integers::U8I8) => (
            Type::Integer(Integer::I8),
            Some(Type::Integer(Integer::I32)),
        ),
        Operands::Integers(Integers::I32 | Integers::I64) => (a.of, Some(a.of)),
    };
    let takes_floats = !matches!(operands, Operands::Integers(Integers::I32 | Integers::I64));
    let output = if Some(c.of) == of_sum {
        Output::Sum
    } else if c.of == F32 && takes_floats {
        Output::F32
    } else {
        match operands {
            Operands::Half(Half::F16) if c.of == a.of => Output::F16,
            Operands::Half(Half::Bf16) if c.of == a.of => Output::Bf16,
            Operands::Half(_) | Operands::Integers(_) => {
                return Err(Error::TypeMismatch { arg: c.arg });
            }
        }
    };
    if b.of != of_b {
        return Err(Error::TypeMismatch { arg: b.arg });
    }
    Ok(Some(ProductTypes { operands, output }))
}

/// Checks the type of a bias: that of 16-bit matrices, or `f32`.
///
/// # Errors
/// `TypeMismatch`.
pub fn check_bias(types: ProductTypes, a: &Operand, bias: &Operand) -> Result<()> {
    let is_half = matches!(types.operands, Operands::Half(_));
    if bias.of == F32 || (is_half && bias.of == a.of) {
        Ok(())
    } else {
        Err(Error::TypeMismatch { arg: bias.arg })
    }
}

/// Returns the factors of `count` rows or columns, if there are any, in `memory`; `c` must not overlap them.
///
/// # Errors
/// `TypeMismatch`, `ShapeMismatch`, `Overlap`; those of a tensor in this memory.
///
/// # Safety
/// `shape` and `strides` of the tensor must be valid.
#[inline(always)]
pub unsafe fn scale(
    tensor: Option<&Tensor>,
    arg: &'static str,
    count: usize,
    c: &Operand,
    memory: Location,
) -> Result<Bias> {
    #[cold]
    #[inline(never)]
    unsafe fn read(
        tensor: &Tensor,
        arg: &'static str,
        count: usize,
        c: &Operand,
        memory: Location,
    ) -> Result<Bias> {
        // SAFETY: as the caller's.
        let scale = unsafe { Operand::in_memory(tensor, arg, memory)? };
        if scale.of != F32 {
            return Err(Error::TypeMismatch { arg });
        }
        if scale.rank() != 1 || scale.axis(0).count != count {
            return Err(Error::ShapeMismatch { arg });
        }
        c.apart_from(&scale)?;
        Ok(Some((scale.p, scale.axis(0))))
    }
    match tensor {
        // SAFETY: as the caller's.
        Some(tensor) => unsafe { read(tensor, arg, count, c, memory) },
        None => Ok(None),
    }
}

/// Returns numbers of rows or columns of the type `of`.
fn numbers(numbers: Bias, of: Type) -> Numbers {
    match (numbers, of) {
        (Some((ptr, axis)), Type::Float(of)) => Numbers {
            ptr,
            inc: axis.step,
            of,
        },
        _ => Numbers::NONE,
    }
}

/// Computes the products; there is at least one, and none is empty.
///
/// # Errors
/// `LevelUnavailable`, `WorkspaceTooSmall`.
///
/// # Safety
/// As [`Product::run`].
#[cfg_attr(not(precompiled), inline)]
pub unsafe fn run(exec: &Exec<'_>, types: ProductTypes, product: &mut Product) -> Result<()> {
    // SAFETY: as the caller's.
    run_each(types, product, &|p, count| unsafe {
        calls::batch(exec, types, p, count)
    })
}

/// Calls `run` with each batch of products: the first of them, and their number.
///
/// # Errors
/// Those of `run`.
#[inline(never)]
pub fn run_each<E>(
    types: ProductTypes,
    product: &mut Product,
    run: &dyn Fn(MixedGemm, usize) -> core::result::Result<(), E>,
) -> core::result::Result<(), E> {
    product.fold(Orders::One);
    // The longest loop is the batch of a call.
    product.loops.loops.sort_by_key(|one| one.count);
    let (batch, outer) = match product.loops.loops.split_last() {
        Some((&batch, outer)) => (batch, outer),
        None => (ONCE, &[][..]),
    };
    let calls = outer.iter().map(|one| one.count).product();
    let first = first(types, product);
    for number in 0..calls {
        let mut p = first;
        let mut rest: usize = number;
        for one in outer.iter().rev() {
            let index = rest.checked_rem(one.count).unwrap_or(0);
            rest = rest.checked_div(one.count).unwrap_or(0);
            p = batched(p, one.steps).at(index);
        }
        run(batched(p, batch.steps), batch.count)?;
    }
    Ok(())
}

/// Makes steps in bytes of c, a and b the batch strides of a product.
fn batched(p: MixedGemm, steps: [isize; super::loops::MAX_OPERANDS]) -> MixedGemm {
    let [c, a, b, ..] = steps;
    MixedGemm {
        a: Matrix { bs: a, ..p.a },
        b: Matrix { bs: b, ..p.b },
        c: Matrix { bs: c, ..p.c },
        ..p
    }
}

/// Returns the first product.
fn first(types: ProductTypes, product: &Product) -> MixedGemm {
    let [c, a, b, ..] = product.loops.first;
    // The stride of an axis of one element has no meaning; that of contiguous ones suits the kernels.
    let step = |axis: Axis, bytes: usize| {
        if axis.count > 1 {
            axis.step
        } else {
            bytes as isize
        }
    };
    let bytes = product.of.size();
    let inner = product
        .inner
        .map(|step| if product.k > 1 { step } else { bytes as isize });
    let [c_rows, a_rows] = product.rows;
    let [c_columns, b_columns] = product.columns;
    let c_bytes = types.c_bytes();
    MixedGemm {
        m: c_rows.count,
        n: c_columns.count,
        k: if product.alpha == 0.0 { 0 } else { product.k },
        a: Matrix::new(a.cast_const(), step(a_rows, bytes), inner[0]),
        b: Matrix::new(b.cast_const(), inner[1], step(b_columns, bytes)),
        packed_b: None,
        c: Matrix::new(c, step(c_rows, c_bytes), step(c_columns, c_bytes)),
        is_plain: types.output == Output::Sum,
        finish: Finish {
            alpha: product.alpha as f32,
            beta: product.beta as f32,
            row_scale: numbers(product.row_scale, F32),
            column_scale: numbers(product.column_scale, F32),
            row_bias: numbers(product.row_bias, product.bias_type),
            column_bias: numbers(product.column_bias, product.bias_type),
            clamp: product.clamp.map(|(lo, hi)| (lo as f32, hi as f32)).into(),
            ..Finish::NONE
        },
    }
}
