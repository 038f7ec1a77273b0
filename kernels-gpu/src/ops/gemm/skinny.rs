//! Products with few columns and a long k, with a kernel of their own.

use super::products::Products;
use diptych::backend::order::KSEG;
use diptych_device::launch::{self, Device, Grid, entry};
use diptych_device::ops::gemm::skinny::{COLUMNS, ROWS, shared};
use diptych_device::real::Real;

/// The most columns.
const MOST_COLUMNS: usize = 16;
/// The least k for blocks that take more than one turn: half of the teams of a block, which take a segment each.
const LEAST_K: usize = 16 * KSEG;
/// The least k for blocks that all run at once.
const LEAST_K_OF_ONE_TURN: usize = 4 * KSEG;

impl<T: Real> Products<T> {
    /// Returns the lanes of a team with which the kernel for few columns runs these products: 16 where that fills half
    /// of the multiprocessors, since a block then reads B for more rows. `None` if a tile is the better kernel.
    pub(super) fn skinny_lanes<D: Device>(&self, device: &D) -> Option<u32> {
        let p = &self.p;
        if let Some(only) = device.product_kernel() {
            return (only.number == entry::gemm_skinny.number).then_some(8);
        }
        let multiprocessors = device.multiprocessors() as usize;
        let blocks = |lanes| self.skinny_blocks(lanes).unwrap_or(usize::MAX);
        let least_k = if blocks(16) > multiprocessors {
            // In f64 the tiles are nearer to the speed of memory, and a second group of columns reads A again.
            let groups = p.n.div_ceil(COLUMNS);
            LEAST_K * if size_of::<T>() == 8 { groups } else { 1 }
        } else {
            LEAST_K_OF_ONE_TURN
        };
        if p.n > MOST_COLUMNS || p.k < least_k || blocks(8) < multiprocessors / 4 {
            None
        } else if blocks(16) < multiprocessors / 2 {
            Some(8)
        } else {
            Some(16)
        }
    }

    /// Returns the blocks of all products; `None` on overflow.
    fn skinny_blocks(&self, lanes: u32) -> Option<usize> {
        self.skinny_blocks_of_one(lanes)?.checked_mul(self.count)
    }

    /// Returns the blocks of one product; `None` on overflow.
    fn skinny_blocks_of_one(&self, lanes: u32) -> Option<usize> {
        let rows = ROWS * lanes as usize;
        let groups = self.p.n.div_ceil(COLUMNS);
        self.p.m.div_ceil(rows).checked_mul(groups)
    }

    /// Launches C = alpha A B + beta C with the epilogue.
    ///
    /// # Safety
    /// The arrays must be valid on the device until the launch has run.
    pub(super) unsafe fn multiply_skinny<D: Device>(
        &self,
        device: &D,
        lanes: u32,
    ) -> Result<(), D::Error> {
        let (p, (y, z)) = (&self.p, self.items()?);
        let (bias, bias_rs, bias_cs) = self.bias();
        let (lo, hi) = self.epilogue().1;
        let grid = Grid {
            blocks: (
                super::launches::blocks(self.skinny_blocks_of_one(lanes))?,
                y,
                z,
            ),
            shared: shared::<T>(lanes),
        };
        // SAFETY: as the caller's.
        unsafe {
            launch::gemm_skinny(
                device,
                grid,
                p.m as u64,
                p.n as u64,
                p.k as u64,
                p.alpha,
                p.a.ptr,
                p.a.rs as i64,
                p.a.cs as i64,
                p.a.bs as i64,
                p.b.ptr,
                p.b.rs as i64,
                p.b.cs as i64,
                p.b.bs as i64,
                p.beta,
                p.c.ptr,
                p.c.rs as i64,
                p.c.cs as i64,
                p.c.bs as i64,
                bias,
                bias_rs,
                bias_cs,
                lo,
                hi,
                self.count as u64,
                self.flags(),
                lanes,
            )
        }
    }
}
