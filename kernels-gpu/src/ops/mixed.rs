//! Products of 16-bit floats and of integers.

mod arguments;
mod plan;

use super::gemm::{MAX_BLOCKS_YZ, SCRATCH, blocks};
use diptych::Error;
use diptych::backend::mixed::{MixedGemm, Operands, ProductTypes};
use diptych_device::gpu::parameters::Product;
use diptych_device::launch::{self, Device, Grid};
use diptych_device::ops::mixed::flags;
use plan::{Kernel, Segments};

/// Runs a batch of checked products, the first of which is `p`; none is empty.
///
/// # Errors
/// `SizeOverflow`; errors of the device.
///
/// # Safety
/// The matrices and the numbers must be valid on the device until the launch has run, and C must not overlap the others.
pub(crate) unsafe fn batch<D: Device>(
    device: &D,
    types: ProductTypes,
    p: &MixedGemm,
    count: usize,
) -> Result<(), D::Error> {
    let kernel = Kernel::of(device, types.operands, p, count);
    let tiles = kernel.tiles(p);
    let all_tiles = tiles.saturating_mul(count);
    let is_half = matches!(types.operands, Operands::Half(_));
    let blocks_wanted = device.multiprocessors() as usize * Kernel::RESIDENT / all_tiles;
    let mut segments = Segments::new(kernel, is_half, p.k, blocks_wanted);
    let mut product = arguments::of(types, p, count);
    if segments.splits > 1 {
        let sums = kernel.data().tile.pow(2) * types.operands.sum_bytes();
        let bytes = segments.count.saturating_mul(sums * all_tiles);
        // Without scratch memory no tile is shared: slower, with the same bits.
        match (bytes <= SCRATCH).then(|| device.scratch(bytes, all_tiles)) {
            Some(Ok(scratch)) => {
                (product.scratch, product.counters) = (scratch.bytes, scratch.counters);
            }
            _ => segments = Segments::new(kernel, is_half, p.k, 1),
        }
    }
    let is_beside = segments.splits == 1 && segments.count > 1;
    if is_beside {
        product.flags |= flags::SEVERAL_SEGMENTS;
    }
    product.run = segments.run as u64;
    product.splits = segments.splits as u32;
    product.segments = segments.count as u32;
    let z = count.min(MAX_BLOCKS_YZ);
    let y = count.div_ceil(z);
    if y > MAX_BLOCKS_YZ {
        return Err(Error::SizeOverflow { arg: "batch" }.into());
    }
    let x = blocks(tiles.checked_mul(segments.splits))?;
    let grid = Grid {
        blocks: (x, y as u32, z as u32),
        shared: (kernel.data().shared)(is_beside),
    };
    // SAFETY: as the caller's.
    unsafe { start(device, kernel, grid, product) }
}

/// Launches a kernel.
///
/// # Safety
/// As [`batch`].
unsafe fn start<D: Device>(
    device: &D,
    kernel: Kernel,
    grid: Grid,
    product: Product,
) -> Result<(), D::Error> {
    macro_rules! launch {
        ($name:ident) => {
            launch::$name::<f32, D>(device, grid, product)
        };
    }
    // SAFETY: as the caller's.
    unsafe {
        match kernel {
            Kernel::LargeHalf => launch!(mixed_half_64x64),
            Kernel::SmallHalf => launch!(mixed_half_16x16),
            Kernel::LargeByte => launch!(mixed_byte_64x64),
            Kernel::SmallByte => launch!(mixed_byte_16x16),
            Kernel::I32 => launch!(mixed_i32),
            Kernel::I64 => launch!(mixed_i64),
        }
    }
}
