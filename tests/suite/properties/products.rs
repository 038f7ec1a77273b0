//! `gemm`, `gemm_fused` and `gemm_batched`.

use core::ptr;

use diptych::BiasKind;
use diptych_tests::cases::{self, Values};
use diptych_tests::layout::Placed;
use diptych_tests::model::{self, Dense, Epilogue};
use diptych_tests::random::Input;
use diptych_tests::random_test;
use diptych_tests::raw::{self, On, RawEpilogue, Result};
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};

use super::inputs::{
    Layout, Scalar, extent, layout, near_threshold, output, scalar, side, stride,
    weight_of_thresholds,
};
use super::run::{CASES_PER_CASE, MOST_WORK, Run, run};
use super::stack::{Order, Stack};

pub const NAMES: [&str; 3] = ["gemm", "gemm_batched", "gemm_fused"];

random_test!(
    gemm,
    6000 / CASES_PER_CASE,
    |input| case(input, "gemm"),
    check
);
random_test!(
    gemm_batched,
    2000 / CASES_PER_CASE,
    |input| case(input, "gemm_batched"),
    check
);
random_test!(
    gemm_fused,
    3000 / CASES_PER_CASE,
    |input| case(input, "gemm_fused"),
    check
);

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

/// Draws a shape of at most about `most` multiplications: with similar sides, with a short side, or with vectors.
fn shape(input: &mut Input<'_>, most: usize) -> Shape {
    let few = |input: &mut Input<'_>| match input.choose([3, 1, 1]) {
        0 => input.range(1..5),
        1 => 10,
        _ => 16,
    };
    let (m, n, k) = match input.choose([4, 2, 2, 2, 2]) {
        0 => (side(input, 70), side(input, 100), extent(input, 600)),
        1 => (side(input, 300), few(input), extent(input, 600)),
        2 => (few(input), side(input, 300), extent(input, 600)),
        3 => (side(input, 200), side(input, 200), few(input)),
        _ => match (side(input, 200), input.flag()) {
            (n, true) => (1, n, extent(input, 5000)),
            (m, false) => (m, 1, extent(input, 5000)),
        },
    };
    let k = k.min(most / (m * n).max(1)).max(k.min(1));
    Shape { m, n, k }
}

/// Draws a shape for several threads, which calls use from 2^19 multiplications on (counting the whole batch).
fn large(input: &mut Input<'_>, name: &str) -> Shape {
    let most: usize = if name == "gemm_batched" {
        400_000
    } else {
        2_000_000
    };
    let (m, n) = (input.range(1..200), input.range(1..300));
    let k = input.range(most / 2..most) / (m * n);
    let k = k.clamp(1, 20_000);
    Shape { m, n, k }
}

/// Draws a shape of which one matrix has about as many elements as a threshold, and one side is short or any.
fn threshold(input: &mut Input<'_>, most: usize) -> Shape {
    let elements = near_threshold(input, most / 4);
    let short = match input.choose([3, 2]) {
        0 => input.range(2..18),
        _ => extent(input, 70).max(2),
    };
    let any = match input.below(2) {
        0 => extent(input, 2100),
        _ => input.range(1..4000),
    };
    let short = short.min(most / elements).max(1);
    let any = any.clamp(1, elements);
    let (m, n, k) = match input.below(6) {
        0 => (short, any, elements / any),
        1 => (short, elements / any, any),
        2 => (any, short, elements / any),
        3 => (elements / any, short, any),
        4 => (any, elements / any, short),
        _ => (elements / any, any, short),
    };
    Shape { m, n, k }
}

fn batch(input: &mut Input<'_>, name: &str) -> Batch {
    if name != "gemm_batched" {
        let orders = [Order::default(); 3];
        return Batch { count: 1, orders };
    }
    let mut order = |same| Order {
        side_by_side: input.flag(),
        backwards: input.flag(),
        same: same && input.flag(),
    };
    let orders = [order(true), order(true), order(false)];
    Batch {
        count: extent(input, 9),
        orders,
    }
}

fn after(input: &mut Input<'_>) -> After {
    After {
        bias: input.pick(&[BiasKind::None, BiasKind::PerRow, BiasKind::PerColumn]),
        at: stride(input),
        clamp: input.flag().then(|| [scalar(input), scalar(input)]),
    }
}

fn case(input: &mut Input<'_>, name: &'static str) -> Case {
    let (most, most_near_threshold) = match name {
        "gemm_batched" => (20_000, MOST_WORK / 8),
        _ => (150_000, MOST_WORK),
    };
    let weight = weight_of_thresholds();
    Case {
        name,
        shape: match input.choose([26 - weight, weight.div_ceil(2), weight]) {
            0 => shape(input, most),
            1 => large(input, name),
            _ => threshold(input, most_near_threshold),
        },
        layouts: [layout(input), layout(input), output(input)],
        scalars: [scalar(input), scalar(input)],
        batch: batch(input, name),
        after: after(input),
        values: input.values(),
        seed: input.word(),
        run: run(input),
    }
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
