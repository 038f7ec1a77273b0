//! `matmul_packed` gives the bits of `matmul`, and writes nothing but C.

use super::after::After;
use super::{Grid, Shape, layouts, row_major, shape};
use diptych::{Exec, MatmulOptions, Multiply, Pack, Packed, bf16, f16, matmul, matmul_packed};
use diptych_tests::mixed::{self, Config, Number};
use diptych_tests::packed::pack;
use diptych_tests::report::Report;
use fastrand::Rng;

/// Makes one test for each combination of types, of which some take options.
macro_rules! same_bits {
    ($($name:ident: $A:ty, $B:ty, $C:ty, $is_float:literal $has_scales:literal;)*) => {$(
        #[test]
        fn $name() {
            same_bits::<$A, $B, $C>($is_float, $has_scales);
        }
    )*};
}

same_bits! {
    i8_i8_i32: i8, i8, i32, false false;
    i8_i8_f32: i8, i8, f32, true true;
    u8_i8_i32: u8, i8, i32, false false;
    u8_i8_f32: u8, i8, f32, true true;
    i32_i32: i32, i32, i32, false false;
    i64_i64: i64, i64, i64, false false;
    f16_f16: f16, f16, f16, true false;
    f16_f32: f16, f16, f32, true false;
    bf16_bf16: bf16, bf16, bf16, true false;
    bf16_f32: bf16, bf16, f32, true false;
}

/// Checks random products, and products at the edges of segments and micro-panels.
fn same_bits<A: Multiply<B, C> + Number, B: Pack + Number, C: Number>(
    is_float: bool,
    has_scales: bool,
) {
    let mut report = Report::new();
    let rng = &mut Rng::with_seed(9);
    let mut shapes = vec![
        (1, 200, 1023),
        (4, 33, 1025),
        (5, 129, 2047),
        (64, 48, 2049),
        (70, 65, 300),
        (17, 16, 2600),
    ];
    shapes.extend((0..60).map(|_| shape(rng, 900..2600)));
    for shape in shapes {
        for layouts in [row_major(shape), layouts(rng, shape)] {
            let after = if is_float {
                After::new(rng, (shape.0, shape.1), has_scales)
            } else {
                After::NONE
            };
            let mut options = after.options();
            if !is_float && rng.bool() {
                options.beta = 1.0;
            }
            let product = Product::<A, B, C>::new(rng, shape, layouts);
            for config in mixed::all() {
                product.check(&mut report, config, &options);
            }
        }
    }
    report.finish();
}

/// The matrices of a product.
struct Product<A, B, C> {
    a: Grid<A>,
    b: Grid<B>,
    old: Grid<C>,
}

impl<A: Multiply<B, C> + Number, B: Pack + Number, C: Number> Product<A, B, C> {
    fn new(
        rng: &mut Rng,
        (m, n, k): Shape,
        [of_a, of_b, of_c]: [diptych_tests::layout::Strides; 3],
    ) -> Self {
        // Any bits: also infinities, NaN and subnormal numbers, if these are floats.
        let mut any = |wide: bool| {
            if wide {
                rng.u64(..)
            } else {
                rng.u64(..) & 0x3FFF
            }
        };
        let wide = k % 4 == 0;
        Self {
            a: Grid::new((m, k), of_a, || A::of_bits(any(wide))),
            b: Grid::new((k, n), of_b, || B::of_bits(any(wide))),
            old: Grid::new((m, n), of_c, || C::of_bits(any(false))),
        }
    }

    fn check(&self, report: &mut Report, config: Config, options: &MatmulOptions<'_>) {
        let (mut want, mut c) = (self.old.clone(), self.old.clone());
        let (a, b) = (self.a.view(), self.b.view());
        let wanted = config.run(None, |exec| matmul(exec, a, b, want.view_mut(), options));
        let packed_product = |exec: &Exec<'_>| {
            let mut block = pack(exec, b)?;
            let packed = Packed::new(block.bytes())?;
            let result = matmul_packed(exec, a, packed, c.view_mut(), options);
            assert!(block.is_intact(), "wrote outside the block");
            result
        };
        let result = config.run(None, packed_product);
        let wrong = c.differs(&want);
        report.check(
            wanted == Ok(()) && result == Ok(()) && wrong.is_none(),
            || {
                let (a, b, c) = (self.a.described(), self.b.described(), self.old.described());
                format!("{a} x {b} to {c}, {config}: {result:?}, {wrong:?}")
            },
        );
    }
}
