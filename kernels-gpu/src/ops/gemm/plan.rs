//! Chooses the thread-block tile of a product, and whether it is split-K. No choice changes a bit of a result.
//!
//! The plan with the least estimate in clock cycles is taken. The constants of the estimates are those of an H100 and
//! an H200, which have the same multiprocessors, by the times of each kernel on seven shapes (`benches/gpu/tiles.py`).
#![forbid(unsafe_code)]

use core::cell::Cell;
use diptych::Dtype;
use diptych::backend::order::KSEG;
use diptych_device::launch::{Device, entry};
use diptych_device::ops::gemm::{
    tile_16x16, tile_32x32, tile_64x64, tile_128x16, tile_128x64, tile_128x128,
};
use diptych_device::real::Real;
use diptych_device::table::Entry;

/// Rows and columns of a thread-block tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    S128x128,
    S128x64,
    S64x64,
    S128x16,
    S32x32,
    S16x16,
}

/// The kernels of a tile size.
struct Kernel {
    size: Size,
    tile: (u32, u32),
    /// Their occupancy for each type; `None` if there is no kernel for it.
    occupancy: [Option<Occupancy>; Dtype::COUNT],
    /// Segments that a thread reads at once when it adds the segments of a tile; 0: there is no split-K kernel.
    folds: usize,
}

/// The occupancy and throughput of a multiprocessor that runs a kernel.
#[derive(Clone, Copy)]
struct Occupancy {
    /// Resident blocks.
    blocks: usize,
    /// fma per clock cycle with many blocks; the peak is 128 in f32 and 64 in f64. Small tiles are bound by accesses to
    /// shared memory.
    fma: f64,
    /// Clock cycles of a step of k that a single block spends waiting: for its slices, and at barriers.
    step: f64,
}

/// Makes the array over types from the resident blocks, the fma per clock cycle and the cycles of a step of each type.
macro_rules! occupancy {
    ($($Dtype:ident: $blocks:literal, $fma:literal, $step:literal);*) => {{
        let mut all = [None; Dtype::COUNT];
        $(all[Dtype::$Dtype as usize] = Some(Occupancy { blocks: $blocks, fma: $fma, step: $step });)*
        all
    }};
}

const KERNELS: [Kernel; 6] = [
    Kernel {
        size: Size::S128x128,
        tile: tile_128x128::TILE,
        // There is no f64 kernel, because no shape would choose it.
        occupancy: occupancy!(F32: 2, 98.0, 135.0),
        folds: 0,
    },
    Kernel {
        size: Size::S128x64,
        tile: tile_128x64::TILE,
        occupancy: occupancy!(F32: 3, 85.0, 122.0; F64: 2, 38.0, 194.0),
        folds: 0,
    },
    Kernel {
        size: Size::S64x64,
        tile: tile_64x64::TILE,
        occupancy: occupancy!(F32: 4, 67.5, 95.0; F64: 3, 40.3, 96.0),
        folds: 2,
    },
    Kernel {
        size: Size::S128x16,
        tile: tile_128x16::TILE,
        occupancy: occupancy!(F32: 8, 42.7, 140.0; F64: 4, 27.5, 205.0),
        folds: 2,
    },
    Kernel {
        size: Size::S32x32,
        tile: tile_32x32::TILE,
        occupancy: occupancy!(F32: 10, 54.0, 82.0; F64: 6, 38.0, 105.0),
        folds: 2,
    },
    Kernel {
        size: Size::S16x16,
        tile: tile_16x16::TILE,
        occupancy: occupancy!(F32: 8, 26.6, 55.0; F64: 8, 17.5, 60.0),
        folds: 2,
    },
];

impl Kernel {
    fn occupancy<T: Real>(&self) -> Option<Occupancy> {
        self.occupancy[T::TYPE as usize]
    }
}

impl Size {
    fn kernel(self) -> &'static Kernel {
        &KERNELS[self as usize]
    }

    /// Returns the elements of a tile.
    pub fn elements(self) -> usize {
        let (rows, columns) = self.kernel().tile;
        rows as usize * columns as usize
    }

    /// Returns the kernel without split-K, whose blocks go through all of k.
    pub fn unsplit(self) -> &'static Entry {
        match self {
            Size::S128x128 => &entry::gemm_128x128,
            Size::S128x64 => &entry::gemm_128x64,
            Size::S64x64 => &entry::gemm_64x64,
            Size::S128x16 => &entry::gemm_128x16,
            Size::S32x32 => &entry::gemm_32x32,
            Size::S16x16 => &entry::gemm_16x16,
        }
    }

    /// Returns the bytes of shared memory of a block.
    pub fn shared<T: Real>(self) -> u32 {
        match self {
            Size::S128x128 => tile_128x128::shared::<T>(),
            Size::S128x64 => tile_128x64::shared::<T>(),
            Size::S64x64 => tile_64x64::shared::<T>(),
            Size::S128x16 => tile_128x16::shared::<T>(),
            Size::S32x32 => tile_32x32::shared::<T>(),
            Size::S16x16 => tile_16x16::shared::<T>(),
        }
    }
}

/// How the products of a batch run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    pub size: Size,
    /// Tiles of one product.
    pub tiles: usize,
    /// Blocks that share the k of a tile; 1: no split-K.
    pub splits: usize,
    /// Segments of k per launch, if `splits` is not 1.
    pub segments: usize,
}

/// The most bytes of scratch memory that a product asks for.
pub const SCRATCH: usize = 4 << 20;

/// Everything that a plan depends on: the key of the cache of plans.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Key {
    /// Bytes of an element.
    bytes: usize,
    multiprocessors: u32,
    /// The number of the kernel that the device demands, if it does.
    only: Option<usize>,
    /// m, n, k.
    shape: (usize, usize, usize),
    batch: usize,
}

/// Plans that a thread caches: more than the products of a training step of a small network.
const CACHED: usize = 16;

std::thread_local! {
    /// The thread's cache of plans, indexed by a hash of the key. (It has no destructor, so nothing is registered with
    /// the loader.)
    static PLANS: [Cell<Option<(Key, Plan)>>; CACHED] = const { [const { Cell::new(None) }; CACHED] };
}

impl Plan {
    /// Returns the plan with the least estimate.
    pub fn new<T: Real, D: Device>(device: &D, shape: (usize, usize, usize), batch: usize) -> Self {
        Self::cached::<T>(Key {
            bytes: size_of::<T>(),
            multiprocessors: device.multiprocessors(),
            only: device.product_kernel().map(|kernel| kernel.number),
            shape,
            batch,
        })
    }

    /// Returns the cached plan, or searches for it: a search takes as long as the rest of a call.
    fn cached<T: Real>(key: Key) -> Self {
        // 2^64 / the golden ratio: the upper bits of a product with it depend on all bits of the other factor.
        const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
        let (m, n, k) = key.shape;
        let hash = [n, k, key.batch, key.bytes]
            .iter()
            .fold(m, |hash, part| hash.wrapping_mul(31).wrapping_add(*part));
        let index = (hash as u64).wrapping_mul(GOLDEN) >> (64 - CACHED.ilog2());
        PLANS.with(|plans| match plans[index as usize].get() {
            Some((cached, plan)) if cached == key => plan,
            _ => {
                let plan = Self::search::<T>(key);
                plans[index as usize].set(Some((key, plan)));
                plan
            }
        })
    }

    /// Returns the plan with the least estimate of all kernels that the device allows.
    fn search<T: Real>(key: Key) -> Self {
        let Key {
            multiprocessors,
            only,
            shape,
            batch,
            ..
        } = key;
        let cycles = |plan: &Self| plan.cycles::<T>(multiprocessors, shape.2, batch);
        let best = Self::all::<T>(multiprocessors, shape, batch)
            .filter(|plan| only.is_none_or(|number| plan.entry().number == number))
            .map(|plan| (cycles(&plan), plan))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        // No plan is left if the kernel that the device demands does not fit; this kernel can run every shape.
        best.map_or_else(|| Self::unsplit(&KERNELS[2], shape), |(_, plan)| plan)
    }

    /// Iterates over the plans of all kernels of the type: one without split-K for each, and one with it if possible.
    fn all<T: Real>(
        multiprocessors: u32,
        shape: (usize, usize, usize),
        batch: usize,
    ) -> impl Iterator<Item = Self> {
        let exists = |kernel: &&Kernel| kernel.occupancy::<T>().is_some();
        KERNELS.iter().filter(exists).flat_map(move |kernel| {
            let split = Self::split::<T>(kernel, multiprocessors, shape, batch);
            [Some(Self::unsplit(kernel, shape)), split]
                .into_iter()
                .flatten()
        })
    }

    /// Returns the kernel of this plan.
    fn entry(&self) -> &'static Entry {
        match self.size {
            size if self.splits == 1 => size.unsplit(),
            size @ (Size::S128x128 | Size::S128x64) => size.unsplit(),
            Size::S64x64 => &entry::gemm_split_64x64,
            Size::S128x16 => &entry::gemm_split_128x16,
            Size::S32x32 => &entry::gemm_split_32x32,
            Size::S16x16 => &entry::gemm_split_16x16,
        }
    }

    /// Returns the plan without split-K.
    fn unsplit(kernel: &Kernel, shape: (usize, usize, usize)) -> Self {
        Self {
            size: kernel.size,
            tiles: tiles(kernel.tile, shape),
            splits: 1,
            segments: 1,
        }
    }

    /// Returns the plan with split-K; `None` if that is impossible or pointless.
    fn split<T: Real>(
        kernel: &Kernel,
        multiprocessors: u32,
        shape: (usize, usize, usize),
        batch: usize,
    ) -> Option<Self> {
        let plan = Self::unsplit(kernel, shape);
        let tiles = plan.tiles.checked_mul(batch)?;
        let resident = multiprocessors as usize * kernel.occupancy::<T>()?.blocks;
        let k_segments = shape.2.div_ceil(KSEG);
        // Returns early, because the divisions below would take most of the time of a search.
        if kernel.folds == 0 || k_segments < 2 || resident < tiles.saturating_mul(2) {
            return None;
        }
        let segment_bytes = tiles.checked_mul(plan.size.elements() * size_of::<T>())?;
        let segments = (SCRATCH / segment_bytes).min(k_segments);
        let splits = (resident / tiles).min(segments);
        (splits > 1).then_some(Self {
            splits,
            segments,
            ..plan
        })
    }

    /// Estimates the clock cycles of this plan.
    fn cycles<T: Real>(&self, multiprocessors: u32, k: usize, batch: usize) -> f64 {
        /// Cycles of a block before its first fma and after its last one.
        const BLOCK: f64 = 1500.0;
        /// The latency of a read of scratch memory, between two reads of which the second waits for the first.
        const FOLD: f64 = 800.0;
        let kernel = self.size.kernel();
        let Some(occupancy) = kernel.occupancy::<T>() else {
            return f64::INFINITY;
        };
        let segments = k.div_ceil(KSEG);
        let launches = segments.div_ceil(if self.splits > 1 {
            self.segments
        } else {
            segments
        });
        let steps = if self.splits > 1 {
            (self.segments.div_ceil(self.splits) * KSEG).min(k)
        } else {
            k
        };
        let blocks = self.tiles.saturating_mul(batch).saturating_mul(self.splits);
        let blocks_per_sm = blocks.div_ceil(multiprocessors as usize);
        let waves = blocks_per_sm.div_ceil(occupancy.blocks) as f64;
        let fma = blocks_per_sm as f64 * self.size.elements() as f64 / occupancy.fma;
        // Waiting and arithmetic overlap, but not wholly.
        let mut cycles = waves * BLOCK + steps as f64 * fma.hypot(waves * occupancy.step);
        if self.splits > 1 {
            cycles += BLOCK + FOLD * self.segments.div_ceil(kernel.folds) as f64;
        }
        cycles * launches as f64
    }
}

/// Returns the tiles of a product.
fn tiles((rows, columns): (u32, u32), (m, n, _): (usize, usize, usize)) -> usize {
    m.div_ceil(rows as usize)
        .saturating_mul(n.div_ceil(columns as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::resources::resident_blocks;

    /// More shapes than the cache holds, each several times, as f32 and as f64.
    #[test]
    fn a_cached_plan_is_that_of_a_search() {
        let sides = [2, 10, 64, 100, 1000, 1 << 31];
        for _ in 0..2 {
            for m in sides {
                for n in sides {
                    for (k, batch) in [(1, 1), (4096, 1), (257, 3), (1 << 20, 1)] {
                        let key = |bytes, multiprocessors| Key {
                            bytes,
                            multiprocessors,
                            only: None,
                            shape: (m, n, k),
                            batch,
                        };
                        for _ in 0..2 {
                            for key in [key(4, 132), key(4, 8)] {
                                let plan = Plan::cached::<f32>(key);
                                assert_eq!(plan, Plan::search::<f32>(key));
                            }
                            let key = key(8, 132);
                            let plan = Plan::cached::<f64>(key);
                            assert_eq!(plan, Plan::search::<f64>(key));
                        }
                    }
                }
            }
        }
    }

    /// The resident blocks in `KERNELS` follow from the registers that ptxas reports.
    #[test]
    fn occupancy_follows_from_the_registers() {
        for kernel in &KERNELS {
            let name = format!("{:?}", kernel.size).replace('S', "gemm_");
            for (occupancy, of) in kernel.occupancy.into_iter().zip(["f32", "f64"]) {
                let blocks = occupancy.map(|occupancy| occupancy.blocks);
                assert_eq!(
                    blocks,
                    resident_blocks(&format!("{name}_{of}")),
                    "{name}_{of}"
                );
            }
        }
    }

    /// More shared memory would take an attribute of the function.
    #[test]
    fn shared_memory_takes_no_attribute() {
        for kernel in &KERNELS {
            assert!(kernel.size.shared::<f64>() <= 48 << 10);
        }
    }
}
