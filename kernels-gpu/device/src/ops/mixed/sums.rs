//! What a thread sums, and how: the arithmetic of a pair of types.

use super::write::{integer, scaled, unscaled};
use crate::gpu::parameters::{INT, Product};
use crate::gpu::value::Value;
use crate::gpu::words::{dot, load_relaxed, widen_bf16_pair, widen_f16_pair};
use crate::gpu::{Bits, Vector, Word, unroll};
use crate::real::Real;

/// The sums of a thread tile of `M` rows and `N` columns.
pub trait Sums<const M: usize, const N: usize> {
    /// What holds the bits of a word in shared memory.
    type Word: Real;
    /// The bits of a sum.
    type Bits: Total;
    /// An element of A or of B, by its size.
    type Element;
    /// Words of k after which [`Sums::end_block`] is called; k is padded to whole blocks. 0: never.
    const BLOCK: usize;
    /// Whether A can have two types.
    const HAS_SECOND: bool;

    /// Nothing is summed yet.
    fn zero() -> Self;
    /// Adds the products of the words of a column of A and of a row of B. `SECOND`: A has the second type.
    fn add<const SECOND: bool>(&mut self, a: &[Self::Word; M], b: &[Self::Word; N]);
    /// Ends a block.
    fn end_block(&mut self) {}
    /// Returns the sum of an element.
    fn sum(&self, i: usize, j: usize) -> Self::Bits;
    /// Returns the total after a segment.
    fn plus(total: Self::Bits, segment: Self::Bits) -> Self::Bits;
    /// Writes element (i, j) of C, which lies at `c`; `total` is `None` if there are no steps of k.
    ///
    /// # Safety
    /// C and the numbers of the product must be valid.
    unsafe fn write(p: &Product, at: (u64, u64), c: *mut u8, total: Option<Self::Bits>);
}

/// The bits of a sum, which wait in shared or in scratch memory, or are an integer of C. Those of 0 are 0.
pub trait Total: Word + Default {
    /// Loads from global memory.
    ///
    /// # Safety
    /// `p` must be valid.
    unsafe fn load(p: *const u8) -> Self;
    /// Loads what another block of this grid has written.
    ///
    /// # Safety
    /// As [`load_relaxed`].
    unsafe fn load_relaxed(p: *const u8) -> Self;
    /// Stores to global memory.
    ///
    /// # Safety
    /// `p` must be valid.
    unsafe fn store(self, p: *mut u8);
    /// Returns the sum modulo 2^bits.
    fn wrapping_add(self, other: Self) -> Self;
}

impl Total for u32 {
    #[inline(always)]
    unsafe fn load(p: *const u8) -> Self {
        <u32 as Bits>::load(p.cast()) as u32
    }
    #[inline(always)]
    unsafe fn load_relaxed(p: *const u8) -> Self {
        load_relaxed(p.cast())
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut u8) {
        <u32 as Bits>::store(p.cast(), self.into())
    }
    #[inline(always)]
    fn wrapping_add(self, other: Self) -> Self {
        u32::wrapping_add(self, other)
    }
}

impl Total for i64 {
    #[inline(always)]
    unsafe fn load(p: *const u8) -> Self {
        <u64 as Bits>::load(p.cast()).cast_signed()
    }
    #[inline(always)]
    unsafe fn load_relaxed(p: *const u8) -> Self {
        Value::read_scratch(p, 0)
    }
    #[inline(always)]
    unsafe fn store(self, p: *mut u8) {
        <u64 as Bits>::store(p.cast(), self.cast_unsigned())
    }
    #[inline(always)]
    fn wrapping_add(self, other: Self) -> Self {
        i64::wrapping_add(self, other)
    }
}

/// 16-bit floats: `f16`, or `bf16`. A word has an even and an odd step.
pub struct Halves<const M: usize, const N: usize> {
    even: [[f32; N]; M],
    odd: [[f32; N]; M],
    /// The sum of the blocks of the segment.
    segment: [[f32; N]; M],
}

impl<const M: usize, const N: usize> Sums<M, N> for Halves<M, N> {
    type Word = f32;
    type Bits = u32;
    type Element = u16;
    const BLOCK: usize = 16;
    const HAS_SECOND: bool = true;

    #[inline(always)]
    fn zero() -> Self {
        Self {
            even: [[0.0; N]; M],
            odd: [[0.0; N]; M],
            segment: [[0.0; N]; M],
        }
    }

    #[inline(always)]
    fn add<const SECOND: bool>(&mut self, a: &[f32; M], b: &[f32; N]) {
        let a = wide::<SECOND, M>(a);
        let b = wide::<SECOND, N>(b);
        unroll!(i in 0..M => unroll!(j in 0..N => {
            self.even[i][j] = Vector::fma(a[i][0], b[j][0], self.even[i][j]);
        }));
        unroll!(i in 0..M => unroll!(j in 0..N => {
            self.odd[i][j] = Vector::fma(a[i][1], b[j][1], self.odd[i][j]);
        }));
    }

    #[inline(always)]
    fn end_block(&mut self) {
        unroll!(i in 0..M => unroll!(j in 0..N => {
            let block = self.even[i][j] + self.odd[i][j];
            self.segment[i][j] += block;
            (self.even[i][j], self.odd[i][j]) = (0.0, 0.0);
        }));
    }

    #[inline(always)]
    fn sum(&self, i: usize, j: usize) -> u32 {
        self.segment[i][j].to_bits()
    }

    #[inline(always)]
    fn plus(total: u32, segment: u32) -> u32 {
        (f32::from_bits(total) + f32::from_bits(segment)).to_bits()
    }

    #[inline(always)]
    unsafe fn write(p: &Product, at: (u64, u64), c: *mut u8, total: Option<u32>) {
        unscaled(p, at, c, total.map(f32::from_bits))
    }
}

/// Returns the even and the odd step of each word.
#[inline(always)]
fn wide<const BF16: bool, const N: usize>(words: &[f32; N]) -> [[f32; 2]; N] {
    let mut wide = [[0.0; 2]; N];
    unroll!(i in 0..N => {
        wide[i] = if BF16 {
            widen_bf16_pair(words[i].to_bits())
        } else {
            widen_f16_pair(words[i].to_bits())
        };
    });
    wide
}

/// Bytes: `i8`, or A of `u8`. A word has four steps.
pub struct Bytes<const M: usize, const N: usize>([[u32; N]; M]);

impl<const M: usize, const N: usize> Sums<M, N> for Bytes<M, N> {
    type Word = f32;
    type Bits = u32;
    type Element = u8;
    const BLOCK: usize = 0;
    const HAS_SECOND: bool = true;

    #[inline(always)]
    fn zero() -> Self {
        Self([[0; N]; M])
    }

    #[inline(always)]
    fn add<const SECOND: bool>(&mut self, a: &[f32; M], b: &[f32; N]) {
        unroll!(i in 0..M => unroll!(j in 0..N => {
            self.0[i][j] = dot::<SECOND>(a[i].to_bits(), b[j].to_bits(), self.0[i][j]);
        }));
    }

    #[inline(always)]
    fn sum(&self, i: usize, j: usize) -> u32 {
        self.0[i][j]
    }

    #[inline(always)]
    fn plus(total: u32, segment: u32) -> u32 {
        Total::wrapping_add(total, segment)
    }

    #[inline(always)]
    unsafe fn write(p: &Product, at: (u64, u64), c: *mut u8, total: Option<u32>) {
        if p.c_type.code == INT {
            integer(p, c, total.unwrap_or(0))
        } else {
            scaled(p, at, c, total.map(u32::cast_signed))
        }
    }
}

/// Integers that are summed as they are: `i32`, or `i64`. A word is one step.
pub struct Whole<T, const M: usize, const N: usize>([[T; N]; M]);

macro_rules! whole {
    ($($T:ident $Word:ident $Bits:ident;)*) => {$(
        impl<const M: usize, const N: usize> Sums<M, N> for Whole<$T, M, N> {
            type Word = $Word;
            type Bits = $Bits;
            type Element = $T;
            const BLOCK: usize = 0;
            const HAS_SECOND: bool = false;

            #[inline(always)]
            fn zero() -> Self {
                Self([[0; N]; M])
            }

            #[inline(always)]
            fn add<const SECOND: bool>(&mut self, a: &[$Word; M], b: &[$Word; N]) {
                unroll!(i in 0..M => unroll!(j in 0..N => {
                    let product = (a[i].to_bits() as $T).wrapping_mul(b[j].to_bits() as $T);
                    self.0[i][j] = self.0[i][j].wrapping_add(product);
                }));
            }

            #[inline(always)]
            fn sum(&self, i: usize, j: usize) -> $Bits {
                self.0[i][j] as $Bits
            }

            #[inline(always)]
            fn plus(total: $Bits, segment: $Bits) -> $Bits {
                Total::wrapping_add(total, segment)
            }

            #[inline(always)]
            unsafe fn write(p: &Product, _: (u64, u64), c: *mut u8, total: Option<$Bits>) {
                integer(p, c, total.unwrap_or(0))
            }
        }
    )*};
}

whole! {
    i32 f32 u32;
    i64 f64 i64;
}
