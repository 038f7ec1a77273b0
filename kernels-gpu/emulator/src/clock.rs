//! Logical time: when a thread accessed memory, in terms of the barriers before.

/// Threads of a warp.
pub const WARP: u32 = 32;

/// The logical time of an access: the thread, and the barriers of its block and of its warp so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    pub thread: u32,
    pub block_barriers: u32,
    pub warp_barriers: u32,
}

impl Stamp {
    /// Returns whether an access with this stamp happens before the access `later`, which runs now in the same block.
    pub fn is_before(self, later: Stamp) -> bool {
        self.thread == later.thread
            || self.block_barriers < later.block_barriers
            || (self.is_in_warp_of(later) && self.warp_barriers < later.warp_barriers)
    }

    pub fn is_in_warp_of(self, other: Stamp) -> bool {
        self.thread / WARP == other.thread / WARP
    }
}

/// Counts the barriers of one block and of each of its warps.
#[derive(Debug, Default)]
pub struct Clock {
    block: u32,
    warps: Vec<u32>,
}

impl Clock {
    pub fn start(&mut self, threads: u32) {
        self.block = 0;
        self.warps.clear();
        self.warps.resize(threads.div_ceil(WARP) as usize, 0);
    }

    pub fn stamp(&self, thread: u32) -> Stamp {
        Stamp {
            thread,
            block_barriers: self.block,
            warp_barriers: self.warps[(thread / WARP) as usize],
        }
    }

    pub fn sync_threads(&mut self) {
        self.block += 1;
    }

    pub fn sync_warp(&mut self, warp: u32) {
        self.warps[warp as usize] += 1;
    }
}
