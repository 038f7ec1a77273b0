//! The canonical orders of reductions.

use crate::real::Real;

/// Pairwise tree: the left part has the largest power of two of elements below the count.
pub(super) fn tree<T: Real>(v: &[T], empty: T, join: fn(T, T) -> T) -> T {
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
