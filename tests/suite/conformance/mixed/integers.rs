//! Products of integers, stored as integers: the bits of wrapping loops.

use super::{Grid, Shape, check, layouts, row_major, shape};
use diptych::{MatmulOptions, Multiply};
use diptych_tests::layout::Strides;
use diptych_tests::mixed::{self, Config, Whole, integer_sum};
use diptych_tests::report::Report;
use fastrand::Rng;

/// Makes one test for each combination of types from each generic function.
macro_rules! per_integers {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            #[test]
            fn i8_i8() {
                super::$name::<i8, i8, i32>();
            }
            #[test]
            fn u8_i8() {
                super::$name::<u8, i8, i32>();
            }
            #[test]
            fn i32() {
                super::$name::<i32, i32, i32>();
            }
            #[test]
            fn i64() {
                super::$name::<i64, i64, i64>();
            }
        }
    )*};
}

per_integers!(any_shape_and_layout, empty, long, split);

/// The elements of A and B.
#[derive(Clone, Copy)]
enum Values {
    /// Any bits.
    Any,
    /// All elements are the least, or all are the greatest: the sums of pairs of products that saturate elsewhere.
    Least,
    Greatest,
    /// The least, the greatest, and numbers near 0.
    Extremes,
}

impl Values {
    const ALL: [Self; 4] = [Self::Any, Self::Least, Self::Greatest, Self::Extremes];

    fn draw<T: Whole>(self, rng: &mut Rng) -> T {
        let (least, greatest) = T::BOUNDS;
        match self {
            Self::Any => T::of_bits(rng.u64(..)),
            Self::Least => T::wrapped(least),
            Self::Greatest => T::wrapped(greatest),
            Self::Extremes => T::wrapped([least, greatest, least + 1, 0, 1, -1][rng.usize(..6)]),
        }
    }
}

/// Checks one product.
fn product<A: Multiply<B, C> + Whole, B: Whole, C: Whole>(
    report: &mut Report,
    configs: &[Config],
    rng: &mut Rng,
    ((m, n, k), layouts): (Shape, [Strides; 3]),
    (values, adds): (Values, bool),
) {
    let [of_a, of_b, of_c] = layouts;
    let a = Grid::<A>::new((m, k), of_a, || values.draw(rng));
    let b = Grid::<B>::new((k, n), of_b, || values.draw(rng));
    let old = Grid::<C>::new((m, n), of_c, || Values::Any.draw(rng));
    let mut want = old.clone();
    let columns: Vec<_> = (0..n).map(|j| b.column(j, B::wide)).collect();
    for i in 0..m {
        let row = a.row(i, A::wide);
        for (j, column) in columns.iter().enumerate() {
            let before = if adds { old.at(i, j).wide() } else { 0 };
            let sum = integer_sum(&row, column).wrapping_add(before);
            want.set(i, j, C::wrapped(sum));
        }
    }
    let options = MatmulOptions {
        beta: if adds { 1.0 } else { 0.0 },
        ..MatmulOptions::default()
    };
    check(report, configs, (&a, &b), (&old, &want), &options);
}

fn any_shape_and_layout<A: Multiply<B, C> + Whole, B: Whole, C: Whole>() {
    let mut report = Report::new();
    let configs = mixed::all();
    for seed in 0..300 {
        let rng = &mut Rng::with_seed(seed);
        let shape = shape(rng, 300..900);
        let layouts = layouts(rng, shape);
        let values = Values::ALL[rng.usize(..4)];
        let how = (values, rng.bool());
        product::<A, B, C>(&mut report, &configs, rng, (shape, layouts), how);
    }
    report.finish();
}

/// Without elements, C is not written; without steps it is 0, or as it was.
fn empty<A: Multiply<B, C> + Whole, B: Whole, C: Whole>() {
    let mut report = Report::new();
    let rng = &mut Rng::with_seed(1);
    for shape in [
        (0, 5, 7),
        (5, 0, 7),
        (5, 7, 0),
        (1, 40, 0),
        (0, 0, 3),
        (0, 0, 0),
    ] {
        for adds in [false, true] {
            for layouts in [row_major(shape), layouts(rng, shape)] {
                let how = (Values::Any, adds);
                product::<A, B, C>(&mut report, &mixed::all(), rng, (shape, layouts), how);
            }
        }
    }
    report.finish();
}

/// Sums of thousands of products: of several segments and several blocks of k.
fn long<A: Multiply<B, C> + Whole, B: Whole, C: Whole>() {
    let mut report = Report::new();
    let rng = &mut Rng::with_seed(2);
    let configs = mixed::on_threads(1);
    for k in [2047, 2048, 2049, 2111, 4095, 4096, 4097, 5000, 9001] {
        for (m, n) in [(3, 5), (1, 33), (18, 1), (17, 35)] {
            for values in [Values::Any, Values::Least, Values::Extremes] {
                let shape = (m, n, k);
                let layouts = if rng.bool() {
                    row_major(shape)
                } else {
                    layouts(rng, shape)
                };
                let how = (values, rng.bool());
                product::<A, B, C>(&mut report, &configs, rng, (shape, layouts), how);
            }
        }
    }
    report.finish();
}

/// Products that are large enough for several tasks.
fn split<A: Multiply<B, C> + Whole, B: Whole, C: Whole>() {
    let mut report = Report::new();
    let rng = &mut Rng::with_seed(3);
    for shape in [
        (130, 150, 70),
        (5, 300, 900),
        (700, 3, 700),
        (1, 600, 1500),
        (70, 65, 2500),
    ] {
        for layouts in [row_major(shape), layouts(rng, shape)] {
            let how = (Values::Any, rng.bool());
            product::<A, B, C>(&mut report, &mixed::all(), rng, (shape, layouts), how);
        }
    }
    report.finish();
}
