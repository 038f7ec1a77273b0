//! What the operations mean, computed naively in about 106 bits: left to right, no blocks, no
//! lanes. It shares nothing with the kernels nor with the model of their order.
//!
//! Sums come with the sum of their terms' magnitudes, which scales the error bound.

use crate::real::Real;
use crate::wide::Wide;

/// A sum, and the sum of the magnitudes of its terms.
#[derive(Clone, Copy, Debug)]
pub struct Total {
    /// The exact sum, nearly.
    pub value: Wide,
    /// What its error is measured against.
    pub magnitude: f64,
}

fn wide<T: Real>(x: T) -> Wide {
    Wide::from(x.wide())
}

fn total(terms: impl Iterator<Item = Wide>) -> Total {
    let mut value = Wide::default();
    let mut magnitude = 0.0;
    for term in terms {
        value = value + term;
        magnitude += term.abs().nearest();
    }
    Total { value, magnitude }
}

/// Sum of x.
pub fn sum<T: Real>(x: &[T]) -> Total {
    total(x.iter().map(|&v| wide(v)))
}

/// Sum of |x|.
pub fn asum<T: Real>(x: &[T]) -> Total {
    total(x.iter().map(|&v| wide(v).abs()))
}

/// Sum of x y.
pub fn dot<T: Real>(x: &[T], y: &[T]) -> Total {
    total(x.iter().zip(y).map(|(&a, &b)| wide(a) * wide(b)))
}

/// Sum of squares.
pub fn sumsq<T: Real>(x: &[T]) -> Total {
    dot(x, x)
}

/// Product.
pub fn prod<T: Real>(x: &[T]) -> Wide {
    x.iter().fold(Wide::from(1.0), |p, &v| p * wide(v))
}

/// Mean.
pub fn mean<T: Real>(x: &[T]) -> Total {
    let sum = sum(x);
    let n = x.len() as f64;
    Total {
        value: sum.value / Wide::from(n),
        magnitude: sum.magnitude / n,
    }
}

/// Variance by its definition.
pub fn var<T: Real>(x: &[T], ddof: usize) -> Wide {
    let mean = mean(x).value;
    let squares = total(x.iter().map(|&v| {
        let d = wide(v) - mean;
        d * d
    }));
    squares.value / Wide::from((x.len() - ddof) as f64)
}

/// Euclidean norm; the caller keeps the squares in range.
pub fn nrm2<T: Real>(x: &[T]) -> Wide {
    sumsq(x).value.sqrt()
}

/// log(sum exp x).
pub fn logsumexp<T: Real>(x: &[T]) -> Wide {
    let top = x.iter().fold(f64::NEG_INFINITY, |m, v| m.max(v.wide()));
    let terms = x.iter().filter(|v| v.wide() - top > -600.0);
    let sum = terms.fold(Wide::default(), |s, &v| {
        s + (wide(v) - Wide::from(top)).exp()
    });
    Wide::from(top) + sum.ln()
}

/// One element of alpha A B + beta C.
pub fn gemm_element<T: Real>(alpha: T, row: &[T], column: &[T], beta: T, c: T) -> Total {
    let product = dot(row, column);
    let old = wide(beta) * wide(c);
    Total {
        value: wide(alpha) * product.value + old,
        magnitude: alpha.wide().abs() * product.magnitude + old.abs().nearest(),
    }
}

/// 2 A^T (A x - y), with the magnitudes of everything that was added up.
pub fn lsq_grad<T: Real>(rows: usize, cols: usize, a: &[T], x: &[T], y: &[T]) -> Vec<Total> {
    let mut grad = vec![
        Total {
            value: Wide::default(),
            magnitude: 0.0
        };
        cols
    ];
    for i in 0..rows {
        let row = &a[i * cols..(i + 1) * cols];
        let product = dot(row, x);
        let residual = product.value - wide(y[i]);
        let scale = product.magnitude + y[i].wide().abs();
        for (g, &aij) in grad.iter_mut().zip(row) {
            g.value = g.value + Wide::from(2.0) * wide(aij) * residual;
            g.magnitude += 2.0 * aij.wide().abs() * scale;
        }
    }
    grad
}

/// Elementwise operations of one exact step and one rounding.
pub fn exact<T: Real>(op: &str, x: T, y: T, alpha: T) -> T {
    let (x, y, alpha) = (wide(x), wide(y), wide(alpha));
    let value = match op {
        "add" => x + y,
        "sub" => x - y,
        "mul" | "outer" => x * y,
        "div" => x / y,
        "scale" => alpha * x,
        "square" => x * x,
        "axpy" => alpha * x + y,
        other => panic!("the oracle knows no elementwise {other}"),
    };
    value.round()
}
