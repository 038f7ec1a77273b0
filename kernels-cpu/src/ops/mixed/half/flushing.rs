//! Instructions that compute the canonical order of bf16, except that they take subnormal numbers as zero and flush subnormal
//! results: TDPBF16PS and VDPBF16PS.
//!
//! Let q be the least exponent of a nonzero product of the two micro-panels in a segment: of the least nonzero magnitude in A
//! times that in B. All products are multiples of 2^(q - 14), and rounding to nearest keeps a multiple of a power of two one, so
//! no nonzero partial sum is smaller. If that is at least 2^-126 and no element is subnormal, nothing is flushed, and the bits
//! are those of FMA. The header of a packed micro-panel has the least magnitude; where the condition fails, the sums are
//! computed by FMA from the same panels.
#![forbid(unsafe_code)]

/// The biased exponents whose sum is that of 2^(-126 + 14), twice the bias of 127 added.
const LEAST_EXPONENTS: u16 = 142;
/// The bytes of the header of a micro-panel for each row or column.
pub const HEADER: usize = 4;

/// The lesser of two magnitudes that are not 0; 0 if both are.
pub fn least_of(a: u16, b: u16) -> u16 {
    a.wrapping_sub(1).min(b.wrapping_sub(1)).wrapping_add(1)
}

/// Whether nothing is flushed in the product of panels with these least magnitudes.
pub const fn flushes_nothing(a: u16, b: u16) -> bool {
    const FRACTION: u32 = 7;
    const LEAST_NORMAL: u16 = 1 << FRACTION;
    a == 0
        || b == 0
        || a >= LEAST_NORMAL
            && b >= LEAST_NORMAL
            && (a >> FRACTION) + (b >> FRACTION) >= LEAST_EXPONENTS
}
