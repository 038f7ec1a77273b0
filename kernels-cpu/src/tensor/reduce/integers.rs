//! The reductions of integers over axes of tensors. Their results are exact, so the order of elements makes no
//! difference, except that an index counts them in row-major order.

use super::plan::{AxisPlan, ReductionProperties, set_of};
use crate::api::reduce::{Chunks, Kernel, RowMatrix, StridedVector};
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::level::Level;
use crate::ops::integers::reduce::IntegerFold;
use crate::tensor::element_type::IntegerType;
use crate::tensor::integer_folds::{Found, IntegerReduction};
use crate::tensor::kind::{Location, Type};
use crate::tensor::operand::{Operand, Tensor};

/// Returns the fold of a type.
pub type FoldOf = fn(IntegerType) -> IntegerFold;

/// What a reduction of integers gives.
#[derive(Clone, Copy, PartialEq, Eq)]
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

/// Returns the type of results, for elements of the type `of`; `None` if it does not suit.
fn result(gives: Gives, of: Type, out: Type) -> Option<IntegerType> {
    let Type::Integer(result) = out else {
        return None;
    };
    let result = result.computed()?;
    let fits = match gives {
        Gives::Total => out == of || matches!(result, IntegerType::I32 | IntegerType::I64),
        Gives::Element => out == of,
        Gives::Count | Gives::Index => result == IntegerType::I64,
    };
    fits.then_some(result)
}

/// Checks the arguments of a reduction whose elements are integers, and runs it.
///
/// # Errors
/// As [`reduce`](super::reduce).
///
/// # Safety
/// As [`reduce`](super::reduce).
#[cold]
#[inline(never)]
pub unsafe fn reduce_integers(
    exec: &Exec<'_>,
    level: Level,
    (fold, gives): (Option<FoldOf>, Gives),
    properties: &ReductionProperties,
    (x, axes, out): (&Tensor, Option<&[i32]>, &Tensor),
) -> Result<()> {
    let mut plan = AxisPlan::empty();
    // SAFETY: as the caller's.
    let (of, result) =
        unsafe { check(fold.is_some(), gives, properties, (x, axes, out), &mut plan)? };
    let fold = fold.ok_or(Error::UnsupportedType { arg: "x" })?;
    let kernel = IntegerReduction {
        level,
        fold: &fold(of),
        is_signed: of != IntegerType::U8,
        result: result.size(),
        finds: gives == Gives::Index,
    };
    // SAFETY: the arguments have been checked; the caller vouches for the elements.
    unsafe { plan.run(exec, &kernel) };
    Ok(())
}

/// Checks the arguments of a call. Returns the types of elements and results, and makes `plan` what to do.
///
/// # Errors
/// As [`ReductionProperties::check`].
///
/// # Safety
/// `shape` and `strides` of each tensor must be valid.
// Not inlined, as its lists would stay on the stack while the kernels run.
#[inline(never)]
unsafe fn check(
    takes_integers: bool,
    gives: Gives,
    properties: &ReductionProperties,
    (x, axes, out): (&Tensor, Option<&[i32]>, &Tensor),
    plan: &mut AxisPlan,
) -> Result<(IntegerType, IntegerType)> {
    let (tensor, output) = (x, out);
    let (mut x, mut out) = (Operand::empty("x"), Operand::empty("out"));
    // SAFETY: as the caller's.
    unsafe {
        x.set(tensor, Location::Host)?;
        out.set(output, Location::Host)?;
    }
    let of = match x.of {
        Type::Integer(of) if takes_integers => of.computed(),
        _ => None,
    };
    let of = of.ok_or(Error::UnsupportedType { arg: x.arg })?;
    let result = result(gives, x.of, out.of).ok_or(Error::TypeMismatch { arg: out.arg })?;
    plan.set(&x, &out, set_of(axes, x.rank())?, gives != Gives::Index)?;
    out.check_distinct()?;
    out.apart_from(&x)?;
    if plan.elements == 0 && plan.results > 0 && properties.needs_elements {
        return Err(Error::EmptyReduction { arg: "n" });
    }
    Ok((of, result))
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
