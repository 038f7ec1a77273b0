//! Products of 16-bit numbers by FMA, on panels widened to `f32`.
//!
//! The order of rounding is that of the module: `C` is the sum of segments of [`SEGMENT`] steps, a segment the sum of
//! blocks of [`BLOCK`] steps, and a block the sum of two chains of FMA, over its even and its odd steps.

pub mod flushing;
mod in_place;
pub mod pairs;

use super::product::MixedGemm;
use super::routines::{Panels, Routines, Tile, nothing};
use crate::api::mixed::Half;
use crate::array::from_fn;
use crate::detect::Extensions;
use crate::element::Storage;
use crate::half::{bf16, f16};
use crate::level::Level;
use crate::matrix::Matrix;
use crate::ops::gemm::transpose::transpose_pairs;
use crate::ops::{prefers_small_code, store};
use crate::simd::{Access, Simd};

pub use crate::ops::order::{HALF_BLOCK as BLOCK, HALF_SEGMENT as SEGMENT};
use in_place::in_place;

/// Whether a level has registers for both chains of a micro-tile. Others compute the even chains first.
#[inline(always)]
const fn holds_both_chains<S: Simd>() -> bool {
    cfg!(target_arch = "aarch64") || S::N == 16
}

/// Computes a micro-tile of MR rows and NV registers of columns in one segment.
///
/// # Safety
/// As the microkernel of [`Routines`](super::Routines).
#[inline(always)]
pub unsafe fn microkernel<S: Simd<T = f32>, const MR: usize, const NV: usize>(s: S, tile: &Tile) {
    let zeros = [[s.splat(0.0); NV]; MR];
    let mut segment = zeros;
    let (mut a, mut b) = (tile.a.cast::<f32>(), tile.b.cast::<f32>());
    let mut rest = tile.kc;
    while rest > 0 {
        let steps = rest.min(BLOCK);
        let (mut even, mut odd) = (zeros, zeros);
        block(s, &mut even, &mut odd, a, b, steps / 2);
        if steps < BLOCK {
            if steps % 2 == 1 {
                step(s, &mut even, a, b, steps - 1);
            }
            // As products of zeros would: a chain that rounded to -0 becomes +0.
            add(s, &mut even, &zeros);
            add(s, &mut odd, &zeros);
        }
        add(s, &mut even, &odd);
        add(s, &mut segment, &even);
        (a, b) = (
            a.wrapping_add(MR * steps),
            b.wrapping_add(NV * S::N * steps),
        );
        rest -= steps;
    }
    for (i, segment) in segment.iter().enumerate() {
        let row = tile
            .sums
            .wrapping_offset(i as isize * tile.sums_rs)
            .cast::<f32>();
        for (v, &sum) in segment.iter().enumerate() {
            let to = row.wrapping_add(v * S::N);
            s.store(
                to,
                if tile.adds {
                    s.add(s.load(to), sum)
                } else {
                    sum
                },
            );
        }
    }
}

/// Adds pairs of steps to the chains of a micro-tile.
///
/// # Safety
/// The panels must have them.
#[inline(always)]
unsafe fn block<S: Simd<T = f32>, const MR: usize, const NV: usize>(
    s: S,
    even: &mut [[S::V; NV]; MR],
    odd: &mut [[S::V; NV]; MR],
    a: *const f32,
    b: *const f32,
    pairs: usize,
) {
    /// A loop of few iterations is worth unrolling: its end is not predicted.
    const UNROLLED: usize = 4;
    let whole = if prefers_small_code::<S>() {
        0
    } else {
        pairs / UNROLLED * UNROLLED
    };
    if holds_both_chains::<S>() {
        for first in (0..whole).step_by(UNROLLED) {
            for pair in first..first + UNROLLED {
                step(s, even, a, b, 2 * pair);
                step(s, odd, a, b, 2 * pair + 1);
            }
        }
        for pair in whole..pairs {
            step(s, even, a, b, 2 * pair);
            step(s, odd, a, b, 2 * pair + 1);
        }
        return;
    }
    for first in (0..whole).step_by(UNROLLED) {
        for pair in first..first + UNROLLED {
            step(s, even, a, b, 2 * pair);
        }
    }
    for pair in whole..pairs {
        step(s, even, a, b, 2 * pair);
    }
    for first in (0..whole).step_by(UNROLLED) {
        for pair in first..first + UNROLLED {
            step(s, odd, a, b, 2 * pair + 1);
        }
    }
    for pair in whole..pairs {
        step(s, odd, a, b, 2 * pair + 1);
    }
}

/// Adds a step of k to the chains of a micro-tile.
///
/// # Safety
/// The panels must have it.
#[inline(always)]
unsafe fn step<S: Simd<T = f32>, const MR: usize, const NV: usize>(
    s: S,
    chains: &mut [[S::V; NV]; MR],
    a: *const f32,
    b: *const f32,
    k: usize,
) {
    let (a, b) = (a.wrapping_add(k * MR), b.wrapping_add(k * NV * S::N));
    let row: [S::V; NV] = from_fn(|v| s.load(b.wrapping_add(v * S::N)));
    for (i, chains) in chains.iter_mut().enumerate() {
        let element = s.splat(*a.wrapping_add(i));
        for v in 0..NV {
            chains[v] = s.fma(element, row[v], chains[v]);
        }
    }
}

/// Adds sums to sums.
#[inline(always)]
fn add<S: Simd<T = f32>, const MR: usize, const NV: usize>(
    s: S,
    to: &mut [[S::V; NV]; MR],
    from: &[[S::V; NV]; MR],
) {
    for i in 0..MR {
        for v in 0..NV {
            to[i][v] = s.add(to[i][v], from[i][v]);
        }
    }
}

/// Packs `count` rows, widened: step by step, each of which takes `width` numbers. Those beyond the rows have any values
/// that are elements of the rows or zeros; whole registers of them may not be written.
///
/// # Safety
/// As [`Pack`](super::routines::Pack).
#[inline(always)]
pub unsafe fn pack<S: Simd<T = f32> + Access<M>, M: Storage<Compute = f32>>(
    s: S,
    from: Matrix<*const u8>,
    count: usize,
    kc: usize,
    width: usize,
    out: *mut f32,
) {
    let bytes = size_of::<M>() as isize;
    if from.rs == bytes {
        return pack_steps::<S, M>(s, from, count, kc, width, out);
    }
    if from.cs == bytes && kc >= 2 * S::N {
        return pack_rows::<S, M>(s, from, count, kc, width, out);
    }
    for k in 0..kc {
        let to = out.wrapping_add(k * width);
        for i in 0..width {
            let value = if i < count {
                (*from.at(i, k).cast::<M>()).into_compute()
            } else {
                0.0
            };
            to.wrapping_add(i).write(value);
        }
    }
}

/// [`pack`], where the elements of a step are contiguous.
///
/// # Safety
/// As [`pack`].
#[inline(always)]
unsafe fn pack_steps<S: Simd<T = f32> + Access<M>, M: Storage<Compute = f32>>(
    s: S,
    from: Matrix<*const u8>,
    count: usize,
    kc: usize,
    width: usize,
    out: *mut f32,
) {
    let whole = count / S::N * S::N;
    let end = out.wrapping_add(kc * width);
    for k in 0..kc {
        let (row, to) = (from.at(0, k).cast::<M>(), out.wrapping_add(k * width));
        let mut i = 0;
        while i < whole {
            s.store(to.wrapping_add(i), s.load(row.wrapping_add(i)));
            i += S::N;
        }
        if whole < count {
            let v = s.load_partial(row.wrapping_add(whole), count - whole);
            let to = to.wrapping_add(whole);
            // What a whole register writes beyond the step is written again.
            let is_inside = to.wrapping_add(S::N) <= end;
            store(s, to, if is_inside { S::N } else { width - whole }, v);
        }
    }
}

/// [`pack`], where the elements of a row are contiguous and at least two registers.
///
/// # Safety
/// As [`pack`].
#[inline(always)]
unsafe fn pack_rows<S: Simd<T = f32> + Access<M>, M: Storage<Compute = f32>>(
    s: S,
    from: Matrix<*const u8>,
    count: usize,
    kc: usize,
    width: usize,
    out: *mut f32,
) {
    let rs = from.rs / size_of::<M>() as isize;
    let last = kc - 2 * S::N;
    for i in (0..count).step_by(S::N) {
        let rows = S::N.min(count - i);
        let mut k = 0;
        while k < kc {
            // The last block may have steps of the one before.
            let first = k.min(last);
            // What a whole register writes beyond a step is written again, unless a step has several.
            let is_inside = (last - first) * width >= S::N;
            let len = if width <= S::N && is_inside {
                S::N
            } else {
                S::N.min(width - i)
            };
            let row = (from.at(i, first).cast::<M>(), rs);
            let to = (out.wrapping_add(first * width + i), width as isize);
            transpose_pairs::<S, M>(s, row, rows, to, len);
            k += 2 * S::N;
        }
    }
}

/// Defines the routines of a level, `$name::routines`, for micro-tiles of these rows and registers of columns.
macro_rules! routines {
    ($name:ident: $Token:ident, $features:meta, rows $rows:tt of $mr:literal, registers $registers:tt of $nv:literal) => {
        pub mod $name {
            use super::*;
            use crate::simd::{Register, Token};

            type Level<M> = <M as Storage>::$Token;
            const LANES: usize = <Level<f32> as Register>::N;

            #[$features]
            unsafe fn tile<const MR: usize, const NV: usize>(tile: &Tile, _: usize) {
                // SAFETY: called only on a machine that has the level; the rest is the caller's to vouch for.
                unsafe { microkernel::<_, MR, NV>(Level::<f32>::token(), tile) }
            }

            #[cfg_attr(not(precompiled), inline)]
            unsafe fn run(of: &Tile) {
                let run = crate::ops::mixed::words::choose!(
                    of.rows,
                    of.columns.div_ceil(LANES),
                    $rows,
                    $registers
                );
                // SAFETY: as the caller's.
                unsafe { run(of, 0) }
            }

            // With the features of the level, which its callers do not have: it is compiled once.
            #[$features]
            unsafe fn pack_lanes<M: Storage<Compute = f32>>(
                from: Matrix<*const u8>,
                count: usize,
                kc: usize,
                width: usize,
                out: *mut f32,
            ) {
                // SAFETY: as above.
                unsafe { pack::<_, M>(Level::<M>::token(), from, count, kc, width, out) }
            }

            unsafe fn pack_a<M: Storage<Compute = f32>>(
                from: Matrix<*const u8>,
                count: usize,
                first: usize,
                kc: usize,
                out: *mut u8,
            ) {
                let to = out.cast::<f32>().wrapping_add(first * count);
                // SAFETY: as above.
                unsafe { pack_lanes::<M>(from, count, kc, count, to) }
            }

            unsafe fn pack_b<M: Storage<Compute = f32>>(
                from: Matrix<*const u8>,
                count: usize,
                first: usize,
                kc: usize,
                out: *mut u8,
            ) {
                let width = count.next_multiple_of(LANES);
                let to = out.cast::<f32>().wrapping_add(first * width);
                // SAFETY: as above.
                unsafe { pack_lanes::<M>(from, count, kc, width, to) }
            }

            #[$features]
            #[cfg_attr(not(precompiled), inline)]
            unsafe fn add_panel(block: in_place::Block, panel: *const f32) {
                let panel = (panel, (in_place::WIDE * LANES) as isize);
                // SAFETY: as above.
                unsafe { in_place::add_columns(Level::<f32>::token(), block, panel) }
            }

            #[$features]
            pub unsafe fn sums_in_place<M: Storage<Compute = f32>>(
                p: &MixedGemm,
                at: (usize, usize),
                size: (usize, usize),
                sums: *mut u8,
                pitch: usize,
            ) {
                let sums = (sums.cast(), pitch / size_of::<f32>());
                // SAFETY: as above.
                unsafe {
                    in_place::<_, M>(
                        Level::<M>::token(),
                        p,
                        at,
                        size,
                        sums,
                        (pack_lanes::<M>, add_panel),
                    )
                }
            }

            const fn of_type<M: Storage<Compute = f32>>() -> Routines {
                // Panels end with a step: a short block is not padded.
                Routines {
                    a: Panels {
                        most: $mr,
                        grain: 1,
                        bytes: 4,
                        header: 0,
                        pack: pack_a::<M>,
                    },
                    b: Panels {
                        most: $nv * LANES,
                        grain: LANES,
                        bytes: 4,
                        header: 0,
                        pack: pack_b::<M>,
                    },
                    steps: 1,
                    segment: SEGMENT,
                    sum_bytes: 4,
                    microkernel: run,
                    enter: nothing,
                    leave: nothing,
                    in_place: sums_in_place::<M>,
                    in_place_rows: 4,
                }
            }

            /// The routines of one type.
            #[cfg_attr(not(precompiled), inline)]
            pub fn routines(of: Half) -> &'static Routines {
                match of {
                    Half::F16 => const { &of_type::<f16>() },
                    Half::Bf16 => const { &of_type::<bf16>() },
                }
            }
        }
    };
}

routines!(portable: Portable, cfg(all()), rows [1 2] of 2, registers [1] of 1);
#[cfg(target_arch = "x86_64")]
routines!(avx2: Avx2, target_feature(enable = "avx2,fma,f16c"), rows [1 2 3 4 5 6] of 6, registers [1 2] of 2);
#[cfg(target_arch = "x86_64")]
routines!(avx512: Avx512, target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2"),
    rows [1 2 3 4 5 6] of 6, registers [1 2] of 2);
#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
routines!(neon: Neon, target_feature(enable = "neon"), rows [1 2 3 4 5 6] of 6, registers [1 2] of 2);

/// Returns the routines of 16-bit numbers that are fastest with these instructions, which the machine must have.
#[cfg_attr(not(precompiled), inline)]
pub fn routines(of: Half, level: Level, extensions: Extensions) -> &'static Routines {
    #[cfg(all(target_arch = "x86_64", target_os = "linux", feature = "std"))]
    if level == Level::Avx512 && of == Half::Bf16 && extensions.has(Extensions::AMX_BF16) {
        return super::amx::BF16;
    }
    if of == Half::Bf16 && extensions.has(Extensions::AVX512_BF16) {
        // A model serves every level.
        #[cfg(feature = "models")]
        if crate::isa::models::modelled().has(Extensions::AVX512_BF16) {
            return pairs::model::ROUTINES;
        }
        #[cfg(target_arch = "x86_64")]
        if level == Level::Avx512 {
            return pairs::avx512::ROUTINES;
        }
    }
    match level {
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => avx512::routines(of),
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => avx2::routines(of),
        #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
        Level::Neon => neon::routines(of),
        _ => portable::routines(of),
    }
}
