//! Products of bytes that are stored as floats, with factors for rows and columns.

use super::after::After;
use super::{Grid, Shape, check, layouts, row_major, shape};
use diptych::Multiply;
use diptych_tests::layout::Strides;
use diptych_tests::mixed::{self, Config, Float, Whole, integer_sum};
use diptych_tests::report::Report;
use fastrand::Rng;

/// Checks one product: the sum as a float, times the factor of the row, times that of the column, then what follows, each
/// step rounded.
fn product<A: Multiply<i8, f32> + Whole>(
    report: &mut Report,
    configs: &[Config],
    rng: &mut Rng,
    ((m, n, k), [of_a, of_b, of_c]): (Shape, [Strides; 3]),
    after: &After,
) {
    let is_large = rng.bool();
    let bits = |rng: &mut Rng| {
        let bits = rng.u64(..);
        if is_large { bits | 0x70 } else { bits }
    };
    let a = Grid::<A>::new((m, k), of_a, || A::of_bits(bits(rng)));
    let b = Grid::<i8>::new((k, n), of_b, || bits(rng) as i8);
    let is_nan = rng.u8(..4) == 0;
    let old = Grid::<f32>::new((m, n), of_c, || {
        let number = rng.f32() * 8.0 - 4.0;
        if is_nan { f32::NAN } else { number }
    });
    let mut want = old.clone();
    let columns: Vec<_> = (0..n).map(|j| b.column(j, Whole::wide)).collect();
    for i in 0..m {
        let row = a.row(i, A::wide);
        for (j, column) in columns.iter().enumerate() {
            let sum = integer_sum(&row, column);
            let sum = (after.sums() && k > 0).then(|| after.scaled((i, j), i32::wrapped(sum)));
            want.set(i, j, f32::rounded(after.of((i, j), sum, old.at(i, j))));
        }
    }
    check(report, configs, (&a, &b), (&old, &want), &after.options());
}

fn any_shape_layout_and_options<A: Multiply<i8, f32> + Whole>() {
    let mut report = Report::new();
    let configs = mixed::all();
    for seed in 0..400 {
        let rng = &mut Rng::with_seed(seed);
        let shape = shape(rng, 2000..5000);
        let layouts = layouts(rng, shape);
        let after = After::new(rng, (shape.0, shape.1), true);
        product::<A>(&mut report, &configs, rng, (shape, layouts), &after);
    }
    for seed in 0..8 {
        let rng = &mut Rng::with_seed(seed + 1000);
        for shape in [(130, 150, 70), (5, 300, 900), (700, 3, 700)] {
            let after = After::new(rng, (shape.0, shape.1), true);
            let layouts = row_major(shape);
            product::<A>(&mut report, &configs, rng, (shape, layouts), &after);
        }
    }
    report.finish();
}

/// The factor of the row comes before that of the column, also where the transpose may be computed: C is one column, one row,
/// or has contiguous columns.
fn factors_in_order<A: Multiply<i8, f32> + Whole>() {
    let mut report = Report::new();
    let configs = mixed::on_threads(1);
    let rng = &mut Rng::with_seed(9);
    for shape in [
        (5, 1, 1),
        (1, 5, 1),
        (9, 3, 4),
        (3, 9, 4),
        (20, 33, 7),
        (33, 20, 70),
    ] {
        let [a, b, rows] = row_major(shape);
        let columns = Strides {
            rs: 1,
            cs: shape.0 as i64,
        };
        for c in [rows, columns] {
            let after = After::scales(rng, (shape.0, shape.1));
            product::<A>(&mut report, &configs, rng, (shape, [a, b, c]), &after);
        }
    }
    report.finish();
}

/// Makes one test for each type of A from each generic function.
macro_rules! per_byte {
    ($($name:ident),* $(,)?) => {$(
        mod $name {
            #[test]
            fn i8() {
                super::$name::<i8>();
            }
            #[test]
            fn u8() {
                super::$name::<u8>();
            }
        }
    )*};
}

per_byte!(any_shape_layout_and_options, factors_in_order);
