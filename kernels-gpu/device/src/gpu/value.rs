//! The values that threads exchange through shuffles, shared memory and scratch memory.

use super::shared::Shared;
use super::{Vector, warp};

/// The value of a fold: an element, a count, or an element with its index.
pub trait Value: Copy {
    /// Size in bytes, in shared memory and in scratch memory.
    const BYTES: u32;

    /// Returns the value of the thread whose lane number is this lane's XOR `lanes`.
    ///
    /// # Safety
    /// All threads of the warp must reach this same call.
    #[track_caller]
    unsafe fn shuffle(self, lanes: u32) -> Self;
    /// Loads value `i` of an array of `count` values that begins `base` bytes into shared memory.
    ///
    /// # Safety
    /// As [`Shared::load`].
    #[track_caller]
    unsafe fn read_shared(base: u32, count: u32, i: u32) -> Self;
    /// Stores to value `i` of such an array.
    ///
    /// # Safety
    /// As [`Shared::store`].
    #[track_caller]
    unsafe fn write_shared(self, base: u32, count: u32, i: u32);
    /// Loads value `i` of an array in global memory that other blocks of this grid have written.
    ///
    /// # Safety
    /// As [`Vector::load_relaxed`].
    unsafe fn read_scratch(array: *const u8, i: u64) -> Self;
    /// Stores to value `i` of such an array.
    ///
    /// # Safety
    /// The value must be valid for writing.
    unsafe fn write_scratch(self, array: *mut u8, i: u64);
}

macro_rules! elements {
    ($($T:ty)*) => {$(
        impl Value for $T {
            const BYTES: u32 = size_of::<$T>() as u32;

            #[inline(always)]
            #[track_caller]
            unsafe fn shuffle(self, lanes: u32) -> Self {
                // SAFETY: as the caller's.
                unsafe { Vector::shuffle_xor(self, lanes) }
            }
            #[inline(always)]
            #[track_caller]
            unsafe fn read_shared(base: u32, _count: u32, i: u32) -> Self {
                // SAFETY: as the caller's.
                unsafe { Shared::at_byte(base).load(i) }
            }
            #[inline(always)]
            #[track_caller]
            unsafe fn write_shared(self, base: u32, _count: u32, i: u32) {
                // SAFETY: as the caller's.
                unsafe { Shared::at_byte(base).store(i, self) }
            }
            #[inline(always)]
            unsafe fn read_scratch(array: *const u8, i: u64) -> Self {
                // SAFETY: as the caller's.
                unsafe { Vector::load_relaxed(array.cast::<$T>().add(i as usize)) }
            }
            #[inline(always)]
            unsafe fn write_scratch(self, array: *mut u8, i: u64) {
                // SAFETY: as the caller's.
                unsafe { Vector::store(array.cast::<$T>().add(i as usize), self) }
            }
        }
    )*};
}

elements!(f32 f64);

/// A count.
impl Value for i64 {
    const BYTES: u32 = 8;

    #[inline(always)]
    #[track_caller]
    unsafe fn shuffle(self, lanes: u32) -> Self {
        // SAFETY: as the caller's.
        unsafe { warp::shuffle_xor_u64(self as u64, lanes) as i64 }
    }
    #[inline(always)]
    #[track_caller]
    unsafe fn read_shared(base: u32, _count: u32, i: u32) -> Self {
        // SAFETY: as the caller's.
        unsafe { Shared::at_byte(base).load(i) }
    }
    #[inline(always)]
    #[track_caller]
    unsafe fn write_shared(self, base: u32, _count: u32, i: u32) {
        // SAFETY: as the caller's.
        unsafe { Shared::at_byte(base).store(i, self) }
    }
    #[inline(always)]
    unsafe fn read_scratch(array: *const u8, i: u64) -> Self {
        // SAFETY: as the caller's; an f64 can hold any bits.
        unsafe {
            <f64 as Vector>::load_relaxed(array.cast::<f64>().add(i as usize)).to_bits() as i64
        }
    }
    #[inline(always)]
    unsafe fn write_scratch(self, array: *mut u8, i: u64) {
        // SAFETY: as the caller's; an f64 can hold any bits.
        unsafe {
            <f64 as Vector>::store(
                array.cast::<f64>().add(i as usize),
                f64::from_bits(self as u64),
            )
        }
    }
}
