//! Products with one small side, computed so that the large operand is read once, in the order of memory, and not
//! packed. Below, C has few rows and many columns: A is small, B large. (A product with few columns is transposed
//! first.) Each element of C is one chain per segment of k, in the canonical order of gemm ("CANONICAL ORDERS" in
//! `include/diptych.h`; [`KSEG`](crate::ops::order::KSEG)), whichever loops compute it:
//!
//! ```text
//! along_k, by_rows:   # contiguous columns of B
//!     for each range of segments for which packed A fits the scratch memory:
//!         pack A                                              # along_k may read it in place
//!         for each 1 or 2 registers of columns of B, or two MR of them in by_rows:
//!             along_k:    for each group of rows: for each segment: C += alpha * A * B    # transposed registers of B
//!             by_rows:    for each MR columns: for each segment: for each NR rows: tile of C^T += alpha * B^T * A^T
//!                         write the tile to C, transposed
//! along_n:            # contiguous rows of B
//!     for each run of columns, at most a page wide: for each segment:
//!         sums = 0                                            # in L1
//!         for 2 or 4 rows of B at a time, or what is left: sums += A * B          # `sweep`, for a group of rows of C
//!         C = alpha * sums + beta * C                         # 1 for beta after the first segment
//! short_kc:           # contiguous rows of B, 8 to 64 rows of C, a slow LLC
//!     for each run of columns, at most a page wide: for each segment:
//!         pack A
//!         for each slab of 32 rows of B: sums += A * B        # `slab`, sums in L2
//!         C = alpha * sums + beta * C
//! ```

mod along_k;
mod along_n;
mod by_rows;
mod microkernel;
mod prefetch;
mod short_kc;
mod slab;
mod sweep;

pub use microkernel::{AlongK, AlongKFn, along_k};
pub use slab::{Slab, SlabFn, slab};
pub use sweep::{Sweep, SweepFn, sweep};

use super::routines::Routines;
use super::{Gemm, Microkernels};
use crate::detect::{self, Geometry};
use crate::element::Element;

/// How a product with one small side is computed.
#[derive(Clone, Copy)]
pub struct Skinny {
    /// Whether the product is transposed first, so that its rows are the small side.
    transposed: bool,
    method: Method,
    /// Whether it takes scratch memory.
    pub packs: bool,
}

/// The files of this module.
#[derive(Clone, Copy)]
enum Method {
    AlongK,
    AlongN,
    ByRows,
    ShortKc,
}

impl Skinny {
    /// How to compute `p`, or `None` if it is not such a product.
    // Not inlined: otherwise each crate that instantiates a caller gets its own copy.
    #[inline(never)]
    pub fn new<T: Element>(microkernels: &Microkernels<T>, p: &Gemm<T>) -> Option<Self> {
        let transposed = p.n < p.m;
        let p = if transposed { p.transposed() } else { *p };
        let (method, packs) = if short_kc::pays(&Geometry::current(), microkernels, &p) {
            (Method::ShortKc, true)
        } else if along_n::pays(microkernels, &p) {
            (Method::AlongN, true)
        } else if !transposed && by_rows::pays(microkernels, &p) {
            (Method::ByRows, true)
        } else if along_k::pays(microkernels, &p, transposed) {
            (Method::AlongK, along_k::packs(microkernels, &p))
        } else {
            return None;
        };
        Some(Self {
            transposed,
            method,
            packs,
        })
    }
}

/// Whether B is expected to come from memory. If its rows are part of a matrix, the other parts count too.
fn from_memory<T>(p: &Gemm<T>) -> bool {
    let elements = p.n.max(p.b.rs.unsigned_abs()).saturating_mul(p.k);
    detect::exceeds_llc(elements.saturating_mul(size_of::<T>()))
}

/// Runs a product for which [`Skinny::new`] gave the plan. `block` is scratch memory of `bytes` bytes; returns whether
/// that sufficed.
///
/// # Safety
/// As [`run`](super::run).
pub unsafe fn run<T: Element>(
    routines: &Routines<T>,
    plan: Skinny,
    p: &Gemm<T>,
    block: *mut u8,
    bytes: usize,
) -> bool {
    let p = if plan.transposed { p.transposed() } else { *p };
    // SAFETY: as the caller's; the plan has looked at the strides of B.
    unsafe {
        match plan.method {
            Method::AlongK => along_k::run(routines, plan.packs, &p, block, bytes),
            Method::AlongN => along_n::run(routines, &p, block, bytes, from_memory(&p)),
            Method::ByRows => by_rows::run(routines, &p, block, bytes),
            Method::ShortKc => short_kc::run(routines, &p, block, bytes),
        }
    }
}
