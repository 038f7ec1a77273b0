//! Ill-conditioned data for sums and dot products.
#![forbid(unsafe_code)]

use diptych_tests::real::Real;
use diptych_tests::wide::Wide;

/// Random numbers with a fixed seed.
pub struct Random(fastrand::Rng);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// Returns uniform values in `offset` + [0, 1).
    pub fn above<T: Real>(&mut self, n: usize, offset: f64) -> Vec<T> {
        (0..n).map(|_| T::of(offset + self.0.f64())).collect()
    }

    /// Returns uniform values in (-1, 1).
    pub fn signed<T: Real>(&mut self, n: usize) -> Vec<T> {
        (0..n).map(|_| T::of(self.sign() * self.0.f64())).collect()
    }

    fn sign(&mut self) -> f64 {
        if self.0.bool() { 1.0 } else { -1.0 }
    }

    /// Returns a vector whose magnitudes add up to about `condition` times its sum.
    pub fn hard_sum<T: Real>(&mut self, n: usize, condition: f64) -> Vec<T> {
        let (x, _) = self.hard(n, condition, |_, _| T::one());
        x
    }

    /// Returns two vectors whose products have magnitudes that add up to about `condition` times the dot product.
    pub fn hard_dot<T: Real>(&mut self, n: usize, condition: f64) -> (Vec<T>, Vec<T>) {
        self.hard(n, condition, |random, exponent| {
            let part = (1.0 + random.0.f64()) * random.sign();
            T::of(part * (exponent / 2.0).exp2())
        })
    }

    /// Algorithm 6.1 of Ogita, Rump and Oishi (2005): the first half has terms of very different magnitudes; in the
    /// second half, each term cancels most of the exact sum so far. The terms are then shuffled. `factor` returns y,
    /// given an exponent.
    fn hard<T: Real>(
        &mut self,
        n: usize,
        condition: f64,
        mut factor: impl FnMut(&mut Self, f64) -> T,
    ) -> (Vec<T>, Vec<T>) {
        let top = spread(n, condition);
        let half = n / 2;
        let mut so_far = Wide::default();
        let mut pairs = Vec::with_capacity(n);
        for i in 0..n {
            let (exponent, cancelled) = if i < half {
                (top * self.0.f64(), 0.0)
            } else {
                let left = (n - 1 - i) as f64 / (n - half) as f64;
                (top * left, so_far.nearest())
            };
            let y = factor(self, exponent);
            let term = (1.0 + self.0.f64()) * self.sign() * exponent.exp2();
            let x = T::of((term - cancelled) / y.wide());
            so_far = so_far + Wide::from(x.wide()) * Wide::from(y.wide());
            pairs.push((x, y));
        }
        self.0.shuffle(&mut pairs);
        pairs.into_iter().unzip()
    }
}

/// Returns the greatest exponent, `top`, for n terms whose exponents are uniform in 0 .. top and whose sum is about 1,
/// such that their magnitudes add up to about `condition`. The mean magnitude is that of 2^e over e in 0 .. top.
fn spread(n: usize, condition: f64) -> f64 {
    let total = |top: f64| n as f64 * (top.exp2() - 1.0) / (top * std::f64::consts::LN_2);
    let steps = (1..1000).map(|step| 0.1 * f64::from(step));
    steps
        .into_iter()
        .find(|&top| total(top) >= condition)
        .unwrap_or(100.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use diptych_tests::oracle;

    fn is_hard<T: Real>() {
        for condition in [1e4, 1e8, 1e16] {
            let x = Random::new(1).hard_sum::<T>(4000, condition);
            let sum = oracle::sum(&x);
            let reached = sum.magnitude / sum.value.abs().nearest();
            assert!(
                (condition / 30.0..30.0 * condition).contains(&reached),
                "{reached:e}"
            );
            let (x, y) = Random::new(2).hard_dot::<T>(4000, condition);
            let dot = oracle::dot(&x, &y);
            let reached = dot.magnitude / dot.value.abs().nearest();
            assert!(
                (condition / 30.0..30.0 * condition).contains(&reached),
                "{reached:e}"
            );
        }
    }

    #[test]
    fn hard_data_is_as_hard_as_asked() {
        is_hard::<f32>();
        is_hard::<f64>();
    }
}
