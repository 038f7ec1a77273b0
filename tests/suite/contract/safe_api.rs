//! The safe API: the same results as the raw one, views, and in place.

use diptych::{
    BatchMut, BatchRef, Bias, Epilogue, Error, Exec, MatMut, MatRef, Result, VecMut, VecRef,
};
use diptych_tests::cases::{self, Values};
use diptych_tests::model::{self, Dense};
use diptych_tests::real::Dtype;

diptych_tests::per_dtype!(
    elementwise_in_and_out_of_place,
    reductions_of_vectors_and_views,
    reductions_of_rows,
    products_of_views,
    fused_and_batched_products,
    gradients,
);

fn bits<T: Dtype>(x: &[T]) -> Vec<u64> {
    x.iter().map(|v| v.bits()).collect()
}

fn elementwise_in_and_out_of_place<T: Dtype>() {
    let (e, n) = (&Exec::new(), 77);
    let (x, y) = (
        cases::vector::<T>(Values::Ordinary, n, 1),
        cases::vector::<T>(Values::Ordinary, n, 2),
    );
    let (lo, hi, alpha) = (T::of(-0.4), T::of(0.6), T::of(-1.3));
    let mut out = vec![T::zero(); n];
    let each = |f: &dyn Fn(T, T) -> T| x.iter().zip(&y).map(|(&x, &y)| f(x, y)).collect::<Vec<T>>();
    // Runs both forms and compares both with the model.
    macro_rules! both {
        ($name:literal, $want:expr, $out:expr, |$x:ident| $in_place:expr) => {{
            let want = each(&$want);
            $out.expect($name);
            assert_eq!(bits(&out), bits(&want), $name);
            let mut $x = x.clone();
            $in_place.expect($name);
            assert_eq!(bits(&$x), bits(&want), "{} in place", $name);
        }};
    }
    both!(
        "clamp",
        |x, _| model::clamp(x, lo, hi),
        diptych::clamp(e, &x, lo, hi, &mut out),
        |x| { diptych::clamp_in_place(e, &mut x, lo, hi) }
    );
    both!(
        "add",
        |x, y| x + y,
        diptych::add(e, &x, &y, &mut out),
        |x| diptych::add_in_place(e, &mut x, &y)
    );
    both!(
        "sub",
        |x, y| x - y,
        diptych::sub(e, &x, &y, &mut out),
        |x| diptych::sub_in_place(e, &mut x, &y)
    );
    both!(
        "mul",
        |x, y| x * y,
        diptych::mul(e, &x, &y, &mut out),
        |x| diptych::mul_in_place(e, &mut x, &y)
    );
    both!(
        "div",
        |x, y| x / y,
        diptych::div(e, &x, &y, &mut out),
        |x| diptych::div_in_place(e, &mut x, &y)
    );
    both!(
        "scale",
        |x, _| alpha * x,
        diptych::scale(e, alpha, &x, &mut out),
        |x| { diptych::scale_in_place(e, alpha, &mut x) }
    );
    both!(
        "square",
        |x, _| x * x,
        diptych::square(e, &x, &mut out),
        |x| diptych::square_in_place(e, &mut x)
    );
    // The gradient is what clamp_backward replaces.
    let want = each(&|x, y| model::clamp_backward(y, x, lo, hi));
    let mut grad = x.clone();
    diptych::clamp_backward(e, &y, &x, lo, hi, &mut out).expect("clamp_backward");
    diptych::clamp_backward_in_place(e, &y, &mut grad, lo, hi).expect("clamp_backward");
    assert_eq!((bits(&out), bits(&grad)), (bits(&want), bits(&want)));
    let mut sum = y.clone();
    diptych::axpy(e, alpha, &x, &mut sum).expect("axpy");
    assert_eq!(bits(&sum), bits(&each(&|x, y| model::axpy(alpha, x, y))));
    diptych::fill(e, alpha, &mut out).expect("fill");
    assert!(out.iter().all(|v| v.bits() == alpha.bits()));
}

fn reductions_of_vectors_and_views<T: Dtype>() {
    let e = &Exec::new();
    let x: Vec<T> = cases::vector(Values::Ordinary, 301, 3);
    let backwards = VecRef::with_stride(&x, 300, 101, -3).expect("fits");
    let shown: Vec<T> = (0..101).map(|i| x[300 - 3 * i]).collect();
    type Check<T> = (&'static str, Result<T>, Result<T>, fn(&[T]) -> T);
    let checks: [Check<T>; 8] = [
        (
            "sum",
            diptych::sum(e, &x[..]),
            diptych::sum(e, backwards),
            model::sum,
        ),
        (
            "mean",
            diptych::mean(e, &x[..]),
            diptych::mean(e, backwards),
            model::mean,
        ),
        (
            "prod",
            diptych::prod(e, &x[..]),
            diptych::prod(e, backwards),
            model::prod,
        ),
        (
            "sumsq",
            diptych::sumsq(e, &x[..]),
            diptych::sumsq(e, backwards),
            model::sumsq,
        ),
        (
            "asum",
            diptych::asum(e, &x[..]),
            diptych::asum(e, backwards),
            model::asum,
        ),
        (
            "nrm2",
            diptych::nrm2(e, &x[..]),
            diptych::nrm2(e, backwards),
            model::nrm2,
        ),
        (
            "var",
            diptych::var(e, &x[..], 1),
            diptych::var(e, backwards, 1),
            |x| model::var(x, 1),
        ),
        (
            "max",
            diptych::max(e, &x[..]),
            diptych::max(e, backwards),
            |x| model::max(x).expect("elements"),
        ),
    ];
    for (name, whole, view, model) in checks {
        assert_eq!(whole.expect(name).bits(), model(&x).bits(), "{name}");
        assert_eq!(
            view.expect(name).bits(),
            model(&shown).bits(),
            "{name} of a view"
        );
    }
    assert_eq!(diptych::min(e, backwards).ok(), model::min(&shown));
    assert_eq!(diptych::argmin(e, backwards).ok(), model::argmin(&shown));
    assert_eq!(diptych::argmax(e, &x[..]).ok(), model::argmax(&x));
    let near = diptych::logsumexp(e, &x[..]).expect("logsumexp").wide();
    assert!((near - x.iter().map(|v| v.wide().exp()).sum::<f64>().ln()).abs() < 1e-5);
    assert_eq!(
        diptych::dot(e, backwards, &shown[..]).map(T::bits),
        Ok(model::sumsq(&shown).bits())
    );
    assert_eq!(
        diptych::max(e, &x[..0]),
        Err(Error::EmptyReduction { arg: "n" })
    );
    assert_eq!(
        diptych::argmax(e, &x[..0]),
        Err(Error::EmptyReduction { arg: "n" })
    );
    assert_eq!(diptych::sum(e, &x[..0]), Ok(T::zero()));
    assert_eq!(diptych::prod(e, &x[..0]), Ok(T::one()));
    assert_eq!(
        diptych::var(e, &x[..5], 5),
        Err(Error::InvalidValue { arg: "ddof" })
    );
}

fn reductions_of_rows<T: Dtype>() {
    let e = &Exec::new();
    let x: Dense<T> = cases::dense(Values::Ordinary, 6, 9, 4);
    let a = MatRef::new(&x.data, 6, 9).expect("fits");
    let mut out = [T::zero(); 9];
    diptych::sum_rows(e, a, &mut out[..6]).expect("rows");
    assert!((0..6).all(|i| out[i].bits() == model::sum(x.row(i)).bits()));
    diptych::sum_rows(e, a.t(), &mut out[..]).expect("columns");
    assert!((0..9).all(|j| out[j].bits() == model::sum(&x.column(j)).bits()));
    diptych::var_rows(e, a.t(), 1, &mut out[..]).expect("columns");
    assert!((0..9).all(|j| out[j].bits() == model::var(&x.column(j), 1).bits()));
    // Into every second place, from the end.
    let mut indices = vec![-7i64; 11];
    let view = VecMut::with_stride(&mut indices, 10, 6, -2).expect("fits");
    diptych::argmax_rows(e, a, view).expect("rows");
    for i in 0..6 {
        assert_eq!(
            indices[10 - 2 * i] as usize,
            model::argmax(x.row(i)).expect("elements")
        );
    }
    assert!((0..5).all(|i| indices[2 * i + 1] == -7));
    let empty = MatRef::<T>::new(&[], 4, 0).expect("fits");
    assert_eq!(
        diptych::max_rows(e, empty, &mut out[..4]),
        Err(Error::EmptyReduction { arg: "n" })
    );
    diptych::sum_rows(e, empty, &mut out[..4]).expect("sums of nothing");
    assert!(out[..4].iter().all(|v| v.bits() == 0));
}

/// Views far outside their slice, whose extent overflows even wide integers.
#[test]
fn views_outside_their_slice() {
    let data = [0.0f32; 64];
    let mismatch = Err(diptych::Error::ShapeMismatch { arg: "view" });
    let (most, far) = (usize::MAX, isize::MAX);
    for sizes in [most, most / 2, 2] {
        for strides in [far, isize::MIN] {
            let matrix = MatRef::with_strides(&data, 0, sizes, sizes, strides, strides);
            assert_eq!(matrix.map(|_| ()), mismatch);
            let batch = BatchRef::with_strides(&data, 0, [sizes; 3], [strides; 3]);
            assert_eq!(batch.map(|_| ()), mismatch);
        }
    }
    let vector = VecRef::with_stride(&data, 63, 2, 1);
    assert_eq!(vector.map(|_| ()), mismatch);
}

fn products_of_views<T: Dtype>() {
    let (e, alpha, beta) = (&Exec::new(), T::of(-0.7), T::of(1.3));
    let (a, b): (Dense<T>, Dense<T>) = (
        cases::dense(Values::Ordinary, 7, 11, 5),
        cases::dense(Values::Ordinary, 5, 11, 6),
    );
    let b_t = Dense {
        rows: 11,
        cols: 5,
        data: (0..11).flat_map(|j| b.column(j)).collect(),
    };
    let mut memory: Vec<T> = cases::vector(Values::Ordinary, 9 * 8, 7);
    let old = Dense {
        rows: 7,
        cols: 5,
        data: (0..35).map(|i| memory[10 + i / 5 * 8 + i % 5]).collect(),
    };
    // C is a block of a wider matrix, B a transpose.
    let mut c = MatMut::with_strides(&mut memory, 10, 7, 5, 8, 1).expect("fits");
    assert_eq!((c.rows(), c.cols(), c.as_ref().rows()), (7, 5, 7));
    let (a_view, b_view) = (
        MatRef::new(&a.data, 7, 11).expect("fits"),
        MatRef::new(&b.data, 5, 11).expect("fits"),
    );
    diptych::gemm(e, alpha, a_view, b_view.t(), beta, c.reborrow()).expect("gemm");
    let want = model::gemm(alpha, &a, &b_t, beta, &old);
    let got: Vec<T> = (0..35).map(|i| memory[10 + i / 5 * 8 + i % 5]).collect();
    assert_eq!(bits(&got), bits(&want.data));
    let (x, y) = (
        cases::vector::<T>(Values::Ordinary, 3, 8),
        cases::vector::<T>(Values::Ordinary, 4, 9),
    );
    let mut out = vec![T::zero(); 12];
    diptych::outer(
        e,
        &x[..],
        &y[..],
        MatMut::new(&mut out, 3, 4).expect("fits"),
    )
    .expect("outer");
    assert!((0..12).all(|i| out[i].bits() == (x[i / 4] * y[i % 4]).bits()));
    let before = out.clone();
    // The transpose of A += alpha x y^T is A^T += alpha y x^T.
    diptych::ger(
        e,
        alpha,
        &y[..],
        &x[..],
        MatMut::new(&mut out, 3, 4).expect("fits").t(),
    )
    .expect("ger");
    assert!(
        (0..12).all(|i| out[i].bits() == model::ger(alpha, y[i % 4], x[i / 4], before[i]).bits())
    );
}

fn fused_and_batched_products<T: Dtype>() {
    let (e, one, zero) = (&Exec::new(), T::one(), T::zero());
    let (a, b): (Dense<T>, Dense<T>) = (
        cases::dense(Values::Ordinary, 6, 8, 10),
        cases::dense(Values::Ordinary, 8, 6, 11),
    );
    let bias: Vec<T> = cases::vector(Values::Ordinary, 6, 12);
    let blank = Dense {
        rows: 6,
        cols: 6,
        data: vec![zero; 36],
    };
    let product = model::gemm(one, &a, &b, zero, &blank);
    let bounds = Some((zero, T::of(0.5)));
    let kinds = [
        (Bias::None, None, None),
        (Bias::PerRow(VecRef::new(&bias)), Some(bias.clone()), None),
        (
            Bias::PerColumn(VecRef::new(&bias)),
            None,
            Some(bias.clone()),
        ),
    ];
    for (kind, per_row, per_column) in kinds {
        let want = model::fuse(
            product.clone(),
            &model::Epilogue {
                per_row,
                per_column,
                clamp: bounds,
            },
        );
        let mut out = vec![zero; 36];
        let views = (
            MatRef::new(&a.data, 6, 8).expect("fits"),
            MatRef::new(&b.data, 8, 6).expect("fits"),
        );
        let c = MatMut::new(&mut out, 6, 6).expect("fits");
        diptych::gemm_fused(
            e,
            one,
            views.0,
            views.1,
            zero,
            c,
            &Epilogue {
                bias: kind,
                clamp: bounds,
            },
        )
        .expect("gemm_fused");
        assert_eq!(bits(&out), bits(&want.data));
    }
    let many: Vec<T> = cases::vector(Values::Ordinary, 3 * 2 * 4, 13);
    let other: Vec<T> = cases::vector(Values::Ordinary, 4 * 5, 14);
    let mut out = vec![zero; 3 * 2 * 5];
    let a = BatchRef::new(&many, 3, 2, 4).expect("fits");
    // One matrix for the whole batch.
    let b = BatchRef::with_strides(&other, 0, [3, 4, 5], [0, 5, 1]).expect("fits");
    diptych::gemm_batched(
        e,
        one,
        a,
        b,
        zero,
        BatchMut::new(&mut out, 3, 2, 5).expect("fits"),
    )
    .expect("gemm_batched");
    for i in 0..3 {
        let a = Dense {
            rows: 2,
            cols: 4,
            data: many[8 * i..8 * i + 8].to_vec(),
        };
        let b = Dense {
            rows: 4,
            cols: 5,
            data: other.clone(),
        };
        let blank = Dense {
            rows: 2,
            cols: 5,
            data: vec![zero; 10],
        };
        assert_eq!(
            bits(&out[10 * i..10 * i + 10]),
            bits(&model::gemm(one, &a, &b, zero, &blank).data)
        );
    }
}

fn gradients<T: Dtype>() {
    let e = &Exec::new();
    let (p, t) = (
        cases::vector::<T>(Values::Ordinary, 90, 15),
        cases::vector::<T>(Values::Ordinary, 90, 16),
    );
    let (want, want_loss) = model::mse_grad(&p, &t);
    let (mut grad, mut over) = (vec![T::zero(); 90], p.clone());
    assert_eq!(
        diptych::mse_grad(e, &p, &t, &mut grad).map(T::bits),
        Ok(want_loss.bits())
    );
    assert_eq!(
        diptych::mse_grad_in_place(e, &mut over, &t).map(T::bits),
        Ok(want_loss.bits())
    );
    assert_eq!((bits(&grad), bits(&over)), (bits(&want), bits(&want)));
    let a: Dense<T> = cases::dense(Values::Ordinary, 10, 9, 17);
    let view = MatRef::new(&a.data, 10, 9).expect("fits");
    diptych::lsq_grad(e, view, &p[..9], &t[..10], &mut grad[..9]).expect("lsq_grad");
    assert_eq!(
        bits(&grad[..9]),
        bits(&model::lsq_grad(&a, &p[..9], &t[..10]))
    );
}
