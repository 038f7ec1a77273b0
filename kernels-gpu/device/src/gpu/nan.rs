//! Gives NaNs on the host the bits that they have on a GPU. A NaN that is only moved keeps its bits; f32 arithmetic
//! that returns a NaN returns [`COMPUTED`]. f64 needs nothing: a GPU keeps the payload, as the host does.
//!
//! Operators cannot be intercepted, but the host's arithmetic quiets every NaN. So a NaN from memory, from an argument
//! or from a constant is held in a register as a signalling NaN whose payload is an index into a table of the original
//! bits ([`constant`]). When it is stored, a NaN that is still signalling gets its original bits back, and a quiet one
//! was computed ([`stored`]).
#![forbid(unsafe_code)]

use core::cell::RefCell;
use std::collections::HashMap;

/// The NaN that GPUs return from f32 arithmetic.
pub const COMPUTED: u32 = 0x7FFF_FFFF;

/// The exponent bits of a NaN, and the bit that makes it quiet.
const EXPONENT: u32 = 0x7F80_0000;
const QUIET: u32 = 1 << 22;

/// The original bits of the NaNs that registers hold, numbered from 1.
#[derive(Default)]
struct Constants {
    bits: Vec<u32>,
    numbers: HashMap<u32, u32>,
}

impl Constants {
    fn number(&mut self, bits: u32) -> u32 {
        *self.numbers.entry(bits).or_insert_with(|| {
            self.bits.push(bits);
            u32::try_from(self.bits.len()).expect("fewer than 2^32 different NaNs")
        })
    }
}

std::thread_local! {
    static CONSTANTS: RefCell<Constants> = RefCell::default();
}

/// Returns how a register holds `x`, a value that arithmetic has not computed.
pub fn constant(x: f32) -> f32 {
    if !x.is_nan() {
        return x;
    }
    let number = CONSTANTS.with_borrow_mut(|constants| constants.number(x.to_bits()));
    assert!(number < QUIET, "more NaNs than payloads");
    f32::from_bits(EXPONENT | number)
}

/// Returns what is stored to memory for a register that holds `x`.
pub fn stored(x: f32) -> f32 {
    let bits = x.to_bits();
    if !x.is_nan() {
        return x;
    }
    if bits & QUIET != 0 {
        return f32::from_bits(COMPUTED);
    }
    let number = (bits & !(EXPONENT | 1 << 31)) as usize;
    CONSTANTS.with_borrow(|constants| f32::from_bits(constants.bits[number - 1]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::hint::black_box;

    #[test]
    fn moved_nans_keep_their_bits_and_computed_ones_do_not() {
        for bits in [
            0x7FC0_0000,
            0xFFC0_0001,
            0x7F80_0001,
            0xFF80_0077,
            0x7FFF_FFFF,
        ] {
            let moved = constant(f32::from_bits(bits));
            assert!(moved.is_nan());
            assert_eq!(stored(black_box(moved)).to_bits(), bits);
            let one = black_box(1.0);
            for computed in [
                moved + one,
                moved * one,
                moved / one,
                one.mul_add(one, moved),
                moved.sqrt(),
            ] {
                assert_eq!(stored(black_box(computed)).to_bits(), COMPUTED);
            }
        }
        let infinity = black_box(f32::INFINITY);
        assert_eq!(stored(infinity - infinity).to_bits(), COMPUTED);
        for number in [0.0, -0.0, 1.5, f32::NEG_INFINITY] {
            assert_eq!(stored(constant(number)).to_bits(), f32::to_bits(number));
        }
    }
}
