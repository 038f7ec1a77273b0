//! Why a thread stops.

use core::ptr;
use diptych_device::gpu::host::Site;

/// Why a thread suspended itself.
#[derive(Clone, Copy)]
pub enum Stop {
    /// To let other threads run.
    Yield,
    /// To wait for other threads.
    Wait(Wait),
    /// Because it caused a fault; it is never resumed.
    Fault,
}

/// The barrier or shuffle at which a thread waits.
#[derive(Clone, Copy)]
pub struct Wait {
    pub kind: WaitKind,
    pub site: Site,
}

/// A kind of barrier or shuffle.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum WaitKind {
    SyncThreads,
    SyncWarp,
    Shuffle { value: u32, lanes: u32 },
}

impl Wait {
    pub fn name(self) -> &'static str {
        match self.kind {
            WaitKind::SyncThreads => "sync_threads",
            WaitKind::SyncWarp => "sync_warp",
            WaitKind::Shuffle { .. } => "a shuffle",
        }
    }

    /// Returns whether both wait at the same call in the source.
    pub fn meets(self, other: Wait) -> bool {
        self.name() == other.name() && same(self.site, other.site)
    }
}

/// Returns whether two sites are the same place in the source, which may have several `Location`s in memory.
fn same(a: Site, b: Site) -> bool {
    ptr::eq(a, b) || a == b
}
