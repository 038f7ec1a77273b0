//! The plan of a product on one thread, made once, before the loops. None of its choices changes the bits of a result.

use super::params::{self, KSEG, LINE};
use super::skinny::Skinny;
use super::widths::Widths;
use super::{Gemm, Microkernels};
use crate::detect;
use crate::element::Element;

/// How one thread computes a product of some shape.
#[derive(Clone, Copy)]
pub struct ThreadPlan {
    parts: [Option<Part>; 2],
    non_temporal: bool,
    /// How it is computed if one side is small and the scratch memory suffices.
    pub skinny: Option<Skinny>,
}

/// A range of columns of C that are computed in the same way.
#[derive(Clone, Copy)]
pub struct Part {
    /// The first column, and how many.
    columns: (usize, usize),
    /// Whether they are computed as rows of C^T = B^T A^T.
    transposed: bool,
    /// Whether whole registers of C are written with non-temporal stores.
    pub non_temporal: bool,
    /// Whether A is packed; whether B is.
    pub packs_a: bool,
    pub packs_b: bool,
    /// Whether microkernels read A and B in place and write C directly, in one segment: then
    /// [`in_place`](super::in_place()) runs it.
    pub in_place: bool,
}

impl ThreadPlan {
    /// The plan of `p`, with non-temporal stores to C if `non_temporal`. These require that beta is 0, k at most
    /// [`KSEG`], and the rows of C contiguous and a whole number of cache lines apart.
    // Not inlined: otherwise each crate that instantiates a caller gets its own copy.
    #[inline(never)]
    pub fn new<T: Element>(
        microkernels: &Microkernels<T>,
        p: &Gemm<T>,
        non_temporal: bool,
    ) -> Self {
        let (first, transposed) = if non_temporal {
            // Columns up to the first aligned one have ordinary stores.
            (p.c.ptr.align_offset(LINE).min(p.n), false)
        } else {
            (p.n - transposed_tail(microkernels, p), true)
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
                part.choose_packing(microkernels, p)
            })
        };
        Self {
            parts: [part((0, first), false), part((first, p.n - first), true)],
            non_temporal,
            skinny: if non_temporal || p.k == 0 {
                None
            } else {
                Skinny::new(microkernels, p)
            },
        }
    }

    /// The parts, each with its product.
    #[inline(always)]
    pub fn parts<T: Element>(&self, p: &Gemm<T>) -> impl Iterator<Item = (Part, Gemm<T>)> {
        let p = *p;
        let parts = self.parts.into_iter().flatten();
        parts.map(move |part| (part, part.product(&p)))
    }

    /// Whether C is written with non-temporal stores. A fence must follow them.
    pub fn is_non_temporal(&self) -> bool {
        self.non_temporal
    }

    /// Whether the product takes scratch memory. A cell of a grid over C has its own plan, and may take some where the
    /// whole product takes none.
    #[inline(always)]
    pub fn packs(&self) -> bool {
        if let Some(skinny) = &self.skinny {
            return skinny.packs;
        }
        let mut parts = self.parts.iter().flatten();
        parts.any(|part| part.packs_a || part.packs_b)
    }

    /// Whether [`in_place`](super::in_place()) can run the whole product.
    #[inline(always)]
    pub fn is_in_place(&self) -> bool {
        self.skinny.is_none() && matches!(self.parts, [Some(part), None] if part.in_place)
    }
}

impl Part {
    /// Decides what is packed, and whether the part runs in place.
    #[inline(always)]
    fn choose_packing<T: Element>(self, microkernels: &Microkernels<T>, p: &Gemm<T>) -> Self {
        let p = self.product(p);
        let packs_a = p.k > 0 && pack_a(microkernels, &p);
        let packs_b = p.k > 0 && pack_b(microkernels, &p);
        let one_segment = 0 < p.k && p.k <= KSEG && !self.non_temporal;
        let direct = p.c.cs == 1 && !p.epilogue.is_some();
        Self {
            packs_a,
            packs_b,
            in_place: one_segment && direct && !packs_a && !packs_b,
            ..self
        }
    }

    /// Its columns of `p`, transposed if they are computed so.
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

/// Whether the product needs scratch memory when it is computed whole, without a transposed tail.
#[inline(always)]
pub fn packs<T>(microkernels: &Microkernels<T>, p: &Gemm<T>) -> bool {
    p.k > 0 && (pack_a(microkernels, p) || pack_b(microkernels, p))
}

/// Whether A is packed: if its rows are not contiguous and each micro-panel is read for many micro-tiles.
#[inline(always)]
fn pack_a<T>(microkernels: &Microkernels<T>, p: &Gemm<T>) -> bool {
    p.a.cs != 1 && p.n > 8 * microkernels.widths.nr()
}

/// Whether B is packed: if its rows are not contiguous, or if it is large and read for many micro-tiles.
#[inline(always)]
fn pack_b<T>(microkernels: &Microkernels<T>, p: &Gemm<T>) -> bool {
    p.b.cs != 1 || (p.m > 4 * microkernels.mr() && packing_pays(microkernels, p))
}

/// Whether packing a B with contiguous rows pays. It pays sooner if the distance between rows maps many of them to the
/// same sets of a cache. The limits were measured for rows of 400 to 32000 bytes: where micro-panels stay in L1, on a
/// CPU with 32 KiB of L1 and 512 KiB of L2; the others on one with 48 KiB and 1 MiB.
#[inline(always)]
fn packing_pays<T>(microkernels: &Microkernels<T>, p: &Gemm<T>) -> bool {
    let exceeds = |rows: usize, kib: usize| rows.saturating_mul(p.n) > (kib << 10) / size_of::<T>();
    let apart = p.b.rs.unsigned_abs() * size_of::<T>();
    if params::stays_in_l1::<T>(&microkernels.widths) {
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

/// The width of the transposed tail: how many of the last columns of C are computed as rows of C^T = B^T A^T. They are
/// the columns that do not fill a register, or all columns if they fill just one. Transposed, the registers run along the
/// contiguous columns of A instead, and are better filled. 0 if that is slower. (A C written with non-temporal stores
/// has no transposed tail.)
#[inline(always)]
pub fn transposed_tail<T>(microkernels: &Microkernels<T>, p: &Gemm<T>) -> usize {
    /// Fewer elements of A are in any L1.
    const IN_L1: usize = (16 << 10) / size_of::<f64>();
    let widths = &microkernels.widths;
    let rest = p.n & (widths.lanes - 1);
    let one_register = p.n >> widths.lanes.trailing_zeros() == 1;
    if p.a.rs != 1 || p.c.cs != 1 || (rest == 0 && !(one_register && p.m.wrapping_mul(p.k) > IN_L1))
    {
        return 0;
    }
    tail(widths, (p.m, p.n, p.k), size_of::<T>())
}

/// [`transposed_tail`] where A and C have the strides for it, with elements of `size` bytes. Outlined, because it is long.
#[inline(never)]
fn tail(widths: &Widths, (m, n, k): (usize, usize, usize), size: usize) -> usize {
    /// The time to store a register of sums to a column of C, in steps of k.
    const COLUMN_STORE: usize = 16;
    let whole = n >> widths.lanes.trailing_zeros();
    let rest = n & (widths.lanes - 1);
    let row = widths.row_cost(n);
    let column = widths.row_cost(m);
    let straight = |row: usize| m.saturating_mul(row).saturating_mul(k);
    let transposed = |columns: usize| {
        let registers = columns.saturating_mul(column);
        registers.saturating_mul(k.saturating_add(COLUMN_STORE))
    };
    if whole == 1 && m.saturating_mul(k).saturating_mul(size) > detect::l1_bytes() {
        // Micro-tiles of one register read each line of A for few products, which takes a quarter more at least; with two
        // registers it does not. Measured on an Intel server: transposed, 1.03 to 1.7 times as fast.
        let reading = if row < 8 { straight(row) / 4 } else { 0 };
        if transposed(n) <= straight(row).saturating_add(reading) {
            return n;
        }
    }
    if transposed(rest) < straight(row - 4 * whole) {
        rest
    } else {
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::Kernels;
    use crate::level::Level;

    /// Whatever L1 the machine has: all columns are transposed if they fill one register and A is larger than any L1.
    #[test]
    fn products_of_one_register_are_transposed_beyond_l1() {
        for level in Level::ALL.into_iter().filter(|level| level.is_available()) {
            let widths = Kernels::<f64>::new(level).gemm().microkernels.widths;
            let (lanes, large, small) = (widths.lanes, (1024, 512), (32, 32));
            let columns = |(m, k), n| tail(&widths, (m, n, k), size_of::<f64>());
            assert_eq!(columns(large, lanes), lanes, "{level:?}");
            assert_eq!(columns(large, lanes + 1), lanes + 1, "{level:?}");
            assert_eq!(columns(small, lanes), 0, "{level:?}");
            assert!(columns(small, lanes + 1) < lanes, "{level:?}");
            assert_eq!(columns(large, 2 * lanes), 0, "{level:?}");
            assert!(columns(large, 2 * lanes + 1) < lanes, "{level:?}");
        }
    }
}
