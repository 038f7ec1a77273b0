//! The shared memory of a block, with the last accesses of each word.

use diptych_device::gpu::host::Site;

use crate::clock::Stamp;
use crate::fault::line;

/// Bytes of a word, the unit in which accesses are recorded.
const WORD: usize = 4;

/// The last write of a word and the reads since. Accesses by earlier blocks are ignored.
#[derive(Clone, Copy, Default)]
struct Word {
    /// The block of the last write, as a number that is unique across launches; 0: none.
    written_in: u64,
    written: Stamp,
    write_site: Option<Site>,
    /// The block of the last read, likewise.
    read_in: u64,
    /// The last read.
    read: Stamp,
    read_site: Option<Site>,
    /// Whether other threads of the same warp read it too since their last barrier.
    several_lanes: bool,
    /// Whether threads of other warps read it too since the last barrier of the block.
    several_warps: bool,
}

/// The shared memory of the running block.
#[derive(Default)]
pub struct SharedMemory {
    bytes: Vec<u8>,
    words: Vec<Word>,
    size: usize,
    block: u64,
}

impl SharedMemory {
    /// Gives the next block `size` bytes of uninitialised memory.
    pub fn start(&mut self, size: u32) {
        self.size = size as usize;
        self.block += 1;
        if self.bytes.len() < self.size {
            self.bytes.resize(self.size.next_multiple_of(WORD), 0);
            self.words.resize(self.size.div_ceil(WORD), Word::default());
        }
    }

    /// Checks the bounds and the alignment of an access, and returns its words.
    fn check(&self, offset: u32, len: usize) -> Result<core::ops::Range<usize>, String> {
        let at = offset as usize;
        if at + len > self.size {
            return Err(format!(
                "uses shared memory out of bounds: bytes {at} to {} of {}",
                at + len,
                self.size
            ));
        }
        if !at.is_multiple_of(len) {
            return Err(format!(
                "makes a misaligned access to shared memory: {len} bytes at byte {at}"
            ));
        }
        Ok(at / WORD..(at + len).div_ceil(WORD))
    }

    pub fn load(
        &mut self,
        offset: u32,
        to: &mut [u8],
        now: Stamp,
        site: Site,
    ) -> Result<(), String> {
        let words = self.check(offset, to.len())?;
        for at in words {
            let word = &mut self.words[at];
            if word.written_in != self.block {
                return Err(format!(
                    "reads shared memory that was never written, byte {}",
                    at * WORD
                ));
            }
            if !word.written.is_before(now) {
                return Err(race(at, "reads", word.written, "wrote", word.write_site));
            }
            word.note_read(self.block, now, site);
        }
        let at = offset as usize;
        to.copy_from_slice(&self.bytes[at..at + to.len()]);
        Ok(())
    }

    pub fn store(
        &mut self,
        offset: u32,
        from: &[u8],
        now: Stamp,
        site: Site,
    ) -> Result<(), String> {
        let words = self.check(offset, from.len())?;
        for at in words {
            let word = &mut self.words[at];
            if word.written_in == self.block && !word.written.is_before(now) {
                return Err(race(at, "writes", word.written, "wrote", word.write_site));
            }
            if word.read_in == self.block && !word.reads_are_before(now) {
                return Err(race(at, "writes", word.read, "read", word.read_site));
            }
            word.written_in = self.block;
            word.written = now;
            word.write_site = Some(site);
        }
        let at = offset as usize;
        self.bytes[at..at + from.len()].copy_from_slice(from);
        Ok(())
    }
}

impl Word {
    /// Records a read.
    fn note_read(&mut self, block: u64, now: Stamp, site: Site) {
        let last = self.read;
        if self.read_in != block || last.block_barriers != now.block_barriers {
            self.several_lanes = false;
            self.several_warps = false;
        } else if !last.is_in_warp_of(now) {
            self.several_warps = true;
            self.several_lanes = false;
        } else if last.warp_barriers != now.warp_barriers {
            self.several_lanes = false;
        } else if last.thread != now.thread {
            self.several_lanes = true;
        }
        self.read_in = block;
        self.read = now;
        self.read_site = Some(site);
    }

    /// Returns whether all recorded reads happen before an access that runs now.
    fn reads_are_before(&self, now: Stamp) -> bool {
        let last = self.read;
        if last.block_barriers < now.block_barriers {
            return true;
        }
        if self.several_warps || !last.is_in_warp_of(now) {
            return false;
        }
        last.warp_barriers < now.warp_barriers || (last.thread == now.thread && !self.several_lanes)
    }
}

fn race(word: usize, does: &str, other: Stamp, did: &str, site: Option<Site>) -> String {
    format!(
        "{does} byte {} of shared memory, which thread {} {did} at {}, without a barrier in between: a data race",
        word * WORD,
        other.thread,
        site.map_or_else(String::new, line),
    )
}
