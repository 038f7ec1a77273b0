//! Products over tensors, against the functions on vectors and matrices with gathered operands.

use diptych::raw::{self, RawEpilogue};
use diptych::tensor::{self, Epilogue};
use diptych::{BiasKind, Element, Exec};
use diptych_tests::levels::levels;
use diptych_tests::tensors::{Array, array, indices, matrix, own_index};
use diptych_tests::threads::Scoped;
use fastrand::Rng;

/// A number, now and then a special one.
pub(super) fn draw<T: Element>(rng: &mut Rng) -> T {
    let special = [f64::NAN, f64::INFINITY, 0.0, -0.0, 1e-40];
    T::from_f64(match rng.usize(..400) {
        i if i < special.len() => special[i],
        _ => (rng.f64() - 0.5) * 8.0,
    })
}

fn bits<T: Element>(value: T) -> Option<(bool, T)> {
    (!value.is_nan()).then_some((value.is_negative(), value))
}

/// [`array`] with random elements.
pub(super) fn filled<T: Element>(rng: &mut Rng, shape: &[i64], repeats: bool) -> Array<T> {
    let mut array = array(rng, shape, repeats);
    array.fill(|| draw(rng));
    array
}

pub(super) fn check<T: Element>(what: &str, got: &Array<T>, index: &[i64], want: T) {
    let value = got.get(index);
    assert_eq!(
        bits(value),
        bits(want),
        "{what} at {index:?}: {value:?} instead of {want:?}"
    );
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
        ..Epilogue::default()
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
    let pool = Scoped::new(2);
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
    let pool = Scoped::new(2);
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
