//! The scratch memory of a thread, cut into room for what is packed.

use super::params::{self, KSEG, NC_BYTES};
use crate::element::Element;

/// Room for packing, in elements, aligned to a cache line.
#[derive(Clone, Copy)]
pub struct Scratch<T> {
    pub panel: *mut T,
    /// Columns of B that a panel of `KSEG` rows has room for.
    pub columns: usize,
    /// Room for a micro-panel of A, where there is any.
    pub micro_panel: Option<*mut T>,
}

impl<T: Element> Scratch<T> {
    /// In a block of so many bytes, for panels of whole registers of `lanes` elements.
    pub fn new(lanes: usize, block: *mut u8, bytes: usize) -> Self {
        let align = block.align_offset(params::LINE).min(bytes);
        let panel = block.wrapping_add(align).cast::<T>();
        let row = KSEG * size_of::<T>();
        let room = bytes - align;
        // `lanes` is a power of two.
        let columns = |room: usize| (room / row).min(NC_BYTES / size_of::<T>()) & !(lanes - 1);
        let with_micro_panel = columns(room.saturating_sub(params::MICRO_PANEL_A));
        if with_micro_panel > 0 {
            return Self {
                panel,
                columns: with_micro_panel,
                micro_panel: Some(panel.wrapping_add(KSEG * with_micro_panel)),
            };
        }
        // The fixed block: one register of columns.
        Self {
            panel,
            columns: columns(room),
            micro_panel: None,
        }
    }
}
