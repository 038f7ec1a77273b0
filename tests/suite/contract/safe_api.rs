//! The safe API gives the results of the raw one, for slices and views, out of place and in place.

use diptych::{
    BatchMut, BatchRef, Bias, Epilogue, Error, Exec, MatMut, MatRef, VecMut, VecRef,
    for_each_elementwise, for_each_reduction, for_each_row_map, table,
};
use diptych_tests::cases::{self, Values};
use diptych_tests::model::{self, Dense};
use diptych_tests::ops::{Scalars, elementwise, reductions, row_maps};
use diptych_tests::real::Dtype;

diptych_tests::per_dtype!(
    elementwise_in_and_out_of_place,
    reductions_of_vectors_and_views,
    reductions_of_rows,
    maps_over_rows,
    products_of_views,
    fused_and_batched_products,
    gradients,
);

fn bits<T: Dtype>(x: &[T]) -> Vec<u64> {
    x.iter().map(|v| v.bits()).collect()
}

/// Compares each elementwise operation, out of place and in place, with the model.
macro_rules! both_forms {
    ({ $ops:ident $x:ident $y:ident $s:ident } $($name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*) $in_place:tt)*) => {$({
        let (name, op) = (stringify!($name), $ops.next().expect("an operation for each row"));
        assert_eq!(op.name, name);
        // An operation that updates its output starts from y.
        let (mut out, want) = ($y.clone(), op.expected(&$x, &$y, &$s, &$y));
        #[allow(unused_mut, unused_variables)] // An operation may have no inputs.
        let mut inputs = [&$x, &$y].into_iter();
        diptych::$name(&Exec::new(), $(both_forms!(@input $kind $role inputs $s),)* &mut out).expect(name);
        assert_eq!(bits(&out), bits(&want), "{name}");
        both_forms!(@in_place $in_place $x $y $s want ($($kind $role)*));
    })*};
    (@input scalar $role:ident $inputs:ident $s:ident) => { $s.of(table::Role::$role) };
    (@input array $role:ident $inputs:ident $s:ident) => { $inputs.next().expect("an input") };
    (@in_place [] $($rest:tt)*) => {};
    (@in_place [$name:ident] $x:ident $y:ident $s:ident $want:ident ($($kind:ident $role:ident)*)) => {
        let mut roles = [$(table::Role::$role),*].into_iter().filter(|role| role.is_array());
        let place = roles.position(|role| role == table::Role::replaced);
        let mut replaced = [&$x, &$y][place.expect("an array that is replaced")].clone();
        let mut inputs = [&$x, &$y].into_iter();
        let result = diptych::$name(&Exec::new(), $(both_forms!(@replaced $kind $role inputs $s replaced)),*);
        result.expect(stringify!($name));
        assert_eq!(bits(&replaced), bits(&$want), stringify!($name));
    };
    (@replaced array replaced $inputs:ident $s:ident $replaced:ident) => {{
        $inputs.next();
        &mut $replaced
    }};
    (@replaced $kind:ident $role:ident $inputs:ident $s:ident $replaced:ident) => {
        both_forms!(@input $kind $role $inputs $s)
    };
}

fn elementwise_in_and_out_of_place<T: Dtype>() {
    let n = 77;
    let (x, y) = (
        cases::vector::<T>(Values::Ordinary, n, 1),
        cases::vector::<T>(Values::Ordinary, n, 2),
    );
    let s = Scalars::<T>::ordinary();
    let mut ops = elementwise::<T>().into_iter();
    for_each_elementwise!(both_forms! { ops x y s } [name arguments roles in_place]);
}

/// Compares each reduction with the model: of slices, of views, of no elements, and of the rows and columns of a
/// matrix. Reductions with degrees of freedom get 1.
macro_rules! all_forms {
    ({ $x:ident $view:ident $elements:ident $matrices:ident } $($name:ident $rows:ident [$($ddof:ident)?] $out:ident)*) => {$({
        let (e, name) = (&Exec::new(), stringify!($name));
        let op = reductions::<T>().into_iter().rfind(|op| op.name == name).expect("a reduction");
        let whole = diptych::$name(e, &$x[..] $(, all_forms!(@one $ddof))?).map(|v| all_forms!(@$out v));
        assert_eq!(whole.map(T::bits).ok(), op.expected(&$x).map(T::bits), "{name}");
        let view = diptych::$name(e, $view $(, all_forms!(@one $ddof))?).map(|v| all_forms!(@$out v));
        assert_eq!(view.map(T::bits).ok(), op.expected(&$elements).map(T::bits), "{name} of a view");
        let nothing = diptych::$name(e, &$x[..0] $(, all_forms!(@one $ddof))?).map(|v| all_forms!(@$out v));
        let empty = Error::EmptyReduction { arg: "n" };
        assert_eq!(nothing.map(T::bits), op.expected(&[]).map(T::bits).ok_or(empty), "{name} of nothing");
        for (a, rs, cs) in $matrices {
            let mut out = all_forms!(@place $out a.rows());
            diptych::$rows(e, a, $(all_forms!(@one $ddof),)? &mut out[..]).expect(name);
            for (i, &found) in out.iter().enumerate() {
                let row: Vec<T> = (0..a.cols()).map(|j| $x[i * rs + j * cs]).collect();
                let found = all_forms!(@$out found as usize);
                assert_eq!(Some(found.bits()), op.expected(&row).map(T::bits), "{} {i}", stringify!($rows));
            }
        }
    })*};
    (@one $ddof:ident) => { 1 };
    (@element $value:ident $(as usize)?) => { $value };
    (@count $value:ident) => { T::of_count($value) };
    (@index $value:ident) => { T::of_count($value) };
    (@count $value:ident as usize) => { T::of_count($value as usize) };
    (@index $value:ident as usize) => { T::of_count($value as usize) };
    (@place element $len:expr) => { vec![T::zero(); $len] };
    (@place count $len:expr) => { vec![-1i64; $len] };
    (@place index $len:expr) => { vec![-1i64; $len] };
}

fn reductions_of_vectors_and_views<T: Dtype>() {
    let e = &Exec::new();
    let x: Vec<T> = cases::vector(Values::Ordinary, 301, 3);
    let backwards = VecRef::with_stride(&x, 300, 101, -3).expect("fits");
    let elements: Vec<T> = (0..101).map(|i| x[300 - 3 * i]).collect();
    let matrix = MatRef::new(&x[..300], 20, 15).expect("fits");
    let matrices = [(matrix, 15, 1), (matrix.t(), 1, 15)];
    for_each_reduction!(all_forms! { x backwards elements matrices } [name rows ddof result]);
    let near = diptych::logsumexp(e, &x[..]).expect("logsumexp").wide();
    assert!((near - x.iter().map(|v| v.wide().exp()).sum::<f64>().ln()).abs() < 1e-5);
    assert_eq!(
        diptych::dot(e, backwards, &elements[..]).map(T::bits),
        Ok(model::sumsq(&elements).bits())
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
    // The output has stride -2.
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

/// Compares each map with the model: of rows, of columns into rows, and in place.
macro_rules! maps {
    ({ $ops:ident $e:ident $x:ident $turned:ident } $($name:ident $in_place:ident)*) => {$({
        let (name, op) = (stringify!($name), $ops.next().expect("a map for each row"));
        assert_eq!(op.name, name);
        let (m, n) = ($x.rows, $x.cols);
        let view = MatRef::new(&$x.data, m, n).expect("fits");
        let mut out = vec![T::zero(); m * n];
        diptych::$name($e, view, MatMut::new(&mut out, m, n).expect("fits")).expect(name);
        assert_eq!(bits(&out), bits(&op.expected(&$x).data), "{name}");
        diptych::$name($e, view.t(), MatMut::new(&mut out, n, m).expect("fits")).expect(name);
        assert_eq!(bits(&out), bits(&op.expected(&$turned).data), "{name} of columns");
        let mut both = $x.data.clone();
        diptych::$in_place($e, MatMut::new(&mut both, m, n).expect("fits").t()).expect(name);
        let turned_back: Vec<T> = (0..m * n).map(|i| both[i % m * n + i / m]).collect();
        assert_eq!(bits(&turned_back), bits(&op.expected(&$turned).data), "{name} in place");
        let nothing = MatRef::<T>::new(&[], 4, 0).expect("fits");
        diptych::$name($e, nothing, MatMut::new(&mut [], 4, 0).expect("fits")).expect(name);
    })*};
}

fn maps_over_rows<T: Dtype>() {
    let e = &Exec::new();
    let x: Dense<T> = cases::dense(Values::Ordinary, 6, 9, 18);
    let turned = Dense {
        rows: 9,
        cols: 6,
        data: (0..9).flat_map(|j| x.column(j)).collect(),
    };
    let mut ops = row_maps::<T>().into_iter();
    for_each_row_map!(maps! { ops e x turned } [name in_place]);
}

/// Views far outside their slice, whose extent overflows 64-bit and even wider integers.
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
    // C is a block of a wider matrix, and B is transposed.
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
    // The same matrix for the whole batch.
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
