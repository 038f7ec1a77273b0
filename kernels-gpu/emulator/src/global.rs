//! The last write of each word, or byte, of global memory during a launch, to find data races.
//!
//! Reads are not recorded: under another schedule, a read before an unordered write becomes a read after it.

use core::hash::{BuildHasherDefault, Hasher};
use diptych_device::gpu::host::GlobalAccess;
use std::collections::HashMap;

use crate::clock::Stamp;

/// Bytes of a word, the unit in which writes are recorded. Writes of less are recorded by the byte, apart from the others:
/// no kernel accesses an array in both ways.
const WORD: usize = 4;
/// Words, or bytes, of a page.
const PAGE: usize = 1024;
/// Added to the numbers of pages of bytes.
const OF_BYTES: usize = 1 << (usize::BITS - 1);

/// A write, packed into 64 bits: block + 1, thread, barriers of the block, barriers of the warp. 0: no write.
type Record = u64;
const THREAD_BITS: u32 = 10;
const BARRIER_BITS: u32 = 15;
/// The most blocks of a grid: more do not fit in a record.
pub const MAX_BLOCKS: u64 = (1 << 24) - 1;

fn pack(block: u32, now: Stamp) -> Result<Record, String> {
    let limit = 1 << BARRIER_BITS;
    if now.block_barriers >= limit || now.warp_barriers >= limit {
        return Err(format!(
            "more than {limit} barriers: the emulator cannot count them"
        ));
    }
    let mut record = u64::from(block) + 1;
    for (value, bits) in [
        (now.thread, THREAD_BITS),
        (now.block_barriers, BARRIER_BITS),
        (now.warp_barriers, BARRIER_BITS),
    ] {
        record = record << bits | u64::from(value);
    }
    Ok(record)
}

fn unpack(record: Record) -> (u32, Stamp) {
    let field = |shift: u32, bits: u32| (record >> shift & ((1 << bits) - 1)) as u32;
    let stamp = Stamp {
        thread: field(2 * BARRIER_BITS, THREAD_BITS),
        block_barriers: field(BARRIER_BITS, BARRIER_BITS),
        warp_barriers: field(0, BARRIER_BITS),
    };
    (
        (record >> (THREAD_BITS + 2 * BARRIER_BITS)) as u32 - 1,
        stamp,
    )
}

/// The records of the words of a page.
struct Page {
    /// The launch to which they belong; the records of earlier launches do not count.
    launch: u64,
    records: [Record; PAGE],
}

/// A fast hash of page numbers, because every access of global memory looks one up.
#[derive(Default)]
struct PageHasher(u64);

impl Hasher for PageHasher {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(usize::from(byte));
        }
    }
    fn write_usize(&mut self, value: usize) {
        self.0 = (self.0 ^ value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    fn finish(&self) -> u64 {
        // The hash table uses the low bits and the highest seven.
        self.0 ^ self.0 >> 32
    }
}

/// The writes to global memory of the running launch, and the increments of counters that order blocks. An increment is
/// a release and an acquire.
#[derive(Default)]
pub struct GlobalMemory {
    launch: u64,
    pages: HashMap<usize, Box<Page>, BuildHasherDefault<PageHasher>>,
    /// For each counter the releases that its next increment acquires: for each block, the stamp of its last one.
    released: HashMap<usize, HashMap<u32, Stamp>>,
    /// The increments of the running block: their stamps and counters.
    acquired: Vec<(Stamp, usize)>,
}

impl GlobalMemory {
    pub fn start_launch(&mut self) {
        self.launch += 1;
        self.released.clear();
        // Otherwise the pages of freed arrays would pile up.
        if self.pages.len() > 4096 {
            self.pages.clear();
        }
    }

    pub fn start_block(&mut self) {
        self.acquired.clear();
    }

    /// Checks an access for data races, and records a write. The access must be aligned, so that it is in one page.
    pub fn access(
        &mut self,
        address: usize,
        len: usize,
        access: GlobalAccess,
        block: u32,
        now: Stamp,
    ) -> Result<(), String> {
        let (unit, kind) = if len < WORD { (1, OF_BYTES) } else { (WORD, 0) };
        let first = address / unit;
        let (page, first, count) = (first / PAGE + kind, first % PAGE, len / unit);
        let written = self.pages.get(&page);
        if let Some(page) = written.filter(|page| page.launch == self.launch) {
            for &record in &page.records[first..first + count] {
                if record != 0 {
                    let (writer, then) = unpack(record);
                    self.check(access, block, now, writer, then)?;
                }
            }
        }
        if access == GlobalAccess::Store {
            let record = pack(block, now)?;
            self.page(page).records[first..first + count].fill(record);
        }
        Ok(())
    }

    /// Returns the records of a page for the running launch.
    fn page(&mut self, page: usize) -> &mut Page {
        let launch = self.launch;
        let page = self.pages.entry(page).or_insert_with(|| {
            Box::new(Page {
                launch,
                records: [0; PAGE],
            })
        });
        if page.launch != launch {
            page.launch = launch;
            page.records.fill(0);
        }
        page
    }

    /// Checks an access of `block` at the time `now` against a write of block `writer` at the time `then`.
    fn check(
        &self,
        access: GlobalAccess,
        block: u32,
        now: Stamp,
        writer: u32,
        then: Stamp,
    ) -> Result<(), String> {
        let does = if access == GlobalAccess::Store {
            "writes"
        } else {
            "reads"
        };
        if writer == block {
            return if then.is_before(now) {
                Ok(())
            } else {
                Err(format!(
                    "{does} global memory that thread {} of its block has written, without a barrier in between: \
                     a data race",
                    then.thread
                ))
            };
        }
        let is_ordered = |&(when, counter): &(Stamp, usize)| {
            when.is_before(now)
                && self.released.get(&counter).is_some_and(|released| {
                    released
                        .get(&writer)
                        .is_some_and(|release| then.is_before(*release))
                })
        };
        if !self.acquired.iter().any(is_ordered) {
            return Err(format!(
                "{does} global memory that thread {} of block number {writer} has written, and no \
                 fetch_increment with barriers orders the two: a data race",
                then.thread
            ));
        }
        if access == GlobalAccess::Load {
            return Err(format!(
                "reads what block number {writer} has written with a load that may return stale data: \
                 use load_relaxed"
            ));
        }
        Ok(())
    }

    /// Records an increment of `counter` by the running block: it releases what the thread has done and acquired, and
    /// acquires what earlier increments released.
    pub fn increment(&mut self, counter: usize, block: u32, now: Stamp) {
        let mut acquired: HashMap<u32, Stamp> = HashMap::new();
        for (when, from) in &self.acquired {
            if when.is_before(now)
                && let Some(released) = self.released.get(from)
            {
                acquired.extend(released);
            }
        }
        let released = self.released.entry(counter).or_default();
        for (block, stamp) in acquired {
            released.entry(block).or_insert(stamp);
        }
        released.insert(block, now);
        self.acquired.push((now, counter));
    }
}

#[cfg(test)]
mod tests {
    use super::{Stamp, pack, unpack};

    #[test]
    fn a_record_holds_what_it_was_given() {
        let stamp = Stamp {
            thread: 1023,
            block_barriers: 32767,
            warp_barriers: 12345,
        };
        for block in [0, 1, (1 << 24) - 2] {
            assert_eq!(unpack(pack(block, stamp).expect("it fits")), (block, stamp));
        }
    }
}
