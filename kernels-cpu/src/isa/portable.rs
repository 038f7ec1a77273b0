//! The level that runs everywhere: registers are small arrays, which the compiler may vectorise.

// A call loses nothing here, since functions have the same instructions as kernels, and LLVM optimises core's `from_fn`
// better than that of `array.rs`: max of 64 x 64 columns takes .6 of the time.
#![allow(clippy::disallowed_methods)]

use core::array::from_fn;
use core::marker::PhantomData;

use crate::element::{Element, Storage};
use crate::half::{bf16, f16};
use crate::simd::{Access, Outlined, Register, Simd, Token};

/// Token of the portable level; always available.
#[derive(Clone, Copy)]
pub struct Portable<T>(PhantomData<T>);

impl<T: Element> Token for Portable<T>
where
    Self: Simd<T = T>,
{
    /// # Safety
    /// No requirements. The function is unsafe only because it is on the other levels.
    #[inline(always)]
    unsafe fn token() -> Self {
        Self(PhantomData)
    }
}

/// All bits set if `condition`, else 0. The compiler keeps such masks in registers, which it does not do with `bool`.
macro_rules! mask {
    ($U:ty, $condition:expr) => {
        (<$U>::from($condition)).wrapping_neg()
    };
}

macro_rules! portable {
    ($T:ty, $U:ty, $N:literal, $R:literal, fma $fma:ident) => {
        impl Register for Portable<$T> {
            type V = [$T; $N];
            const N: usize = $N;
        }

        impl Access<$T> for Portable<$T> {
            #[inline(always)]
            unsafe fn load(self, p: *const $T) -> Self::V {
                // SAFETY: the caller vouches for N elements; an array has their alignment.
                unsafe { *p.cast::<Self::V>() }
            }
            #[inline(always)]
            unsafe fn load_partial(self, p: *const $T, n: usize) -> Self::V {
                // SAFETY: only the first n elements are read, for which the caller vouches.
                from_fn(|i| if i < n { unsafe { *p.add(i) } } else { 0.0 })
            }
            #[inline(always)]
            unsafe fn store(self, p: *mut $T, v: Self::V) {
                // SAFETY: the caller vouches for N elements; an array has their alignment.
                unsafe { *p.cast::<Self::V>() = v }
            }
            #[inline(always)]
            unsafe fn store_partial(self, p: *mut $T, n: usize, v: Self::V) {
                for (i, &x) in v.iter().enumerate().take(n) {
                    // SAFETY: i < n, and the caller vouches for n elements.
                    unsafe { *p.add(i) = x }
                }
            }
        }

        impl Simd for Portable<$T> {
            type T = $T;
            type M = [$U; $N];
            type Lanes = [[$T; $N]; $R];
            type Half = Self;
            const FIX_ZEROS_AFTER: bool = true;

            #[inline(always)]
            unsafe fn outlined<P: Outlined<Self>>(self, part: P) -> P::Output {
                #[inline(never)]
                unsafe fn run<P: Outlined<Portable<$T>>>(s: Portable<$T>, part: P) -> P::Output {
                    part.run(s)
                }
                // SAFETY: the token proves the instructions; the rest is the caller's to vouch for.
                unsafe { run(self, part) }
            }
            #[inline(always)]
            fn splat(self, x: $T) -> Self::V {
                [x; $N]
            }
            #[inline(always)]
            fn half(self) -> Self::Half {
                self
            }
            #[inline(always)]
            fn lanes(self, v: Self::V) -> Self::Lanes {
                [v; $R]
            }
            #[inline(always)]
            fn first(self, v: Self::V) -> $T {
                v[0]
            }

            #[inline(always)]
            fn add(self, a: Self::V, b: Self::V) -> Self::V {
                from_fn(|i| a[i] + b[i])
            }
            #[inline(always)]
            fn sub(self, a: Self::V, b: Self::V) -> Self::V {
                from_fn(|i| a[i] - b[i])
            }
            #[inline(always)]
            fn mul(self, a: Self::V, b: Self::V) -> Self::V {
                from_fn(|i| a[i] * b[i])
            }
            #[inline(always)]
            fn div(self, a: Self::V, b: Self::V) -> Self::V {
                from_fn(|i| a[i] / b[i])
            }
            #[inline(always)]
            fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V {
                $fma(a, b, c)
            }
            #[inline(always)]
            fn abs(self, a: Self::V) -> Self::V {
                from_fn(|i| Element::abs(a[i]))
            }
            #[inline(always)]
            fn min_or_second(self, a: Self::V, b: Self::V) -> Self::V {
                from_fn(|i| if a[i] < b[i] { a[i] } else { b[i] })
            }
            #[inline(always)]
            fn max_or_second(self, a: Self::V, b: Self::V) -> Self::V {
                from_fn(|i| if a[i] > b[i] { a[i] } else { b[i] })
            }
            #[inline(always)]
            fn min_ordered(self, a: Self::V, b: Self::V) -> Self::V {
                from_fn(|i| {
                    // Equal operands differ at most in the sign of zero.
                    let tie = <$T>::from_bits(a[i].to_bits() | b[i].to_bits());
                    let greater = if a[i] == b[i] { tie } else { b[i] };
                    if a[i] < b[i] { a[i] } else { greater }
                })
            }
            #[inline(always)]
            fn max_ordered(self, a: Self::V, b: Self::V) -> Self::V {
                from_fn(|i| {
                    let tie = <$T>::from_bits(a[i].to_bits() & b[i].to_bits());
                    let less = if a[i] == b[i] { tie } else { b[i] };
                    if a[i] > b[i] { a[i] } else { less }
                })
            }
            #[inline(always)]
            fn pow2(self, n: Self::V) -> Self::V {
                from_fn(|i| <$T as Element>::pow2_integral(n[i]))
            }

            #[inline(always)]
            fn le(self, a: Self::V, b: Self::V) -> Self::M {
                from_fn(|i| mask!($U, a[i] <= b[i]))
            }
            #[inline(always)]
            fn eq(self, a: Self::V, b: Self::V) -> Self::M {
                from_fn(|i| mask!($U, a[i] == b[i]))
            }
            #[inline(always)]
            fn unordered(self, a: Self::V, b: Self::V) -> Self::M {
                from_fn(|i| mask!($U, a[i].is_nan() | b[i].is_nan()))
            }
            #[inline(always)]
            fn first_lanes(self, n: usize) -> Self::M {
                from_fn(|i| mask!($U, i < n))
            }
            #[inline(always)]
            fn hidden(self, v: Self::V) -> Self::V {
                core::hint::black_box(v)
            }
            #[inline(always)]
            fn bits(self, m: Self::M) -> u32 {
                (0..$N).fold(0, |bits, i| bits | (m[i] as u32 & 1) << i)
            }
            #[inline(always)]
            fn select(self, m: Self::M, a: Self::V, b: Self::V) -> Self::V {
                from_fn(|i| <$T>::from_bits(a[i].to_bits() & m[i] | b[i].to_bits() & !m[i]))
            }
            #[inline(always)]
            fn upper(self, v: Self::V, w: usize) -> Self::V {
                from_fn(|i| v[(i + w) % $N])
            }
            #[inline(always)]
            fn unzip(self, a: Self::V, b: Self::V, w: usize) -> (Self::V, Self::V) {
                let half = |upper: usize| {
                    from_fn(|i| {
                        let lane = i / w * 2 * w + i % w + upper;
                        if lane < $N { a[lane] } else { b[lane - $N] }
                    })
                };
                (half(0), half(w))
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
    };
}

portable!(f32, u32, 4, 16, fma fma_f32);
portable!(f64, u64, 2, 16, fma fma_f64);

/// Defines the fused multiply-add of registers. Where no instruction has it, it takes many; and kernels have many of them, which on
/// x86-64 only CPUs without AVX2 run. There it is a function, with the calling convention that passes registers.
macro_rules! fma {
    ($name:ident: $T:ty, $N:literal, $Xmm:ident) => {
        #[inline(always)]
        fn $name(a: [$T; $N], b: [$T; $N], c: [$T; $N]) -> [$T; $N] {
            #[cfg(all(target_arch = "x86_64", not(target_feature = "fma")))]
            {
                use core::arch::x86_64::$Xmm;
                use core::mem::transmute;

                // Only Rust calls it.
                #[allow(improper_ctypes_definitions)]
                #[inline(never)]
                extern "C" fn fma(a: $Xmm, b: $Xmm, c: $Xmm) -> $Xmm {
                    // SAFETY: registers are arrays of numbers.
                    unsafe {
                        let [a, b, c] = [a, b, c].map(|v| transmute::<$Xmm, [$T; $N]>(v));
                        let sums: [$T; $N] = from_fn(|i| Element::fma(a[i], b[i], c[i]));
                        transmute(sums)
                    }
                }
                // SAFETY: as above.
                unsafe {
                    let [a, b, c] = [a, b, c].map(|v| transmute::<[$T; $N], $Xmm>(v));
                    transmute(fma(a, b, c))
                }
            }
            #[cfg(not(all(target_arch = "x86_64", not(target_feature = "fma"))))]
            from_fn(|i| Element::fma(a[i], b[i], c[i]))
        }
    };
}

fma!(fma_f32: f32, 4, __m128);
fma!(fma_f64: f64, 2, __m128d);

/// Loads and stores of a type in memory whose elements are converted. Functions of their own, because a conversion takes
/// many instructions, and kernels have many loads and stores.
macro_rules! converted {
    ($M:ty as $T:ty) => {
        impl Access<$M> for Portable<$T> {
            #[inline(never)]
            unsafe fn load(self, p: *const $M) -> Self::V {
                // SAFETY: the caller vouches for N elements.
                from_fn(|i| unsafe { *p.add(i) }.into_compute())
            }
            #[inline(never)]
            unsafe fn load_partial(self, p: *const $M, n: usize) -> Self::V {
                let element = |i: usize| {
                    if i < n {
                        // SAFETY: only the first n elements are read, for which the caller vouches.
                        unsafe { *p.add(i) }
                    } else {
                        <$M>::default()
                    }
                };
                from_fn(|i| element(i).into_compute())
            }
            #[inline(never)]
            unsafe fn store(self, p: *mut $M, v: Self::V) {
                let elements: [$M; Self::N] = from_fn(|i| Storage::from_compute(v[i]));
                // SAFETY: the caller vouches for N elements; an array has their alignment.
                unsafe { p.cast::<[$M; Self::N]>().write(elements) }
            }
            #[inline(never)]
            unsafe fn store_partial(self, p: *mut $M, n: usize, v: Self::V) {
                for (i, &x) in v.iter().enumerate().take(n) {
                    // SAFETY: i < n, and the caller vouches for n elements.
                    unsafe { *p.add(i) = Storage::from_compute(x) }
                }
            }
        }
    };
}

converted!(f16 as f32);
converted!(bf16 as f32);
