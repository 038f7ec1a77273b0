//! The launches of a batch of products.

use super::plan::{Plan, Size};
use super::products::Products;
use diptych::Error;
use diptych::backend::order::KSEG;
use diptych_device::launch::{self, Device, Grid, Scratch};
use diptych_device::real::Real;

impl<T: Real> Products<T> {
    /// C = beta C.
    pub(super) unsafe fn scale<D: Device>(&self, device: &D) -> Result<(), D::Error> {
        /// Blocks for each multiprocessor.
        const BLOCKS: usize = 16;
        const THREADS: usize = 256;
        let (p, (y, z)) = (&self.p, self.items()?);
        let (bias, bias_rs, bias_cs) = self.bias();
        let (epilogue, (lo, hi)) = self.epilogue();
        let packs = self.c_packs();
        let width = if packs == 0 { 1 } else { T::WIDTH as usize };
        let across = p.n.div_ceil(THREADS * width);
        let enough = device.multiprocessors() as usize * BLOCKS;
        let down = enough.div_ceil(across.saturating_mul(self.count)).min(p.m);
        let grid = Grid {
            blocks: (blocks(across.checked_mul(down))?, y, z),
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
                p.c,
                p.c_rs as i64,
                p.c_cs as i64,
                self.strides[2] as i64,
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

    /// How to run on a device.
    pub(super) fn plan<D: Device>(&self, device: &D) -> Plan {
        Plan::new::<T, D>(device, (self.p.m, self.p.n, self.p.k), self.count)
    }

    /// C = alpha A B + beta C, in one launch; in several where k is split and scratch memory holds not all
    /// of its segments.
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
                // Without scratch memory the bits are the same, and only the time is not.
                if let Ok(scratch) = device.scratch(bytes, tiles) {
                    return self.split(device, plan, scratch);
                }
            }
            self.launch(device, plan, None)
        }
    }

    /// The launches of a product whose k is split: each takes the next segments.
    unsafe fn split<D: Device>(
        &self,
        device: &D,
        plan: &Plan,
        scratch: Scratch,
    ) -> Result<(), D::Error> {
        let mut rest = *self;
        let each = plan.segments * KSEG;
        if (rest.p.k - 1) % each < KSEG {
            // One segment is left for the last launch.
            device.prepare(plan.size.whole(), T::TYPE)?;
        }
        loop {
            let mut part = rest;
            if rest.p.k > each {
                part.p.k = each;
                part.p.epilogue = diptych::backend::gemm::Epilogue::NONE;
            }
            let segments = part.p.k.div_ceil(KSEG);
            let now = Plan {
                splits: plan.splits.min(segments),
                ..*plan
            };
            let scratch = (now.splits > 1).then_some(scratch);
            // SAFETY: as the caller's.
            unsafe { part.launch(device, &now, scratch)? };
            if rest.p.k <= each {
                return Ok(());
            }
            // A later segment adds to what the ones before have made of C.
            rest.p.k -= each;
            rest.p.beta = T::ONE;
            rest.p.a = rest.p.a.wrapping_offset(each as isize * rest.p.a_cs);
            rest.p.b = rest.p.b.wrapping_offset(each as isize * rest.p.b_rs);
        }
    }

    /// One launch.
    unsafe fn launch<D: Device>(
        &self,
        device: &D,
        plan: &Plan,
        scratch: Option<Scratch>,
    ) -> Result<(), D::Error> {
        let (p, (y, z)) = (&self.p, self.items()?);
        let (bias, bias_rs, bias_cs) = self.bias();
        let (lo, hi) = self.epilogue().1;
        let [a_bs, b_bs, c_bs] = self.strides.map(|stride| stride as i64);
        let splits = if scratch.is_some() { plan.splits } else { 1 };
        let grid = Grid {
            blocks: (blocks(plan.tiles.checked_mul(splits))?, y, z),
            shared: plan.size.shared::<T>(),
        };
        macro_rules! launch {
            ($kernel:ident $(, $more:expr)*) => {
                launch::$kernel(
                    device, grid, p.m as u64, p.n as u64, p.k as u64, p.alpha,
                    p.a, p.a_rs as i64, p.a_cs as i64, a_bs, p.b, p.b_rs as i64, p.b_cs as i64, b_bs,
                    p.beta, p.c, p.c_rs as i64, p.c_cs as i64, c_bs, bias, bias_rs, bias_cs, lo, hi,
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

/// Blocks along x of a grid.
fn blocks(number: Option<usize>) -> Result<u32, Error> {
    let number = number.and_then(|number| i32::try_from(number).ok());
    Ok(number.ok_or(Error::SizeOverflow { arg: "m * n" })? as u32)
}
