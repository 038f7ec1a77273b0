//! 16-bit floats: their conversions, and loads and stores of several.

use super::imp;

/// Returns the bits of a number.
#[inline(always)]
pub fn to_bits(x: f32) -> u32 {
    imp::to_bits(x)
}
/// Returns the number with these bits, which are not the result of arithmetic.
#[inline(always)]
pub fn of_bits(bits: u32) -> f32 {
    imp::of_bits(bits)
}
/// Widens an `f16`. A NaN becomes any NaN.
#[inline(always)]
pub fn widen_f16(bits: u16) -> f32 {
    imp::widen_f16(bits)
}
/// Rounds to an `f16`, to nearest even. A NaN becomes any NaN.
#[inline(always)]
pub fn round_f16(x: f32) -> u16 {
    imp::round_f16(x)
}
/// Rounds to a `bf16`, to nearest even.
#[inline(always)]
pub fn round_bf16(x: f32) -> u16 {
    diptych::bf16::from_f32(f32::from_bits(to_bits(x))).to_bits()
}
/// Loads two words from global memory.
///
/// # Safety
/// `p` must be valid for reading 8 bytes, and a multiple of 8.
#[inline(always)]
#[track_caller]
pub unsafe fn load_words_2(p: *const u32) -> [u32; 2] {
    // SAFETY: as the caller's.
    unsafe { imp::load_words_2(p) }
}
/// Loads four words from global memory.
///
/// # Safety
/// `p` must be valid for reading 16 bytes, and a multiple of 16.
#[inline(always)]
#[track_caller]
pub unsafe fn load_words_4(p: *const u32) -> [u32; 4] {
    // SAFETY: as the caller's.
    unsafe { imp::load_words_4(p) }
}
/// Stores two words to global memory.
///
/// # Safety
/// `p` must be valid for writing 8 bytes, and a multiple of 8.
#[inline(always)]
#[track_caller]
pub unsafe fn store_words_2(p: *mut u32, words: [u32; 2]) {
    // SAFETY: as the caller's.
    unsafe { imp::store_words_2(p, words) }
}
/// Stores four words to global memory.
///
/// # Safety
/// `p` must be valid for writing 16 bytes, and a multiple of 16.
#[inline(always)]
#[track_caller]
pub unsafe fn store_words_4(p: *mut u32, words: [u32; 4]) {
    // SAFETY: as the caller's.
    unsafe { imp::store_words_4(p, words) }
}
