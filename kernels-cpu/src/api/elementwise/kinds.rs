//! The elementwise operations of floats and of integers behind one trait, expanded from the table of operations
//! (`for_each_elementwise!`).

use super::{raw, split};
use crate::api::fast_path::SMALL;
use crate::detect;
use crate::dispatch::of_type;
use crate::element::Storage;
use crate::error::Result;
use crate::exec::{Exec, Shared};
use crate::for_each_elementwise;
use crate::number::{Floats, IntegerElement, Integers, Number, Scalar};
use crate::tensor::blocks::ArrayKernel;
use crate::tensor::checked::MAX_INPUTS;
use crate::tensor::integers;

/// An input of a kernel of integers, and the bytes from one element to the next: 0 for a scalar.
type Input = (*const u8, usize);

/// Runs a kernel on `n` elements of `size` bytes. (One function for all operations and types.)
///
/// # Errors
/// `LevelUnavailable`.
///
/// # Safety
/// The arrays must be valid for `n` elements, inputs for reading and the output for writing; it must be exactly an
/// input or apart from it.
#[cfg_attr(precompiled, inline(never))]
#[cfg_attr(not(precompiled), inline)]
unsafe fn run(
    exec: &Exec<'_>,
    kernel: ArrayKernel,
    (n, size): (usize, usize),
    inputs: &[Input],
    out: *mut u8,
    updates: bool,
) -> Result<()> {
    let level = exec.level()?;
    let mut all = [(Shared::new(core::ptr::null::<u8>()), 0); MAX_INPUTS];
    for (slot, &(p, step)) in all.iter_mut().zip(inputs) {
        *slot = (Shared::new(p), step);
    }
    let bytes = n * size;
    let part = move |out: *mut u8, from: usize, len: usize, stream: bool| {
        let inputs = all.map(|(p, step)| p.get().cast_const().wrapping_add(from * step));
        // SAFETY: the part lies in 0..n; the rest as the caller's.
        unsafe { kernel(level, len, &inputs, out.wrapping_add(from * size), stream) }
    };
    if bytes <= SMALL {
        part(out, 0, n, false);
        return Ok(());
    }
    let arrays = || inputs.iter().filter(|(_, step)| *step > 0);
    let touched = bytes.saturating_mul(1 + arrays().count());
    // An output that is also read has its lines in the caches: no non-temporal stores.
    let in_place = updates || arrays().any(|(p, _)| *p == out.cast_const());
    let stream = !in_place && detect::exceeds_llc(touched);
    let out = Shared::new(out);
    // No other task writes a part.
    split(exec, n, bytes, move |from, len| {
        part(out.get(), from, len, stream)
    });
    Ok(())
}

macro_rules! kinds {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) $out:ident $mode:ident $integers:ident)*) => {
        /// The operations that take floats and integers, on elements of the type `T`.
        pub trait Elementwise<T: Number> {
            $(kinds!(@declare $integers $name ($($arg: $kind),*) $out);)*
        }

        impl<T: Storage> Elementwise<T> for Floats {
            $(kinds!(@floats $integers $name ($($arg: $kind),*) $out);)*
        }

        impl<T: IntegerElement> Elementwise<T> for Integers {
            $(kinds!(@integers $integers $name ($($arg: $kind),*) $out $mode);)*
        }
    };
    (@declare refused $($row:tt)*) => {};
    (@declare $signs:ident $name:ident ($($arg:ident: $kind:ident),*) $out:ident) => {
        /// Runs the operation.
        ///
        /// # Errors
        /// `LevelUnavailable`.
        ///
        /// # Safety
        /// The arrays must be valid for `n` >= 0 elements, inputs for reading and the output for writing; it must be
        /// exactly an input or apart from it.
        unsafe fn $name(exec: &Exec<'_>, n: i64, $($arg: kinds!(@type $kind T),)* $out: *mut T) -> Result<()>;
    };
    (@floats refused $($row:tt)*) => {};
    (@floats $signs:ident $name:ident ($($arg:ident: $kind:ident),*) $out:ident) => {
        #[inline(always)]
        unsafe fn $name(exec: &Exec<'_>, n: i64, $($arg: kinds!(@type $kind T),)* $out: *mut T) -> Result<()> {
            // SAFETY: as the caller's.
            unsafe { raw::$name(exec, n, $($arg,)* $out) }
        }
    };
    (@integers refused $($row:tt)*) => {};
    (@integers $signs:ident $name:ident ($($arg:ident: $kind:ident),*) $out:ident $mode:ident) => {
        #[inline]
        unsafe fn $name(exec: &Exec<'_>, n: i64, $($arg: kinds!(@type $kind T),)* $out: *mut T) -> Result<()> {
            let kernel = of_type!(integers::$name(T::TYPE, false));
            let inputs: &[Input] = &[$(kinds!(@input $kind $arg)),*];
            // SAFETY: as the caller's.
            unsafe { run(exec, kernel, (n as usize, size_of::<T>()), inputs, $out.cast(), kinds!(@updates $mode)) }
        }
    };
    (@type scalar $T:ident) => { Scalar<$T> };
    (@type array $T:ident) => { *const $T };
    (@input scalar $arg:ident) => { ((&raw const $arg).cast(), 0) };
    (@input array $arg:ident) => { ($arg.cast(), size_of::<T>()) };
    (@updates write) => { false };
    (@updates update) => { true };
}
for_each_elementwise!(kinds! {} [name arguments output mode integers]);
