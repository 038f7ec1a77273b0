//! Tensors on the device: each element has the bits of the CPU's, and what no kernel fits is refused.

mod convert;
mod elementwise;
mod gradients;
#[path = "../../tensors/mixed.rs"]
mod mixed;
#[path = "../../tensors/mixed_edges.rs"]
mod mixed_edges;
mod mixed_kernels;
mod products;
mod reduce;
mod row_map;

// The files of the suite of the CPU take their backend from here.
use crate::backend;
use diptych::Error;
use diptych::Storage;
use diptych::tensor::Tensor;
use diptych_gpu::tensor as device;
use diptych_tests::device::single;
use diptych_tests::tensors::Array;

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
