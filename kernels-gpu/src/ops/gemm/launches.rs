//! The launches of a batch of products.

use super::plan::{Plan, Size};
use super::products::Products;
use diptych::Error;
use diptych::backend::order::KSEG;
use diptych_device::launch::{self, Device, Grid, Scratch};
use diptych_device::real::Real;

impl<T: Real> Products<T> {
    /// Launches C = beta C with the epilogue, for products with k = 0 or alpha = 0.
    ///
    /// # Safety
    /// The arrays must be valid on the device until the launch has run.
    pub(super) unsafe fn scale<D: Device>(&self, device: &D) -> Result<(), D::Error> {
        /// Blocks per multiprocessor.
        const BLOCKS: usize = 16;
        const THREADS: usize = 256;
        let (p, (y, z)) = (&self.p, self.items()?);
        let (bias, bias_rs, bias_cs) = self.bias();
        let (epilogue, (lo, hi)) = self.epilogue();
        let packs = self.c_packs();
        let width = if packs == 0 { 1 } else { T::WIDTH as usize };
        let blocks_per_row = p.n.div_ceil(THREADS * width);
        let filling = device.multiprocessors() as usize * BLOCKS;
        let down = filling
            .div_ceil(blocks_per_row.saturating_mul(self.count))
            .min(p.m);
        let grid = Grid {
            blocks: (blocks(blocks_per_row.checked_mul(down))?, y, z),
            shared: 0,
        };
        // SAFETY: as the caller's.
        unsafe {
            launch::gemm_scale(
                device,
                grid,
                p.m as u64,
                p.n as u64,
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
                epilogue | packs,
                down as u32,
            )
        }
    }

    /// Returns the plan for a device.
    pub(super) fn plan<D: Device>(&self, device: &D) -> Plan {
        Plan::new::<T, D>(device, (self.p.m, self.p.n, self.p.k), self.count)
    }

    /// Launches C = alpha A B + beta C with the epilogue: in one launch, or in several if the product is split-K and
    /// not all of its segments fit in scratch memory.
    ///
    /// # Safety
    /// The arrays must be valid on the device until the launches have run.
    pub(super) unsafe fn multiply<D: Device>(
        &self,
        device: &D,
        plan: &Plan,
    ) -> Result<(), D::Error> {
        // SAFETY: as the caller's.
        unsafe {
            if plan.splits > 1 {
                let tiles = plan.tiles * self.count;
                let bytes = tiles * plan.size.elements() * plan.segments * size_of::<T>();
                // Without scratch memory the product is not split: slower, with the same bits.
                if let Ok(scratch) = device.scratch(bytes, tiles) {
                    return self.split(device, plan, scratch);
                }
            }
            self.launch(device, plan, None)
        }
    }

    /// Launches a split-K product: each launch adds the next `plan.segments` segments of k.
    ///
    /// # Safety
    /// As for [`multiply`](Self::multiply).
    unsafe fn split<D: Device>(
        &self,
        device: &D,
        plan: &Plan,
        scratch: Scratch,
    ) -> Result<(), D::Error> {
        let mut rest = *self;
        let k_per_launch = plan.segments * KSEG;
        if (rest.p.k - 1) % k_per_launch < KSEG {
            // The last launch has a single segment, so it uses the kernel without split-K, which may not be loaded yet.
            device.prepare(plan.size.unsplit(), T::TYPE)?;
        }
        loop {
            let mut part = rest;
            if rest.p.k > k_per_launch {
                part.p.k = k_per_launch;
                part.p.epilogue = diptych::backend::gemm::Epilogue::NONE;
            }
            let segments = part.p.k.div_ceil(KSEG);
            let part_plan = Plan {
                splits: plan.splits.min(segments),
                ..*plan
            };
            let scratch = (part_plan.splits > 1).then_some(scratch);
            // SAFETY: as the caller's.
            unsafe { part.launch(device, &part_plan, scratch)? };
            if rest.p.k <= k_per_launch {
                return Ok(());
            }
            // The remaining segments are added to C, which beta has already scaled.
            rest.p.k -= k_per_launch;
            rest.p.beta = T::ONE;
            rest.p.a = rest.p.a.offset(0, k_per_launch);
            rest.p.b = rest.p.b.offset(k_per_launch, 0);
        }
    }

    /// Does one launch, split-K if there is scratch memory.
    ///
    /// # Safety
    /// As for [`multiply`](Self::multiply); the scratch memory must be as large as the plan needs.
    unsafe fn launch<D: Device>(
        &self,
        device: &D,
        plan: &Plan,
        scratch: Option<Scratch>,
    ) -> Result<(), D::Error> {
        let (p, (y, z)) = (&self.p, self.items()?);
        let (bias, bias_rs, bias_cs) = self.bias();
        let (lo, hi) = self.epilogue().1;
        let splits = if scratch.is_some() { plan.splits } else { 1 };
        let grid = Grid {
            blocks: (blocks(plan.tiles.checked_mul(splits))?, y, z),
            shared: plan.size.shared::<T>(),
        };
        macro_rules! launch {
            ($kernel:ident $(, $more:expr)*) => {
                launch::$kernel(
                    device, grid, p.m as u64, p.n as u64, p.k as u64, p.alpha,
                    p.a.ptr, p.a.rs as i64, p.a.cs as i64, p.a.bs as i64,
                    p.b.ptr, p.b.rs as i64, p.b.cs as i64, p.b.bs as i64,
                    p.beta, p.c.ptr, p.c.rs as i64, p.c.cs as i64, p.c.bs as i64,
                    bias, bias_rs, bias_cs, lo, hi,
                    self.count as u64, self.flags() $(, $more)*
                )
            };
        }
        macro_rules! split {
            ($kernel:ident, $scratch:ident) => {
                launch!($kernel, splits as u32, $scratch.bytes, $scratch.counters)
            };
        }
        // SAFETY: the caller vouches for the arrays, the plan for the scratch memory.
        unsafe {
            match (plan.size, scratch) {
                (Size::S128x128, _) => launch!(gemm_128x128),
                (Size::S128x64, _) => launch!(gemm_128x64),
                (Size::S64x64, None) => launch!(gemm_64x64),
                (Size::S128x16, None) => launch!(gemm_128x16),
                (Size::S32x32, None) => launch!(gemm_32x32),
                (Size::S16x16, None) => launch!(gemm_16x16),
                (Size::S64x64, Some(s)) => split!(gemm_split_64x64, s),
                (Size::S128x16, Some(s)) => split!(gemm_split_128x16, s),
                (Size::S32x32, Some(s)) => split!(gemm_split_32x32, s),
                (Size::S16x16, Some(s)) => split!(gemm_split_16x16, s),
            }
        }
    }
}

/// Returns the blocks along x of a grid, or refuses more than a grid can have.
pub fn blocks(number: Option<usize>) -> Result<u32, Error> {
    let number = number.and_then(|number| i32::try_from(number).ok());
    Ok(number.ok_or(Error::SizeOverflow { arg: "m * n" })? as u32)
}
