//! Dispatch: makes each kernel a function for every level, generic over the element type, and looks it up by the level. A
//! crate compiles the kernels that it calls, for the types that it calls them with; this crate compiles none.

#[macro_use]
mod levels;
pub mod mixed;

use core::marker::PhantomData;

#[cfg(precompiled)]
use crate::element::Dtype;
use crate::element::{Element, Storage};
#[cfg(precompiled)]
use crate::half::{bf16, f16};
use crate::level::Level;
use crate::ops::gemm::{self, Routines};
use crate::ops::{self, elementwise, reduce, row_map};
use crate::recipe::{Divisor, Folded};
use crate::simd::Token;
#[cfg(precompiled)]
use crate::{for_each_element, for_each_storage};
use crate::{for_each_elementwise, for_each_row_map};
#[cfg(precompiled)]
use levels::cast_same_type;
pub use levels::is_element;
pub(crate) use levels::of_type;

/// The kernels of a level for an element type: each method returns the function of one kernel.
///
/// These functions are unsafe to call: the machine must have the level, and the arrays must be as the documentation of
/// the generic body requires.
pub struct Kernels<T>(Level, PhantomData<T>);

impl<T> Clone for Kernels<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Kernels<T> {}

impl<T> Kernels<T> {
    /// Returns the level.
    #[inline(always)]
    pub fn level(self) -> Level {
        self.0
    }

    /// Returns the kernels of a level, which the machine must have before one of them is called.
    #[inline(always)]
    pub fn new(level: Level) -> Self {
        Self(level, PhantomData)
    }
}

/// The type in which elements of the type `T` are computed.
pub type Compute<T> = <T as Storage>::Compute;

/// Kernels for the element types that have arithmetic of their own.
macro_rules! kernels {
    ($($name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $result:ty)? = $body:expr;)*) => {
        mod kernel {
            use super::*;
            $(kernel!(Element for_each_element $name ($($arg: $ty),*) [$($result)?] ($body));)*
        }

        impl<T: Element> Kernels<T> {
            $(
                #[inline(always)]
                pub fn $name(self) -> unsafe fn($($ty),*) $(-> $result)? {
                    kernel::$name::of::<T>(self.0)
                }
            )*
        }
    };
}

kernels! {
    outer(m: usize, n: usize, u: *const T, incu: isize, v: *const T, incv: isize, out: *mut T, rs: isize, stream: bool) = ops::outer::outer;
    ger(m: usize, n: usize, alpha_u: T, u: *const T, incu: isize, alpha_v: T, v: *const T, incv: isize, a: *mut T, rs: isize) = ops::outer::ger;
    transpose_block(rows: usize, cols: usize, x: *const T, rs: isize, out: *mut T, out_rs: isize) = ops::transpose::transpose_block;
    argmin(n: usize, x: *const T, incx: isize) -> usize = reduce::argmin;
    argmax(n: usize, x: *const T, incx: isize) -> usize = reduce::argmax;
    first_in_rows(rows: usize, n: usize, x: *const T, inc: isize, values: *const T, out: *mut i64, inc_out: isize) = reduce::first_in_rows;
    argmin_columns(rows: usize, cols: usize, x: *const T, inc: isize, out: *mut i64, inc_out: isize) -> bool = reduce::argmin_columns;
    argmax_columns(rows: usize, cols: usize, x: *const T, inc: isize, out: *mut i64, inc_out: isize) -> bool = reduce::argmax_columns;
    divide_each(n: usize, divisor: Divisor<T>, sums: *mut T) -> u32 = reduce::divide_each;
    add_logarithms(n: usize, known: *const T, sums: *mut T) = reduce::add_logarithms;
    transpose(rows: usize, n: usize, x: *const T, inc: isize, out: *mut T, width: usize, prefetch: bool) = reduce::transpose;
    stream(n: usize, from: *const T, to: *mut T, is_last: bool) = reduce::stream;
    mse_grad(n: usize, pred: *const T, target: *const T, grad: *mut T, stream: bool) -> T = reduce::mse_grad;
    lsq_block(rows: usize, n: usize, a: *const T, a_rs: isize, a_cs: isize, x: *const T, incx: isize, y: *const T, from: usize, cols: usize, out: *mut T) = reduce::lsq_block;
}

/// The type of an argument of an elementwise kernel.
macro_rules! argument {
    (scalar $T:ident) => { Compute<$T> };
    (array $T:ident) => { *const $T };
}
pub(crate) use argument;

/// The kernels of the elementwise operations, for every type in memory.
macro_rules! elementwise_kernels {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) $out:ident)*) => {
        mod elementwise_kernel {
            use super::*;
            $(kernel!(Storage for_each_storage
                $name (n: usize, $($arg: argument!($kind T),)* $out: *mut T, stream: bool) [] (elementwise::$name)
            );)*
        }

        impl<T: Storage> Kernels<T> {
            $(
                #[inline(always)]
                pub fn $name(self) -> unsafe fn(usize, $(argument!($kind T),)* *mut T, bool) {
                    elementwise_kernel::$name::of::<T>(self.0)
                }
            )*
        }
    };
}
for_each_elementwise!(elementwise_kernels! {} [name arguments output]);

/// The kernels of elementwise operations with scalars, for arrays in the place of these; see
/// [`elementwise::of_arrays`].
pub struct KernelsOfArrays;

/// Expands the rows that have a scalar.
macro_rules! kernels_of_arrays {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) $out:ident)*) => {
        mod kernel_of_arrays {
            use super::*;
            $(kernels_of_arrays!(@kernel [$($kind)*] $name $out $($arg)*);)*
        }

        impl KernelsOfArrays {
            $(kernels_of_arrays!(@method [$($kind)*] $name $out $($arg)*);)*
        }
    };
    (@kernel [scalar $($kind:ident)*] $($row:ident)*) => { kernels_of_arrays!(@kernel_of $($row)*); };
    (@method [scalar $($kind:ident)*] $($row:ident)*) => { kernels_of_arrays!(@method_of $($row)*); };
    (@$item:ident [array $($kind:ident)*] $($row:ident)*) => { kernels_of_arrays!(@$item [$($kind)*] $($row)*); };
    (@$item:ident [] $($row:ident)*) => {};
    (@kernel_of $name:ident $out:ident $($arg:ident)*) => {
        kernel!(Storage for_each_storage
            $name (n: usize, $($arg: *const T,)* $out: *mut T, stream: bool) [] (elementwise::of_arrays::$name)
        );
    };
    (@method_of $name:ident $out:ident $($arg:ident)*) => {
        #[inline(always)]
        pub fn $name<T: Storage>(level: Level) -> unsafe fn(usize, $(kernels_of_arrays!(@pointer $arg T),)* *mut T, bool) {
            kernel_of_arrays::$name::of::<T>(level)
        }
    };
    (@pointer $arg:ident $T:ident) => { *const $T };
}
for_each_elementwise!(kernels_of_arrays! {} [name arguments output]);

/// The conversions between types in memory and their types of arithmetic.
mod convert_kernel {
    use super::*;
    kernel!(Storage for_each_storage widen (n: usize, from: *const T, to: *mut Compute<T>, ahead: isize) [] (ops::convert::widen));
    kernel!(Storage for_each_storage round (n: usize, from: *const Compute<T>, to: *mut T) [] (ops::convert::round));
}

impl<T: Storage> Kernels<T> {
    /// Widens elements; see [`ops::convert::widen`].
    #[inline(always)]
    pub fn widen(self) -> unsafe fn(usize, *const T, *mut Compute<T>, isize) {
        convert_kernel::widen::of::<T>(self.0)
    }

    /// Rounds results; see [`ops::convert::round`].
    #[inline(always)]
    pub fn round(self) -> unsafe fn(usize, *const Compute<T>, *mut T) {
        convert_kernel::round::of::<T>(self.0)
    }
}

/// The kernels of maps over rows.
macro_rules! row_map_kernels {
    ({} $($name:ident ($($statistic:ident: $role:ident),*))*) => {
        row_map_kernels!(@layout row_map_of_rows of_rows $($name ($($statistic)*))*);
        row_map_kernels!(@layout row_map_of_columns of_columns $($name ($($statistic)*))*);
    };
    (@layout $module:ident $bodies:ident $($name:ident ($($statistic:ident)*))*) => {
        /// The kernels for one layout of the matrix; see `ops::row_map`.
        pub mod $module {
            use super::*;
            $(kernel!(Element for_each_element
                $name (m: usize, n: usize, x: *const T, step: isize, $($statistic: *const T,)* out: *mut T, out_step: isize, stream: bool)
                    [] (row_map::$bodies::$name)
            );)*
        }
    };
}
for_each_row_map!(row_map_kernels! {} [name statistics]);

/// A fold of a vector; see `ops::reduce::vector`.
pub type FoldVector<T> = unsafe fn(usize, *const T, isize, *const T, isize, T) -> Folded<T>;
/// A fold of elements into lanes in memory; see `ops::reduce::fold_into_lanes`.
pub type FoldIntoLanes<T> = unsafe fn(usize, *const T, *const T, T, *mut T, usize);
/// A fold of columns; see `ops::reduce::columns`.
pub type FoldColumns<T> =
    unsafe fn(usize, usize, *const T, isize, *const T, isize, *const T, *mut T, reduce::WorkArea);
/// A fold of rows of 16-bit floats into lanes; see `ops::reduce::widen_into_lanes`.
pub type WidenIntoLanes<T> = unsafe fn(usize, usize, *const u8, isize, *const T, *mut T, bool);
/// A fold of rows; see `ops::reduce::rows`.
pub type FoldRows<T> =
    unsafe fn(usize, usize, *const T, isize, *const T, isize, *const T, *mut T, bool);

/// The kernels of a fold.
pub trait FoldOf<T: Element> {
    /// The fold of one vector.
    fn vector(level: Level) -> FoldVector<T>;
    /// The fold of a part of a chunk.
    fn into_lanes(level: Level) -> FoldIntoLanes<T>;
}

/// The kernels of a fold of many vectors.
pub trait FoldOfMany<T: Element> {
    /// Of vectors that are the rows of a row-major matrix.
    fn rows(level: Level) -> FoldRows<T>;
    /// Of vectors that are its columns.
    fn columns(level: Level) -> FoldColumns<T>;
    /// Of rows of 16-bit floats into lanes.
    fn widen_into_lanes<M: Storage<Compute = T>>(level: Level) -> WidenIntoLanes<T>;
}

/// Folds of vectors: each with the name of its kernel. A new fold is added here and to `folds_of_many!`. Its kernel is
/// called as the fold, in snake case: otherwise it needs budgets of its own in `xtask/src/asm/budget.toml`.
macro_rules! folds_of_vectors {
    ($($Fold:ident $name:ident)*) => {
        mod vector_kernel {
            use super::*;
            $(kernel!(Element for_each_element
                $name (n: usize, x: *const T, incx: isize, y: *const T, incy: isize, param: T) [Folded<T>]
                    (reduce::vector::<_, reduce::$Fold>)
            );)*
        }
        mod into_lanes_kernel {
            use super::*;
            $(kernel!(Element for_each_element
                $name (n: usize, x: *const T, y: *const T, param: T, lanes: *mut T, from: usize) []
                    (reduce::fold_into_lanes::<_, reduce::$Fold>)
            );)*
        }
        $(
            impl<T: Element> FoldOf<T> for reduce::$Fold {
                #[inline(always)]
                fn vector(level: Level) -> FoldVector<T> {
                    vector_kernel::$name::of::<T>(level)
                }
                #[inline(always)]
                fn into_lanes(level: Level) -> FoldIntoLanes<T> {
                    into_lanes_kernel::$name::of::<T>(level)
                }
            }
        )*
    };
}

folds_of_vectors! { Sum sum AbsSum asum SumSq sumsq Deviations deviations Nonzero nonzero ExpSum exp_sum Dot dot Product prod Min min Max max MaxAbs max_abs }

/// Folds of many vectors: each with the name of its kernels and the body of that for rows.
macro_rules! folds_of_many {
    ($($Fold:ident $name:ident = $body:expr;)*) => {
        mod rows_kernel {
            use super::*;
            $(kernel!(Element for_each_element
                $name (rows: usize, n: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const T, out: *mut T, prefetch: bool)
                    [] ($body)
            );)*
        }
        mod columns_kernel {
            use super::*;
            $(kernel!(Element for_each_element
                $name (rows: usize, cols: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const T, out: *mut T, work: reduce::WorkArea)
                    [] (reduce::columns::<_, reduce::$Fold>)
            );)*
        }
        mod lanes_kernel {
            use super::*;
            $(kernel!(Storage for_each_storage
                $name (rows: usize, cols: usize, x: *const u8, inc: isize, param: *const Compute<T>, lanes: *mut Compute<T>, is_first: bool)
                    [] (reduce::widen_into_lanes::<_, T, reduce::$Fold>)
            );)*
        }
        $(
            impl<T: Element> FoldOfMany<T> for reduce::$Fold {
                #[inline(always)]
                fn rows(level: Level) -> FoldRows<T> {
                    rows_kernel::$name::of::<T>(level)
                }
                #[inline(always)]
                fn columns(level: Level) -> FoldColumns<T> {
                    columns_kernel::$name::of::<T>(level)
                }
                #[inline(always)]
                fn widen_into_lanes<M: Storage<Compute = T>>(level: Level) -> WidenIntoLanes<T> {
                    lanes_kernel::$name::of::<M>(level)
                }
            }
        )*
    };
}

folds_of_many! {
    Sum sum = reduce::rows::<_, reduce::Sum>;
    AbsSum asum = reduce::rows::<_, reduce::AbsSum>;
    SumSq sumsq = reduce::rows::<_, reduce::SumSq>;
    Deviations deviations = reduce::rows::<_, reduce::Deviations>;
    Nonzero nonzero = reduce::rows::<_, reduce::Nonzero>;
    ExpSum exp_sum = reduce::rows::<_, reduce::ExpSum>;
    Dot dot = reduce::dot_rows;
    Product prod = reduce::rows::<_, reduce::Product>;
    Min min = reduce::rows::<_, reduce::Min>;
    Max max = reduce::rows::<_, reduce::Max>;
}

/// The routines of matrix products: a module for each level.
mod gemm_kernel {
    use super::*;

    macro_rules! level {
        ($level:ident $Token:ident, $features:meta) => {
            pub mod $level {
                use super::*;
                gemm::routines!($Token, $features, $level);
            }
        };
    }
    level!(portable Portable, inline(never));
    #[cfg(target_arch = "x86_64")]
    level!(avx2 Avx2, target_feature(enable = "avx2,fma,f16c"));
    #[cfg(target_arch = "x86_64")]
    level!(avx512 Avx512, target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2"));
    #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
    level!(neon Neon, target_feature(enable = "neon"));
}

impl<T: Element> Kernels<T> {
    /// Returns the routines of matrix products; the portable ones for levels of other architectures.
    #[inline(always)]
    pub fn gemm(self) -> &'static Routines<T> {
        macro_rules! routines {
            ($level:ident) => {
                for_type!(for_each_element T: Routines<T> = gemm_kernel::$level::Gemm::<T>::ROUTINES)
            };
        }
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => routines!(avx2),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => routines!(avx512),
            #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
            Level::Neon => routines!(neon),
            _ => routines!(portable),
        }
    }
}
