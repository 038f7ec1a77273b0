//! Words in the emulator.
use crate::gpu::Word;
use crate::gpu::host::{GlobalAccess, report_access};

pub(super) fn to_bits(x: f32) -> u32 {
    x.stored().to_bits()
}

pub(super) fn of_bits(bits: u32) -> f32 {
    f32::from_bits(bits).constant()
}

/// As the instruction, of a NaN computes another one.
pub(super) fn widen_f16(bits: u16) -> f32 {
    let x = diptych::f16::from_bits(bits).to_f32();
    if x.is_nan() { f32::NAN } else { x }
}

/// As the instruction, gives every NaN the same bits.
pub(super) fn round_f16(x: f32) -> u16 {
    const NAN: u16 = 0x7FFF;
    if x.is_nan() {
        NAN
    } else {
        diptych::f16::from_f32(x).to_bits()
    }
}

#[track_caller]
pub(super) unsafe fn load_two(p: *const u32) -> [u32; 2] {
    // SAFETY: as the caller's.
    unsafe { read(p.cast(), GlobalAccess::Load) }
}

#[track_caller]
pub(super) unsafe fn load_four(p: *const u32) -> [u32; 4] {
    // SAFETY: as the caller's.
    unsafe { read(p.cast(), GlobalAccess::Load) }
}

#[track_caller]
pub(super) unsafe fn load_relaxed(p: *const u32) -> u32 {
    // SAFETY: as the caller's.
    unsafe { read(p, GlobalAccess::LoadRelaxed) }
}

#[track_caller]
pub(super) unsafe fn store_two(p: *mut u32, words: [u32; 2]) {
    // SAFETY: as the caller's.
    unsafe { write(p.cast(), words) }
}

#[track_caller]
pub(super) unsafe fn store_four(p: *mut u32, words: [u32; 4]) {
    // SAFETY: as the caller's.
    unsafe { write(p.cast(), words) }
}

/// Reports an access to the machine, and reads.
///
/// # Safety
/// `p` must be valid for reading.
#[track_caller]
unsafe fn read<T: Copy>(p: *const T, access: GlobalAccess) -> T {
    report_access(p, access);
    // SAFETY: as the caller's.
    unsafe { p.read() }
}

/// Reports an access to the machine, and writes.
///
/// # Safety
/// `p` must be valid for writing.
#[track_caller]
unsafe fn write<T: Copy>(p: *mut T, words: T) {
    report_access(p, GlobalAccess::Store);
    // SAFETY: as the caller's.
    unsafe { p.write(words) }
}

pub(super) fn widen_f16_pair(word: u32) -> [f32; 2] {
    [widen_f16(word as u16), widen_f16((word >> 16) as u16)]
}

pub(super) fn dot<const UNSIGNED: bool>(a: u32, b: u32, sum: u32) -> u32 {
    let wide = |byte: u8| {
        if UNSIGNED {
            i32::from(byte)
        } else {
            i32::from(byte.cast_signed())
        }
    };
    let products = a.to_le_bytes().into_iter().zip(b.to_le_bytes());
    products.fold(sum, |sum, (a, b)| {
        sum.wrapping_add_signed(wide(a) * i32::from(b.cast_signed()))
    })
}
