//! The squared error and its gradient in one pass.

use super::halving::{halve_lanes, halve_registers};
use super::leaf::leaf;
use super::source::CHUNK_BYTES;
use super::tree::Tree;
use super::{DifferenceSq, Sum, chunk_len};
use crate::detect::is_from_memory;
use crate::element::Element;
use crate::ops::{load, prefetch_pages, store};
use crate::simd::{Outlined, Simd};

/// Writes 2 (pred - target) to `grad`, and returns the sum of (pred - target)^2 in the canonical order, without the
/// last step. With `stream`, `grad` is written with non-temporal stores.
///
/// # Safety
/// Arrays must be valid for `n` elements; `grad` may be exactly `pred` or `target`.
#[inline(always)]
pub unsafe fn mse_grad<S: Simd>(
    s: S,
    n: usize,
    pred: *const S::T,
    target: *const S::T,
    grad: *mut S::T,
    stream: bool,
) -> S::T {
    if n <= chunk_len::<S::T>() && !stream {
        return s.first(mse_chunk(s, n, pred, target, grad));
    }
    s.outlined(MseChunks {
        n,
        pred,
        target,
        grad,
        stream,
    })
}

/// The arguments of [`mse_grad`], for vectors of any length.
struct MseChunks<T> {
    n: usize,
    pred: *const T,
    target: *const T,
    grad: *mut T,
    stream: bool,
}

impl<S: Simd> Outlined<S> for MseChunks<S::T> {
    type Output = S::T;

    /// # Safety
    /// As [`mse_grad`].
    #[inline(always)]
    unsafe fn run(self, s: S) -> S::T {
        let Self { n, stream, .. } = self;
        let len = chunk_len::<S::T>();
        let mut tree = Tree::<S>::new();
        let from_memory = is_from_memory::<S::T>(n);
        for from in (0..n).step_by(len) {
            let count = len.min(n - from);
            let (pred, target) = (self.pred.wrapping_add(from), self.target.wrapping_add(from));
            if from_memory {
                prefetch_pages(s, pred, CHUNK_BYTES);
                prefetch_pages(s, target, CHUNK_BYTES);
            }
            // SAFETY: the chunk lies in 0..n.
            let leaf = unsafe {
                let grad = self.grad.add(from);
                if S::HAS_NON_TEMPORAL_STORES && stream {
                    let leaf = leaf::<S, DifferenceSq>(s, count, pred, target, s.splat(S::T::ZERO));
                    stream_gradient(s, count, pred, target, grad);
                    halve_lanes::<S, Sum>(s, leaf.acc[0], count)
                } else {
                    mse_chunk(s, count, pred, target, grad)
                }
            };
            tree.push::<Sum>(s, [leaf]);
        }
        if S::HAS_NON_TEMPORAL_STORES && stream {
            s.fence();
        }
        s.first(tree.finish::<Sum>(s)[0])
    }
}

/// Writes the gradient of a chunk, whole aligned registers with non-temporal stores. These registers are not aligned
/// with the lanes, so the inputs are read again, from L1.
///
/// # Safety
/// The arrays must be valid for `n` elements; `grad` may be exactly an input.
#[inline(always)]
unsafe fn stream_gradient<S: Simd>(
    s: S,
    n: usize,
    pred: *const S::T,
    target: *const S::T,
    grad: *mut S::T,
) {
    let mut i = 0;
    let mut len = grad.align_offset(S::N * size_of::<S::T>()).min(n);
    // SAFETY: every access lies in 0..n, and each register is read before it is written.
    unsafe {
        while i < n {
            let d = s.sub(load(s, pred.add(i), len), load(s, target.add(i), len));
            let g = s.add(d, d);
            if len == S::N {
                s.stream(grad.add(i), g);
            } else {
                s.store_partial(grad.add(i), len, g);
            }
            i += len;
            len = S::N.min(n - i);
        }
    }
}

/// [`mse_grad`] for one chunk of `n` elements; the result is in lane 0.
///
/// # Safety
/// The arrays must be valid for `n` elements; `grad` may be exactly an input.
#[inline(always)]
unsafe fn mse_chunk<S: Simd>(
    s: S,
    n: usize,
    pred: *const S::T,
    target: *const S::T,
    grad: *mut S::T,
) -> S::V {
    let mut lanes = s.lanes(s.splat(S::T::ZERO));
    let acc = lanes.as_mut();
    let mut i = 0;
    // SAFETY: every access lies in 0..n, and each register is read before it is written.
    unsafe {
        while i + <S::T as Element>::LANES <= n {
            for slot in acc.iter_mut() {
                let d = s.sub(s.load(pred.add(i)), s.load(target.add(i)));
                s.store(grad.add(i), s.add(d, d));
                *slot = s.fma(d, d, *slot);
                i += S::N;
            }
        }
        for slot in acc.iter_mut() {
            if i == n {
                break;
            }
            let len = (n - i).min(S::N);
            let d = s.sub(load(s, pred.add(i), len), load(s, target.add(i), len));
            store(s, grad.add(i), len, s.add(d, d));
            *slot = s.fma(d, d, *slot);
            i += len;
        }
    }
    halve_lanes::<S, Sum>(s, halve_registers::<S, Sum>(s, lanes, n), n)
}
