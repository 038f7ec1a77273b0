//! Tensors on the device: each element has the bits of the CPU's, and what no kernel fits is refused.

mod convert;
mod elementwise;
mod gradients;
mod integers;
#[path = "../../tensors/mixed.rs"]
mod mixed;
#[path = "../../tensors/mixed_edges.rs"]
mod mixed_edges;
mod mixed_kernels;
mod products;
mod reduce;
mod refused;
mod row_map;

use std::collections::BTreeSet;

// The files of the suite of the CPU take their backend from here.
use crate::backend;
use diptych::tensor::Tensor;
use diptych::{Dtype, Error, Storage, f16};
use diptych_device::launch::entry::ALL;
use diptych_gpu::tensor as device;
use diptych_tests::device::single;
use diptych_tests::tensors::Array;

/// Calls a generic function for every type of floats.
macro_rules! each_type {
    ($function:ident $arguments:tt) => {{
        use diptych::{bf16, f16};
        diptych::for_each_storage!(call_each! { $function $arguments });
    }};
}
pub(crate) use each_type;

macro_rules! call_each {
    ({ $function:ident $arguments:tt } [$($M:ident as $C:ident $Dtype:ident),*]) => {
        $($function::<$M> $arguments;)*
    };
}
pub(crate) use call_each;

/// The refusal of an argument; kernels have no faults.
fn refused(error: diptych_emulator::Error) -> Error {
    match error {
        diptych_emulator::Error::Argument(error) => error,
        fault => panic!("{fault}"),
    }
}

/// The tensor in the memory of the device, which is that of the host here.
fn on_device<T: Storage>(array: &mut Array<T>) -> Tensor {
    Tensor {
        device_type: 2,
        ..array.tensor()
    }
}

fn row_major(shape: &[i64]) -> Vec<i64> {
    let mut strides = vec![1; shape.len()];
    for i in (1..shape.len()).rev() {
        strides[i - 1] = strides[i] * shape[i].max(1);
    }
    strides
}

/// The kernels of 16-bit floats, which no call of `tests/src/calls.rs` launches.
#[test]
fn every_kernel_of_halves_is_launched() {
    let emulator = single()[0].emulator();
    let array = |shape: &[i64]| {
        let mut array = Array::<f16>::with_strides(shape, row_major(shape));
        array.fill(|| f16::from_f32(1.5));
        array
    };
    let (mut x, mut out, mut row) = (array(&[20, 9]), array(&[20, 9]), array(&[9]));
    let (mut column, mut scalar) = (array(&[20]), array(&[]));
    let mut unrounded = Array::<f32>::with_strides(&[20, 9], vec![9, 1]);
    let mut indices = Array::<f64>::with_strides(&[20], vec![1]);
    let number = scalar.tensor();
    let [x, out, row, column] = [&mut x, &mut out, &mut row, &mut column].map(on_device);
    for operation in elementwise::operations() {
        let inputs = operation.roles.iter();
        let inputs: Vec<Tensor> = inputs
            .map(|role| if role.is_array() { x } else { number })
            .collect();
        // SAFETY: the tensors are valid.
        let done = unsafe { (operation.device)(&emulator, &inputs, &out) };
        assert_eq!(done, Ok(()), "{}", operation.name);
    }
    for reduction in reduce::reductions() {
        for axis in 0..2 {
            let of_shape = if axis == 0 { row } else { column };
            let results = if reduction.gives_index {
                Tensor {
                    dtype_code: 0,
                    shape: of_shape.shape,
                    ..on_device(&mut indices)
                }
            } else {
                of_shape
            };
            let results = Tensor {
                dtype_bits: if reduction.gives_index { 64 } else { 16 },
                ..results
            };
            // SAFETY: as above.
            let done = unsafe { (reduction.device)(&emulator, &x, Some(&[axis]), &results) };
            assert_eq!(done, Ok(()), "{}", reduction.name);
        }
    }
    // SAFETY: as above.
    unsafe {
        device::normalize(&emulator, &x, Some(&[1]), &out).unwrap();
        device::outer(&emulator, &column, &row, &out).unwrap();
        device::outer(&emulator, &column, &row, &on_device(&mut unrounded)).unwrap();
        device::ger(&emulator, 0.5, &column, &row, &out).unwrap();
        device::dot(&emulator, &x, &row, &column).unwrap();
    }
    let launched = emulator.kernels().into_iter();
    let launched: BTreeSet<&str> = launched.filter(|name| name.ends_with("_half")).collect();
    let all = ALL.iter().filter_map(|entry| entry.name(Dtype::F16));
    assert_eq!(launched, all.collect());
}

#[test]
fn what_no_kernel_fits_is_refused() {
    let emulator = single()[0].emulator();
    let mut x = Array::<f32>::with_strides(&[3, 4], vec![4, 1]);
    let mut one = Array::<f32>::with_strides(&[], vec![]);
    x.fill(|| 1.0);
    one.fill(|| 2.0);
    let x_tensor = on_device(&mut x);
    // SAFETY: the tensors are valid.
    unsafe {
        let unsupported = |arg| Err(Error::Unsupported { arg });
        let add = |x: &Tensor, y: &Tensor, out: &Tensor| {
            device::add(&emulator, x, y, out).map_err(refused)
        };
        assert_eq!(add(&x_tensor, &x_tensor, &x_tensor), Ok(()));
        assert_eq!(add(&x.tensor(), &x_tensor, &x_tensor), unsupported("x"));
        assert_eq!(add(&x_tensor, &x_tensor, &x.tensor()), unsupported("out"));
        let total = on_device(&mut one);
        assert_eq!(
            device::sum(&emulator, &x_tensor, Some(&[2]), &total).map_err(refused),
            Err(Error::InvalidValue { arg: "axes" })
        );
        one.fill(|| 2.0);
        // Numbers are read on the host.
        let scale =
            |alpha: &Tensor| device::scale(&emulator, alpha, &x_tensor, &x_tensor).map_err(refused);
        assert_eq!(scale(&one.tensor()), Ok(()));
        assert_eq!(scale(&on_device(&mut one)), unsupported("alpha"));
        assert_eq!(
            device::clamp(&emulator, &x_tensor, None, Some(&one.tensor()), &x_tensor),
            Ok(())
        );
    }
}
