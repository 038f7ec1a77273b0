//! The elementwise operations over tensors of integers, expanded from the table of operations
//! (`for_each_elementwise!`).

use core::mem::MaybeUninit;

use super::blocks::ArrayKernel;
use super::cast::{fence, stream_bytes};
use super::checked::MAX_INPUTS;
use super::element_type::IntegerType;
use crate::for_each_elementwise;
use crate::level::Level;
use crate::ops::integers::elementwise::{Elementwise, of_arrays, of_scalars};
use crate::ops::integers::{levels, prefetch_pages};

/// Bytes of a block of a long array: of an output that is written with non-temporal stores, each is computed in a buffer.
const BLOCK: usize = 4 << 10;
/// Bytes of a long array, which is expected outside of L1.
const LONG: usize = 64 << 10;
/// Bytes of a cache line.
const LINE: usize = 64;

/// A block of results.
#[repr(align(64))]
struct Results(MaybeUninit<[u8; BLOCK]>);

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
    let mut results = Results(MaybeUninit::uninit());
    let results: *mut u8 = results.0.as_mut_ptr().cast();
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

/// The kernel of an operation for a type: that of [`of_scalars`] or of [`of_arrays`].
macro_rules! kernel {
    ($module:ident $name:ident [$($kind:ident)*] $T:ident) => {{
        #[cfg_attr(not(precompiled), inline)]
        unsafe fn kernel(level: Level, n: usize, inputs: &[*const u8; MAX_INPUTS], out: *mut u8, stream: bool) {
            /// Elements of a block: 64 bytes.
            const N: usize = 64 / size_of::<$T>();
            let levels = levels!(
                Elementwise,
                (n: usize, inputs: &[*const u8; MAX_INPUTS], out: *mut u8),
                $module::$name::<$T, N>
            );
            let mut steps = [0; MAX_INPUTS];
            let given: &[usize] = &[$(kernel!(@step $module $kind $T)),*];
            steps.iter_mut().zip(given).for_each(|(step, &bytes)| *step = bytes);
            // SAFETY: as the caller's.
            unsafe { run(levels[level as usize], (size_of::<$T>(), steps), (level, n), inputs, out, stream) }
        }
        kernel
    }};
    (@step of_scalars scalar $T:ident) => { 0 };
    (@step $module:ident $kind:ident $T:ident) => { size_of::<$T>() };
}

/// For each row that takes integers, a function that looks up its kernel for a type. `takes_arrays`: that which takes
/// scalars as arrays.
macro_rules! lookups {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) $integers:ident)*) => {
        $(lookups!(@$integers $name [$($kind)*]);)*
    };
    (@refused $($row:tt)*) => {};
    // The kernels of `i8` have the bits of `u8` too.
    (@signless $name:ident $kinds:tt) => { lookups!(@row $name $kinds i8); };
    (@signed $name:ident $kinds:tt) => { lookups!(@row $name $kinds u8); };
    (@row $name:ident [$($kind:ident)*] $U8:ident) => {
        #[cfg_attr(not(precompiled), inline)]
        pub fn $name(of: IntegerType, takes_arrays: bool) -> ArrayKernel {
            const HAS_SCALARS: bool = $(lookups!(@is_scalar $kind))||*;
            if HAS_SCALARS && takes_arrays {
                lookups!(@types of, of_arrays $name [$($kind)*] $U8)
            } else {
                lookups!(@types of, of_scalars $name [$($kind)*] $U8)
            }
        }
    };
    (@is_scalar scalar) => { true };
    (@is_scalar array) => { false };
    (@types $of:ident, $module:ident $name:ident $kinds:tt $U8:ident) => {
        match $of {
            IntegerType::I8 => kernel!($module $name $kinds i8),
            IntegerType::U8 => kernel!($module $name $kinds $U8),
            IntegerType::I32 => kernel!($module $name $kinds i32),
            IntegerType::I64 => kernel!($module $name $kinds i64),
        }
    };
}
for_each_elementwise!(lookups! {} [name arguments integers]);
