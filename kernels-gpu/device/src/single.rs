//! A SIMD register of one lane, with which a GPU thread runs the element functions of the CPU backend.

use crate::gpu::Vector;
use crate::real::Real;
use core::marker::PhantomData;
use diptych::Element;
use diptych::backend::{Access, Register, Simd};

/// The token of the one-lane instruction set.
#[derive(Clone, Copy)]
pub struct Single<T>(PhantomData<T>);

impl<T> Single<T> {
    /// Returns the token.
    #[inline(always)]
    pub fn new() -> Self {
        Self(PhantomData)
    }
}

impl<T> Default for Single<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: Real> Register for Single<T> {
    type V = T;
    const N: usize = 1;
}

impl<T: Real> Access<T> for Single<T> {
    #[inline(always)]
    unsafe fn load(self, p: *const T) -> T {
        // SAFETY: as the caller's.
        unsafe { T::load(p) }
    }
    #[inline(always)]
    unsafe fn load_partial(self, p: *const T, n: usize) -> T {
        if n == 0 {
            T::ZERO
        } else {
            // SAFETY: as the caller's.
            unsafe { T::load(p) }
        }
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut T, v: T) {
        // SAFETY: as the caller's.
        unsafe { T::store(p, v) }
    }
    #[inline(always)]
    unsafe fn store_partial(self, p: *mut T, n: usize, v: T) {
        if n > 0 {
            // SAFETY: as the caller's.
            unsafe { T::store(p, v) }
        }
    }
}

impl<T: Real> Simd for Single<T> {
    type T = T;
    type M = bool;
    type Lanes = [T; 64];
    type Half = Self;

    #[inline(always)]
    fn half(self) -> Self {
        self
    }
    #[inline(always)]
    fn splat(self, x: T) -> T {
        x
    }
    #[inline(always)]
    fn lanes(self, v: T) -> Self::Lanes {
        [v; 64]
    }
    #[inline(always)]
    fn first(self, v: T) -> T {
        v
    }
    #[inline(always)]
    fn add(self, a: T, b: T) -> T {
        a + b
    }
    #[inline(always)]
    fn sub(self, a: T, b: T) -> T {
        a - b
    }
    #[inline(always)]
    fn mul(self, a: T, b: T) -> T {
        a * b
    }
    #[inline(always)]
    fn div(self, a: T, b: T) -> T {
        a / b
    }
    #[inline(always)]
    fn fma(self, a: T, b: T, c: T) -> T {
        Vector::fma(a, b, c)
    }
    #[inline(always)]
    fn abs(self, a: T) -> T {
        Element::abs(a)
    }
    #[inline(always)]
    fn min_or_second(self, a: T, b: T) -> T {
        if a < b { a } else { b }
    }
    #[inline(always)]
    fn max_or_second(self, a: T, b: T) -> T {
        if a > b { a } else { b }
    }
    #[inline(always)]
    fn min_ordered(self, a: T, b: T) -> T {
        if a < b || (a == b && a.sign_bit()) {
            a
        } else {
            b
        }
    }
    #[inline(always)]
    fn max_ordered(self, a: T, b: T) -> T {
        if a > b || (a == b && !a.sign_bit()) {
            a
        } else {
            b
        }
    }
    #[inline(always)]
    fn pow2(self, n: T) -> T {
        Element::pow2_integral(n)
    }
    #[inline(always)]
    fn le(self, a: T, b: T) -> bool {
        a <= b
    }
    #[inline(always)]
    fn eq(self, a: T, b: T) -> bool {
        a == b
    }
    #[inline(always)]
    fn unordered(self, a: T, b: T) -> bool {
        a.is_nan() || b.is_nan()
    }
    #[inline(always)]
    fn first_lanes(self, n: usize) -> bool {
        n > 0
    }
    #[inline(always)]
    fn bits(self, m: bool) -> u32 {
        m as u32
    }
    #[inline(always)]
    fn select(self, m: bool, a: T, b: T) -> T {
        if m { a } else { b }
    }
    #[inline(always)]
    fn upper(self, v: T, _w: usize) -> T {
        v
    }
    #[inline(always)]
    fn unzip(self, a: T, b: T, _w: usize) -> (T, T) {
        (a, b)
    }
    #[inline(always)]
    fn unzip_slot(self, i: usize) -> usize {
        i
    }
    #[inline(always)]
    fn unzip_row(self, i: usize) -> usize {
        i
    }
}
