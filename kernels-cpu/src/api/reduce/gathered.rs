//! Reductions chunk by chunk, of vectors whose elements have no common stride, and of the few vectors that need further
//! passes. The tree over the chunks is built while these arrive.

use super::fold::{FoldKernels, StridedVector};
use super::reduction::OfVector;
use super::search::Search;
use super::tree::ChunkTree;
use super::widened_chunks::WidenedVector;
use crate::aligned::AlignedBytes;
use crate::dispatch::is_element;
use crate::element::{Element, Storage};
use crate::level::Level;
use crate::ops::reduce::chunk_len;
use crate::recipe::{Cpu, Divisors, Folded, scaled};

/// The most vectors that are reduced together, so that memory can be read in lines along them.
pub const MAX_GATHERED: usize = 16;

/// Vectors of one length, of which parts can be gathered.
pub trait Chunks {
    /// Returns where elements from .. from + len of the first vector lie, one after the other, and the bytes from one
    /// vector to the next. They are valid until the next call.
    ///
    /// # Safety
    /// The vectors must be valid and have these elements, at most a chunk.
    unsafe fn chunk(&mut self, from: usize, len: usize) -> (*const u8, isize);

    /// Returns where `len` elements of one vector, which [`Chunks::chunk`] has returned, are in the type of arithmetic. They
    /// are valid until the next call.
    ///
    /// # Safety
    /// `x` must be an address of such elements.
    unsafe fn computed(&mut self, x: *const u8, _len: usize) -> *const u8 {
        x
    }
}

/// Bytes of the longest chunk.
const CHUNK_BYTES: usize = 8 << 10;

/// A vector whose elements have a common stride.
struct Strided<T> {
    x: StridedVector<T>,
    copy: AlignedBytes<CHUNK_BYTES>,
}

impl<T: Copy> Chunks for Strided<T> {
    unsafe fn chunk(&mut self, from: usize, len: usize) -> (*const u8, isize) {
        if self.x.inc == 1 {
            return (self.x.at(from).cast(), 0);
        }
        let copy: *mut T = self.copy.start();
        for i in 0..len {
            // SAFETY: the caller's vector has these elements, and the copy has room for a chunk.
            unsafe { copy.add(i).write(*self.x.at(from + i)) };
        }
        (copy.cast_const().cast(), 0)
    }
}

/// Folds `len` elements multiplied by a factor, at most a chunk. `scaled` is the factor and the parameter of the fold.
///
/// # Safety
/// `x` must be valid at `len` elements.
#[inline(never)]
unsafe fn fold_scaled<T: Element>(
    fold: FoldKernels<T>,
    len: usize,
    x: *const T,
    (factor, param): (T, T),
) -> Folded<T> {
    let mut elements = AlignedBytes::<CHUNK_BYTES>::new();
    let scaled: *mut T = elements.start();
    // SAFETY: the caller vouches for x, and there is room for a chunk.
    unsafe {
        for i in 0..len {
            scaled.add(i).write(*x.add(i) * factor);
        }
        (fold.vector)(len, scaled, 1, scaled, 1, param)
    }
}

/// [`all_passes`] as a value.
pub type AllPasses<T> = unsafe fn(&OfVector<T>, usize, &mut dyn Chunks) -> T;

/// Reduces a vector of `n` elements that needs the passes that few vectors need.
///
/// # Safety
/// The vector must be valid and have `n` elements.
pub unsafe fn all_passes<T: Element>(
    reduction: &OfVector<T>,
    n: usize,
    chunks: &mut dyn Chunks,
) -> T {
    const { assert!(chunk_len::<T>() * size_of::<T>() <= CHUNK_BYTES) };
    // SAFETY: as the caller's.
    unsafe { reduction.gathered(1, 0, n, chunks)[0] }
}

/// Calls `body` with the chunks of a vector.
#[inline(always)]
pub fn of_strided<M: Storage, R>(
    level: Level,
    x: StridedVector<M>,
    body: impl FnOnce(&mut dyn Chunks) -> R,
) -> R {
    if const { is_element::<M>() } {
        let copy = AlignedBytes::<CHUNK_BYTES>::new();
        body(&mut Strided { x, copy })
    } else {
        body(&mut WidenedVector::new(level, x))
    }
}

impl<T: Element> OfVector<T> {
    /// Reduces elements first .. first + n of each of `vectors` vectors, at most [`MAX_GATHERED`].
    ///
    /// # Safety
    /// The vectors must be valid and have these elements.
    // Not inlined: all results and [`all_passes`] share one copy.
    #[inline(never)]
    pub unsafe fn gathered(
        &self,
        vectors: usize,
        first: usize,
        n: usize,
        chunks: &mut dyn Chunks,
    ) -> [T; MAX_GATHERED] {
        let recipe = self.recipe;
        let divisors = Divisors::of_one(n, self.ddof);
        let mut known = [T::ZERO; MAX_GATHERED];
        for pass in 0..recipe.passes() {
            let (index, is_scaled) = recipe.fold_of(pass);
            let Some(&Some(f)) = self.folds.get(index) else {
                break;
            };
            let mut params = [None; MAX_GATHERED];
            for (param, &known) in params.iter_mut().zip(&known).take(vectors) {
                *param = match pass {
                    0 => Some(T::ZERO),
                    _ => (recipe.needs_pass(pass, known)).then(|| recipe.pass_param(pass, known)),
                };
            }
            if params.iter().all(Option::is_none) {
                break;
            }
            let mut trees = [const { ChunkTree::EMPTY }; MAX_GATHERED];
            let mut from = 0;
            while from < n {
                let len = chunk_len::<T>().min(n - from);
                // SAFETY: the caller's vectors have these elements.
                let (mut x, step) = unsafe { chunks.chunk(first + from, len) };
                for (tree, param) in trees.iter_mut().zip(params) {
                    if let Some(param) = param {
                        // SAFETY: these elements have been gathered.
                        let folded = unsafe {
                            let p: *const T = chunks.computed(x, len).cast();
                            if is_scaled {
                                fold_scaled(f, len, p, scaled(param, pass == 3))
                            } else {
                                (f.vector)(len, p, 1, p, 1, param)
                            }
                        };
                        tree.push(folded, |a, b| f.join.both(a, b));
                    }
                    x = x.wrapping_offset(step);
                }
                from += len;
            }
            for ((known, tree), param) in known.iter_mut().zip(&trees).zip(params) {
                if param.is_some() {
                    let zero = Folded(T::ZERO, T::ZERO);
                    let folded = tree.finish(|a, b| f.join.both(a, b)).unwrap_or(zero);
                    *known = recipe.after_pass(pass, *known, folded, divisors, Cpu);
                }
            }
        }
        known
    }
}

impl<T: Element> Search<T> {
    /// Returns the index of the extreme of each of `vectors` vectors, at most [`MAX_GATHERED`], of n > 0 elements.
    ///
    /// # Safety
    /// The vectors must be valid and have `n` elements.
    pub unsafe fn gathered(
        &self,
        vectors: usize,
        n: usize,
        chunks: &mut dyn Chunks,
    ) -> [i64; MAX_GATHERED] {
        let mut best = [T::ZERO; MAX_GATHERED];
        let mut indices = [0; MAX_GATHERED];
        let mut from = 0;
        while from < n {
            let len = chunk_len::<T>().min(n - from);
            // SAFETY: the caller's vectors have these elements.
            let (mut x, step) = unsafe { chunks.chunk(from, len) };
            for (best, index) in best.iter_mut().zip(&mut indices).take(vectors) {
                // SAFETY: these elements have been gathered, and the index is one of theirs.
                let (found, value) = unsafe {
                    let p: *const T = chunks.computed(x, len).cast();
                    let found = (self.vector)(len, p, 1);
                    (found, *p.add(found))
                };
                let is_better = !best.is_nan() && (value.is_nan() || (self.better)(value, *best));
                if from == 0 || is_better {
                    (*best, *index) = (value, (from + found) as i64);
                }
                x = x.wrapping_offset(step);
            }
            from += len;
        }
        indices
    }
}
