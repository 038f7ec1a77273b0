//! How rows are cut into the work of groups, teams, parts and blocks. No bit depends on it.
#![forbid(unsafe_code)]

use diptych_device::launch::{Device, Grid};
use diptych_device::ops::reduce::{max_parts, shared_bytes};

/// Groups of 16 threads in a block; one folds a chunk.
const GROUPS: u64 = 16;
/// Blocks for each multiprocessor that keep it busy.
const BLOCKS: u64 = 8;
/// Chunks in a row below which a further launch for a further pass costs more than it brings.
const CHUNKS_WORTH_A_LAUNCH: u64 = 128;

/// A cut: see `diptych_device::ops::reduce::Cut`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Whether rows lie side by side.
    pub columns: bool,
    /// log2 of the groups that share a row in a block.
    pub team: u32,
    /// log2 of the chunks that a group walks.
    pub run: u32,
    /// Parts of a row.
    pub parts: u32,
    /// Blocks along x.
    pub blocks: u32,
}

impl Cut {
    /// For `m` rows of `chunks` chunks each that are walked `passes` times, in `products` batches.
    pub fn new<D: Device>(
        columns: bool,
        m: u64,
        chunks: u64,
        passes: u32,
        products: u64,
        device: &D,
    ) -> Self {
        let wanted = (BLOCKS * device.multiprocessors() as u64)
            .div_ceil(products.max(1))
            .max(1);
        let chunks = chunks.max(1);
        // As few groups to a row as fill the machine: rows side by side share what they read twice.
        let team = if columns {
            1
        } else {
            let filling = (wanted * GROUPS / m.max(1)).clamp(1, GROUPS);
            filling.next_power_of_two().min(chunks.next_power_of_two())
        };
        let blocks = m.div_ceil(GROUPS / team).max(1);
        let whole = team == GROUPS || columns;
        let worth = passes == 1 || chunks >= CHUNKS_WORTH_A_LAUNCH;
        let mut parts = 1;
        if whole && worth && products == 1 {
            let most = chunks.div_ceil(team).min(max_parts(columns) as u64);
            parts = (wanted / blocks).clamp(1, most);
        }
        let run = chunks.div_ceil(team * parts).next_power_of_two();
        let parts = chunks.div_ceil(team * run) as u32;
        // Further rows are further turns of the blocks; with parts there are few rows, each with its block.
        let most = if parts > 1 {
            u64::MAX
        } else {
            (4 * wanted).max(1 << 16).min(device.most_blocks() as u64)
        };
        Self {
            columns,
            team: team.ilog2(),
            run: run.ilog2(),
            parts,
            blocks: blocks.min(most) as u32,
        }
    }

    /// The grid, for values of so many bytes.
    pub fn grid(&self, value: u32, products: u32) -> Grid {
        Grid {
            blocks: (self.blocks, self.parts, products),
            shared: shared_bytes(self.columns, self.run, value),
        }
    }
}
