//! Operations on integers: the elementwise ones, updates by outer products, and in [`fold`] the reductions.
//!
//! One kernel serves all operations and types: the branches on them are the same for the whole grid, and memory takes longer.
//! Contiguous arrays that are aligned to 16 bytes are processed 16 bytes at a time, others element by element.

mod folds;

use super::elementwise::{Strided, offset, tiles};
use crate::gpu::parameters::{INT, Shape, Source, Target, Type};
use crate::gpu::{Bits, no_unroll, thread, unroll, words};
use diptych::backend::scalar::integers::{self, Wrapping};
use diptych::for_each_elementwise;
pub use folds::{GRAIN, Kind, RANK, SHARED, THREADS, fold};

/// The most operands of an operation.
pub const OPERANDS: usize = 4;

/// What an operation does to an element.
trait Meaning {
    /// Whether the bits of results do not depend on the sign of the type.
    const IS_SIGNLESS: bool;

    /// Returns the result for the operands: the arguments, then the element that is updated.
    fn of<T: Wrapping>(operands: [T; OPERANDS]) -> T;
}

/// Defines the operations, one for each row of the table and [`Operation::ger`]; those that refuse integers have no meaning.
macro_rules! operations {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) $out:ident $mode:ident $integers:ident)*) => {
        /// An operation, as the kernel takes it.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(non_camel_case_types, missing_docs)]
        #[repr(u32)]
        pub enum Operation {
            $($name,)*
            /// a + alpha x y.
            ger,
        }

        $(operations!(@meaning $integers $name [$($arg)*] $out $mode);)*

        impl Step {
            /// Applies the operation to operands, in registers or in 16 bytes of memory.
            #[inline(always)]
            fn apply<O: Operands>(self, operands: O) -> O::Results {
                $(operations!(@apply $integers $name self operands);)*
                operands.apply::<meanings::ger>(self.of)
            }
        }
    };
    (@meaning refused $($row:tt)*) => {};
    (@meaning $integers:ident $name:ident [$($arg:ident)*] $out:ident write) => {
        operations!(@define $integers $name [$($arg)*]);
    };
    (@meaning $integers:ident $name:ident [$($arg:ident)*] $out:ident update) => {
        operations!(@define $integers $name [$($arg)* $out]);
    };
    (@define $integers:ident $name:ident [$($operand:ident)*]) => {
        impl Meaning for meanings::$name {
            const IS_SIGNLESS: bool = operations!(@$integers);

            #[inline(always)]
            fn of<T: Wrapping>([$($operand,)* ..]: [T; OPERANDS]) -> T {
                integers::$name($($operand),*)
            }
        }
    };
    (@signed) => { false };
    (@signless) => { true };
    (@apply refused $name:ident $this:ident $operands:ident) => {};
    (@apply $integers:ident $name:ident $this:ident $operands:ident) => {
        if $this.operation == Operation::$name as u32 {
            return $operands.apply::<meanings::$name>($this.of);
        }
    };
}
for_each_elementwise!(operations! {} [name arguments output mode integers]);

/// The operations as types.
#[allow(non_camel_case_types)]
mod meanings {
    macro_rules! types {
        ({} $($name:ident $integers:ident)*) => {
            $(types!(@$integers $name);)*
            pub struct ger;
        };
        (@refused $name:ident) => {};
        (@$integers:ident $name:ident) => { pub struct $name; };
    }
    diptych::for_each_elementwise!(types! {} [name integers]);
}

impl Meaning for meanings::ger {
    const IS_SIGNLESS: bool = true;

    #[inline(always)]
    fn of<T: Wrapping>([alpha, x, y, a]: [T; OPERANDS]) -> T {
        integers::axpy(alpha.times(x), y, a)
    }
}

/// The operands of some elements.
trait Operands: Sized {
    type Results;

    /// Returns the results of elements of the type `T`.
    fn each<M: Meaning, T: Integer>(self) -> Self::Results;

    /// Returns the results of elements of the type `of`.
    #[inline(always)]
    fn apply<M: Meaning>(self, of: Type) -> Self::Results {
        match (of.bits, of.code) {
            (8, INT) => self.each::<M, i8>(),
            (8, _) if M::IS_SIGNLESS => self.each::<M, i8>(),
            (8, _) => self.each::<M, u8>(),
            (32, _) => self.each::<M, i32>(),
            _ => self.each::<M, i64>(),
        }
    }
}

/// A type of integers, in the low bits of 64.
trait Integer: Wrapping {
    const BITS: u32;
    fn of_bits(bits: u64) -> Self;
    fn bits(self) -> u64;
    fn wide(self) -> i64;
}

macro_rules! integer {
    ($($T:ident)*) => {$(
        impl Integer for $T {
            const BITS: u32 = $T::BITS;

            #[inline(always)]
            fn of_bits(bits: u64) -> Self {
                bits as $T
            }
            #[inline(always)]
            fn bits(self) -> u64 {
                self as u64 & (u64::MAX >> (64 - $T::BITS))
            }
            #[inline(always)]
            fn wide(self) -> i64 {
                self as i64
            }
        }
    )*};
}
integer!(i8 u8 i32 i64);

/// `N` elements of each operand, as bits.
impl<const N: usize> Operands for [[u64; N]; OPERANDS] {
    type Results = [u64; N];

    #[inline(always)]
    fn each<M: Meaning, T: Integer>(self) -> [u64; N] {
        let mut results = [0; N];
        unroll!(u in 0..N => {
            let operands = self.map(#[inline(always)] |operand| T::of_bits(operand[u]));
            results[u] = M::of(operands).bits();
        });
        results
    }
}

/// 16 bytes of each operand.
impl Operands for [[u32; 4]; OPERANDS] {
    type Results = [u32; 4];

    #[inline(always)]
    fn each<M: Meaning, T: Integer>(self) -> [u32; 4] {
        let mut results = [0; 4];
        if T::BITS == 64 {
            unroll!(half in 0..2 => {
                let (low, high) = (2 * half, 2 * half + 1);
                let operands = self.map(
                    #[inline(always)]
                    |words| T::of_bits(u64::from(words[high]) << 32 | u64::from(words[low])),
                );
                let result = M::of(operands).bits();
                (results[low], results[high]) = (result as u32, (result >> 32) as u32);
            });
        } else {
            unroll!(word in 0..4 => unroll!(lane in 0..(32 / T::BITS) as usize => {
                let shift = lane as u32 * T::BITS;
                let operands = self.map(
                    #[inline(always)]
                    |words| T::of_bits(u64::from(words[word] >> shift)),
                );
                results[word] |= (M::of(operands).bits() as u32) << shift;
            }));
        }
        results
    }
}

/// An operation with its arrays and numbers.
#[derive(Clone, Copy)]
struct Step {
    of: Type,
    operation: u32,
    inputs: [Source; OPERANDS],
    out: Target,
}

/// out = the result of an [`Operation`] on its operands, of the type `of`. Operands that it does not have are numbers.
///
/// Contiguous arrays: any one-dimensional grid. Others: any grid with blocks for all columns along x. Blocks have 256 threads.
///
/// # Safety
/// The arrays must be valid for the shape; the output may be exactly an input.
#[inline(always)]
pub unsafe fn map<T>(
    shape: Shape,
    of: Type,
    operation: u32,
    x: Source,
    y: Source,
    z: Source,
    w: Source,
    out: Target,
) {
    let step = Step {
        of,
        operation,
        inputs: [x, y, z, w],
        out,
    };
    if shape.contiguous != 0 {
        step.contiguous(shape.counts[2]);
    } else {
        tiles(step, shape);
    }
}

impl Step {
    /// Processes contiguous elements 0..n.
    ///
    /// # Safety
    /// The arrays must be valid for them.
    #[inline(always)]
    unsafe fn contiguous(self, n: u64) {
        let stride = u64::from(thread::grid_dim_x()) * u64::from(thread::block_dim_x());
        let addresses = self
            .inputs
            .iter()
            .fold(self.out.p.addr(), |all, input| all | input.p.addr());
        let mut done = 0;
        if addresses.is_multiple_of(16) {
            let log = packed_log(self.of);
            let packs = n >> log;
            done = packs << log;
            let numbers = self.inputs.map(|input| copies(self.of.bits, input.number));
            let mut i = thread::index_1d();
            while i < packs {
                no_unroll();
                let mut operands = numbers;
                unroll!(k in 0..OPERANDS => {
                    if !self.inputs[k].p.is_null() {
                        operands[k] = words::load_four(self.inputs[k].p.cast::<u32>().wrapping_add(4 * i as usize));
                    }
                });
                let results = self.apply(operands);
                words::store_four(
                    self.out.p.cast::<u32>().wrapping_add(4 * i as usize),
                    results,
                );
                i += stride;
            }
        }
        let mut i = done + thread::index_1d();
        while i < n {
            no_unroll();
            self.elements::<1>([0, 0, i], 0);
            i += stride;
        }
    }
}

/// Returns log2 of the elements in 16 bytes.
#[inline(always)]
fn packed_log(of: Type) -> u32 {
    7 - of.bits.trailing_zeros()
}

/// Returns 16 bytes of copies of a number of so many bits.
#[inline(always)]
fn copies(bits: u32, number: u64) -> [u32; 4] {
    let (low, high) = match bits {
        8 => {
            let word = (number as u8 as u32).wrapping_mul(0x0101_0101);
            (word, word)
        }
        32 => (number as u32, number as u32),
        _ => (number as u32, (number >> 32) as u32),
    };
    [low, high, low, high]
}

impl Strided for Step {
    #[inline(always)]
    unsafe fn elements<const N: usize>(self, [plane, row, column]: [u64; 3], apart: u64) {
        let at = |u: usize| [plane, row + u as u64 * apart, column];
        let mut operands = self.inputs.map(|input| [input.number; N]);
        unroll!(k in 0..OPERANDS => {
            let Source { p, steps, .. } = self.inputs[k];
            if !p.is_null() {
                let p = |u| p.wrapping_offset(offset(steps, at(u)));
                let loaded = &mut operands[k];
                match self.of.bits {
                    8 => (0..N).for_each(|u| loaded[u] = <u8 as Bits>::load(p(u).cast())),
                    32 => (0..N).for_each(|u| loaded[u] = <u32 as Bits>::load(p(u).cast())),
                    _ => (0..N).for_each(|u| loaded[u] = <u64 as Bits>::load(p(u).cast())),
                }
            }
        });
        let results = self.apply(operands);
        let p = |u| self.out.p.wrapping_offset(offset(self.out.steps, at(u)));
        match self.of.bits {
            8 => (0..N).for_each(|u| <u8 as Bits>::store(p(u).cast(), results[u])),
            32 => (0..N).for_each(|u| <u32 as Bits>::store(p(u).cast(), results[u])),
            _ => (0..N).for_each(|u| <u64 as Bits>::store(p(u).cast(), results[u])),
        }
    }
}
