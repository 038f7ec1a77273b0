//! Products and gradients over tensors, against the functions on vectors and matrices with gathered operands.

use diptych::raw::{self, RawEpilogue};
use diptych::tensor::{self, Epilogue, Tensor};
use diptych::{BiasKind, Element, Error, Exec, Pool, Result};
use diptych_tests::levels::levels;
use diptych_tests::tensors::{Array, indices, own_index};
use fastrand::Rng;

/// A number, now and then a special one.
fn draw<T: Element>(rng: &mut Rng) -> T {
    let special = [f64::NAN, f64::INFINITY, 0.0, -0.0, 1e-40];
    T::from_f64(match rng.usize(..400) {
        i if i < special.len() => special[i],
        _ => (rng.f64() - 0.5) * 8.0,
    })
}

fn bits<T: Element>(value: T) -> Option<(bool, T)> {
    (!value.is_nan()).then_some((value.is_negative(), value))
}

/// A random tensor with random elements; if `repeats`, steps of 0 may occur.
fn filled<T: Element>(rng: &mut Rng, shape: &[i64], repeats: bool) -> Array<T> {
    let mut array = if repeats && rng.u8(..5) == 0 {
        let mut next = 1;
        let mut strides = vec![0; shape.len()];
        for (stride, count) in strides.iter_mut().zip(shape).rev() {
            if rng.bool() {
                *stride = next;
                next *= count.max(&1);
            }
        }
        Array::with_strides(shape, strides)
    } else if rng.bool() {
        let mut strides = vec![1; shape.len()];
        for i in (1..shape.len()).rev() {
            strides[i - 1] = strides[i] * shape[i].max(1);
        }
        Array::with_strides(shape, strides)
    } else {
        Array::random(rng, shape)
    };
    array.fill(|| draw(rng));
    array
}

fn check<T: Element>(what: &str, got: &Array<T>, index: &[i64], want: T) {
    let value = got.get(index);
    assert_eq!(
        bits(value),
        bits(want),
        "{what} at {index:?}: {value:?} instead of {want:?}"
    );
}

/// The matrix of a batch, in row-major order.
fn matrix<T: Element>(
    x: &Array<T>,
    batch: &[i64],
    (rows, columns): (i64, i64),
    vector: bool,
) -> Vec<T> {
    let mut elements = Vec::new();
    let leading = x.shape().len().saturating_sub(if vector { 1 } else { 2 });
    let own = own_index(&x.shape()[..leading], batch);
    for i in 0..rows {
        for j in 0..columns {
            let last: &[i64] = match (vector, columns) {
                (false, _) => &[i, j],
                (true, 1) => &[i],
                (true, _) => &[j],
            };
            elements.push(x.get(&[&own, last].concat()));
        }
    }
    elements
}

/// One random product.
fn matmul<T: Element>(rng: &mut Rng, exec: &Exec<'_>, most: i64) {
    let length = |rng: &mut Rng| match rng.u8(..12) {
        0 => 0,
        1..4 => 1,
        4..10 => rng.i64(2..20),
        _ => rng.i64(1..most),
    };
    let (m, k, n) = (length(rng), length(rng), length(rng));
    let batch: Vec<i64> = (0..rng.usize(..4)).map(|_| rng.i64(1..6)).collect();
    let (row, column) = (
        batch.is_empty() && rng.u8(..6) == 0,
        batch.is_empty() && rng.u8(..6) == 0,
    );
    let (m, n) = (if row { 1 } else { m }, if column { 1 } else { n });
    let own = |rng: &mut Rng, keep: bool| -> Vec<i64> {
        if keep {
            return batch.clone();
        }
        let from = rng.usize(..=batch.len());
        batch[from..]
            .iter()
            .map(|&count| if rng.bool() { 1 } else { count })
            .collect()
    };
    let a_is_whole = rng.bool();
    let of = |lead: Vec<i64>, last: &[i64]| [lead, last.to_vec()].concat();
    let a_shape = if row {
        vec![k]
    } else {
        of(own(rng, a_is_whole), &[m, k])
    };
    let b_shape = if column {
        vec![k]
    } else {
        of(own(rng, !a_is_whole), &[k, n])
    };
    let mut last = vec![];
    if !row {
        last.push(m);
    }
    if !column {
        last.push(n);
    }
    let c_shape = of(batch.clone(), &last);
    let mut a = filled::<T>(rng, &a_shape, true);
    let mut b = filled::<T>(rng, &b_shape, true);
    let mut c = filled::<T>(rng, &c_shape, false);
    let factors = [(1.0, 0.0), (1.0, 0.0), (1.0, 1.0), (-0.3, 0.7), (0.0, 2.0)];
    let (alpha, beta) = factors[rng.usize(..factors.len())];
    let per_row = rng.bool();
    let bias_shape = if per_row { vec![m, 1] } else { vec![n] };
    let mut bias = filled::<T>(rng, &bias_shape, false);
    let has_bias = rng.u8(..3) == 0;
    let clamp = (rng.u8(..4) == 0).then_some((-1.3, 2.1));

    let mut wants = Vec::new();
    for index in indices(&batch) {
        let left = matrix(&a, &index, (m, k), row);
        let right = matrix(&b, &index, (k, n), column);
        let c_index = |i, j| {
            let mut at = index.clone();
            if !row {
                at.push(i);
            }
            if !column {
                at.push(j);
            }
            at
        };
        let mut result = Vec::new();
        for i in 0..m {
            for j in 0..n {
                result.push(c.get(&c_index(i, j)));
            }
        }
        let biases: Vec<T> = indices(bias.shape()).iter().map(|i| bias.get(i)).collect();
        let epilogue = RawEpilogue {
            bias: biases.as_ptr(),
            bias_inc: 1,
            bias_kind: match (has_bias, per_row) {
                (false, _) => BiasKind::None,
                (_, true) => BiasKind::PerRow,
                _ => BiasKind::PerColumn,
            },
            clamp: clamp.map(|(lo, hi)| (T::from_f64(lo), T::from_f64(hi))),
        };
        // SAFETY: the operands have these sizes.
        unsafe {
            let (alpha, beta) = (T::from_f64(alpha), T::from_f64(beta));
            let (left, right, to) = (left.as_ptr(), right.as_ptr(), result.as_mut_ptr());
            raw::gemm_fused(
                &Exec::new(),
                m,
                n,
                k,
                alpha,
                left,
                k,
                1,
                right,
                n,
                1,
                beta,
                to,
                n,
                1,
                &epilogue,
            )
            .unwrap();
        }
        for i in 0..m {
            for j in 0..n {
                wants.push((c_index(i, j), result[(i * n + j) as usize]));
            }
        }
    }
    let bias = bias.tensor();
    let epilogue = Epilogue {
        bias: has_bias.then_some(&bias),
        clamp,
    };
    let epilogue = (has_bias || clamp.is_some() || rng.bool()).then_some(&epilogue);
    let (x, y, out) = (a.tensor(), b.tensor(), c.tensor());
    let what =
        format!("{alpha} {a_shape:?} x {b_shape:?}, {beta} {c_shape:?}, bias {has_bias} {per_row}");
    // SAFETY: the tensors are valid.
    let status = unsafe { tensor::matmul(exec, alpha, &x, &y, beta, &out, epilogue) };
    assert_eq!(status, Ok(()), "{what}");
    assert!(c.gaps_intact(), "{what}");
    for (index, want) in wants {
        check(&what, &c, &index, want);
    }
}

#[test]
fn products_have_the_bits_of_each_alone() {
    for &level in levels() {
        let exec = Exec::new().with_level(level).unwrap();
        for seed in 0..250 {
            matmul::<f32>(&mut Rng::with_seed(seed), &exec, 70);
            matmul::<f64>(&mut Rng::with_seed(seed + 1000), &exec, 70);
        }
    }
    let pool = Pool::new(2).unwrap();
    let exec = Exec::new().with_pool(&pool, 2);
    for seed in 2000..2060 {
        matmul::<f32>(&mut Rng::with_seed(seed), &exec, 300);
    }
}

/// Dot products along the last axis.
fn dot<T: Element>(rng: &mut Rng, exec: &Exec<'_>, most: i64) {
    let k = if rng.bool() {
        rng.i64(0..8)
    } else {
        rng.i64(0..most)
    };
    let shape: Vec<i64> = (0..rng.usize(..4)).map(|_| rng.i64(1..7)).collect();
    let shorter: Vec<i64> = shape[rng.usize(..=shape.len())..]
        .iter()
        .map(|&n| if rng.bool() { 1 } else { n })
        .collect();
    let (mut p, mut q) = (
        [shape.clone(), vec![k]].concat(),
        [shorter, vec![k]].concat(),
    );
    if rng.bool() {
        std::mem::swap(&mut p, &mut q);
    }
    let (mut x, mut y) = (filled::<T>(rng, &p, true), filled::<T>(rng, &q, true));
    let mut out = filled::<T>(rng, &shape, false);
    // SAFETY: the tensors are valid.
    unsafe { tensor::dot(exec, &x.tensor(), &y.tensor(), &out.tensor()) }.unwrap();
    assert!(out.gaps_intact());
    for index in indices(&shape) {
        let vector = |v: &Array<T>| -> Vec<T> {
            let own = own_index(&v.shape()[..v.shape().len() - 1], &index);
            (0..k)
                .map(|i| v.get(&[own.as_slice(), &[i]].concat()))
                .collect()
        };
        let (left, right) = (vector(&x), vector(&y));
        let want = diptych::dot(&Exec::new(), left.as_slice(), right.as_slice()).unwrap();
        check("dot", &out, &index, want);
    }
}

#[test]
fn dot_products_along_the_last_axis() {
    for &level in levels() {
        let exec = Exec::new().with_level(level).unwrap();
        for seed in 0..150 {
            dot::<f32>(&mut Rng::with_seed(seed), &exec, 3000);
            dot::<f64>(&mut Rng::with_seed(seed + 1000), &exec, 3000);
        }
    }
    let pool = Pool::new(2).unwrap();
    let exec = Exec::new().with_pool(&pool, 2);
    for seed in 0..10 {
        dot::<f32>(&mut Rng::with_seed(seed), &exec, 200_000);
    }
}

#[test]
fn outer_products() {
    for &level in levels() {
        let exec = Exec::new().with_level(level).unwrap();
        for seed in 0..200 {
            let rng = &mut Rng::with_seed(seed);
            let shape = [rng.i64(0..40), rng.i64(0..40)];
            let mut x = filled::<f32>(rng, &shape[..1], true);
            let mut y = filled::<f32>(rng, &shape[1..], true);
            let mut a = filled::<f32>(rng, &shape, false);
            let mut out = filled::<f32>(rng, &shape, false);
            let olds: Vec<f32> = indices(&shape).iter().map(|i| a.get(i)).collect();
            // SAFETY: the tensors are valid.
            unsafe {
                tensor::outer(&exec, &x.tensor(), &y.tensor(), &out.tensor()).unwrap();
                tensor::ger(&exec, 0.7, &x.tensor(), &y.tensor(), &a.tensor()).unwrap();
            }
            assert!(out.gaps_intact() && a.gaps_intact());
            for (index, old) in indices(&shape).iter().zip(olds) {
                let (x, y) = (x.get(&index[..1]), y.get(&index[1..]));
                check("outer", &out, index, x * y);
                check("ger", &a, index, (0.7 * x).mul_add(y, old));
            }
        }
    }
}

/// The squared error and its gradient.
fn mse_grad<T: Element>(rng: &mut Rng, exec: &Exec<'_>, most: i64) {
    let shape = diptych_tests::tensors::random_shape(rng, most);
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
    let pool = Pool::new(2).unwrap();
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
    // Again with a workspace, where x is not copied, and at the level and with the threads of `exec`.
    let bytes = diptych::lsq_grad_workspace::<T>(exec, m as usize, n as usize).unwrap();
    let mut workspace = vec![std::mem::MaybeUninit::<u8>::uninit(); bytes];
    let own = Exec::new().with_workspace(&mut workspace);
    for with_workspace in [true, false] {
        grad.fill(|| draw(rng));
        let (a, x, y, out) = (a.tensor(), x.tensor(), y.tensor(), grad.tensor());
        // SAFETY: the tensors are valid.
        unsafe {
            if with_workspace {
                tensor::lsq_grad(&own, &a, &x, &y, &out).unwrap();
            } else {
                tensor::lsq_grad(exec, &a, &x, &y, &out).unwrap();
            }
        }
        assert!(grad.gaps_intact());
        for (i, &want) in want.iter().enumerate() {
            check("lsq_grad", &grad, &[i as i64], want);
        }
    }
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
    let pool = Pool::new(2).unwrap();
    let exec = Exec::new().with_pool(&pool, 2);
    lsq_grad::<f32>(&mut Rng::with_seed(5), &exec, 1500);
}

/// A tensor of `f32` in a block.
fn float(p: *mut f32, shape: &[i64], strides: &[i64]) -> Tensor {
    Tensor {
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
    }
}

#[test]
fn refusals_of_products() {
    let mut block = [1.0_f32; 256];
    let p = block.as_mut_ptr();
    let at = |i: usize| p.wrapping_add(i);
    let wrong = |arg| Err(Error::ShapeMismatch { arg });
    let matmul = |a: Tensor, b: Tensor, c: Tensor, bias: Option<Tensor>| -> Result<()> {
        let epilogue = Epilogue {
            bias: bias.as_ref(),
            clamp: None,
        };
        let epilogue = bias.is_some().then_some(&epilogue);
        // SAFETY: all elements lie in the block, unless the call is refused.
        unsafe { tensor::matmul(&Exec::new(), 1.0, &a, &b, 0.0, &c, epilogue) }
    };
    let square: (&[i64], &[i64]) = (&[2, 2], &[2, 1]);
    let (a, b) = (
        float(at(0), square.0, square.1),
        float(at(8), square.0, square.1),
    );
    let c = float(at(16), square.0, square.1);
    let row = float(at(24), &[1, 2], &[2, 1]);
    let cube = float(at(32), &[3, 2, 2], &[4, 2, 1]);
    let cube_out = float(at(64), &[3, 2, 2], &[4, 2, 1]);
    assert_eq!(matmul(a, row, c, None), wrong("b"));
    assert_eq!(matmul(row, a, c, None), wrong("c"));
    assert_eq!(matmul(a, b, cube_out, None), wrong("c"));
    assert_eq!(matmul(cube, b, c, None), wrong("c"));
    assert_eq!(
        matmul(cube, float(at(100), &[2, 2, 2], &[4, 2, 1]), cube_out, None),
        wrong("b")
    );
    assert_eq!(matmul(float(at(0), &[], &[]), b, c, None), wrong("a"));
    assert_eq!(matmul(a, b, c, Some(cube)), wrong("bias"));
    let overlap = Err(Error::Overlap { arg: "c" });
    assert_eq!(
        matmul(a, b, float(at(3), square.0, square.1), None),
        overlap
    );
    assert_eq!(matmul(a, b, c, Some(float(at(17), &[2], &[1]))), overlap);
    assert_eq!(
        matmul(a, b, float(at(16), square.0, &[0, 1]), None),
        overlap
    );
    assert_eq!(
        matmul(cube, b, float(at(64), &[3, 2, 2], &[1, 2, 1]), None),
        overlap
    );
    let other = Tensor {
        dtype_bits: 64,
        ..b
    };
    assert_eq!(
        matmul(a, other, c, None),
        Err(Error::TypeMismatch { arg: "b" })
    );
    let arg = "a";
    let half = Tensor {
        dtype_bits: 16,
        ..a
    };
    assert_eq!(
        matmul(half, b, c, None),
        Err(Error::UnsupportedType { arg })
    );
    assert_eq!(
        matmul(Tensor { ndim: -1, ..a }, b, c, None),
        Err(Error::InvalidValue { arg })
    );
    assert_eq!(
        matmul(float(at(0), &[-2, 2], &[2, 1]), b, c, None),
        Err(Error::NegativeSize { arg })
    );
    let huge = float(at(0), &[2, 2], &[i64::MAX, 1]);
    assert_eq!(matmul(huge, b, c, None), Err(Error::SizeOverflow { arg }));
    let null = float(std::ptr::null_mut(), &[2, 2], &[2, 1]);
    assert_eq!(matmul(null, b, c, None), Err(Error::NullPointer { arg }));
    assert_eq!(
        matmul(
            Tensor {
                byte_offset: 2,
                ..a
            },
            b,
            c,
            None
        ),
        Err(Error::Misaligned { arg })
    );

    let vector = |i, n: &'static [i64; 1]| float(at(i), n, &[1]);
    let (two, three) = (&[2], &[3]);
    let exec = &Exec::new();
    // SAFETY: as above.
    let (outer, ger, dot, mse, lsq) = unsafe {
        (
            |x, y, out| tensor::outer(exec, &x, &y, &out),
            |x, y, a| tensor::ger(exec, 1.0, &x, &y, &a),
            |x, y, out| tensor::dot(exec, &x, &y, &out),
            |x, y, grad, loss| tensor::mse_grad(exec, &x, &y, &grad, &loss),
            |a, x, y, grad| tensor::lsq_grad(exec, &a, &x, &y, &grad),
        )
    };
    let overlaps = |arg| Err(Error::Overlap { arg });
    assert_eq!(outer(a, vector(8, two), c), wrong("x"));
    assert_eq!(outer(vector(0, three), vector(8, two), c), wrong("out"));
    assert_eq!(outer(vector(17, two), vector(8, two), c), overlaps("out"));
    assert_eq!(ger(vector(0, two), vector(8, three), c), wrong("a"));
    assert_eq!(ger(vector(0, two), vector(18, two), c), overlaps("a"));
    let number = |i| float(at(i), &[], &[]);
    assert_eq!(dot(number(0), vector(8, two), number(16)), wrong("x"));
    assert_eq!(
        dot(vector(0, three), vector(8, two), number(16)),
        wrong("y")
    );
    assert_eq!(
        dot(vector(0, two), vector(8, two), vector(16, two)),
        wrong("out")
    );
    assert_eq!(
        dot(vector(0, two), vector(8, two), number(9)),
        overlaps("out")
    );
    assert_eq!(mse(a, vector(8, two), c, number(24)), wrong("target"));
    assert_eq!(mse(a, b, vector(16, two), number(24)), wrong("grad"));
    assert_eq!(mse(a, b, c, vector(24, two)), wrong("loss"));
    assert_eq!(
        mse(a, b, float(at(1), square.0, square.1), number(24)),
        overlaps("grad")
    );
    assert_eq!(mse(a, b, c, number(18)), overlaps("loss"));
    assert_eq!(
        lsq(a, vector(8, three), vector(12, two), vector(16, two)),
        wrong("x")
    );
    assert_eq!(
        lsq(a, vector(8, two), vector(12, three), vector(16, two)),
        wrong("y")
    );
    assert_eq!(
        lsq(a, vector(8, two), vector(12, two), vector(16, three)),
        wrong("grad")
    );
    assert_eq!(
        lsq(a, vector(8, two), vector(12, two), vector(13, two)),
        overlaps("grad")
    );
    assert_eq!(
        lsq(cube, vector(8, two), vector(12, two), vector(16, two)),
        wrong("a")
    );
    assert!(
        block.iter().all(|&x| x == 1.0),
        "a refused call has written"
    );
}
