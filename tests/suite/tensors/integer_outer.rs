//! Outer products of integers, against an exact model of each element.

use diptych::tensor::{self, Tensor};
use diptych::{Error, Exec};
use diptych_tests::integers;
use diptych_tests::levels::levels;
use diptych_tests::mixed::Whole;
use diptych_tests::tensors::{Array, indices};
use diptych_tests::threads::Scoped;
use fastrand::Rng;

use super::integers::{described, draw, in_order, operand};

/// A factor as `ger` takes it: a whole number, often one at which results wrap.
fn factor(rng: &mut Rng) -> f64 {
    match draw::<i64>(rng) as f64 {
        // The greatest `i64` is no `f64`.
        large if large == 2_f64.powi(63) => -large,
        alpha => alpha,
    }
}

/// Runs `outer` and `ger` on random tensors of this shape.
fn try_shape<T: Whole>(rng: &mut Rng, exec: &Exec<'_>, shape: [i64; 2]) {
    let (mut x, mut y) = (
        operand::<T>(rng, &shape[..1]),
        operand::<T>(rng, &shape[1..]),
    );
    let (xt, yt) = (described(&mut x), described(&mut y));
    for alpha in [None, Some(1.0), Some(factor(rng))] {
        let mut out = if rng.bool() {
            in_order(&shape)
        } else {
            Array::<T>::random(rng, &shape)
        };
        out.fill(|| draw(rng));
        let all = indices(&shape);
        let one = |index: &Vec<i64>| {
            let (x, y) = (x.get(&index[..1]), y.get(&index[1..]));
            let old = alpha.map_or(T::wrapped(0), |_| out.get(index));
            integers::outer_product(alpha.unwrap_or(1.0) as i64, x, y, old)
        };
        let want: Vec<T> = all.iter().map(one).collect();
        let to = described(&mut out);
        // SAFETY: the tensors are valid.
        let status = unsafe {
            match alpha {
                Some(alpha) => tensor::ger(exec, alpha, &xt, &yt, &to),
                None => tensor::outer(exec, &xt, &yt, &to),
            }
        };
        let what = format!("{} of {shape:?}, alpha {alpha:?}, {to:?}", T::NAME);
        assert_eq!(status, Ok(()), "{what}");
        assert!(out.gaps_intact(), "{what}: wrote outside the output");
        for (index, want) in all.iter().zip(want) {
            assert_eq!(out.get(index).wide(), want.wide(), "{what} at {index:?}");
        }
    }
}

fn try_shapes<T: Whole>(exec: &Exec<'_>, rounds: u64, most: i64) {
    for seed in 0..rounds {
        let rng = &mut Rng::with_seed(seed);
        let (short, long) = (rng.i64(0..most.min(90)), rng.i64(0..most));
        let shape = if rng.bool() {
            [short, long]
        } else {
            [long, short]
        };
        try_shape::<T>(rng, exec, shape);
    }
}

fn try_types(exec: &Exec<'_>, rounds: u64, most: i64) {
    try_shapes::<i8>(exec, rounds, most);
    try_shapes::<u8>(exec, rounds, most);
    try_shapes::<i32>(exec, rounds, most);
    try_shapes::<i64>(exec, rounds, most);
}

#[test]
fn every_level_gives_the_exact_products() {
    for &level in levels() {
        let exec = Exec::new().with_level(level).unwrap();
        try_types(&exec, 60, 80);
        try_types(&exec, 12, 1200);
        // Both vectors are longer than the block that is scaled at a time.
        try_shape::<i64>(&mut Rng::with_seed(1), &exec, [530, 540]);
    }
}

#[test]
fn threads_change_no_product() {
    let pool = Scoped::new(3);
    let exec = Exec::new().with_pool(&pool, 3);
    try_types(&exec, 6, 20_000);
    assert!(pool.tasks() > 0, "no call was split");
}

/// Rows that are cut among so many threads that the last parts are shorter than a row for which a kernel is called.
#[test]
fn short_parts_of_rows_have_their_own_factors() {
    let (threads, rows, columns) = (67, 63, 64 * (67 * 66 + 1));
    let pool = Scoped::new(threads);
    let exec = Exec::new().with_pool(&pool, threads);
    let mut x = in_order::<i8>(&[rows]);
    let mut next = 0;
    x.fill(|| {
        next += 1;
        next
    });
    let mut y = Array::<i8>::with_strides(&[columns], vec![0]);
    y.fill(|| 3);
    let mut out = in_order::<i8>(&[rows, columns]);
    let (xt, yt, to) = (described(&mut x), described(&mut y), described(&mut out));
    // SAFETY: the tensors are valid.
    unsafe { tensor::outer(&exec, &xt, &yt, &to) }.unwrap();
    assert_eq!(pool.tasks(), threads);
    for row in 0..rows {
        let want = 3_i8.wrapping_mul(row as i8 + 1);
        let at = |column| out.get(&[row, column]);
        let wrong = (0..columns).find(|&column| at(column) != want);
        assert_eq!(wrong, None, "in row {row}");
    }
}

#[test]
fn arguments_that_are_refused() {
    let mut block = [1_i32; 64];
    let p = block.as_mut_ptr();
    let at = |i: usize, shape: &'static [i64], strides: &'static [i64]| Tensor {
        data: p.wrapping_add(i).cast(),
        device_type: 1,
        device_id: 0,
        ndim: shape.len() as i32,
        dtype_code: 0,
        dtype_bits: 32,
        dtype_lanes: 1,
        shape: shape.as_ptr(),
        strides: strides.as_ptr(),
        byte_offset: 0,
    };
    let exec = Exec::new();
    let (x, y, out) = (
        at(0, &[2], &[1]),
        at(8, &[2], &[1]),
        at(16, &[2, 2], &[2, 1]),
    );
    // SAFETY: all elements lie in the block, unless the call is refused.
    let (outer, ger) = unsafe {
        (
            |x: Tensor, y: Tensor, out: Tensor| tensor::outer(&exec, &x, &y, &out),
            |alpha: f64, out: Tensor| tensor::ger(&exec, alpha, &x, &y, &out),
        )
    };
    for alpha in [
        0.5,
        f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        2_f64.powi(63),
        -2_f64.powi(64),
    ] {
        let invalid = Err(Error::InvalidValue { arg: "alpha" });
        assert_eq!(ger(alpha, out), invalid, "{alpha}");
    }
    let wrong = |arg| Err(Error::ShapeMismatch { arg });
    assert_eq!(outer(out, y, out), wrong("x"));
    assert_eq!(outer(x, at(8, &[3], &[1]), out), wrong("out"));
    assert_eq!(ger(1.0, at(16, &[2, 3], &[3, 1])), wrong("a"));
    let overlap = |arg| Err(Error::Overlap { arg });
    // A matrix of one row or column is exactly a vector, or has two elements at one address.
    assert_eq!(
        outer(x, at(8, &[1], &[1]), at(0, &[2, 1], &[1, 1])),
        overlap("out")
    );
    assert_eq!(
        outer(at(8, &[1], &[1]), x, at(0, &[1, 2], &[2, 1])),
        overlap("out")
    );
    assert_eq!(outer(x, y, at(16, &[2, 2], &[0, 1])), overlap("out"));
    assert_eq!(ger(1.0, at(16, &[2, 2], &[1, 1])), overlap("a"));
    assert_eq!(ger(1.0, at(9, &[2, 2], &[2, 1])), overlap("a"));
    let other = |tensor: Tensor, dtype_code, dtype_bits| Tensor {
        dtype_code,
        dtype_bits,
        ..tensor
    };
    let mismatch = |arg| Err(Error::TypeMismatch { arg });
    assert_eq!(outer(x, other(y, 0, 8), out), mismatch("y"));
    for (code, bits) in [(0, 8), (0, 64), (1, 8), (2, 32)] {
        assert_eq!(outer(x, y, other(out, code, bits)), mismatch("out"));
        assert_eq!(ger(1.0, other(out, code, bits)), mismatch("a"));
    }
    // Only `outer` writes products of 16-bit floats that are not rounded.
    let half = |tensor| other(tensor, 2, 16);
    let float = other(out, 2, 32);
    // SAFETY: as above.
    let update = unsafe { tensor::ger(&exec, 1.0, &half(x), &half(y), &float) };
    assert_eq!(update, mismatch("a"));
    assert_eq!(outer(half(x), half(y), other(out, 4, 16)), mismatch("out"));
    for (code, bits) in [(0, 16), (1, 32), (1, 64), (6, 8)] {
        let [x, y, out] = [x, y, out].map(|tensor| other(tensor, code, bits));
        let unsupported = Err(Error::UnsupportedType { arg: "x" });
        assert_eq!(outer(x, y, out), unsupported);
    }
    assert_eq!(block, [1; 64], "a refused call has written");
}
