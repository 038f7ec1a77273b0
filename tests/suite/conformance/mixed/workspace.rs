//! The scratch memory of `matmul`: as much as `matmul_workspace` says is enough, and less is refused.

use core::mem::MaybeUninit;

use super::{Grid, Shape, layouts, row_major};
use diptych::{Error, Exec, MatmulOptions, Multiply, bf16, f16, matmul, matmul_workspace};
use diptych_tests::layout::Strides;
use diptych_tests::mixed::{self, Config, Number};
use diptych_tests::report::Report;
use fastrand::Rng;

/// Makes one test for each combination of types.
macro_rules! kept_to {
    ($($name:ident: $A:ty, $B:ty, $C:ty;)*) => {$(
        #[test]
        fn $name() {
            kept_to::<$A, $B, $C>();
        }
    )*};
}

kept_to! {
    i8_i8_i32: i8, i8, i32;
    i8_i8_f32: i8, i8, f32;
    u8_i8_i32: u8, i8, i32;
    u8_i8_f32: u8, i8, f32;
    i32_i32: i32, i32, i32;
    i64_i64: i64, i64, i64;
    f16_f16: f16, f16, f16;
    f16_f32: f16, f16, f32;
    bf16_bf16: bf16, bf16, bf16;
    bf16_f32: bf16, bf16, f32;
}

/// Checks products whose workspace has exactly the size, at an odd address and with canaries on both sides.
fn kept_to<A: Multiply<B, C> + Number, B: Number, C: Number>() {
    let mut report = Report::new();
    let rng = &mut Rng::with_seed(8);
    for shape in [
        (0, 3, 2),
        (3, 0, 2),
        (3, 2, 0),
        (3, 5, 4),
        (1, 50, 60),
        (60, 1, 50),
        (30, 70, 300),
        (5, 70, 2100),
        (70, 5, 1300),
        (110, 100, 90),
        (17, 35, 4200),
        (400, 9, 200),
    ] {
        for layouts in [row_major(shape), layouts(rng, shape)] {
            for config in mixed::all() {
                one::<A, B, C>(&mut report, rng, config, (shape, layouts));
            }
        }
    }
    report.finish();
}

/// Checks one product with a workspace of the right size, and with one byte less.
fn one<A: Multiply<B, C> + Number, B: Number, C: Number>(
    report: &mut Report,
    rng: &mut Rng,
    config: Config,
    ((m, n, k), [of_a, of_b, of_c]): (Shape, [Strides; 3]),
) {
    // Small numbers of all types: 0, 1 and what a low bit means.
    let a = Grid::<A>::new((m, k), of_a, || A::of_bits(rng.u64(..2)));
    let b = Grid::<B>::new((k, n), of_b, || B::of_bits(rng.u64(..2)));
    let old = Grid::<C>::new((m, n), of_c, || C::of_bits(77));
    let options = MatmulOptions::default();
    let product =
        |exec: &Exec<'_>, c: &mut Grid<C>| matmul(exec, a.view(), b.view(), c.view_mut(), &options);
    let mut want = old.clone();
    let without = config.run(None, |exec| product(exec, &mut want));
    let size = config.run(None, |exec| matmul_workspace::<A, B, C>(exec, m, n, k));
    let size = size.expect("a size");
    let context = || {
        let types = (A::NAME, B::NAME, C::NAME);
        format!("{types:?} {m} x {n} x {k} to {of_c:?}, {config}, {size} bytes")
    };
    report.check(without.is_ok(), || format!("{without:?}: {}", context()));

    let mut memory = vec![MaybeUninit::new(0xA5_u8); size + 192];
    let start = memory.as_ptr().align_offset(64) + 65;
    let mut c = old.clone();
    let workspace = &mut memory[start..start + size];
    let result = config.run(Some(workspace), |exec| product(exec, &mut c));
    report.check(result.is_ok(), || format!("{result:?}: {}", context()));
    let difference = c.differs(&want);
    report.check(difference.is_none(), || {
        format!("{}: {}", context(), difference.clone().unwrap_or_default())
    });
    let mut outside = memory[..start].iter().chain(&memory[start + size..]);
    // SAFETY: every byte was initialised, and kernels may only write bytes.
    let intact = outside.all(|byte| unsafe { byte.assume_init() } == 0xA5);
    report.check(intact, || {
        format!("{}: wrote outside the workspace", context())
    });

    if size > 0 {
        let mut c = old.clone();
        let workspace = &mut memory[start..start + size - 1];
        let result = config.run(Some(workspace), |exec| product(exec, &mut c));
        let refused = Err(Error::WorkspaceTooSmall { needed: size });
        let is_right = result == refused && c.differs(&old).is_none();
        report.check(is_right, || format!("{result:?}: {}", context()));
    }
}
