//! Models of instructions, for tests on machines without them: the documented arithmetic, in plain Rust.
#![allow(clippy::missing_safety_doc)]

use core::sync::atomic::{AtomicU16, Ordering::Relaxed};

use crate::array::from_fn;
use crate::detect::Extensions;
use crate::ops::mixed::words::Dot;

static MODELLED: AtomicU16 = AtomicU16::new(0);

/// Makes models stand for the instructions of some extensions in the whole process: those of AMX and AVX512-BF16. The machine then
/// has these, AMX only if it has AVX-512; and [`Extensions::AVX512_BF16`] serves every level.
pub fn stand_in(extensions: Extensions) {
    MODELLED.store(extensions.bits(), Relaxed);
}

/// The extensions for which models stand.
#[inline]
pub fn modelled() -> Extensions {
    Extensions::of_bits(MODELLED.load(Relaxed))
}

/// Zero of the same sign for a subnormal number.
pub fn flushed(x: f32) -> f32 {
    if x.is_subnormal() {
        0.0_f32.copysign(x)
    } else {
        x
    }
}

/// VDPBF16PS (Intel SDM vol. 2): each product is added by an FMA that takes subnormal numbers as zero and flushes its result;
/// and the same without flushing.
pub struct Pairs<const FLUSHES: bool>;

impl<const FLUSHES: bool> Pairs<FLUSHES> {
    fn add_products(sum: f32, a: u32, b: u32) -> f32 {
        let number = |x: f32| if FLUSHES { flushed(x) } else { x };
        let high = |word: u32| f32::from_bits(word & 0xFFFF_0000);
        let low = |word: u32| f32::from_bits(word << 16);
        let fma = |x, y, sum| number(crate::scalar::fma_f32(number(x), number(y), number(sum)));
        fma(low(a), low(b), fma(high(a), high(b), sum))
    }
}

impl<const FLUSHES: bool> Dot for Pairs<FLUSHES> {
    type Word = u32;
    type Sum = f32;
    type Sums = [f32; 16];
    type Words = [u32; 16];
    const LANES: usize = 16;

    unsafe fn zero() -> [f32; 16] {
        [0.0; 16]
    }
    unsafe fn load_sums(p: *const f32) -> [f32; 16] {
        p.cast::<[f32; 16]>().read_unaligned()
    }
    unsafe fn store_sums(p: *mut f32, v: [f32; 16]) {
        p.cast::<[f32; 16]>().write_unaligned(v);
    }
    unsafe fn add(a: [f32; 16], b: [f32; 16]) -> [f32; 16] {
        from_fn(|i| a[i] + b[i])
    }
    unsafe fn load(p: *const u32) -> [u32; 16] {
        p.cast::<[u32; 16]>().read_unaligned()
    }
    unsafe fn splat(word: u32) -> [u32; 16] {
        [word; 16]
    }
    unsafe fn dot(sums: [f32; 16], a: [u32; 16], b: [u32; 16]) -> [f32; 16] {
        from_fn(|i| Self::add_products(sums[i], a[i], b[i]))
    }
}
