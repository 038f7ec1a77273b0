//! Lengths and values at which kernels are likely to be wrong.

use fastrand::Rng;

use crate::model::Dense;
use crate::real::Real;

/// A distribution of test values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Uniform in -1..1.
    Ordinary,
    /// Both signs, exponents over 60 binary digits: every change of order changes bits.
    Wide,
    /// Uniform in 1..2: no cancellation.
    Positive,
    /// In an interval of length 1, as far from zero as leaves four binary digits of fraction: means are rounded by much.
    Far,
    /// Zeros of both signs.
    Zeros,
    /// Subnormal numbers and zeros.
    Subnormal,
    /// So large that squares and sums overflow.
    Huge,
    /// So small that products underflow.
    Tiny,
    /// Everything: NaN with payloads, infinities, zeros, subnormals, ordinary numbers.
    Mixed,
}

impl Values {
    /// All distributions.
    pub const ALL: [Values; 9] = [
        Values::Ordinary,
        Values::Wide,
        Values::Positive,
        Values::Far,
        Values::Zeros,
        Values::Subnormal,
        Values::Huge,
        Values::Tiny,
        Values::Mixed,
    ];

    fn draw<T: Real>(self, rng: &mut Rng) -> T {
        let sign = if rng.bool() { T::one() } else { -T::one() };
        let unit = T::of(rng.f64() * 2.0 - 1.0);
        let fraction = T::one() + T::of(rng.f64());
        match self {
            Values::Ordinary => unit,
            Values::Wide => sign * fraction * T::power_of_two(rng.i32(-30..30)),
            Values::Positive => fraction,
            Values::Far => T::power_of_two(T::FRACTION_BITS as i32 - 4) + fraction,
            Values::Zeros => sign * T::zero(),
            Values::Subnormal => T::of_bits(rng.u64(0..1 << T::FRACTION_BITS)) * sign,
            Values::Huge => {
                sign * fraction * T::power_of_two(rng.i32(T::SCALE_LIMIT - 6..T::SCALE_LIMIT))
            }
            Values::Tiny => {
                sign * fraction * T::power_of_two(rng.i32(-T::SCALE_LIMIT..6 - T::SCALE_LIMIT))
            }
            Values::Mixed => {
                let specials = specials::<T>();
                if rng.bool() {
                    unit
                } else {
                    specials[rng.usize(0..specials.len())]
                }
            }
        }
    }
}

/// Returns values that need special treatment, each with both signs: zero, infinity, NaN, and the ends of the
/// normal and subnormal ranges.
pub fn specials<T: Real>() -> Vec<T> {
    let one = T::one().bits();
    let infinity = T::of(f64::INFINITY);
    let least_subnormal = T::of_bits(1);
    let least_normal = T::of_bits(1 << T::FRACTION_BITS);
    let greatest = T::of_bits(infinity.bits() - 1);
    let quiet = T::of_bits(T::NAN_BITS | 0x1234);
    let signalling = T::of_bits((T::NAN_BITS & !(1 << (T::FRACTION_BITS - 1))) | 0x77);
    let positive = [
        T::zero(),
        T::one(),
        T::of_bits(one + 1),
        T::of_bits(one - 1),
        infinity,
        least_subnormal,
        T::of_bits(least_normal.bits() - 1),
        least_normal,
        greatest,
        quiet,
        signalling,
    ];
    positive
        .into_iter()
        .flat_map(|v| [v, T::of_bits(v.bits() | 1 << (8 * size_of::<T>() - 1))])
        .collect()
}

/// Returns a vector of random values; the same seed and length give the same vector.
pub fn vector<T: Real>(values: Values, n: usize, seed: u64) -> Vec<T> {
    let mut rng = Rng::with_seed(seed.wrapping_mul(0x9E37_79B9).wrapping_add(n as u64));
    (0..n).map(|_| values.draw(&mut rng)).collect()
}

/// Returns a matrix of random values.
pub fn dense<T: Real>(values: Values, rows: usize, cols: usize, seed: u64) -> Dense<T> {
    Dense {
        rows,
        cols,
        data: vector(values, rows * cols, seed),
    }
}

/// Returns vectors for reductions, each with one special value at a boundary of lanes or chunks.
pub fn one_special<T: Real>(n: usize, seed: u64) -> Vec<Vec<T>> {
    let mut cases = Vec::new();
    let places = [
        0,
        1,
        T::LANE_COUNT,
        T::CHUNK - 1,
        T::CHUNK,
        n / 2,
        n.saturating_sub(1),
    ];
    for (turn, special) in specials::<T>().into_iter().enumerate() {
        let mut x: Vec<T> = vector(Values::Ordinary, n, seed);
        let place = places[turn % places.len()];
        if let Some(v) = x.get_mut(place) {
            *v = special;
            cases.push(x);
        }
    }
    cases
}

/// Returns lengths around multiples of the vector length (up to 64 bytes), the lane count and the chunk.
pub fn reduction_lengths<T: Real>() -> Vec<usize> {
    let (l, c) = (T::LANE_COUNT, T::CHUNK);
    let mut lengths: Vec<usize> = (0..=2 * l + 9).collect();
    lengths.extend([
        3 * l - 1,
        3 * l + 1,
        4 * l,
        7 * l + 5,
        8 * l,
        8 * l + 1,
        31 * l + 3,
    ]);
    lengths.extend([
        c - 1,
        c,
        c + 1,
        c + l,
        2 * c - 1,
        2 * c,
        2 * c + 1,
        3 * c,
        3 * c + l + 7,
    ]);
    lengths.extend([4 * c, 5 * c - 3, 7 * c + 2, 9 * c + 5 * l + 1]);
    lengths
}

/// Returns lengths around multiples of the vector length and of the unrolled loop, for elementwise operations.
pub fn elementwise_lengths() -> Vec<usize> {
    let mut lengths: Vec<usize> = (0..=70).collect();
    lengths.extend([
        95, 96, 97, 127, 128, 129, 191, 255, 256, 257, 511, 513, 1000, 1024, 4099,
    ]);
    lengths
}
