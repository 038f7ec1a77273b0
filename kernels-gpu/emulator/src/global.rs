//! Who wrote each word of global memory during a launch, and what orders it.
//!
//! Reads leave no record: a read before an unordered write shows as a read after it under another
//! schedule.

use core::hash::{BuildHasherDefault, Hasher};
use diptych_device::gpu::host::GlobalAccess;
use std::collections::HashMap;

use crate::clock::Stamp;

/// Bytes that one record watches.
const WORD: usize = 4;
/// Words of a page.
const PAGE: usize = 1024;

/// A write, in 64 bits: block + 1, thread, barriers of the block, barriers of the warp.
type Record = u64;
const THREAD_BITS: u32 = 10;
const BARRIER_BITS: u32 = 15;
/// Blocks of the largest grid that can be watched.
pub const MOST_BLOCKS: u64 = (1 << 24) - 1;

fn pack(block: u32, now: Stamp) -> Result<Record, String> {
    let most = 1 << BARRIER_BITS;
    if now.block_barriers >= most || now.warp_barriers >= most {
        return Err(format!(
            "more than {most} barriers: the emulator cannot count them"
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

struct Page {
    launch: u64,
    records: [Record; PAGE],
}

/// Spreads page numbers: every access of global memory looks one up.
#[derive(Default)]
struct Spread(u64);

impl Hasher for Spread {
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(usize::from(byte));
        }
    }
    fn write_usize(&mut self, value: usize) {
        self.0 = (self.0 ^ value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
    fn finish(&self) -> u64 {
        // The table takes the low bits and the highest seven.
        self.0 ^ self.0 >> 32
    }
}

/// Global memory during one launch at a time.
#[derive(Default)]
pub struct GlobalMemory {
    launch: u64,
    pages: HashMap<usize, Box<Page>, BuildHasherDefault<Spread>>,
    /// What each counter has passed on: the last increment of each block, with the block's stamp.
    released: HashMap<usize, HashMap<u32, Stamp>>,
    /// The running block's increments: when, and of which counter.
    acquired: Vec<(Stamp, usize)>,
}

impl GlobalMemory {
    pub fn start_launch(&mut self) {
        self.launch += 1;
        self.released.clear();
        // Pages of arrays that are gone would pile up.
        if self.pages.len() > 4096 {
            self.pages.clear();
        }
    }

    pub fn start_block(&mut self) {
        self.acquired.clear();
    }

    /// Checks an access, and notes a write. It is aligned, so it lies in one page.
    pub fn access(
        &mut self,
        address: usize,
        len: usize,
        access: GlobalAccess,
        block: u32,
        now: Stamp,
    ) -> Result<(), String> {
        let first = address / WORD;
        let (page, first, count) = (first / PAGE, first % PAGE, len.div_ceil(WORD));
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

    /// A page of this launch's records.
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
                    "{does} global memory that thread {} of its block has written, and no barrier lies \
                     between: a data race",
                    then.thread
                ))
            };
        }
        let passed_on = |&(when, counter): &(Stamp, usize)| {
            when.is_before(now)
                && self.released.get(&counter).is_some_and(|released| {
                    released
                        .get(&writer)
                        .is_some_and(|release| then.is_before(*release))
                })
        };
        if !self.acquired.iter().any(passed_on) {
            return Err(format!(
                "{does} global memory that thread {} of the block number {writer} has written, and no \
                 fetch_increment with barriers orders them: a data race",
                then.thread
            ));
        }
        if access == GlobalAccess::Load {
            return Err(format!(
                "reads what the block number {writer} has written by a load that may find it stale: \
                 load_fresh is meant for it"
            ));
        }
        Ok(())
    }

    /// The running block counts itself: it passes on what its thread has seen, and sees what was passed on.
    pub fn increment(&mut self, counter: usize, block: u32, now: Stamp) {
        let mut passed: HashMap<u32, Stamp> = HashMap::new();
        for (when, from) in &self.acquired {
            if when.is_before(now)
                && let Some(released) = self.released.get(from)
            {
                passed.extend(released);
            }
        }
        let released = self.released.entry(counter).or_default();
        for (block, stamp) in passed {
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
