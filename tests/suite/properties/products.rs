//! gemm, gemm_fused and gemm_batched.

use diptych::BiasKind;
use diptych::raw::{self, RawEpilogue};
use diptych_tests::cases::{self, Values};
use diptych_tests::layout::Placed;
use diptych_tests::model::{self, Dense, Epilogue};
use diptych_tests::real::Dtype;
use diptych_tests::report::{Nan, Report};
use proptest::prelude::*;

use crate::inputs::{Layout, Scalar, extent, input, output, scalar, side, stride, values};
use crate::random_test;
use crate::run::{Run, run};

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

/// How many products, and how their matrices follow each other.
#[derive(Clone, Copy, Debug)]
struct Batch {
    count: usize,
    /// Of A, B and C: below each other, or beside.
    beside: [bool; 3],
    backwards: [bool; 3],
    /// A, or B, is one matrix for all.
    one: [bool; 2],
}

#[derive(Clone, Copy, Debug)]
struct After {
    bias: BiasKind,
    at: (i64, usize),
    clamp: Option<[Scalar; 2]>,
}

/// Shapes of at most about `most` multiplications: all sides alike, one or two very short, vectors.
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

/// Several tasks begin at 2^19 multiplications.
fn large() -> impl Strategy<Value = Shape> {
    (1..200usize, 1..300usize, 1_000_000..2_000_000usize).prop_map(|(m, n, work)| Shape {
        m,
        n,
        k: (work / (m * n)).clamp(1, 20_000),
    })
}

fn batch(name: &str) -> BoxedStrategy<Batch> {
    if name != "gemm_batched" {
        let single = Batch {
            count: 1,
            beside: [false; 3],
            backwards: [false; 3],
            one: [false; 2],
        };
        return Just(single).boxed();
    }
    (
        extent(9),
        any::<[bool; 3]>(),
        any::<[bool; 3]>(),
        any::<[bool; 2]>(),
    )
        .prop_map(|(count, beside, backwards, one)| Batch {
            count,
            beside,
            backwards,
            one,
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
    let most = if name == "gemm_batched" {
        20_000
    } else {
        150_000
    };
    let shape = prop_oneof![25 => shape(most), 1 => large()];
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

/// The matrices of a batch as one, with what leads from the first to the next.
struct Stack<T> {
    placed: Placed<T>,
    rows: usize,
    cols: usize,
    beside: bool,
    backwards: bool,
    count: usize,
}

impl<T: Dtype> Stack<T> {
    /// `which` is 0, 1, 2 for A, B, C.
    fn new(case: &Case, which: usize, (rows, cols): (usize, usize), values: Values) -> Stack<T> {
        let one = which < 2 && case.batch.one[which];
        let count = if one { 1 } else { case.batch.count };
        let beside = case.batch.beside[which];
        let (down, right) = if beside { (1, count) } else { (count, 1) };
        let dense = cases::dense(values, rows * down, cols * right, case.seed ^ which as u64);
        Stack {
            placed: case.layouts[which].place(&dense),
            rows,
            cols,
            beside,
            backwards: case.batch.backwards[which] && count > 0,
            count,
        }
    }

    /// Where matrix `item` begins, as (row, column) of the whole.
    fn origin(&self, item: usize) -> (usize, usize) {
        let item = if self.count == 1 { 0 } else { item };
        let item = if self.backwards {
            self.count - 1 - item
        } else {
            item
        };
        if self.beside {
            (0, item * self.cols)
        } else {
            (item * self.rows, 0)
        }
    }

    fn item(&self, whole: &Dense<T>, item: usize) -> Dense<T> {
        let (i0, j0) = self.origin(item);
        let element = |at: usize| whole.at(i0 + at / self.cols, j0 + at % self.cols);
        Dense {
            rows: self.rows,
            cols: self.cols,
            data: (0..self.rows * self.cols).map(element).collect(),
        }
    }

    /// Elements from the pointer of the whole to the first matrix, and from each to the next.
    fn offsets(&self) -> (isize, i64) {
        let (rs, cs) = (self.placed.rs(), self.placed.cs());
        let (i, j) = self.origin(0);
        let first = i as i64 * rs + j as i64 * cs;
        let step = if self.beside {
            self.cols as i64 * cs
        } else {
            self.rows as i64 * rs
        };
        let step = if self.backwards { -step } else { step };
        (first as isize, if self.count == 1 { 0 } else { step })
    }
}

fn expected<T: Dtype>(case: &Case, [a, b, c]: [&Stack<T>; 3], epilogue: &Epilogue<T>) -> Dense<T> {
    let wholes = [a, b, c].map(|stack| stack.placed.dense());
    let (alpha, beta) = (case.scalars[0].of(), case.scalars[1].of());
    let mut want = wholes[2].clone();
    for item in 0..case.batch.count {
        let old = c.item(&wholes[2], item);
        let product = model::gemm(
            alpha,
            &a.item(&wholes[0], item),
            &b.item(&wholes[1], item),
            beta,
            &old,
        );
        let product = model::fuse(product, epilogue);
        let (i0, j0) = c.origin(item);
        for i in 0..c.rows {
            let at = (i0 + i) * want.cols + j0;
            want.data[at..at + c.cols].copy_from_slice(product.row(i));
        }
    }
    want
}

fn check<T: Dtype>(case: &Case, report: &mut Report) {
    let Shape { m, n, k } = case.shape;
    let (alpha, beta): (T, T) = (case.scalars[0].of(), case.scalars[1].of());
    let a = Stack::<T>::new(case, 0, (m, k), case.values);
    let b = Stack::<T>::new(case, 1, (k, n), case.values);
    // With beta = 0 what C holds must not be read: then it holds anything.
    let old = if beta == T::zero() {
        Values::Mixed
    } else {
        case.values
    };
    let c = Stack::<T>::new(case, 2, (m, n), old);
    let after = case.after;
    let biased = case.name == "gemm_fused" && !matches!(after.bias, BiasKind::None);
    let per_row = matches!(after.bias, BiasKind::PerRow);
    let bias = cases::vector::<T>(case.values, if per_row { m } else { n }, case.seed ^ 9);
    let bias = Placed::vector(&bias, after.at.0, after.at.1);
    let clamp = after.clamp.filter(|_| case.name == "gemm_fused");
    let clamp = clamp.map(|[lo, hi]| (lo.of(), hi.of()));
    let shown = biased.then(|| bias.dense().data);
    let epilogue = Epilogue {
        per_row: shown.clone().filter(|_| per_row),
        per_column: shown.filter(|_| !per_row),
        clamp,
    };
    let raw_epilogue = RawEpilogue {
        bias: if biased {
            bias.ptr()
        } else {
            core::ptr::null()
        },
        bias_inc: after.at.0,
        bias_kind: after.bias,
        clamp,
    };
    let want = expected(case, [&a, &b, &c], &epilogue);
    let size =
        |exec: &diptych::Exec<'_>| raw::gemm_workspace::<T>(exec, m as i64, n as i64, k as i64);
    case.run.each(report, size, |report, exec, config| {
        let mut out = c.placed.clone();
        let [(a0, a_bs), (b0, b_bs), (c0, c_bs)] = [a.offsets(), b.offsets(), c.offsets()];
        let (pa, pb) = (a.placed.ptr().wrapping_offset(a0), b.placed.ptr().wrapping_offset(b0));
        let (pc, c_rs, c_cs) = (out.mut_ptr().wrapping_offset(c0), out.rs(), out.cs());
        let (a_rs, a_cs) = (a.placed.rs(), a.placed.cs());
        let (b_rs, b_cs) = (b.placed.rs(), b.placed.cs());
        let (m, n, k, batch) = (m as i64, n as i64, k as i64, case.batch.count as i64);
        // SAFETY: the stacks show the matrices of the batch at these strides, those of C apart from
        // each other; the bias shows one value per row or column.
        let status = unsafe {
            match case.name {
                "gemm" => raw::gemm(exec, m, n, k, alpha, pa, a_rs, a_cs, pb, b_rs, b_cs, beta, pc, c_rs, c_cs),
                "gemm_fused" => raw::gemm_fused(
                    exec, m, n, k, alpha, pa, a_rs, a_cs, pb, b_rs, b_cs, beta, pc, c_rs, c_cs, &raw_epilogue,
                ),
                _ => raw::gemm_batched(
                    exec, m, n, k, alpha, pa, a_rs, a_cs, pb, b_rs, b_cs, beta, pc, c_rs, c_cs, batch, a_bs, b_bs, c_bs,
                ),
            }
        };
        let context = || {
            format!(
                "{} {config}, {batch} of {m} x {n} x {k}, A {a_rs} {a_cs}, B {b_rs} {b_cs}, C {c_rs} {c_cs}, \
                 alpha {alpha:?}, beta {beta:?}, {:?}",
                case.name, case.values
            )
        };
        report.check(status.is_ok(), || format!("{}: {status:?}", context()));
        report.equal_dense(&out.dense(), &want, Nan::Any, context);
        report.check(out.gaps_intact(), || format!("{}: wrote outside C", context()));
    });
}
