//! The types of results of reductions: elements, or counts.

use super::fold::StridedVector;
use super::reduction::OfVector;
use crate::dispatch::Compute;
use crate::element::{Element, Storage};
use crate::exec::Exec;

/// A type of results of reductions that are computed in the type `T`.
pub trait Output<T: Element>: Copy {
    /// The same results before they are rounded to the type of elements.
    type Unrounded: Output<T>;
    /// Whether a result in memory has the type of arithmetic, so that kernels can write it without conversion.
    const IS_COMPUTED: bool;
    /// Whether a result is a computed value that is rounded.
    const IS_ROUNDED: bool;
    /// The length of the longest vector that a kernel may reduce at once: a whole number of chunks.
    const LONGEST: usize;

    /// Converts a computed value to a result.
    fn of(value: T) -> Self;

    /// Adds the result of the part that follows, of a vector longer than [`Output::LONGEST`].
    fn with(self, next: Self) -> Self;

    /// Reduces a vector.
    ///
    /// # Safety
    /// `x` must be valid at `n` elements.
    unsafe fn of_vector<M: Storage<Compute = T>>(
        exec: &Exec<'_>,
        reduction: &OfVector<T>,
        n: usize,
        x: StridedVector<M>,
    ) -> Self;
}

/// A result that is an element.
impl<T: Storage> Output<Compute<T>> for T {
    type Unrounded = Compute<T>;
    const IS_COMPUTED: bool = T::TYPE as u8 == Compute::<T>::TYPE as u8;
    const IS_ROUNDED: bool = !<Self as Output<Compute<T>>>::IS_COMPUTED;
    const LONGEST: usize = usize::MAX;

    #[inline(always)]
    fn of(value: Compute<T>) -> Self {
        T::from_compute(value)
    }

    fn with(self, _next: Self) -> Self {
        self
    }

    #[inline(always)]
    unsafe fn of_vector<M: Storage<Compute = Compute<T>>>(
        exec: &Exec<'_>,
        reduction: &OfVector<Compute<T>>,
        n: usize,
        x: StridedVector<M>,
    ) -> Self {
        // SAFETY: as the caller's.
        T::from_compute(unsafe { reduction.vector(exec, n, x) })
    }
}

/// A result that is a count. Folds count in the type of arithmetic, which is exact up to [`Output::LONGEST`] elements;
/// longer vectors are counted in parts of that length.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub struct Count(i64);

impl<T: Element> Output<T> for Count {
    type Unrounded = Self;
    const IS_COMPUTED: bool = false;
    const IS_ROUNDED: bool = false;
    const LONGEST: usize = 1 << 20;

    #[inline(always)]
    fn of(value: T) -> Self {
        Self(value.to_count() as i64)
    }

    fn with(self, next: Self) -> Self {
        Self(self.0 + next.0)
    }

    #[inline(always)]
    unsafe fn of_vector<M: Storage<Compute = T>>(
        exec: &Exec<'_>,
        reduction: &OfVector<T>,
        n: usize,
        x: StridedVector<M>,
    ) -> Self {
        let longest = <Self as Output<T>>::LONGEST;
        let mut total = 0;
        let mut from = 0;
        loop {
            let len = longest.min(n - from);
            // SAFETY: as the caller's; the part lies in 0..n.
            let part = unsafe { reduction.vector(exec, len, x.from(from)) };
            total += part.to_count() as i64;
            from += len;
            if from == n {
                return Self(total);
            }
        }
    }
}
