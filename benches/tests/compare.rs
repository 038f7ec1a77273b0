//! The comparison works without any peer, names the missing ones, and writes its three files. Its calls to the C
//! library, and to OpenBLAS if it is installed, compute the same as the benches.

use anyhow::{Context, Result, ensure};
use diptych::{Exec, MatMut, MatRef, MatmulOptions, Multiply, bf16, f16, matmul};
use diptych_benches::bench::{Bench, Form, Work};
use diptych_benches::blas::{Blas, Kind};
use diptych_benches::crates;
use diptych_benches::data::{Operands, Real, Shape, Size};
use diptych_benches::library::Diptych;
use diptych_benches::mixed::{Factor, Matrices};
use diptych_benches::registry::benches;
use diptych_benches::timing::Clock;
use std::process::Command;
use xtask::command::run;
use xtask::{library, skip};

#[test]
fn a_comparison_needs_no_peer() -> Result<()> {
    let library = library::build()?;
    let dir = tempfile::tempdir()?;
    let mut compare = Command::new(env!("CARGO_BIN_EXE_compare"));
    compare.args(["--peers", "--quick", "--name", "test", "--library"]);
    compare.arg(&library.shared).arg("--out").arg(dir.path());
    compare.args(["--only", "gemm f32 4x4x4", "--only", "gemm f32 8x8x8"]);
    compare.args(["--only", "sum_rows", "--only", "dot f64 4"]);
    compare.args(["--only", "matmul bf16 64x64x64"]);
    for variable in ["PYTHON", "OPENBLAS", "MKL", "BLIS"] {
        compare.env(format!("DIPTYCH_{variable}"), "/not/there");
    }
    run(&mut compare)?;

    let read = |ending: &str| {
        let path = dir.path().join(format!("test.{ending}"));
        std::fs::read_to_string(&path).with_context(|| path.display().to_string())
    };
    let json: serde_json::Value = serde_json::from_str(&read("json")?)?;
    let cells = json["cells"].as_array().context("cells")?;
    ensure!(cells.len() == 4, "{} cells instead of 4", cells.len());
    for cell in cells {
        let rate = cell["rate"].as_f64().context("a rate")?;
        ensure!(rate > 0.0 && rate.is_finite(), "a rate of {rate}");
    }
    let text = read("md")?;
    let revision = json["revision"].as_str().context("a revision")?;
    ensure!(
        text.contains(revision),
        "the table does not name revision {revision}"
    );
    for peer in ["OpenBLAS", "MKL", "BLIS", "NumPy", "PyTorch"] {
        let missing = format!("| {peer} | **not found**");
        ensure!(
            text.contains(&missing),
            "nothing says that {peer} is missing"
        );
        ensure!(
            json["not_found"].get(peer).is_some(),
            "no {peer} in the JSON"
        );
    }
    ensure!(
        read("svg")?.contains("gemm f32"),
        "the picture lacks its plot"
    );
    Ok(())
}

#[test]
fn accuracy_needs_no_peer() -> Result<()> {
    let mut accuracy = Command::new(env!("CARGO_BIN_EXE_accuracy"));
    let table = run(accuracy.arg("--quick").env("DIPTYCH_PYTHON", "/not/there"))?;
    for row in ["`sum` f32", "`dot` f64", "`var` f32", "`gemm` f64"] {
        ensure!(table.contains(row), "no row {row} in\n{table}");
    }
    Ok(())
}

/// Returns shapes whose extents all differ, so that a swap of two extents is detected.
fn shape<T: Real>(work: Work) -> Shape {
    match work.form {
        Form::Product | Form::ProductTransposedA | Form::ProductTransposedB => {
            Shape::product(7, 12, 5)
        }
        Form::Batch => Shape {
            batch: 3,
            ..Shape::product(7, 12, 5)
        },
        Form::Matrix | Form::Rows | Form::Columns => Shape::matrix(7, 12),
        _ => work.shape::<T>(Size::L1),
    }
}

/// Returns the operands after one call through the Rust interface.
fn expected<T: Real>(bench: &Bench<T>, shape: Shape) -> Result<Operands<T>> {
    let mut operands = bench.work.operands(shape);
    (bench.run)(&Exec::new(), &mut operands)?;
    Ok(operands)
}

fn same_bits<T: Real>(library: &Diptych) -> Result<usize> {
    let mut compared = 0;
    for bench in benches::<T>() {
        let shape = shape::<T>(bench.work);
        let right = expected(&bench, shape)?;
        for pooled in [false, true] {
            let mut operands: Operands<T> = bench.work.operands(shape);
            let p = operands.pointers();
            // SAFETY: the operands are those of the bench, and outlive the sampler.
            let sampler = unsafe { library.sampler(bench.work, p, pooled, Clock::Wall) };
            let Ok(mut sampler) = sampler else { continue };
            sampler(1)?;
            let name = bench.work.name();
            ensure!(operands.out[..] == right.out[..], "{name}: other values");
            ensure!(operands.index == right.index, "{name}: other indices");
            compared += 1;
        }
    }
    Ok(compared)
}

#[test]
fn calls_of_the_c_library_compute_what_the_benches_do() -> Result<()> {
    let library = Diptych::load(&library::build()?.shared, 2)?;
    let compared = same_bits::<f32>(&library)? + same_bits::<f64>(&library)?;
    ensure!(compared > 100, "only {compared} calls are known");
    Ok(())
}

/// Compares products through the C interface with those through the Rust interface, and the integers of gemmkit.
fn same_products<F>(library: &Diptych) -> Result<()>
where
    F: Factor + Multiply<F, F::Product>,
    F::Product: PartialEq,
{
    let shape = Shape::product(7, 12, 5);
    let mut right = Matrices::<F>::new(shape);
    let (a, b) = (MatRef::new(&right.a, 7, 5)?, MatRef::new(&right.b, 5, 12)?);
    let c = MatMut::new(&mut right.c, 7, 12)?;
    matmul(&Exec::new(), a, b, c, &MatmulOptions::default())?;

    let mut operands = Matrices::<F>::new(shape);
    let p = operands.pointers();
    let mut samplers = Vec::new();
    for pooled in [false, true] {
        // SAFETY: the operands outlive the samplers, and so does the library.
        samplers.push(unsafe { library.matmul(p, pooled, Clock::Wall)? });
    }
    if F::NAME == "i8" {
        // SAFETY: as above.
        samplers.extend(unsafe { crates::matmul("gemmkit", p, 1, Clock::Wall) });
    }
    for mut sampler in samplers {
        operands.c.fill(F::Product::default());
        sampler(1)?;
        ensure!(operands.c[..] == right.c[..], "{}: other values", F::NAME);
    }
    Ok(())
}

#[test]
fn products_of_the_c_library_are_those_of_rust() -> Result<()> {
    let library = Diptych::load(&library::build()?.shared, 2)?;
    same_products::<bf16>(&library)?;
    same_products::<f16>(&library)?;
    same_products::<i8>(&library)?;
    same_products::<i32>(&library)?;
    same_products::<i64>(&library)
}

fn close<T: Real>(blas: &Blas) -> Result<()> {
    let shapes = |work: Work| match work.form {
        Form::Product => vec![
            shape::<T>(work),
            Shape::product(7, 1, 5),
            Shape::product(1, 7, 5),
        ],
        Form::ProductTransposedA => vec![shape::<T>(work), Shape::product(7, 1, 5)],
        _ => vec![shape::<T>(work)],
    };
    for bench in benches::<T>() {
        for shape in shapes(bench.work) {
            let right = expected(&bench, shape)?;
            let mut operands: Operands<T> = bench.work.operands(shape);
            let p = operands.pointers();
            // SAFETY: the operands are those of the bench, and outlive the sampler.
            let sampler = unsafe { blas.sampler(bench.work, p, Clock::Wall) };
            let Some(mut sampler) = sampler else { continue };
            sampler(1)?;
            for (a, b) in operands.out.iter().zip(right.out.iter()) {
                let name = bench.work.name();
                let near = T::of(1e-3);
                let distance = if *a < *b { *b - *a } else { *a - *b };
                ensure!(distance <= near, "{name}: {a:?} for {b:?}");
            }
        }
    }
    Ok(())
}

#[test]
fn calls_of_openblas_compute_what_the_benches_do() -> Result<()> {
    match Blas::load(Kind::OpenBlas, None, 1) {
        Ok(blas) => close::<f32>(&blas).and_then(|()| close::<f64>(&blas)),
        Err(error) => skip::skip("calls of OpenBLAS", &format!("{error:#}")),
    }
}
