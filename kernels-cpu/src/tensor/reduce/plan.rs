//! The axes of a reduction: dropped, turned, reordered and merged as far as that keeps the bits.

use core::ptr;

use crate::element::Dtype;
use crate::error::{Error, Result};
use crate::tensor::kind::{Integer, Location, Type};
use crate::tensor::list::List;
use crate::tensor::operand::{Axis, Operand, Tensor};

/// What the checks ask of a reduction.
#[derive(Clone, Copy, Debug)]
pub struct ReductionProperties {
    /// Whether the result is an i64 instead of an element.
    pub gives_index: bool,
    /// Whether the reduction of no elements is refused.
    pub needs_elements: bool,
    /// Whether the order of elements makes no difference.
    pub any_order: bool,
}

/// The type of results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultType {
    /// That of the elements.
    Own,
    /// An integer, or the type of arithmetic where that is another.
    Other,
}

/// Returns the [`ReductionProperties`] of a row in the table: from its result, its folds, and what no elements
/// give.
#[macro_export]
#[doc(hidden)]
macro_rules! reduction_properties {
    ($out:ident $folds:tt $empty:ident) => {
        $crate::backend::tensor::ReductionProperties {
            gives_index: $crate::reduction_properties!(@gives_index $out),
            needs_elements: $crate::reduction_properties!(@needs_elements $empty),
            any_order: $crate::reduction_properties!(@any_order $folds),
        }
    };
    (@gives_index element) => { false };
    (@gives_index $count_or_index:ident) => { true };
    (@needs_elements refused) => { true };
    (@needs_elements value) => { false };
    (@any_order [Min]) => { true };
    (@any_order [Max]) => { true };
    (@any_order [Nonzero]) => { true };
    (@any_order $folds:tt) => { false };
    // The `Gives` of integers, from the result and the fold.
    (@gives element Min) => { $crate::backend::tensor::Gives::Element };
    (@gives element Max) => { $crate::backend::tensor::Gives::Element };
    (@gives element $Fold:ident) => { $crate::backend::tensor::Gives::Total };
    (@gives count $Fold:ident) => { $crate::backend::tensor::Gives::Count };
    (@gives index $Fold:ident) => { $crate::backend::tensor::Gives::Index };
}

impl ReductionProperties {
    /// Returns the type of results for elements of the type `of`.
    #[inline(always)]
    pub fn result(&self, of: Dtype) -> Type {
        if self.gives_index {
            Type::Integer(Integer::I64)
        } else {
            Type::Float(of)
        }
    }

    /// Checks the arguments of a call. Returns the type of the elements, and makes `plan` what to do.
    ///
    /// # Errors
    /// Those of [`Operand::in_memory`] and [`AxisPlan::set`]; `UnsupportedType`, `TypeMismatch`, `Overlap`,
    /// `EmptyReduction`; `InvalidValue` for the axes and for `ddof`.
    ///
    /// # Safety
    /// `shape` and `strides` of each tensor must be valid.
    pub unsafe fn check(
        &self,
        x: &Tensor,
        axes: Option<&[i32]>,
        ddof: i64,
        out: &Tensor,
        memory: Location,
        plan: &mut AxisPlan,
    ) -> Result<(Dtype, ResultType)> {
        let types = |x: &Operand, out: &Operand| match x.of {
            Type::Float(dtype) => Ok((dtype, self.type_of(out, dtype)?)),
            _ => Err(Error::UnsupportedType { arg: x.arg }),
        };
        // SAFETY: as the caller's.
        let types =
            unsafe { self.check_types((x, axes, out), memory, self.any_order, plan, types)? };
        if plan.elements > 0 && ddof as u64 >= plan.elements as u64 {
            return Err(Error::InvalidValue { arg: "ddof" });
        }
        Ok(types)
    }

    /// As [`check`](ReductionProperties::check), with the types that `types` finds in `x` and `out`. `any_order`: whether the
    /// order of elements makes no difference.
    ///
    /// # Errors
    /// Those of `types` too.
    ///
    /// # Safety
    /// As there.
    // Not inlined, as its lists would stay on the stack while the kernels run.
    #[inline(never)]
    pub unsafe fn check_types<R>(
        &self,
        (tensor, axes, output): (&Tensor, Option<&[i32]>, &Tensor),
        memory: Location,
        any_order: bool,
        plan: &mut AxisPlan,
        types: impl FnOnce(&Operand, &Operand) -> Result<R>,
    ) -> Result<R> {
        let (mut x, mut out) = (Operand::empty("x"), Operand::empty("out"));
        // SAFETY: as the caller's.
        unsafe {
            x.set(tensor, memory)?;
            out.set(output, memory)?;
        }
        let types = types(&x, &out)?;
        plan.set(&x, &out, set_of(axes, x.rank())?, any_order)?;
        out.check_distinct()?;
        out.apart_from(&x)?;
        if plan.elements == 0 && plan.results > 0 && self.needs_elements {
            return Err(Error::EmptyReduction { arg: "n" });
        }
        Ok(types)
    }

    /// Returns which type of results the output has, for elements of the type `of`.
    fn type_of(&self, out: &Operand, of: Dtype) -> Result<ResultType> {
        let is_half = matches!(of, Dtype::F16 | Dtype::Bf16);
        if out.of == self.result(of) {
            Ok(if self.gives_index {
                ResultType::Other
            } else {
                ResultType::Own
            })
        } else if is_half && !self.gives_index && out.of == Type::Float(Dtype::F32) {
            Ok(ResultType::Other)
        } else {
            Err(Error::TypeMismatch { arg: out.arg })
        }
    }
}

/// An axis that is kept: its length, and by how many bytes the input and the output advance.
#[derive(Clone, Copy)]
pub struct KeptAxis {
    /// The number of results along it.
    pub count: usize,
    /// Bytes from one element of the input to the next.
    pub x: isize,
    /// Bytes from one result to the next.
    pub out: isize,
}

/// What is reduced, and where the results go.
pub struct AxisPlan {
    /// The first element.
    pub x: *mut u8,
    /// The first result.
    pub out: *mut u8,
    /// Bytes of an element.
    pub size: usize,
    /// The axes that are kept, that with the longest step of the input first. No step of the input is negative.
    pub kept: List<KeptAxis>,
    /// The axes that are reduced, in row-major order.
    pub reduced: List<Axis>,
    /// The number of results.
    pub results: usize,
    /// The number of elements of each.
    pub elements: usize,
}

// SAFETY: the addresses in it are read by each task; what tasks write at them is apart.
unsafe impl Sync for AxisPlan {}

/// Returns the set of axes as bits.
///
/// # Errors
/// `InvalidValue` for an axis that does not exist or is named twice.
pub fn set_of(axes: Option<&[i32]>, rank: usize) -> Result<u64> {
    let Some(axes) = axes else {
        return Ok(u64::MAX);
    };
    let invalid = Error::InvalidValue { arg: "axes" };
    let mut set = 0;
    for &axis in axes {
        let from_end = if axis < 0 { rank as i64 } else { 0 };
        let axis = u32::try_from(i64::from(axis) + from_end).map_err(|_| invalid)?;
        let bit = 1_u64.checked_shl(axis).ok_or(invalid)?;
        if axis as usize >= rank || set & bit != 0 {
            return Err(invalid);
        }
        set |= bit;
    }
    Ok(set)
}

impl AxisPlan {
    /// Returns a plan of nothing, for [`AxisPlan::set`].
    #[inline(always)]
    pub const fn empty() -> Self {
        Self {
            x: ptr::null_mut(),
            out: ptr::null_mut(),
            size: 0,
            kept: List::new(),
            reduced: List::new(),
            results: 0,
            elements: 0,
        }
    }

    /// Makes this the plan for the axes in `set`, in place: to move it takes as long as a small reduction. `any_order`: the
    /// order of elements makes no difference.
    ///
    /// # Errors
    /// `ShapeMismatch` unless `out` has the kept axes, or all axes with length 1 for each in the set.
    pub fn set(&mut self, x: &Operand, out: &Operand, set: u64, any_order: bool) -> Result<()> {
        let mismatch = Error::ShapeMismatch { arg: out.arg };
        self.x = x.p;
        self.out = out.p;
        self.size = x.of.size();
        self.kept.truncate(0);
        self.reduced.truncate(0);
        (self.results, self.elements) = (1, 1);
        let keeps_all = out.rank() == x.rank();
        let mut own = 0;
        for (i, &axis) in x.axes.iter().enumerate() {
            let is_reduced = set >> i & 1 == 1;
            let result = out.axis(own);
            if is_reduced {
                self.elements *= axis.count;
                if axis.count != 1 {
                    self.reduced.push(axis);
                }
            } else {
                self.results *= axis.count;
                if axis.count != 1 {
                    self.kept.push(KeptAxis {
                        count: axis.count,
                        x: axis.step,
                        out: result.step,
                    });
                }
            }
            if keeps_all || !is_reduced {
                let expected = if is_reduced { 1 } else { axis.count };
                if result.count != expected {
                    return Err(mismatch);
                }
                own += 1;
            }
        }
        if own != out.rank() {
            return Err(mismatch);
        }
        self.simplify_kept();
        self.simplify_reduced(any_order);
        Ok(())
    }

    /// Turns, reorders and merges the kept axes.
    pub(in crate::tensor) fn simplify_kept(&mut self) {
        for one in self.kept.iter_mut().filter(|one| one.x < 0) {
            let last = one.count.saturating_sub(1) as isize;
            self.x = self.x.wrapping_offset(one.x.wrapping_mul(last));
            self.out = self.out.wrapping_offset(one.out.wrapping_mul(last));
            one.x = one.x.wrapping_neg();
            one.out = one.out.wrapping_neg();
        }
        self.kept.sort_by_key(|one| -one.x);
        self.kept.merge(KeptAxis::followed_by);
    }

    /// Merges the reduced axes; with `any_order`, turns and reorders them first.
    pub(in crate::tensor) fn simplify_reduced(&mut self, any_order: bool) {
        if any_order {
            for one in self.reduced.iter_mut().filter(|one| one.step < 0) {
                let last = one.count.saturating_sub(1) as isize;
                self.x = self.x.wrapping_offset(one.step.wrapping_mul(last));
                one.step = one.step.wrapping_neg();
            }
            self.reduced.sort_by_key(|one| -one.step);
        }
        self.reduced.merge(|outer, inner| {
            let is_one = inner.step.wrapping_mul(inner.count as isize) == outer.step;
            is_one.then(|| Axis {
                count: outer.count * inner.count,
                ..*inner
            })
        });
    }

    /// Returns the shortest step of a reduced axis.
    pub fn closest(&self) -> usize {
        let steps = self.reduced.iter().map(|one| one.step.unsigned_abs());
        steps.min().unwrap_or(0)
    }
}
