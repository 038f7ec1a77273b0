//! The routines of AMX: a block of steps is a row of a tile, 64 bytes.

use super::half::{BLOCK, SEGMENT};
use super::pack::{Bytes, Halves, Words, pack};
use super::routines::{Panels, Routines, Tile};
use crate::api::mixed::Integers;
use crate::element::Storage;
use crate::half::bf16;
use crate::isa::amx::{Instruction, ROW, ROWS, Tiles, enter, leave};
use crate::matrix::Matrix;
use crate::simd::{Access, Simd, Token};

/// The words in a row of a tile.
const WORDS: usize = ROW / 4;

/// Packs rows of A: block of steps by block of steps, of each the rows, padded with zeros.
///
/// # Safety
/// As [`Pack`](super::routines::Pack).
#[inline(always)]
unsafe fn pack_rows<W: Words<Word = u32>>(
    from: Matrix<*const u8>,
    count: usize,
    kc: usize,
    out: *mut u8,
) {
    let (padded, steps) = (count.next_multiple_of(ROWS), WORDS * W::STEPS);
    for (block, step) in (0..kc).step_by(steps).enumerate() {
        let to = out.wrapping_add(block * padded * ROW).cast::<[u32; WORDS]>();
        let is_whole = from.cs == W::BYTES as isize && step + steps <= kc;
        for i in 0..count {
            let row = from.at(i, step);
            *to.add(i) = if is_whole {
                row.cast::<[u32; WORDS]>().read_unaligned()
            } else {
                words::<W>(row, from.cs, kc - step)
            };
        }
        for i in count..padded {
            *to.add(i) = [0; WORDS];
        }
    }
}

/// The first steps of a row, as the words of a row of a tile.
///
/// # Safety
/// They must be valid for reading.
#[inline(always)]
unsafe fn words<W: Words<Word = u32>>(row: *const u8, cs: isize, steps: usize) -> [u32; WORDS] {
    let mut words = [0; WORDS];
    for (w, word) in words.iter_mut().enumerate() {
        let first = w * W::STEPS;
        if first < steps {
            let at = row.wrapping_offset(first as isize * cs);
            *word = W::word(at, cs, W::STEPS.min(steps - first));
        }
    }
    words
}

/// Packs columns of B: word by word of each column, padded with zeros to whole blocks.
///
/// # Safety
/// As [`Pack`](super::routines::Pack).
#[inline(always)]
unsafe fn pack_columns<W: Words<Word = u32>>(
    from: Matrix<*const u8>,
    count: usize,
    kc: usize,
    out: *mut u8,
) {
    let width = count.next_multiple_of(ROWS);
    let out = out.cast::<u32>();
    pack::<W>(from, count, kc, width, out);
    let packed = kc.div_ceil(W::STEPS);
    for row in packed..packed.next_multiple_of(WORDS) {
        for j in 0..width {
            *out.add(row * width + j) = 0;
        }
    }
}

#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2")]
#[cfg_attr(not(precompiled), inline)]
unsafe fn pack_a(from: Matrix<*const u8>, count: usize, kc: usize, out: *mut u8) {
    // SAFETY: as the caller's.
    unsafe { pack_rows::<Bytes<false>>(from, count, kc, out) }
}

#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2")]
#[cfg_attr(not(precompiled), inline)]
unsafe fn pack_b(from: Matrix<*const u8>, count: usize, kc: usize, out: *mut u8) {
    // SAFETY: as the caller's.
    unsafe { pack_columns::<Bytes<false>>(from, count, kc, out) }
}

/// Multiplies the packed panels of a micro-tile.
///
/// # Safety
/// As the microkernel of [`Routines`].
#[inline(always)]
unsafe fn microkernel(instruction: Instruction, tile: &Tile, steps: usize) {
    let tiles = Tiles {
        a: tile.a,
        b: tile.b,
        blocks: tile.kc.div_ceil(steps),
        sums: tile.sums,
        sums_rs: tile.sums_rs,
        adds: tile.adds,
    };
    // SAFETY: as the caller's.
    unsafe {
        instruction.multiply(&tiles, tile.rows.div_ceil(ROWS), tile.columns.div_ceil(ROWS));
    }
}

#[cfg_attr(not(precompiled), inline)]
unsafe fn signed(tile: &Tile) {
    // SAFETY: as the caller's.
    unsafe { microkernel(Instruction::Tdpbssd, tile, ROW) }
}

#[cfg_attr(not(precompiled), inline)]
unsafe fn unsigned(tile: &Tile) {
    // SAFETY: as the caller's.
    unsafe { microkernel(Instruction::Tdpbusd, tile, ROW) }
}

/// Returns the routines of AMX-INT8; `None` for operands that are not bytes.
#[cfg_attr(not(precompiled), inline)]
pub fn routines(operands: Integers) -> Option<&'static Routines> {
    const fn of(microkernel: unsafe fn(&Tile), direct: super::routines::Direct) -> Routines {
        Routines {
            a: Panels { most: 2 * ROWS, grain: ROWS, bytes: ROW, header: 0, pack: pack_a },
            b: Panels { most: 2 * ROWS, grain: ROWS, bytes: ROW, header: 0, pack: pack_b },
            steps: ROW,
            segment: super::integers::SEGMENT,
            sum_bytes: 4,
            microkernel,
            enter,
            leave,
            direct,
        }
    }
    match operands {
        Integers::I8I8 => Some(const { &of(signed, super::integers::direct::<i8, i8, i32>) }),
        Integers::U8I8 => Some(const { &of(unsigned, super::integers::direct::<u8, i8, i32>) }),
        Integers::I32 | Integers::I64 => None,
    }
}

// bf16.
//
// TDPBF16PS computes the canonical order, except that it takes subnormal numbers as zero and flushes subnormal results. Let q
// be the least exponent of a nonzero product of the two micro-panels in a segment: of the least nonzero magnitude in A times
// that in B. All products are multiples of 2^(q - 14), and rounding to nearest keeps a multiple of a power of two one, so no
// nonzero partial sum is smaller. If that is at least 2^-126 and no element is subnormal, nothing is flushed, and the bits are
// those of FMA. The header of a packed micro-panel has the least exponent; where the condition fails, `exact` computes the
// sums by FMA from the same panels.

/// The biased exponents whose sum is that of 2^(-126 + 14), twice the bias of 127 added.
const LEAST_EXPONENTS: u16 = 142;
/// The bytes of the header for each row or column.
const HEADER: usize = 4;

/// Returns the least magnitude of a nonzero element of a packed panel, as bits; 0 if there is none.
///
/// # Safety
/// The panel must have been packed.
#[inline(always)]
unsafe fn least_magnitude(panel: *const u16, elements: usize) -> u16 {
    let mut least = u16::MAX;
    for i in 0..elements {
        // Zero becomes the largest.
        least = least.min((*panel.add(i) & 0x7FFF).wrapping_sub(1));
    }
    least.wrapping_add(1)
}

/// Whether TDPBF16PS flushes nothing in the product of panels with these least magnitudes.
const fn flushes_nothing(a: u16, b: u16) -> bool {
    const FRACTION: u32 = 7;
    const LEAST_NORMAL: u16 = 1 << FRACTION;
    a == 0
        || b == 0
        || a >= LEAST_NORMAL
            && b >= LEAST_NORMAL
            && (a >> FRACTION) + (b >> FRACTION) >= LEAST_EXPONENTS
}

/// Packs rows of A or columns of B, by `pack`, after a header with the least magnitude.
///
/// # Safety
/// As [`Pack`](super::routines::Pack).
#[inline(always)]
unsafe fn with_header(
    pack: impl FnOnce(*mut u8),
    count: usize,
    kc: usize,
    out: *mut u8,
) {
    let padded = count.next_multiple_of(ROWS);
    let panel = out.wrapping_add(padded * HEADER);
    pack(panel);
    let elements = padded * kc.next_multiple_of(BLOCK);
    *out.cast::<u16>() = least_magnitude(panel.cast(), elements);
}

#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2")]
#[cfg_attr(not(precompiled), inline)]
unsafe fn pack_half_rows(from: Matrix<*const u8>, count: usize, kc: usize, out: *mut u8) {
    // SAFETY: as the caller's.
    unsafe { with_header(|to| pack_rows::<Halves>(from, count, kc, to), count, kc, out) }
}

#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2")]
#[cfg_attr(not(precompiled), inline)]
unsafe fn pack_half_columns(from: Matrix<*const u8>, count: usize, kc: usize, out: *mut u8) {
    // SAFETY: as the caller's.
    unsafe { with_header(|to| pack_columns::<Halves>(from, count, kc, to), count, kc, out) }
}

/// The sums of a segment of a micro-tile of two by two tiles.
#[repr(C, align(64))]
struct Segment([f32; 4 * ROWS * ROWS]);

/// Multiplies the packed panels of a micro-tile of bf16.
///
/// # Safety
/// As the microkernel of [`Routines`].
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2")]
#[cfg_attr(not(precompiled), inline)]
unsafe fn halves(tile: &Tile) {
    let rows = tile.rows.next_multiple_of(ROWS);
    let columns = tile.columns.next_multiple_of(ROWS);
    // SAFETY: as the caller's.
    unsafe {
        let least = |panel: *const u8| *panel.cast::<u16>();
        let is_exact = flushes_nothing(least(tile.a), least(tile.b));
        let mut segment = core::mem::MaybeUninit::<Segment>::uninit();
        // A later segment is summed on its own first.
        let (sums, sums_rs) = if tile.adds {
            (segment.as_mut_ptr().cast(), (4 * columns) as isize)
        } else {
            (tile.sums, tile.sums_rs)
        };
        let own = Tile {
            a: tile.a.wrapping_add(rows * HEADER),
            b: tile.b.wrapping_add(columns * HEADER),
            sums,
            sums_rs,
            adds: false,
            ..*tile
        };
        if is_exact {
            microkernel(Instruction::Tdpbf16ps, &own, BLOCK);
        } else {
            exact(&own, rows, columns);
        }
        if tile.adds {
            let s = <f32 as Storage>::Avx512::token();
            for i in 0..rows as isize {
                let from = sums.wrapping_offset(i * sums_rs).cast::<f32>();
                let to = tile.sums.wrapping_offset(i * tile.sums_rs).cast::<f32>();
                for j in (0..columns).step_by(ROWS) {
                    let (from, to) = (from.wrapping_add(j), to.wrapping_add(j));
                    s.store(to, s.add(s.load(to), s.load(from)));
                }
            }
        }
    }
}

/// [`halves`] by FMA, for panels of which TDPBF16PS would flush something.
///
/// # Safety
/// As [`halves`]; the panels are without headers.
#[cold]
#[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2")]
#[cfg_attr(not(precompiled), inline)]
unsafe fn exact(tile: &Tile, rows: usize, columns: usize) {
    // SAFETY: as the caller's.
    unsafe {
        let s = <f32 as Storage>::Avx512::token();
        let zero = s.splat(0.0);
        for i in 0..rows {
            let row = tile.sums.wrapping_offset(i as isize * tile.sums_rs).cast::<f32>();
            for j in (0..columns).step_by(ROWS) {
                let mut segment = zero;
                for block in 0..tile.kc.div_ceil(BLOCK) {
                    let a = tile.a.wrapping_add((block * rows + i) * ROW).cast::<bf16>();
                    let b = tile.b.wrapping_add(block * columns * ROW + 4 * j);
                    let (mut even, mut odd) = (zero, zero);
                    for pair in 0..BLOCK / 2 {
                        let words = b.wrapping_add(pair * columns * 4).cast::<bf16>();
                        // Pairs of a column lie next to each other.
                        let low: [bf16; ROWS] = crate::array::from_fn(|c| *words.wrapping_add(2 * c));
                        let high: [bf16; ROWS] = crate::array::from_fn(|c| *words.wrapping_add(2 * c + 1));
                        let of_a = |step: usize| s.splat((*a.wrapping_add(step)).into_compute());
                        even = s.fma(of_a(2 * pair), s.load(low.as_ptr()), even);
                        odd = s.fma(of_a(2 * pair + 1), s.load(high.as_ptr()), odd);
                    }
                    segment = s.add(segment, s.add(even, odd));
                }
                s.store(row.wrapping_add(j), segment);
            }
        }
    }
}

/// The routines of AMX-BF16.
pub const BF16: &Routines = &Routines {
    a: Panels { most: 2 * ROWS, grain: ROWS, bytes: ROW, header: HEADER, pack: pack_half_rows },
    b: Panels { most: 2 * ROWS, grain: ROWS, bytes: ROW, header: HEADER, pack: pack_half_columns },
    steps: BLOCK,
    segment: SEGMENT,
    sum_bytes: 4,
    microkernel: halves,
    enter,
    leave,
    direct: super::half::direct::<bf16>,
};
