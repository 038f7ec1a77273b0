//! Words on the device.
use core::arch::asm;

#[inline(always)]
pub(super) fn to_bits(x: f32) -> u32 {
    x.to_bits()
}

#[inline(always)]
pub(super) fn of_bits(bits: u32) -> f32 {
    f32::from_bits(bits)
}

#[inline(always)]
pub(super) fn widen_f16(bits: u16) -> f32 {
    let x: f32;
    // SAFETY: only a conversion.
    unsafe {
        asm!("cvt.f32.f16 {0}, {1};", out(reg32) x, in(reg16) bits, options(pure, nomem, nostack));
    }
    x
}

#[inline(always)]
pub(super) fn round_f16(x: f32) -> u16 {
    let bits: u16;
    // SAFETY: only a conversion.
    unsafe {
        asm!("cvt.rn.f16.f32 {0}, {1};", out(reg16) bits, in(reg32) x, options(pure, nomem, nostack));
    }
    bits
}

#[inline(always)]
pub(super) unsafe fn load_two(p: *const u32) -> [u32; 2] {
    let (a, b): (u32, u32);
    // SAFETY: as the caller's.
    unsafe {
        asm!(
            "ld.global.v2.u32 {{{0},{1}}}, [{2}];",
            out(reg32) a, out(reg32) b, in(reg64) p, options(readonly, nostack)
        );
    }
    [a, b]
}

#[inline(always)]
pub(super) unsafe fn load_four(p: *const u32) -> [u32; 4] {
    let (a, b, c, d): (u32, u32, u32, u32);
    // SAFETY: as the caller's.
    unsafe {
        asm!(
            "ld.global.v4.u32 {{{0},{1},{2},{3}}}, [{4}];",
            out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg64) p, options(readonly, nostack)
        );
    }
    [a, b, c, d]
}

#[inline(always)]
pub(super) unsafe fn store_two(p: *mut u32, [a, b]: [u32; 2]) {
    // SAFETY: as the caller's.
    unsafe {
        asm!(
            "st.global.v2.u32 [{2}], {{{0},{1}}};",
            in(reg32) a, in(reg32) b, in(reg64) p, options(nostack)
        );
    }
}

#[inline(always)]
pub(super) unsafe fn store_four(p: *mut u32, [a, b, c, d]: [u32; 4]) {
    // SAFETY: as the caller's.
    unsafe {
        asm!(
            "st.global.v4.u32 [{4}], {{{0},{1},{2},{3}}};",
            in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d, in(reg64) p, options(nostack)
        );
    }
}

#[inline(always)]
pub(super) unsafe fn load_relaxed(p: *const u32) -> u32 {
    let word;
    // SAFETY: as the caller's.
    unsafe {
        asm!(
            "ld.relaxed.gpu.global.u32 {0}, [{1}];",
            out(reg32) word, in(reg64) p, options(nostack)
        );
    }
    word
}

#[inline(always)]
pub(super) fn widen_f16_pair(word: u32) -> [f32; 2] {
    let (low, high): (u16, u16);
    // SAFETY: only moves between registers.
    unsafe {
        asm!("mov.b32 {{{0},{1}}}, {2};", out(reg16) low, out(reg16) high, in(reg32) word, options(pure, nomem, nostack));
    }
    [widen_f16(low), widen_f16(high)]
}

#[inline(always)]
pub(super) fn dot<const UNSIGNED: bool>(a: u32, b: u32, mut sum: u32) -> u32 {
    // SAFETY: arithmetic on registers.
    unsafe {
        if UNSIGNED {
            asm!("dp4a.u32.s32 {0}, {1}, {2}, {0};", inout(reg32) sum, in(reg32) a, in(reg32) b, options(pure, nomem, nostack));
        } else {
            asm!("dp4a.s32.s32 {0}, {1}, {2}, {0};", inout(reg32) sum, in(reg32) a, in(reg32) b, options(pure, nomem, nostack));
        }
    }
    sum
}
