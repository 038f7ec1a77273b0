//! The elementwise operations, expanded from the table of operations (`for_each_elementwise!`).

pub(crate) mod kinds;

use crate::detect;
use crate::dispatch::{Compute, Kernels, argument};
use crate::element::Storage;
use crate::error::{Error, Result};
use crate::exec::{Exec, Shared, share};
use crate::number::{Number, Scalar};
use crate::{for_each_elementwise, if_nan_spreads};
use kinds::Elementwise;

/// Splits 0..n at multiples of 64 elements and runs `part(from, len)` on each piece, on several threads if `bytes` of
/// output are worth it.
pub(crate) fn split(exec: &Exec<'_>, n: usize, bytes: usize, part: impl Fn(usize, usize) + Sync) {
    const GRAIN: usize = 64;
    let tasks = exec.tasks(bytes, n.div_ceil(GRAIN));
    if tasks == 1 {
        return part(0, n);
    }
    let each = share(n.div_ceil(GRAIN), tasks) * GRAIN;
    exec.run(tasks, &|task| {
        let from = (task * each).min(n);
        part(from, each.min(n - from));
    });
}

/// The pointer forms.
pub mod raw {
    use super::*;
    use crate::api::fast_path;
    use crate::args::{size, slice};
    use crate::element::Element;

    /// One operation: the fast path calls the kernel at once; the general path checks the arguments, splits the arrays
    /// and calls the kernel on each piece.
    macro_rules! entries {
        ({} $([$(#[$doc:meta])*] $name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*) $out:ident $mode:ident)*) => {$(
            $(#[$doc])*
            ///
            /// All arrays are contiguous and have `n` elements. The output may be exactly an input.
            ///
            /// # Errors
            /// `NegativeSize`, `NullPointer`, `Misaligned`, `SizeOverflow`; `Overlap` when the output overlaps an input
            /// but is not exactly that input.
            ///
            /// # Safety
            /// The arrays must be valid for `n` elements, inputs for reading and the output for writing.
            #[inline(always)]
            pub unsafe fn $name<T: Storage>(
                exec: &Exec<'_>, n: i64, $($arg: argument!($kind T),)* $out: *mut T,
            ) -> Result<()> {
                if fast_path::is_small(n, $out) $(& entries!(@qualifies $kind $role $arg n $out))* {
                    let kernel = Kernels::<T>::new(exec.level()?).$name();
                    // SAFETY: as the caller's.
                    unsafe { kernel(n as usize, $($arg,)* $out, false) };
                    return Ok(());
                }
                #[inline(never)]
                unsafe fn general<T: Storage>(
                    exec: &Exec<'_>, n: i64, $($arg: argument!($kind T),)* $out: *mut T,
                ) -> Result<()> {
                    let level = exec.level()?;
                    let n = size(n, "n")?;
                    let _output = slice($out, n, stringify!($out))?;
                    $(entries!(@check $kind $arg n _output);)*
                    if false $(|| if_nan_spreads!($role [$arg.is_nan()] [false]))* {
                        // SAFETY: as the caller's.
                        return unsafe { fill(exec, n as i64, <Compute<T> as Element>::CANONICAL_NAN, $out) };
                    }
                    let kernel = Kernels::<T>::new(level).$name();
                    let bytes = n * size_of::<T>();
                    let touched = bytes.saturating_mul(1 $(+ entries!(@arrays $kind))*);
                    // An output that is also read has its lines in the caches: no non-temporal stores.
                    let in_place = entries!(@reads_output $mode) $(|| entries!(@is_output $kind $arg $out))*;
                    let stream = !in_place && detect::exceeds_llc(touched);
                    let $out = Shared::new($out);
                    $(entries!(@share $kind $arg);)*
                    split(exec, n, bytes, move |from, len| {
                        // SAFETY: the piece lies in 0..n, where the caller vouches for every array, and no other task
                        // writes it.
                        unsafe { kernel(len, $(entries!(@part $kind $arg from),)* $out.get().add(from), stream) }
                    });
                    Ok(())
                }
                // SAFETY: as the caller's.
                unsafe { general(exec, n, $($arg,)* $out) }
            }
        )*};
        (@qualifies scalar $role:ident $arg:ident $n:ident $out:ident) => { if_nan_spreads!($role [!$arg.is_nan()] [true]) };
        (@qualifies array $role:ident $arg:ident $n:ident $out:ident) => { fast_path::is_same_or_apart($n, $arg, $out) };
        (@check scalar $arg:ident $n:ident $output:ident) => {};
        (@check array $arg:ident $n:ident $output:ident) => {
            $output.same_or_apart_from(&slice($arg, $n, stringify!($arg))?)?
        };
        (@arrays scalar) => { 0 };
        (@arrays array) => { 1 };
        (@reads_output write) => { false };
        (@reads_output update) => { true };
        (@is_output scalar $arg:ident $out:ident) => { false };
        (@is_output array $arg:ident $out:ident) => { $arg.cast_mut() == $out };
        (@share scalar $arg:ident) => {};
        (@share array $arg:ident) => { let $arg = Shared::new($arg); };
        (@part scalar $arg:ident $from:ident) => { $arg };
        (@part array $arg:ident $from:ident) => { $arg.get().add($from).cast_const() };
    }
    for_each_elementwise!(entries! {} [doc name arguments roles output mode]);
}

/// Refuses an input that does not have the output's length.
fn same_length<T>(out: usize, input: &[T], arg: &'static str) -> Result<()> {
    if input.len() == out {
        Ok(())
    } else {
        Err(Error::ShapeMismatch { arg })
    }
}

/// The safe forms, on slices of one length: with a separate output, and in place.
macro_rules! safe {
    ({} $([$(#[$doc:meta])*] $name:ident $args:tt $roles:tt $out:ident $in_place:tt $integers:ident)*) => {$(
        safe!(@of $integers [@form [$(#[$doc])*] $name $args $out]);
        safe!(@of $integers [@in_place $in_place $name $args $roles]);
    )*};
    // The trait of the types of elements, and where the function is.
    (@of refused [@$form:ident $($row:tt)*]) => { safe!(@$form [Storage raw ""] $($row)*); };
    (@of $signs:ident [@$form:ident $($row:tt)*]) => {
        safe!(@$form [Number (<T::Kind as Elementwise<T>>) "Integers: exact modulo 2^bits."] $($row)*);
    };
    (@form [$Bound:ident $via:tt $note:literal]
        [$(#[$doc:meta])*] $name:ident ($($arg:ident: $kind:ident),*) $out:ident) => {
        $(#[$doc])*
        #[doc = $note]
        ///
        #[doc = errors!($name)]
        #[doc = example!($name)]
        pub fn $name<T: $Bound>(exec: &Exec<'_>, $($arg: safe!(@type $kind T),)* $out: &mut [T]) -> Result<()> {
            $(safe!(@length $kind $arg $out);)*
            let n = $out.len() as i64;
            // SAFETY: the slices have n elements.
            unsafe { safe!(@call $via $name (exec, n, $(safe!(@pass $kind $arg),)* $out.as_mut_ptr())) }
        }
    };
    (@call ($($path:tt)*) $name:ident $arguments:tt) => { $($path)*::$name $arguments };
    (@call raw $name:ident $arguments:tt) => { raw::$name $arguments };
    (@in_place $of:tt [] $($rest:tt)*) => {};
    (@in_place [$Bound:ident $via:tt $note:literal]
        [$in_place:ident] $name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*)) => {
        #[doc = concat!("As [`", stringify!($name), "`], but the result replaces ", $(safe!(@replaced $role $arg),)* ".")]
        ///
        /// # Errors
        /// [`Error::ShapeMismatch`] when the slices differ in length.
        pub fn $in_place<T: $Bound>(exec: &Exec<'_>, $($arg: safe!(@in_place_type $kind $role T)),*) -> Result<()> {
            $(safe!(@output $role $arg out len);)*
            $(safe!(@in_place_length $kind $role $arg len);)*
            // SAFETY: the slices have `len` elements; the output is exactly an input.
            unsafe { safe!(@call $via $name (exec, len as i64, $(safe!(@in_place_pass $kind $role $arg out),)* out)) }
        }
    };
    (@type scalar $T:ident) => { Scalar<$T> };
    (@type array $T:ident) => { &[$T] };
    (@length scalar $arg:ident $out:ident) => {};
    (@length array $arg:ident $out:ident) => { same_length($out.len(), $arg, stringify!($arg))? };
    (@pass scalar $arg:ident) => { $arg };
    (@pass array $arg:ident) => { $arg.as_ptr() };
    (@replaced replaced $arg:ident) => { concat!("`", stringify!($arg), "`") };
    (@replaced $role:ident $arg:ident) => { "" };
    (@in_place_type array replaced $T:ident) => { &mut [$T] };
    (@in_place_type $kind:ident $role:ident $T:ident) => { safe!(@type $kind $T) };
    (@output replaced $arg:ident $out:ident $len:ident) => {
        let ($out, $len) = ($arg.as_mut_ptr(), $arg.len());
    };
    (@output $role:ident $arg:ident $out:ident $len:ident) => {};
    (@in_place_length array replaced $arg:ident $len:ident) => {};
    (@in_place_length scalar $role:ident $arg:ident $len:ident) => {};
    (@in_place_length array $role:ident $arg:ident $len:ident) => { same_length($len, $arg, stringify!($arg))? };
    (@in_place_pass array replaced $arg:ident $out:ident) => { $out.cast_const() };
    (@in_place_pass $kind:ident $role:ident $arg:ident $out:ident) => { safe!(@pass $kind $arg) };
}

/// The errors in the documentation.
macro_rules! errors {
    (fill) => {
        "# Errors\nOnly [`Error::LevelUnavailable`]."
    };
    ($name:ident) => {
        "All slices have the same length n.\n\n# Errors\n[`Error::ShapeMismatch`] when the slices differ in length."
    };
}

/// The examples in the documentation.
macro_rules! example {
    (clamp) => {
        r"
# Example

```
use diptych::{Exec, clamp, clamp_in_place};

let exec = Exec::new();
let mut x = [-1.0_f32, 0.5, 2.0, f32::NAN];
let mut out = [0.0; 4];
clamp(&exec, &x, 0.0, 1.0, &mut out)?;
assert_eq!(out[..3], [0.0, 0.5, 1.0]);
assert!(out[3].is_nan());

// ReLU, in place.
clamp_in_place(&exec, &mut x, 0.0, f32::INFINITY)?;
assert_eq!(x[..3], [0.0, 0.5, 2.0]);
# Ok::<(), diptych::Error>(())
```
"
    };
    (clamp_backward) => {
        r"
# Example

```
use diptych::{Exec, clamp_backward};

// The gradient passes where the input of the clamp was within 0..1.
let mut out = [0.0_f32; 3];
clamp_backward(&Exec::new(), &[-1.0, 0.5, 2.0], &[10.0, 20.0, 30.0], 0.0, 1.0, &mut out)?;
assert_eq!(out, [0.0, 20.0, 0.0]);
# Ok::<(), diptych::Error>(())
```
"
    };
    (axpy) => {
        r"
# Example

```
use diptych::{Exec, axpy};

// A step of gradient descent: weights += -0.5 * gradient.
let mut weights = [1.0_f32, 2.0, 3.0];
axpy(&Exec::new(), -0.5, &[2.0, 0.0, -2.0], &mut weights)?;
assert_eq!(weights, [0.0, 2.0, 4.0]);
# Ok::<(), diptych::Error>(())
```
"
    };
    ($other:ident) => {
        ""
    };
}
for_each_elementwise!(safe! {} [doc name arguments roles output in_place integers]);
