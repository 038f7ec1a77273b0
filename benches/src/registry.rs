//! A bench for every operation of the library's table.
#![forbid(unsafe_code)]

use crate::bench::{Bench, Form, Pattern};
use crate::data::{Real, Shape};
use diptych::{BatchMut, BatchRef, Bias, Epilogue, MatMut, MatRef, VecRef};
use std::hint::black_box;

/// Reductions of a vector and of both axes of a matrix, that give one element each.
macro_rules! reductions {
    ($benches:ident, $times:literal: $($op:ident $rows:ident $(($ddof:literal))?),*) => {$(
        $benches.push(Bench::new(stringify!($op), Form::Vector, Pattern::Read($times), |exec, o| {
            diptych::$op(exec, &o.x[..] $(, $ddof)?).map(|value| _ = black_box(value))
        }));
        $benches.push(Bench::new(stringify!($op), Form::Rows, Pattern::Read($times), |exec, o| {
            diptych::$rows(exec, MatRef::new(&o.x, o.shape.m, o.shape.n)?, $($ddof,)? &mut o.out[..])
        }));
        $benches.push(Bench::new(stringify!($op), Form::Columns, Pattern::Read($times), |exec, o| {
            diptych::$rows(exec, MatRef::new(&o.x, o.shape.m, o.shape.n)?.t(), $($ddof,)? &mut o.out[..])
        }));
    )*};
}

/// The same for those that give an index.
macro_rules! searches {
    ($benches:ident: $($op:ident $rows:ident),*) => {$(
        $benches.push(Bench::new(stringify!($op), Form::Vector, Pattern::Read(1), |exec, o| {
            diptych::$op(exec, &o.x[..]).map(|index| _ = black_box(index))
        }));
        $benches.push(Bench::new(stringify!($op), Form::Rows, Pattern::Read(1), |exec, o| {
            diptych::$rows(exec, MatRef::new(&o.x, o.shape.m, o.shape.n)?, &mut o.index[..])
        }));
        $benches.push(Bench::new(stringify!($op), Form::Columns, Pattern::Read(1), |exec, o| {
            diptych::$rows(exec, MatRef::new(&o.x, o.shape.m, o.shape.n)?.t(), &mut o.index[..])
        }));
    )*};
}

/// All benches.
pub fn benches<T: Real>() -> Vec<Bench<T>> {
    let mut all = elementwise();
    all.extend(outer());
    all.extend(gemm());
    all.extend(reduce());
    all.extend(fused());
    all
}

fn elementwise<T: Real>() -> Vec<Bench<T>> {
    use Form::Vector;
    use Pattern::{Add, Copy, UpdateFrom, Write};
    vec![
        Bench::new("clamp", Vector, Copy, |exec, o| {
            diptych::clamp(exec, &o.x, T::of(-1.0), T::of(1.0), &mut o.out)
        }),
        Bench::new("clamp_backward", Vector, Add, |exec, o| {
            diptych::clamp_backward(exec, &o.x, &o.y, T::of(-1.0), T::of(1.0), &mut o.out)
        }),
        Bench::new("add", Vector, Add, |exec, o| {
            diptych::add(exec, &o.x, &o.y, &mut o.out)
        }),
        Bench::new("sub", Vector, Add, |exec, o| {
            diptych::sub(exec, &o.x, &o.y, &mut o.out)
        }),
        Bench::new("mul", Vector, Add, |exec, o| {
            diptych::mul(exec, &o.x, &o.y, &mut o.out)
        }),
        Bench::new("div", Vector, Add, |exec, o| {
            diptych::div(exec, &o.x, &o.y, &mut o.out)
        }),
        Bench::new("scale", Vector, Copy, |exec, o| {
            diptych::scale(exec, T::of(1.5), &o.x, &mut o.out)
        }),
        Bench::new("axpy", Vector, UpdateFrom, |exec, o| {
            diptych::axpy(exec, T::of(1e-6), &o.x, &mut o.out)
        }),
        Bench::new("square", Vector, Copy, |exec, o| {
            diptych::square(exec, &o.x, &mut o.out)
        }),
        Bench::new("fill", Vector, Write, |exec, o| {
            diptych::fill(exec, T::of(1.5), &mut o.out)
        }),
    ]
}

fn outer<T: Real>() -> Vec<Bench<T>> {
    vec![
        Bench::new("outer", Form::Matrix, Pattern::Write, |exec, o| {
            let out = MatMut::new(&mut o.out, o.shape.m, o.shape.n)?;
            diptych::outer(exec, &o.x[..], &o.y[..], out)
        }),
        Bench::new("ger", Form::Matrix, Pattern::Update, |exec, o| {
            let out = MatMut::new(&mut o.out, o.shape.m, o.shape.n)?;
            diptych::ger(exec, T::of(1e-6), &o.x[..], &o.y[..], out)
        }),
    ]
}

fn gemm<T: Real>() -> Vec<Bench<T>> {
    use Pattern::Compute;
    vec![
        Bench::new("gemm", Form::Product, Compute, |exec, o| {
            let Shape { m, n, k, .. } = o.shape;
            let (a, b) = (MatRef::new(&o.x, m, k)?, MatRef::new(&o.y, k, n)?);
            diptych::gemm(exec, T::ONE, a, b, T::ZERO, MatMut::new(&mut o.out, m, n)?)
        }),
        Bench::new("gemm", Form::ProductTransposedA, Compute, |exec, o| {
            let Shape { m, n, k, .. } = o.shape;
            let (a, b) = (MatRef::new(&o.x, k, m)?.t(), MatRef::new(&o.y, k, n)?);
            diptych::gemm(exec, T::ONE, a, b, T::ZERO, MatMut::new(&mut o.out, m, n)?)
        }),
        Bench::new("gemm", Form::ProductTransposedB, Compute, |exec, o| {
            let Shape { m, n, k, .. } = o.shape;
            let (a, b) = (MatRef::new(&o.x, m, k)?, MatRef::new(&o.y, n, k)?.t());
            diptych::gemm(exec, T::ONE, a, b, T::ZERO, MatMut::new(&mut o.out, m, n)?)
        }),
        Bench::new("gemm_batched", Form::Batch, Compute, |exec, o| {
            let Shape { m, n, k, batch } = o.shape;
            let (a, b) = (
                BatchRef::new(&o.x, batch, m, k)?,
                BatchRef::new(&o.y, batch, k, n)?,
            );
            diptych::gemm_batched(
                exec,
                T::ONE,
                a,
                b,
                T::ZERO,
                BatchMut::new(&mut o.out, batch, m, n)?,
            )
        }),
        Bench::new("gemm_fused", Form::Product, Compute, |exec, o| {
            let Shape { m, n, k, .. } = o.shape;
            let (a, b) = (MatRef::new(&o.x, m, k)?, MatRef::new(&o.y, k, n)?);
            let bias = Bias::PerColumn(VecRef::new(&o.z));
            let epilogue = Epilogue {
                bias,
                clamp: Some((T::ZERO, T::of(1e30))),
            };
            diptych::gemm_fused(
                exec,
                T::ONE,
                a,
                b,
                T::ZERO,
                MatMut::new(&mut o.out, m, n)?,
                &epilogue,
            )
        }),
    ]
}

fn reduce<T: Real>() -> Vec<Bench<T>> {
    let mut all = Vec::new();
    reductions!(all, 1: sum sum_rows, mean mean_rows, prod prod_rows, min min_rows, max max_rows,
        sumsq sumsq_rows, asum asum_rows, nrm2 nrm2_rows);
    reductions!(all, 2: var var_rows (1), logsumexp logsumexp_rows);
    searches!(all: argmin argmin_rows, argmax argmax_rows);
    all.push(Bench::new(
        "dot",
        Form::Vector,
        Pattern::ReadTwo,
        |exec, o| diptych::dot(exec, &o.x[..], &o.y[..]).map(|value| _ = black_box(value)),
    ));
    all
}

fn fused<T: Real>() -> Vec<Bench<T>> {
    vec![
        Bench::new("mse_grad", Form::Vector, Pattern::Add, |exec, o| {
            diptych::mse_grad(exec, &o.x, &o.y, &mut o.out).map(|loss| _ = black_box(loss))
        }),
        Bench::new("lsq_grad", Form::Tall, Pattern::Read(1), |exec, o| {
            let a = MatRef::new(&o.x, o.shape.m, o.shape.n)?;
            diptych::lsq_grad(exec, a, &o.y, &o.z, &mut o.out)
        }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::Size;
    use diptych::Exec;
    use diptych::table::OPS;

    #[test]
    fn every_operation_has_its_benches() {
        let all = benches::<f32>();
        for op in OPS {
            let has = |form: &dyn Fn(Form) -> bool| {
                all.iter()
                    .any(|b| b.work.op == op.name && form(b.work.form))
            };
            assert!(
                has(&|form| !matches!(form, Form::Rows | Form::Columns)),
                "no bench of {}",
                op.name
            );
            if op.rows {
                assert!(
                    has(&|form| form == Form::Rows),
                    "no bench of {}_rows",
                    op.name
                );
                assert!(
                    has(&|form| form == Form::Columns),
                    "no bench of {}_rows along columns",
                    op.name
                );
            }
        }
        for bench in all {
            assert!(
                !bench.work.family().is_empty(),
                "{} is no operation of the table",
                bench.work.op
            );
        }
    }

    fn run_all<T: Real>() {
        for bench in benches::<T>() {
            let mut operands = bench.work.operands(bench.work.shape::<T>(Size::L1));
            assert_eq!(
                (bench.run)(&Exec::new(), &mut operands),
                Ok(()),
                "{}",
                bench.work.name()
            );
        }
    }

    #[test]
    fn every_bench_runs() {
        run_all::<f32>();
        run_all::<f64>();
    }
}
