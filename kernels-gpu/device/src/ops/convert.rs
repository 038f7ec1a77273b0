//! Copies of arrays with another type of elements, other strides or a larger shape.
//!
//! One kernel serves all types: the branches on them are the same for the whole grid, and memory takes longer. Elements
//! are loaded and stored as bits. In between, a float is an `f64`, and an integer has 64 bits.

use super::elementwise::{Strided, offset, tiles};
use crate::gpu::Bits;
use crate::gpu::parameters::{BFLOAT, BOOL, FLOAT, INT, Shape, Source, Target, Type, UINT};
use diptych::backend::half;
use diptych::{bf16, f16};

/// The arguments of the kernel.
#[derive(Clone, Copy)]
struct Conversion {
    of: Type,
    to: Type,
    x: Source,
    out: Target,
}

/// out = x, converted. Of equal types the bits are copied.
///
/// Any grid with blocks for all columns along x; blocks have 256 threads.
///
/// # Safety
/// The arrays must be valid for the shape, and apart.
#[inline(always)]
pub unsafe fn convert<T>(shape: Shape, of: Type, to: Type, x: Source, out: Target) {
    tiles(Conversion { of, to, x, out }, shape)
}

/// Replaces each of the values.
macro_rules! each {
    ($values:ident, |$value:ident| $result:expr) => {
        for value in &mut $values {
            let $value = *value;
            *value = $result;
        }
    };
}

impl Strided for Conversion {
    #[inline(always)]
    unsafe fn elements<const N: usize>(self, [plane, row, column]: [u64; 3], apart: u64) {
        let at = |u: usize| [plane, row + u as u64 * apart, column];
        let mut values = [self.x.number; N];
        if !self.x.p.is_null() {
            let p = |u| self.x.p.wrapping_offset(offset(self.x.steps, at(u)));
            match self.of.bits {
                8 => (0..N).for_each(|u| values[u] = <u8 as Bits>::load(p(u).cast())),
                16 => (0..N).for_each(|u| values[u] = <u16 as Bits>::load(p(u).cast())),
                32 => (0..N).for_each(|u| values[u] = <u32 as Bits>::load(p(u).cast())),
                _ => (0..N).for_each(|u| values[u] = <u64 as Bits>::load(p(u).cast())),
            }
        }
        if self.of != self.to {
            values = decode(self.of, values);
            values = if self.of.is_float() {
                from_floats(self.to, values)
            } else {
                from_integers(self.of, self.to, values)
            };
        }
        let p = |u| self.out.p.wrapping_offset(offset(self.out.steps, at(u)));
        match self.to.bits {
            8 => (0..N).for_each(|u| <u8 as Bits>::store(p(u).cast(), values[u])),
            16 => (0..N).for_each(|u| <u16 as Bits>::store(p(u).cast(), values[u])),
            32 => (0..N).for_each(|u| <u32 as Bits>::store(p(u).cast(), values[u])),
            _ => (0..N).for_each(|u| <u64 as Bits>::store(p(u).cast(), values[u])),
        }
    }
}

/// Returns the floats as bits of `f64`, the integers with 64 bits.
#[inline(always)]
fn decode<const N: usize>(of: Type, mut values: [u64; N]) -> [u64; N] {
    match (of.code, of.bits) {
        (INT, bits) => {
            let unused = 64 - bits;
            each!(values, |x| ((x << unused) as i64 >> unused) as u64);
        }
        (BOOL, _) => each!(values, |x| u64::from(x != 0)),
        (BFLOAT, _) => each!(values, |x| widen(bf16::from_bits(x as u16).to_f32())),
        (FLOAT, 16) => each!(values, |x| widen(f16::from_bits(x as u16).to_f32())),
        (FLOAT, 32) => each!(values, |x| widen(f32::from_bits(x as u32))),
        _ => {}
    }
    values
}

/// Returns the bits of an `f32` as `f64`.
#[inline(always)]
fn widen(x: f32) -> u64 {
    f64::from(x).to_bits()
}

/// Returns the elements of the type `to` for bits of `f64`.
#[inline(always)]
fn from_floats<const N: usize>(to: Type, mut values: [u64; N]) -> [u64; N] {
    let unused = 64 - to.bits;
    match to.code {
        INT => {
            let most = i64::MAX >> unused;
            each!(values, |x| (f64::from_bits(x) as i64).clamp(!most, most)
                as u64);
        }
        UINT => {
            let most = u64::MAX >> unused;
            each!(values, |x| (f64::from_bits(x) as u64).min(most));
        }
        BOOL => each!(values, |x| u64::from(f64::from_bits(x) != 0.0)),
        _ => match to.bits {
            16 => {
                // A NaN becomes the canonical one, which that of a gradient was: its bits must not pass through arithmetic.
                let rounded = |x: u64| f32::from_bits(half::round_to_odd(f64::from_bits(x)));
                let is_nan = |x: u64| f64::from_bits(x).is_nan();
                if to.code == BFLOAT {
                    each!(values, |x| if is_nan(x) {
                        0x7FC0
                    } else {
                        bf16::from_f32(rounded(x)).to_bits().into()
                    });
                } else {
                    each!(values, |x| if is_nan(x) {
                        0x7E00
                    } else {
                        f16::from_f32(rounded(x)).to_bits().into()
                    });
                }
            }
            32 => each!(values, |x| u64::from((f64::from_bits(x) as f32).to_bits())),
            _ => {}
        },
    }
    values
}

/// Returns the elements of the type `to` for integers of 64 bits, which are signed if `of` is.
#[inline(always)]
fn from_integers<const N: usize>(of: Type, to: Type, mut values: [u64; N]) -> [u64; N] {
    let is_signed = of.code == INT;
    let sign = |x: u64| if is_signed { x & 1 << 63 } else { 0 };
    let magnitude = |x: u64| if sign(x) == 0 { x } else { x.wrapping_neg() };
    // The sign goes on top of the rounded magnitude: rounding to nearest even is symmetric.
    match to.code {
        // The low bits of an integer stay.
        INT | UINT => {}
        BOOL => each!(values, |x| u64::from(x != 0)),
        _ => match to.bits {
            16 => {
                each!(values, |x| {
                    let negative = (sign(x) >> 32) as u32;
                    u64::from(half::round_to_odd(half::sticky(magnitude(x))) | negative)
                });
                values = to_half(to, values);
            }
            32 => each!(values, |x| {
                u64::from((magnitude(x) as f32).to_bits()) | sign(x) >> 32
            }),
            _ => each!(values, |x| (magnitude(x) as f64).to_bits() | sign(x)),
        },
    }
    values
}

/// Returns the elements of the 16-bit type `to` for bits of `f32`.
#[inline(always)]
fn to_half<const N: usize>(to: Type, mut values: [u64; N]) -> [u64; N] {
    if to.code == BFLOAT {
        each!(values, |x| bf16::from_f32(f32::from_bits(x as u32))
            .to_bits()
            .into());
    } else {
        each!(values, |x| f16::from_f32(f32::from_bits(x as u32))
            .to_bits()
            .into());
    }
    values
}
