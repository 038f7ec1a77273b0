//! AArch64 Advanced SIMD: 32 registers of 128 bits, with fma.

use core::arch::aarch64::*;
use core::arch::asm;
use core::marker::PhantomData;

use crate::element::Element;
use crate::half::{bf16, f16};
use crate::simd::{Access, Register, Simd, Token};

/// Token of the NEON level: proof that the CPU has Advanced SIMD.
#[derive(Clone, Copy)]
pub struct Neon<T>(PhantomData<T>);

impl<T: Element> Token for Neon<T>
where
    Self: Simd<T = T>,
{
    /// # Safety
    /// The CPU must have Advanced SIMD, and the operating system must save its registers on a context switch.
    #[inline(always)]
    unsafe fn token() -> Self {
        Self(PhantomData)
    }
}

macro_rules! neon {
    ($T:ty, $V:ty, $I:ty, $M:ty, $N:literal, $R:literal, set1 $set1:ident, lane $lane:ident,
     load $load:ident, store $store:ident, load_first $load_first:ident,
     store_first $store_first:ident, add $add:ident, sub $sub:ident, mul $mul:ident,
     div $div:ident, fma $fma:ident, abs $abs:ident, min $min:ident, max $max:ident,
     le $le:ident, lt $lt:ident, eq $eq:ident, select $select:ident, to_int $to_int:ident,
     from_int $from_int:ident, int ($iset1:ident, $iload:ident, $iadd:ident, $isum:ident,
     $iand:ident, $ieor:ident, $igt:ident, $shl:ident, $mant:literal),
     bias $bias:literal, upper $upper:ident, unzip $unzip:ident) => {
        impl Register for Neon<$T> {
            type V = $V;
            const N: usize = $N;
        }

        impl Access<$T> for Neon<$T> {
            #[inline(always)]
            unsafe fn load(self, p: *const $T) -> $V {
                // SAFETY: the caller vouches for N elements; the token for the instruction.
                unsafe { $load(p) }
            }
            #[inline(always)]
            unsafe fn load_partial(self, p: *const $T, n: usize) -> $V {
                // SAFETY: the caller vouches for n elements.
                unsafe { $load_first(p, n) }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $T, v: $V) {
                // SAFETY: the caller vouches for N elements; the token for the instruction.
                unsafe { $store(p, v) }
            }
            #[inline(always)]
            unsafe fn store_partial(self, p: *mut $T, n: usize, v: $V) {
                // SAFETY: the caller vouches for n elements.
                unsafe { $store_first(p, n, v) }
            }
        }

        impl Simd for Neon<$T> {
            const HAS_PREFETCHES: bool = true;
            type T = $T;
            type M = $M;
            type Lanes = [$V; $R];
            type Half = Self;

            methods! {
                fn splat(x: $T) -> $V { $set1(x) }
                fn first(v: $V) -> $T { $lane::<0>(v) }
                fn add(a: $V, b: $V) -> $V { $add(a, b) }
                fn sub(a: $V, b: $V) -> $V { $sub(a, b) }
                fn mul(a: $V, b: $V) -> $V { $mul(a, b) }
                fn div(a: $V, b: $V) -> $V { $div(a, b) }
                fn fma(a: $V, b: $V, c: $V) -> $V { $fma(c, a, b) }
                fn abs(a: $V) -> $V { $abs(a) }
                fn min_or_second(a: $V, b: $V) -> $V { $select($lt(a, b), a, b) }
                fn max_or_second(a: $V, b: $V) -> $V { $select($lt(b, a), a, b) }
                // `fmin` and `fmax` take -0 < +0.
                fn min_ordered(a: $V, b: $V) -> $V { $min(a, b) }
                fn max_ordered(a: $V, b: $V) -> $V { $max(a, b) }
                fn pow2(n: $V) -> $V {{
                    let magic = $set1(<$T as Element>::ROUNDING_MAGIC);
                    $from_int($shl::<$mant>($iadd($to_int($add(n, magic)), $iset1($bias))))
                }}
                fn le(a: $V, b: $V) -> $M { $le(a, b) }
                fn eq(a: $V, b: $V) -> $M { $eq(a, b) }
                fn unordered(a: $V, b: $V) -> $M {
                    $ieor($iand($eq(a, a), $eq(b, b)), $iset1(<$I>::MAX))
                }
                fn first_lanes(n: usize) -> $M {{
                    const LANES: [$I; 4] = [0, 1, 2, 3];
                    $igt($iset1(n as $I), $iload(LANES.as_ptr()))
                }}
                fn bits(m: $M) -> u32 {{
                    const BITS: [$I; 4] = [1, 2, 4, 8];
                    $isum($iand(m, $iload(BITS.as_ptr()))) as u32
                }}
                fn select(m: $M, a: $V, b: $V) -> $V { $select(m, a, b) }
                fn upper(v: $V, w: usize) -> $V { $upper(v, w) }
                fn unzip(a: $V, b: $V, w: usize) -> ($V, $V) { $unzip(a, b, w) }
            }

            outlined!(Neon<$T>, target_feature(enable = "neon"));

            #[inline(always)]
            fn half(self) -> Self::Half {
                self
            }
            #[inline(always)]
            fn lanes(self, v: $V) -> Self::Lanes {
                [v; $R]
            }
            #[inline(always)]
            fn unzip_slot(self, i: usize) -> usize {
                i
            }
            #[inline(always)]
            fn unzip_row(self, i: usize) -> usize {
                i
            }
            #[inline(always)]
            fn prefetch<P>(self, p: *const P) {
                // SAFETY: a hint, which never faults.
                unsafe {
                    asm!("prfm pstl1keep, [{}]", in(reg) p,
                         options(nomem, nostack, preserves_flags));
                }
            }
            #[inline(always)]
            fn prefetch_far<P>(self, p: *const P) {
                // SAFETY: a hint, which never faults.
                unsafe {
                    asm!("prfm pldl2keep, [{}]", in(reg) p,
                         options(nomem, nostack, preserves_flags));
                }
            }
        }
    };
}

/// Loads the first `n` elements; the other lanes are +0.
///
/// # Safety
/// The CPU must have Advanced SIMD; `p` must be valid for n <= 4 elements.
#[inline(always)]
unsafe fn load_first_f32(p: *const f32, n: usize) -> float32x4_t {
    // SAFETY: as the caller's; no element from n on is read.
    unsafe {
        let zero = vdupq_n_f32(0.0);
        match n {
            0 => zero,
            1 => vld1q_lane_f32::<0>(p, zero),
            2 => vcombine_f32(vld1_f32(p), vdup_n_f32(0.0)),
            3 => vld1q_lane_f32::<2>(p.add(2), vcombine_f32(vld1_f32(p), vdup_n_f32(0.0))),
            _ => vld1q_f32(p),
        }
    }
}

/// As `load_first_f32`, with n <= 2.
///
/// # Safety
/// The CPU must have Advanced SIMD; `p` must be valid for n <= 2 elements.
#[inline(always)]
unsafe fn load_first_f64(p: *const f64, n: usize) -> float64x2_t {
    // SAFETY: as the caller's; no element from n on is read.
    unsafe {
        match n {
            0 => vdupq_n_f64(0.0),
            1 => vld1q_lane_f64::<0>(p, vdupq_n_f64(0.0)),
            _ => vld1q_f64(p),
        }
    }
}

/// Stores the first `n` lanes, by stores of 4, 2 and 1 elements.
///
/// # Safety
/// The CPU must have Advanced SIMD; `p` must be valid for n <= 4 elements.
#[inline(always)]
unsafe fn store_first_f32(mut p: *mut f32, n: usize, v: float32x4_t) {
    if n >= 4 {
        return vst1q_f32(p, v);
    }
    let mut rest = vget_low_f32(v);
    if n & 2 != 0 {
        vst1_f32(p, rest);
        p = p.add(2);
        rest = vget_high_f32(v);
    }
    if n & 1 != 0 {
        vst1_lane_f32::<0>(p, rest);
    }
}

/// As `store_first_f32`, with n <= 2.
///
/// # Safety
/// The CPU must have Advanced SIMD; `p` must be valid for n <= 2 elements.
#[inline(always)]
unsafe fn store_first_f64(p: *mut f64, n: usize, v: float64x2_t) {
    match n {
        0 => {}
        1 => vst1q_lane_f64::<0>(p, v),
        _ => vst1q_f64(p, v),
    }
}

#[inline(always)]
unsafe fn upper_f32(v: float32x4_t, w: usize) -> float32x4_t {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        match w {
            2 => vextq_f32::<2>(v, v),
            _ => vextq_f32::<1>(v, v),
        }
    }
}

#[inline(always)]
unsafe fn upper_f64(v: float64x2_t, _w: usize) -> float64x2_t {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe { vextq_f64::<1>(v, v) }
}

#[inline(always)]
unsafe fn unzip_f32(a: float32x4_t, b: float32x4_t, w: usize) -> (float32x4_t, float32x4_t) {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        match w {
            2 => {
                let (c, d) = (vreinterpretq_f64_f32(a), vreinterpretq_f64_f32(b));
                (
                    vreinterpretq_f32_f64(vzip1q_f64(c, d)),
                    vreinterpretq_f32_f64(vzip2q_f64(c, d)),
                )
            }
            _ => (vuzp1q_f32(a, b), vuzp2q_f32(a, b)),
        }
    }
}

#[inline(always)]
unsafe fn unzip_f64(a: float64x2_t, b: float64x2_t, _w: usize) -> (float64x2_t, float64x2_t) {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe { (vzip1q_f64(a, b), vzip2q_f64(a, b)) }
}

neon!(f32, float32x4_t, u32, uint32x4_t, 4, 16, set1 vdupq_n_f32, lane vgetq_lane_f32,
    load vld1q_f32, store vst1q_f32, load_first load_first_f32, store_first store_first_f32,
    add vaddq_f32, sub vsubq_f32, mul vmulq_f32, div vdivq_f32, fma vfmaq_f32, abs vabsq_f32,
    min vminq_f32, max vmaxq_f32, le vcleq_f32, lt vcltq_f32, eq vceqq_f32, select vbslq_f32,
    to_int vreinterpretq_u32_f32, from_int vreinterpretq_f32_u32,
    int (vdupq_n_u32, vld1q_u32, vaddq_u32, vaddvq_u32, vandq_u32, veorq_u32, vcgtq_u32,
    vshlq_n_u32, 23), bias 127, upper upper_f32, unzip unzip_f32);

neon!(f64, float64x2_t, u64, uint64x2_t, 2, 16, set1 vdupq_n_f64, lane vgetq_lane_f64,
    load vld1q_f64, store vst1q_f64, load_first load_first_f64, store_first store_first_f64,
    add vaddq_f64, sub vsubq_f64, mul vmulq_f64, div vdivq_f64, fma vfmaq_f64, abs vabsq_f64,
    min vminq_f64, max vmaxq_f64, le vcleq_f64, lt vcltq_f64, eq vceqq_f64, select vbslq_f64,
    to_int vreinterpretq_u64_f64, from_int vreinterpretq_f64_u64,
    int (vdupq_n_u64, vld1q_u64, vaddq_u64, vaddvq_u64, vandq_u64, veorq_u64, vcgtq_u64,
    vshlq_n_u64, 52), bias 1023, upper upper_f64, unzip unzip_f64);

/// Loads and stores of four 16-bit elements; fewer go through the stack.
macro_rules! half {
    ($M:ty, widen $widen:ident, split $split:ident, round $round:ident) => {
        impl Access<$M> for Neon<f32> {
            #[inline(always)]
            unsafe fn load(self, p: *const $M) -> float32x4_t {
                // SAFETY: the caller vouches for N elements; the token for the instructions.
                unsafe { $widen(vld1_u16(p.cast())) }
            }
            #[inline(always)]
            unsafe fn load_partial(self, p: *const $M, n: usize) -> float32x4_t {
                let mut buffer = [<$M>::default(); 4];
                // SAFETY: the caller vouches for n <= 4 elements; the buffer has 4.
                unsafe {
                    p.copy_to_nonoverlapping(buffer.as_mut_ptr(), n);
                    self.load(buffer.as_ptr())
                }
            }
            #[inline(always)]
            fn split(self, pairs: float32x4_t) -> (float32x4_t, float32x4_t) {
                // SAFETY: the token vouches for the instructions.
                unsafe { $split(vreinterpretq_u32_f32(pairs)) }
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $M, v: float32x4_t) {
                // SAFETY: the caller vouches for N elements; the token for the instructions.
                unsafe { vst1_u16(p.cast(), $round(v)) }
            }
            #[inline(always)]
            unsafe fn store_partial(self, p: *mut $M, n: usize, v: float32x4_t) {
                let mut buffer = [<$M>::default(); 4];
                // SAFETY: the caller vouches for n <= 4 elements; the buffer has 4.
                unsafe {
                    self.store(buffer.as_mut_ptr(), v);
                    buffer.as_ptr().copy_to_nonoverlapping(p, n);
                }
            }
        }
    };
}

/// By inline assembly: Advanced SIMD has the conversion, but its intrinsic takes a type that is not stable in Rust.
#[inline(always)]
unsafe fn widen_f16(v: uint16x4_t) -> float32x4_t {
    let wide: float32x4_t;
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        asm!("fcvtl {0:v}.4s, {1:v}.4h", lateout(vreg) wide, in(vreg) v,
             options(pure, nomem, nostack, preserves_flags));
    }
    wide
}

#[inline(always)]
unsafe fn round_f16(v: float32x4_t) -> uint16x4_t {
    let rounded: uint16x4_t;
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        asm!("fcvtn {0:v}.4h, {1:v}.4s", lateout(vreg) rounded, in(vreg) v,
             options(pure, nomem, nostack, preserves_flags));
    }
    rounded
}

#[inline(always)]
unsafe fn widen_bf16(v: uint16x4_t) -> float32x4_t {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe { vreinterpretq_f32_u32(vshll_n_u16::<16>(v)) }
}

/// As [`bf16::from_f32`].
#[inline(always)]
unsafe fn round_bf16(v: float32x4_t) -> uint16x4_t {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        let bits = vreinterpretq_u32_f32(v);
        let high = vshrq_n_u32::<16>(bits);
        let half = vaddq_u32(vdupq_n_u32(0x7FFF), vandq_u32(high, vdupq_n_u32(1)));
        let rounded = vshrq_n_u32::<16>(vaddq_u32(bits, half));
        let quiet = vorrq_u32(high, vdupq_n_u32(0x40));
        vmovn_u32(vbslq_u32(vceqq_f32(v, v), rounded, quiet))
    }
}

#[inline(always)]
unsafe fn split_f16(pairs: uint32x4_t) -> (float32x4_t, float32x4_t) {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        let second = vshrn_n_u32::<16>(pairs);
        (widen_f16(vmovn_u32(pairs)), widen_f16(second))
    }
}

#[inline(always)]
unsafe fn split_bf16(pairs: uint32x4_t) -> (float32x4_t, float32x4_t) {
    // SAFETY: called with the token at hand; only registers are touched.
    unsafe {
        let second = vandq_u32(pairs, vdupq_n_u32(!0xFFFF));
        let first = vshlq_n_u32::<16>(pairs);
        (vreinterpretq_f32_u32(first), vreinterpretq_f32_u32(second))
    }
}

half!(f16, widen widen_f16, split split_f16, round round_f16);
half!(bf16, widen widen_bf16, split split_bf16, round round_bf16);
