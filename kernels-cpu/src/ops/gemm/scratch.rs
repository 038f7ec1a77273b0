//! The scratch memory of a thread: a panel of B and a micro-panel of A.

use super::params::{self, KSEG, NC_BYTES};
use crate::element::Element;

/// Memory to pack into, aligned to a cache line.
#[derive(Clone, Copy)]
pub struct Scratch<T> {
    /// Room for a panel of B.
    pub panel_b: *mut T,
    /// The columns that the panel has room for, with `KSEG` rows.
    pub columns: usize,
    /// Room for a micro-panel of A, if the block is large enough for both.
    pub micro_panel_a: Option<*mut T>,
}

impl<T: Element> Scratch<T> {
    /// Divides a block of `bytes` bytes. The panel is a whole number of registers of `lanes` elements wide.
    pub fn new(lanes: usize, block: *mut u8, bytes: usize) -> Self {
        let align = block.align_offset(params::LINE).min(bytes);
        let panel_b = block.wrapping_add(align).cast::<T>();
        let row = KSEG * size_of::<T>();
        let room = bytes - align;
        // `lanes` is a power of two.
        let columns = |room: usize| (room / row).min(NC_BYTES / size_of::<T>()) & !(lanes - 1);
        let with_micro_panel = columns(room.saturating_sub(params::MICRO_PANEL_A_BYTES));
        if with_micro_panel > 0 {
            return Self {
                panel_b,
                columns: with_micro_panel,
                micro_panel_a: Some(panel_b.wrapping_add(KSEG * with_micro_panel)),
            };
        }
        // The fixed block (`STACK_SCRATCH`) has room for one register of columns.
        Self {
            panel_b,
            columns: columns(room),
            micro_panel_a: None,
        }
    }
}
