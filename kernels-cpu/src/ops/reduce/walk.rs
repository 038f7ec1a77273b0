//! The fold of one vector, chunk by chunk.

use core::marker::PhantomData;
use core::ptr::null_mut;

use super::chunk::{chunk, one_register};
use super::fold::start;
use super::source::{Source, buffer};
use super::streams::{self, CHUNKS, two_streams};
use super::tree::Tree;
use super::{Fold, chunk_len};
use crate::detect::is_from_memory;
use crate::element::Element;
use crate::recipe::Folded;
use crate::simd::{Outlined, Simd};

/// Returns the fold `F` of a vector, without its last step. `y` is read by folds of two vectors, `param` by folds with
/// a parameter.
///
/// # Safety
/// `x`, and `y` if read, must be valid at `n` elements of their stride.
#[inline(always)]
pub unsafe fn vector<S: Simd, F: Fold<S>>(
    s: S,
    n: usize,
    x: *const S::T,
    incx: isize,
    y: *const S::T,
    incy: isize,
    param: S::T,
) -> Folded<S::T> {
    let from_memory = is_from_memory::<S::T>(n);
    fold_vector::<S, F>(s, n, x, incx, y, incy, param, from_memory)
}

/// Folds a vector. With `from_memory`, the elements are expected in memory rather than in a cache, and are prefetched.
///
/// # Safety
/// As [`vector`].
#[inline(always)]
pub unsafe fn fold_vector<S: Simd, F: Fold<S>>(
    s: S,
    n: usize,
    x: *const S::T,
    incx: isize,
    y: *const S::T,
    incy: isize,
    param: S::T,
    from_memory: bool,
) -> Folded<S::T> {
    let contiguous = incx == 1 && (!F::PAIR || incy == 1);
    if contiguous && n <= chunk_len::<S::T>() && !F::IS_LONG {
        let param = s.splat(param);
        let acc = if n <= S::N {
            one_register::<S, F>(s, n, x, y, param)
        } else {
            chunk::<S, F>(s, n, x, y, param)
        };
        return first_lanes::<S, F>(s, acc);
    }
    let chunks = Chunks::<S, F> {
        n,
        x: Source { p: x, inc: incx },
        y: Source { p: y, inc: incy },
        buffers: [null_mut(); 2],
        param,
        from_memory,
        fold: PhantomData,
    };
    if contiguous {
        s.outlined(chunks)
    } else {
        s.outlined(Strided(chunks))
    }
}

/// Lane 0 of each accumulator.
#[inline(always)]
fn first_lanes<S: Simd, F: Fold<S>>(s: S, acc: F::Acc) -> Folded<S::T> {
    let acc = acc.as_ref();
    let second = match acc.get(1) {
        Some(&v) => s.first(v),
        None => S::T::ZERO,
    };
    Folded(s.first(acc[0]), second)
}

/// [`Chunks`] of strided elements, with buffers on the stack to which each chunk is copied.
struct Strided<S: Simd, F>(Chunks<S, F>);

impl<S: Simd, F: Fold<S>> Outlined<S> for Strided<S, F> {
    type Output = Folded<S::T>;

    /// # Safety
    /// As [`fold_vector`].
    #[inline(always)]
    unsafe fn run(self, s: S) -> Folded<S::T> {
        let (mut x, mut y) = (buffer(), buffer());
        let buffers = [x.as_mut_ptr().cast(), y.as_mut_ptr().cast()];
        // SAFETY: as the caller's; each buffer has room for a chunk.
        unsafe { s.outlined(Chunks { buffers, ..self.0 }) }
    }
}

/// A vector of any length and strides, and the tree over its chunks.
struct Chunks<S: Simd, F> {
    n: usize,
    x: Source<S::T>,
    y: Source<S::T>,
    /// Buffers for a chunk of each vector, used where its stride is not 1.
    buffers: [*mut S::T; 2],
    param: S::T,
    from_memory: bool,
    fold: PhantomData<F>,
}

impl<S: Simd, F: Fold<S>> Outlined<S> for Chunks<S, F> {
    type Output = Folded<S::T>;

    /// # Safety
    /// As [`fold_vector`].
    #[inline(always)]
    unsafe fn run(self, s: S) -> Folded<S::T> {
        let Self {
            n,
            x,
            y,
            buffers: [x_buffer, y_buffer],
            from_memory,
            ..
        } = self;
        let (len, param) = (chunk_len::<S::T>(), s.splat(self.param));
        let mut tree = Tree::<S>::new();
        let mut from = 0;
        // SAFETY: as the caller's; the chunks lie in 0..n.
        unsafe {
            if streams::pays::<S, F>(n, x.inc) {
                while n - from > CHUNKS * len {
                    let results = two_streams::<S, F>(s, x.skip(from).p, self.param);
                    for c in 0..CHUNKS {
                        let mut acc = start::<S, F>(s);
                        for (acc, results) in acc.as_mut().iter_mut().zip(&results) {
                            *acc = s.splat(results[c]);
                        }
                        tree.push::<F>(s, acc);
                    }
                    from += CHUNKS * len;
                }
            }
            loop {
                let count = len.min(n - from);
                if from_memory {
                    x.prefetch(s, from);
                    if F::PAIR {
                        y.prefetch(s, from);
                    }
                }
                let xs = x.contiguous(from, count, x_buffer);
                let ys = if F::PAIR {
                    y.contiguous(from, count, y_buffer)
                } else {
                    xs
                };
                tree.push::<F>(s, chunk::<S, F>(s, count, xs, ys, param));
                from += count;
                if from == n {
                    return first_lanes::<S, F>(s, tree.finish::<F>(s));
                }
            }
        }
    }
}
