//! What makes a thread stop.

use core::ptr;
use diptych_device::gpu::host::Site;

/// Why a thread does not run on.
#[derive(Clone, Copy)]
pub enum Stop {
    /// It lets others run.
    Step,
    /// It waits for others.
    Wait(Wait),
    /// It did something wrong, and never runs again.
    Fault,
}

/// What a thread waits at.
#[derive(Clone, Copy)]
pub struct Wait {
    pub word: Word,
    pub site: Site,
}

/// The word of the vocabulary.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Word {
    SyncThreads,
    SyncWarp,
    Shuffle { value: u32, lanes: u32 },
}

impl Wait {
    pub fn name(self) -> &'static str {
        match self.word {
            Word::SyncThreads => "sync_threads",
            Word::SyncWarp => "sync_warp",
            Word::Shuffle { .. } => "a shuffle",
        }
    }

    /// Whether both are at the same call.
    pub fn meets(self, other: Wait) -> bool {
        self.name() == other.name() && same(self.site, other.site)
    }
}

/// Whether two sites are one; the same line may have several `Location`s in memory.
fn same(a: Site, b: Site) -> bool {
    ptr::eq(a, b) || a == b
}
