//! Which tiles a product is cut into, and whether its k is split. No choice here changes a bit of a result.
//!
//! The choice is the least of a few estimates in clock cycles. Their constants come from the resources of the
//! kernels and from what is published of the machines (H100 and H200); none has been measured yet.
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

/// Rows and columns of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    S128x128,
    S128x64,
    S64x64,
    S128x16,
    S32x32,
    S16x16,
}

/// What is known of the kernels for a size of tiles.
struct Kernel {
    size: Size,
    tile: (u32, u32),
    /// How a multiprocessor runs them, for each type that has them.
    occupancy: [Option<Occupancy>; Dtype::COUNT],
    /// Segments of a tile that a thread reads at once in the fold; 0: k is never split.
    folds: usize,
}

/// How a multiprocessor runs the blocks of a kernel.
#[derive(Clone, Copy)]
struct Occupancy {
    /// Blocks that it holds at once.
    blocks: usize,
    /// fma in a clock cycle while it holds them, of 128 in f32 and 64 in f64: bound by the accesses to shared
    /// memory where these are not hidden.
    fma: f64,
}

/// For each type, the blocks that a multiprocessor holds and its fma in a clock cycle.
macro_rules! occupancy {
    ($($Dtype:ident: $blocks:literal, $fma:literal);*) => {{
        let mut all = [None; Dtype::COUNT];
        $(all[Dtype::$Dtype as usize] = Some(Occupancy { blocks: $blocks, fma: $fma });)*
        all
    }};
}

const KERNELS: [Kernel; 6] = [
    Kernel {
        size: Size::S128x128,
        tile: tile_128x128::TILE,
        // Not there for f64: it would be chosen for no shape.
        occupancy: occupancy!(F32: 1, 112.0),
        folds: 0,
    },
    Kernel {
        size: Size::S128x64,
        tile: tile_128x64::TILE,
        occupancy: occupancy!(F32: 3, 108.0; F64: 2, 58.0),
        folds: 0,
    },
    Kernel {
        size: Size::S64x64,
        tile: tile_64x64::TILE,
        occupancy: occupancy!(F32: 4, 100.0; F64: 3, 50.0),
        folds: 2,
    },
    Kernel {
        size: Size::S128x16,
        tile: tile_128x16::TILE,
        occupancy: occupancy!(F32: 7, 90.0; F64: 4, 45.0),
        folds: 2,
    },
    Kernel {
        size: Size::S32x32,
        tile: tile_32x32::TILE,
        occupancy: occupancy!(F32: 10, 64.0; F64: 6, 40.0),
        folds: 2,
    },
    Kernel {
        size: Size::S16x16,
        tile: tile_16x16::TILE,
        occupancy: occupancy!(F32: 9, 32.0; F64: 8, 16.0),
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

    /// Elements of a tile.
    pub fn elements(self) -> usize {
        let (rows, columns) = self.kernel().tile;
        rows as usize * columns as usize
    }

    /// The kernel whose blocks go through all of k.
    pub fn whole(self) -> &'static Entry {
        match self {
            Size::S128x128 => &entry::gemm_128x128,
            Size::S128x64 => &entry::gemm_128x64,
            Size::S64x64 => &entry::gemm_64x64,
            Size::S128x16 => &entry::gemm_128x16,
            Size::S32x32 => &entry::gemm_32x32,
            Size::S16x16 => &entry::gemm_16x16,
        }
    }

    /// Bytes of shared memory of a block.
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

/// How products run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    pub size: Size,
    /// Tiles of one product.
    pub tiles: usize,
    /// Blocks of a tile.
    pub splits: usize,
    /// Segments of a launch, where `splits` is not 1.
    pub segments: usize,
}

/// The most bytes of scratch memory that a product asks for.
pub const SCRATCH: usize = 4 << 20;

/// What a plan depends on.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Wanted {
    /// Bytes of an element.
    bytes: usize,
    multiprocessors: u32,
    /// The number of the only kernel that may be taken.
    only: Option<usize>,
    shape: (usize, usize, usize),
    batch: usize,
}

/// How many plans a thread remembers: more than a step of training a small network has products.
const REMEMBERED: usize = 16;

std::thread_local! {
    /// Plans that the thread has made, each in the place that its shape gives it. (No destructor: nothing to
    /// register with the loader.)
    static PLANS: [Cell<Option<(Wanted, Plan)>>; REMEMBERED] = const { [const { Cell::new(None) }; REMEMBERED] };
}

impl Plan {
    /// The plan with the least estimate.
    pub fn new<T: Real, D: Device>(device: &D, shape: (usize, usize, usize), batch: usize) -> Self {
        Self::remembered::<T>(Wanted {
            bytes: size_of::<T>(),
            multiprocessors: device.multiprocessors(),
            only: device.product_kernel().map(|kernel| kernel.number),
            shape,
            batch,
        })
    }

    /// A search takes as long as the rest of a call: the plans of a thread's last shapes are remembered.
    fn remembered<T: Real>(wanted: Wanted) -> Self {
        // The upper bits of a product with it depend on all of a number.
        const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;
        let (m, n, k) = wanted.shape;
        let number = [n, k, wanted.batch, wanted.bytes]
            .iter()
            .fold(m, |number, part| {
                number.wrapping_mul(31).wrapping_add(*part)
            });
        let place = (number as u64).wrapping_mul(GOLDEN) >> (64 - REMEMBERED.ilog2());
        PLANS.with(|plans| match plans[place as usize].get() {
            Some((known, plan)) if known == wanted => plan,
            _ => {
                let plan = Self::search::<T>(wanted);
                plans[place as usize].set(Some((wanted, plan)));
                plan
            }
        })
    }

    fn search<T: Real>(wanted: Wanted) -> Self {
        let Wanted {
            multiprocessors,
            only,
            shape,
            batch,
            ..
        } = wanted;
        let cycles = |plan: &Self| plan.cycles::<T>(multiprocessors, shape.2, batch);
        let best = Self::all::<T>(multiprocessors, shape, batch)
            .filter(|plan| only.is_none_or(|number| plan.entry().number == number))
            .map(|plan| (cycles(&plan), plan))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        // Without splits every kernel has a plan.
        best.map_or_else(|| Self::whole(&KERNELS[2], shape), |(_, plan)| plan)
    }

    /// A plan for each kernel of the type, and for each that can split the product.
    fn all<T: Real>(
        multiprocessors: u32,
        shape: (usize, usize, usize),
        batch: usize,
    ) -> impl Iterator<Item = Self> {
        let there = |kernel: &&Kernel| kernel.occupancy::<T>().is_some();
        KERNELS.iter().filter(there).flat_map(move |kernel| {
            let split = Self::split::<T>(kernel, multiprocessors, shape, batch);
            [Some(Self::whole(kernel, shape)), split]
                .into_iter()
                .flatten()
        })
    }

    /// Its kernel.
    fn entry(&self) -> &'static Entry {
        match self.size {
            size if self.splits == 1 => size.whole(),
            size @ (Size::S128x128 | Size::S128x64) => size.whole(),
            Size::S64x64 => &entry::gemm_split_64x64,
            Size::S128x16 => &entry::gemm_split_128x16,
            Size::S32x32 => &entry::gemm_split_32x32,
            Size::S16x16 => &entry::gemm_split_16x16,
        }
    }

    /// The plan for a kernel whose blocks go through all of k.
    fn whole(kernel: &Kernel, shape: (usize, usize, usize)) -> Self {
        Self {
            size: kernel.size,
            tiles: tiles(kernel.tile, shape),
            splits: 1,
            segments: 1,
        }
    }

    /// The plan for a kernel that splits k; `None` if it cannot, or has no reason to.
    fn split<T: Real>(
        kernel: &Kernel,
        multiprocessors: u32,
        shape: (usize, usize, usize),
        batch: usize,
    ) -> Option<Self> {
        let plan = Self::whole(kernel, shape);
        let all = plan.tiles.checked_mul(batch)?;
        let room = multiprocessors as usize * kernel.occupancy::<T>()?.blocks;
        let in_k = shape.2.div_ceil(KSEG);
        // The divisions below would take most of the time of a search.
        if kernel.folds == 0 || in_k < 2 || room < all.saturating_mul(2) {
            return None;
        }
        let segment = all.checked_mul(plan.size.elements() * size_of::<T>())?;
        let segments = (SCRATCH / segment).min(in_k);
        let splits = (room / all).min(segments);
        (splits > 1).then_some(Self {
            splits,
            segments,
            ..plan
        })
    }

    /// An estimate of the clock cycles that it takes.
    fn cycles<T: Real>(&self, multiprocessors: u32, k: usize, batch: usize) -> f64 {
        /// From the start of a block to its first fma, and from its last to its end.
        const BLOCK: f64 = 1500.0;
        /// The least for a step of k: barriers and latencies that other blocks do not hide.
        const STEP: f64 = 30.0;
        /// From one read of scratch memory to the next that needs it.
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
        let each = blocks.div_ceil(multiprocessors as usize);
        let turns = each.div_ceil(occupancy.blocks) as f64;
        let fma = each as f64 * self.size.elements() as f64 / occupancy.fma;
        let mut cycles = turns * BLOCK + steps as f64 * fma.max(turns * STEP);
        if self.splits > 1 {
            cycles += BLOCK + FOLD * self.segments.div_ceil(kernel.folds) as f64;
        }
        cycles * launches as f64
    }
}

/// Tiles of a product.
fn tiles((rows, columns): (u32, u32), (m, n, _): (usize, usize, usize)) -> usize {
    m.div_ceil(rows as usize)
        .saturating_mul(n.div_ceil(columns as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use diptych_device::launch::entry::ALL;

    /// More shapes than are remembered, each several times, as f32 and as f64.
    #[test]
    fn a_plan_that_is_remembered_is_that_of_a_search() {
        let sides = [2, 10, 64, 100, 1000, 1 << 31];
        for _ in 0..2 {
            for m in sides {
                for n in sides {
                    for (k, batch) in [(1, 1), (4096, 1), (257, 3), (1 << 20, 1)] {
                        let wanted = |bytes, multiprocessors| Wanted {
                            bytes,
                            multiprocessors,
                            only: None,
                            shape: (m, n, k),
                            batch,
                        };
                        for _ in 0..2 {
                            for wanted in [wanted(4, 132), wanted(4, 8)] {
                                let plan = Plan::remembered::<f32>(wanted);
                                assert_eq!(plan, Plan::search::<f32>(wanted));
                            }
                            let wanted = wanted(8, 132);
                            let plan = Plan::remembered::<f64>(wanted);
                            assert_eq!(plan, Plan::search::<f64>(wanted));
                        }
                    }
                }
            }
        }
    }

    /// Registers of a multiprocessor. A warp takes 256 at a time.
    const REGISTERS: u32 = 65536;

    /// The estimates know what the assembler says of the kernels.
    #[test]
    fn residents_are_those_of_the_registers() {
        let table = include_str!("../../../ptx/RESOURCES.md");
        let lines = table.lines().map(|line| line.split('|').map(str::trim));
        let rows: Vec<Vec<&str>> = lines.map(Iterator::collect).collect();
        let head = rows.iter().find(|row| row.contains(&"sm_90")).unwrap();
        let column = head.iter().position(|cell| *cell == "sm_90").unwrap();
        for kernel in &KERNELS {
            let name = format!("{:?}", kernel.size).replace('S', "gemm_");
            for (occupancy, of) in kernel.occupancy.into_iter().zip(["f32", "f64"]) {
                let entry = format!("{name}_{of}");
                let named = |e: &&&Entry| e.names().any(|name| name == entry);
                let Some(Entry { threads, .. }) = ALL.iter().find(named) else {
                    assert!(occupancy.is_none(), "{entry}");
                    continue;
                };
                let row = rows.iter().find(|row| row.contains(&entry.as_str()));
                let registers: u32 = row.unwrap()[column].parse().unwrap();
                let block = registers.next_multiple_of(8) * threads;
                assert_eq!(
                    occupancy.expect("a kernel of the type").blocks as u32,
                    REGISTERS / block,
                    "{entry}: {registers} registers"
                );
            }
        }
    }
}
