//! The elementwise operations over tensors, expanded from the table of operations.

use crate::raw;
use diptych::backend::tensor::{Checked, INPUTS, Location, Signature, for_each};
use diptych::table::Role;
use diptych::tensor::Tensor;
use diptych::{Dtype, Error, for_each_elementwise};
use diptych_device::launch::Device;

/// Launches an operation on `n` elements: the addresses of the inputs, those of scalars on the host.
type Launch<'a, E> = &'a dyn Fn(Dtype, i64, &[*const u8; INPUTS], *mut u8) -> Result<(), E>;

/// Checks the tensors and launches the operation, once for each index of the outer axes.
///
/// # Safety
/// The tensors must be valid: those of scalars on the host, the others on the device until the launches have run.
unsafe fn run<E: From<Error>>(
    signature: &Signature,
    inputs: [Option<&Tensor>; INPUTS],
    output: &Tensor,
    launch: Launch<'_, E>,
) -> Result<(), E> {
    let Checked {
        dtype,
        count,
        loops, // SAFETY: as the caller's.
    } = unsafe { signature.check(inputs, output, Location::Device)? };
    if !matches!(dtype, Dtype::F32 | Dtype::F64) {
        return Err(Error::UnsupportedType {
            arg: signature.output,
        }
        .into());
    }
    if count == 0 {
        return Ok(());
    }
    let inner = loops.innermost();
    let size = dtype.size() as isize;
    let fits = |k: usize| inner.count == 1 || inner.steps.get(k) == Some(&size);
    if !fits(0) {
        return Err(Error::Unsupported {
            arg: signature.output,
        }
        .into());
    }
    for (&(arg, role), k) in signature.inputs.iter().zip(1..) {
        let supported = if role.is_array() {
            fits(k)
        } else {
            loops.is_constant(k)
        };
        if !supported {
            return Err(Error::Unsupported { arg }.into());
        }
    }
    let mut done = Ok(());
    for_each(loops.outer(), loops.first, |[out, a, b, c, d]| {
        let inputs = [a, b, c, d].map(<*mut u8>::cast_const);
        if done.is_ok() {
            done = launch(dtype, inner.count as i64, &inputs, out);
        }
    });
    done
}

/// The operations.
macro_rules! operations {
    ({} $($(#[$doc:meta])* $name:ident($($arg:ident: $role:ident),*) -> $out:ident: $mode:ident, $in_place:tt, $facts:tt)*) => {$(
        #[doc = concat!("See `diptych::tensor::", stringify!($name), "`.")]
        ///
        /// # Errors
        /// Those of that function; `Unsupported` for an array whose innermost elements do not lie together, and for a
        /// scalar that is not one number in memory of the host; errors of the device.
        ///
        /// # Safety
        /// The arrays must be valid on the device until the launch has run, scalars on the host.
        pub unsafe fn $name<D: Device>(device: &D, $($arg: operations!(@parameter $arg),)* $out: &Tensor) -> Result<(), D::Error> {
            const SIGNATURE: Signature = Signature {
                inputs: &[$((stringify!($arg), Role::$role)),*],
                output: stringify!($out),
                updates: operations!(@$mode),
            };
            let launch = |dtype, n, inputs: &[*const u8; INPUTS], out: *mut u8| {
                let [$($arg,)* ..] = *inputs;
                // SAFETY: `run` has checked the arrays and the numbers; the caller vouches for them.
                unsafe {
                    match dtype {
                        Dtype::F32 => raw::$name::<f32, D>(device, n, $(operations!(@argument $role f32 $arg),)* out.cast()),
                        _ => raw::$name::<f64, D>(device, n, $(operations!(@argument $role f64 $arg),)* out.cast()),
                    }
                }
            };
            let mut inputs = [None; INPUTS];
            for (slot, input) in inputs.iter_mut().zip([$(operations!(@option $arg $arg)),*]) {
                *slot = input;
            }
            // SAFETY: as the caller's.
            unsafe { run(&SIGNATURE, inputs, $out, &launch) }
        }
    )*};
    (@parameter lo) => { Option<&Tensor> };
    (@parameter hi) => { Option<&Tensor> };
    (@parameter $arg:ident) => { &Tensor };
    (@option lo $arg:ident) => { $arg };
    (@option hi $arg:ident) => { $arg };
    (@option $name:ident $arg:ident) => { Some($arg) };
    (@write) => { false };
    (@update) => { true };
    (@argument scalar $T:ident $arg:ident) => { $arg.cast::<$T>().read() };
    (@argument bound $T:ident $arg:ident) => { $arg.cast::<$T>().read() };
    (@argument $array:ident $T:ident $arg:ident) => { $arg.cast() };
}
for_each_elementwise!(operations! {});
