//! 16-bit floats in the operations on vectors and matrices: each result is that of `f32` for widened operands, rounded
//! once.

use diptych::tensor::{self, Tensor};
use diptych::{Exec, Level, Result, raw};
use diptych_tests::half::{Half, round, widen};
use diptych_tests::levels::levels;
use diptych_tests::tensors::{Array, indices, random_shape};
use diptych_tests::threads::Scoped;
use fastrand::Rng;

use super::reduce::{draw, layout};

/// Makes one test for each type and operation.
macro_rules! per_half {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            #[test]
            fn f16() {
                super::on_each_level(super::$name::<diptych::f16>);
            }
            #[test]
            fn bf16() {
                super::on_each_level(super::$name::<diptych::bf16>);
            }
        }
    )*};
}

per_half!(
    dots,
    outer_products,
    squared_errors,
    least_squares,
    normalized_rows
);

/// Runs random cases on each level, small ones, and some that threads share.
fn on_each_level(case: fn(&mut Rng, &Exec<'_>, i64)) {
    let of = |level: Level| {
        Exec::new()
            .with_level(level)
            .expect("a level of this machine")
    };
    for &level in levels() {
        for seed in 0..120 {
            case(&mut Rng::with_seed(seed), &of(level), 40);
        }
        for seed in 0..6 {
            case(&mut Rng::with_seed(1000 + seed), &of(level), 2600);
        }
    }
    let pool = Scoped::new(3);
    for seed in 0..4 {
        case(
            &mut Rng::with_seed(2000 + seed),
            &Exec::new().with_pool(&pool, 3),
            2600,
        );
    }
}

/// Returns a tensor with random elements.
fn random<H: Half>(rng: &mut Rng, shape: &[i64]) -> Array<H> {
    let array = layout(rng, shape);
    filled(rng, array)
}

/// Returns a tensor whose elements have places of their own.
fn distinct<H: Half>(rng: &mut Rng, shape: &[i64]) -> Array<H> {
    let array = Array::random(rng, shape);
    filled(rng, array)
}

fn filled<H: Half>(rng: &mut Rng, mut array: Array<H>) -> Array<H> {
    let special = if rng.u8(..3) == 0 { 20 } else { 0 };
    array.fill(|| draw(rng, special));
    array
}

/// Returns the elements in row-major order, widened.
fn widened<H: Half>(x: &Array<H>) -> Vec<f32> {
    let at = |index: &Vec<i64>| widen::<H>(x.get(index).pattern());
    indices(x.shape()).iter().map(at).collect()
}

/// Checks that each element is the result rounded. A NaN may be any.
fn check<H: Half>(what: &str, out: &Array<H>, want: &[f32]) {
    assert!(out.gaps_intact(), "{what}: wrote outside the output");
    for (index, &want) in indices(out.shape()).iter().zip(want) {
        let got = out.get(index).pattern();
        match round::<H>(want) {
            Some(pattern) => assert_eq!(got, pattern, "{what} at {index:?}: not {want:e} rounded"),
            None => assert!(
                H::is_nan(got),
                "{what} at {index:?}: {got:#06x} is not a NaN"
            ),
        }
    }
}

/// Checks elements that are not rounded.
fn check_wide(what: &str, out: &Array<f32>, want: &[f32]) {
    assert!(out.gaps_intact(), "{what}: wrote outside the output");
    for (index, &want) in indices(out.shape()).iter().zip(want) {
        let got = out.get(index);
        let is_right = got.to_bits() == want.to_bits() || got.is_nan() && want.is_nan();
        assert!(is_right, "{what} at {index:?}: {got:e} instead of {want:e}");
    }
}

/// Calls an operation with a result that is rounded, or with one that is not; checks what it writes.
fn result<H: Half>(
    rng: &mut Rng,
    what: &str,
    shape: &[i64],
    want: &[f32],
    call: impl FnOnce(&Tensor) -> Result<()>,
) {
    if rng.bool() {
        let mut out = distinct::<H>(rng, shape);
        assert_eq!(call(&out.tensor()), Ok(()), "{what}");
        check(what, &out, want);
    } else {
        let mut out = Array::<f32>::random(rng, shape);
        assert_eq!(call(&out.tensor()), Ok(()), "{what}");
        check_wide(what, &out, want);
    }
}

fn dots<H: Half>(rng: &mut Rng, exec: &Exec<'_>, most: i64) {
    let (m, n) = (rng.i64(0..12), rng.i64(0..2 * most));
    // Some vectors are broadcast.
    let mut x = random::<H>(rng, &[m, n]);
    let y_shape: &[i64] = if rng.bool() { &[m, n] } else { &[n] };
    let mut y = random::<H>(rng, y_shape);
    let (p, q) = (widened(&x), widened(&y));
    let n = n as usize;
    let dot = |i: usize| {
        let (mut out, from) = (0.0, if y.shape().len() == 1 { 0 } else { i * n });
        let (p, q) = (&p[i * n..][..n], &q[from..][..n]);
        // SAFETY: the slices are valid.
        unsafe {
            raw::dot(
                &Exec::new(),
                n as i64,
                p.as_ptr(),
                1,
                q.as_ptr(),
                1,
                &mut out,
            )
        }
        .unwrap();
        out
    };
    let want: Vec<f32> = (0..m as usize).map(dot).collect();
    let (x, y) = (x.tensor(), y.tensor());
    // SAFETY: the tensors are valid.
    result::<H>(rng, "dot", &[m], &want, |out| unsafe {
        tensor::dot(exec, &x, &y, out)
    });
}

fn outer_products<H: Half>(rng: &mut Rng, exec: &Exec<'_>, most: i64) {
    let (m, n) = (rng.i64(0..most.min(300)), rng.i64(0..most));
    let (m, n) = if rng.bool() { (m, n) } else { (n, m) };
    let (mut x, mut y) = (random::<H>(rng, &[m]), random::<H>(rng, &[n]));
    let mut out = distinct::<H>(rng, &[m, n]);
    let (p, q, mut want) = (widened(&x), widened(&y), widened(&out));
    let (xt, yt, to) = (x.tensor(), y.tensor(), out.tensor());
    let (p, q, w) = (p.as_ptr(), q.as_ptr(), want.as_mut_ptr());
    let alpha = draw::<f32>(rng, 0);
    // SAFETY: the operands have these sizes.
    unsafe {
        raw::ger(&Exec::new(), m, n, alpha, p, 1, q, 1, w, n, 1).unwrap();
        tensor::ger(exec, alpha.into(), &xt, &yt, &to).unwrap();
    }
    check("ger", &out, &want);
    // SAFETY: as above.
    unsafe {
        raw::outer(&Exec::new(), m, n, p, 1, q, 1, w, n, 1).unwrap();
        result::<H>(rng, "outer", &[m, n], &want, |out| {
            tensor::outer(exec, &xt, &yt, out)
        });
    }
}

fn squared_errors<H: Half>(rng: &mut Rng, exec: &Exec<'_>, most: i64) {
    let shape = random_shape(rng, 40 * most);
    let (mut pred, mut target) = (random::<H>(rng, &shape), random::<H>(rng, &shape));
    let mut grad = distinct::<H>(rng, &shape);
    let (p, q) = (widened(&pred), widened(&target));
    let mut want = vec![0.0; p.len()];
    let loss = diptych::mse_grad(&Exec::new(), &p, &q, &mut want).unwrap();
    let (x, y, to) = (pred.tensor(), target.tensor(), grad.tensor());
    // SAFETY: the tensors are valid.
    result::<H>(rng, "loss", &[], &[loss], |out| unsafe {
        tensor::mse_grad(exec, &x, &y, &to, out)
    });
    check("grad", &grad, &want);
    // In place.
    let mut twice = distinct::<H>(rng, &shape);
    let mut elements = indices(&shape).into_iter().map(|index| pred.get(&index));
    twice.fill(|| elements.next().expect("as many elements"));
    let to = twice.tensor();
    // SAFETY: the tensors are valid; the gradient is the prediction.
    result::<H>(rng, "loss", &[], &[loss], |out| unsafe {
        tensor::mse_grad(exec, &to, &y, &to, out)
    });
    check("grad in place", &twice, &want);
}

fn least_squares<H: Half>(rng: &mut Rng, exec: &Exec<'_>, most: i64) {
    let (m, n) = (rng.i64(0..2 * most.min(60)), rng.i64(0..2 * most));
    let mut a = random::<H>(rng, &[m, n]);
    let (mut x, mut y) = (random::<H>(rng, &[n]), random::<H>(rng, &[m]));
    let mut grad = distinct::<H>(rng, &[n]);
    let (p, q, r) = (widened(&a), widened(&x), widened(&y));
    let mut want = vec![0.0; n as usize];
    let (p, q, r, w) = (p.as_ptr(), q.as_ptr(), r.as_ptr(), want.as_mut_ptr());
    // SAFETY: the operands have these sizes.
    unsafe { raw::lsq_grad(&Exec::new(), m, n, p, n, 1, q, r, w) }.unwrap();
    let (at, xt, yt, to) = (a.tensor(), x.tensor(), y.tensor(), grad.tensor());
    // SAFETY: the tensors are valid.
    unsafe { tensor::lsq_grad(exec, &at, &xt, &yt, &to) }.unwrap();
    check("lsq_grad", &grad, &want);
    // With the smallest workspace, where x is not copied, and with room for the copy.
    let bytes = diptych::lsq_grad_workspace::<H>(&Exec::new(), m as usize, n as usize).unwrap();
    for bytes in [bytes, bytes + n as usize * size_of::<f32>()] {
        let mut workspace = vec![core::mem::MaybeUninit::uninit(); bytes];
        let own = Exec::new().with_workspace(&mut workspace);
        grad.fill(H::default);
        let to = grad.tensor();
        // SAFETY: the tensors are valid.
        unsafe { tensor::lsq_grad(&own, &at, &xt, &yt, &to) }.unwrap();
        check("lsq_grad with a workspace", &grad, &want);
    }
}

fn normalized_rows<H: Half>(rng: &mut Rng, exec: &Exec<'_>, most: i64) {
    let shape = [
        rng.i64(1..6),
        rng.i64(1..most.min(80)),
        rng.i64(1..2 * most),
    ];
    let mut x = random::<H>(rng, &shape);
    let mut out = distinct::<H>(rng, &shape);
    // The last axis, or the last two.
    let axes: &[i32] = if rng.bool() { &[-1] } else { &[1, 2] };
    let n: i64 = shape[3 - axes.len()..].iter().product();
    let wide = widened(&x);
    let (m, mut want) = (wide.len() as i64 / n, vec![0.0; wide.len()]);
    let (p, w) = (wide.as_ptr(), want.as_mut_ptr());
    // SAFETY: the matrices have this shape.
    unsafe { raw::normalize(&Exec::new(), m, n, p, n, 1, w, n, 1) }.unwrap();
    let (from, to) = (x.tensor(), out.tensor());
    // SAFETY: the tensors are valid.
    unsafe { tensor::normalize(exec, &from, Some(axes), &to) }.unwrap();
    check("normalize", &out, &want);
}
