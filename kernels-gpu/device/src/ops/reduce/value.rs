//! The values of folds: accumulators, and elements with their indices.

use crate::gpu::shared::Shared;
use crate::gpu::value::Value;
use crate::gpu::{Vector, warp};
use crate::real::Real;
use crate::unroll::unroll;

/// The accumulators of a fold. In shared memory they are arrays one after the other.
impl<T: Real, const COUNT: usize> Value for [T; COUNT] {
    const BYTES: u32 = size_of::<Self>() as u32;

    #[inline(always)]
    #[track_caller]
    unsafe fn shuffle(mut self, lanes: u32) -> Self {
        unroll!(k < COUNT, {
            self[k] = Value::shuffle(self[k], lanes);
        });
        self
    }
    #[inline(always)]
    #[track_caller]
    unsafe fn read_shared(base: u32, count: u32, i: u32) -> Self {
        let mut values = [T::ZERO; COUNT];
        unroll!(k < COUNT, {
            let base = base + k as u32 * count * T::BYTES;
            values[k] = T::read_shared(base, count, i);
        });
        values
    }
    #[inline(always)]
    #[track_caller]
    unsafe fn write_shared(self, base: u32, count: u32, i: u32) {
        unroll!(k < COUNT, {
            let base = base + k as u32 * count * T::BYTES;
            self[k].write_shared(base, count, i);
        });
    }
    #[inline(always)]
    unsafe fn read_scratch(array: *const u8, i: u64) -> Self {
        let mut values = [T::ZERO; COUNT];
        unroll!(k < COUNT, {
            values[k] = T::read_scratch(array, COUNT as u64 * i + k as u64);
        });
        values
    }
    #[inline(always)]
    unsafe fn write_scratch(self, array: *mut u8, i: u64) {
        unroll!(k < COUNT, {
            self[k].write_scratch(array, COUNT as u64 * i + k as u64);
        });
    }
}

/// An element and its index in the row.
#[derive(Clone, Copy)]
pub struct IndexedValue<T> {
    /// The element.
    pub value: T,
    /// Its index.
    pub index: i64,
}

impl<T: Real> Value for IndexedValue<T> {
    const BYTES: u32 = 16;

    #[inline(always)]
    #[track_caller]
    unsafe fn shuffle(self, lanes: u32) -> Self {
        Self {
            value: Vector::shuffle_xor(self.value, lanes),
            index: warp::shuffle_xor_u64(self.index as u64, lanes) as i64,
        }
    }
    #[inline(always)]
    #[track_caller]
    unsafe fn read_shared(base: u32, count: u32, i: u32) -> Self {
        Self {
            value: Shared::at_byte(base + 8 * count).load(i),
            index: Shared::at_byte(base).load(i),
        }
    }
    #[inline(always)]
    #[track_caller]
    unsafe fn write_shared(self, base: u32, count: u32, i: u32) {
        Shared::at_byte(base + 8 * count).store(i, self.value);
        Shared::at_byte(base).store(i, self.index);
    }
    #[inline(always)]
    unsafe fn read_scratch(array: *const u8, i: u64) -> Self {
        // SAFETY: as the caller's; an f64 can hold any bits.
        unsafe {
            let at = array.add(16 * i as usize);
            Self {
                value: Vector::load_relaxed(at.add(8).cast::<T>()),
                index: <f64 as Vector>::load_relaxed(at.cast()).to_bits() as i64,
            }
        }
    }
    #[inline(always)]
    unsafe fn write_scratch(self, array: *mut u8, i: u64) {
        // SAFETY: as the caller's; an f64 can hold any bits.
        unsafe {
            let at = array.add(16 * i as usize);
            Vector::store(at.add(8).cast::<T>(), self.value);
            <f64 as Vector>::store(at.cast(), f64::from_bits(self.index as u64));
        }
    }
}
