//! The reductions of integers over axes of tensors. Their results are exact, so the order of elements makes no
//! difference, except that an index counts them in row-major order.

use super::plan::{AxisPlan, ReductionProperties};
use crate::api::reduce::{Chunks, Kernel, RowMatrix, StridedVector};
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::level::Level;
use crate::ops::integers::reduce::{IntegerFold, SearchRows};
use crate::tensor::contiguous::ContiguousTensor;
use crate::tensor::element_type::IntegerType;
use crate::tensor::integer_folds::{Found, IntegerReduction};
use crate::tensor::kind::{Location, Type};
use crate::tensor::operand::{Operand, Tensor};

/// Returns the fold of a type.
pub type FoldOf = fn(IntegerType) -> IntegerFold;
/// Returns the search of a type, for each level.
pub type SearchOf = fn(IntegerType) -> &'static [SearchRows; 4];

/// A reduction of integers: its fold, what it gives, and if that is an index, the search.
pub type OfIntegers = (FoldOf, Gives, Option<SearchOf>);

/// What a reduction of integers gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gives {
    /// A sum or a product: of the type of `out`.
    Total,
    /// An element.
    Element,
    /// A count, as `i64`.
    Count,
    /// The index of the first element that has the total, as `i64`.
    Index,
}

impl Gives {
    /// Returns the type of results, for elements of the type `of`; `None` if it does not suit.
    fn result(self, of: Type, out: Type) -> Option<IntegerType> {
        let Type::Integer(result) = out else {
            return None;
        };
        let result = result.computed()?;
        let fits = match self {
            Self::Total => out == of || matches!(result, IntegerType::I32 | IntegerType::I64),
            Self::Element => out == of,
            Self::Count | Self::Index => result == IntegerType::I64,
        };
        fits.then_some(result)
    }
}

impl ReductionProperties {
    /// As [`check`](ReductionProperties::check), for integers: returns the types of the elements and of the results.
    ///
    /// # Errors
    /// As there.
    ///
    /// # Safety
    /// As there.
    pub unsafe fn check_integers(
        &self,
        gives: Gives,
        tensors: (&Tensor, Option<&[i32]>, &Tensor),
        memory: Location,
        plan: &mut AxisPlan,
    ) -> Result<(IntegerType, IntegerType)> {
        let types = |x: &Operand, out: &Operand| {
            let of = match x.of {
                Type::Integer(of) => of.computed(),
                _ => None,
            };
            let of = of.ok_or(Error::UnsupportedType { arg: x.arg })?;
            let result = gives.result(x.of, out.of);
            Ok((of, result.ok_or(Error::TypeMismatch { arg: out.arg })?))
        };
        // SAFETY: as the caller's.
        unsafe { self.check_types(tensors, memory, gives != Gives::Index, plan, types) }
    }
}

/// Checks the arguments of a reduction whose elements are integers, and runs it.
///
/// # Errors
/// As [`reduce`](super::reduce).
///
/// # Safety
/// As [`reduce`](super::reduce).
#[inline(never)]
pub unsafe fn reduce_integers(
    exec: &Exec<'_>,
    level: Level,
    reduction: Option<OfIntegers>,
    properties: &ReductionProperties,
    tensors: (&Tensor, Option<&[i32]>, &Tensor),
) -> Result<()> {
    let (Some(reduction @ (fold, gives, search)), mut plan) = (reduction, AxisPlan::empty()) else {
        // SAFETY: as the caller's.
        let x = unsafe { Operand::new(tensors.0, "x")? };
        return Err(Error::UnsupportedType { arg: x.arg });
    };
    // SAFETY: as the caller's.
    if unsafe { reduce_contiguous(level, reduction, tensors) } {
        return Ok(());
    }
    // SAFETY: as the caller's.
    let checked = unsafe { properties.check_integers(gives, tensors, Location::Host, &mut plan) };
    let (of, result) = checked?;
    let fold = fold(of);
    let kernel = IntegerReduction::new(level, &fold, result, search.map(|search| search(of)));
    // SAFETY: the arguments have been checked; the caller vouches for the elements.
    unsafe { plan.run(exec, &kernel) };
    Ok(())
}

/// Reduces a small contiguous tensor to one number; false if the arguments are others.
///
/// # Safety
/// As [`reduce_integers`].
#[inline(always)]
unsafe fn reduce_contiguous(
    level: Level,
    (fold, gives, search): OfIntegers,
    (x, axes, out): (&Tensor, Option<&[i32]>, &Tensor),
) -> bool {
    // SAFETY: as the caller's.
    let (Some(from), Some(to)) =
        (unsafe { (ContiguousTensor::new(x), ContiguousTensor::new(out)) })
    else {
        return false;
    };
    let Type::Integer(integer) = from.of else {
        return false;
    };
    let (Some(of), Some(result)) = (integer.computed(), gives.result(from.of, to.of)) else {
        return false;
    };
    let (low, bytes, at) = (from.p.addr(), from.count * of.size(), to.p.addr());
    let is_apart = at + result.size() <= low || low + bytes <= at;
    let is_one = to.count == 1 && (out.ndim == 0 || out.ndim == x.ndim);
    if axes.is_some() || !is_one || !is_apart {
        return false;
    }
    let fold = fold(of);
    let kernel = IntegerReduction::new(level, &fold, result, search.map(|search| search(of)));
    // SAFETY: the arguments have been checked; the caller vouches for the elements.
    unsafe { kernel.write(to.p, kernel.vector(from.count, from.p)) };
    true
}

impl Kernel for IntegerReduction<'_> {
    fn level(&self) -> Level {
        self.level
    }

    fn result_size(&self) -> usize {
        self.result
    }

    unsafe fn rows(&self, exec: &Exec<'_>, rows: RowMatrix<u8>, out: StridedVector<u8>) {
        // SAFETY: as the caller's.
        unsafe { self.reduce_rows(exec, rows, out) };
    }

    unsafe fn gathered(
        &self,
        vectors: usize,
        n: usize,
        chunks: &mut dyn Chunks,
        out: *mut u8,
        inc: isize,
    ) {
        let mut found = [Found::none(self.fold.join); crate::api::reduce::MAX_GATHERED];
        let longest = super::gather::CHUNK / self.fold.size.max(1);
        let mut from = 0;
        while from < n {
            let len = longest.min(n - from);
            // SAFETY: as the caller's.
            unsafe {
                let (mut x, pitch) = chunks.chunk(from, len);
                for slot in found.iter_mut().take(vectors) {
                    *slot = self.join(*slot, self.vector(len, x), from);
                    x = x.wrapping_offset(pitch);
                }
            }
            from += len;
        }
        let mut to = out;
        for &found in found.iter().take(vectors) {
            // SAFETY: as the caller's.
            unsafe { self.write(to, found) };
            to = to.wrapping_offset(inc);
        }
    }
}
