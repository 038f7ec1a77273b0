//! `matmul`, the products of integers and of 16-bit floats: every level with every extension, on one thread and on three,
//! gives the bits of the scalar models and writes nothing but C.

mod after;
mod grid;
mod halves;
mod integers;
mod packed;
mod packing;
mod refused;
mod scaled;
mod workspace;

use diptych::{MatmulOptions, Multiply, matmul};
use diptych_tests::layout::{Strides, input_layouts, output_layouts};
use diptych_tests::mixed::{Config, Number};
use diptych_tests::report::Report;
use fastrand::Rng;
use grid::Grid;

/// The sizes m, n and k of a product.
type Shape = (usize, usize, usize);

/// Returns a size: mostly small, now and then 0.
fn length(rng: &mut Rng) -> usize {
    let most = [4, 20, 70, 110][rng.usize(..4)];
    rng.usize(..most)
}

/// Returns a random shape; one in 16 has a k in `long`.
fn shape(rng: &mut Rng, long: core::ops::Range<usize>) -> Shape {
    let shape = (length(rng), length(rng), length(rng));
    if rng.u8(..16) == 0 {
        (shape.0 / 4, shape.1 / 4, rng.usize(long))
    } else {
        shape
    }
}

/// Returns random layouts of A, B and C; elements of A and of B may share an address.
fn layouts(rng: &mut Rng, (m, n, k): Shape) -> [Strides; 3] {
    let mut one = |from: Vec<Strides>| from[rng.usize(..from.len())];
    [
        one(input_layouts(m, k)),
        one(input_layouts(k, n)),
        one(output_layouts(m, n)),
    ]
}

/// Row-major matrices without gaps.
fn row_major((_, n, k): Shape) -> [Strides; 3] {
    [k, n, n].map(|columns| Strides {
        rs: columns.max(1) as i64,
        cs: 1,
    })
}

/// Records a failure unless the product has the elements of `want`, and the memory around them is as it was.
fn check<A: Multiply<B, C> + Number, B: Number, C: Number>(
    report: &mut Report,
    configs: &[Config],
    (a, b): (&Grid<A>, &Grid<B>),
    (old, want): (&Grid<C>, &Grid<C>),
    options: &MatmulOptions<'_>,
) {
    for config in configs {
        let mut c = old.clone();
        let result = config.run(None, |exec| {
            matmul(exec, a.view(), b.view(), c.view_mut(), options)
        });
        let wrong = match (result, c.differs(want)) {
            (Ok(()), None) => None,
            (Ok(()), difference) => difference,
            (Err(error), _) => Some(error.to_string()),
        };
        report.check(wrong.is_none(), || {
            let (a, b, c) = (a.described(), b.described(), c.described());
            let wrong = wrong.as_deref().unwrap_or_default();
            let factors = (options.alpha, options.beta, options.clamp);
            let has_scales = (options.row_scale.is_some(), options.column_scale.is_some());
            format!(
                "{a} x {b} to {c}, {config}: {wrong}; alpha, beta, clamp {factors:?}, scales {has_scales:?}"
            )
        });
    }
}
