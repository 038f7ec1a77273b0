//! The vector interface that every kernel is written against, once, for all CPU levels.
//!
//! A value of a type that implements [`Simd`] is a token: it exists only where the CPU has the
//! instructions of its level, so its methods may use them. Every method must be
//! `#[inline(always)]`: one that is not becomes a call in each kernel, because a trait method
//! cannot carry `#[target_feature]` and the feature sits on the outermost function alone
//! (`table.rs`). `cargo xtask asm` checks the result.

use crate::element::{Element, Storage};

/// The registers of a CPU level for one type of arithmetic.
pub trait Register: Copy + Send + Sync + 'static {
    /// A register of `N` elements.
    type V: Copy;
    /// Lanes per register.
    const N: usize;
}

/// Loads and stores between registers and elements of the type `M` in memory, which are widened and rounded on
/// the way where arithmetic has another type. The type of a pointer chooses the conversion, so that one kernel
/// can read one type and write another.
///
/// Loads and stores need the alignment of one element only.
pub trait Access<M: Storage>: Register {
    /// `N` elements at `p`.
    ///
    /// # Safety
    /// `p` must be valid for reading `N` elements.
    unsafe fn load(self, p: *const M) -> Self::V;
    /// The first `n <= N` elements at `p`, +0 in the other lanes; nothing else is touched.
    ///
    /// # Safety
    /// `p` must be valid for reading `n` elements, and `n <= N`.
    unsafe fn load_partial(self, p: *const M, n: usize) -> Self::V;
    /// `n` elements at `p`, `p + inc`, ..., +0 in the other lanes.
    ///
    /// # Safety
    /// `p.offset(i * inc)` must be valid for reading for each `i < n`, and `n <= N`.
    #[inline(always)]
    unsafe fn load_strided(self, p: *const M, inc: isize, n: usize) -> Self::V {
        let mut buffer = [M::default(); 16];
        for (i, slot) in buffer.iter_mut().enumerate().take(n) {
            // SAFETY: the caller vouches for element i.
            *slot = unsafe { *p.offset(i as isize * inc) };
        }
        // SAFETY: no level has more than 16 lanes.
        unsafe { self.load(buffer.as_ptr()) }
    }
    /// Writes `N` elements to `p`.
    ///
    /// # Safety
    /// `p` must be valid for writing `N` elements.
    unsafe fn store(self, p: *mut M, v: Self::V);
    /// Writes the first `n <= N` lanes to `p`; nothing else is touched.
    ///
    /// # Safety
    /// `p` must be valid for writing `n` elements, and `n <= N`.
    unsafe fn store_partial(self, p: *mut M, n: usize, v: Self::V);
    /// Writes the first `n` lanes to `p`, `p + inc`, ...
    ///
    /// # Safety
    /// `p.offset(i * inc)` must be valid for writing for each `i < n`, and `n <= N`.
    #[inline(always)]
    unsafe fn store_strided(self, p: *mut M, inc: isize, n: usize, v: Self::V) {
        let mut buffer = [M::default(); 16];
        // SAFETY: no level has more than 16 lanes.
        unsafe { self.store(buffer.as_mut_ptr(), v) };
        for (i, &x) in buffer.iter().enumerate().take(n) {
            // SAFETY: the caller vouches for element i.
            unsafe { *p.offset(i as isize * inc) = x };
        }
    }
    /// Like `store`, with a non-temporal store where the level has one. [`Simd::fence`] must follow.
    ///
    /// # Safety
    /// As `store`, and `p` must be aligned to `N` elements.
    #[inline(always)]
    unsafe fn stream(self, p: *mut M, v: Self::V) {
        // SAFETY: as the caller's.
        unsafe { self.store(p, v) }
    }
}

/// One CPU level for one type of arithmetic: a register of `N` lanes and what can be done with it.
///
/// Arithmetic is IEEE 754, rounded to nearest even, lane by lane.
pub trait Simd: Register + Access<<Self as Simd>::T> {
    /// The type of arithmetic.
    type T: Element;
    /// One truth value per lane.
    type M: Copy;
    /// `[V; Element::LANES / N]`: the virtual lanes of the canonical order.
    type Lanes: Copy + AsRef<[Self::V]> + AsMut<[Self::V]>;

    /// Registers of half the size where the level has them, else the same.
    type Half: Simd<T = Self::T>;

    /// Registers that hold the virtual lanes of the canonical order.
    const R: usize = <Self::T as Element>::LANES / Self::N;
    /// Whether kernels have loops of their own for shapes that come often. Not where registers are
    /// small: there such a loop gains little, and is long.
    const MANY_LOOPS: bool = Self::R <= 8;
    /// Whether `min_ordered` and `max_ordered` take so much longer than `min_or_second` and `max_or_second`
    /// that it pays to look whether an extreme is 0, and only then to order the zeros.
    const FIX_ZEROS_AFTER: bool = false;
    /// Whether it pays to ask for the next pages of memory, because the hardware's prefetchers stop where a page
    /// ends. Measured: Zen 4 and 5 gain from it, Zen 3, which stands for AVX2, loses up to a fifth.
    const PREFETCH_NEXT_PAGE: bool = true;

    /// The token for registers of half the size.
    fn half(self) -> Self::Half;
    /// Runs `part` as a function of its own, compiled for the level: for what needs much of the stack, so
    /// that ways around it need none. A GPU has no such level: there it stays a part.
    ///
    /// # Safety
    /// As [`Outlined::run`] of `part`.
    #[inline(always)]
    unsafe fn outlined<P: Outlined<Self>>(self, part: P) -> P::Output {
        // SAFETY: as the caller's.
        unsafe { part.run(self) }
    }
    /// `x` in every lane.
    fn splat(self, x: Self::T) -> Self::V;
    /// `v` in every register of a lane block.
    fn lanes(self, v: Self::V) -> Self::Lanes;
    /// Lane 0.
    fn first(self, v: Self::V) -> Self::T;

    /// Orders non-temporal stores before all later ones.
    #[inline(always)]
    fn fence(self) {}
    /// Hints that the line at `p` will be written soon. Never faults.
    #[inline(always)]
    fn prefetch<M>(self, _p: *const M) {}
    /// Hints that the line at `p` will be read, but not next: into L2. Never faults.
    #[inline(always)]
    fn prefetch_far<M>(self, _p: *const M) {}

    /// a + b.
    fn add(self, a: Self::V, b: Self::V) -> Self::V;
    /// a - b.
    fn sub(self, a: Self::V, b: Self::V) -> Self::V;
    /// a * b.
    fn mul(self, a: Self::V, b: Self::V) -> Self::V;
    /// a / b.
    fn div(self, a: Self::V, b: Self::V) -> Self::V;
    /// a * b + c with one rounding.
    fn fma(self, a: Self::V, b: Self::V, c: Self::V) -> Self::V;
    /// |a|.
    fn abs(self, a: Self::V) -> Self::V;
    /// a where a < b, else b (b too when they are equal or unordered).
    fn min_or_second(self, a: Self::V, b: Self::V) -> Self::V;
    /// a where a > b, else b (b too when they are equal or unordered).
    fn max_or_second(self, a: Self::V, b: Self::V) -> Self::V;
    /// The lesser, -0 below +0; any value where a lane of a or b is NaN.
    fn min_ordered(self, a: Self::V, b: Self::V) -> Self::V;
    /// The greater, +0 above -0; any value where a lane of a or b is NaN.
    fn max_ordered(self, a: Self::V, b: Self::V) -> Self::V;
    /// A sum that goes on with x, for no more than to be NaN once an x was: not on the units that compare,
    /// where a level has others.
    #[inline(always)]
    fn accumulate_nan(self, sum: Self::V, x: Self::V) -> Self::V {
        self.add(sum, x)
    }
    /// 2^n, for integral n in the range of normal exponents.
    fn pow2(self, n: Self::V) -> Self::V;

    /// a <= b.
    fn le(self, a: Self::V, b: Self::V) -> Self::M;
    /// a == b.
    fn eq(self, a: Self::V, b: Self::V) -> Self::M;
    /// a or b is NaN.
    fn unordered(self, a: Self::V, b: Self::V) -> Self::M;
    /// Lanes 0..n.
    fn first_lanes(self, n: usize) -> Self::M;
    /// The same, hidden from the compiler where that pays: it makes shuffles of a [`Simd::select`] between
    /// broadcasts whose mask it knows, slower than a broadcast under a mask.
    #[inline(always)]
    fn first_lanes_hidden(self, n: usize) -> Self::M {
        self.first_lanes(n)
    }
    /// `v`, hidden from the compiler where it might otherwise compute with what a [`Simd::select`] replaces.
    #[inline(always)]
    fn hidden(self, v: Self::V) -> Self::V {
        v
    }
    /// A bit per lane, lane 0 lowest.
    fn bits(self, m: Self::M) -> u32;
    /// a where m, else b.
    fn select(self, m: Self::M, a: Self::V, b: Self::V) -> Self::V;

    /// `v`, with every NaN replaced by the canonical one.
    #[inline(always)]
    fn canonical(self, v: Self::V) -> Self::V {
        self.select(self.unordered(v, v), self.splat(Self::T::CANONICAL_NAN), v)
    }

    /// Moves lanes w..2w to lanes 0..w (w a power of two, 2w <= N); the others are unspecified.
    fn upper(self, v: Self::V, w: usize) -> Self::V;

    /// Of two registers in blocks of 2w lanes (w a power of two, 2w <= N): the lower halves of all
    /// blocks, and the upper halves, in the same places.
    fn unzip(self, a: Self::V, b: Self::V, w: usize) -> (Self::V, Self::V);
    /// Where row i of N has to stand so that, after [`Simd::unzip`] of neighbours for each w from
    /// N / 2 down to 1, it ends in lane i.
    fn unzip_slot(self, i: usize) -> usize;
    /// The row whose [`Simd::unzip_slot`] is i.
    fn unzip_row(self, i: usize) -> usize;
}

/// A part of a kernel that [`Simd::outlined`] runs.
pub trait Outlined<S: Simd> {
    /// Its result.
    type Output;
    /// Must be `#[inline(always)]`, as all that kernels consist of.
    ///
    /// # Safety
    /// The implementation's own.
    unsafe fn run(self, s: S) -> Self::Output;
}
