//! A model of the tiles, for tests on machines without AMX: the arithmetic that Intel documents (SDM vol. 2, TDPBSSD and
//! TDPBF16PS), in plain Rust.
#![allow(unsafe_op_in_unsafe_fn)]

use super::{Instruction, ROW, ROWS, TILE, Tiles};
use crate::isa::models::flushed;

/// See [`Instruction::multiply`].
///
/// # Safety
/// The panels and the sums must be valid.
pub unsafe fn multiply(instruction: Instruction, tiles: &Tiles, rows: usize, columns: usize) {
    for i in 0..rows * ROWS {
        for j in 0..columns * ROWS {
            let to = tiles
                .sums
                .wrapping_offset(i as isize * tiles.sums_rs)
                .wrapping_add(4 * j);
            let start = if tiles.adds {
                to.cast::<u32>().read_unaligned()
            } else {
                0
            };
            let mut sum = start;
            for block in 0..tiles.blocks {
                let a = (block * rows + i / ROWS) * TILE + i % ROWS * ROW;
                let b = (block * columns + j / ROWS) * TILE + j % ROWS * 4;
                let (a, b) = (tiles.a.wrapping_add(a), tiles.b.wrapping_add(b));
                sum = match instruction {
                    Instruction::Tdpbssd => bytes(sum, a, b, |byte| i32::from(byte as i8)),
                    Instruction::Tdpbusd => bytes(sum, a, b, i32::from),
                    Instruction::Tdpbf16ps => halves(sum, a, b),
                };
            }
            to.cast::<u32>().write_unaligned(sum);
        }
    }
}

/// A row of 64 bytes of A, widened by `widen`, times a column of B, added to a sum.
unsafe fn bytes(sum: u32, a: *const u8, b: *const u8, widen: impl Fn(u8) -> i32) -> u32 {
    (0..ROW).fold(sum, |sum, k| {
        let y = *b.wrapping_add(k / 4 * ROW + k % 4) as i8;
        sum.wrapping_add((widen(*a.wrapping_add(k)) * i32::from(y)) as u32)
    })
}

/// A row of 32 bf16 numbers of A times a column of B, added to a sum: subnormal numbers count as zero, and become zero.
unsafe fn halves(sum: u32, a: *const u8, b: *const u8) -> u32 {
    let number = |p: *const u8| {
        flushed(f32::from_bits(
            u32::from(p.cast::<u16>().read_unaligned()) << 16,
        ))
    };
    let mut chains = [0.0_f32; 2];
    for k in 0..ROW / 2 {
        let x = number(a.wrapping_add(2 * k));
        let y = number(b.wrapping_add(k / 2 * ROW + k % 2 * 2));
        chains[k % 2] = flushed(crate::scalar::fma_f32(x, y, chains[k % 2]));
    }
    let products = flushed(chains[0] + chains[1]);
    flushed(flushed(f32::from_bits(sum)) + products).to_bits()
}

#[cfg(test)]
mod tests {
    use super::super::{Panel, enter, is_modelled, leave};
    use super::*;
    use crate::detect::Extensions;
    use std::vec;

    /// Where there is AMX, the model has the bits of the instructions: for random bytes, and for numbers of all classes.
    #[test]
    fn model_and_instructions_agree() {
        let here = Extensions::of_this_machine();
        let mut random = crate::isa::random_bits();
        for turn in 0..200 {
            let (rows, columns, blocks) = (1 + turn % 2, 1 + turn / 2 % 2, 1 + turn % 3);
            let mut panel = |tiles: usize| -> vec::Vec<Panel> {
                let mut panel: vec::Vec<_> = (0..tiles).map(|_| Panel([0; TILE])).collect();
                for pair in panel
                    .iter_mut()
                    .flat_map(|tile| tile.0.as_chunks_mut::<2>().0)
                {
                    let bits = random();
                    // Any bits, few exponents around 1, or numbers whose products are about to be flushed.
                    let exponent = [
                        bits >> 40 & 0xFF,
                        120 + (bits >> 40) % 14,
                        60 + (bits >> 40) % 8,
                    ][turn % 3];
                    *pair = (bits as u16 & 0x807F | (exponent as u16) << 7).to_le_bytes();
                }
                panel
            };
            let (a, b) = (panel(blocks * rows), panel(blocks * columns));
            let instructions = [
                (Instruction::Tdpbssd, Extensions::AMX_INT8),
                (Instruction::Tdpbusd, Extensions::AMX_INT8),
                (Instruction::Tdpbf16ps, Extensions::AMX_BF16),
            ];
            for (instruction, extension) in instructions {
                if is_modelled() || !here.has(extension) {
                    continue;
                }
                let product = |by_model: bool| {
                    let mut sums = vec![0x3F80_0000_u32; 4 * ROWS * ROWS];
                    let tiles = Tiles {
                        a: a.as_ptr().cast(),
                        b: b.as_ptr().cast(),
                        blocks,
                        sums: sums.as_mut_ptr().cast(),
                        sums_rs: (columns * ROW) as isize,
                        adds: turn % 5 > 0,
                    };
                    // SAFETY: the machine has the instruction, and the panels hold the tiles.
                    unsafe {
                        if by_model {
                            multiply(instruction, &tiles, rows, columns);
                        } else {
                            enter();
                            instruction.multiply(&tiles, rows, columns);
                            leave();
                        }
                    }
                    sums
                };
                let is_nan = |bits: u32| f32::from_bits(bits).is_nan();
                let is_float = extension == Extensions::AMX_BF16;
                for (model, hardware) in product(true).into_iter().zip(product(false)) {
                    // Payloads of NaN are not modelled; C gets the canonical one.
                    let are_nans = is_float && is_nan(model) && is_nan(hardware);
                    assert!(
                        model == hardware || are_nans,
                        "turn {turn}: {model:#x} {hardware:#x}"
                    );
                }
            }
        }
    }
}
