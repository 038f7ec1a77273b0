//! Dot products of integers, exact modulo 2^64. The products of a block of elements are added to lanes that hold some
//! of them exactly, and the lanes to a 64-bit total.

use core::ptr;

use super::{levels, opaque};
use crate::tensor::element_type::IntegerType;

/// Adds the products of `n` elements of two vectors to `total`.
pub type Dot = unsafe fn(n: usize, x: *const u8, y: *const u8, total: *mut i64);

/// The products of one type of elements.
trait Products: Copy {
    /// The lanes: wide enough for `MOST` products.
    type Lane: Copy + Into<i64>;
    /// A lane without products.
    const EMPTY: Self::Lane;
    /// The most products in a lane.
    const MOST: usize;
    /// 0.
    const ZERO: Self;

    /// Returns a lane with one more product.
    fn step(lane: Self::Lane, x: Self, y: Self) -> Self::Lane;
}

macro_rules! products {
    ($($T:ident as $Lane:ident, $most:expr, |$lane:ident, $x:ident, $y:ident| $step:expr;)*) => {$(
        impl Products for $T {
            type Lane = $Lane;
            const EMPTY: $Lane = 0;
            const MOST: usize = $most;
            const ZERO: Self = 0;

            #[inline(always)]
            fn step($lane: $Lane, $x: $T, $y: $T) -> $Lane {
                $step
            }
        }
    )*};
}
products! {
    i8 as i32, i32::MAX as usize / (128 * 128), |lane, x, y| lane.wrapping_add((i16::from(x) * i16::from(y)).into());
    u8 as i32, i32::MAX as usize / (255 * 255), |lane, x, y| lane.wrapping_add((u16::from(x) * u16::from(y)).into());
    i32 as i64, usize::MAX, |lane, x, y| lane.wrapping_add(i64::from(x) * i64::from(y));
    i64 as i64, usize::MAX, |lane, x, y| lane.wrapping_add(x.wrapping_mul(y));
}

/// A [`Dot`] in blocks of `N` elements.
///
/// # Safety
/// The vectors must be valid for reading, and `total` for writing too.
#[inline(always)]
unsafe fn dot<T: Products, const N: usize>(n: usize, x: *const u8, y: *const u8, total: *mut i64) {
    let (x, y) = (x.cast::<T>(), y.cast::<T>());
    let (mut sum, mut i) = (0_i64, 0);
    while n - i >= N {
        let mut lanes = [T::EMPTY; N];
        let end = i + ((n - i) / N).min(T::MOST) * N;
        while i < end {
            let (block, other) = (x.add(i).cast::<[T; N]>(), y.add(i).cast::<[T; N]>());
            let (block, other) = (block.read(), other.read());
            for ((lane, x), y) in lanes.iter_mut().zip(block).zip(other) {
                *lane = T::step(*lane, x, y);
            }
            i += opaque(&N);
        }
        for lane in lanes {
            sum = sum.wrapping_add(lane.into());
        }
    }
    let (mut block, mut other) = ([T::ZERO; N], [T::ZERO; N]);
    ptr::copy_nonoverlapping(x.add(i), block.as_mut_ptr(), n - i);
    ptr::copy_nonoverlapping(y.add(i), other.as_mut_ptr(), n - i);
    for (x, y) in block.into_iter().zip(other) {
        sum = sum.wrapping_add(T::step(T::EMPTY, x, y).into());
    }
    total.write(total.read().wrapping_add(sum));
}

/// Returns the kernel of a type for each level, in the order of `Level`.
#[cfg_attr(not(precompiled), inline)]
pub const fn of(of: IntegerType) -> &'static [Dot; 4] {
    macro_rules! kernels {
        ($T:ident $width:literal) => {
            levels!(
                Dot,
                (n: usize, x: *const u8, y: *const u8, total: *mut i64),
                dot::<$T, $width>
            )
        };
    }
    match of {
        IntegerType::I8 => kernels!(i8 64),
        IntegerType::U8 => kernels!(u8 64),
        IntegerType::I32 => kernels!(i32 32),
        IntegerType::I64 => kernels!(i64 16),
    }
}
