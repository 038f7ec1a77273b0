//! The operations computed naively in about 106 bits: left to right, no blocks, no lanes. The oracle shares no code
//! with the kernels or with the model of their order.
//!
//! Each sum comes with the sum of its terms' magnitudes, which scales the error bound.

use crate::real::Real;
use crate::wide::Wide;

/// A result, and the magnitudes that scale its error bound.
#[derive(Clone, Copy, Debug)]
pub struct Total {
    /// The result, nearly exact.
    pub value: Wide,
    /// For sums, the sum of the terms' magnitudes; otherwise the magnitude of the result.
    pub magnitude: f64,
    /// For a variance or its root, the magnitude of the mean, whose error enters the bound squared; otherwise 0.
    pub mean: f64,
}

impl Total {
    fn new(value: Wide, magnitude: f64) -> Total {
        Total {
            value,
            magnitude,
            mean: 0.0,
        }
    }

    /// Makes the total of a result that is not a sum.
    fn of(value: Wide) -> Total {
        Total::new(value, value.abs().nearest())
    }
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
    Total::new(value, magnitude)
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
pub fn prod<T: Real>(x: &[T]) -> Total {
    Total::of(x.iter().fold(Wide::from(1.0), |p, &v| p * wide(v)))
}

/// Mean.
pub fn mean<T: Real>(x: &[T]) -> Total {
    let sum = sum(x);
    let n = x.len() as f64;
    Total::new(sum.value / Wide::from(n), sum.magnitude / n)
}

/// Variance by its definition.
pub fn var<T: Real>(x: &[T], ddof: usize) -> Total {
    let mean = mean(x);
    let squares = total(x.iter().map(|&v| {
        let d = wide(v) - mean.value;
        d * d
    }));
    let value = squares.value / Wide::from((x.len() - ddof) as f64);
    Total {
        mean: mean.magnitude,
        ..Total::of(value)
    }
}

/// Standard deviation.
pub fn std<T: Real>(x: &[T], ddof: usize) -> Total {
    let var = var(x, ddof);
    Total {
        mean: var.mean,
        ..Total::of(var.value.sqrt())
    }
}

/// Euclidean norm; the squares must neither overflow nor underflow.
pub fn nrm2<T: Real>(x: &[T]) -> Total {
    Total::of(sumsq(x).value.sqrt())
}

/// Each element of a row divided by the row's Euclidean norm; as in [`nrm2`], the squares must stay in range.
pub fn normalize<T: Real>(row: &[T]) -> Vec<Total> {
    let norm = nrm2(row).value;
    row.iter().map(|&v| Total::of(wide(v) / norm)).collect()
}

/// log(sum exp x).
pub fn logsumexp<T: Real>(x: &[T]) -> Total {
    let top = x.iter().fold(f64::NEG_INFINITY, |m, v| m.max(v.wide()));
    if x.is_empty() {
        return Total::new(Wide::from(top), top.abs());
    }
    let terms = x.iter().filter(|v| v.wide() - top > -600.0);
    let sum = terms.fold(Wide::default(), |s, &v| {
        s + (wide(v) - Wide::from(top)).exp()
    });
    let value = Wide::from(top) + sum.ln();
    let log = (value - Wide::from(top)).abs().nearest();
    Total::new(value, top.abs() + log)
}

/// Least element.
pub fn min<T: Real>(x: &[T]) -> Total {
    let least = x.iter().fold(f64::INFINITY, |m, v| m.min(v.wide()));
    Total::of(Wide::from(least))
}

/// Greatest element.
pub fn max<T: Real>(x: &[T]) -> Total {
    let greatest = x.iter().fold(f64::NEG_INFINITY, |m, v| m.max(v.wide()));
    Total::of(Wide::from(greatest))
}

/// One element of alpha A B + beta C.
pub fn gemm_element<T: Real>(alpha: T, row: &[T], column: &[T], beta: T, c: T) -> Total {
    let product = dot(row, column);
    let old = wide(beta) * wide(c);
    Total::new(
        wide(alpha) * product.value + old,
        alpha.wide().abs() * product.magnitude + old.abs().nearest(),
    )
}

/// 2 A^T (A x - y), with the sum of the magnitudes of all terms.
pub fn lsq_grad<T: Real>(rows: usize, cols: usize, a: &[T], x: &[T], y: &[T]) -> Vec<Total> {
    let mut grad = vec![Total::new(Wide::default(), 0.0); cols];
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

// ---- elementwise: exact arithmetic with one rounding -------------------------------------------

/// x limited to lo .. hi.
pub fn clamp<T: Real>(x: T, lo: T, hi: T) -> T {
    T::of(x.wide().max(lo.wide()).min(hi.wide()))
}

/// The gradient where x lies in lo .. hi, else 0.
pub fn clamp_backward<T: Real>(x: T, grad: T, lo: T, hi: T) -> T {
    if x.wide() >= lo.wide() && x.wide() <= hi.wide() {
        grad
    } else {
        T::zero()
    }
}

/// x + y.
pub fn add<T: Real>(x: T, y: T) -> T {
    (wide(x) + wide(y)).round()
}

/// x - y.
pub fn sub<T: Real>(x: T, y: T) -> T {
    (wide(x) - wide(y)).round()
}

/// x y, also of outer products.
pub fn mul<T: Real>(x: T, y: T) -> T {
    (wide(x) * wide(y)).round()
}

/// x / y.
pub fn div<T: Real>(x: T, y: T) -> T {
    (wide(x) / wide(y)).round()
}

/// alpha x.
pub fn scale<T: Real>(alpha: T, x: T) -> T {
    (wide(alpha) * wide(x)).round()
}

/// alpha x + y.
pub fn axpy<T: Real>(alpha: T, x: T, y: T) -> T {
    (wide(alpha) * wide(x) + wide(y)).round()
}

/// x squared.
pub fn square<T: Real>(x: T) -> T {
    (wide(x) * wide(x)).round()
}

/// |x|.
pub fn abs<T: Real>(x: T) -> T {
    wide(x).abs().round()
}

/// -x.
pub fn neg<T: Real>(x: T) -> T {
    T::of(-x.wide())
}

/// The lesser of two; NaN if either is NaN.
pub fn minimum<T: Real>(x: T, y: T) -> T {
    match (x.wide() - y.wide()).partial_cmp(&0.0) {
        _ if x.wide() == y.wide() => {
            if x.negative() {
                x
            } else {
                y
            }
        }
        Some(core::cmp::Ordering::Less) => x,
        Some(_) => y,
        None => T::of(f64::NAN),
    }
}

/// The greater of two; NaN if either is NaN.
pub fn maximum<T: Real>(x: T, y: T) -> T {
    match (x.wide() - y.wide()).partial_cmp(&0.0) {
        _ if x.wide() == y.wide() => {
            if x.negative() {
                y
            } else {
                x
            }
        }
        Some(core::cmp::Ordering::Less) => y,
        Some(_) => x,
        None => T::of(f64::NAN),
    }
}

/// The value itself.
pub fn fill<T: Real>(value: T) -> T {
    value
}
