//! Draws from bytes. After the last byte all draws are 0, and 0 always selects the simplest choice.

use core::ops::Range;

use arbitrary::Unstructured;

use crate::cases::{self, Values};
use crate::real::Real;

/// The bytes that are not yet used.
pub struct Input<'a> {
    bytes: Unstructured<'a>,
    /// Whether arrays may lie next to guard pages.
    pub pages: bool,
    /// Added to the number of the operation that the bytes choose.
    pub turn: usize,
}

impl<'a> Input<'a> {
    /// Uses all of `data`.
    pub fn new(data: &'a [u8]) -> Input<'a> {
        Input {
            bytes: Unstructured::new(data),
            pages: false,
            turn: 0,
        }
    }

    /// Draws a number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.bytes.arbitrary::<u8>().unwrap_or(0)) % count.max(1)
    }

    /// Draws one of `all`.
    pub fn pick<V: Copy>(&mut self, all: &[V]) -> V {
        all[self.below(all.len())]
    }

    /// Returns true in one of `times` cases.
    pub fn rarely(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    /// Draws any 64-bit number.
    pub fn word(&mut self) -> u64 {
        self.bytes.arbitrary().unwrap_or(0)
    }

    /// Returns true in one of two cases.
    pub fn flag(&mut self) -> bool {
        self.rarely(2)
    }

    /// Draws a number of a range that is not empty.
    pub fn range(&mut self, range: Range<usize>) -> usize {
        let drawn: u32 = self.bytes.arbitrary().unwrap_or(0);
        range.start + drawn as usize % range.len()
    }

    /// Draws the number of a choice, each as often as its weight says; together the weights are at most 256.
    pub fn choose<const N: usize>(&mut self, weights: [usize; N]) -> usize {
        let mut left = self.below(weights.iter().sum());
        let chosen = weights.iter().position(|&weight| {
            let found = left < weight;
            left = left.wrapping_sub(weight);
            found
        });
        chosen.unwrap_or(0)
    }

    /// Draws a factor or a bound.
    pub fn scalar<T: Real>(&mut self) -> T {
        match self.below(8) {
            0..=2 => T::one(),
            3..=4 => T::zero(),
            5..=6 => T::of(f64::from(self.word() as i8) / 64.0),
            _ => {
                let specials = cases::specials();
                specials[self.below(specials.len())]
            }
        }
    }

    /// Draws the distribution of the values.
    pub fn values(&mut self) -> Values {
        self.pick(&Values::ALL)
    }
}
