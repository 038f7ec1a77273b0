//! The elementwise operations over tensors, expanded from the table of operations (`for_each_elementwise!`).

use super::blocks::{ArrayKernel, ArrayOperation, Blocks};
use super::checked::{MAX_INPUTS, Signature};
use super::contiguous::ContiguousTensor;
use super::element_type::{IntegerType, NumberType, with_storage};
use super::integers;
use super::kind::Location;
use super::loops::{Loops, MAX_OPERANDS};
use super::operand::Tensor;
use crate::dispatch::{Compute, Kernels, KernelsOfArrays};
use crate::element::{Dtype, Element, Storage};
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::level::Level;
use crate::table::Role;
use crate::{for_each_elementwise, if_optional};

/// An operation: its arguments, and its kernels for each type.
struct Operation {
    signature: Signature,
    /// Takes scalars as one number.
    of_scalars: fn(Dtype) -> ArrayKernel,
    /// Takes scalars as arrays.
    of_arrays: fn(Dtype) -> ArrayKernel,
    /// Either, for integers.
    of_integers: Option<fn(IntegerType, takes_arrays: bool) -> ArrayKernel>,
}

impl Operation {
    /// Returns the kernel for a type. `takes_arrays`: that which takes scalars as arrays.
    #[inline(always)]
    fn kernel(&self, of: NumberType, takes_arrays: bool) -> Option<ArrayKernel> {
        match of {
            NumberType::Float(dtype) if takes_arrays => Some((self.of_arrays)(dtype)),
            NumberType::Float(dtype) => Some((self.of_scalars)(dtype)),
            NumberType::Integer(of) => self.of_integers.map(|kernel| kernel(of, takes_arrays)),
        }
    }
}

/// Bytes of an array up to which a number beside it is repeated.
const LINE: usize = 1024;

/// Writes a number `count` times.
///
/// # Safety
/// `p` must be valid for reading a number, `line` for writing as many.
unsafe fn repeat(of: NumberType, p: *const u8, count: usize, line: *mut u8) {
    unsafe fn bits<T: Copy>(p: *const u8, count: usize, line: *mut u8) {
        // SAFETY: as the caller's.
        unsafe {
            let number = p.cast::<T>().read();
            (0..count).for_each(|i| line.cast::<T>().add(i).write(number));
        }
    }
    // SAFETY: as the caller's.
    unsafe {
        match of.size() {
            1 => bits::<u8>(p, count, line),
            2 => bits::<u16>(p, count, line),
            4 => bits::<u32>(p, count, line),
            _ => bits::<u64>(p, count, line),
        }
    }
}

/// Runs an operation on small arrays of one shape and on numbers; false if the arguments are others.
///
/// # Safety
/// As [`apply`].
#[inline(always)]
unsafe fn apply_contiguous(
    level: Level,
    operation: &Operation,
    inputs: &[Option<&Tensor>; MAX_INPUTS],
    output: &Tensor,
) -> bool {
    // SAFETY: as the caller's.
    unsafe {
        let Some(out) = ContiguousTensor::new(output) else {
            return false;
        };
        let Some(of) = out.of.number() else {
            return false;
        };
        let Some(kernel) = operation.kernel(of, false) else {
            return false;
        };
        let mut pointers = [core::ptr::null(); MAX_INPUTS];
        // A number in the place of an array, repeated.
        let mut line = [core::mem::MaybeUninit::<u64>::uninit(); LINE / 8];
        let mut repeated: *const u8 = core::ptr::null();
        let fits_line = out.count * out.of.size() <= LINE;
        let (mut has_bounds, mut has_whole) = (false, operation.signature.updates);
        let roles = operation.signature.inputs.iter().map(|&(_, role)| role);
        // Nothing is read before all arguments are known to fit.
        for (slot, (role, input)) in pointers.iter_mut().zip(roles.clone().zip(inputs)) {
            let Some(input) = *input else {
                return false;
            };
            let p = input
                .data
                .cast::<u8>()
                .wrapping_add(input.byte_offset as usize);
            if role.is_array() && input.ndim == 0 && output.ndim > 0 {
                if !(fits_line && repeated.is_null() && out.takes_number(input)) {
                    return false;
                }
                repeated = p.cast_const();
                *slot = line.as_ptr().cast();
                continue;
            }
            let fits = if role.is_array() {
                has_whole = true;
                out.fits(input)
            } else {
                has_bounds |= role.spreads_nan();
                out.takes_number(input)
            };
            if !fits {
                return false;
            }
            *slot = p;
        }
        let is_nan_bound = |(role, &p): (Role, &*const u8)| role.spreads_nan() && is_nan(of, p);
        if has_bounds && roles.zip(&pointers).any(is_nan_bound) {
            return false;
        }
        if !repeated.is_null() {
            if !has_whole {
                // The output is larger than all inputs broadcast to each other.
                return false;
            }
            repeat(of, repeated, out.count, line.as_mut_ptr().cast());
        }
        kernel(level, out.count, &pointers, out.p, false);
    }
    true
}

/// Checks the arguments of an operation and applies it.
///
/// # Safety
/// The tensors must be valid: inputs for reading, the output for writing, and for reading if it is updated.
unsafe fn apply(
    exec: &Exec<'_>,
    operation: &Operation,
    inputs: [Option<&Tensor>; MAX_INPUTS],
    output: &Tensor,
) -> Result<()> {
    let level = exec.level()?;
    // SAFETY: as the caller's.
    if unsafe { apply_contiguous(level, operation, &inputs, output) } {
        return Ok(());
    }
    // SAFETY: as the caller's.
    unsafe { apply_general(exec, level, operation, inputs, output) }
}

/// Checks any arguments of an operation and applies it.
///
/// # Safety
/// As [`apply`].
#[inline(never)]
unsafe fn apply_general(
    exec: &Exec<'_>,
    level: Level,
    operation: &Operation,
    inputs: [Option<&Tensor>; MAX_INPUTS],
    output: &Tensor,
) -> Result<()> {
    let mut loops = Loops::empty();
    let signature = &operation.signature;
    // SAFETY: as the caller's.
    let checked = unsafe { signature.check(inputs, output, Location::Host, &mut loops) };
    let (of, count) = checked?;
    if count == 0 {
        return Ok(());
    }

    // A scalar is one number if it is the same for all elements.
    let mut is_scalar = [false; MAX_OPERANDS];
    let mut all_are_numbers = true;
    let mut bound_is_nan = false;
    let roles = signature.inputs.iter().zip(1..);
    for (&(_, role), k) in roles {
        if role.is_array() {
            continue;
        }
        let is_number = loops.is_constant(k);
        all_are_numbers &= is_number;
        if let Some(slot) = is_scalar.get_mut(k) {
            *slot = true;
        }
        if role.spreads_nan()
            && is_number
            && let Some(&p) = loops.first.get(k)
        {
            // SAFETY: the operand has been checked, and its caller vouches for it.
            bound_is_nan |= unsafe { is_nan(of, p) };
        }
    }
    if !all_are_numbers {
        is_scalar = [false; MAX_OPERANDS];
    }
    let kernel = match of {
        NumberType::Float(dtype) if bound_is_nan => Some(nan_kernel(dtype)),
        _ => operation.kernel(of, !all_are_numbers),
    };
    let arg = signature.output;
    let blocks = Blocks {
        operation: ArrayOperation::Kernel(kernel.ok_or(Error::UnsupportedType { arg })?),
        level,
        sizes: [of.size(); MAX_OPERANDS],
        loops: &loops,
        is_scalar,
        updates: signature.updates,
    };
    // SAFETY: the operands have been checked; the caller vouches for their elements.
    unsafe { blocks.run(exec) };
    Ok(())
}

/// Returns whether a number is a NaN.
///
/// # Safety
/// `p` must be valid for reading.
unsafe fn is_nan(of: NumberType, p: *const u8) -> bool {
    let NumberType::Float(dtype) = of else {
        return false;
    };
    // SAFETY: as the caller's.
    with_storage!(dtype, T => unsafe { p.cast::<T>().read() }.into_compute().is_nan())
}

/// Returns the kernel that writes the canonical NaN.
fn nan_kernel(dtype: Dtype) -> ArrayKernel {
    unsafe fn kernel<T: Storage>(
        level: Level,
        n: usize,
        _: &[*const u8; MAX_INPUTS],
        out: *mut u8,
        stream: bool,
    ) {
        let fill = Kernels::<T>::new(level).fill();
        // SAFETY: as the caller's.
        unsafe { fill(n, Compute::<T>::CANONICAL_NAN, out.cast(), stream) };
    }
    with_storage!(dtype, T => kernel::<T>)
}

/// The operations.
macro_rules! operations {
    ({} $([$(#[$doc:meta])*] $name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*) $out:ident $mode:ident $integers:ident)*) => {$(
        $(#[$doc])*
        ///
        #[doc = operations!(@types $integers)]
        /// The operands are broadcast as in NumPy; a scalar has no axes.
        #[doc = operations!(@shape $mode $($kind)*)]
        ///
        /// # Errors
        /// `ShapeMismatch`, `TypeMismatch`, `UnsupportedType`, `Unsupported` for memory of a GPU, `Overlap`; `NullPointer`,
        /// `Misaligned`, `NegativeSize`, `SizeOverflow`, `InvalidValue` for a bad rank.
        ///
        /// # Safety
        /// The tensors must be valid at all elements, inputs for reading and the output for writing.
        #[inline]
        pub unsafe fn $name(exec: &Exec<'_>, $($arg: if_optional!($role [Option<&Tensor>] [&Tensor]),)* $out: &Tensor) -> Result<()> {
            unsafe fn of_scalars<T: Storage>(level: Level, n: usize, inputs: &[*const u8; MAX_INPUTS], out: *mut u8, stream: bool) {
                let kernel = Kernels::<T>::new(level).$name();
                let [$($arg,)* ..] = *inputs;
                // SAFETY: as the caller's.
                unsafe { kernel(n, $(operations!(@argument $kind T $arg),)* out.cast(), stream) };
            }
            unsafe fn of_arrays<T: Storage>(level: Level, n: usize, inputs: &[*const u8; MAX_INPUTS], out: *mut u8, stream: bool) {
                let kernel = operations!(@kernel_of_arrays [$($kind)*] $name T level);
                let [$($arg,)* ..] = *inputs;
                // SAFETY: as the caller's.
                unsafe { kernel(n, $($arg.cast(),)* out.cast(), stream) };
            }
            const OPERATION: Operation = Operation {
                signature: Signature {
                    inputs: &[$((stringify!($arg), Role::$role)),*],
                    output: stringify!($out),
                    updates: operations!(@$mode),
                    takes_integers: operations!(@takes_integers $integers),
                },
                of_scalars: |dtype| with_storage!(dtype, T => of_scalars::<T>),
                of_arrays: |dtype| with_storage!(dtype, T => of_arrays::<T>),
                of_integers: operations!(@of_integers $integers $name),
            };
            let mut inputs = [None; MAX_INPUTS];
            for (slot, input) in inputs.iter_mut().zip([$(if_optional!($role [$arg] [Some($arg)])),*]) {
                *slot = input;
            }
            // SAFETY: as the caller's.
            unsafe { apply(exec, &OPERATION, inputs, $out) }
        }
    )*};
    (@write) => { false };
    (@update) => { true };
    (@takes_integers refused) => { false };
    (@takes_integers $signs:ident) => { true };
    (@of_integers refused $name:ident) => { None };
    (@of_integers $signs:ident $name:ident) => { Some(integers::$name) };
    (@types refused) => { "The elements are floats of any type." };
    (@types $signs:ident) => {
        "The elements are floats of any type, or `i8`, `u8`, `i32` or `i64`: results are then exact modulo 2^bits."
    };
    (@shape update $($kind:ident)*) => { "The output has the broadcast shape." };
    (@shape write scalar) => { "" };
    (@shape write $($kind:ident)*) => {
        "The output has exactly the broadcast shape. It may be exactly an input, and must otherwise overlap none."
    };
    (@argument scalar $T:ident $arg:ident) => { $arg.cast::<$T>().read().into_compute() };
    (@argument array $T:ident $arg:ident) => { $arg.cast() };
    // An operation without scalars has one kernel.
    (@kernel_of_arrays [scalar $($kind:ident)*] $name:ident $T:ident $level:ident) => { KernelsOfArrays::$name::<$T>($level) };
    (@kernel_of_arrays [array $($kind:ident)*] $name:ident $T:ident $level:ident) => {
        operations!(@kernel_of_arrays [$($kind)*] $name $T $level)
    };
    (@kernel_of_arrays [] $name:ident $T:ident $level:ident) => { Kernels::<$T>::new($level).$name() };
}
for_each_elementwise!(operations! {} [doc name arguments roles output mode integers]);
