//! Launches of the operations on integers: the elementwise ones, and products of two vectors.

mod reduce;

pub(super) use reduce::reduce;

use super::convert::bits_at;
use super::elementwise::{Argument, launch_loops};
use core::ptr;
use diptych::backend::tensor::{
    IntegerType, List, Loop, Loops, MAX_INPUTS, MAX_OPERANDS, Signature, StridedTensor, whole,
};
use diptych_device::gpu::parameters::{INT, Shape, Source, Target, Type, UINT};
use diptych_device::launch::{self, Device, Grid};
use diptych_device::ops::integers::{OPERANDS, Operation};

/// No operand.
const NONE: Source = Source {
    p: ptr::null(),
    number: 0,
    steps: [0; 3],
};

/// Returns a type as the kernels take it.
fn described(of: IntegerType) -> Type {
    Type {
        code: if of == IntegerType::U8 { UINT } else { INT },
        bits: 8 * of.size() as u32,
    }
}

/// Returns the bytes from one element to the next.
fn steps(of: IntegerType, strides: [i64; 3]) -> [i64; 3] {
    strides.map(|stride| stride * of.size() as i64)
}

/// Returns an array.
fn array(of: IntegerType, argument: Argument) -> Source {
    Source {
        p: argument.p,
        number: 0,
        steps: steps(of, argument.strides),
    }
}

/// Returns a number.
///
/// # Safety
/// The argument must point to a number of this type.
unsafe fn number(of: IntegerType, argument: Argument) -> Source {
    Source {
        // SAFETY: as the caller's.
        number: unsafe { bits_at(argument.p, of.size()) },
        ..NONE
    }
}

/// Launches an elementwise operation.
///
/// # Safety
/// The arrays must be valid for the shape on the device until the launch has run, the numbers on the host.
pub(super) unsafe fn launch<D: Device>(
    device: &D,
    of: IntegerType,
    (operation, signature): (Operation, &Signature),
    elements: (Grid, Shape),
    inputs: [Argument; MAX_INPUTS],
    out: Argument,
) -> Result<(), D::Error> {
    let mut operands = [NONE; OPERANDS];
    let given = inputs.into_iter().zip(signature.inputs);
    for (slot, (argument, (_, role))) in operands.iter_mut().zip(given) {
        *slot = if role.is_array() && !argument.is_number {
            array(of, argument)
        } else {
            // SAFETY: as the caller's.
            unsafe { number(of, argument) }
        };
    }
    if signature.updates
        && let Some(slot) = operands.get_mut(signature.inputs.len())
    {
        *slot = array(of, out);
    }
    // SAFETY: as the caller's.
    unsafe { map(device, of, operation, elements, operands, out) }
}

/// Launches an operation on operands.
///
/// # Safety
/// The arrays must be valid for the shape on the device until the launch has run.
unsafe fn map<D: Device>(
    device: &D,
    of: IntegerType,
    operation: Operation,
    (grid, shape): (Grid, Shape),
    [x, y, z, w]: [Source; OPERANDS],
    out: Argument,
) -> Result<(), D::Error> {
    let out = Target {
        p: out.p.cast_mut(),
        steps: steps(of, out.strides),
    };
    let (of, operation) = (described(of), operation as u32);
    // SAFETY: as the caller's.
    unsafe { launch::integers::<f32, D>(device, grid, shape, of, operation, x, y, z, w, out) }
}

/// Two vectors and a matrix.
type Vectors = (StridedTensor<1>, StridedTensor<1>, StridedTensor<2>);

/// Launches an operation on all pairs of elements of two vectors, `alpha` in front of them and, with [`Operation::ger`], the
/// matrix behind them.
///
/// # Safety
/// The arrays must be valid on the device until the launches have run.
unsafe fn pairs<D: Device>(
    device: &D,
    of: IntegerType,
    (operation, alpha): (Operation, Source),
    (x, y, a): &Vectors,
) -> Result<(), D::Error> {
    let bytes = |stride: i64| stride as isize * of.size() as isize;
    let counts = [x, y].map(|vector| vector.shape[0] as usize);
    if counts.contains(&0) {
        return Ok(());
    }
    let [row, column] = a.strides.map(bytes);
    let mut loops = List::new();
    for (count, steps) in counts.into_iter().zip([
        [row, bytes(x.strides[0]), 0, 0, 0],
        [column, 0, bytes(y.strides[0]), 0, 0],
    ]) {
        loops.push(Loop { count, steps });
    }
    let loops = Loops::ordered(loops, [a.p, x.p, y.p, a.p, a.p], 3);
    let arrays = ([true; MAX_OPERANDS], [false; MAX_OPERANDS]);
    let sizes = [of.size(); MAX_OPERANDS];
    launch_loops(
        (of, sizes),
        &loops,
        arrays,
        &|of, elements, [x, y, ..], out| {
            let [x, y, a] = [x, y, out].map(|one| array(of, one));
            let operands = match operation {
                Operation::ger => [alpha, x, y, a],
                _ => [x, y, NONE, NONE],
            };
            // SAFETY: as the caller's.
            unsafe { map(device, of, operation, elements, operands, out) }
        },
    )
}

/// Writes the product of two vectors to a matrix.
///
/// # Errors
/// Those of the device.
///
/// # Safety
/// The arrays must be valid on the device until the launches have run.
pub(super) unsafe fn outer<D: Device>(
    device: &D,
    of: IntegerType,
    vectors: &Vectors,
) -> Result<(), D::Error> {
    // SAFETY: as the caller's.
    unsafe { pairs(device, of, (Operation::mul, NONE), vectors) }
}

/// Adds the product of two vectors and `alpha` to a matrix.
///
/// # Errors
/// `InvalidValue` for an `alpha` that is no whole number; those of the device.
///
/// # Safety
/// As [`outer`].
pub(super) unsafe fn ger<D: Device>(
    device: &D,
    of: IntegerType,
    alpha: f64,
    vectors: &Vectors,
) -> Result<(), D::Error> {
    let number = whole(alpha)? as u64;
    // SAFETY: as the caller's.
    unsafe {
        pairs(
            device,
            of,
            (Operation::ger, Source { number, ..NONE }),
            vectors,
        )
    }
}
