//! Gradients over tensors, against the functions on vectors and matrices with gathered operands.

use super::products::{check, draw, filled};
use diptych::{Element, Exec};
use diptych::{raw, tensor};
use diptych_tests::levels::levels;
use diptych_tests::tensors::{Array, indices, random_shape};
use diptych_tests::threads::Scoped;
use fastrand::Rng;

/// The squared error and its gradient.
fn mse_grad<T: Element>(rng: &mut Rng, exec: &Exec<'_>, most: i64) {
    let shape = random_shape(rng, most);
    let (mut pred, mut target) = (
        filled::<T>(rng, &shape, true),
        filled::<T>(rng, &shape, true),
    );
    let mut grad = filled::<T>(rng, &shape, false);
    let loss_shape: &[i64] = if rng.bool() { &[] } else { &[1, 1] };
    let mut loss = filled::<T>(rng, loss_shape, false);
    let gathered = |x: &Array<T>| -> Vec<T> { indices(&shape).iter().map(|i| x.get(i)).collect() };
    let in_place = rng.u8(..4) == 0;
    if in_place {
        let mut values = gathered(&pred).into_iter();
        grad.fill(|| values.next().unwrap());
    }
    let mut want = gathered(&grad);
    let p = gathered(&pred);
    let sum = diptych::mse_grad(&Exec::new(), &p, &gathered(&target), &mut want).unwrap();
    let x = if in_place {
        grad.tensor()
    } else {
        pred.tensor()
    };
    // SAFETY: the tensors are valid.
    unsafe { tensor::mse_grad(exec, &x, &target.tensor(), &grad.tensor(), &loss.tensor()) }
        .unwrap();
    assert!(grad.gaps_intact() && loss.gaps_intact());
    let first = vec![0; loss.shape().len()];
    check(&format!("loss of {shape:?}"), &loss, &first, sum);
    for (index, want) in indices(&shape).iter().zip(want) {
        check("grad", &grad, index, want);
    }
}

#[test]
fn squared_errors_and_their_gradients() {
    for &level in levels() {
        let exec = Exec::new().with_level(level).unwrap();
        for seed in 0..120 {
            mse_grad::<f32>(&mut Rng::with_seed(seed), &exec, 9000);
            mse_grad::<f64>(&mut Rng::with_seed(seed + 1000), &exec, 9000);
        }
    }
    let pool = Scoped::new(2);
    let exec = Exec::new().with_pool(&pool, 2);
    for seed in 0..6 {
        mse_grad::<f32>(&mut Rng::with_seed(seed), &exec, 600_000);
    }
}

/// The least-squares gradient.
fn lsq_grad<T: Element>(rng: &mut Rng, exec: &Exec<'_>, most: i64) {
    let (m, n) = (rng.i64(0..most), rng.i64(0..most));
    let mut a = filled::<T>(rng, &[m, n], true);
    let (mut x, mut y) = (filled::<T>(rng, &[n], true), filled::<T>(rng, &[m], true));
    let mut grad = filled::<T>(rng, &[n], false);
    let gathered =
        |x: &Array<T>| -> Vec<T> { indices(x.shape()).iter().map(|i| x.get(i)).collect() };
    let mut want = gathered(&grad);
    let (p, q, r) = (gathered(&a), gathered(&x), gathered(&y));
    // SAFETY: the operands have these sizes.
    unsafe {
        let exec = Exec::new();
        raw::lsq_grad(
            &exec,
            m,
            n,
            p.as_ptr(),
            n,
            1,
            q.as_ptr(),
            r.as_ptr(),
            want.as_mut_ptr(),
        )
        .unwrap();
        tensor::lsq_grad(&exec, &a.tensor(), &x.tensor(), &y.tensor(), &grad.tensor()).unwrap();
    }
    for (i, &want) in want.iter().enumerate() {
        check("lsq_grad", &grad, &[i as i64], want);
    }
    // Again with a workspace, without and with room for a copy of x, and at the level and with the threads of `exec`.
    let bytes = diptych::lsq_grad_workspace::<T>(exec, m as usize, n as usize).unwrap();
    let copy = n as usize * size_of::<T>();
    let [mut small, mut large] =
        [bytes, bytes + copy].map(|bytes| vec![std::mem::MaybeUninit::uninit(); bytes]);
    let mut again = |exec: &Exec<'_>| {
        grad.fill(|| draw(rng));
        let (a, x, y, out) = (a.tensor(), x.tensor(), y.tensor(), grad.tensor());
        // SAFETY: the tensors are valid.
        unsafe { tensor::lsq_grad(exec, &a, &x, &y, &out) }.unwrap();
        assert!(grad.gaps_intact());
        for (i, &want) in want.iter().enumerate() {
            check("lsq_grad", &grad, &[i as i64], want);
        }
    };
    again(&Exec::new().with_workspace(&mut small));
    again(&Exec::new().with_workspace(&mut large));
    again(exec);
}

#[test]
fn least_squares_gradients() {
    for &level in levels() {
        let exec = Exec::new().with_level(level).unwrap();
        for seed in 0..60 {
            lsq_grad::<f32>(&mut Rng::with_seed(seed), &exec, 150);
            lsq_grad::<f64>(&mut Rng::with_seed(seed + 1000), &exec, 150);
        }
    }
    let pool = Scoped::new(2);
    let exec = Exec::new().with_pool(&pool, 2);
    lsq_grad::<f32>(&mut Rng::with_seed(5), &exec, 1500);
}

#[test]
fn without_rows_x_is_not_read() {
    let mut grad = [7.0_f32; 4];
    let tensor = |p: *mut f32, shape: &'static [i64], strides: &'static [i64]| tensor::Tensor {
        data: p.cast(),
        device_type: 1,
        device_id: 0,
        ndim: shape.len() as i32,
        dtype_code: 2,
        dtype_bits: 32,
        dtype_lanes: 1,
        shape: shape.as_ptr(),
        strides: strides.as_ptr(),
        byte_offset: 0,
    };
    let nowhere = std::ptr::dangling_mut();
    let (a, y) = (
        tensor(nowhere, &[0, 2], &[2, 1]),
        tensor(nowhere, &[0], &[1]),
    );
    for stride in [&[1_i64], &[2]] {
        let x = tensor(nowhere, &[2], stride);
        let out = tensor(grad.as_mut_ptr(), &[2], &[2]);
        // SAFETY: only the gradient has elements that are accessed.
        unsafe { tensor::lsq_grad(&Exec::new(), &a, &x, &y, &out) }.unwrap();
        assert_eq!(grad, [0.0, 7.0, 0.0, 7.0]);
        grad[0] = 7.0;
    }
}
