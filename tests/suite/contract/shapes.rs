//! Shapes and views that do not fit are refused by the safe API.

use diptych::{BatchMut, BatchRef, Bias, Epilogue, Error, Exec, MatMut, MatRef, Result, VecRef};
use diptych_tests::real::Dtype;

diptych_tests::per_dtype!(shapes_must_fit, views_must_fit_their_slices);

fn shapes_must_fit<T: Dtype>() {
    let (e, one) = (&Exec::new(), T::one());
    let (x, mut out) = (vec![one; 12], vec![one; 12]);
    let wrong = |status: Result<()>| {
        assert!(
            matches!(status, Err(Error::ShapeMismatch { .. })),
            "{status:?}"
        )
    };
    let mat = |rows, cols| MatRef::new(&x[..rows * cols], rows, cols).expect("fits");
    wrong(diptych::add(e, &x, &x[1..], &mut out));
    wrong(diptych::add(e, &x, &x, &mut out[1..]));
    wrong(diptych::clamp(e, &x[1..], one, one, &mut out));
    wrong(diptych::clamp_backward(e, &x, &x[1..], one, one, &mut out));
    wrong(diptych::axpy(e, one, &x[1..], &mut out));
    wrong(diptych::square(e, &x, &mut out[..3]));
    wrong(diptych::dot(e, &x[..3], &x[..4]).map(|_| ()));
    wrong(diptych::mse_grad(e, &x[..3], &x[..4], &mut out[..3]).map(|_| ()));
    wrong(diptych::mse_grad(e, &x[..3], &x[..3], &mut out[..4]).map(|_| ()));
    wrong(diptych::sum_rows(e, mat(3, 4), &mut out[..4]));
    wrong(diptych::lsq_grad(
        e,
        mat(3, 4),
        &x[..3],
        &x[..3],
        &mut out[..4],
    ));
    wrong(diptych::lsq_grad(
        e,
        mat(3, 4),
        &x[..4],
        &x[..4],
        &mut out[..4],
    ));
    wrong(diptych::lsq_grad(
        e,
        mat(3, 4),
        &x[..4],
        &x[..3],
        &mut out[..3],
    ));
    let mut c = |rows: usize, cols: usize, a, b| {
        diptych::gemm(
            e,
            one,
            a,
            b,
            one,
            MatMut::new(&mut out[..rows * cols], rows, cols).expect("fits"),
        )
    };
    wrong(c(3, 4, mat(3, 2), mat(3, 4)));
    wrong(c(3, 4, mat(2, 2), mat(2, 4)));
    wrong(c(3, 4, mat(3, 2), mat(2, 3)));
    let short = Epilogue {
        bias: Bias::PerRow(VecRef::new(&x[..2])),
        clamp: None,
    };
    let c = MatMut::new(&mut out[..12], 3, 4).expect("fits");
    wrong(diptych::gemm_fused(
        e,
        one,
        mat(3, 2),
        mat(2, 4),
        one,
        c,
        &short,
    ));
    let batch = |matrices| BatchRef::new(&x[..4 * matrices], matrices, 2, 2).expect("fits");
    let c = BatchMut::new(&mut out, 3, 2, 2).expect("fits");
    wrong(diptych::gemm_batched(e, one, batch(3), batch(2), one, c));
    let c = || MatMut::new(&mut [], 0, 0);
    assert!(c().is_ok_and(|c: MatMut<'_, T>| c.rows() == 0));
    wrong(diptych::outer(
        e,
        &x[..3],
        &x[..3],
        MatMut::new(&mut out, 3, 4).expect("fits"),
    ));
    wrong(diptych::ger(
        e,
        one,
        &x[..4],
        &x[..4],
        MatMut::new(&mut out, 3, 4).expect("fits"),
    ));
    assert!(
        out.iter().all(|&v| v == one),
        "a refused call wrote something"
    );
}

fn views_must_fit_their_slices<T: Dtype>() {
    let x = vec![T::zero(); 12];
    assert!(
        MatRef::new(&x, 3, 4).is_ok()
            && MatRef::new(&x, 3, 5).is_err()
            && MatRef::new(&x, usize::MAX, 2).is_err()
    );
    let strided =
        |offset, rows, cols, rs, cs| MatRef::with_strides(&x, offset, rows, cols, rs, cs).is_ok();
    assert!(strided(0, 3, 4, 4, 1) && strided(11, 3, 4, -4, -1) && strided(0, 100, 12, 0, 1));
    assert!(
        !strided(1, 3, 4, 4, 1) && !strided(10, 3, 4, -4, -1) && !strided(0, 2, 1, isize::MAX, 1)
    );
    assert!(!strided(0, 2, 2, isize::MIN, isize::MIN) && !strided(12, 1, 1, 1, 1));
    // Nothing is shown, so nothing can lie outside.
    assert!(strided(99, 0, 5, 7, 7));
    assert!(
        VecRef::with_stride(&x, 11, 12, -1).is_ok() && VecRef::with_stride(&x, 11, 13, -1).is_err()
    );
    assert!(VecRef::with_stride(&x, 0, isize::MAX as usize, 0).is_ok());
    assert!(BatchRef::with_strides(&x, 0, [2, 2, 3], [6, 3, 1]).is_ok());
    assert!(BatchRef::with_strides(&x, 0, [3, 2, 3], [6, 3, 1]).is_err());
}
