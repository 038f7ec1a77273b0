//! The plan of a product on one thread, made once, before the loops. None of its choices changes a bit.

use super::params::{self, KSEG, LINE};
use super::{Gemm, Microkernels};
use crate::element::Element;

/// How one thread computes a product of some shape.
#[derive(Clone, Copy)]
pub struct ThreadPlan {
    parts: [Option<Part>; 2],
    non_temporal: bool,
}

/// Columns of C that are computed alike.
#[derive(Clone, Copy)]
pub struct Part {
    /// The first, and how many.
    columns: (usize, usize),
    /// Whether they are computed as rows of C^T = B^T A^T.
    transposed: bool,
    /// Whether C is written with non-temporal stores, as far as whole registers go.
    pub non_temporal: bool,
    /// Whether A is packed, and B.
    pub packs_a: bool,
    pub packs_b: bool,
    /// Whether microkernels take all of it from A and B in place to C: loops 2 and 1 are enough.
    pub in_place: bool,
}

impl ThreadPlan {
    /// The plan of `p`, whose C is written with non-temporal stores where `non_temporal`: then beta is 0, k at most
    /// [`KSEG`], and rows of C are contiguous and a whole number of cache lines apart.
    pub fn new<T: Element>(all: &Microkernels<T>, p: &Gemm<T>, non_temporal: bool) -> Self {
        let (first, transposed) = if non_temporal {
            // Non-temporal stores begin with the first aligned column.
            (p.c.align_offset(LINE).min(p.n), false)
        } else {
            (p.n - transposed_tail(all, p), true)
        };
        let part = |columns: (usize, usize), is_second: bool| {
            (columns.1 > 0).then(|| {
                let part = Part {
                    columns,
                    transposed: is_second && transposed,
                    non_temporal: is_second && non_temporal,
                    packs_a: false,
                    packs_b: false,
                    in_place: false,
                };
                part.decided(all, p)
            })
        };
        Self {
            parts: [part((0, first), false), part((first, p.n - first), true)],
            non_temporal,
        }
    }

    /// The parts, each with its product.
    #[inline(always)]
    pub fn parts<T: Element>(&self, p: &Gemm<T>) -> impl Iterator<Item = (Part, Gemm<T>)> {
        let p = *p;
        let parts = self.parts.into_iter().flatten();
        parts.map(move |part| (part, part.product(&p)))
    }

    /// Whether a fence must follow.
    pub fn needs_fence(&self) -> bool {
        self.non_temporal
    }

    /// Whether the product needs scratch memory. Parts of a product that does not, do not either: one that has a
    /// transposed tail where the whole has none may want to pack A, and runs without.
    #[inline(always)]
    pub fn packs(&self) -> bool {
        let mut parts = self.parts.iter().flatten();
        parts.any(|part| part.packs_a || part.packs_b)
    }

    /// Whether [`in_place`](super::in_place()) can run the product, as it is.
    #[inline(always)]
    pub fn is_in_place(&self) -> bool {
        matches!(self.parts, [Some(part), None] if part.in_place)
    }
}

impl Part {
    /// Decides what is packed.
    #[inline(always)]
    fn decided<T: Element>(self, all: &Microkernels<T>, p: &Gemm<T>) -> Self {
        let p = self.product(p);
        let packs_a = p.k > 0 && pack_a(all, &p);
        let packs_b = p.k > 0 && pack_b(all, &p);
        let one_segment = 0 < p.k && p.k <= KSEG && !self.non_temporal;
        let straight = p.c_cs == 1 && !p.epilogue.is_some();
        Self {
            packs_a,
            packs_b,
            in_place: one_segment && straight && !packs_a && !packs_b,
            ..self
        }
    }

    /// Its columns of `p`, oriented as they are computed.
    #[inline(always)]
    fn product<T: Element>(&self, p: &Gemm<T>) -> Gemm<T> {
        let part = p.block((0, p.m), self.columns);
        if self.transposed {
            part.transposed()
        } else {
            part
        }
    }
}

/// Whether the product, as it is, needs scratch memory.
#[inline(always)]
pub fn packs<T>(all: &Microkernels<T>, p: &Gemm<T>) -> bool {
    p.k > 0 && (pack_a(all, p) || pack_b(all, p))
}

/// Whether A is packed: where its elements along k are not neighbours and a micro-panel is read for many
/// micro-tiles.
#[inline(always)]
fn pack_a<T>(all: &Microkernels<T>, p: &Gemm<T>) -> bool {
    p.a_cs != 1 && p.n > 8 * all.widths.nr()
}

/// Whether B is packed: where its rows are not contiguous, or where it is large and read for many micro-tiles.
#[inline(always)]
fn pack_b<T>(all: &Microkernels<T>, p: &Gemm<T>) -> bool {
    p.b_cs != 1 || (p.m > 4 * all.mr() && packing_pays(all, p))
}

/// Whether packing a B with contiguous rows is worth its time: early where its rows lie so far apart that many share
/// the sets of a cache. The limits are measured: where a micro-panel stays in L1, on a CPU with L1 and L2 of 32 and
/// 512 KiB; else with 48 KiB and 1 MiB, for rows of 400 to 32000 bytes.
#[inline(always)]
fn packing_pays<T>(all: &Microkernels<T>, p: &Gemm<T>) -> bool {
    let exceeds = |rows: usize, kib: usize| rows.saturating_mul(p.n) > (kib << 10) / size_of::<T>();
    let apart = p.b_rs.unsigned_abs() * size_of::<T>();
    if params::stays_in_l1::<T>(&all.widths) {
        if apart.is_multiple_of(2 * LINE) {
            exceeds(p.k, 96) && exceeds(p.m, 64)
        } else {
            exceeds(p.k, 256) && p.m > 192
        }
    } else if apart > 2 << 10 && apart.is_multiple_of(1 << 10) {
        exceeds(p.k, 512) && p.m >= if apart < 8 << 10 { 128 } else { 64 }
    } else {
        exceeds(p.k, 512) && exceeds(p.m, 1536)
    }
}

/// The transposed tail: how many of the last columns of C are computed as rows of C^T = B^T A^T though the rows of C
/// are contiguous: those that would leave much of a register empty, where the columns of A, contiguous too, fill
/// theirs. None where C is written with non-temporal stores.
#[inline(always)]
pub fn transposed_tail<T>(all: &Microkernels<T>, p: &Gemm<T>) -> usize {
    /// Steps of k that take as long as a register of sums takes to a column of C.
    const TO_COLUMN: usize = 16;
    let widths = &all.widths;
    let rest = p.n & (widths.lanes - 1);
    if p.a_rs != 1 || p.c_cs != 1 || rest == 0 {
        return 0;
    }
    let straight = widths.time(p.n) - widths.time(p.n - rest);
    let straight = p.m.saturating_mul(straight);
    let transposed = rest.saturating_mul(widths.time(p.m));
    let pays =
        transposed.saturating_mul(p.k.saturating_add(TO_COLUMN)) < straight.saturating_mul(p.k);
    if pays { rest } else { 0 }
}
