//! Dispatch: compiles each kernel for every level and element type, and looks it up by these. Each kernel has its own
//! lookup function, so that a program links only the kernels that it calls.

use core::marker::PhantomData;
use core::mem::transmute_copy;

use crate::element::{Dtype, Element, Storage};
use crate::half::{bf16, f16};
use crate::level::Level;
use crate::ops::gemm::{self, Routines};
use crate::ops::{self, elementwise, reduce};
use crate::recipe::{Divisor, Folded};
use crate::{for_each_element, for_each_elementwise, for_each_storage};

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

/// Returns `value` with the type `B`, for generic code where the compiler cannot see that `A` and `B` are the same
/// type.
///
/// # Safety
/// `A` and `B` must be the same type.
#[inline(always)]
unsafe fn cast_same_type<A: Copy, B: Copy>(value: A) -> B {
    const { assert!(size_of::<A>() == size_of::<B>()) }
    // SAFETY: as the caller's.
    unsafe { transmute_copy(&value) }
}

/// Compiles one kernel, `NAME (PARAMETERS) [RESULT] (BODY)`: for each type a module with a function for each level,
/// which has the target features of the level and inlines the generic body. In the signature `T` is the type in memory.
macro_rules! kernel {
    ({ $name:ident $parameters:tt $result:tt $body:tt } [$($M:ident as $C:ident $Dtype:ident),*]) => {
        pub mod $name {
            $(
                pub mod $M {
                    #[allow(unused_imports)]
                    use super::super::*;
                    type T = $M;
                    type C = $C;
                    levels!($parameters $result $body);
                }
            )*
        }
    };
}

/// The functions of a kernel, one for each level, for the type `T` in memory and the type `C` of arithmetic.
macro_rules! levels {
    (($($arg:ident: $ty:ty),*) [$($result:ty)?] ($body:expr)) => {
        #[inline(never)]
        unsafe fn portable($($arg: $ty),*) $(-> $result)? {
            // SAFETY: every machine has this level; the caller vouches for the arrays.
            unsafe { $body(crate::isa::portable::Portable::<C>::new(), $($arg),*) }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx2,fma,f16c")]
        unsafe fn avx2($($arg: $ty),*) $(-> $result)? {
            // SAFETY: this function is called only on a machine that has the level; the caller vouches for the arrays.
            unsafe { $body(crate::isa::avx2::Avx2::<C>::new(), $($arg),*) }
        }
        #[cfg(target_arch = "x86_64")]
        #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2")]
        unsafe fn avx512($($arg: $ty),*) $(-> $result)? {
            // SAFETY: as above.
            unsafe { $body(crate::isa::avx512::Avx512::<C>::new(), $($arg),*) }
        }
        #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
        #[target_feature(enable = "neon")]
        unsafe fn neon($($arg: $ty),*) $(-> $result)? {
            // SAFETY: as above.
            unsafe { $body(crate::isa::neon::Neon::<C>::new(), $($arg),*) }
        }

        /// In the order of `Level`. Levels of other architectures have the portable function.
        pub static LEVELS: [unsafe fn($($ty),*) $(-> $result)?; 4] = {
            #[allow(unused_mut)]
            let mut levels: [unsafe fn($($ty),*) $(-> $result)?; 4] = [portable; 4];
            #[cfg(target_arch = "x86_64")]
            {
                levels[Level::Avx2 as usize] = avx2;
                levels[Level::Avx512 as usize] = avx512;
            }
            #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
            {
                levels[Level::Neon as usize] = neon;
            }
            levels
        };
    };
}

/// Looks up the function of a kernel, `[MODULE NAME]`, for the type `T` and a level; `None` if the kernel is not
/// compiled for the type.
macro_rules! function_if_compiled {
    ({ $T:ident, $level:expr, $kernel:tt } [$($M:ident as $C:ident $Dtype:ident),*]) => {
        match <$T as Storage>::TYPE {
            // SAFETY: `T` is the type that `TYPE` names, so the two function types are the same.
            $(Dtype::$Dtype => Some(unsafe { cast_same_type(function_if_compiled!(@levels $kernel $M)[$level as usize]) }),)*
            #[allow(unreachable_patterns)]
            _ => None,
        }
    };
    (@levels [$module:ident $name:ident] $M:ident) => { $module::$name::$M::LEVELS };
}

/// As `function_if_compiled`, for a type that the kernel is compiled for.
macro_rules! function {
    ($arguments:tt $types:tt) => {
        match function_if_compiled!($arguments $types) {
            Some(function) => function,
            None => unreachable!(),
        }
    };
}

/// Kernels for the element types that have arithmetic of their own.
macro_rules! kernels {
    ($($name:ident($($arg:ident: $ty:ty),* $(,)?) $(-> $result:ty)? = $body:expr;)*) => {
        mod kernel {
            use super::*;
            $(for_each_element!(kernel! { $name ($($arg: $ty),*) [$($result)?] ($body) });)*
        }

        impl<T: Element> Kernels<T> {
            $(
                #[inline(always)]
                pub fn $name(self) -> unsafe fn($($ty),*) $(-> $result)? {
                    for_each_element!(function! { T, self.0, [kernel $name] })
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
    mse_grad(n: usize, pred: *const T, target: *const T, grad: *mut T, stream: bool) -> T = reduce::mse_grad;
    lsq_block(rows: usize, n: usize, a: *const T, a_rs: isize, a_cs: isize, x: *const T, incx: isize, y: *const T, from: usize, cols: usize, out: *mut T) = reduce::lsq_block;
}

/// The type of an argument of an elementwise kernel.
macro_rules! argument {
    (scalar $T:ident) => { Compute<$T> };
    (bound $T:ident) => { Compute<$T> };
    ($array:ident $T:ident) => { *const $T };
}
pub(crate) use argument;

/// The kernels of the elementwise operations, for every type in memory.
macro_rules! elementwise_kernels {
    ({} $($(#[$doc:meta])* $name:ident($($arg:ident: $role:ident),*) -> $out:ident: $mode:ident, $in_place:tt, $facts:tt)*) => {
        mod elementwise_kernel {
            use super::*;
            $(for_each_storage!(kernel! {
                $name (n: usize, $($arg: argument!($role T),)* $out: *mut T, stream: bool) [] (elementwise::$name)
            });)*
        }

        impl<T: Storage> Kernels<T> {
            $(
                #[inline(always)]
                pub fn $name(self) -> unsafe fn(usize, $(argument!($role T),)* *mut T, bool) {
                    for_each_storage!(function! { T, self.0, [elementwise_kernel $name] })
                }
            )*
        }
    };
}
for_each_elementwise!(elementwise_kernels! {});

/// The kernels of elementwise operations with scalars, for arrays in the place of these; see
/// [`elementwise::of_arrays`].
pub struct KernelsOfArrays;

/// Expands the rows that have a scalar or a bound.
macro_rules! kernels_of_arrays {
    ({} $($(#[$doc:meta])* $name:ident($($arg:ident: $role:ident),*) -> $out:ident: $mode:ident, $in_place:tt, $facts:tt)*) => {
        mod kernel_of_arrays {
            use super::*;
            $(kernels_of_arrays!(@kernel [$($role)*] $name $out $($arg)*);)*
        }

        impl KernelsOfArrays {
            $(kernels_of_arrays!(@method [$($role)*] $name $out $($arg)*);)*
        }
    };
    (@kernel [scalar $($role:ident)*] $($row:ident)*) => { kernels_of_arrays!(@kernel_of $($row)*); };
    (@kernel [bound $($role:ident)*] $($row:ident)*) => { kernels_of_arrays!(@kernel_of $($row)*); };
    (@method [scalar $($role:ident)*] $($row:ident)*) => { kernels_of_arrays!(@method_of $($row)*); };
    (@method [bound $($role:ident)*] $($row:ident)*) => { kernels_of_arrays!(@method_of $($row)*); };
    (@$item:ident [$array:ident $($role:ident)*] $($row:ident)*) => { kernels_of_arrays!(@$item [$($role)*] $($row)*); };
    (@$item:ident [] $($row:ident)*) => {};
    (@kernel_of $name:ident $out:ident $($arg:ident)*) => {
        for_each_storage!(kernel! {
            $name (n: usize, $($arg: *const T,)* $out: *mut T, stream: bool) [] (elementwise::of_arrays::$name)
        });
    };
    (@method_of $name:ident $out:ident $($arg:ident)*) => {
        #[inline(always)]
        pub fn $name<T: Storage>(level: Level) -> unsafe fn(usize, $(kernels_of_arrays!(@pointer $arg T),)* *mut T, bool) {
            for_each_storage!(function! { T, level, [kernel_of_arrays $name] })
        }
    };
    (@pointer $arg:ident $T:ident) => { *const $T };
}
for_each_elementwise!(kernels_of_arrays! {});

/// A fold of a vector; see `ops::reduce::vector`.
pub type FoldVector<T> =
    unsafe fn(usize, *const T, isize, *const T, isize, Compute<T>) -> Folded<Compute<T>>;
/// A fold of columns; see `ops::reduce::columns`.
pub type FoldColumns<T> = unsafe fn(
    usize,
    usize,
    *const T,
    isize,
    *const T,
    isize,
    *const Compute<T>,
    *mut Compute<T>,
    reduce::Work,
);
/// A fold of rows; see `ops::reduce::rows`.
pub type FoldRows<T> = unsafe fn(
    usize,
    usize,
    *const T,
    isize,
    *const T,
    isize,
    *const Compute<T>,
    *mut Compute<T>,
    bool,
);

/// Copies short rows to columns; see `ops::reduce::transpose`.
pub type Transpose<T> = unsafe fn(usize, usize, *const T, isize, *mut T, usize, bool);

/// Returns the kernel of a level that copies rows to columns; `None` for types whose columns are folded one by one.
#[inline(always)]
pub fn transpose<T: Storage>(level: Level) -> Option<Transpose<T>> {
    for_each_element!(function_if_compiled! { T, level, [columns_kernel transpose] })
}

/// Copies elements with non-temporal stores; see `ops::reduce::stream`.
pub type Stream<T> = unsafe fn(usize, *const T, *mut T, bool);

/// Returns the kernel of a level that copies with non-temporal stores; `None` for types that do not have it.
#[inline(always)]
pub fn stream<T: Storage>(level: Level) -> Option<Stream<T>> {
    for_each_element!(function_if_compiled! { T, level, [columns_kernel stream] })
}

/// The last step of `logsumexp` for many vectors; see `ops::reduce::add_logarithms`.
pub type AddLogarithms<T> = unsafe fn(usize, *const Compute<T>, *mut Compute<T>);

/// Returns the kernel of a level for the last step of `logsumexp`; `None` for types that do not have it.
#[inline(always)]
pub fn add_logarithms<T: Storage>(level: Level) -> Option<AddLogarithms<T>> {
    for_each_element!(function_if_compiled! { T, level, [columns_kernel add_logarithms] })
}

/// The kernels of a fold of one vector.
pub trait Vector<T: Storage> {
    /// The kernel of a level.
    fn vector(level: Level) -> FoldVector<T>;
}

/// The kernels of a fold of many vectors that are the rows of a row-major matrix.
pub trait Rows<T: Storage> {
    /// The kernel of a level.
    fn rows(level: Level) -> FoldRows<T>;
}

/// The kernels of a fold of many vectors that are the columns of a row-major matrix.
pub trait Columns<T: Storage> {
    /// The kernel of a level; `None` for types whose columns are folded one by one.
    fn columns(level: Level) -> Option<FoldColumns<T>>;
}

/// Folds of vectors: the bound and the list of element types, then each fold with the name of its kernel. A new fold is
/// added here, to `rows_folds!` and to `columns_folds!`. Its kernel is called as the fold, in snake case: otherwise it
/// needs budgets of its own in `xtask/src/asm/budget.toml`.
macro_rules! vector_folds {
    ($($Bound:ident $for_each:ident: $($Fold:ident $name:ident)*;)*) => {
        mod vector_kernel {
            use super::*;
            $($($for_each!(kernel! {
                $name (n: usize, x: *const T, incx: isize, y: *const T, incy: isize, param: Compute<T>) [Folded<C>]
                    (reduce::vector::<_, reduce::$Fold, T>)
            });)*)*
        }
        $($(
            impl<T: $Bound> Vector<T> for reduce::$Fold {
                #[inline(always)]
                fn vector(level: Level) -> FoldVector<T> {
                    $for_each!(function! { T, level, [vector_kernel $name] })
                }
            }
        )*)*
    };
}

vector_folds! {
    Storage for_each_storage: Sum sum;
    Element for_each_element: AbsSum asum SumSq sumsq Deviations deviations Nonzero nonzero ExpSum exp_sum
        Dot dot Product prod Min min Max max MaxAbs max_abs;
}

/// Folds of rows: the bound and the list of element types, then each fold with the name and the body of its kernel.
macro_rules! rows_folds {
    ($($Bound:ident $for_each:ident: $($Fold:ident $name:ident = $body:expr)*;)*) => {
        mod rows_kernel {
            use super::*;
            $($($for_each!(kernel! {
                $name (rows: usize, n: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const Compute<T>, out: *mut Compute<T>, prefetch: bool)
                    [] ($body)
            });)*)*
        }
        $($(
            impl<T: $Bound> Rows<T> for reduce::$Fold {
                #[inline(always)]
                fn rows(level: Level) -> FoldRows<T> {
                    $for_each!(function! { T, level, [rows_kernel $name] })
                }
            }
        )*)*
    };
}

rows_folds! {
    Storage for_each_storage: Sum sum = reduce::rows::<_, reduce::Sum, T>;
    Element for_each_element:
        AbsSum asum = reduce::rows::<_, reduce::AbsSum, T>
        SumSq sumsq = reduce::rows::<_, reduce::SumSq, T>
        Deviations deviations = reduce::rows::<_, reduce::Deviations, T>
        Nonzero nonzero = reduce::rows::<_, reduce::Nonzero, T>
        ExpSum exp_sum = reduce::rows::<_, reduce::ExpSum, T>
        Dot dot = reduce::dot_rows
        Product prod = reduce::rows::<_, reduce::Product, T>
        Min min = reduce::rows::<_, reduce::Min, T>
        Max max = reduce::rows::<_, reduce::Max, T>;
}

/// Folds of columns, for types with arithmetic of their own: each fold with the name of its kernel.
macro_rules! columns_folds {
    ($($Fold:ident $name:ident)*) => {
        mod columns_kernel {
            use super::*;
            $(for_each_element!(kernel! {
                $name (rows: usize, cols: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const T, out: *mut T, work: reduce::Work)
                    [] (reduce::columns::<_, reduce::$Fold>)
            });)*
            for_each_element!(kernel! {
                transpose (rows: usize, n: usize, x: *const T, inc: isize, out: *mut T, width: usize, prefetch: bool)
                    [] (reduce::transpose)
            });
            for_each_element!(kernel! {
                stream (n: usize, from: *const T, to: *mut T, is_last: bool) [] (reduce::stream)
            });
            for_each_element!(kernel! {
                add_logarithms (n: usize, known: *const T, sums: *mut T) [] (reduce::add_logarithms)
            });
        }
        $(
            impl<T: Storage> Columns<T> for reduce::$Fold {
                #[inline(always)]
                fn columns(level: Level) -> Option<FoldColumns<T>> {
                    for_each_element!(function_if_compiled! { T, level, [columns_kernel $name] })
                }
            }
        )*
    };
}

columns_folds! { Sum sum AbsSum asum SumSq sumsq Deviations deviations Nonzero nonzero ExpSum exp_sum Dot dot Product prod Min min Max max }

/// The routines of matrix products: a module for each type and level.
macro_rules! gemm_routines {
    ({} [$($M:ident as $C:ident $Dtype:ident),*]) => {
        mod gemm_kernel {
            use super::*;
            $(
                pub mod $M {
                    use super::*;
                    gemm_level!($M portable crate::isa::portable::Portable<$M>, inline(never));
                    #[cfg(target_arch = "x86_64")]
                    gemm_level!($M avx2 crate::isa::avx2::Avx2<$M>, target_feature(enable = "avx2,fma,f16c"));
                    #[cfg(target_arch = "x86_64")]
                    gemm_level!($M avx512 crate::isa::avx512::Avx512<$M>,
                        target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2"));
                    #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
                    gemm_level!($M neon crate::isa::neon::Neon<$M>, target_feature(enable = "neon"));

                    /// Returns the routines of a level; the portable ones for levels of other architectures.
                    #[inline(always)]
                    pub fn of(level: Level) -> &'static Routines<$M> {
                        match level {
                            #[cfg(target_arch = "x86_64")]
                            Level::Avx2 => &avx2::ROUTINES,
                            #[cfg(target_arch = "x86_64")]
                            Level::Avx512 => &avx512::ROUTINES,
                            #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
                            Level::Neon => &neon::ROUTINES,
                            _ => &portable::ROUTINES,
                        }
                    }
                }
            )*
        }

        impl<T: Element> Kernels<T> {
            /// Returns the routines of matrix products.
            #[inline(always)]
            pub fn gemm(self) -> &'static Routines<T> {
                match T::TYPE {
                    // SAFETY: `T` is the type that `TYPE` names, so the two types of routines are the same.
                    $(Dtype::$Dtype => unsafe { cast_same_type(gemm_kernel::$M::of(self.0)) },)*
                    _ => unreachable!(),
                }
            }
        }
    };
}

macro_rules! gemm_level {
    ($M:ident $level:ident $Token:ty, $features:meta) => {
        pub mod $level {
            use super::*;
            gemm::routines!($M, $Token, $features, $level);

            pub static ROUTINES: Routines<$M> = GEMM;
        }
    };
}
for_each_element!(gemm_routines! {});
