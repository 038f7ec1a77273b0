//! How many blocks a multiprocessor of an H200 holds at once.
#![forbid(unsafe_code)]

/// Of a multiprocessor: registers, bytes of shared memory, warps, blocks.
const REGISTERS: usize = 65536;
const SHARED: usize = 228 << 10;
const WARPS: usize = 64;
const BLOCKS: usize = 32;
/// Bytes of shared memory that every block takes for the system, and the steps in which it is given.
const SYSTEM: usize = 1 << 10;
const STEP: usize = 128;

/// What a multiprocessor holds of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Resident {
    pub blocks: usize,
    pub warps: usize,
}

impl Resident {
    /// Of a kernel with so many registers of a thread, bytes of shared memory of a block, and threads of a block.
    pub fn new(registers: usize, shared: usize, threads: usize) -> Self {
        // A warp takes multiples of 256 registers.
        let by_registers = REGISTERS / (registers.next_multiple_of(8) * threads).max(1);
        let by_shared = SHARED / (shared + SYSTEM).next_multiple_of(STEP);
        let by_threads = WARPS * 32 / threads;
        let blocks = by_registers.min(by_shared).min(by_threads).min(BLOCKS);
        Self {
            blocks,
            warps: blocks * threads / 32,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scarcest_bounds() {
        let blocks = |registers, shared, threads| Resident::new(registers, shared, threads).blocks;
        assert_eq!(blocks(80, 0, 256), 3);
        assert_eq!(blocks(250, 0, 256), 1);
        assert_eq!(blocks(16, 0, 256), 8);
        assert_eq!(blocks(16, 0, 32), 32);
        assert_eq!(blocks(16, 64 << 10, 256), 3);
        assert_eq!(Resident::new(80, 0, 256).warps, 24);
    }
}
