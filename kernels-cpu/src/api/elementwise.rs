//! clamp, arithmetic, scale, axpy, square, fill: expanded from the table of operations.

use crate::detect;
use crate::dispatch::{Compute, Kernels, argument};
use crate::element::Storage;
use crate::error::{Error, Result};
use crate::exec::{Exec, Shared, share};
use crate::for_each_elementwise;

/// Runs `part(from, len)` over 0..n, cut at multiples of 64 elements.
fn split(exec: &Exec<'_>, n: usize, bytes: usize, part: impl Fn(usize, usize) + Sync) {
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

/// The pointer form.
pub mod raw {
    use super::*;
    use crate::api::plain;
    use crate::args::{size, slice};
    use crate::element::Element;

    /// One operation: the short way to the kernel, or checks, and the kernel over every part.
    macro_rules! entries {
        ({} $($(#[$doc:meta])* $name:ident($($arg:ident: $role:ident),*) -> $out:ident: $mode:ident, $in_place:tt, $facts:tt)*) => {$(
            $(#[$doc])*
            ///
            /// # Errors
            /// `NegativeSize`, `NullPointer`, `Misaligned`, `SizeOverflow`; `Overlap` when the output
            /// overlaps an input other than exactly.
            ///
            /// # Safety
            /// Arrays must be valid for `n` elements.
            #[inline(always)]
            pub unsafe fn $name<T: Storage>(
                exec: &Exec<'_>, n: i64, $($arg: argument!($role T),)* $out: *mut T,
            ) -> Result<()> {
                if plain::is_small(n, $out) $(& entries!(@plain $role $arg n $out))* {
                    let kernel = Kernels::<T>::new(exec.level()?).$name();
                    // SAFETY: as the caller's.
                    unsafe { kernel(n as usize, $($arg,)* $out, false) };
                    return Ok(());
                }
                #[inline(never)]
                unsafe fn any<T: Storage>(
                    exec: &Exec<'_>, n: i64, $($arg: argument!($role T),)* $out: *mut T,
                ) -> Result<()> {
                    let level = exec.level()?;
                    let n = size(n, "n")?;
                    let _output = slice($out, n, stringify!($out))?;
                    $(entries!(@check $role $arg n _output);)*
                    if false $(|| entries!(@is_nan $role $arg))* {
                        // SAFETY: as the caller's.
                        return unsafe { fill(exec, n as i64, <Compute<T> as Element>::CANONICAL_NAN, $out) };
                    }
                    let kernel = Kernels::<T>::new(level).$name();
                    let bytes = n * size_of::<T>();
                    let touched = bytes.saturating_mul(1 $(+ entries!(@arrays $role))*);
                    // In place, the lines are in the caches already.
                    let in_place = entries!(@reads_output $mode) $(|| entries!(@is_output $role $arg $out))*;
                    let stream = !in_place && detect::is_past_the_caches(touched);
                    let $out = Shared::new($out);
                    $(entries!(@share $role $arg);)*
                    split(exec, n, bytes, move |from, len| {
                        // SAFETY: the part lies in 0..n, where the caller vouches for every array, and
                        // no other task writes it.
                        unsafe { kernel(len, $(entries!(@part $role $arg from),)* $out.get().add(from), stream) }
                    });
                    Ok(())
                }
                // SAFETY: as the caller's.
                unsafe { any(exec, n, $($arg,)* $out) }
            }
        )*};
        (@plain scalar $arg:ident $n:ident $out:ident) => { true };
        (@plain bound $arg:ident $n:ident $out:ident) => { !$arg.is_nan() };
        (@plain $array:ident $arg:ident $n:ident $out:ident) => { plain::is_same_or_apart($n, $arg, $out) };
        (@check scalar $arg:ident $n:ident $output:ident) => {};
        (@check bound $arg:ident $n:ident $output:ident) => {};
        (@check $array:ident $arg:ident $n:ident $output:ident) => {
            $output.same_or_apart_from(&slice($arg, $n, stringify!($arg))?)?
        };
        (@is_nan bound $arg:ident) => { $arg.is_nan() };
        (@is_nan $role:ident $arg:ident) => { false };
        (@arrays scalar) => { 0 };
        (@arrays bound) => { 0 };
        (@arrays $array:ident) => { 1 };
        (@reads_output write) => { false };
        (@reads_output update) => { true };
        (@is_output scalar $arg:ident $out:ident) => { false };
        (@is_output bound $arg:ident $out:ident) => { false };
        (@is_output $array:ident $arg:ident $out:ident) => { $arg.cast_mut() == $out };
        (@share scalar $arg:ident) => {};
        (@share bound $arg:ident) => {};
        (@share $array:ident $arg:ident) => { let $arg = Shared::new($arg); };
        (@part scalar $arg:ident $from:ident) => { $arg };
        (@part bound $arg:ident $from:ident) => { $arg };
        (@part $array:ident $arg:ident $from:ident) => { $arg.get().add($from).cast_const() };
    }
    for_each_elementwise!(entries! {});
}

/// Refuses an input whose length is not the output's.
fn same_length<T>(out: usize, input: &[T], arg: &'static str) -> Result<()> {
    if input.len() == out {
        Ok(())
    } else {
        Err(Error::ShapeMismatch { arg })
    }
}

/// The safe forms: on slices of one length, and in place.
macro_rules! safe {
    ({} $($(#[$doc:meta])* $name:ident $args:tt -> $out:ident: $mode:ident, $in_place:tt, $facts:tt)*) => {$(
        safe!(@form [$(#[$doc])*] $name $args $out);
        safe!(@in_place $in_place $name $args);
    )*};
    (@form [$(#[$doc:meta])*] $name:ident ($($arg:ident: $role:ident),*) $out:ident) => {
        $(#[$doc])*
        ///
        /// # Errors
        /// [`Error::ShapeMismatch`] unless the slices have one length.
        pub fn $name<T: Storage>(exec: &Exec<'_>, $($arg: safe!(@type $role T),)* $out: &mut [T]) -> Result<()> {
            $(safe!(@length $role $arg $out);)*
            let n = $out.len() as i64;
            // SAFETY: the slices have n elements.
            unsafe { raw::$name(exec, n, $(safe!(@pass $role $arg),)* $out.as_mut_ptr()) }
        }
    };
    (@in_place [] $name:ident $args:tt) => {};
    (@in_place [$in_place:ident] $name:ident ($($arg:ident: $role:ident),*)) => {
        #[doc = concat!("As [`", stringify!($name), "`], the result replacing ", $(safe!(@replaced $role $arg),)* ".")]
        ///
        /// # Errors
        /// [`Error::ShapeMismatch`] unless the slices have one length.
        pub fn $in_place<T: Storage>(exec: &Exec<'_>, $($arg: safe!(@in_place_type $role T)),*) -> Result<()> {
            $(safe!(@output $role $arg out len);)*
            $(safe!(@in_place_length $role $arg len);)*
            // SAFETY: the slices have so many elements; the output is exactly an input.
            unsafe { raw::$name(exec, len as i64, $(safe!(@in_place_pass $role $arg out),)* out) }
        }
    };
    (@type scalar $T:ident) => { Compute<$T> };
    (@type bound $T:ident) => { Compute<$T> };
    (@type $array:ident $T:ident) => { &[$T] };
    (@length scalar $arg:ident $out:ident) => {};
    (@length bound $arg:ident $out:ident) => {};
    (@length $array:ident $arg:ident $out:ident) => { same_length($out.len(), $arg, stringify!($arg))? };
    (@pass scalar $arg:ident) => { $arg };
    (@pass bound $arg:ident) => { $arg };
    (@pass $array:ident $arg:ident) => { $arg.as_ptr() };
    (@replaced replaced $arg:ident) => { concat!("`", stringify!($arg), "`") };
    (@replaced $role:ident $arg:ident) => { "" };
    (@in_place_type replaced $T:ident) => { &mut [$T] };
    (@in_place_type $role:ident $T:ident) => { safe!(@type $role $T) };
    (@output replaced $arg:ident $out:ident $len:ident) => {
        let ($out, $len) = ($arg.as_mut_ptr(), $arg.len());
    };
    (@output $role:ident $arg:ident $out:ident $len:ident) => {};
    (@in_place_length replaced $arg:ident $len:ident) => {};
    (@in_place_length scalar $arg:ident $len:ident) => {};
    (@in_place_length bound $arg:ident $len:ident) => {};
    (@in_place_length $array:ident $arg:ident $len:ident) => { same_length($len, $arg, stringify!($arg))? };
    (@in_place_pass replaced $arg:ident $out:ident) => { $out.cast_const() };
    (@in_place_pass $role:ident $arg:ident $out:ident) => { safe!(@pass $role $arg) };
}
for_each_elementwise!(safe! {});
