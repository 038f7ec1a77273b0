//! What lanes hold and threads hand each other.

use crate::gpu::shared::Shared;
use crate::gpu::{Vector, warp};
use crate::real::Real;

/// The value of a fold: an element, or an element and its place.
pub trait Value: Copy {
    /// Bytes in shared memory and in scratch.
    const BYTES: u32;

    /// The value of the thread whose lane differs in the bits of `lanes`.
    ///
    /// # Safety
    /// All threads of the warp must come to this very call.
    #[track_caller]
    unsafe fn across(self, lanes: u32) -> Self;
    /// Value i of an array of `count` that begins `base` bytes into shared memory.
    ///
    /// # Safety
    /// As [`Shared::load`].
    #[track_caller]
    unsafe fn get(base: u32, count: u32, i: u32) -> Self;
    /// Sets value i of such an array.
    ///
    /// # Safety
    /// As [`Shared::store`].
    #[track_caller]
    unsafe fn put(self, base: u32, count: u32, i: u32);
    /// Value i of an array in global memory that other blocks of this grid have written.
    ///
    /// # Safety
    /// As [`Vector::load_fresh`].
    unsafe fn recall(array: *const u8, i: u64) -> Self;
    /// Sets value i of such an array.
    ///
    /// # Safety
    /// It must be valid for writing.
    unsafe fn leave(self, array: *mut u8, i: u64);
}

macro_rules! elements {
    ($($T:ty)*) => {$(
        impl Value for $T {
            const BYTES: u32 = size_of::<$T>() as u32;

            #[inline(always)]
            #[track_caller]
            unsafe fn across(self, lanes: u32) -> Self {
                // SAFETY: as the caller's.
                unsafe { Vector::shuffle_xor(self, lanes) }
            }
            #[inline(always)]
            #[track_caller]
            unsafe fn get(base: u32, _count: u32, i: u32) -> Self {
                // SAFETY: as the caller's.
                unsafe { Shared::at_byte(base).load(i) }
            }
            #[inline(always)]
            #[track_caller]
            unsafe fn put(self, base: u32, _count: u32, i: u32) {
                // SAFETY: as the caller's.
                unsafe { Shared::at_byte(base).store(i, self) }
            }
            #[inline(always)]
            unsafe fn recall(array: *const u8, i: u64) -> Self {
                // SAFETY: as the caller's.
                unsafe { Vector::load_fresh(array.cast::<$T>().add(i as usize)) }
            }
            #[inline(always)]
            unsafe fn leave(self, array: *mut u8, i: u64) {
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
    unsafe fn across(self, lanes: u32) -> Self {
        // SAFETY: as the caller's.
        unsafe { warp::shuffle_xor_u64(self as u64, lanes) as i64 }
    }
    #[inline(always)]
    #[track_caller]
    unsafe fn get(base: u32, _count: u32, i: u32) -> Self {
        // SAFETY: as the caller's.
        unsafe { Shared::at_byte(base).load(i) }
    }
    #[inline(always)]
    #[track_caller]
    unsafe fn put(self, base: u32, _count: u32, i: u32) {
        // SAFETY: as the caller's.
        unsafe { Shared::at_byte(base).store(i, self) }
    }
    #[inline(always)]
    unsafe fn recall(array: *const u8, i: u64) -> Self {
        // SAFETY: as the caller's; an f64 carries any bits.
        unsafe { <f64 as Vector>::load_fresh(array.cast::<f64>().add(i as usize)).to_bits() as i64 }
    }
    #[inline(always)]
    unsafe fn leave(self, array: *mut u8, i: u64) {
        // SAFETY: as the caller's; an f64 carries any bits.
        unsafe {
            <f64 as Vector>::store(
                array.cast::<f64>().add(i as usize),
                f64::from_bits(self as u64),
            )
        }
    }
}

/// An element and its place in the row.
#[derive(Clone, Copy)]
pub struct Found<T> {
    /// The element.
    pub value: T,
    /// Its place.
    pub place: i64,
}

impl<T: Real> Value for Found<T> {
    const BYTES: u32 = 16;

    #[inline(always)]
    #[track_caller]
    unsafe fn across(self, lanes: u32) -> Self {
        // SAFETY: as the caller's.
        unsafe {
            Self {
                value: Vector::shuffle_xor(self.value, lanes),
                place: warp::shuffle_xor_u64(self.place as u64, lanes) as i64,
            }
        }
    }
    #[inline(always)]
    #[track_caller]
    unsafe fn get(base: u32, count: u32, i: u32) -> Self {
        // SAFETY: as the caller's.
        unsafe {
            Self {
                value: Shared::at_byte(base + 8 * count).load(i),
                place: Shared::at_byte(base).load(i),
            }
        }
    }
    #[inline(always)]
    #[track_caller]
    unsafe fn put(self, base: u32, count: u32, i: u32) {
        // SAFETY: as the caller's.
        unsafe {
            Shared::at_byte(base + 8 * count).store(i, self.value);
            Shared::at_byte(base).store(i, self.place);
        }
    }
    #[inline(always)]
    unsafe fn recall(array: *const u8, i: u64) -> Self {
        // SAFETY: as the caller's; an f64 carries any bits.
        unsafe {
            let at = array.add(16 * i as usize);
            Self {
                value: Vector::load_fresh(at.add(8).cast::<T>()),
                place: <f64 as Vector>::load_fresh(at.cast()).to_bits() as i64,
            }
        }
    }
    #[inline(always)]
    unsafe fn leave(self, array: *mut u8, i: u64) {
        // SAFETY: as the caller's; an f64 carries any bits.
        unsafe {
            let at = array.add(16 * i as usize);
            Vector::store(at.add(8).cast::<T>(), self.value);
            <f64 as Vector>::store(at.cast(), f64::from_bits(self.place as u64));
        }
    }
}
