//! Words of 32 bits, in which elements of small types are moved, converted and multiplied.

#[cfg(not(target_arch = "nvptx64"))]
#[path = "words/host.rs"]
mod imp;
#[cfg(target_arch = "nvptx64")]
#[path = "words/ptx.rs"]
mod imp;

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
/// Widens the two `f16` in a word, the lower first. A NaN becomes any NaN.
#[inline(always)]
pub fn widen_f16_pair(word: u32) -> [f32; 2] {
    imp::widen_f16_pair(word)
}
/// Widens the two `bf16` in a word, the lower first.
#[inline(always)]
pub fn widen_bf16_pair(word: u32) -> [f32; 2] {
    [f32::from_bits(word << 16), f32::from_bits(word & !0xFFFF)]
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
pub unsafe fn load_two(p: *const u32) -> [u32; 2] {
    // SAFETY: as the caller's.
    unsafe { imp::load_two(p) }
}
/// Loads four words from global memory.
///
/// # Safety
/// `p` must be valid for reading 16 bytes, and a multiple of 16.
#[inline(always)]
#[track_caller]
pub unsafe fn load_four(p: *const u32) -> [u32; 4] {
    // SAFETY: as the caller's.
    unsafe { imp::load_four(p) }
}
/// Loads a word that another block of this grid wrote before its
/// [`fetch_increment`](super::atomic::fetch_increment): a relaxed load at GPU scope, which cannot return stale data.
///
/// # Safety
/// `p` must be valid for reading.
#[inline(always)]
#[track_caller]
pub unsafe fn load_relaxed(p: *const u32) -> u32 {
    // SAFETY: as the caller's.
    unsafe { imp::load_relaxed(p) }
}
/// Stores two words to global memory.
///
/// # Safety
/// `p` must be valid for writing 8 bytes, and a multiple of 8.
#[inline(always)]
#[track_caller]
pub unsafe fn store_two(p: *mut u32, words: [u32; 2]) {
    // SAFETY: as the caller's.
    unsafe { imp::store_two(p, words) }
}
/// Stores four words to global memory.
///
/// # Safety
/// `p` must be valid for writing 16 bytes, and a multiple of 16.
#[inline(always)]
#[track_caller]
pub unsafe fn store_four(p: *mut u32, words: [u32; 4]) {
    // SAFETY: as the caller's.
    unsafe { imp::store_four(p, words) }
}
/// Returns `sum` plus the products of the four signed bytes in `b` with the bytes in `a`, which are unsigned if
/// `UNSIGNED`; modulo 2^32.
#[inline(always)]
pub fn dot<const UNSIGNED: bool>(a: u32, b: u32, sum: u32) -> u32 {
    imp::dot::<UNSIGNED>(a, b, sum)
}
