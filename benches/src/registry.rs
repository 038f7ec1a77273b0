//! A call of the Rust interface for every operation of the library's table: what the calls of other libraries are
//! compared with.
#![forbid(unsafe_code)]

use crate::bench::{Bench, Form, Pattern};
use crate::data::{Real, Shape};
use diptych::table::{Bound, ELEMENTWISE, Elementwise, REDUCTIONS, Role};
use diptych::{
    BatchMut, BatchRef, Bias, Epilogue, MatMut, MatRef, VecRef, for_each_elementwise,
    for_each_reduction, for_each_row_map,
};
use std::hint::black_box;

/// Elementwise operations, on slices.
macro_rules! elementwise {
    ({ $benches:ident } $($op:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*) $mode:ident)*) => {$(
        $benches.push(Bench::new(stringify!($op), Form::Vector, pattern(stringify!($op)), |exec, o| {
            #[allow(unused)] // Operations without arrays do not use it.
            let mut arrays = [&o.x[..], &o.y[..]].into_iter();
            diptych::$op(exec, $(elementwise!(@$kind $mode $role arrays),)* &mut o.out)
        }));
    )*};
    (@scalar $mode:ident $role:ident $arrays:ident) => { number(Role::$role, stringify!($mode)) };
    (@array $mode:ident $role:ident $arrays:ident) => { $arrays.next().unwrap_or_default() };
}

/// Returns a scalar argument with which results stay ordinary numbers, however often an array is updated.
fn number<T: Real>(role: Role, mode: &str) -> T {
    T::of(match (role.bound(), mode) {
        (Some(Bound::Lower), _) => -1.0,
        (Some(Bound::Upper), _) => 1.0,
        (None, "update") => 1e-6,
        (None, _) => 1.5,
    })
}

/// Returns the memory accesses of an elementwise operation.
fn pattern(op: &str) -> Pattern {
    let row = ELEMENTWISE.iter().find(|row| row.name == op);
    let arrays = |row: &Elementwise| {
        row.arguments
            .iter()
            .filter(|(_, role)| role.is_array())
            .count()
    };
    match row.map(|row| (arrays(row), row.updates)) {
        Some((0, false)) => Pattern::Write,
        Some((0, true)) => Pattern::Update,
        Some((1, false)) => Pattern::Copy,
        Some((1, true)) => Pattern::UpdateFrom,
        _ => Pattern::Add,
    }
}

/// Reductions of a vector and of both axes of a matrix.
macro_rules! reductions {
    ({ $benches:ident } $($op:ident $rows:ident [$($ddof:ident)?] $out:ident)*) => {$({
        let reads = Pattern::Read(passes(stringify!($op)));
        $benches.push(Bench::new(stringify!($op), Form::Vector, reads, |exec, o| {
            $(let $ddof = 1;)?
            diptych::$op(exec, &o.x[..] $(, $ddof)?).map(|value| _ = black_box(value))
        }));
        $benches.push(Bench::new(stringify!($op), Form::Rows, reads, |exec, o| {
            $(let $ddof = 1;)?
            diptych::$rows(exec, MatRef::new(&o.x, o.shape.m, o.shape.n)?, $($ddof,)? &mut reductions!(@$out o)[..])
        }));
        $benches.push(Bench::new(stringify!($op), Form::Columns, reads, |exec, o| {
            $(let $ddof = 1;)?
            diptych::$rows(exec, MatRef::new(&o.x, o.shape.m, o.shape.n)?.t(), $($ddof,)? &mut reductions!(@$out o)[..])
        }));
    })*};
    (@element $o:ident) => { $o.out };
    (@count $o:ident) => { $o.index };
    (@index $o:ident) => { $o.index };
}

/// Maps over the rows of a matrix. Blocks of rows stay in a cache between their passes.
macro_rules! row_maps {
    ({ $benches:ident } $($op:ident)*) => {$(
        $benches.push(Bench::new(stringify!($op), Form::Matrix, Pattern::Copy, |exec, o| {
            let Shape { m, n, .. } = o.shape;
            diptych::$op(exec, MatRef::new(&o.x, m, n)?, MatMut::new(&mut o.out, m, n)?)
        }));
    )*};
}

fn passes(op: &str) -> usize {
    let row = REDUCTIONS.iter().find(|row| row.name == op);
    row.map_or(1, |row| row.passes as usize)
}

/// Returns all benches.
pub fn benches<T: Real>() -> Vec<Bench<T>> {
    let mut all = elementwise();
    all.extend(outer());
    all.extend(gemm());
    all.extend(reduce());
    all.extend(row_maps());
    all.extend(fused());
    all
}

fn elementwise<T: Real>() -> Vec<Bench<T>> {
    let mut all = Vec::new();
    for_each_elementwise!(elementwise! { all } [name arguments roles mode]);
    all
}

fn row_maps<T: Real>() -> Vec<Bench<T>> {
    let mut all = Vec::new();
    for_each_row_map!(row_maps! { all }[name]);
    all
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
    for_each_reduction!(reductions! { all } [name rows ddof result]);
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
                OPS.iter().any(|op| op.name == bench.work.op),
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
