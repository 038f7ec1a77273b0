//! clamp, arithmetic, scale, axpy, square, fill.
//!
//! A thread takes 16 bytes at a time where every array is a multiple of 16, else single elements; the
//! grid strides over the array, so any number of blocks does. A thread's loads come before its stores:
//! more bytes are under way at once.

use crate::gpu::thread;
use crate::real::Real;
use crate::single::Single;
use diptych::panel::{Simd, scalar};

/// Accesses of 16 bytes that a thread has under way at once.
const UNROLL: u64 = 4;

/// Bytes that one turn of a block of 256 threads takes of an array.
pub const BLOCK_BYTES: u64 = 256 * UNROLL * 16;

/// What an elementwise operation does to one element.
trait Step<T: Real>: Copy {
    /// How many of the two inputs are read.
    const INPUTS: usize;
    fn apply(self, s: Single<T>, x: T, y: T) -> T;
}

/// out\[i\] = step(x\[i\], y\[i\]). An unused input may be any pointer that is a multiple of 16.
///
/// # Safety
/// `out` and the inputs as far as used must be valid for `n` elements.
#[inline(always)]
unsafe fn map<T: Real, P: Step<T>>(step: P, n: u64, x: *const T, y: *const T, out: *mut T) {
    let stride = thread::grid_dim_x() as u64 * thread::block_dim_x() as u64;
    let first = thread::index_1d();
    let mut done = 0;
    // SAFETY: every access lies below n, for which the caller vouches; packs where all are aligned.
    unsafe {
        if (x.addr() | y.addr() | out.addr()).is_multiple_of(16) {
            let packs = n / T::WIDTH as u64;
            done = packs * T::WIDTH as u64;
            let mut i = first;
            while i + (UNROLL - 1) * stride < packs {
                map_packs::<T, P, { UNROLL as usize }>(step, (i, stride), x, y, out);
                i += UNROLL * stride;
            }
            while i < packs {
                map_packs::<T, P, 1>(step, (i, stride), x, y, out);
                i += stride;
            }
        }
        let mut i = done + first;
        while i < n {
            let at = i as usize;
            let a = if P::INPUTS > 0 {
                T::load(x.add(at))
            } else {
                T::ZERO
            };
            let b = if P::INPUTS > 1 {
                T::load(y.add(at))
            } else {
                T::ZERO
            };
            T::store(out.add(at), step.apply(Single::new(), a, b));
            i += stride;
        }
    }
}

/// The packs i, i + stride, ..., `N` of them.
///
/// # Safety
/// As [`map`]: these packs must be valid.
#[inline(always)]
unsafe fn map_packs<T: Real, P: Step<T>, const N: usize>(
    step: P,
    (i, stride): (u64, u64),
    x: *const T,
    y: *const T,
    out: *mut T,
) {
    let at = |u: usize| (i + u as u64 * stride) as usize * T::WIDTH as usize;
    let mut a = [T::ZERO.pack(); N];
    let mut b = [T::ZERO.pack(); N];
    // SAFETY: as the caller's.
    unsafe {
        for u in 0..N {
            if P::INPUTS > 0 {
                a[u] = T::load_pack(x.add(at(u)));
            }
            if P::INPUTS > 1 {
                b[u] = T::load_pack(y.add(at(u)));
            }
        }
        for u in 0..N {
            for (a, &b) in a[u].as_mut().iter_mut().zip(b[u].as_ref()) {
                *a = step.apply(Single::new(), *a, b);
            }
            T::store_pack(out.add(at(u)), a[u]);
        }
    }
}

/// A step, and the kernel that runs it.
macro_rules! elementwise {
    ($(#[$doc:meta])* $name:ident, $Step:ident { $($par:ident),* },
     ($($arg:ident: $kind:tt),*) -> $out:ident, inputs $inputs:literal ($x:expr, $y:expr),
     |$s:ident, $a:ident, $b:ident| $body:expr) => {
        #[derive(Clone, Copy)]
        struct $Step<T> { $($par: T,)* _t: core::marker::PhantomData<T> }

        impl<T: Real> Step<T> for $Step<T> {
            const INPUTS: usize = $inputs;
            #[inline(always)]
            fn apply(self, $s: Single<T>, $a: T, $b: T) -> T {
                let Self { $($par,)* .. } = self;
                $body
            }
        }

        $(#[$doc])*
        ///
        /// Any grid of one dimension; [`BLOCK_BYTES`] are a turn of a block.
        ///
        /// # Safety
        /// Arrays must be valid for `n` elements; the output may be exactly an input.
        #[inline(always)]
        pub unsafe fn $name<T: Real>(n: u64, $($arg: elementwise!(@ty $kind),)* $out: *mut T) {
            let step = $Step { $($par,)* _t: core::marker::PhantomData };
            // SAFETY: as the caller's.
            unsafe { map(step, n, $x, $y, $out) }
        }
    };
    (@ty array) => { *const T };
    (@ty value) => { T };
}

elementwise!(
    /// out = clamp(x, lo, hi); the bounds are not NaN.
    clamp, Clamp { lo, hi }, (x: array, lo: value, hi: value) -> out, inputs 1 (x, x),
    |s, a, _b| scalar::clamp(s, a, lo, hi)
);
elementwise!(
    /// out = grad where lo <= x <= hi, else 0.
    clamp_backward, ClampBackward { lo, hi }, (x: array, grad: array, lo: value, hi: value) -> out,
    inputs 2 (x, grad), |s, a, b| scalar::clamp_backward(s, a, b, lo, hi)
);
elementwise!(
    /// out = x + y.
    add, Add {}, (x: array, y: array) -> out, inputs 2 (x, y), |_s, a, b| a + b
);
elementwise!(
    /// out = x - y.
    sub, Sub {}, (x: array, y: array) -> out, inputs 2 (x, y), |_s, a, b| a - b
);
elementwise!(
    /// out = x * y.
    mul, Mul {}, (x: array, y: array) -> out, inputs 2 (x, y), |_s, a, b| a * b
);
elementwise!(
    /// out = x / y.
    div, Div {}, (x: array, y: array) -> out, inputs 2 (x, y), |_s, a, b| a / b
);
elementwise!(
    /// out = alpha * x.
    scale, Scale { alpha }, (alpha: value, x: array) -> out, inputs 1 (x, x), |_s, a, _b| alpha * a
);
elementwise!(
    /// y = fma(alpha, x, y).
    axpy, Axpy { alpha }, (alpha: value, x: array) -> y, inputs 2 (x, y.cast_const()),
    |s, a, b| s.fma(alpha, a, b)
);
elementwise!(
    /// out = x * x.
    square, Square {}, (x: array) -> out, inputs 1 (x, x), |_s, a, _b| a * a
);
elementwise!(
    /// out = value.
    fill, Fill { value }, (value: value) -> out, inputs 0 (out.cast_const(), out.cast_const()),
    |_s, _a, _b| value
);
