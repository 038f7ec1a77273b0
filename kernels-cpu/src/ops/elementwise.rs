//! Elementwise kernels: one generic loop over a step that says what happens to one register.

use core::ptr::null;

use super::{FAR, prefetch_pages};
use crate::element::Element;
use crate::scalar;
use crate::simd::Simd;

/// What an elementwise operation does to one register. Structs, not closures: a closure would not
/// be inlined into the function that has the target features.
trait Step<S: Simd>: Copy {
    /// How many of the two input arrays are read.
    const INPUTS: usize;
    /// Whether y divides. Then it is 1 where there are no elements: 0 / 0 would raise a flag of the processor's,
    /// or trap.
    const DIVIDES: bool = false;
    fn apply(self, s: S, x: S::V, y: S::V) -> S::V;
}

/// out[i] = step(x[i], y[i]); past the caches where `stream`. An unused input may be any pointer.
///
/// # Safety
/// `x`, `y` as far as used and `out` must be valid for `n` elements; `out` may be exactly an input.
#[inline(always)]
unsafe fn map<S: Simd, P: Step<S>>(
    s: S,
    step: P,
    n: usize,
    x: *const S::T,
    y: *const S::T,
    out: *mut S::T,
    stream: bool,
) {
    const UNROLL: usize = 4;
    let mut i = 0;
    // SAFETY: every access lies in i..n; all loads of a block precede its stores.
    unsafe {
        if stream {
            // Streamed stores need whole aligned registers.
            let head = out.align_offset(S::N * size_of::<S::T>()).min(n);
            if head > 0 {
                s.store_partial(out, head, apply(s, step, x, y, 0, head));
                i = head;
            }
            while i + S::N <= n {
                s.stream(out.add(i), apply(s, step, x, y, i, S::N));
                i += S::N;
            }
            s.fence();
        }
        while i + UNROLL * S::N <= n {
            let mut block = [s.splat(S::T::ZERO); UNROLL];
            for (u, slot) in block.iter_mut().enumerate() {
                *slot = apply(s, step, x, y, i + u * S::N, S::N);
            }
            for (u, &v) in block.iter().enumerate() {
                s.store(out.add(i + u * S::N), v);
            }
            i += UNROLL * S::N;
        }
        while i + S::N <= n {
            s.store(out.add(i), apply(s, step, x, y, i, S::N));
            i += S::N;
        }
        if i < n {
            s.store_partial(out.add(i), n - i, apply(s, step, x, y, i, n - i));
        }
    }
}

/// The step on `len` elements from i.
///
/// # Safety
/// The inputs that are used must be valid there; len <= S::N.
#[inline(always)]
unsafe fn apply<S: Simd, P: Step<S>>(
    s: S,
    step: P,
    x: *const S::T,
    y: *const S::T,
    i: usize,
    len: usize,
) -> S::V {
    let mut inputs = [s.splat(S::T::ZERO); 2];
    for (slot, p) in inputs.iter_mut().zip([x, y]).take(P::INPUTS) {
        // SAFETY: the caller vouches for these elements of the inputs that are used.
        *slot = unsafe {
            if len == S::N {
                s.load(p.add(i))
            } else {
                s.load_partial(p.add(i), len)
            }
        };
    }
    if P::DIVIDES && len < S::N {
        inputs[1] = s.select(s.first_lanes(len), inputs[1], s.splat(S::T::ONE));
    }
    step.apply(s, inputs[0], inputs[1])
}

/// A step and the kernel that runs it. `$par` are registers made once per call.
macro_rules! elementwise {
    ($(#[$doc:meta])* $name:ident, $Step:ident { $($par:ident),* },
     ($($arg:ident: $kind:tt),*), inputs $inputs:literal ($x:expr, $y:expr), $(const $constant:ident,)?
     |$s:ident, $a:ident, $b:ident| $body:expr) => {
        #[derive(Clone, Copy)]
        struct $Step<V> { $($par: V,)* _v: core::marker::PhantomData<V> }

        impl<S: Simd> Step<S> for $Step<S::V> {
            const INPUTS: usize = $inputs;
            $(const $constant: bool = true;)?
            #[inline(always)]
            fn apply(self, $s: S, $a: S::V, $b: S::V) -> S::V {
                let Self { $($par,)* .. } = self;
                $body
            }
        }

        $(#[$doc])*
        ///
        /// # Safety
        /// Arrays must be valid for `n` elements; `out` may be exactly an input.
        #[inline(always)]
        pub unsafe fn $name<S: Simd>(s: S, n: usize, $($arg: elementwise!(@ty $kind),)* out: *mut S::T, stream: bool) {
            let step = $Step { $($par: s.splat($par),)* _v: core::marker::PhantomData };
            // SAFETY: as the caller's.
            unsafe { map(s, step, n, $x, $y, out, stream) }
        }
    };
    (@ty array) => { *const S::T };
    (@ty value) => { S::T };
}

elementwise!(
    /// out = clamp(x, lo, hi); the bounds are not NaN.
    clamp, Clamp { lo, hi }, (x: array, lo: value, hi: value), inputs 1 (x, x),
    |s, a, _b| scalar::clamp(s, a, lo, hi)
);
elementwise!(
    /// out = grad where lo <= x <= hi, else 0.
    clamp_backward, ClampBackward { lo, hi }, (x: array, grad: array, lo: value, hi: value),
    inputs 2 (x, grad), |s, a, b| scalar::clamp_backward(s, a, b, lo, hi)
);
elementwise!(
    /// out = x + y.
    add, Add {}, (x: array, y: array), inputs 2 (x, y), |s, a, b| s.add(a, b)
);
elementwise!(
    /// out = x - y.
    sub, Sub {}, (x: array, y: array), inputs 2 (x, y), |s, a, b| s.sub(a, b)
);
elementwise!(
    /// out = x * y.
    mul, Mul {}, (x: array, y: array), inputs 2 (x, y), |s, a, b| s.mul(a, b)
);
elementwise!(
    /// out = x / y.
    div, Div {}, (x: array, y: array), inputs 2 (x, y), const DIVIDES, |s, a, b| s.div(a, b)
);
elementwise!(
    /// out = alpha * x.
    scale, Scale { alpha }, (alpha: value, x: array), inputs 1 (x, x), |s, a, _b| s.mul(alpha, a)
);
elementwise!(
    /// out = fma(alpha, x, y).
    add_scaled, AddScaled { alpha }, (alpha: value, x: array, y: array), inputs 2 (x, y),
    |s, a, b| s.fma(alpha, a, b)
);
elementwise!(
    /// out = x * x.
    square, Square {}, (x: array), inputs 1 (x, x), |s, a, _b| s.mul(a, a)
);
elementwise!(
    /// out = value.
    fill, Fill { value }, (value: value), inputs 0 (null(), null()), |_s, _a, _b| value
);

/// y = fma(alpha, x, y).
///
/// # Safety
/// Arrays must be valid for `n` elements; `y` may be exactly `x`.
#[inline(always)]
pub unsafe fn axpy<S: Simd>(s: S, n: usize, alpha: S::T, x: *const S::T, y: *mut S::T) {
    const BLOCK: usize = 8 << 10;
    let far = n >= FAR / size_of::<S::T>();
    let block = if far { BLOCK / size_of::<S::T>() } else { n };
    let mut from = 0;
    while from < n {
        let (x, y) = (x.wrapping_add(from), y.wrapping_add(from));
        if far {
            prefetch_pages(s, x, BLOCK);
            prefetch_pages(s, y.cast_const(), BLOCK);
        }
        let len = block.min(n - from);
        // SAFETY: as the caller's; the block lies in 0..n.
        unsafe { add_scaled(s, len, alpha, x, y.cast_const(), y, false) };
        from += len;
    }
}
