//! Error bounds as numbers, from the tolerances of the table of operations.

use diptych::table;
pub use diptych::table::Tolerance;

use crate::oracle::Total;
use crate::real::Real;

/// Returns how far an operation may be from the exact result.
///
/// # Panics
/// If there is no operation of this name.
pub fn tolerance(op: &str) -> Tolerance {
    let found = table::tolerance(op);
    found.unwrap_or_else(|| panic!("kernels-cpu/src/table.rs says nothing about {op}"))
}

/// The growth factor of h roundings, g(h) = h u / (1 - h u) with u the unit roundoff of `T`.
pub fn growth<T: Real>(h: usize) -> f64 {
    let hu = h as f64 * T::ROUNDOFF;
    hu / (1.0 - hu)
}

/// Returns the longest chain of roundings in a reduction of n elements.
pub fn reduction_depth<T: Real>(n: usize) -> usize {
    let steps = n.div_ceil(T::LANE_COUNT).saturating_sub(1).min(31);
    steps + ceil_log2(T::LANE_COUNT) + ceil_log2(n.div_ceil(T::CHUNK))
}

fn ceil_log2(n: usize) -> usize {
    n.max(1).next_power_of_two().trailing_zeros() as usize
}

/// Returns the absolute error bound. `n` is the reduced length (k of gemm), `rows` the m of lsq_grad, and
/// `magnitude` the factor of the relative bound.
pub fn bound<T: Real>(op: &str, n: usize, rows: usize, magnitude: f64) -> f64 {
    let (depth, tolerance) = (reduction_depth::<T>(n), tolerance(op));
    let h = match tolerance {
        Tolerance::Exact => 0,
        Tolerance::Reduction(extra)
        | Tolerance::Variance(extra)
        | Tolerance::StandardDeviation(extra) => depth + extra,
        Tolerance::Product(extra) => n + extra,
        Tolerance::Root(extra) => depth / 2 + extra,
        Tolerance::Chain(extra) => n.min(256) + n.div_ceil(256) + extra,
        Tolerance::LeastSquares(extra) => depth + 32 + ceil_log2(rows.div_ceil(32)) + extra,
        Tolerance::Logarithm(extra) => extra,
    };
    // A logarithm near 0 is the sum of larger terms, and has their rounding error.
    let absolute = if let Tolerance::Logarithm(_) = tolerance {
        T::ROUNDOFF
    } else {
        0.0
    };
    growth::<T>(h) * magnitude + absolute
}

/// Returns the error bound of a reduction of `n` elements; `freedom` is n - ddof, the divisor of a variance.
pub fn reduction_bound<T: Real>(op: &str, n: usize, freedom: usize, total: &Total) -> f64 {
    let result = total.magnitude;
    match tolerance(op) {
        Tolerance::Variance(_) => variance_bound::<T>(op, n, freedom, result, total.mean),
        Tolerance::StandardDeviation(_) => {
            let bound = variance_bound::<T>(op, n, freedom, result * result, total.mean);
            let of_root = if result * result > bound {
                bound / result
            } else {
                bound.sqrt()
            };
            of_root + T::ROUNDOFF * (result + of_root)
        }
        _ => bound::<T>(op, n, 0, result),
    }
}

/// Returns the error bound of a variance. With e the error of the mean, the terms of the sum of squares add up to
/// n (variance + e^2), those of the sum of deviations to at most n sqrt(variance + e^2). What the latter takes out is
/// n e^2, with the relative error of n e.
fn variance_bound<T: Real>(op: &str, n: usize, freedom: usize, variance: f64, mean: f64) -> f64 {
    let mean_error = growth::<T>(reduction_depth::<T>(n) + 1) * mean;
    let shift = mean_error * mean_error * n as f64 / freedom as f64;
    let squares = variance + shift;
    1.01 * bound::<T>(op, n, 0, squares + 2.0 * (shift * squares).sqrt() + shift)
}

#[cfg(test)]
mod tests {
    use super::reduction_depth;

    #[test]
    fn depths_are_those_of_the_written_order() {
        assert_eq!(reduction_depth::<f32>(1_000), 21);
        assert_eq!(reduction_depth::<f32>(10_000_000), 50);
        assert_eq!(reduction_depth::<f32>(1_000_000_000), 56);
    }
}
