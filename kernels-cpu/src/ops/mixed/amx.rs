//! The routines of AMX: a block of steps is a row of a tile, 64 bytes.

use super::pack::{Bytes, Words, pack};
use super::routines::{Panels, Routines, Tile};
use crate::api::mixed::Operands;
use crate::isa::amx::{Instruction, ROW, ROWS, Tiles, enter, leave};
use crate::matrix::Matrix;

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
pub fn routines(operands: Operands) -> Option<&'static Routines> {
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
        Operands::I8I8 => Some(const { &of(signed, super::integers::direct::<i8, i8, i32>) }),
        Operands::U8I8 => Some(const { &of(unsigned, super::integers::direct::<u8, i8, i32>) }),
        Operands::I32 | Operands::I64 => None,
    }
}
