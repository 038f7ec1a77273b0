//! Runs checked products of integers: orientation, scratch memory, and the split into tasks.

use super::{Integers, Operands, Output, ProductTypes};
use crate::api::gemm::plan::{Cells, Grain, MicroTiles, tasks};
use crate::detect::{Extensions, Geometry};
use crate::dispatch;
use crate::error::{Error, Result};
use crate::exec::{Exec, share};
use crate::level::Level;
use crate::ops::mixed::blocks::{Blocks, LINE};
use crate::ops::mixed::product::PackedB;
use crate::ops::mixed::write::Write;
use crate::ops::mixed::{MixedGemm, Routines, half, integers, loops, packed};

/// Returns the routines for these operands.
#[cfg_attr(not(precompiled), inline)]
fn routines(operands: Operands, level: Level, extensions: Extensions) -> &'static Routines {
    match operands {
        Operands::Integers(of) => integers::routines(of, level, extensions),
        Operands::Half(of) => half::routines(of, level, extensions),
    }
}

/// Returns the function that turns sums of these operands into C.
#[cfg_attr(not(precompiled), inline)]
fn write(types: ProductTypes, level: Level) -> Write {
    match (types.output, types.operands) {
        (Output::Sum, Operands::Integers(Integers::I64)) => dispatch::mixed::write_i64::of(level),
        (Output::Sum, _) => dispatch::mixed::write_i32::of(level),
        (Output::F32, Operands::Integers(_)) => dispatch::mixed::write_scaled::of(level),
        (Output::F32, _) => dispatch::mixed::write_f32::of(level),
        (Output::F16, _) => dispatch::mixed::write_f16::of(level),
        (Output::Bf16, _) => dispatch::mixed::write_bf16::of(level),
    }
}

/// The most rows or columns of a product that counts as a few vectors: its larger side should be the columns.
const FEW: usize = 4;

/// Whether to compute the transpose: so that the rows of C are contiguous if its columns are; a few columns become rows.
fn is_better_transposed(types: ProductTypes, p: &MixedGemm) -> bool {
    let element = types.c_bytes() as isize;
    types.operands.is_symmetric()
        && if p.n <= FEW && p.m > FEW || p.m <= FEW && p.n > FEW {
            p.n <= FEW
        } else {
            p.c.cs != element && p.c.rs == element
        }
}

/// Whether a product is computed without packing: k is 0, or it has few rows or, transposed, few columns.
fn is_in_place(r: &Routines, (m, n, k): (usize, usize, usize)) -> bool {
    k == 0 || m.min(n) <= r.in_place_rows.min(FEW)
}

/// Returns the blocks of a product of this size in either orientation, and the bytes of scratch memory for it.
#[cfg_attr(not(precompiled), inline)]
fn blocks(r: &Routines, types: ProductTypes, size: (usize, usize, usize)) -> (Blocks, usize) {
    let geometry = Geometry::current();
    let blocks = Blocks::new(&geometry, r, size);
    let (m, n, k) = size;
    let bytes = blocks.scratch_bytes();
    if types.operands.is_symmetric() {
        let transposed = Blocks::new(&geometry, r, (n, m, k));
        (blocks, bytes.max(transposed.scratch_bytes()))
    } else {
        (blocks, bytes)
    }
}

/// Returns the bytes of workspace that a product needs.
///
/// # Errors
/// `LevelUnavailable`, `SizeOverflow`.
#[cfg_attr(not(precompiled), inline)]
pub fn workspace(
    exec: &Exec<'_>,
    types: ProductTypes,
    size: (usize, usize, usize),
) -> Result<usize> {
    let r = routines(types.operands, exec.level()?, exec.extensions());
    if size.0 == 0 || size.1 == 0 || is_in_place(r, size) {
        return Ok(0);
    }
    let bytes = blocks(r, types, size).1;
    bytes
        .checked_mul(exec.threads())
        .ok_or(Error::SizeOverflow { arg: "m * n * k" })
}

/// Runs `count` products of one shape, the first of which is `p`. Its `write` is chosen here.
///
/// # Errors
/// `LevelUnavailable`, `WorkspaceTooSmall`.
///
/// # Safety
/// The matrices must be valid, and C must not overlap the other arguments.
#[cfg_attr(not(precompiled), inline)]
pub unsafe fn batch(
    exec: &Exec<'_>,
    types: ProductTypes,
    mut p: MixedGemm,
    count: usize,
) -> Result<()> {
    let level = exec.level()?;
    if p.m == 0 || p.n == 0 || count == 0 {
        return Ok(());
    }
    if p.k == 0 {
        // These strides are unchecked.
        (p.a.rs, p.a.cs, p.b.rs, p.b.cs) = (0, 0, 0, 0);
    }
    p.finish.write = write(types, level);
    let r = routines(types.operands, level, exec.extensions());
    if is_better_transposed(types, &p) {
        p = p.transposed();
    }
    let (blocks, bytes) = blocks(r, types, (p.m, p.n, p.k));
    let packs_nothing = is_in_place(r, (p.m, p.n, p.k));
    let bytes = if packs_nothing { 0 } else { bytes };
    exec.with_scratch(exec.threads(), bytes, |scratch| {
        in_tasks(exec, &p, (count, MicroTiles.get()), &|task, p| {
            scratch.with_optional_block(task, |block, len| {
                let block = block.wrapping_add(block.align_offset(LINE));
                // SAFETY: the machine has the level and its extensions; the caller vouches for the matrices. Tasks write
                // different elements.
                unsafe {
                    if len < bytes || packs_nothing {
                        loops::run_in_place(r, p);
                    } else {
                        loops::run(r, &blocks, p, block);
                    }
                }
            });
        });
    })
}

/// Splits `count` products into tasks, by product or by cells of C that begin at multiples of `grain`; calls `run` with the
/// number of a task and each of its products or cells.
#[cfg_attr(not(precompiled), inline)]
fn in_tasks(
    exec: &Exec<'_>,
    p: &MixedGemm,
    (count, grain): (usize, (usize, usize)),
    run: &(dyn Fn(usize, &MixedGemm) + Sync),
) {
    let each = p.m.saturating_mul(p.n).saturating_mul(p.k);
    let by_product = tasks(exec, each.saturating_mul(count), count);
    if by_product > 1 {
        let share = share(count, by_product);
        return exec.run(by_product, &|task| {
            for index in task * share..count.min((task + 1) * share) {
                run(task, &p.at(index));
            }
        });
    }
    let by_cell = tasks(exec, each, usize::MAX);
    let cells = Cells::new((p.m, p.n), by_cell, grain);
    for index in 0..count {
        let product = p.at(index);
        exec.run(cells.count(), &|task| {
            if let Some((rows, columns)) = cells.get(task) {
                run(task, &product.block(rows, columns));
            }
        });
    }
}

/// Returns the operands whose routines pack the B of these; of bytes, for both types of A.
#[cfg_attr(not(precompiled), inline)]
fn packed_as(operands: Operands, level: Level, extensions: Extensions) -> Operands {
    match operands {
        // Where only one of them needs the sums of columns, that one.
        Operands::Integers(Integers::I8I8 | Integers::U8I8) => {
            let [signed, unsigned] = [Integers::I8I8, Integers::U8I8].map(Operands::Integers);
            let header = |of| routines(of, level, extensions).b.header;
            if header(unsigned) > header(signed) {
                unsigned
            } else {
                signed
            }
        }
        _ => operands,
    }
}

/// Returns the routines that pack a B for products with these operands.
#[cfg_attr(not(precompiled), inline)]
pub fn packing_routines(
    operands: Operands,
    level: Level,
    extensions: Extensions,
) -> &'static Routines {
    let operands = packed_as(operands, level, extensions);
    routines(operands, level, extensions)
}

/// Returns the bytes of scratch memory of a thread for a product with a packed B.
#[cfg_attr(not(precompiled), inline)]
fn packed_blocks(r: &Routines, size: (usize, usize, usize)) -> (Blocks, usize) {
    let blocks = Blocks::new(&Geometry::current(), r, size).without_b();
    (blocks, blocks.scratch_bytes())
}

/// [`batch`] with one packed B, to whose micro-panels `p.b` points. With less scratch memory than it asks for it is slow.
///
/// # Errors
/// `LevelUnavailable`; `WorkspaceTooSmall` never where B is read.
///
/// # Safety
/// As [`batch`]; B must have been packed by the [`packing_routines`].
#[cfg_attr(not(precompiled), inline)]
pub unsafe fn packed_batch(
    exec: &Exec<'_>,
    types: ProductTypes,
    mut p: MixedGemm,
    count: usize,
) -> Result<()> {
    if p.k == 0 || p.m == 0 || p.n == 0 || count == 0 {
        // SAFETY: as the caller's; B is not read.
        return unsafe { batch(exec, types, p, count) };
    }
    let (level, extensions) = (exec.level()?, exec.extensions());
    let r = routines(types.operands, level, extensions);
    let packed_by = packing_routines(types.operands, level, extensions);
    p.finish.write = write(types, level);
    p.packed_b = Some(PackedB {
        panels: packed_by.b,
        is_for_other: packed_by.b.header > 0
            && packed_as(types.operands, level, extensions) != types.operands,
    });
    let (blocks, bytes) = packed_blocks(r, (p.m, p.n, p.k));
    let grain = (MicroTiles.get().0, packed_by.b.most);
    exec.with_optional_scratch(exec.threads(), bytes, |scratch| {
        in_tasks(exec, &p, (count, grain), &|task, p| {
            scratch.with_optional_block(task, |block, len| {
                let block = block.wrapping_add(block.align_offset(LINE));
                // SAFETY: as in `batch`.
                unsafe {
                    if len < bytes {
                        packed::run_packed_on_stack(r, p);
                    } else {
                        loops::run(r, &blocks, p, block);
                    }
                }
            });
        });
    });
    Ok(())
}
