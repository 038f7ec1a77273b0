//! The elementwise operations on integers, expanded from the table of operations (`for_each_elementwise!`).

use core::ptr;

use super::opaque;
use crate::array::from_fn;
use crate::for_each_elementwise;
use crate::scalar::integers::{self, Wrapping};
use crate::tensor::checked::MAX_INPUTS;

/// A kernel for `n` elements; the output may be exactly an input.
pub type Elementwise = unsafe fn(n: usize, inputs: &[*const u8; MAX_INPUTS], out: *mut u8);

/// An operand, of which blocks of `N` elements are read.
trait Operand<T, const N: usize>: Copy {
    /// Returns elements i .. i + N.
    ///
    /// # Safety
    /// They must be valid for reading.
    unsafe fn whole(self, i: usize) -> [T; N];

    /// Returns elements i .. i + len, and any others behind them.
    ///
    /// # Safety
    /// They must be valid for reading, and at most `N`.
    unsafe fn part(self, i: usize, len: usize) -> [T; N];
}

/// An array.
#[derive(Clone, Copy)]
struct Array<T>(*const T);

impl<T: Wrapping, const N: usize> Operand<T, N> for Array<T> {
    #[inline(always)]
    unsafe fn whole(self, i: usize) -> [T; N] {
        self.0.add(i).cast::<[T; N]>().read()
    }

    #[inline(always)]
    unsafe fn part(self, i: usize, len: usize) -> [T; N] {
        let mut block = [T::ZERO; N];
        ptr::copy_nonoverlapping(self.0.add(i), block.as_mut_ptr(), len);
        block
    }
}

/// A number.
#[derive(Clone, Copy)]
struct Number<T>(T);

impl<T: Wrapping, const N: usize> Operand<T, N> for Number<T> {
    #[inline(always)]
    unsafe fn whole(self, _: usize) -> [T; N] {
        [self.0; N]
    }

    #[inline(always)]
    unsafe fn part(self, _: usize, _: usize) -> [T; N] {
        [self.0; N]
    }
}

/// Expands the rows that take integers. `@body` is a function, from the kinds of its arguments and from the list of its
/// operands, which are the arguments and, where the operation updates it, the output.
macro_rules! bodies {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) $out:ident $mode:ident $integers:ident)*) => {
        /// The kernels that take scalars as numbers: `NAME::<T, N>`, in blocks of `N` elements.
        ///
        /// # Safety
        /// The arrays must be valid for `n` elements, the output for writing too, and exactly an input or apart from it.
        pub mod of_scalars {
            use super::*;
            $(bodies!(@$integers $name [$($arg: $kind)*] $out $mode);)*
        }

        /// The kernels that take scalars as arrays, of operations that have scalars.
        ///
        /// # Safety
        /// As [`of_scalars`].
        pub mod of_arrays {
            use super::*;
            $(bodies!(@of_arrays $integers [$($kind)*] $name [$($arg: array)*] $out $mode);)*
        }
    };
    (@of_arrays $integers:ident [scalar $($kind:ident)*] $($row:tt)*) => { bodies!(@$integers $($row)*); };
    (@of_arrays $integers:ident [array $($kind:ident)*] $($row:tt)*) => { bodies!(@of_arrays $integers [$($kind)*] $($row)*); };
    (@of_arrays $integers:ident [] $($row:tt)*) => {};
    (@refused $($row:tt)*) => {};
    (@signless $($row:tt)*) => { bodies!(@row $($row)*); };
    (@signed $($row:tt)*) => { bodies!(@row $($row)*); };
    (@row $name:ident [$($arg:ident: $kind:ident)*] $out:ident write) => {
        bodies!(@body $name [$($arg: $kind)*] [$($arg)*] $out []);
    };
    (@row $name:ident [$($arg:ident: $kind:ident)*] $out:ident update) => {
        bodies!(@body $name [$($arg: $kind)*] [$($arg)* $out] $out [let $out = Array($out.cast_const());]);
    };
    (@body $name:ident [$($arg:ident: $kind:ident)*] [$($operand:ident)*] $out:ident [$($output:tt)*]) => {
        #[inline(always)]
        pub unsafe fn $name<T: Wrapping, const N: usize>(n: usize, inputs: &[*const u8; MAX_INPUTS], out: *mut u8) {
            let [$($arg,)* ..] = *inputs;
            $(let $arg = bodies!(@$kind T $arg);)*
            let $out = out.cast::<T>();
            let out = $out;
            $($output)*
            let mut i = 0;
            while n - i >= N {
                $(let $operand: [T; N] = $operand.whole(i);)*
                let results: [T; N] = from_fn(|j| integers::$name($($operand[j]),*));
                out.add(i).cast::<[T; N]>().write(results);
                i += opaque(&N);
            }
            if i < n {
                let len = n - i;
                $(let $operand: [T; N] = $operand.part(i, len);)*
                let results: [T; N] = from_fn(|j| integers::$name($($operand[j]),*));
                ptr::copy_nonoverlapping(results.as_ptr(), out.add(i), len);
            }
        }
    };
    (@scalar $T:ident $arg:ident) => { Number($arg.cast::<$T>().read()) };
    (@array $T:ident $arg:ident) => { Array($arg.cast::<$T>()) };
}
for_each_elementwise!(bodies! {} [name arguments output mode integers]);
