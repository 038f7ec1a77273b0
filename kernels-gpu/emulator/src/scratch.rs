//! The scratch memory of launches: bytes, and counters that are 0 between launches.

use core::ops::Range;
use diptych_device::gpu::host::GlobalAccess;
use diptych_device::launch::Scratch;

/// Bytes of the margins before and after each block; an access to them is a fault.
const MARGIN: usize = 4096;
/// The initial content of scratch memory: a NaN, both as f32 and as f64.
const FRESH: u128 = 0x7FF4_DEAD_7FF4_DEAD_7FF4_DEAD_7FF4_DEAD;

/// A block of memory between two margins.
struct Block {
    memory: Vec<u128>,
    inside: Range<usize>,
}

impl Block {
    fn new(bytes: usize, fill: u128) -> Self {
        let mut memory = vec![fill; (bytes + 2 * MARGIN).div_ceil(16)];
        let start = memory.as_mut_ptr().expose_provenance() + MARGIN;
        Self {
            memory,
            inside: start..start + bytes,
        }
    }

    /// Returns whether an access touches the block or its margins.
    fn contains(&self, address: usize, len: usize) -> bool {
        let end = self.memory.len() * 16 + self.inside.start - MARGIN;
        address + len > self.inside.start - MARGIN && address < end
    }

    fn check(&self, what: &str, address: usize, len: usize) -> Result<(), String> {
        let at = address.wrapping_sub(self.inside.start) as isize;
        if address < self.inside.start || address + len > self.inside.end {
            return Err(format!(
                "uses {what} out of bounds: {len} bytes at byte {at} of {}",
                self.inside.len()
            ));
        }
        Ok(())
    }
}

/// The memory that [`Device::scratch`](diptych_device::launch::Device::scratch) returns.
pub struct ScratchMemory {
    bytes: Block,
    counters: Block,
    /// For each 4-byte word of `bytes`, whether it was written.
    written: Vec<bool>,
}

impl ScratchMemory {
    pub fn new(bytes: usize, counters: usize) -> Self {
        Self {
            bytes: Block::new(bytes, FRESH),
            counters: Block::new(counters * size_of::<u32>(), 0),
            written: vec![false; bytes.div_ceil(4)],
        }
    }

    pub fn pointers(&self) -> Scratch {
        Scratch {
            bytes: core::ptr::with_exposed_provenance_mut(self.bytes.inside.start),
            counters: core::ptr::with_exposed_provenance_mut(self.counters.inside.start),
        }
    }

    /// Checks an access to global memory if it is in scratch memory, and records writes.
    pub fn access(
        &mut self,
        address: usize,
        len: usize,
        access: GlobalAccess,
    ) -> Result<(), String> {
        if self.counters.contains(address, len) {
            return self.counters.check("counters", address, len);
        }
        if !self.bytes.contains(address, len) {
            return Ok(());
        }
        self.bytes.check("scratch memory", address, len)?;
        let at = address - self.bytes.inside.start;
        let words = &mut self.written[at / 4..(at + len).div_ceil(4)];
        if access == GlobalAccess::Store {
            words.fill(true);
        } else if words.contains(&false) {
            return Err(format!(
                "reads scratch memory that was never written, byte {at}"
            ));
        }
        Ok(())
    }

    /// Returns the index of the first counter that is not 0.
    pub fn counter_left(&self) -> Option<usize> {
        let counters = self.pointers().counters;
        let count = self.counters.inside.len() / size_of::<u32>();
        // SAFETY: these are the counters, and no kernel is running.
        (0..count).find(|&i| unsafe { counters.add(i).read() } != 0)
    }
}
