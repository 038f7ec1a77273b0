//! Losses and their gradients of tensors that are contiguous, and of others.

use super::products::{compare, filled, pair};
use super::{call_each, each_type, on_device, refused};
use diptych::{Exec, Storage, tensor};
use diptych_gpu::tensor as device;
use diptych_tests::device::single;
use fastrand::Rng;

fn squared_error<T: Storage, L: Storage>(rng: &mut Rng) {
    let shape = [rng.i64(1..40), rng.i64(1..20), rng.i64(1..6)];
    let mut pred = pair::<T>(rng, &shape);
    let mut target = filled::<T>(rng, &shape);
    let (mut grad, mut loss) = (pair::<T>(rng, &shape), pair::<L>(rng, &[]));
    let in_place = rng.u8(..4) == 0;
    // SAFETY: the tensors are valid.
    unsafe {
        let exec = Exec::new();
        let out = if in_place {
            pred[0].tensor()
        } else {
            grad[0].tensor()
        };
        let inputs = (pred[0].tensor(), target.tensor());
        tensor::mse_grad(&exec, &inputs.0, &inputs.1, &out, &loss[0].tensor()).unwrap();
        let before = pred[1].bytes().to_vec();
        for config in single() {
            pred[1].restore(&before);
            let p = on_device(&mut pred[1]);
            let (t, l) = (on_device(&mut target), on_device(&mut loss[1]));
            let g = if in_place { p } else { on_device(&mut grad[1]) };
            let done = device::mse_grad(&config.emulator(), &p, &t, &g, &l);
            assert_eq!(done.map_err(refused), Ok(()));
        }
    }
    compare("the gradient", if in_place { &pred } else { &grad });
    compare("the loss", &loss);
}

/// With a loss of the type of the elements, and one of that of arithmetic.
fn squared_errors<T: Storage>(rng: &mut Rng) {
    squared_error::<T, T>(rng);
    squared_error::<T, T::Compute>(rng);
}

fn least_squares<T: Storage>(rng: &mut Rng) {
    let (m, n) = (rng.i64(0..50), rng.i64(0..30));
    let mut a = filled::<T>(rng, &[m, n]);
    let mut x = filled::<T>(rng, &[n]);
    let mut y = filled::<T>(rng, &[m]);
    let mut out = pair::<T>(rng, &[n]);
    // SAFETY: the tensors are valid.
    unsafe {
        let exec = Exec::new();
        let inputs = (a.tensor(), x.tensor(), y.tensor());
        tensor::lsq_grad(&exec, &inputs.0, &inputs.1, &inputs.2, &out[0].tensor()).unwrap();
        let (a, x, y) = (on_device(&mut a), on_device(&mut x), on_device(&mut y));
        for config in single() {
            let done = device::lsq_grad(&config.emulator(), &a, &x, &y, &on_device(&mut out[1]));
            assert_eq!(done.map_err(refused), Ok(()));
        }
    }
    compare("lsq_grad", &out);
}

#[test]
fn gradients_have_the_bits_of_the_cpu() {
    let mut rng = Rng::with_seed(23);
    for _ in 0..24 {
        each_type!(squared_errors(&mut rng));
        each_type!(least_squares(&mut rng));
    }
}
