//! Double-double arithmetic: an unevaluated sum of two f64, about 106 bits. Wide enough to check f64.
//!
//! Uses the textbook error-free transformations (Knuth's two-sum, the product's error by fma). Only for finite
//! values that neither overflow nor underflow.

use core::ops::{Add, Div, Mul, Neg, Sub};

use crate::real::Real;

/// `hi + lo`, with `lo` at most half an ulp of `hi`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Wide {
    hi: f64,
    lo: f64,
}

fn two_sum(a: f64, b: f64) -> Wide {
    let hi = a + b;
    let b_part = hi - a;
    Wide {
        hi,
        lo: (a - (hi - b_part)) + (b - b_part),
    }
}

impl From<f64> for Wide {
    fn from(hi: f64) -> Wide {
        Wide { hi, lo: 0.0 }
    }
}

impl Add for Wide {
    type Output = Wide;
    fn add(self, o: Wide) -> Wide {
        let high = two_sum(self.hi, o.hi);
        let low = two_sum(self.lo, o.lo);
        let s = two_sum(high.hi, high.lo + low.hi);
        two_sum(s.hi, s.lo + low.lo)
    }
}

impl Neg for Wide {
    type Output = Wide;
    fn neg(self) -> Wide {
        Wide {
            hi: -self.hi,
            lo: -self.lo,
        }
    }
}

impl Sub for Wide {
    type Output = Wide;
    fn sub(self, o: Wide) -> Wide {
        self + -o
    }
}

impl Mul for Wide {
    type Output = Wide;
    fn mul(self, o: Wide) -> Wide {
        let hi = self.hi * o.hi;
        let lo = self.hi.mul_add(o.hi, -hi) + (self.hi * o.lo + self.lo * o.hi);
        two_sum(hi, lo)
    }
}

impl Div for Wide {
    type Output = Wide;
    fn div(self, o: Wide) -> Wide {
        let first = Wide::from(self.hi / o.hi);
        let rest = self - first * o;
        let second = Wide::from(rest.hi / o.hi);
        let rest = rest - second * o;
        first + second + Wide::from(rest.hi / o.hi)
    }
}

impl Wide {
    /// Rounds to the nearest f64.
    pub fn nearest(self) -> f64 {
        self.hi
    }

    /// Absolute value.
    pub fn abs(self) -> Wide {
        if self.hi < 0.0 { -self } else { self }
    }

    /// Square root by one Newton step on the f64 root.
    pub fn sqrt(self) -> Wide {
        if self.hi == 0.0 {
            return self;
        }
        let root = Wide::from(self.hi.sqrt());
        root + (self - root * root) / (root + root)
    }

    /// e^x: halves the argument ten times, sums the Taylor series, and squares the sum ten times.
    pub fn exp(self) -> Wide {
        const HALVINGS: i32 = 10;
        let r = self * Wide::from(0.5f64.powi(HALVINGS));
        let mut term = Wide::from(1.0);
        let mut sum = term;
        for i in 1..30 {
            term = term * r / Wide::from(f64::from(i));
            sum = sum + term;
        }
        (0..HALVINGS).fold(sum, |s, _| s * s)
    }

    /// Natural logarithm by two Newton steps on the f64 logarithm.
    pub fn ln(self) -> Wide {
        let mut y = Wide::from(self.hi.ln());
        for _ in 0..2 {
            y = y + self * (-y).exp() - Wide::from(1.0);
        }
        y
    }

    /// Rounds correctly to `T`. For f32 the value is first rounded to odd as an f64, so that the second
    /// rounding is still correct.
    pub fn round<T: Real>(self) -> T {
        let even = self.hi.to_bits() & 1 == 0;
        if T::DTYPE == "f64" || self.lo == 0.0 || !even {
            return T::of(self.hi);
        }
        let towards_zero = (self.lo < 0.0) != (self.hi < 0.0);
        let bits = self.hi.to_bits();
        T::of(f64::from_bits(if towards_zero {
            bits - 1
        } else {
            bits + 1
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::Wide;

    #[test]
    fn a_third_thrice_is_one_to_106_bits() {
        let third = Wide::from(1.0) / Wide::from(3.0);
        let error = (third + third + third - Wide::from(1.0)).abs().nearest();
        assert!(error < 2f64.powi(-104), "{error:e}");
    }

    #[test]
    fn sqrt_exp_and_ln_undo_each_other() {
        for x in [0.1, 0.7, 1.0, 2.5, 30.0, 600.0] {
            let x = Wide::from(x);
            let root = x.sqrt();
            assert!(((root * root - x) / x).abs().nearest() < 2f64.powi(-100));
            assert!(((x.exp().ln() - x) / x).abs().nearest() < 2f64.powi(-80));
        }
    }

    #[test]
    fn rounding_to_f32_looks_at_the_low_part() {
        let half_way = 1.0 + 2f64.powi(-24);
        let above = Wide::from(half_way) + Wide::from(2f64.powi(-90));
        let below = Wide::from(half_way) - Wide::from(2f64.powi(-90));
        assert_eq!(above.round::<f32>(), 1.0 + f32::EPSILON);
        assert_eq!(below.round::<f32>(), 1.0);
        assert_eq!(Wide::from(half_way).round::<f32>(), 1.0);
    }
}
