//! Products and gradients, against those of the CPU.

use super::{call_each, each_type, on_device, refused, row_major};
use diptych::tensor::{self, Epilogue, Tensor};
use diptych::{Element, Error, Exec, Storage};
use diptych_device::real::Real;
use diptych_gpu::tensor as device;
use diptych_tests::device::single;
use diptych_tests::tensors::{Array, indices};
use fastrand::Rng;

pub(super) fn filled<T: Storage>(rng: &mut Rng, shape: &[i64]) -> Array<T> {
    let mut array = match rng.bool() {
        true => Array::with_strides(shape, row_major(shape)),
        false => Array::random(rng, shape),
    };
    array.fill(|| T::from_compute(T::Compute::from_f64((rng.f64() - 0.5) * 8.0)));
    array
}

/// Two arrays with the same strides and elements: outputs of the two backends.
pub(super) fn pair<T: Storage>(rng: &mut Rng, shape: &[i64]) -> [Array<T>; 2] {
    let seed = rng.u64(..);
    [0; 2].map(|_| filled(&mut Rng::with_seed(seed), shape))
}

pub(super) fn compare<T: Storage>(what: &str, [host, device]: &[Array<T>; 2]) {
    assert!(device.gaps_intact(), "{what} wrote outside");
    for index in indices(host.shape()) {
        let [want, got] = [host, device].map(|array| array.get(&index).into_compute());
        let same = want == got && want.is_negative() == got.is_negative();
        assert!(
            same || (want.is_nan() && got.is_nan()),
            "{what} at {index:?}: {got:?}, not {want:?}"
        );
    }
}

/// A product with batch axes that are broadcast, vectors, a bias and bounds.
fn matmul<T: Real>(rng: &mut Rng) {
    let length = |rng: &mut Rng| match rng.u8(..8) {
        0 => 0,
        1 | 2 => 1,
        _ => rng.i64(2..24),
    };
    let (m, k, n) = (length(rng), length(rng), length(rng));
    let batch: Vec<i64> = (0..rng.usize(..3)).map(|_| rng.i64(1..4)).collect();
    let is_vector = batch.is_empty() && rng.u8(..4) == 0;
    let own: Vec<i64> = batch
        .iter()
        .map(|&count| if rng.bool() { 1 } else { count })
        .collect();
    let (a_shape, b_shape, c_shape) = if is_vector {
        (vec![m, k], vec![k], vec![m])
    } else {
        let of = |batch: &[i64], last: [i64; 2]| [batch, &last].concat();
        (of(&own, [m, k]), of(&batch, [k, n]), of(&batch, [m, n]))
    };
    let (mut a, mut b) = (filled::<T>(rng, &a_shape), filled::<T>(rng, &b_shape));
    let n = if is_vector { 1 } else { n };
    let by_column = rng.bool();
    let mut bias = filled::<T>(rng, &if by_column { vec![n] } else { vec![m, 1] });
    let mut c = pair::<T>(rng, &c_shape);
    let (alpha, beta) = (
        [1.0, 0.0, -0.5][rng.usize(..3)],
        [0.0, 1.0, 0.75][rng.usize(..3)],
    );
    let (has_bias, clamps) = (rng.bool(), rng.bool());
    let what = format!("matmul {a_shape:?} {b_shape:?} alpha {alpha} beta {beta}");
    let epilogue = |bias| Epilogue {
        bias,
        clamp: clamps.then_some((-2.0, 3.0)),
        ..Epilogue::default()
    };
    // SAFETY: the tensors are valid.
    unsafe {
        let of_bias = bias.tensor();
        let last = epilogue(has_bias.then_some(&of_bias));
        let (x, y, out) = (a.tensor(), b.tensor(), c[0].tensor());
        tensor::matmul(&Exec::new(), alpha, &x, &y, beta, &out, Some(&last)).unwrap();
        let of_bias = on_device(&mut bias);
        let last = epilogue(has_bias.then_some(&of_bias));
        let (x, y, out) = (on_device(&mut a), on_device(&mut b), on_device(&mut c[1]));
        for config in single() {
            let done = device::matmul(&config.emulator(), alpha, &x, &y, beta, &out, Some(&last));
            assert_eq!(done.map_err(refused), Ok(()), "{what}");
        }
    }
    compare(&what, &c);
}

#[test]
fn products_have_the_bits_of_the_cpu() {
    let mut rng = Rng::with_seed(21);
    for _ in 0..60 {
        matmul::<f32>(&mut rng);
        matmul::<f64>(&mut rng);
    }
}

/// Calls `outer`, `ger` and `dot` of two vectors, or of batches of them.
fn vectors<T: Storage>(rng: &mut Rng) {
    let (m, n) = (rng.i64(0..40), rng.i64(0..40));
    let (mut x, mut y) = (filled::<T>(rng, &[m]), filled::<T>(rng, &[n]));
    let (mut out, mut a) = (pair::<T>(rng, &[m, n]), pair::<T>(rng, &[m, n]));
    let batch = rng.i64(1..5);
    let (mut p, mut q) = (filled::<T>(rng, &[batch, n]), filled::<T>(rng, &[n]));
    let mut dots = pair::<T>(rng, &[batch]);
    // SAFETY: the tensors are valid.
    unsafe {
        let exec = Exec::new();
        let (u, v) = (x.tensor(), y.tensor());
        tensor::outer(&exec, &u, &v, &out[0].tensor()).unwrap();
        tensor::ger(&exec, -1.5, &u, &v, &a[0].tensor()).unwrap();
        tensor::dot(&exec, &p.tensor(), &q.tensor(), &dots[0].tensor()).unwrap();
        let (u, v) = (on_device(&mut x), on_device(&mut y));
        for config in single() {
            let emulator = config.emulator();
            let done = device::outer(&emulator, &u, &v, &on_device(&mut out[1]));
            assert_eq!(done.map_err(refused), Ok(()));
            let done = device::ger(&emulator, -1.5, &u, &v, &on_device(&mut a[1]));
            assert_eq!(done.map_err(refused), Ok(()));
            let (p, q) = (on_device(&mut p), on_device(&mut q));
            let done = device::dot(&emulator, &p, &q, &on_device(&mut dots[1]));
            assert_eq!(done.map_err(refused), Ok(()));
        }
    }
    compare("outer", &out);
    compare("ger", &a);
    compare("dot", &dots);
}

/// Calls `outer` and `dot` with results of the type of arithmetic, which are not rounded to that of the elements.
fn unrounded<T: Storage>(rng: &mut Rng) {
    let (m, n) = (rng.i64(0..40), rng.i64(0..40));
    let (mut x, mut y) = (filled::<T>(rng, &[m]), filled::<T>(rng, &[n]));
    let mut out = pair::<T::Compute>(rng, &[m, n]);
    let (batch, n) = (rng.i64(1..5), rng.i64(0..20_000));
    let (mut p, mut q) = (filled::<T>(rng, &[n]), filled::<T>(rng, &[batch, 2, n]));
    let mut dots = pair::<T::Compute>(rng, &[batch, 2]);
    // SAFETY: the tensors are valid.
    unsafe {
        let exec = Exec::new();
        tensor::outer(&exec, &x.tensor(), &y.tensor(), &out[0].tensor()).unwrap();
        tensor::dot(&exec, &p.tensor(), &q.tensor(), &dots[0].tensor()).unwrap();
        let (u, v) = (on_device(&mut x), on_device(&mut y));
        let (p, q) = (on_device(&mut p), on_device(&mut q));
        for config in single() {
            let emulator = config.emulator();
            let done = device::outer(&emulator, &u, &v, &on_device(&mut out[1]));
            assert_eq!(done.map_err(refused), Ok(()));
            let done = device::dot(&emulator, &p, &q, &on_device(&mut dots[1]));
            assert_eq!(done.map_err(refused), Ok(()));
        }
    }
    compare("outer, unrounded", &out);
    compare("dot, unrounded", &dots);
}

#[test]
fn products_of_vectors_have_the_bits_of_the_cpu() {
    let mut rng = Rng::with_seed(22);
    for _ in 0..30 {
        each_type!(vectors(&mut rng));
        each_type!(unrounded(&mut rng));
    }
}

#[test]
fn products_that_cannot_be_are_refused() {
    let emulator = single()[0].emulator();
    let mut host = Array::<f32>::with_strides(&[3, 3], vec![3, 1]);
    host.fill(|| 1.0);
    let square = Tensor {
        device_type: 2,
        ..host.tensor()
    };
    let mut apart = Array::<f32>::with_strides(&[3], vec![2]);
    let mut other = Array::<f32>::with_strides(&[3, 3], vec![3, 1]);
    // SAFETY: the tensors are valid.
    unsafe {
        let matmul = |a: &Tensor, b: &Tensor, c: &Tensor| {
            device::matmul(&emulator, 1.0, a, b, 0.0, c, None).map_err(refused)
        };
        let other = on_device(&mut other);
        assert_eq!(
            matmul(&square, &square, &square),
            Err(Error::Overlap { arg: "c" })
        );
        assert_eq!(
            matmul(&square, &host.tensor(), &other),
            Err(Error::Unsupported { arg: "b" })
        );
        let apart = on_device(&mut apart);
        assert_eq!(
            matmul(&apart, &square, &other),
            Err(Error::ShapeMismatch { arg: "c" })
        );
    }
}
