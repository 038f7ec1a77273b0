//! Products of 16-bit floats: the bits of the canonical order.

use super::after::After;
use super::{Grid, Shape, check, layouts, row_major, shape};
use crate::conformance::half::per_half;
use diptych::{Exec, MatmulOptions, Multiply, matmul};
use diptych_tests::half::{Half, round, widen};
use diptych_tests::layout::Strides;
use diptych_tests::mixed::{self, Config, Float, half_sum};
use diptych_tests::report::Report;
use fastrand::Rng;

per_half!(
    any_shape_layout_and_options,
    special_numbers,
    least_exponents,
    long,
    split,
    a_row_is_the_same_in_any_batch,
);

/// A 16-bit type, with products in itself and in `f32`.
trait Factor: Half + Float + Multiply<Self, Self> + Multiply<Self, f32> {}
impl<H: Half + Float + Multiply<H, H> + Multiply<H, f32>> Factor for H {}

/// The elements of A and B.
#[derive(Clone, Copy, Debug)]
enum Values {
    /// Numbers in -1..1.
    Ordinary,
    /// Any finite number.
    Wide,
    /// Subnormal numbers, and the least normal ones.
    Subnormal,
    /// In one matrix of the two, all numbers but a few have an exponent from this one on; those have it.
    From(u16),
    /// Zeros of both signs, and a few numbers, so that chains end in -0.
    Zeros,
    /// Ordinary numbers, and some infinities and NaNs.
    Special,
}

impl Values {
    fn draw<H: Half>(self, rng: &mut Rng) -> H {
        let any = rng.u16(..);
        let (sign, fraction) = (any & 0x8000, any & ((1 << H::FRACTION_BITS) - 1));
        let of_exponent = |e: u16| H::of_pattern(sign | e << H::FRACTION_BITS | fraction);
        let ordinary = |rng: &mut Rng| {
            let number = rng.f32() * 2.0 - 1.0;
            H::of_pattern(round::<H>(number).expect("a number"))
        };
        match self {
            Self::Ordinary => ordinary(rng),
            Self::Wide => of_exponent(rng.u16(..H::infinity() >> H::FRACTION_BITS)),
            Self::Subnormal => of_exponent([0, 0, 1, 2][rng.usize(..4)]),
            Self::From(least) if rng.u8(..16) == 0 => of_exponent(least),
            Self::From(least) => of_exponent(least + rng.u16(..4)),
            Self::Zeros if rng.u8(..4) == 0 => of_exponent(rng.u16(..3)),
            Self::Zeros => H::of_pattern(sign),
            Self::Special => match rng.u8(..40) {
                0 => H::of_pattern(sign | H::infinity()),
                // Any NaN, signalling ones too.
                1 if rng.bool() => H::of_pattern(sign | H::infinity() | fraction.max(1)),
                _ => ordinary(rng),
            },
        }
    }
}

/// A and B of one product.
struct Operands<H> {
    a: Grid<H>,
    b: Grid<H>,
    of_c: Strides,
    shape: Shape,
    /// The sum of each element of C, row by row.
    sums: Vec<f32>,
}

impl<H: Factor> Operands<H> {
    fn new(rng: &mut Rng, shape: Shape, layouts: [Strides; 3], values: (Values, Values)) -> Self {
        let (m, n, k) = shape;
        let a = Grid::<H>::new((m, k), layouts[0], || values.0.draw(rng));
        let b = Grid::<H>::new((k, n), layouts[1], || values.1.draw(rng));
        let wide = |x: H| widen::<H>(x.pattern());
        let columns: Vec<_> = (0..n).map(|j| b.column(j, wide)).collect();
        let mut sums = Vec::new();
        for i in 0..m {
            let row = a.row(i, wide);
            sums.extend(columns.iter().map(|column| half_sum(&row, column)));
        }
        Self {
            a,
            b,
            of_c: layouts[2],
            shape,
            sums,
        }
    }

    /// Checks the product with a C of the type `C`.
    fn check<C: Float>(&self, report: &mut Report, configs: &[Config], rng: &mut Rng, after: &After)
    where
        H: Multiply<H, C>,
    {
        let (m, n, k) = self.shape;
        let is_nan = rng.u8(..4) == 0;
        let old = Grid::<C>::new((m, n), self.of_c, || {
            let number = rng.f32() * 8.0 - 4.0;
            C::rounded(if is_nan { f32::NAN } else { number })
        });
        let mut want = old.clone();
        for i in 0..m {
            for j in 0..n {
                let sum = (after.sums() && k > 0).then(|| self.sums[i * n + j]);
                let value = after.of((i, j), sum, old.at(i, j).wide());
                want.set(i, j, C::rounded(value));
            }
        }
        let operands = (&self.a, &self.b);
        check(report, configs, operands, (&old, &want), &after.options());
    }

    /// Checks the product with both types of C.
    fn check_both(&self, report: &mut Report, configs: &[Config], rng: &mut Rng, after: &After) {
        self.check::<H>(report, configs, rng, after);
        self.check::<f32>(report, configs, rng, after);
    }
}

fn any_shape_layout_and_options<H: Factor>() {
    let mut report = Report::new();
    let configs = mixed::all();
    for seed in 0..250 {
        let rng = &mut Rng::with_seed(seed);
        let shape = shape(rng, 900..3000);
        let layouts = layouts(rng, shape);
        let values = [Values::Ordinary, Values::Ordinary, Values::Wide][rng.usize(..3)];
        let operands = Operands::<H>::new(rng, shape, layouts, (values, values));
        let after = After::new(rng, (shape.0, shape.1), false);
        operands.check_both(&mut report, &configs, rng, &after);
    }
    report.finish();
}

/// Numbers at which an instruction may take another way: subnormal ones, zeros, infinities and NaNs. A NaN is canonical.
fn special_numbers<H: Factor>() {
    let mut report = Report::new();
    let configs = mixed::on_threads(1);
    for seed in 0..120 {
        let rng = &mut Rng::with_seed(seed);
        let shape = shape(rng, 1000..1200);
        let layouts = layouts(rng, shape);
        let all = [
            Values::Subnormal,
            Values::Zeros,
            Values::Special,
            Values::Ordinary,
            Values::Wide,
        ];
        let first = all[seed as usize % 3];
        let second = if rng.bool() {
            first
        } else {
            all[rng.usize(..5)]
        };
        let values = if rng.bool() {
            (first, second)
        } else {
            (second, first)
        };
        let operands = Operands::<H>::new(rng, shape, layouts, values);
        let after = if rng.bool() {
            After::NONE
        } else {
            After::new(rng, (shape.0, shape.1), false)
        };
        operands.check_both(&mut report, &configs, rng, &after);
    }
    report.finish();
}

/// The least exponents of the two matrices are about where an instruction would flush a partial sum to zero: for bf16 where
/// their sum is 142. Sums cancel down to the least difference of two products.
fn least_exponents<H: Factor>() {
    let mut report = Report::new();
    let configs = mixed::on_threads(1);
    let greatest = (H::infinity() >> H::FRACTION_BITS) - 5;
    let rng = &mut Rng::with_seed(4);
    for sum in [2, 20, 139, 140, 141, 142, 143, 144, 150] {
        for of_a in [1, 2, 5, 14, 69, 70, 71, 72, 139, 141] {
            let exponents = [of_a, sum - of_a.min(sum)];
            if exponents.iter().any(|&e| e == 0 || e > greatest) {
                continue;
            }
            for k in [2, 33, 64, 1060] {
                let shape = (rng.usize(1..36), rng.usize(1..36), k);
                let layouts = layouts(rng, shape);
                let values = (Values::From(exponents[0]), Values::From(exponents[1]));
                let operands = Operands::<H>::new(rng, shape, layouts, values);
                operands.check_both(&mut report, &configs, rng, &After::NONE);
            }
        }
    }
    report.finish();
}

/// Sums of several segments.
fn long<H: Factor>() {
    let mut report = Report::new();
    let configs = mixed::on_threads(1);
    let rng = &mut Rng::with_seed(5);
    for k in [1023, 1024, 1025, 1056, 2048, 2049, 3100, 4097, 5000] {
        for (m, n) in [(2, 5), (1, 40), (18, 1), (17, 34)] {
            let shape = (m, n, k);
            let layouts = if rng.bool() {
                row_major(shape)
            } else {
                layouts(rng, shape)
            };
            let values = [Values::Ordinary, Values::Wide, Values::Subnormal][rng.usize(..3)];
            let operands = Operands::<H>::new(rng, shape, layouts, (values, values));
            let after = After::new(rng, (m, n), false);
            operands.check_both(&mut report, &configs, rng, &after);
        }
    }
    report.finish();
}

/// Products that are large enough for several tasks.
fn split<H: Factor>() {
    let mut report = Report::new();
    let rng = &mut Rng::with_seed(6);
    for shape in [
        (130, 150, 70),
        (5, 300, 900),
        (500, 3, 700),
        (1, 600, 1500),
        (70, 65, 2100),
    ] {
        for layouts in [row_major(shape), layouts(rng, shape)] {
            let values = (Values::Ordinary, Values::Ordinary);
            let operands = Operands::<H>::new(rng, shape, layouts, values);
            let after = After::new(rng, (shape.0, shape.1), false);
            operands.check_both(&mut report, &mixed::all(), rng, &after);
        }
    }
    report.finish();
}

/// Row i of a product of many rows has the bits of the product of that row alone, at another level and in another layout
/// of C too.
fn a_row_is_the_same_in_any_batch<H: Factor>() {
    let mut report = Report::new();
    let rng = &mut Rng::with_seed(7);
    for (m, n, k) in [
        (2, 7, 40),
        (5, 50, 1500),
        (33, 100, 1100),
        (130, 37, 333),
        (64, 1, 2500),
    ] {
        let [of_a, of_b, _] = layouts(rng, (m, n, k));
        let values = [Values::Ordinary, Values::Wide][rng.usize(..2)];
        let a = Grid::<H>::new((m, k), of_a, || values.draw(rng));
        let b = Grid::<H>::new((k, n), of_b, || values.draw(rng));
        let options = MatmulOptions::default();
        let mut alone = vec![H::default(); m * n];
        for (i, row) in alone.chunks_mut(n).enumerate() {
            let row = diptych::MatMut::new(row, 1, n).expect("a row");
            matmul(&Exec::new(), a.one_row(i), b.view(), row, &options).expect("a row");
        }
        let by_columns = Strides {
            rs: 1,
            cs: m as i64 + 1,
        };
        for of_c in [row_major((m, n, k))[2], by_columns] {
            let old = Grid::<H>::new((m, n), of_c, || H::of_bits(0));
            let mut each = alone.iter().copied();
            let want = Grid::<H>::new((m, n), of_c, || each.next().expect("an element"));
            let configs = mixed::all();
            check(&mut report, &configs, (&a, &b), (&old, &want), &options);
        }
    }
    report.finish();
}
