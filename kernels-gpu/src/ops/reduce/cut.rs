//! How a reduction is divided: rows into parts, and the parts among the thread groups of blocks. Result bits do not
//! depend on it.
#![forbid(unsafe_code)]

use crate::driver::scratch::SLOT_BYTES;
use diptych_device::launch::{Device, Grid};
use diptych_device::ops::reduce::{max_parts, shared_bytes};

/// Groups of 16 threads in a block; a group folds one chunk at a time.
const GROUPS: u64 = 16;
/// Blocks per multiprocessor: several times the two or three that fit, so that few are idle at the end.
const BLOCKS: u64 = 8;
/// Chunks per row from which a row of several passes is divided into parts. That takes a launch for each pass, which
/// costs more than it gains for shorter rows.
const CHUNKS_WORTH_A_LAUNCH: u64 = 128;

/// The most results of parts: the library's own scratch memory has room for them, with 16 bytes each.
pub const MOST_VALUES: u64 = SLOT_BYTES as u64 / 16;

/// How the rows of a reduction are divided; see `diptych_device::ops::reduce::Cut`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// Whether the row stride is less than the column stride, so that threads of a block read adjacent rows.
    pub columns: bool,
    /// log2 of the groups of a block that share a row.
    pub team: u32,
    /// log2 of the chunks that a group folds.
    pub run: u32,
    /// Parts of a row, each folded by another block (along y of the grid).
    pub parts: u32,
    /// Blocks along x of the grid.
    pub blocks: u32,
}

impl Cut {
    /// Divides `m` rows of `chunks` chunks each for a reduction of `passes` passes, which is one of `products` products
    /// of a batch (1 if it is no product). Rows of several products have one part.
    pub fn new<D: Device>(
        columns: bool,
        m: u64,
        chunks: u64,
        passes: u32,
        products: u64,
        device: &D,
    ) -> Self {
        let most_parts = if products == 1 {
            MOST_VALUES / m.max(1)
        } else {
            1
        };
        Self::divide(columns, m, chunks, passes, products, most_parts, device)
    }

    /// As [`Cut::new`], for the rows of each of `matrices` matrices, which may have several parts: at most `most_values`
    /// of all rows, if these are fewer.
    pub fn of_batch<D: Device>(
        columns: bool,
        m: u64,
        chunks: u64,
        passes: u32,
        (matrices, most_values): (u64, u64),
        device: &D,
    ) -> Self {
        let most_parts = most_values / m.saturating_mul(matrices).max(1);
        Self::divide(columns, m, chunks, passes, matrices, most_parts, device)
    }

    fn divide<D: Device>(
        columns: bool,
        m: u64,
        chunks: u64,
        passes: u32,
        matrices: u64,
        most_parts: u64,
        device: &D,
    ) -> Self {
        let wanted = (BLOCKS * device.multiprocessors() as u64)
            .div_ceil(matrices.max(1))
            .max(1);
        let chunks = chunks.max(1);
        // The fewest groups per row that still fill the device: the rows of a block then share what all of them read,
        // such as the vector of a gemv.
        let team = if columns {
            1
        } else {
            let filling = (wanted * GROUPS / m.max(1)).clamp(1, GROUPS);
            filling.next_power_of_two().min(chunks.next_power_of_two())
        };
        let blocks = m.div_ceil(GROUPS / team).max(1);
        let may_split = team == GROUPS || columns;
        let worth_splitting = passes == 1 || chunks >= CHUNKS_WORTH_A_LAUNCH;
        let mut parts = 1;
        if may_split && worth_splitting {
            let most_parts = most_parts.max(1).min(max_parts(columns) as u64);
            parts = (wanted / blocks).clamp(1, most_parts.min(chunks.div_ceil(team)));
        }
        let run = chunks.div_ceil(team * parts).next_power_of_two();
        let parts = chunks.div_ceil(team * run) as u32;
        // Blocks loop over rows when there are more rows than blocks. Rows with several parts are few, and each needs
        // blocks of its own.
        let max_blocks = if parts > 1 {
            u64::MAX
        } else {
            (4 * wanted).max(1 << 16).min(device.max_blocks() as u64)
        };
        Self {
            columns,
            team: team.ilog2(),
            run: run.ilog2(),
            parts,
            blocks: blocks.min(max_blocks) as u32,
        }
    }

    /// Returns the grid for accumulators of `value` bytes.
    pub fn grid(&self, value: u32, products: u32) -> Grid {
        Grid {
            blocks: (self.blocks, self.parts, products),
            shared: shared_bytes(self.columns, self.run, value),
        }
    }
}
