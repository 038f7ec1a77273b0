//! The errors of sums, dot products, variances and matrix products on ill-conditioned data, compared with NumPy and
//! PyTorch. The reference is arithmetic of 106 bits.
#![forbid(unsafe_code)]

mod data;

use anyhow::{Context, Result};
use clap::Parser;
use data::Random;
use diptych::{Exec, MatMut, MatRef};
use diptych_benches::python::Python;
use diptych_tests::oracle;
use diptych_tests::real::Dtype;
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// Measures the errors of sums and products on ill-conditioned data, beside NumPy and PyTorch if they are found.
#[derive(Parser)]
#[command(name = "cargo xtask bench --accuracy")]
struct Options {
    /// Use at most 100,000 elements.
    #[arg(long)]
    quick: bool,
    /// Directory for the results; without it, they are only printed.
    #[arg(long)]
    out: Option<PathBuf>,
}

/// Elements of ill-conditioned data.
const HARD: usize = 10_000;
const CONDITIONS: [f64; 4] = [1e4, 1e8, 1e12, 1e16];

/// The operation and operands of one row of the table.
struct Row<T> {
    op: &'static str,
    data: String,
    /// The elements and extents of each operand: rows and columns, or the length of a vector.
    operands: Vec<(Vec<T>, Vec<usize>)>,
}

/// A row of the table as text, and its relative errors.
struct Line {
    text: String,
    errors: Vec<Option<f64>>,
}

fn main() -> Result<()> {
    let options = Options::parse();
    let python = Python::start(&diptych_benches::python::interpreter(), 1);
    let mut text = head(&python);
    for line in all(&options, python.as_ref().ok())? {
        let errors = line.errors.iter().map(|&error| match error {
            Some(0.0) => "0".into(),
            Some(error) => format!("{error:.1e}"),
            None => "-".into(),
        });
        _ = writeln!(
            text,
            "| {} | {} |",
            line.text,
            errors.collect::<Vec<_>>().join(" | ")
        );
    }
    println!("{text}");
    if let Some(folder) = &options.out {
        std::fs::create_dir_all(folder)?;
        let date = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let date = date.split('T').next().unwrap_or_default();
        let file = folder.join(format!("accuracy-{date}.md"));
        std::fs::write(&file, text).with_context(|| file.display().to_string())?;
        println!("{}", file.display());
    }
    Ok(())
}

fn head(python: &Result<Python>) -> String {
    let peers = match python {
        Ok(python) => {
            let found = python.found.iter().map(|(_, version)| version.clone());
            let missing = python.missing.iter();
            let missing = missing.map(|(name, why)| format!("{name} **not found** ({why})"));
            found.chain(missing).collect::<Vec<_>>().join(", ")
        }
        Err(error) => format!("NumPy and PyTorch **not found** ({error:#})"),
    };
    format!(
        "# How exact Diptych is\n\nRelative errors against arithmetic of 106 bits, of the same \
         operands in the same order; for matrix products, the Frobenius norm of the error over \
         that of the result. Peers: {peers}. \"Plain loop\" adds from left to right in the type of \
         the operands. The condition is the sum of the terms' magnitudes over the magnitude of the \
         sum (for a variance or its root: the root mean square over the standard deviation). In general, no \
         method in that type can guarantee a relative error below the condition times the unit \
         roundoff, 6e-8 for f32 and 1e-16 for f64. Errors near or above 1 mean that no digit is right.\n\n\
         Diptych's figures are the same on every CPU level and number of threads.\n\n\
         | Operation | Data | Elements | Condition | Diptych | NumPy | PyTorch | Plain loop |\n\
         |---|---|---|---|---|---|---|---|\n"
    )
}

fn all(options: &Options, python: Option<&Python>) -> Result<Vec<Line>> {
    let mut lines = Vec::new();
    let most = if options.quick { 100_000 } else { 100_000_000 };
    one_type::<f32>(most, python, &mut lines)?;
    one_type::<f64>(most / 10, python, &mut lines)?;
    Ok(lines)
}

/// Adds the rows of one element type. The operands of each are made, measured and dropped before the next, since the
/// largest have `most` elements.
fn one_type<T: Dtype>(most: usize, python: Option<&Python>, lines: &mut Vec<Line>) -> Result<()> {
    let mut add = |op, data: &str, operands: Vec<(Vec<T>, Vec<usize>)>| -> Result<()> {
        let data = data.to_owned();
        lines.push(measure_errors(&Row { op, data, operands }, python)?);
        Ok(())
    };
    let vector = |x: Vec<T>| {
        let n = x.len();
        (x, vec![n])
    };
    let mut random = Random::new(1);
    add("sum", "in [0, 1)", vec![vector(random.above(most, 0.0))])?;
    add("sum", "in (-1, 1)", vec![vector(random.signed(most))])?;
    for condition in CONDITIONS {
        let x = random.hard_sum(HARD, condition);
        add("sum", "ill-conditioned", vec![vector(x)])?;
    }
    let (x, y) = (random.above(most, 0.0), random.above(most, 0.0));
    add("dot", "in [0, 1)", vec![vector(x), vector(y)])?;
    for condition in CONDITIONS {
        let (x, y) = random.hard_dot(HARD, condition);
        add("dot", "ill-conditioned", vec![vector(x), vector(y)])?;
    }
    add("var", "in [0, 1)", vec![vector(random.above(most, 0.0))])?;
    for op in ["var", "std"] {
        for offset in [0.0, 1.0, 1e2, 1e4, 1e6, 1e8] {
            let x = random.above(1_000_000.min(most), offset);
            add(op, &format!("{offset:e} + [0, 1)"), vec![vector(x)])?;
        }
    }
    for k in [256, 4096, 65536.min(most)] {
        let (a, b) = (random.above(SIDE * k, 0.0), random.above(k * SIDE, 0.0));
        let (of_a, of_b) = (vec![SIDE, k], vec![k, SIDE]);
        add("gemm", "in [0, 1)", vec![(a, of_a), (b, of_b)])?;
    }
    for scale in [1e-2, 1e-4] {
        let (a, b) = cancelling(&mut random, 4096, scale);
        let (of_a, of_b) = (vec![SIDE, 4096], vec![4096, SIDE]);
        add("gemm", "cancelling", vec![(a, of_a), (b, of_b)])?;
    }
    Ok(())
}

/// Rows and columns of the result of a matrix product.
const SIDE: usize = 32;

/// Returns factors [P, scale E - P] and [Q; Q], whose product is scale E Q: the large parts of all terms cancel.
fn cancelling<T: Dtype>(random: &mut Random, k: usize, scale: f64) -> (Vec<T>, Vec<T>) {
    let half = k / 2;
    let (p, e): (Vec<T>, Vec<T>) = (random.signed(SIDE * half), random.signed(SIDE * half));
    let q: Vec<T> = random.signed(half * SIDE);
    let mut a = Vec::with_capacity(SIDE * k);
    for (p, e) in p.chunks(half).zip(e.chunks(half)) {
        a.extend_from_slice(p);
        let rest = p.iter().zip(e);
        a.extend(rest.map(|(p, e)| T::of(scale * e.wide() - p.wide())));
    }
    (a, [&q[..], &q[..]].concat())
}

/// Computes the errors of Diptych, the peers and the plain loop on one row.
fn measure_errors<T: Dtype>(row: &Row<T>, python: Option<&Python>) -> Result<Line> {
    let (exact, condition) = reference(row);
    let wide = |values: Vec<T>| values.into_iter().map(T::wide).collect::<Vec<_>>();
    let own = wide(diptych(row)?);
    let plain = wide(plain_loop(row));
    let peers = match python {
        Some(python) => by_peers(row, python)?,
        None => [None, None],
    };
    let [numpy, torch] = peers.map(|values| values.map(|values| error(&values, &exact)));
    let (own, plain) = (error(&own, &exact), error(&plain, &exact));
    let (values, extents) = &row.operands[0];
    let size = match extents[..] {
        [m, k] => format!("{m}x{m}x{k}"),
        _ => values.len().to_string(),
    };
    Ok(Line {
        text: format!(
            "`{}` {} | {} | {size} | {condition:.0e}",
            row.op,
            T::DTYPE,
            row.data
        ),
        errors: vec![Some(own), numpy, torch, Some(plain)],
    })
}

/// Returns the norm of the error relative to the norm of the exact values.
fn error(values: &[f64], exact: &[f64]) -> f64 {
    let square = |x: f64| x * x;
    let difference: f64 = values.iter().zip(exact).map(|(v, e)| square(v - e)).sum();
    let size: f64 = exact.iter().map(|&e| square(e)).sum();
    (difference / size).sqrt()
}

/// Returns column `j` of a row-major matrix with `width` columns.
fn column<T: Copy>(matrix: &[T], width: usize, j: usize) -> Vec<T> {
    matrix.iter().skip(j).step_by(width).copied().collect()
}

/// Returns the reference values, which are almost exact, and the condition.
fn reference<T: Dtype>(row: &Row<T>) -> (Vec<f64>, f64) {
    let (x, extents) = &row.operands[0];
    let one = |total: oracle::Total| {
        let value = total.value.nearest();
        (vec![value], total.magnitude / value.abs())
    };
    match row.op {
        "sum" => one(oracle::sum(x)),
        "dot" => one(oracle::dot(x, &row.operands[1].0)),
        "var" | "std" => {
            let var = oracle::var(x, 1).value.nearest();
            let square = oracle::sumsq(x).value.nearest() / x.len() as f64;
            let value = match row.op {
                "var" => var,
                _ => oracle::std(x, 1).value.nearest(),
            };
            (vec![value], (square / var).sqrt())
        }
        _ => {
            let (b, k) = (&row.operands[1].0, extents[1]);
            let (mut values, mut magnitude, mut size) = (Vec::new(), 0.0, 0.0);
            for a in x.chunks(k) {
                for j in 0..SIDE {
                    let total = oracle::dot(a, &column(b, SIDE, j));
                    values.push(total.value.nearest());
                    magnitude += total.magnitude;
                    size += total.value.abs().nearest();
                }
            }
            (values, magnitude / size)
        }
    }
}

fn diptych<T: Dtype>(row: &Row<T>) -> Result<Vec<T>> {
    let exec = Exec::new();
    let (x, extents) = &row.operands[0];
    Ok(match row.op {
        "sum" => vec![diptych::sum(&exec, &x[..])?],
        "dot" => vec![diptych::dot(&exec, &x[..], &row.operands[1].0[..])?],
        "var" => vec![diptych::var(&exec, &x[..], 1)?],
        "std" => vec![diptych::std(&exec, &x[..], 1)?],
        _ => {
            let mut c = vec![T::zero(); SIDE * SIDE];
            let a = MatRef::new(x, SIDE, extents[1])?;
            let b = MatRef::new(&row.operands[1].0, extents[1], SIDE)?;
            let out = MatMut::new(&mut c, SIDE, SIDE)?;
            diptych::gemm(&exec, T::one(), a, b, T::zero(), out)?;
            c
        }
    })
}

fn plain_loop<T: Dtype>(row: &Row<T>) -> Vec<T> {
    let (x, extents) = &row.operands[0];
    let sum = |x: &[T]| x.iter().fold(T::zero(), |sum, &v| sum + v);
    let dot = |x: &[T], y: &[T]| {
        let pairs = x.iter().zip(y);
        pairs.fold(T::zero(), |sum, (&a, &b)| sum + a * b)
    };
    match row.op {
        "sum" => vec![sum(x)],
        "dot" => vec![dot(x, &row.operands[1].0)],
        "var" | "std" => {
            let mean = sum(x) / T::of_count(x.len());
            let square = |v: &T| (*v - mean) * (*v - mean);
            let squares = x.iter().fold(T::zero(), |sum, v| sum + square(v));
            let var = squares / T::of_count(x.len() - 1);
            vec![if row.op == "var" { var } else { var.root() }]
        }
        _ => {
            let b = &row.operands[1].0;
            let columns: Vec<_> = (0..SIDE).map(|j| column(b, SIDE, j)).collect();
            let rows = x.chunks(extents[1]);
            rows.flat_map(|a| columns.iter().map(move |b| dot(a, b)))
                .collect()
        }
    }
}

/// Returns the results of NumPy and of PyTorch.
fn by_peers<T: Dtype>(row: &Row<T>, python: &Python) -> Result<[Option<Vec<f64>>; 2]> {
    let folder = tempfile::tempdir()?;
    let mut files = Vec::new();
    let mut shapes = Vec::new();
    for (index, (values, extents)) in row.operands.iter().enumerate() {
        let file = folder.path().join(format!("{index}.bin"));
        save(&file, values)?;
        files.push(file);
        shapes.push(extents);
    }
    let request = json!({
        "do": "results", "op": row.op, "dtype": T::DTYPE, "files": files, "shapes": shapes,
    });
    let results = python.results(&request)?;
    Ok(["NumPy", "PyTorch"].map(|name| {
        let values = results[name].as_array()?;
        values.iter().map(serde_json::Value::as_f64).collect()
    }))
}

/// Writes the values to a file in native byte order.
fn save<T: Dtype>(path: &Path, values: &[T]) -> Result<()> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(path)?);
    for value in values {
        let bits = value.bits();
        match size_of::<T>() {
            4 => std::io::Write::write_all(&mut file, &(bits as u32).to_ne_bytes())?,
            _ => std::io::Write::write_all(&mut file, &bits.to_ne_bytes())?,
        }
    }
    std::io::Write::flush(&mut file)?;
    Ok(())
}
