//! The reductions of the table: their passes, and what becomes of the results.

use super::pass::{Count, First, Of, Pass};
use super::value::{Found, Value};
use crate::finish::canonical;
use crate::gpu::{Vector, Word};
use crate::real::Real;
use diptych::backend::folds;
use diptych::backend::recipe::{Backend, Counts, Recipe};
use diptych::for_each_reduction;

/// What recipes need of a GPU.
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

/// A reduction of a row. Between passes, what is known of the row is one `Out`.
pub trait Operation<T: Real>: Copy {
    /// What passes fold.
    type Value: Value;
    /// What is written.
    type Out: Word + Default;
    /// How many of the three passes there are.
    const PASSES: u32 = 1;
    /// Whether there is never a second row.
    const ONE_ROW: bool = false;
    /// The first pass.
    type First: Pass<T, Value = Self::Value>;
    /// The second.
    type Second: Pass<T, Value = Self::Value>;
    /// The third.
    type Third: Pass<T, Value = Self::Value>;

    /// Whether a pass after the first is needed for a row.
    #[inline(always)]
    fn wants(self, _pass: u32, _known: Self::Out) -> bool {
        true
    }
    /// The parameter of a pass after the first.
    #[inline(always)]
    fn param(self, _pass: u32, _known: Self::Out) -> T {
        T::ZERO
    }
    /// What is known after a pass of a row, whose result goes to `out`: after the last, the result.
    ///
    /// # Safety
    /// The operation may read `out`, and what it carries for the row.
    unsafe fn done(
        self,
        pass: u32,
        known: Self::Out,
        value: Self::Value,
        row: u64,
        out: *mut Self::Out,
    ) -> Self::Out;
}

/// A reduction that is made from the number of elements, and of degrees of freedom.
pub trait Counted {
    /// Of rows of `n` elements.
    fn new(n: u64, ddof: u64) -> Self;
}

/// For each row of the table a type, which has the row's name.
macro_rules! operations {
    ({} $($(#[$doc:meta])* $name:ident $rows:ident $columns:ident($($ddof:ident)?): $Bound:ident -> $out:ident $folds:tt $recipe:ident, $empty:ident, $facts:tt)*) => {$(
        operations!(@type [$(#[$doc])*] $name);
        operations!(@$out $name $folds $recipe);
    )*};
    (@type [$(#[$doc:meta])*] $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        #[allow(non_camel_case_types, dead_code)] // Not all of them count.
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
    (@element $name:ident [$First:ident, $Second:ident] $recipe:ident) => {
        operations!(@folds $name $recipe $First $Second $First);
    };
    (@element $name:ident [$First:ident, $Second:ident, $Third:ident] $recipe:ident) => {
        operations!(@folds $name $recipe $First $Second $Third);
    };
    (@folds $name:ident $recipe:ident $First:ident $Second:ident $Third:ident) => {
        impl<T: Real> Operation<T> for $name {
            type Value = T;
            type Out = T;
            const PASSES: u32 = Recipe::$recipe.passes();
            type First = Of<folds::$First>;
            type Second = Of<folds::$Second>;
            type Third = Of<folds::$Third>;

            #[inline(always)]
            fn wants(self, _pass: u32, known: T) -> bool {
                Recipe::$recipe.wants(known)
            }
            #[inline(always)]
            fn param(self, _pass: u32, known: T) -> T {
                Recipe::$recipe.param(known)
            }
            #[inline(always)]
            unsafe fn done(self, pass: u32, known: T, value: T, _row: u64, _out: *mut T) -> T {
                let counts = Counts::of_one(self.n as usize, self.ddof as usize);
                Recipe::$recipe.after(pass, known, value, counts, Gpu)
            }
        }
    };
    (@count $name:ident [$Fold:ident] $recipe:ident) => {
        operations!(@one_pass $name (i64) Count<folds::$Fold>, |value| value);
    };
    (@index argmin [] $recipe:ident) => {
        operations!(@one_pass argmin (Found<T>) First<false>, |found| found.place);
    };
    (@index argmax [] $recipe:ident) => {
        operations!(@one_pass argmax (Found<T>) First<true>, |found| found.place);
    };
    // To an i64.
    (@one_pass $name:ident ($Value:ty) $Pass:ty, |$value:ident| $result:expr) => {
        impl<T: Real> Operation<T> for $name {
            type Value = $Value;
            type Out = i64;
            type First = $Pass;
            type Second = $Pass;
            type Third = $Pass;

            #[inline(always)]
            unsafe fn done(self, _pass: u32, _known: i64, $value: $Value, _row: u64, _out: *mut i64) -> i64 {
                $result
            }
        }
    };
}
for_each_reduction!(operations! {});

/// The dot product with a second row.
#[derive(Clone, Copy)]
pub struct Dot;

impl<T: Real> Operation<T> for Dot {
    type Value = T;
    type Out = T;
    const ONE_ROW: bool = true;
    type First = Of<folds::Dot>;
    type Second = Of<folds::Dot>;
    type Third = Of<folds::Dot>;

    #[inline(always)]
    unsafe fn done(self, pass: u32, known: T, value: T, _row: u64, _out: *mut T) -> T {
        Recipe::Sum.after(pass, known, value, Counts::of_one(0, 0), Gpu)
    }
}
