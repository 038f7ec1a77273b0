//! A block's shared memory, and who used each word of it.

use diptych_device::gpu::host::Site;

use crate::clock::Stamp;
use crate::fault::line;

/// Bytes that one record watches.
const WORD: usize = 4;

/// The last write and the reads of one word since. Only the running block's counts.
#[derive(Clone, Copy, Default)]
struct Word {
    /// The block, as a number that no other block of any launch has; 0 is none.
    written_in: u64,
    written: Stamp,
    write_site: Option<Site>,
    read_in: u64,
    /// The latest read.
    read: Stamp,
    read_site: Option<Site>,
    /// Whether other threads of its warp read it with the same stamp.
    several_lanes: bool,
    /// Whether threads of other warps read it since the last barrier.
    several_warps: bool,
}

/// Shared memory of one block at a time.
#[derive(Default)]
pub struct SharedMemory {
    bytes: Vec<u8>,
    words: Vec<Word>,
    size: usize,
    block: u64,
}

impl SharedMemory {
    /// New memory for the next block.
    pub fn start(&mut self, size: u32) {
        self.size = size as usize;
        self.block += 1;
        if self.bytes.len() < self.size {
            self.bytes.resize(self.size.next_multiple_of(WORD), 0);
            self.words.resize(self.size.div_ceil(WORD), Word::default());
        }
    }

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
                "uses shared memory off its alignment: {len} bytes at byte {at}"
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
                    "reads shared memory that nobody has written, byte {}",
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
        "{does} byte {} of shared memory, which thread {} {did} at {}, and no barrier lies between: a data race",
        word * WORD,
        other.thread,
        site.map_or_else(String::new, line),
    )
}
