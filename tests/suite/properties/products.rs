//! `gemm`, `gemm_fused` and `gemm_batched`.

use core::ptr;

use diptych::BiasKind;
use diptych_tests::cases::{self, Values};
use diptych_tests::layout::Placed;
use diptych_tests::model::{self, Dense, Epilogue};
use diptych_tests::raw::{self, On, RawEpilogue, Result};
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};
use proptest::prelude::*;

use super::inputs::{
    Layout, Scalar, extent, input, near_threshold, output, scalar, side, stride, values,
    weight_of_thresholds,
};
use super::run::{MOST_WORK, Run, run};
use super::stack::{Order, Stack};
use crate::random_test;

pub const NAMES: [&str; 3] = ["gemm", "gemm_batched", "gemm_fused"];

random_test!(gemm, 6000, case("gemm"), check);
random_test!(gemm_batched, 2000, case("gemm_batched"), check);
random_test!(gemm_fused, 3000, case("gemm_fused"), check);

#[derive(Clone, Debug)]
struct Case {
    name: &'static str,
    shape: Shape,
    layouts: [Layout; 3],
    scalars: [Scalar; 2],
    batch: Batch,
    after: After,
    values: Values,
    seed: u64,
    run: Run,
}

#[derive(Clone, Copy, Debug)]
struct Shape {
    m: usize,
    n: usize,
    k: usize,
}

/// The number of products, and the order of the matrices of A, B and C in memory.
#[derive(Clone, Copy, Debug)]
struct Batch {
    count: usize,
    orders: [Order; 3],
}

#[derive(Clone, Copy, Debug)]
struct After {
    bias: BiasKind,
    at: (i64, usize),
    clamp: Option<[Scalar; 2]>,
}

/// Draws shapes of at most about `most` multiplications: with similar sides, with a short side, and with vectors.
fn shape(most: usize) -> impl Strategy<Value = Shape> {
    let few = || prop_oneof![3 => 1..=4usize, 1 => Just(10usize), 1 => Just(16usize)];
    let alike = (side(70), side(100), extent(600));
    let short_n = (side(300), few(), extent(600));
    let short_m = (few(), side(300), extent(600));
    let short_k = (side(200), side(200), few());
    let vector = (side(200), extent(5000), any::<bool>())
        .prop_map(|(len, k, row)| if row { (1, len, k) } else { (len, 1, k) });
    prop_oneof![4 => alike, 2 => short_n, 2 => short_m, 2 => short_k, 2 => vector].prop_map(
        move |(m, n, k)| Shape {
            m,
            n,
            k: k.min(most / (m * n).max(1)).max(k.min(1)),
        },
    )
}

/// Draws shapes for several threads, which calls use from 2^19 multiplications on (counting the whole batch).
fn large(name: &str) -> impl Strategy<Value = Shape> {
    let most: usize = if name == "gemm_batched" {
        400_000
    } else {
        2_000_000
    };
    (1..200usize, 1..300usize, most / 2..most).prop_map(|(m, n, work)| Shape {
        m,
        n,
        k: (work / (m * n)).clamp(1, 20_000),
    })
}

/// Draws shapes of which one matrix has about as many elements as a threshold, and one side is short or any.
fn threshold(most: usize) -> impl Strategy<Value = Shape> {
    let short = prop_oneof![3 => 2..=17usize, 2 => extent(70).prop_map(|n| n.max(2))];
    let any = prop_oneof![extent(2100), 1..4000usize];
    (near_threshold(most / 4), short, any, 0..6usize).prop_map(
        move |(elements, short, any, which)| {
            let short = short.min(most / elements).max(1);
            let any = any.clamp(1, elements);
            let (m, n, k) = match which {
                0 => (short, any, elements / any),
                1 => (short, elements / any, any),
                2 => (any, short, elements / any),
                3 => (elements / any, short, any),
                4 => (any, elements / any, short),
                _ => (elements / any, any, short),
            };
            Shape { m, n, k }
        },
    )
}

fn batch(name: &str) -> BoxedStrategy<Batch> {
    let order = |side_by_side, backwards, same| Order {
        side_by_side,
        backwards,
        same,
    };
    if name != "gemm_batched" {
        let orders = [order(false, false, false); 3];
        return Just(Batch { count: 1, orders }).boxed();
    }
    let any_order = || any::<(bool, bool, bool)>().prop_map(move |(x, y, z)| order(x, y, z));
    (extent(9), any_order(), any_order(), any_order())
        .prop_map(move |(count, a, b, c)| Batch {
            count,
            orders: [a, b, order(c.side_by_side, c.backwards, false)],
        })
        .boxed()
}

fn after() -> impl Strategy<Value = After> {
    let kinds = [BiasKind::None, BiasKind::PerRow, BiasKind::PerColumn];
    let clamp = prop::option::of([scalar(), scalar()]);
    (prop::sample::select(kinds.to_vec()), stride(), clamp).prop_map(|(bias, at, clamp)| After {
        bias,
        at,
        clamp,
    })
}

fn case(name: &'static str) -> impl Strategy<Value = Case> {
    let most: usize = if name == "gemm_batched" {
        20_000
    } else {
        150_000
    };
    let most_near_threshold = if name == "gemm_batched" {
        MOST_WORK / 8
    } else {
        MOST_WORK
    };
    let weight = weight_of_thresholds();
    let shape = prop_oneof![
        26 - weight => shape(most),
        weight.div_ceil(2) => large(name),
        weight => threshold(most_near_threshold),
    ];
    let layouts = (input(), input(), output()).prop_map(|(a, b, c)| [a, b, c]);
    let scalars = [scalar(), scalar()];
    (
        shape,
        layouts,
        scalars,
        batch(name),
        after(),
        values(),
        any::<u64>(),
        run(),
    )
        .prop_map(
            move |(shape, layouts, scalars, batch, after, values, seed, run)| Case {
                name,
                shape,
                layouts,
                scalars,
                batch,
                after,
                values,
                seed,
                run,
            },
        )
}

impl Case {
    fn factors<T: Dtype>(&self) -> (T, T) {
        (self.scalars[0].of(), self.scalars[1].of())
    }

    /// Creates the matrices of one operand: `which` is 0 for A, 1 for B, 2 for C.
    fn stack<T: Dtype>(&self, which: usize) -> Stack<T> {
        let Shape { m, n, k } = self.shape;
        let zero = self.factors::<T>().1 == T::zero();
        // With beta = 0, C must not be read, so it contains special values.
        let values = match which == 2 && zero {
            true => Values::Mixed,
            false => self.values,
        };
        let shape = [(m, k), (k, n), (m, n)][which];
        let (order, layout) = (self.batch.orders[which], &self.layouts[which]);
        let seed = self.seed ^ which as u64;
        Stack::new(shape, self.batch.count, order, layout, values, seed)
    }
}

fn expected<T: Dtype>(case: &Case, [a, b, c]: [&Stack<T>; 3], epilogue: &Epilogue<T>) -> Dense<T> {
    let (alpha, beta) = case.factors();
    let wholes = [a, b, c].map(|stack| stack.placed.dense());
    let mut want = wholes[2].clone();
    for item in 0..case.batch.count {
        let (left, right) = (a.item(&wholes[0], item), b.item(&wholes[1], item));
        let product = model::gemm(alpha, &left, &right, beta, &c.item(&wholes[2], item));
        let product = model::fuse(product, epilogue);
        let (i0, j0) = c.origin(item);
        for i in 0..product.rows {
            let at = (i0 + i) * want.cols + j0;
            want.data[at..at + product.cols].copy_from_slice(product.row(i));
        }
    }
    want
}

/// Makes the call, with C in `out`.
fn call<T: Dtype>(
    exec: &dyn On,
    case: &Case,
    [a, b, c]: [&Stack<T>; 3],
    out: *mut T,
    epilogue: &RawEpilogue<T>,
) -> Result<()> {
    let Shape { m, n, k } = case.shape;
    let (m, n, k, batch) = (m as i64, n as i64, k as i64, case.batch.count as i64);
    let (alpha, beta) = case.factors::<T>();
    let (pa, pb, pc) = (a.placed.ptr(), b.placed.ptr(), out);
    let [a, b, c] = [a, b, c].map(Stack::place);
    let (pa, pb) = (pa.wrapping_offset(a.first), pb.wrapping_offset(b.first));
    let pc = pc.wrapping_offset(c.first);
    macro_rules! product {
        ($name:ident $(, $more:expr)*) => {
            raw::$name(
                exec, m, n, k, alpha, pa, a.rs, a.cs, pb, b.rs, b.cs, beta, pc, c.rs, c.cs $(, $more)*
            )
        };
    }
    // SAFETY: the stacks contain the matrices of the batch at these strides, and those of C do not
    // overlap; the bias has one value per row or column.
    unsafe {
        match case.name {
            "gemm" => product!(gemm),
            "gemm_fused" => product!(gemm_fused, epilogue),
            _ => product!(gemm_batched, batch, a.bs, b.bs, c.bs),
        }
    }
}

fn check<T: Dtype>(case: &Case, report: &mut Report) {
    let Shape { m, n, k } = case.shape;
    let stacks: [Stack<T>; 3] = [0, 1, 2].map(|which| case.stack(which));
    let stacks = stacks.each_ref();
    let (after, fused) = (case.after, case.name == "gemm_fused");
    let biased = fused && !matches!(after.bias, BiasKind::None);
    let per_row = matches!(after.bias, BiasKind::PerRow);
    let bias = cases::vector::<T>(case.values, if per_row { m } else { n }, case.seed ^ 9);
    let bias = Placed::vector(&bias, after.at.0, after.at.1);
    let clamp = after.clamp.filter(|_| fused);
    let clamp = clamp.map(|[lo, hi]| (lo.of(), hi.of()));
    let biases = biased.then(|| bias.dense().data);
    let epilogue = Epilogue {
        per_row: biases.clone().filter(|_| per_row),
        per_column: biases.filter(|_| !per_row),
        clamp,
    };
    let raw_epilogue = RawEpilogue {
        bias: if biased { bias.ptr() } else { ptr::null() },
        bias_inc: after.at.0,
        bias_kind: after.bias,
        clamp,
    };
    let want = expected(case, stacks, &epilogue);
    let size = |exec: &dyn On| raw::gemm_workspace::<T>(exec, m as i64, n as i64, k as i64);
    case.run.each(report, size, |report, exec, config| {
        let mut out = stacks[2].placed.clone();
        let status = call(exec, case, stacks, out.mut_ptr(), &raw_epilogue);
        let context = || {
            format!(
                "{} {config}, {} of {m} x {n} x {k}",
                case.name, case.batch.count
            )
        };
        report.check(status.is_ok(), || format!("{}: {status:?}", context()));
        report.equal_dense(&out.dense(), &want, Nan::Any, context);
        report.check(out.gaps_intact(), || {
            format!("{}: wrote outside C", context())
        });
    });
}
