//! The routines of AMX: a block of steps is a row of a tile, 64 bytes.

use core::arch::x86_64::*;

use super::half::flushing::{HEADER, flushes_nothing, least_of};
use super::half::{BLOCK, SEGMENT};
use super::integers::x86;
use super::routines::{Panels, Routines, Tile};
use crate::api::mixed::Integers;
use crate::element::Storage;
use crate::half::bf16;
use crate::isa::amx::{Instruction, ROW, ROWS, Tiles, enter, leave};
use crate::isa::interleave;
use crate::matrix::Matrix;
use crate::ops::gemm::transpose::transpose;
use crate::simd::{Access, Simd, Token};

/// Elements that are packed to tiles.
trait Elements {
    /// Bytes of an element.
    const BYTES: usize;
    /// Whether the header has the least magnitude.
    const HAS_LEAST: bool;

    /// The words of 16 columns; see [`interleave`].
    ///
    /// # Safety
    /// As [`interleave::halves`].
    unsafe fn words(p: *const u8, rs: isize, rows: usize, columns: usize) -> __m512i;
}

/// i8 and u8.
struct Byte;

impl Elements for Byte {
    const BYTES: usize = 1;
    const HAS_LEAST: bool = false;

    #[inline(always)]
    unsafe fn words(p: *const u8, rs: isize, rows: usize, columns: usize) -> __m512i {
        interleave::bytes(p, rs, rows, columns)
    }
}

/// bf16.
struct Number;

impl Elements for Number {
    const BYTES: usize = 2;
    const HAS_LEAST: bool = true;

    #[inline(always)]
    unsafe fn words(p: *const u8, rs: isize, rows: usize, columns: usize) -> __m512i {
        interleave::halves(p, rs, rows, columns)
    }
}

/// A tile on its way to a panel.
#[repr(C, align(64))]
#[derive(Clone, Copy)]
struct Packed([__m512i; ROWS]);

/// Makes a tile of `count` rows of the matrix, of the first `bytes` bytes of each, and zeros.
///
/// # Safety
/// The rows must be valid for reading the elements in these bytes.
#[inline(always)]
unsafe fn row_tile<E: Elements>(from: Matrix<*const u8>, count: usize, bytes: usize) -> Packed {
    let mut tile = Packed([_mm512_setzero_si512(); ROWS]);
    if from.cs == E::BYTES as isize {
        for (i, row) in tile.0.iter_mut().enumerate().take(count) {
            *row = interleave::load_bytes(from.at(i, 0), bytes);
        }
        return tile;
    }
    let to: *mut u8 = (&raw mut tile).cast();
    for i in 0..count {
        for k in 0..bytes / E::BYTES {
            let element = to.wrapping_add(i * ROW + k * E::BYTES);
            core::ptr::copy_nonoverlapping(from.at(i, k), element, E::BYTES);
        }
    }
    tile
}

/// Makes a tile of words of the rows of the matrix, of which there are `count`: the words of a step are contiguous.
///
/// # Safety
/// As [`row_tile`].
#[inline(always)]
unsafe fn column_tile<E: Elements>(from: Matrix<*const u8>, count: usize, bytes: usize) -> Packed {
    let steps = 4 / E::BYTES;
    if from.rs == E::BYTES as isize {
        let mut tile = Packed([_mm512_setzero_si512(); ROWS]);
        for (w, words) in tile.0.iter_mut().enumerate() {
            let step = w * steps;
            let rest = (bytes / E::BYTES).saturating_sub(step);
            if rest > 0 {
                *words = E::words(from.at(0, step), from.cs, rest.min(steps), count);
            }
        }
        return tile;
    }
    let tile = row_tile::<E>(from, count, bytes);
    let mut transposed = Packed([_mm512_setzero_si512(); ROWS]);
    // Words of any bits: they are only moved.
    let s = <f32 as Storage>::Avx512::token();
    let rows = (tile.0.as_ptr().cast::<f32>(), ROWS as isize);
    let to = (transposed.0.as_mut_ptr().cast(), ROWS as isize);
    transpose(s, rows, (ROWS, ROWS), to, ROWS);
    transposed
}

/// Packs rows or columns: block of steps by block of steps, of each the tiles of 16 rows or columns. The header comes first.
/// A macro, so that `$tile` is inlined.
macro_rules! pack {
    ($E:ident $tile:ident $from:ident $count:ident $first:ident $kc:ident $out:ident) => {{
        let tiles = $count.div_ceil(ROWS);
        let header = if $E::HAS_LEAST {
            tiles * ROWS * HEADER
        } else {
            0
        };
        if $first == 0 {
            $out.write_bytes(0, header);
        }
        let steps = ROW / $E::BYTES;
        let mut to = $out
            .wrapping_add(header)
            .cast::<Packed>()
            .wrapping_add($first / steps * tiles);
        let mut least = _mm512_set1_epi16(-1);
        for step in (0..$kc).step_by(steps) {
            let bytes = ROW.min(($kc - step) * $E::BYTES);
            for t in 0..tiles {
                let count = ROWS.min($count - t * ROWS);
                let packed = $tile::<$E>($from.offset(t * ROWS, step), count, bytes);
                if $E::HAS_LEAST {
                    for row in packed.0 {
                        least = interleave::least_magnitudes(least, row);
                    }
                }
                *to = packed;
                to = to.wrapping_add(1);
            }
        }
        if $E::HAS_LEAST {
            let least_magnitude = $out.cast::<u16>();
            *least_magnitude = least_of(*least_magnitude, interleave::least_magnitude(least));
        }
    }};
}

/// Defines a function with the features of the level that packs rows or columns.
macro_rules! packs {
    ($($name:ident $E:ident $tile:ident;)*) => {$(
        #[target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,f16c,bmi1,bmi2")]
        #[cfg_attr(not(precompiled), inline)]
        unsafe fn $name(from: Matrix<*const u8>, count: usize, first: usize, kc: usize, out: *mut u8) {
            // SAFETY: as the caller's.
            unsafe { pack!($E $tile from count first kc out) }
        }
    )*};
}

packs! {
    pack_byte_rows Byte row_tile;
    pack_byte_columns Byte column_tile;
    pack_half_rows Number row_tile;
    pack_half_columns Number column_tile;
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
        instruction.multiply(
            &tiles,
            tile.rows.div_ceil(ROWS),
            tile.columns.div_ceil(ROWS),
        );
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
    const fn of(microkernel: unsafe fn(&Tile), in_place: super::routines::InPlace) -> Routines {
        Routines {
            a: Panels {
                most: 2 * ROWS,
                grain: ROWS,
                bytes: ROW,
                header: 0,
                pack: pack_byte_rows,
            },
            b: Panels {
                most: 2 * ROWS,
                grain: ROWS,
                bytes: ROW,
                header: 0,
                pack: pack_byte_columns,
            },
            steps: ROW,
            segment: super::integers::SEGMENT,
            sum_bytes: 4,
            microkernel,
            enter,
            leave,
            in_place,
            in_place_rows: 0,
        }
    }
    match operands {
        Integers::I8I8 => Some(const { &of(signed, x86::avx512_i8::sums_in_place) }),
        Integers::U8I8 => Some(const { &of(unsigned, x86::avx512_u8::sums_in_place) }),
        Integers::I32 | Integers::I64 => None,
    }
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
            let row = tile
                .sums
                .wrapping_offset(i as isize * tile.sums_rs)
                .cast::<f32>();
            for j in (0..columns).step_by(ROWS) {
                let mut segment = zero;
                for block in 0..tile.kc.div_ceil(BLOCK) {
                    let a = tile.a.wrapping_add((block * rows + i) * ROW).cast::<bf16>();
                    let b = tile.b.wrapping_add((block * columns + j) * ROW);
                    let (mut even, mut odd) = (zero, zero);
                    for pair in 0..BLOCK / 2 {
                        let words = b.wrapping_add(pair * ROW).cast::<bf16>();
                        // Pairs of a column lie next to each other.
                        let low: [bf16; ROWS] =
                            crate::array::from_fn(|c| *words.wrapping_add(2 * c));
                        let high: [bf16; ROWS] =
                            crate::array::from_fn(|c| *words.wrapping_add(2 * c + 1));
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
    a: Panels {
        most: 2 * ROWS,
        grain: ROWS,
        bytes: ROW,
        header: HEADER,
        pack: pack_half_rows,
    },
    b: Panels {
        most: 2 * ROWS,
        grain: ROWS,
        bytes: ROW,
        header: HEADER,
        pack: pack_half_columns,
    },
    steps: BLOCK,
    segment: SEGMENT,
    sum_bytes: 4,
    microkernel: halves,
    enter,
    leave,
    in_place: super::half::avx512::sums_in_place::<bf16>,
    in_place_rows: 4,
};
