//! The safe API refuses shapes and views that do not fit.

use diptych::{
    BatchMut, BatchRef, Bias, Epilogue, Error, Exec, MatMut, MatRef, Result, VecRef,
    for_each_elementwise, for_each_reduction, for_each_row_map, table,
};
use diptych_tests::real::Dtype;

diptych_tests::per_dtype!(shapes_must_fit, views_must_fit_their_slices);

/// Calls each elementwise operation with each of its inputs, and then its output, one element too short.
macro_rules! lengths {
    ({ $e:ident $x:ident $out:ident $wrong:ident } $($name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*) $in_place:tt)*) => {$({
        let roles: &[table::Role] = &[$(table::Role::$role),*];
        let arrays = roles.iter().filter(|role| role.is_array()).count();
        // The array after the last is the output.
        for short in 0..arrays + usize::from(arrays > 0) {
            #[allow(unused_mut)] // An operation may have no inputs.
            let mut positions = 0..;
            #[allow(unused_variables)]
            let mut cut = || usize::from(positions.next() == Some(short));
            let result = diptych::$name($e, $(lengths!(@input $kind $x cut),)* &mut $out[cut()..]);
            $wrong(result);
            lengths!(@in_place $in_place $e $x $wrong short ($($kind $role)*));
        }
    })*};
    (@input scalar $x:ident $cut:ident) => { $x[0] };
    (@input array $x:ident $cut:ident) => { &$x[$cut()..] };
    (@in_place [] $($rest:tt)*) => {};
    (@in_place [$name:ident] $e:ident $x:ident $wrong:ident $short:ident ($($kind:ident $role:ident)*)) => {
        let mut replaced = $x.clone();
        let mut positions = 0..;
        let mut cut = || usize::from(positions.next() == Some($short));
        let result = diptych::$name($e, $(lengths!(@replaced $kind $role $x cut replaced)),*);
        // In place the output is one of the inputs, and a single array has no other length to disagree with.
        let arrays = [$(table::Role::$role),*].iter().filter(|role| role.is_array()).count();
        if arrays > 1 && $short < arrays {
            $wrong(result);
            assert!(replaced == $x, "{} wrote something", stringify!($name));
        }
    };
    (@replaced array replaced $x:ident $cut:ident $replaced:ident) => { &mut $replaced[$cut()..] };
    (@replaced $kind:ident $role:ident $x:ident $cut:ident $replaced:ident) => { lengths!(@input $kind $x $cut) };
}

/// Calls each reduction of rows with an output that is one element too long.
macro_rules! rows {
    ({ $e:ident $mat:ident $wrong:ident } $($rows:ident [$($ddof:ident)?] $out:ident)*) => {$(
        let mut indices_or_values = rows!(@output $out);
        $wrong(diptych::$rows($e, $mat(3, 4), $(rows!(@none $ddof),)? &mut indices_or_values[..]));
    )*};
    (@output element) => { vec![T::zero(); 4] };
    (@output count) => { vec![0i64; 4] };
    (@output index) => { vec![0i64; 4] };
    (@none $ddof:ident) => { 0 };
}

/// Calls each map with outputs of other shapes, and with an output that repeats elements.
macro_rules! maps {
    ({ $e:ident $mat:ident $out:ident $wrong:ident } $($name:ident $in_place:ident)*) => {$(
        for (rows, cols) in [(3, 3), (2, 4), (4, 3), (12, 1), (1, 12), (0, 0)] {
            let view = MatMut::new(&mut $out[..rows * cols], rows, cols).expect("fits");
            $wrong(diptych::$name($e, $mat(3, 4), view));
        }
        let overlap = |arg| Err(Error::Overlap { arg });
        let view = MatMut::with_strides(&mut $out, 0, 3, 4, 0, 1).expect("fits");
        assert_eq!(diptych::$name($e, $mat(3, 4), view), overlap("out"));
        let view = MatMut::with_strides(&mut $out, 0, 3, 4, 0, 1).expect("fits");
        assert_eq!(diptych::$in_place($e, view), overlap("out"));
    )*};
}

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
    for_each_elementwise!(lengths! { e x out wrong } [name arguments roles in_place]);
    wrong(diptych::dot(e, &x[..3], &x[..4]).map(|_| ()));
    wrong(diptych::mse_grad(e, &x[..3], &x[..4], &mut out[..3]).map(|_| ()));
    wrong(diptych::mse_grad(e, &x[..3], &x[..3], &mut out[..4]).map(|_| ()));
    for_each_reduction!(rows! { e mat wrong } [rows ddof result]);
    for_each_row_map!(maps! { e mat out wrong } [name in_place]);
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
    // A view without elements fits at any offset.
    assert!(strided(99, 0, 5, 7, 7));
    assert!(
        VecRef::with_stride(&x, 11, 12, -1).is_ok() && VecRef::with_stride(&x, 11, 13, -1).is_err()
    );
    assert!(VecRef::with_stride(&x, 0, isize::MAX as usize, 0).is_ok());
    assert!(BatchRef::with_strides(&x, 0, [2, 2, 3], [6, 3, 1]).is_ok());
    assert!(BatchRef::with_strides(&x, 0, [3, 2, 3], [6, 3, 1]).is_err());
}
