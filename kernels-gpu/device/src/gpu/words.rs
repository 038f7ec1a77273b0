//! Words of 32 bits, in which elements of small types are moved and multiplied.

#[cfg(not(target_arch = "nvptx64"))]
use super::host::{GlobalAccess, report_access};
#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

/// Loads two words from global memory.
///
/// # Safety
/// `p` must be valid for reading 8 bytes, and a multiple of 8.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn load_two(p: *const u8) -> [u32; 2] {
    #[cfg(target_arch = "nvptx64")]
    {
        let mut words = [0; 2];
        // SAFETY: as the caller's.
        unsafe {
            asm!(
                "ld.global.v2.u32 {{{0},{1}}}, [{2}];",
                out(reg32) words[0], out(reg32) words[1], in(reg64) p, options(readonly, nostack)
            );
        }
        words
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: as the caller's.
    unsafe {
        read(p.cast(), GlobalAccess::Load)
    }
}

/// Loads four words from global memory.
///
/// # Safety
/// `p` must be valid for reading 16 bytes, and a multiple of 16.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn load_four(p: *const u8) -> [u32; 4] {
    #[cfg(target_arch = "nvptx64")]
    {
        let mut words = [0; 4];
        // SAFETY: as the caller's.
        unsafe {
            asm!(
                "ld.global.v4.u32 {{{0},{1},{2},{3}}}, [{4}];",
                out(reg32) words[0], out(reg32) words[1], out(reg32) words[2], out(reg32) words[3],
                in(reg64) p, options(readonly, nostack)
            );
        }
        words
    }
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: as the caller's.
    unsafe {
        read(p.cast(), GlobalAccess::Load)
    }
}

/// Loads a word that another block of this grid wrote before its
/// [`fetch_increment`](super::atomic::fetch_increment): a relaxed load at GPU scope, which cannot return stale data.
///
/// # Safety
/// `p` must be valid for reading.
#[inline(always)]
#[cfg_attr(not(target_arch = "nvptx64"), track_caller)]
pub unsafe fn load_relaxed(p: *const u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
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
    #[cfg(not(target_arch = "nvptx64"))]
    // SAFETY: as the caller's.
    unsafe {
        read(p, GlobalAccess::LoadRelaxed)
    }
}

/// Reports an access to the machine, and reads.
///
/// # Safety
/// `p` must be valid for reading.
#[cfg(not(target_arch = "nvptx64"))]
#[track_caller]
unsafe fn read<T: Copy>(p: *const T, access: GlobalAccess) -> T {
    report_access(p, access);
    // SAFETY: as the caller's; words may be aligned to less than what the machine asks for several of them.
    unsafe { p.read() }
}

/// Returns the two f16 in a word as f32, the lower first.
#[inline(always)]
pub fn widen_f16(word: u32) -> [f32; 2] {
    #[cfg(target_arch = "nvptx64")]
    {
        let (low, high): (u16, u16);
        let mut wide = [0.0; 2];
        // SAFETY: only moves and conversions between registers.
        unsafe {
            asm!("mov.b32 {{{0},{1}}}, {2};", out(reg16) low, out(reg16) high, in(reg32) word, options(pure, nomem, nostack));
            asm!("cvt.f32.f16 {0}, {1};", out(reg32) wide[0], in(reg16) low, options(pure, nomem, nostack));
            asm!("cvt.f32.f16 {0}, {1};", out(reg32) wide[1], in(reg16) high, options(pure, nomem, nostack));
        }
        wide
    }
    #[cfg(not(target_arch = "nvptx64"))]
    {
        [word as u16, (word >> 16) as u16].map(|bits| diptych::f16::from_bits(bits).to_f32())
    }
}

/// Returns the two bf16 in a word as f32, the lower first.
#[inline(always)]
pub fn widen_bf16(word: u32) -> [f32; 2] {
    [f32::from_bits(word << 16), f32::from_bits(word & !0xFFFF)]
}

/// Returns `sum` plus the products of the four signed bytes in `b` with the bytes in `a`, which are unsigned if
/// `UNSIGNED`; modulo 2^32.
#[inline(always)]
pub fn dot<const UNSIGNED: bool>(a: u32, b: u32, sum: u32) -> u32 {
    #[cfg(target_arch = "nvptx64")]
    {
        let mut sum = sum;
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
    #[cfg(not(target_arch = "nvptx64"))]
    {
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
}
