//! Products whose operands are not what is summed: integers, and the 16-bit types. A, B, their packed panels, the sums and
//! C each have a type of their own.
//!
//! [`gemm`](super::gemm) has the products of f32 and f64, where all of these are one type and C holds the sums of the
//! segments that are done. Here C may be narrower than a sum, so it is written once, after the last segment.
//!
//! # Order of rounding
//!
//! Integers are exact modulo 2^bits of the sum, so their order is free. The order of f16 and bf16 is part of the ABI. All
//! arithmetic is that of f32, on the widened elements:
//!
//! ```text
//! C = +0
//! for each segment of 1024 steps of k:  S = +0
//!   for each block of 32 steps, a short one padded with +0 in both operands:
//!     even = odd = +0
//!     for i in 0..16:  even = fma(a[2i], b[2i], even);  odd = fma(a[2i + 1], b[2i + 1], odd)
//!     S = S + (even + odd)
//!   C = C + S
//! ```
//!
//! Then alpha, beta, bias and clamp, each step rounded once, and one rounding to the type of C. A NaN is the canonical one. The
//! order is the same for products with one row or column, so a row has the same bits in any batch. It is what TDPBF16PS
//! computes, and VDPBF16PS, wherever they do not flush subnormal numbers to zero (`half::flushing`).
//!
//! # Loops
//!
//! ```text
//! for jb in steps of nb columns of C                      all columns, if k is one block
//!   for ic in steps of mc rows
//!     for pc in steps of kc of k                          pack mc x kc of A: L3
//!       for jc in steps of nc columns                     pack kc x nc of B: L2
//!         for ir in steps of MR rows                      a micro-panel of A: L1
//!           for jr in steps of NR columns
//!             for each segment of kc:  sums of the micro-tile (+)= microkernel
//!             after the last block of k: write the micro-tile to C
//! ```
//!
//! The sums of a micro-tile are kept on the stack from one segment to the next. If k is longer than a block, the sums of
//! mc x nb elements wait in scratch memory, or in C where C has their type and nothing else is done to it.
//!
//! # Packed panels
//!
//! A panel is made of words: the steps of k of one row or column that an instruction takes together. Its layout belongs to
//! the [`Routines`], of which the loops know only sizes and functions; addresses and strides are in bytes.
//!
//! # The files
//!
//! `product`: the arguments. `routines`: what a machine has for a pair of types. `loops`, `blocks`: the loops above, and
//! their steps. `pack`, `words`: packing, and the microkernel of all instructions that multiply words lane by lane;
//! `isa::dots` has these instructions, `integers` their routines, `in_place` their products without packing. `half`: FMA
//! on widened 16-bit numbers. `amx`: the same for tiles. `write`: from sums to C. `packed`: a B that was packed before the
//! call.

#[cfg(all(target_arch = "x86_64", target_os = "linux", feature = "std"))]
pub mod amx;
pub mod blocks;
pub mod half;
pub mod in_place;
pub mod integers;
pub mod loops;
pub mod pack;
pub mod packed;
pub mod product;
pub mod routines;
pub mod words;
pub mod write;

pub use product::{Finish, MixedGemm};
pub use routines::Routines;
