//! C = alpha A B + beta C, with packing and microkernels (Goto and van de Geijn, "Anatomy of High-Performance Matrix
//! Multiplication", 2008; Van Zee and van de Geijn, "BLIS", 2015).
//!
//! # Order of rounding
//!
//! It is part of the ABI. k is cut into segments of [`KSEG`](params::KSEG) steps. The sum s of a segment is a chain of
//! fma over ascending k that starts from +0. The first segment sets c = alpha s if beta is 0, else
//! c = fma(alpha, s, beta c); each later one sets c = fma(alpha, s, c). If k or alpha is 0, c = beta c, or +0 if beta
//! is 0. Bias and clamp follow the last segment. (Products with one row or one column take the order of dot instead:
//! `api::gemm`.)
//!
//! # Terms
//!
//! The terms are BLIS's. Five loops cut the columns of C and B into panels of nc columns, k into segments of
//! kc = `KSEG`, the rows of C and A into blocks of mc, and these into micro-tiles of C. A microkernel computes one
//! micro-tile, MR rows by NR columns, over one segment of k, with all its sums in registers: NV of them in each row, so
//! that NR = NV * lanes. It reads a micro-panel of A, MR rows, and a micro-panel of B, NR columns. Packing copies
//! micro-panels into the order in which the microkernel reads them; where that does not pay, they are read in place.
//!
//! KSEG is 256, the segment of the canonical order: it is part of the interface. Unlike BLIS, A is packed one
//! micro-panel at a time, just before its use, and mostly not at all; B is packed by the first block of rows that needs
//! it, on AVX-512 by the microkernels themselves; each thread packs for itself. mc is MR where a micro-panel of B does
//! not stay in L1 or A is packed, and nc is n where B is not packed.
//!
//! Where the LLC is slow ([`Geometry::has_slow_llc`](crate::detect::Geometry::has_slow_llc)), large products have other
//! block sizes and pack blocks of A (`large`).
//!
//! # The files, in the order to read them
//!
//! * `product`: the arguments. `plan`: the decisions for one thread: what is packed, which columns are computed as rows
//!   of the transpose, whether stores are non-temporal. (`api::gemm::plan` first decides on orientation and tasks.)
//! * `loops`: the five loops. `large`: the five loops of large products where the LLC is slow. `in_place`: only the two
//!   innermost loops, for products of one segment that pack nothing.
//! * `microkernel`; `markers` has its variants, `tails` its code for the last columns, `tall` the one for
//!   two micro-tiles of one register of columns. `shapes`: MR and NV of each
//!   level. `lists`: the microkernels of each level; `microkernels`: the choice of one for a micro-tile. `widths`:
//!   how columns are cut into micro-tiles.
//! * `skinny`: products with one small side, with loops and microkernels of their own.
//! * `packed`: products with a B that was packed before the call.
//! * `pack`, `write_back`, `prefetch`, `transpose`: used by the loops. `params`: mc, nc and other numbers to tune.
//!   `agreement`: what the unit tests of loops compare.
//!   `routines`: the functions of a level that the loops call.
//!
//! # To change the size of a microkernel
//!
//! For example the microkernel of AVX-512, 8 x 48 in f32 and 8 x 24 in f64 (MR = 8, NV = 3):
//!
//! 1. `shapes.rs`, `AVX512`: set MR, NV and `wide_mr`, the MR of micro-tiles one register wider (0: none). The sums, a
//!    row of B and an element of A must fit into the registers: `MR * NV + NV + 1` of them, and for the wide ones
//!    `wide_mr * (NV + 1) + NV + 2` (take the largest `wide_mr` below MR that fits); on AVX2 a mask takes one more. Each
//!    row of A also needs a general register for its offset: from 9 rows on the compiler begins to spill these, first
//!    with `HalfRegister`, and with 12 rows it no longer unrolls `SharedByTwo` and `SharedByFour`.
//! 2. `lists.rs`, `level_lists!`, `avx512`: `all` lists 1 to MR, `wide` lists 1 to `wide_mr`.
//!    * `Whole` and `Masked`: `all x 1` to `all x NV`, then `wide x NV+1`.
//!    * `HalfRegister`: `all x 0` to `all x NV-1`. `SharedByTwo` and `SharedByFour`: `all x 1` to `all x NV-1`.
//!    * `Prefetch`, `Pack` and `NonTemporal`: `(MR) x 2` to `(MR) x NV`; `Prefetch` also `(wide_mr) x NV+1`.
//!
//!    `tall_list!` has MR / 2 + 1 to MR, which takes twice MR registers for sums, or nothing.
//!
//!    A list of the wrong length does not compile (the last three may be shorter). The order within a list, and MR in
//!    the last three, are not checked.
//! 3. `xtask/src/asm/budget.toml`, `[microkernels]`: the same numbers. `cargo xtask asm` then reports a loop over k
//!    that spills, or that has no loop of fma where the loop was not unrolled. ARCHITECTURE.md names the size too.
//! 4. `cargo check -p diptych`, `cargo test -p diptych --lib --features pool all_microkernels`, `cargo xtask asm`, then
//!    `cargo test -p diptych-tests --test suite conformance::gemm`.
//!
//! Buffers, scratch memory and the cut into tasks follow from `MAX_MR` and `MAX_NR`; no bit of a result depends on
//! them. A level with `SharedByTwo` and `SharedByFour` needs NV >= 2 and 4 * MR >= lanes - 1, which the compiler
//! checks.
//!
//! These affect only speed: NR decides `params::stays_in_l1`, and with it mc, `packed_widths` and `packing_pays`. MR
//! should divide `params::mc`, and the bytes of NR elements `params::NC_BYTES`; `params::MICRO_TILES_WHILE_PACKING`
//! should be the cache lines in a row of NR elements plus one; `pack_a` copies element by element where MR exceeds the
//! lanes of a register, and transposes rows in registers only where `MAX_MR` is their number of lanes; the limits in
//! `plan.rs` were measured. Add sizes to `every_small_shape` in `tests/suite/conformance/gemm.rs` if 2 MR or 2 NR exceeds
//! those there. After a change of AVX2 or of the greatest MR, which sizes the addresses of all levels, `cargo xtask cost
//! --bless` records the new instruction counts.

#[cfg(test)]
mod agreement;
mod in_place;
mod large;
mod lists;
mod loops;
pub mod markers;
mod microkernel;
mod microkernels;
mod pack;
pub mod packed;
pub mod params;
mod plan;
mod prefetch;
mod product;
mod routines;
mod scratch;
mod segment;
pub mod shapes;
mod skinny;
mod tails;
mod tall;
pub mod transpose;
mod widths;
mod write_back;

pub use in_place::{in_place, in_place_prefetching_next, single};
pub use loops::run;
pub use microkernel::{MicrokernelArgs, PanelA, PanelB, microkernel};
pub use microkernels::Microkernels;
pub use pack::{PanelRange, pack_a, pack_b};
pub use plan::{ThreadPlan, packs, transposed_tail};
pub use product::{Clamp, Epilogue, Gemm, Rule};
pub use routines::Routines;
pub use skinny::{AlongK, Skinny, Slab, Sweep, along_k, run as run_skinny, slab, sweep};
pub use tall::tall;
pub use widths::{balanced, balanced_step};
pub use write_back::{WriteBack, write_back};

// Used by the table of levels in `dispatch.rs`.
pub(crate) use lists::{
    along_k_list, level_lists, slab_of_level, sweep_lists, tall_list, variant_list,
};
pub(crate) use routines::routines;
