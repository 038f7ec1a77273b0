//! Products with one small side, computed so that the large operand is read once, in the order of memory, and not
//! packed.
//!
//! Below, C has few rows and many columns: A is small, B large. (A product with few columns is transposed first.)
//! `along_k` and its `microkernel` are for columns of B that are contiguous, `along_n` and its kernel `sweep` for rows;
//! `short_kc` and its kernel `slab` also for rows, of C as well, where the LLC is slow.

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
    // As `ops::gemm::loops::run`.
    #[inline(never)]
    pub fn new<T: Element>(microkernels: &Microkernels<T>, p: &Gemm<T>) -> Option<Self> {
        // There are kernels for 2 rows and more. The cells of a grid over C can have 1.
        if p.m.min(p.n) < 2 {
            return None;
        }
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
    let elements = p.n.max(p.b_rs.unsigned_abs()).saturating_mul(p.k);
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
