//! Integers in the safe interface: operations on slices and views against a scalar model of each result.

use diptych::{
    Accumulate, Error, Exec, MatMut, MatRef, VecMut, VecRef, for_each_elementwise,
    for_each_reduction, wide,
};
use diptych_tests::integers;
use diptych_tests::levels::levels;
use diptych_tests::mixed::Whole;
use diptych_tests::threads::Scoped;
use fastrand::Rng;

/// An element of slices.
trait Element: Whole + diptych::Number<Scalar = Self> + Accumulate<i64> {}
impl<T: Whole + diptych::Number<Scalar = T> + Accumulate<i64>> Element for T {}

macro_rules! per_integer {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            per_integer!(@types $name i8 u8 i32 i64);
        }
    )*};
    (@types $name:ident $($T:ident)*) => {$(
        #[test]
        fn $T() {
            super::$name::<$T>();
        }
    )*};
}
per_integer!(
    elementwise_in_and_out_of_place,
    reductions_of_vectors_and_rows,
    totals_in_64_bits,
    products,
    refusals,
);

fn draw<T: Element>(n: usize, seed: u64) -> Vec<T> {
    let mut rng = Rng::with_seed(seed);
    (0..n).map(|_| T::of_bits(rng.u64(..))).collect()
}

fn wide_of<T: Element>(x: &[T]) -> Vec<i64> {
    x.iter().map(|x| Whole::wide(*x)).collect()
}

/// Runs a test on each level, and with three threads; calls get the longest size that they should use.
fn each_exec(test: impl Fn(&Exec<'_>, usize)) {
    for &level in levels() {
        test(&Exec::new().with_level(level).expect("a level"), 700);
    }
    let pool = Scoped::new(3);
    test(&Exec::new().with_pool(&pool, 3), 300_000);
}

/// Compares each operation that takes integers, out of place and in place, with the model.
macro_rules! both_forms {
    ({ $e:ident $arrays:ident $scalars:ident } $($name:ident $args:tt $roles:tt $in_place:tt $integers:ident)*) => {
        $(both_forms!(@row $integers { $e $arrays $scalars } $name $args $roles $in_place);)*
    };
    (@row refused $($row:tt)*) => {};
    (@row $signs:ident { $e:ident $arrays:ident $scalars:ident }
        $name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*) $in_place:tt) => {{
        let name = stringify!($name);
        #[allow(unused_mut, unused_variables)] // An operation may have no arrays or no scalars.
        let want: Vec<T> = (0..$arrays[0].len()).map(|i| {
            let (mut arrays, mut scalars) = ($arrays.iter(), $scalars.iter());
            let inputs = [$(both_forms!(@value $kind arrays scalars i)),*];
            integers::elementwise(name, &inputs, $arrays[1][i])
        }).collect();
        // An operation that updates its output starts from the second array.
        let mut out = $arrays[1].clone();
        #[allow(unused_mut, unused_variables)]
        let (mut arrays, mut scalars) = ($arrays.iter(), $scalars.iter());
        diptych::$name($e, $(both_forms!(@pass $kind arrays scalars),)* &mut out).expect(name);
        assert!(wide_of(&out) == wide_of(&want), "{name}");
        both_forms!(@in_place $in_place { $e $arrays $scalars want } $($kind $role)*);
    }};
    (@value scalar $arrays:ident $scalars:ident $i:ident) => { *$scalars.next().expect("a scalar") };
    (@value array $arrays:ident $scalars:ident $i:ident) => { $arrays.next().expect("an array")[$i] };
    (@pass scalar $arrays:ident $scalars:ident) => { *$scalars.next().expect("a scalar") };
    (@pass array $arrays:ident $scalars:ident) => { $arrays.next().expect("an array") };
    (@in_place [] $($rest:tt)*) => {};
    (@in_place [$name:ident] { $e:ident $arrays:ident $scalars:ident $want:ident } $($kind:ident $role:ident)*) => {
        #[allow(unused_mut, unused_variables)]
        let (mut arrays, mut scalars) = ($arrays.iter(), $scalars.iter());
        let mut replaced = Vec::new();
        $(both_forms!(@copy $role arrays replaced);)*
        #[allow(unused_mut, unused_variables)]
        let (mut arrays, mut scalars) = ($arrays.iter(), $scalars.iter());
        diptych::$name($e, $(both_forms!(@replaced $kind $role arrays scalars replaced)),*).expect(stringify!($name));
        assert!(wide_of(&replaced) == wide_of(&$want), "{}", stringify!($name));
    };
    (@copy replaced $arrays:ident $replaced:ident) => {
        $replaced.extend_from_slice($arrays.next().expect("an array"));
    };
    (@copy input $arrays:ident $replaced:ident) => { $arrays.next(); };
    (@copy $role:ident $arrays:ident $replaced:ident) => {};
    (@replaced array replaced $arrays:ident $scalars:ident $replaced:ident) => {{
        $arrays.next();
        &mut $replaced
    }};
    (@replaced $kind:ident $role:ident $arrays:ident $scalars:ident $replaced:ident) => {
        both_forms!(@pass $kind $arrays $scalars)
    };
}

fn elementwise_in_and_out_of_place<T: Element>() {
    each_exec(|e, most| {
        for n in [0, 1, 77, most] {
            let arrays: [Vec<T>; 2] =
                [draw(n.max(1), 1), draw(n.max(1), 2)].map(|x| x[..n].to_vec());
            let scalars: Vec<T> = draw(2, n as u64);
            if n > 0 {
                for_each_elementwise!(both_forms! { e arrays scalars } [name arguments roles in_place integers]);
            } else {
                diptych::add(e, &arrays[0], &arrays[1], &mut Vec::new()).expect("nothing");
            }
        }
    });
}

/// Compares each reduction that takes integers with the model: of slices, of views, of no elements, and of the rows and
/// columns of a matrix.
macro_rules! all_forms {
    ({ $e:ident $x:ident } $($name:ident $rows:ident $out:ident $integers:tt)*) => {
        $(all_forms!(@row $integers { $e $x } $name $rows $out);)*
    };
    (@row [] $($row:tt)*) => {};
    (@row $fold:tt { $e:ident $x:ident } $name:ident $rows:ident $out:ident) => {{
        let (name, n) = (stringify!($name), $x.len());
        let want = |x: &[T]| all_forms!(@want $out (integers::reduction(name, &wide_of(x))));
        assert_eq!(diptych::$name($e, &$x[..]), Ok(want(&$x)), "{name}");
        let view = VecRef::with_stride(&$x, n - 1, n / 3, -3).expect("fits");
        let elements: Vec<T> = (0..n / 3).map(|i| $x[n - 1 - 3 * i]).collect();
        assert_eq!(diptych::$name($e, view), Ok(want(&elements)), "{name} of a view");
        let (m, n) = (n / 15, 15);
        let matrix = MatRef::new(&$x[..m * n], m, n).expect("fits");
        for (a, rs, cs) in [(matrix, n, 1), (matrix.t(), 1, n)] {
            let mut out = vec![all_forms!(@place $out); 2 * a.rows()];
            let view = VecMut::with_stride(&mut out, 1, a.rows(), 2).expect("fits");
            diptych::$rows($e, a, view).expect(name);
            for (i, pair) in out.chunks(2).enumerate() {
                let row: Vec<T> = (0..a.cols()).map(|j| $x[i * rs + j * cs]).collect();
                let place = all_forms!(@place $out);
                assert_eq!((pair[0], pair[1]), (place, want(&row) as _), "{} {i}", stringify!($rows));
            }
        }
    }};
    (@want element $value:tt) => { T::wrapped($value) };
    (@want $count_or_index:ident $value:tt) => { $value as usize };
    (@place element) => { T::wrapped(-7) };
    (@place $count_or_index:ident) => { -7_i64 };
}

fn reductions_of_vectors_and_rows<T: Element>() {
    each_exec(|e, most| {
        for n in [45, most] {
            let x: Vec<T> = draw(n, 3);
            for_each_reduction!(all_forms! { e x } [name rows result integers]);
        }
    });
}

/// Compares each total with the model, in the type `O`.
macro_rules! totals {
    ({ $e:ident $x:ident } $($name:ident $rows:ident $out:ident $integers:tt)*) => {
        $(totals!(@$out $integers { $e $x } $name $rows);)*
    };
    (@count $($row:tt)*) => {};
    (@index $($row:tt)*) => {};
    (@element [] $($row:tt)*) => {};
    (@element [Min] $($row:tt)*) => {};
    (@element [Max] $($row:tt)*) => {};
    (@element $fold:tt { $e:ident $x:ident } $name:ident $rows:ident) => {{
        let (name, n) = (stringify!($name), $x.len());
        let want = |x: &[T]| O::wrapped(integers::reduction(name, &wide_of(x)));
        assert_eq!(wide::$name::<T, O>($e, &$x[..]), Ok(want(&$x)), "{name}");
        let matrix = MatRef::new(&$x, n / 15, 15).expect("fits");
        let mut out = vec![O::default(); n / 15];
        wide::$rows($e, matrix, &mut out[..]).expect(name);
        let rows = $x.chunks(15).map(want);
        assert!(out.iter().copied().eq(rows), "{}", stringify!($rows));
    }};
}

fn compare_totals<T: Element + Accumulate<O>, O: Whole + diptych::Number>() {
    each_exec(|e, most| {
        let x: Vec<T> = draw(most / 15 * 15, 4);
        for_each_reduction!(totals! { e x } [name rows result integers]);
        let y: Vec<T> = draw(x.len(), 5);
        let want = O::wrapped(integers::dot(&wide_of(&x), &wide_of(&y)));
        assert_eq!(wide::dot(e, &x[..], &y[..]), Ok(want));
    });
}

fn totals_in_64_bits<T: Element>() {
    compare_totals::<T, i64>();
}

#[test]
fn totals_in_32_bits() {
    compare_totals::<i8, i32>();
    compare_totals::<u8, i32>();
    compare_totals::<i32, i32>();
}

/// Bytes whose products are the largest, in vectors so long that 32-bit lanes of them would overflow.
#[test]
fn extreme_bytes() {
    let n = 5_000_000;
    let (x, y) = (vec![i8::MIN; n], vec![u8::MAX; n]);
    for &level in levels() {
        let e = &Exec::new().with_level(level).expect("a level");
        assert_eq!(wide::dot(e, &x[..], &x[..]), Ok(16_384 * n as i64));
        assert_eq!(wide::dot(e, &y[..], &y[..]), Ok(65_025 * n as i64));
        assert_eq!(wide::sum(e, &y[..]), Ok(255 * n as i64));
    }
}

fn products<T: Element>() {
    each_exec(|e, most| {
        let (x, y): (Vec<T>, Vec<T>) = (draw(most, 6), draw(most, 7));
        let of = |x: &[T], y: &[T]| T::wrapped(integers::dot(&wide_of(x), &wide_of(y)));
        for n in [0, 1, 31, 64, most] {
            let (x, y) = (&x[..n], &y[..n]);
            assert_eq!(diptych::dot(e, x, y), Ok(of(x, y)), "dot of {n}");
        }
        let backwards = VecRef::with_stride(&x, most - 1, most / 2, -2).expect("fits");
        let elements: Vec<T> = (0..most / 2).map(|i| x[most - 1 - 2 * i]).collect();
        let half = &y[..most / 2];
        assert_eq!(diptych::dot(e, backwards, half), Ok(of(&elements, half)));

        let (m, n) = (most / 20, 17);
        let mut out: Vec<T> = draw(m * n, 8);
        let old = out.clone();
        let alpha = x[0];
        let (u, v) = (VecRef::with_stride(&x, 0, m, 3).expect("fits"), &y[..n]);
        // The transpose of A += alpha u vᵀ is Aᵀ += alpha v uᵀ.
        diptych::ger(
            e,
            alpha,
            v,
            u,
            MatMut::new(&mut out, m, n).expect("fits").t(),
        )
        .expect("ger");
        for (at, &got) in out.iter().enumerate() {
            let want =
                integers::outer_product(Whole::wide(alpha), x[3 * (at / n)], v[at % n], old[at]);
            assert_eq!(got, want, "ger at {at}");
        }
        diptych::outer(e, u, v, MatMut::new(&mut out, m, n).expect("fits")).expect("outer");
        for (at, &got) in out.iter().enumerate() {
            let want = integers::outer_product(1, x[3 * (at / n)], v[at % n], T::wrapped(0));
            assert_eq!(got, want, "outer at {at}");
        }
    });
}

fn refusals<T: Element>() {
    let e = &Exec::new();
    let (x, mut out) = (draw::<T>(6, 9), draw::<T>(6, 10));
    let before = out.clone();
    let mismatch = |arg| Err(Error::ShapeMismatch { arg });
    let overlap = |arg| Err(Error::Overlap { arg });
    assert_eq!(diptych::add(e, &x, &x[..5], &mut out), mismatch("y"));
    assert_eq!(diptych::square(e, &x[..5], &mut out), mismatch("x"));
    assert_eq!(diptych::dot(e, &x[..], &x[..5]).map(|_| ()), mismatch("y"));
    let a = MatRef::new(&x, 2, 3).expect("fits");
    assert_eq!(diptych::sum_rows(e, a, &mut out[..3]), mismatch("out"));
    let same = VecMut::with_stride(&mut out, 0, 2, 0).expect("fits");
    assert_eq!(diptych::sum_rows(e, a, same), overlap("out"));
    let twice = MatMut::with_strides(&mut out, 0, 2, 3, 1, 1).expect("fits");
    assert_eq!(diptych::outer(e, &x[..2], &x[..3], twice), overlap("out"));
    let twice = MatMut::with_strides(&mut out, 0, 2, 3, 1, 1).expect("fits");
    assert_eq!(diptych::ger(e, x[0], &x[..2], &x[..3], twice), overlap("a"));
    let matrix = MatMut::new(&mut out, 2, 3).expect("fits");
    assert_eq!(diptych::outer(e, &x[..3], &x[..3], matrix), mismatch("x"));
    assert_eq!(out, before);

    let empty = Error::EmptyReduction { arg: "n" };
    assert_eq!(diptych::max(e, &x[..0]), Err(empty));
    assert_eq!(diptych::argmin(e, &x[..0]), Err(empty));
    assert_eq!(diptych::sum(e, &x[..0]), Ok(T::wrapped(0)));
    assert_eq!(diptych::prod(e, &x[..0]), Ok(T::wrapped(1)));
    let none = MatRef::<T>::new(&[], 2, 0).expect("fits");
    assert_eq!(diptych::min_rows(e, none, &mut out[..2]), Err(empty));
    assert_eq!(out, before);
    diptych::prod_rows(e, none, &mut out[..2]).expect("products of nothing");
    assert_eq!(out[..2], [T::wrapped(1); 2]);
    let none = MatMut::new(&mut [], 2, 0).expect("fits");
    assert_eq!(diptych::outer(e, &x[..2], &x[..0], none), Ok(()));
}
