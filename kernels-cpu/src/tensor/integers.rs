//! The elementwise operations over tensors of integers, expanded from the table of operations
//! (`for_each_elementwise!`).

use super::blocks::ArrayKernel;
use super::cast::{fence, stream_bytes};
use super::checked::MAX_INPUTS;
use super::element_type::IntegerType;
use crate::aligned::AlignedBytes;
use crate::for_each_elementwise;
use crate::level::Level;
use crate::ops::integers::elementwise::{Elementwise, of_arrays, of_scalars};
use crate::ops::integers::{level_functions, prefetch_pages};
use crate::scalar::integers::Wrapping;

/// Bytes of a block of a long array: of an output that is written with non-temporal stores, each is computed in a buffer.
const BLOCK: usize = 4 << 10;
/// Bytes of a long array, which is expected outside of L1.
const LONG: usize = 64 << 10;
/// Bytes of a cache line.
const LINE: usize = 64;

/// Runs a kernel, whose inputs advance by `steps` bytes from one element to the next, on elements of `size` bytes.
///
/// # Safety
/// As [`ArrayKernel`]'s.
#[inline(always)]
unsafe fn run(
    kernel: Elementwise,
    (size, steps): (usize, [usize; MAX_INPUTS]),
    (level, n): (Level, usize),
    inputs: &[*const u8; MAX_INPUTS],
    out: *mut u8,
    stream: bool,
) {
    // SAFETY: as the caller's.
    unsafe {
        if stream || n > LONG / size {
            in_blocks(kernel, (size, steps), (level, n), inputs, (out, stream));
        } else {
            kernel(n, inputs, out);
        }
    }
}

/// [`run`] block by block, with prefetches between them.
///
/// # Safety
/// As [`run`].
#[inline(never)]
unsafe fn in_blocks(
    kernel: Elementwise,
    (size, steps): (usize, [usize; MAX_INPUTS]),
    (level, n): (Level, usize),
    inputs: &[*const u8; MAX_INPUTS],
    (out, stream): (*mut u8, bool),
) {
    let mut results = AlignedBytes::<BLOCK>::new();
    let results: *mut u8 = results.start();
    // The first block ends where a line of the output does, so that no two blocks write one line.
    let head = out.addr().wrapping_neg() % LINE / size.max(1);
    let whole = BLOCK / size.max(1);
    let (mut at, mut len) = (0, if head == 0 { whole } else { head });
    while at < n {
        len = len.min(n - at);
        let mut from = *inputs;
        for (p, step) in from.iter_mut().zip(steps) {
            *p = p.wrapping_add(at * step);
            if step > 0 {
                prefetch_pages(level, *p, len * size);
            }
        }
        let to = out.wrapping_add(at * size);
        // SAFETY: the elements lie in 0..n, and a block in the buffer; the rest as the caller's.
        unsafe {
            if stream {
                kernel(len, &from, results);
                stream_bytes(level, len * size, results, to);
            } else {
                prefetch_pages(level, to, len * size);
                kernel(len, &from, to);
            }
        }
        (at, len) = (at + len, whole);
    }
    if stream {
        fence(level);
    }
}

/// Defines `NAME::kernel::<T, N>`, the kernel of an operation for the type `T` in blocks of `N` elements: that of
/// [`of_scalars`] or of [`of_arrays`]. (Generic, because the compiler is faster with few functions for many types.)
macro_rules! kernel {
    ($module:ident $name:ident [$($kind:ident)*]) => {
        pub mod $name {
            use super::*;

            level_functions!(
                [] [T: Wrapping, const N: usize] [T, N] Elementwise,
                (n: usize, inputs: &[*const u8; MAX_INPUTS], out: *mut u8),
                $module::$name::<T, N>
            );

            pub unsafe fn kernel<T: Wrapping, const N: usize>(
                level: Level, n: usize, inputs: &[*const u8; MAX_INPUTS], out: *mut u8, stream: bool,
            ) {
                let mut steps = [0; MAX_INPUTS];
                let given: &[usize] = &[$(kernel!(@step $module $kind)),*];
                steps.iter_mut().zip(given).for_each(|(step, &bytes)| *step = bytes);
                let levels = const { &levels::<T, N>() };
                // SAFETY: as the caller's.
                unsafe { run(levels[level as usize], (size_of::<T>(), steps), (level, n), inputs, out, stream) }
            }
        }
    };
    (@step of_scalars scalar) => { 0 };
    (@step $module:ident $kind:ident) => { size_of::<T>() };
}

/// For each row that takes integers, a function that looks up its kernel for a type. `takes_arrays`: that which takes
/// scalars as arrays.
macro_rules! lookups {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) $integers:ident)*) => {
        mod kernel_of_scalars {
            use super::*;
            $(lookups!(@of_scalars $integers $name [$($kind)*]);)*
        }
        mod kernel_of_arrays {
            use super::*;
            $(lookups!(@of_arrays $integers [$($kind)*] $name [$($kind)*]);)*
        }
        $(lookups!(@$integers $name [$($kind)*]);)*
    };
    (@of_scalars refused $($row:tt)*) => {};
    (@of_scalars $integers:ident $name:ident $kinds:tt) => { kernel!(of_scalars $name $kinds); };
    // An operation without scalars has one kernel.
    (@of_arrays refused $($row:tt)*) => {};
    (@of_arrays $integers:ident [scalar $($kind:ident)*] $name:ident $kinds:tt) => { kernel!(of_arrays $name $kinds); };
    (@of_arrays $integers:ident [array $($kind:ident)*] $($row:tt)*) => { lookups!(@of_arrays $integers [$($kind)*] $($row)*); };
    (@of_arrays $integers:ident [] $($row:tt)*) => {};
    (@refused $($row:tt)*) => {};
    // The kernels of `i8` have the bits of `u8` too.
    (@signless $name:ident $kinds:tt) => { lookups!(@row $name $kinds $kinds i8); };
    (@signed $name:ident $kinds:tt) => { lookups!(@row $name $kinds $kinds u8); };
    (@row $name:ident [array $($kind:ident)*] $kinds:tt $U8:ident) => { lookups!(@row $name [$($kind)*] $kinds $U8); };
    (@row $name:ident [scalar $($kind:ident)*] $kinds:tt $U8:ident) => {
        #[cfg_attr(not(precompiled), inline)]
        pub const fn $name(of: IntegerType, takes_arrays: bool) -> ArrayKernel {
            if takes_arrays {
                lookups!(@types of, kernel_of_arrays $name $U8)
            } else {
                lookups!(@types of, kernel_of_scalars $name $U8)
            }
        }
    };
    (@row $name:ident [] $kinds:tt $U8:ident) => {
        #[cfg_attr(not(precompiled), inline)]
        pub const fn $name(of: IntegerType, _takes_arrays: bool) -> ArrayKernel {
            lookups!(@types of, kernel_of_scalars $name $U8)
        }
    };
    (@types $of:ident, $module:ident $name:ident $U8:ident) => {
        match $of {
            IntegerType::I8 => $module::$name::kernel::<i8, 64>,
            IntegerType::U8 => $module::$name::kernel::<$U8, 64>,
            IntegerType::I32 => $module::$name::kernel::<i32, 16>,
            IntegerType::I64 => $module::$name::kernel::<i64, 8>,
        }
    };
}
for_each_elementwise!(lookups! {} [name arguments integers]);
