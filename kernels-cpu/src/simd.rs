//! The vector interface. Every kernel is written once against it, for all CPU levels.
//!
//! A value of a type that implements [`Simd`] is a token: it exists only where the CPU has the
//! instructions of its level, so its methods may use them. Every method must be
//! `#[inline(always)]`: only the outermost function of a kernel has the target features
//! (`dispatch.rs`), a trait method cannot have them, and a method that is not inlined would be
//! a call in each kernel. `cargo xtask asm` checks the result.

use crate::element::{Element, Storage};

/// The size of buffers for the lanes of a register. What uses one asserts that the lanes fit.
pub const MAX_LANES: usize = 16;

/// The registers of a CPU level for one type of arithmetic.
pub trait Register: Copy + Send + Sync + 'static {
    /// A register of `N` elements.
    type V: Copy;
    /// Lanes per register.
    const N: usize;
}

/// Loads and stores between registers and elements of the type `M` in memory. If `M` is not the type of arithmetic,
/// loads widen and stores round. The type of the pointer selects the conversion, so that a kernel can read one type and
/// write another.
///
/// Loads and stores need the alignment of one element only.
pub trait Access<M: Storage>: Register {
    /// Loads `N` elements at `p`.
    ///
    /// # Safety
    /// `p` must be valid for reading `N` elements.
    unsafe fn load(self, p: *const M) -> Self::V;
    /// Loads `n <= N` elements at `p`; the other lanes are +0. Reads nothing else.
    ///
    /// # Safety
    /// `p` must be valid for reading `n` elements, and `n <= N`.
    unsafe fn load_partial(self, p: *const M, n: usize) -> Self::V;
    /// Loads `n <= N` elements at `p`, `p + inc`, ...; the other lanes are +0.
    ///
    /// # Safety
    /// `p.offset(i * inc)` must be valid for reading for each `i < n`, and `n <= N`.
    #[inline(always)]
    unsafe fn load_strided(self, p: *const M, inc: isize, n: usize) -> Self::V {
        const { assert!(Self::N <= MAX_LANES) };
        let mut buffer = [M::default(); MAX_LANES];
        for (i, slot) in buffer.iter_mut().enumerate().take(n) {
            // SAFETY: the caller vouches for element i.
            *slot = unsafe { *p.offset(i as isize * inc) };
        }
        // SAFETY: the buffer has at least N elements.
        unsafe { self.load(buffer.as_ptr()) }
    }
    /// Writes `N` elements to `p`.
    ///
    /// # Safety
    /// `p` must be valid for writing `N` elements.
    unsafe fn store(self, p: *mut M, v: Self::V);
    /// Writes the first `n <= N` lanes to `p`. Writes nothing else.
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
        const { assert!(Self::N <= MAX_LANES) };
        let mut buffer = [M::default(); MAX_LANES];
        // SAFETY: the buffer has at least N elements.
        unsafe { self.store(buffer.as_mut_ptr(), v) };
        for (i, &x) in buffer.iter().enumerate().take(n) {
            // SAFETY: the caller vouches for element i.
            unsafe { *p.offset(i as isize * inc) = x };
        }
    }
    /// Takes each lane as two elements of half its size, and returns the first of each lane and the second, as `load` would.
    /// Elements of another size have no meaning here.
    #[inline(always)]
    fn split(self, pairs: Self::V) -> (Self::V, Self::V) {
        const { assert!(Self::N <= MAX_LANES) };
        let elements = (&raw const pairs).cast::<M>();
        let mut halves = [[M::default(); MAX_LANES]; 2];
        for i in 0..size_of::<Self::V>() / size_of::<M>() {
            // SAFETY: a register has so many of these elements, of any bits.
            halves[i % 2][i / 2] = unsafe { elements.add(i).read() };
        }
        // SAFETY: the buffers have at least N elements.
        unsafe { (self.load(halves[0].as_ptr()), self.load(halves[1].as_ptr())) }
    }
    /// Like `store`, with a non-temporal store where the level has one ([`Simd::HAS_NON_TEMPORAL_STORES`]). [`Simd::fence`] must
    /// follow.
    ///
    /// # Safety
    /// As `store`, and `p` must be aligned to `N` elements.
    #[inline(always)]
    unsafe fn stream(self, p: *mut M, v: Self::V) {
        // SAFETY: as the caller's.
        unsafe { self.store(p, v) }
    }
}

/// The token of a CPU level, which [`Storage`] names.
pub trait Token: Simd {
    /// Returns the token.
    ///
    /// # Safety
    /// The CPU must have the instructions of the level, and the operating system must save its registers.
    unsafe fn token() -> Self;
}

/// A CPU level for one type of arithmetic: registers of `N` lanes, and the operations on them.
///
/// Arithmetic is IEEE 754, rounded to nearest even, lane by lane.
pub trait Simd: Register + Access<<Self as Simd>::T> {
    /// The type of arithmetic.
    type T: Element;
    /// A mask: one truth value per lane.
    type M: Copy;
    /// `[V; Element::LANES / N]`: the virtual lanes of the canonical order.
    type Lanes: Copy + AsRef<[Self::V]> + AsMut<[Self::V]>;

    /// The registers of half the size if the level has them, else the same registers.
    type Half: Simd<T = Self::T>;

    /// How many registers hold the virtual lanes of the canonical order.
    const R: usize = <Self::T as Element>::LANES / Self::N;
    /// Whether kernels have separate loops for frequent shapes. Not on levels with small registers, where such a loop
    /// gains little and is long.
    const HAS_SHAPE_LOOPS: bool = Self::R <= 8;
    /// Whether the level has non-temporal stores; otherwise [`Access::stream`] is a store.
    const HAS_NON_TEMPORAL_STORES: bool = false;
    /// Whether the level has prefetches; otherwise [`Simd::prefetch`] and [`Simd::prefetch_far`] do nothing.
    const HAS_PREFETCHES: bool = false;
    /// Whether to search an extreme with `min_or_second` and `max_or_second` first, and to find the sign of zero only
    /// if the extreme is 0. It pays where `min_ordered` and `max_ordered` are much slower.
    const FIX_ZEROS_AFTER: bool = false;
    /// Whether it pays to prefetch the next pages of memory, because the hardware prefetchers stop at the end of a
    /// page. Measured: Zen 4 and 5 gain from it; Zen 3, which represents AVX2, loses up to a fifth.
    const PREFETCH_NEXT_PAGE: bool = true;

    /// The token for registers of half the size.
    fn half(self) -> Self::Half;
    /// Runs `part` as a function of its own, not inlined, with the level's target features. For code that needs much
    /// stack, so that paths around it need none. This default, which a GPU uses, runs it inline.
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
    /// `v` in every register of the virtual lanes.
    fn lanes(self, v: Self::V) -> Self::Lanes;
    /// Lane 0.
    fn first(self, v: Self::V) -> Self::T;

    /// Orders non-temporal stores before all later ones.
    #[inline(always)]
    fn fence(self) {}
    /// Prefetches the cache line at `p` to L1, to be written soon. Never faults.
    #[inline(always)]
    fn prefetch<M>(self, _p: *const M) {}
    /// Prefetches the cache line at `p` to L2, to be read later. Never faults.
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
    /// The lesser, where -0 < +0; unspecified in lanes where a or b is NaN.
    fn min_ordered(self, a: Self::V, b: Self::V) -> Self::V;
    /// The greater, where -0 < +0; unspecified in lanes where a or b is NaN.
    fn max_ordered(self, a: Self::V, b: Self::V) -> Self::V;
    /// Accumulates NaN-ness: the result is NaN if `sum` or `x` is, and perhaps also when infinities of both signs meet;
    /// its value is otherwise meaningless. A level implements it on execution units that its comparisons do not need,
    /// if it has such units.
    #[inline(always)]
    fn accumulate_nan(self, sum: Self::V, x: Self::V) -> Self::V {
        self.add(sum, x)
    }
    /// 2^n, for integral n for which that is a normal number.
    fn pow2(self, n: Self::V) -> Self::V;

    /// a <= b.
    fn le(self, a: Self::V, b: Self::V) -> Self::M;
    /// a == b.
    fn eq(self, a: Self::V, b: Self::V) -> Self::M;
    /// a or b is NaN.
    fn unordered(self, a: Self::V, b: Self::V) -> Self::M;
    /// The mask of lanes 0..n.
    fn first_lanes(self, n: usize) -> Self::M;
    /// The mask of the lanes whose bits are set, lane 0 lowest.
    #[inline(always)]
    fn lanes_of(self, bits: u32) -> Self::M {
        const { assert!(Self::N <= MAX_LANES) };
        let mut ones = [Self::T::ZERO; MAX_LANES];
        for (i, one) in ones.iter_mut().enumerate() {
            if bits >> i & 1 != 0 {
                *one = Self::T::ONE;
            }
        }
        // SAFETY: `ones` has at least N elements.
        self.eq(
            unsafe { self.load(ones.as_ptr()) },
            self.splat(Self::T::ONE),
        )
    }
    /// [`Simd::first_lanes`], hidden from the compiler on levels where that pays: a [`Simd::select`] between broadcasts
    /// whose mask the compiler knows becomes a shuffle, which is slower than a masked broadcast.
    #[inline(always)]
    fn first_lanes_hidden(self, n: usize) -> Self::M {
        self.first_lanes(n)
    }
    /// `v`, hidden from the compiler on levels where it might otherwise compute with the lanes that a [`Simd::select`]
    /// replaces, and so raise a floating-point exception flag.
    #[inline(always)]
    fn hidden(self, v: Self::V) -> Self::V {
        v
    }
    /// The mask as bits, lane 0 lowest.
    fn bits(self, m: Self::M) -> u32;
    /// a in the lanes of m, else b.
    fn select(self, m: Self::M, a: Self::V, b: Self::V) -> Self::V;

    /// `v`, with every NaN replaced by the canonical one.
    #[inline(always)]
    fn canonical(self, v: Self::V) -> Self::V {
        self.select(self.unordered(v, v), self.splat(Self::T::CANONICAL_NAN), v)
    }

    /// Moves lanes w..2w to lanes 0..w (w a power of two, 2w <= N); the others are unspecified.
    fn upper(self, v: Self::V, w: usize) -> Self::V;

    /// Lane i gets element (start + i * step) mod 2N of the lanes of a, followed by those of b.
    #[inline(always)]
    fn permute(self, a: Self::V, b: Self::V, start: usize, step: usize) -> Self::V {
        const { assert!(Self::N <= MAX_LANES) };
        let (mut from, mut to) = ([Self::T::ZERO; 2 * MAX_LANES], [Self::T::ZERO; MAX_LANES]);
        // SAFETY: `from` has at least 2 N elements, `to` at least N.
        unsafe {
            self.store(from.as_mut_ptr(), a);
            self.store(from.as_mut_ptr().add(Self::N), b);
            for (i, to) in to.iter_mut().enumerate() {
                *to = from[(start + i * step) % (2 * Self::N)];
            }
            self.load(to.as_ptr())
        }
    }

    /// Loads N / 2 elements at `low` to the lower half of a register, and N / 2 at `high` to its upper half.
    ///
    /// # Safety
    /// Both must be valid for reading N / 2 elements.
    #[inline(always)]
    unsafe fn load_halves(self, low: *const Self::T, high: *const Self::T) -> Self::V {
        // SAFETY: as the caller's.
        let (a, b) = unsafe {
            let half = Self::N / 2;
            (self.load_partial(low, half), self.load_partial(high, half))
        };
        self.unzip(a, b, Self::N / 2).0
    }

    /// Takes a and b as blocks of 2w lanes (w a power of two, 2w <= N), and returns the lower halves of all blocks, and
    /// the upper halves, both in the same order, which depends on the level.
    fn unzip(self, a: Self::V, b: Self::V, w: usize) -> (Self::V, Self::V);
    /// The position that row i of N must have so that, after [`Simd::unzip`] of neighbouring registers for each w from
    /// N / 2 down to 1, its elements end in lane i.
    fn unzip_slot(self, i: usize) -> usize;
    /// The row whose [`Simd::unzip_slot`] is i.
    fn unzip_row(self, i: usize) -> usize;
}

/// A part of a kernel that [`Simd::outlined`] runs.
pub trait Outlined<S: Simd> {
    /// The result of the part.
    type Output;
    /// Runs the part. Must be `#[inline(always)]`, like all code of kernels.
    ///
    /// # Safety
    /// The implementation's own.
    unsafe fn run(self, s: S) -> Self::Output;
}
