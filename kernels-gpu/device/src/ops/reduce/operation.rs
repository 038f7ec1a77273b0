//! The reductions of the table: their passes, and what is computed from the results.

use super::pass::{ArgExtreme, CountPass, FoldPass, Pass, ScaledPass};
use super::value::IndexedValue;
use crate::finish::canonical;
use crate::gpu::value::Value;
use crate::gpu::{Vector, Word};
use crate::real::Real;
use diptych::backend::folds;
use diptych::backend::recipe::{Backend, Divisors, Folded, Recipe};
use diptych::for_each_reduction;

/// The GPU's implementation of the functions that recipes need.
#[derive(Clone, Copy)]
struct Gpu;

impl<T: Real> Backend<T> for Gpu {
    #[inline(always)]
    fn sqrt(self, x: T) -> T {
        Vector::sqrt(x)
    }
    #[inline(always)]
    fn canonical(self, value: T) -> T {
        canonical(value)
    }
}

/// A reduction of a row, of up to four passes. The result after a pass, `known` in the next one, is a single `Out`.
pub trait Operation<T: Real>: Copy {
    /// The type that the values of all passes are converted to.
    type Value;
    /// The type of the output.
    type Out: Word + Default;
    /// The number of passes, at most four.
    const PASSES: u32 = 1;
    /// Whether there is always exactly one row.
    const ONE_ROW: bool = false;
    /// The first pass.
    type First: Pass<T, Value: Into<Self::Value>>;
    /// The second pass.
    type Second: Pass<T, Value: Into<Self::Value>>;
    /// The third pass.
    type Third: Pass<T, Value: Into<Self::Value>>;
    /// The fourth pass.
    type Fourth: Pass<T, Value: Into<Self::Value>>;
    /// The number of passes that nearly every row needs.
    const USUAL_PASSES: u32 = Self::PASSES;
    /// The largest size of a pass's value in bytes.
    const VALUE_BYTES: u32 = {
        let first = <<Self::First as Pass<T>>::Value as Value>::BYTES;
        let second = <<Self::Second as Pass<T>>::Value as Value>::BYTES;
        let third = <<Self::Third as Pass<T>>::Value as Value>::BYTES;
        let fourth = <<Self::Fourth as Pass<T>>::Value as Value>::BYTES;
        let others = if third > fourth { third } else { fourth };
        let others = if second > others { second } else { others };
        if first > others { first } else { others }
    };

    /// Returns whether a row needs this pass, which is not the first.
    #[inline(always)]
    fn needs_pass(self, _pass: u32, _known: Self::Out) -> bool {
        true
    }
    /// Returns the parameter of a pass other than the first.
    #[inline(always)]
    fn pass_param(self, _pass: u32, _known: Self::Out) -> T {
        T::ZERO
    }
    /// Computes the result after a pass from `known`, the result after the pass before, and `value`, what this pass
    /// reduced to. `out` is where the result of the row is stored.
    ///
    /// # Safety
    /// The operation may read `out`, and the arrays that it holds pointers to at `row`: both must be valid.
    unsafe fn after_pass(
        self,
        pass: u32,
        known: Self::Out,
        value: Self::Value,
        row: u64,
        out: *mut Self::Out,
    ) -> Self::Out;
}

/// A reduction whose only arguments are the number of elements and the degrees of freedom.
pub trait Counted {
    /// Returns the reduction of rows of `n` elements.
    fn new(n: u64, ddof: u64) -> Self;
}

/// Defines a type for each row of the table, with the row's name.
macro_rules! operations {
    ({} $([$(#[$doc:meta])*] $name:ident $out:ident $folds:tt $recipe:ident)*) => {$(
        operations!(@type [$(#[$doc])*] $name);
        operations!(@$out $name $folds $recipe);
    )*};
    (@type [$(#[$doc:meta])*] $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        #[allow(non_camel_case_types, dead_code)] // Not all of them read `n` and `ddof`.
        pub struct $name {
            n: u64,
            ddof: u64,
        }

        impl Counted for $name {
            #[inline(always)]
            fn new(n: u64, ddof: u64) -> Self {
                Self { n, ddof }
            }
        }
    };
    (@element $name:ident [$First:ident] $recipe:ident) => {
        operations!(@folds $name $recipe $First $First $First);
    };
    // Two further passes, of those recipes that have them, are the same over scaled elements.
    (@element $name:ident [$First:ident, $Second:ident] $recipe:ident) => {
        operations!(@folds $name $recipe $First $Second $First);
    };
    (@element $name:ident [$First:ident, $Second:ident, $Third:ident] $recipe:ident) => {
        operations!(@folds $name $recipe $First $Second $Third);
    };
    (@folds $name:ident $recipe:ident $First:ident $Second:ident $Third:ident) => {
        impl<T: Real> Operation<T> for $name {
            type Value = Folded<T>;
            type Out = T;
            const PASSES: u32 = Recipe::$recipe.passes();
            type First = FoldPass<folds::$First>;
            type Second = FoldPass<folds::$Second>;
            type Third = ScaledPass<folds::$Third, false>;
            type Fourth = ScaledPass<folds::$Second, true>;
            const USUAL_PASSES: u32 = Recipe::$recipe.usual_passes();

            #[inline(always)]
            fn needs_pass(self, pass: u32, known: T) -> bool {
                Recipe::$recipe.needs_pass(pass, known)
            }
            #[inline(always)]
            fn pass_param(self, pass: u32, known: T) -> T {
                Recipe::$recipe.pass_param(pass, known)
            }
            #[inline(always)]
            unsafe fn after_pass(self, pass: u32, known: T, value: Folded<T>, _row: u64, _out: *mut T) -> T {
                let divisors = Divisors::of_one(self.n as usize, self.ddof as usize);
                Recipe::$recipe.after_pass(pass, known, value, divisors, Gpu)
            }
        }
    };
    (@count $name:ident [$Fold:ident] $recipe:ident) => {
        operations!(@one_pass $name (i64) CountPass<folds::$Fold>, |value| value);
    };
    (@index argmin [] $recipe:ident) => {
        operations!(@one_pass argmin (IndexedValue<T>) ArgExtreme<false>, |found| found.index);
    };
    (@index argmax [] $recipe:ident) => {
        operations!(@one_pass argmax (IndexedValue<T>) ArgExtreme<true>, |found| found.index);
    };
    // One pass, with a result of type i64.
    (@one_pass $name:ident ($Value:ty) $Pass:ty, |$value:ident| $result:expr) => {
        impl<T: Real> Operation<T> for $name {
            type Value = $Value;
            type Out = i64;
            type First = $Pass;
            type Second = $Pass;
            type Third = $Pass;
            type Fourth = $Pass;

            #[inline(always)]
            unsafe fn after_pass(self, _pass: u32, _known: i64, $value: $Value, _row: u64, _out: *mut i64) -> i64 {
                $result
            }
        }
    };
}
for_each_reduction!(operations! {} [doc name result folds recipe]);

/// The dot product of two rows.
#[derive(Clone, Copy)]
pub struct Dot;

impl<T: Real> Operation<T> for Dot {
    type Value = Folded<T>;
    type Out = T;
    const ONE_ROW: bool = true;
    type First = FoldPass<folds::Dot>;
    type Second = FoldPass<folds::Dot>;
    type Third = FoldPass<folds::Dot>;
    type Fourth = FoldPass<folds::Dot>;

    #[inline(always)]
    unsafe fn after_pass(
        self,
        pass: u32,
        known: T,
        value: Folded<T>,
        _row: u64,
        _out: *mut T,
    ) -> T {
        Recipe::Sum.after_pass(pass, known, value, Divisors::of_one(0, 0), Gpu)
    }
}
