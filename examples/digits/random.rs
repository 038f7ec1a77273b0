//! SplitMix64 (Steele, Lea and Flood, 2014): a small random number generator in integer arithmetic, so that Rust and C
//! get the same numbers.

/// The generator. Equal seeds give equal sequences.
#[derive(Clone, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// Makes a generator that starts from `seed`.
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// Returns the next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Returns a multiple of 2^-23 in [-1, 1). It is exact in `f32`, so no rounding depends on the language or the
    /// type.
    pub fn next_unit(&mut self) -> f64 {
        let top = (self.next_u64() >> 40) as i32;
        f64::from(top - (1 << 23)) / f64::from(1 << 23)
    }

    /// Puts `items` in a random order (Fisher-Yates shuffle, from the end).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = self.next_u64() % (i as u64 + 1);
            items.swap(i, j as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    #[test]
    fn reference_sequence() {
        // The published first outputs for seed 1234567.
        let mut random = SplitMix64::new(1_234_567);
        assert_eq!(random.next_u64(), 6_457_827_717_110_365_317);
        assert_eq!(random.next_u64(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn unit_values_are_exact_in_f32() {
        let mut random = SplitMix64::new(7);
        for _ in 0..10_000 {
            let value = random.next_unit();
            assert!((-1.0..1.0).contains(&value));
            assert_eq!(f64::from(value as f32), value);
        }
    }
}
