//! From a total to an element of C.

use super::sums::Total;
use super::{at, flags};
use crate::finish::canonical;
use crate::gpu::parameters::{BFLOAT, FLOAT, Product, Type};
use crate::gpu::{Bits, Vector};
use crate::single::Single;
use diptych::backend::scalar;
use diptych::{bf16, f16};

/// The bits of the canonical NaN.
const NAN_F16: u64 = 0x7E00;
const NAN_BF16: u64 = 0x7FC0;

/// C = total, or C + total if beta is not 0.
///
/// # Safety
/// `c` must be valid.
#[inline(always)]
pub unsafe fn integer<B: Total>(p: &Product, c: *mut u8, total: B) {
    let value = if p.beta == 0.0 {
        total
    } else {
        total.wrapping_add(B::load(c))
    };
    value.store(c);
}

/// C from a sum of integers, which the factors of the row and of the column make a float.
///
/// # Safety
/// `c`, and the numbers of row and column `index`, must be valid.
#[inline(always)]
pub unsafe fn scaled(p: &Product, index: (u64, u64), c: *mut u8, sum: Option<i32>) {
    let (i, j) = index;
    let Some(sum) = sum else {
        return unscaled(p, index, c, None);
    };
    let mut sum = sum as f32;
    if !p.row_scale.is_null() {
        sum *= f32::load(at(p.row_scale, i, p.row_scale_step).cast());
    }
    if !p.column_scale.is_null() {
        sum *= f32::load(at(p.column_scale, j, p.column_scale_step).cast());
    }
    unscaled(p, index, c, Some(sum))
}

/// C from a sum of floats: alpha, beta, bias, clamp, each step rounded; then one rounding to the type of C.
///
/// # Safety
/// As [`scaled`].
#[inline(always)]
pub unsafe fn unscaled(p: &Product, (i, j): (u64, u64), c: *mut u8, sum: Option<f32>) {
    let mut value = match sum {
        Some(sum) => p.alpha * sum,
        None => 0.0,
    };
    if p.beta != 0.0 {
        let old = p.beta * load(p.c_type, c);
        value = match sum {
            Some(sum) => Vector::fma(p.alpha, sum, old),
            None => old,
        };
    }
    if !p.bias.is_null() {
        let bias = at(at(p.bias, i, p.bias_steps[0]), j, p.bias_steps[1]);
        value += load(p.bias_type, bias);
    }
    if p.has(flags::CLAMP) {
        value = scalar::clamp(Single::new(), value, p.lo, p.hi);
    }
    if p.has(flags::NAN) {
        value = f32::NAN;
    }
    store(p.c_type, c, value)
}

/// Loads a float.
///
/// # Safety
/// It must be valid.
#[inline(always)]
unsafe fn load(of: Type, p: *const u8) -> f32 {
    match (of.code, of.bits) {
        (BFLOAT, _) => bf16::from_bits(<u16 as Bits>::load(p.cast()) as u16).to_f32(),
        (FLOAT, 16) => f16::from_bits(<u16 as Bits>::load(p.cast()) as u16).to_f32(),
        _ => f32::load(p.cast()),
    }
}

/// Stores a float, rounded to its type. A NaN becomes the canonical one.
///
/// # Safety
/// It must be valid.
#[inline(always)]
unsafe fn store(of: Type, p: *mut u8, value: f32) {
    if of.bits == 32 {
        return f32::store(p.cast(), canonical(value));
    }
    let (nan, bits) = if of.code == BFLOAT {
        (NAN_BF16, bf16::from_f32(value).to_bits())
    } else {
        (NAN_F16, f16::from_f32(value).to_bits())
    };
    let bits = if value.is_nan() { nan } else { bits.into() };
    <u16 as Bits>::store(p.cast(), bits)
}
