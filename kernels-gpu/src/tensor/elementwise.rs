//! The elementwise operations over tensors, expanded from the table of operations.

use super::axes::{take_axes, upright};
use super::{integers, with_memory};
use crate::ops::elementwise::{contiguous, strided, tiles};
use core::ptr;
use diptych::backend::tensor::{
    Location, Loops, MAX_INPUTS, MAX_OPERANDS, NumberType, Signature, for_each,
};
use diptych::table::Role;
use diptych::tensor::Tensor;
use diptych::{Element, Error, for_each_elementwise, if_optional};
use diptych_device::gpu::parameters::{Input, Output, Shape};
use diptych_device::launch::{Device, Grid};
use diptych_device::memory::Memory;
use diptych_device::ops::integers::Operation;

/// An argument of a launch.
#[derive(Clone, Copy)]
pub(super) struct Argument {
    /// The first element, or the number.
    pub p: *const u8,
    /// In elements.
    pub strides: [i64; 3],
    /// Whether it is a number on the host in the place of an array.
    pub is_number: bool,
}

impl Argument {
    /// Returns the number.
    ///
    /// # Safety
    /// It must be one, and valid.
    unsafe fn number<M: Memory>(self, format: M::Format) -> M::Number {
        // SAFETY: as the caller's.
        unsafe { M::number(format, self.p) }
    }

    /// Returns the array or the number.
    ///
    /// # Safety
    /// A number must be valid.
    pub(super) unsafe fn input<M: Memory>(self, format: M::Format) -> Input<M> {
        let strides = self.strides;
        let (p, value) = if self.is_number {
            // SAFETY: as the caller's.
            (ptr::null(), unsafe { self.number::<M>(format) })
        } else {
            (self.p.cast(), M::Number::ZERO)
        };
        Input { p, value, strides }
    }

    /// Returns the array, to be written.
    pub(super) fn output<M>(self) -> Output<M> {
        Output {
            p: self.p.cast_mut().cast(),
            strides: self.strides,
        }
    }
}

/// Launches an operation of a type: with a grid for the elements of a shape, on inputs and an output.
pub(super) type Launch<'a, T, E> =
    &'a dyn Fn(T, (Grid, Shape), [Argument; MAX_INPUTS], Argument) -> Result<(), E>;

/// Checks the tensors and launches the operation, once for each index of the loops that no launch has.
///
/// # Safety
/// The tensors must be valid: those on the host, and the others on the device until the launches have run.
unsafe fn run<E: From<Error>>(
    signature: &Signature,
    inputs: [Option<&Tensor>; MAX_INPUTS],
    output: &Tensor,
    launch: Launch<'_, NumberType, E>,
) -> Result<(), E> {
    let mut loops = Loops::empty();
    // SAFETY: as the caller's.
    let checked = unsafe { signature.check(inputs, output, Location::Device, &mut loops) };
    let (of, count) = checked?;
    if count == 0 {
        return Ok(());
    }
    let mut is_number = [false; MAX_OPERANDS];
    let inputs_of = signature.inputs.iter().zip(inputs);
    for ((k, slot), (&(arg, role), tensor)) in
        is_number.iter_mut().enumerate().skip(1).zip(inputs_of)
    {
        if !role.is_array() && !loops.is_constant(k) {
            return Err(Error::Unsupported { arg }.into());
        }
        let on_host = |tensor: &Tensor| Location::HostOnly.holds(tensor.device_type);
        *slot = role.is_array() && tensor.is_some_and(on_host);
    }
    let mut arrays = [true; MAX_OPERANDS];
    for (slot, (_, role)) in arrays.iter_mut().skip(1).zip(signature.inputs) {
        *slot = role.is_array();
    }
    let sizes = [of.size(); MAX_OPERANDS];
    launch_loops((of, sizes), &loops, (arrays, is_number), launch)
}

/// Launches an operation of the type `of` once for each index of the loops that no launch has. `arrays` are the operands that
/// are arrays, `is_number` those of them that are numbers on the host. Elements of operand k have `sizes[k]` bytes.
pub(super) fn launch_loops<T: Copy, E>(
    (of, sizes): (T, [usize; MAX_OPERANDS]),
    loops: &Loops,
    (arrays, is_number): ([bool; MAX_OPERANDS], [bool; MAX_OPERANDS]),
    launch: Launch<'_, T, E>,
) -> Result<(), E> {
    let size = sizes[0] as isize;
    let mut outer = loops.loops.clone();
    let mut axes = take_axes(&mut outer, |one| one.steps.contains(&size));
    let [planes, rows, columns] = axes;
    let is_vector = planes.count * rows.count == 1
        && (0..loops.operands)
            .filter(|&k| arrays[k])
            .all(|k| columns.is_contiguous(k, sizes[k] as isize) && !is_number[k]);
    let elements = if is_vector {
        contiguous(columns.count, sizes[0])
    } else {
        axes = upright(axes);
        tiles(axes.map(|axis| axis.count))
    };
    let mut done = Ok(());
    for_each(&outer, loops.first, |first| {
        let argument = |k: usize| Argument {
            p: first[k],
            strides: axes.map(|axis| (axis.steps[k] / sizes[k] as isize) as i64),
            is_number: is_number[k],
        };
        let [out, inputs @ ..]: [Argument; MAX_OPERANDS] = core::array::from_fn(argument);
        if done.is_ok() {
            done = launch(of, elements, inputs, out);
        }
    });
    done
}

/// The operations.
macro_rules! operations {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*) $out:ident $mode:ident $integers:ident)*) => {$(
        #[doc = concat!("See `diptych::tensor::", stringify!($name), "`.")]
        ///
        /// # Errors
        /// Those of that function; `Unsupported` for a scalar that is not one number in memory of the host; errors of the
        /// device.
        ///
        /// # Safety
        /// The arrays must be valid on the device until the launch has run, numbers on the host.
        pub unsafe fn $name<D: Device>(device: &D, $($arg: if_optional!($role [Option<&Tensor>] [&Tensor]),)* $out: &Tensor) -> Result<(), D::Error> {
            const SIGNATURE: Signature = Signature {
                inputs: &[$((stringify!($arg), Role::$role)),*],
                output: stringify!($out),
                updates: operations!(@$mode),
                takes_integers: operations!(@$integers),
            };
            /// # Safety
            /// As for the operation.
            unsafe fn typed<M: Memory, D: Device>(
                device: &D, format: M::Format, elements: (Grid, Shape), inputs: [Argument; MAX_INPUTS], out: Argument,
            ) -> Result<(), D::Error> {
                let [$($arg,)* ..] = inputs;
                // SAFETY: `run` has checked the arrays and the numbers; the caller vouches for them.
                unsafe {
                    strided::$name::<M, D>(device, format, elements, $(operations!(@argument $kind $arg format),)* out.output())
                }
            }
            let launch = |of, elements, inputs, out| {
                // SAFETY: as the caller's.
                unsafe {
                    match of {
                        NumberType::Float(dtype) => {
                            with_memory!(dtype, M, format => typed::<M, D>(device, format, elements, inputs, out))
                        }
                        NumberType::Integer(of) => {
                            let operation = (Operation::$name, &SIGNATURE);
                            integers::launch(device, of, operation, elements, inputs, out)
                        }
                    }
                }
            };
            let mut inputs = [None; MAX_INPUTS];
            for (slot, input) in inputs.iter_mut().zip([$(if_optional!($role [$arg] [Some($arg)])),*]) {
                *slot = input;
            }
            // SAFETY: as the caller's.
            unsafe { run(&SIGNATURE, inputs, $out, &launch) }
        }
    )*};
    (@write) => { false };
    (@update) => { true };
    (@refused) => { false };
    (@signed) => { true };
    (@signless) => { true };
    (@argument scalar $arg:ident $format:ident) => { $arg.number::<M>($format) };
    (@argument array $arg:ident $format:ident) => { $arg.input($format) };
}
for_each_elementwise!(operations! {} [name arguments roles output mode integers]);
