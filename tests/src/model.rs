//! The canonical orders in their simplest form: one scalar at a time, no blocking, no vectors, no shortcuts.
//! The kernels of every level must give these bits.
//!
//! A vector is a slice and a matrix is rows of a [`Dense`]: the tests gather strided operands
//! before they call the model, because strides never change bits.

use crate::layout::Strides;
use crate::real::Real;

/// The length of a segment: the terms of one gemm chain before it is multiplied by alpha and added to C.
pub const KSEG: usize = 256;
/// Rows of `A` in one block of lsq_grad.
pub const LSQ_ROWS: usize = 32;

/// A row-major matrix without gaps.
#[derive(Clone, Debug)]
pub struct Dense<T> {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// `rows * cols` elements.
    pub data: Vec<T>,
}

impl<T: Real> Dense<T> {
    /// The strides of the elements in [`Dense::data`].
    pub fn strides(&self) -> Strides {
        Strides {
            rs: self.cols as i64,
            cs: 1,
        }
    }
    /// Element in row `i`, column `j`.
    pub fn at(&self, i: usize, j: usize) -> T {
        self.data[i * self.cols + j]
    }
    /// Row `i`.
    pub fn row(&self, i: usize) -> &[T] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }
    /// A copy of column `j`.
    pub fn column(&self, j: usize) -> Vec<T> {
        (0..self.rows).map(|i| self.at(i, j)).collect()
    }
}

// ---- reductions ------------------------------------------------------------------------------

/// Pairwise tree: the left part has the largest power of two of elements below the count.
fn tree<T: Real>(v: &[T], empty: T, join: fn(T, T) -> T) -> T {
    match v.len() {
        0 => empty,
        1 => v[0],
        c => {
            let mut p = 1;
            while p * 2 < c {
                p *= 2;
            }
            join(tree(&v[..p], empty, join), tree(&v[p..], empty, join))
        }
    }
}

/// Reduces in chunks of lanes, with a halving tree over the lanes and a pairwise tree over the chunks.
/// `step(lane, i)` folds element `i` into its lane; `start` is the initial value of each lane.
fn reduce<T: Real>(n: usize, start: T, step: impl Fn(T, usize) -> T, join: fn(T, T) -> T) -> T {
    let mut chunks = Vec::new();
    let mut first = 0;
    while first < n {
        let last = n.min(first + T::CHUNK);
        let mut lane = vec![start; T::LANE_COUNT];
        for i in first..last {
            let l = (i - first) % T::LANE_COUNT;
            lane[l] = step(lane[l], i);
        }
        let mut width = T::LANE_COUNT / 2;
        while width >= 1 {
            for l in 0..width {
                lane[l] = join(lane[l], lane[l + width]);
            }
            width /= 2;
        }
        chunks.push(lane[0]);
        first = last;
    }
    tree(&chunks, start, join)
}

/// A reduction by addition: its result is never -0, and the only NaN that it returns is the canonical one.
fn reduce_sum<T: Real>(n: usize, step: impl Fn(T, usize) -> T) -> T {
    canonical(reduce(n, T::zero(), step, |a, b| a + b) + T::zero())
}

/// Replaces any NaN by the canonical one.
pub fn canonical<T: Real>(r: T) -> T {
    if r.nan() { T::canonical_nan() } else { r }
}

/// x\[0\] + x\[1\] + ...
pub fn sum<T: Real>(x: &[T]) -> T {
    reduce_sum(x.len(), |lane, i| lane + x[i])
}

/// |x\[0\]| + |x\[1\]| + ...
pub fn asum<T: Real>(x: &[T]) -> T {
    reduce_sum(x.len(), |lane, i| lane + x[i].magnitude())
}

/// x\[0\] y\[0\] + x\[1\] y\[1\] + ...
pub fn dot<T: Real>(x: &[T], y: &[T]) -> T {
    reduce_sum(x.len(), |lane, i| x[i].fused(y[i], lane))
}

/// x\[0\]^2 + x\[1\]^2 + ...
pub fn sumsq<T: Real>(x: &[T]) -> T {
    dot(x, x)
}

/// x\[0\] x\[1\] ...; lanes start at 1, so a -0 product stays -0.
pub fn prod<T: Real>(x: &[T]) -> T {
    canonical(reduce(
        x.len(),
        T::one(),
        |lane, i| lane * x[i],
        |a, b| a * b,
    ))
}

/// sum / n, one division.
pub fn mean<T: Real>(x: &[T]) -> T {
    canonical(sum(x) / T::of_count(x.len()))
}

/// Two passes: the mean, then the deviations and their squares, less the square of the mean's error; one division by
/// n - ddof.
///
/// If the result is not finite, that of the elements scaled down, scaled back.
pub fn var<T: Real>(x: &[T], ddof: usize) -> T {
    let result = var_about(x, mean(x), ddof);
    if result.nan() || result == T::of(f64::INFINITY) {
        let up = T::power_of_two(T::VARIANCE_SCALE);
        return canonical(scaled_var(x, -T::VARIANCE_SCALE, ddof) * up * up);
    }
    result
}

/// The variance of elements times 2^e; NaN if one is infinite.
fn scaled_var<T: Real>(x: &[T], e: i32, ddof: usize) -> T {
    let factor = T::power_of_two(e);
    let scaled: Vec<T> = x.iter().map(|&v| v * factor).collect();
    let mean = mean(&scaled);
    if mean.nan() || mean.magnitude() == T::of(f64::INFINITY) {
        return T::canonical_nan();
    }
    // A known value has room for the mean without the last two bits of its fraction.
    var_about(&scaled, T::of_bits(mean.bits() & !3), ddof)
}

/// The variance from the distances from `mean`.
fn var_about<T: Real>(x: &[T], mean: T, ddof: usize) -> T {
    let n = T::of_count(x.len());
    let deviations = reduce_sum(x.len(), |lane: T, i| lane + (x[i] - mean));
    let squares = reduce_sum(x.len(), |lane, i| {
        let d = x[i] - mean;
        d.fused(d, lane)
    });
    let mut corrected = squares - deviations * (deviations / n);
    if corrected < T::zero() {
        corrected = T::zero();
    }
    if squares == T::of(f64::INFINITY) {
        corrected = squares;
    }
    canonical(corrected / T::of_count(x.len() - ddof))
}

/// The square root of the variance; of scaled elements, scaled back, where the variance is not finite, or tiny about a mean
/// that is small.
pub fn std<T: Real>(x: &[T], ddof: usize) -> T {
    let mean = mean(x);
    let variance = var_about(x, mean, ddof);
    let root = |e: i32| scaled_var(x, e, ddof).root() * T::power_of_two(-e);
    let tiny = T::power_of_two(T::TINY_SUMSQ_EXPONENT);
    let small = T::power_of_two(-T::VARIANCE_SCALE / 4);
    canonical(if variance.nan() || variance == T::of(f64::INFINITY) {
        root(-T::VARIANCE_SCALE)
    } else if variance < tiny && mean.magnitude() < small {
        root(T::VARIANCE_SCALE)
    } else {
        variance.root()
    })
}

/// sqrt(sumsq); if that overflowed, or may have lost digits to underflow, the same of the elements
/// scaled by a power of two, and scaled back.
pub fn nrm2<T: Real>(x: &[T]) -> T {
    let squares = sumsq(x);
    let overflowed = squares == T::of(f64::INFINITY);
    if squares.nan() || !(overflowed || squares < T::power_of_two(T::TINY_SUMSQ_EXPONENT)) {
        return canonical(squares.root());
    }
    let largest = x.iter().fold(
        T::zero(),
        |m, v| if v.magnitude() > m { v.magnitude() } else { m },
    );
    if largest == T::zero() || largest == T::of(f64::INFINITY) {
        return largest;
    }
    let e = ilogb(largest).clamp(-T::SCALE_LIMIT, T::SCALE_LIMIT);
    let down = T::power_of_two(-e);
    let scaled: Vec<T> = x.iter().map(|&v| v * down).collect();
    sumsq(&scaled).root() * T::power_of_two(e)
}

/// The exponent of a positive finite number, subnormal or not.
fn ilogb<T: Real>(x: T) -> i32 {
    let mut e = 0;
    let mut v = x.wide();
    while v >= 2.0 {
        v /= 2.0;
        e += 1;
    }
    while v < 1.0 {
        v *= 2.0;
        e -= 1;
    }
    e
}

/// Least element: NaN wins, -0 < +0. `None` if there are no elements.
pub fn min<T: Real>(x: &[T]) -> Option<T> {
    extreme(x, |a, b| a < b || (a == b && a.negative()))
}

/// Greatest element: NaN wins, -0 < +0. `None` if there are no elements.
pub fn max<T: Real>(x: &[T]) -> Option<T> {
    extreme(x, |a, b| a > b || (a == b && b.negative()))
}

fn extreme<T: Real>(x: &[T], wins: fn(T, T) -> bool) -> Option<T> {
    if x.iter().any(|v| v.nan()) {
        return Some(T::canonical_nan());
    }
    x.iter()
        .copied()
        .reduce(|best, v| if wins(v, best) { v } else { best })
}

/// Index of the first NaN, else of the first least element (by value: -0 equals +0).
pub fn argmin<T: Real>(x: &[T]) -> Option<usize> {
    first_extreme(x, |a, b| a < b)
}

/// Index of the first NaN, else of the first greatest element (by value: -0 equals +0).
pub fn argmax<T: Real>(x: &[T]) -> Option<usize> {
    first_extreme(x, |a, b| a > b)
}

/// The number of elements that are not 0.
pub fn count_nonzero<T: Real>(x: &[T]) -> usize {
    x.iter().filter(|&&v| v != T::zero()).count()
}

fn first_extreme<T: Real>(x: &[T], wins: fn(T, T) -> bool) -> Option<usize> {
    if let Some(i) = x.iter().position(|v| v.nan()) {
        return Some(i);
    }
    (0..x.len()).reduce(|best, i| if wins(x[i], x[best]) { i } else { best })
}

// ---- elementwise -----------------------------------------------------------------------------

/// A NaN in any argument gives NaN; `lo > hi` gives `hi`; a value equal to a bound keeps its bits.
pub fn clamp<T: Real>(x: T, lo: T, hi: T) -> T {
    if x.nan() || lo.nan() || hi.nan() {
        return T::canonical_nan();
    }
    let raised = if x < lo { lo } else { x };
    if raised > hi { hi } else { raised }
}

/// The gradient where lo <= x <= hi, else +0 (also for NaN).
pub fn clamp_backward<T: Real>(x: T, grad: T, lo: T, hi: T) -> T {
    if lo <= x && x <= hi { grad } else { T::zero() }
}

/// x + y.
pub fn add<T: Real>(x: T, y: T) -> T {
    x + y
}

/// x - y.
pub fn sub<T: Real>(x: T, y: T) -> T {
    x - y
}

/// x y.
pub fn mul<T: Real>(x: T, y: T) -> T {
    x * y
}

/// x / y.
pub fn div<T: Real>(x: T, y: T) -> T {
    x / y
}

/// alpha x.
pub fn scale<T: Real>(alpha: T, x: T) -> T {
    alpha * x
}

/// x squared.
pub fn square<T: Real>(x: T) -> T {
    x * x
}

/// x with its sign bit cleared.
pub fn abs<T: Real>(x: T) -> T {
    x.magnitude()
}

/// x with its sign bit flipped.
pub fn neg<T: Real>(x: T) -> T {
    -x
}

/// The lesser of two; NaN wins, -0 < +0.
pub fn minimum<T: Real>(x: T, y: T) -> T {
    if x.nan() || y.nan() {
        return T::canonical_nan();
    }
    if x < y || (x == y && x.negative()) {
        x
    } else {
        y
    }
}

/// The greater of two; NaN wins, -0 < +0.
pub fn maximum<T: Real>(x: T, y: T) -> T {
    if x.nan() || y.nan() {
        return T::canonical_nan();
    }
    if x > y || (x == y && y.negative()) {
        x
    } else {
        y
    }
}

/// The value itself.
pub fn fill<T: Real>(value: T) -> T {
    value
}

/// y + alpha x, one rounding.
pub fn axpy<T: Real>(alpha: T, x: T, y: T) -> T {
    alpha.fused(x, y)
}

/// a + (alpha x_i) y_j: the product with alpha is rounded, then one fma.
pub fn ger<T: Real>(alpha: T, x: T, y: T, a: T) -> T {
    (alpha * x).fused(y, a)
}

/// The gradient 2 (p - t), and the loss: the canonical reduction of (p - t)^2.
pub fn mse_grad<T: Real>(pred: &[T], target: &[T]) -> (Vec<T>, T) {
    let d: Vec<T> = pred.iter().zip(target).map(|(&p, &t)| p - t).collect();
    let grad = d.iter().map(|&d| T::of(2.0) * d).collect();
    (grad, sumsq(&d))
}

// ---- matrices --------------------------------------------------------------------------------

/// alpha A B + beta C.
pub fn gemm<T: Real>(alpha: T, a: &Dense<T>, b: &Dense<T>, beta: T, c: &Dense<T>) -> Dense<T> {
    let vector = a.rows == 1 || b.cols == 1;
    let mut out = c.clone();
    for j in 0..b.cols {
        let column = b.column(j);
        for i in 0..a.rows {
            let element = if alpha == T::zero() || a.cols == 0 {
                if beta == T::zero() {
                    T::zero()
                } else {
                    beta * c.at(i, j)
                }
            } else if vector {
                let t = dot(a.row(i), &column);
                first_segment(alpha, t, beta, c.at(i, j))
            } else {
                gemm_element(alpha, a.row(i), &column, beta, c.at(i, j))
            };
            out.data[i * out.cols + j] = element;
        }
    }
    out
}

/// One element of a product that is not a matrix-vector product: one chain per segment of k.
fn gemm_element<T: Real>(alpha: T, row: &[T], column: &[T], beta: T, c: T) -> T {
    let mut c = c;
    for (q, (row, column)) in row.chunks(KSEG).zip(column.chunks(KSEG)).enumerate() {
        let mut s = T::zero();
        for (&a, &b) in row.iter().zip(column) {
            s = a.fused(b, s);
        }
        c = if q == 0 {
            first_segment(alpha, s, beta, c)
        } else {
            alpha.fused(s, c)
        };
    }
    c
}

fn first_segment<T: Real>(alpha: T, s: T, beta: T, c: T) -> T {
    if beta == T::zero() {
        alpha * s
    } else {
        alpha.fused(s, beta * c)
    }
}

/// The epilogue of `gemm_fused` after the last segment: one addition of the bias, then clamp.
#[derive(Clone, Debug)]
pub struct Epilogue<T> {
    /// A bias per row.
    pub per_row: Option<Vec<T>>,
    /// A bias per column.
    pub per_column: Option<Vec<T>>,
    /// Lower and upper bound.
    pub clamp: Option<(T, T)>,
}

/// Applies an epilogue to a finished product.
pub fn fuse<T: Real>(mut c: Dense<T>, epilogue: &Epilogue<T>) -> Dense<T> {
    for i in 0..c.rows {
        for j in 0..c.cols {
            let v = &mut c.data[i * c.cols + j];
            if let Some(bias) = &epilogue.per_row {
                *v = *v + bias[i];
            }
            if let Some(bias) = &epilogue.per_column {
                *v = *v + bias[j];
            }
            if let Some((lo, hi)) = epilogue.clamp {
                *v = clamp(*v, lo, hi);
            }
        }
    }
    c
}

/// 2 A^T (A x - y): the residual of each row by `dot`; then, for each column, chains of 32 rows and a tree over them.
pub fn lsq_grad<T: Real>(a: &Dense<T>, x: &[T], y: &[T]) -> Vec<T> {
    let r: Vec<T> = (0..a.rows).map(|i| dot(a.row(i), x) - y[i]).collect();
    let gradient = |j: usize| {
        let mut blocks = Vec::new();
        for first in (0..a.rows).step_by(LSQ_ROWS) {
            let mut s = T::zero();
            for (i, &residual) in r.iter().enumerate().skip(first).take(LSQ_ROWS) {
                s = a.at(i, j).fused(residual, s);
            }
            blocks.push(s);
        }
        canonical(T::of(2.0) * tree(&blocks, T::zero(), |a, b| a + b) + T::zero())
    };
    (0..a.cols).map(gradient).collect()
}
