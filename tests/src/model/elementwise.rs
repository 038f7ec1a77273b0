//! Elementwise operations.

use super::reductions::sumsq;
use crate::real::Real;

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
