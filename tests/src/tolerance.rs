//! How far each operation may be from the exact result. One table; everything not named here is
//! not judged by the oracle.
//!
//! u is the unit roundoff and g(h) = hu / (1 - hu) bounds the error of h roundings in a row. The
//! canonical order makes h small: 31 steps in a lane, the tree over the lanes, the tree over chunks.

use crate::real::Real;

/// The kind of promise an operation makes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// The correctly rounded result: 0 ulp.
    Exact,
    /// g(h of the reduction + this many) times the sum of the terms' magnitudes.
    Reduction(usize),
    /// g(n + this many) times the magnitude of the result.
    Product(usize),
    /// g(half the h of the reduction + this many) times the result: the root halves errors.
    Root(usize),
    /// g(h + this many) times the result, and the square of the mean's error.
    Variance(usize),
    /// g(min(k, 256) + ceil(k / 256) + this many) times the sum of magnitudes.
    Chain(usize),
    /// The residual's reduction, a chain of 32 rows, a tree, and this many.
    LeastSquares(usize),
    /// This many u of |max| + |log of the sum|.
    Logarithm(usize),
}

/// The table.
pub fn tolerance(op: &str) -> Tolerance {
    match op {
        "clamp" | "clamp_backward" | "add" | "sub" | "mul" | "div" => Tolerance::Exact,
        "scale" | "axpy" | "square" | "fill" | "outer" => Tolerance::Exact,
        "min" | "max" | "argmin" | "argmax" => Tolerance::Exact,
        "ger" => Tolerance::Reduction(2),
        "sum" | "asum" => Tolerance::Reduction(0),
        "mean" => Tolerance::Reduction(1),
        "dot" | "sumsq" => Tolerance::Reduction(1),
        "mse_grad" => Tolerance::Reduction(3),
        "prod" => Tolerance::Product(0),
        "nrm2" => Tolerance::Root(2),
        "var" => Tolerance::Variance(4),
        "gemm" | "gemm_batched" => Tolerance::Chain(2),
        "gemm_fused" => Tolerance::Chain(3),
        "lsq_grad" => Tolerance::LeastSquares(3),
        "logsumexp" => Tolerance::Logarithm(3),
        other => panic!("tests/src/tolerance.rs says nothing about {other}"),
    }
}

/// g(h) for dtype T.
pub fn growth<T: Real>(h: usize) -> f64 {
    let hu = h as f64 * T::ROUNDOFF;
    hu / (1.0 - hu)
}

/// Longest chain of roundings in a reduction of n elements.
pub fn reduction_depth<T: Real>(n: usize) -> usize {
    let steps = n.div_ceil(T::LANE_COUNT).saturating_sub(1).min(31);
    steps + ceil_log2(T::LANE_COUNT) + ceil_log2(n.div_ceil(T::CHUNK))
}

fn ceil_log2(n: usize) -> usize {
    n.max(1).next_power_of_two().trailing_zeros() as usize
}

/// The bound as a number. `n` is the reduced length (k of gemm), `rows` the m of lsq_grad,
/// `magnitude` what the kind of tolerance multiplies.
pub fn bound<T: Real>(op: &str, n: usize, rows: usize, magnitude: f64) -> f64 {
    let depth = reduction_depth::<T>(n);
    let h = match tolerance(op) {
        Tolerance::Exact => 0,
        Tolerance::Reduction(extra) | Tolerance::Variance(extra) => depth + extra,
        Tolerance::Product(extra) => n + extra,
        Tolerance::Root(extra) => depth / 2 + extra,
        Tolerance::Chain(extra) => n.min(256) + n.div_ceil(256) + extra,
        Tolerance::LeastSquares(extra) => depth + 32 + ceil_log2(rows.div_ceil(32)) + extra,
        Tolerance::Logarithm(extra) => extra,
    };
    growth::<T>(h) * magnitude
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
