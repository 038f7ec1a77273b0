//! The scratch memory of a thread: a panel of B and a micro-panel of A.

use core::num::NonZeroUsize;

use super::params::{self, KSEG, NC_BYTES};
use crate::element::Element;

/// Memory to pack into, aligned to a cache line.
#[derive(Clone, Copy)]
pub struct PackingScratch<T> {
    /// Room for a panel of B.
    pub panel_b: *mut T,
    /// The columns that the panel has room for, with `KSEG` rows: a whole number of registers.
    pub columns: NonZeroUsize,
    /// Room for a micro-panel of A, if the block is large enough for both.
    pub micro_panel_a: Option<*mut T>,
}

impl<T: Element> PackingScratch<T> {
    /// Divides a block of `bytes` bytes. The panel is a whole number of registers of `lanes` elements wide; `None` if the
    /// block has no room for one register.
    pub fn new(lanes: usize, block: *mut u8, bytes: usize) -> Option<Self> {
        let align = block.align_offset(params::LINE).min(bytes);
        let panel_b = block.wrapping_add(align).cast::<T>();
        let row = KSEG * size_of::<T>();
        let room = bytes - align;
        // `lanes` is a power of two.
        let columns = |room: usize| {
            NonZeroUsize::new((room / row).min(NC_BYTES / size_of::<T>()) & !(lanes - 1))
        };
        match columns(room.saturating_sub(params::MICRO_PANEL_A_BYTES)) {
            Some(columns) => Some(Self {
                panel_b,
                columns,
                micro_panel_a: Some(panel_b.wrapping_add(KSEG * columns.get())),
            }),
            // The fixed block (`STACK_SCRATCH`) has room for one register of columns.
            None => columns(room).map(|columns| Self {
                panel_b,
                columns,
                micro_panel_a: None,
            }),
        }
    }

    /// nc, the columns of a panel of B when `n` columns in micro-panels of `nr` are left.
    pub fn panel_columns(&self, n: usize, nr: usize) -> NonZeroUsize {
        let whole = self.columns.get() / nr.max(1) * nr;
        match NonZeroUsize::new(whole) {
            Some(whole) if self.columns.get() < n => whole,
            _ => self.columns,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exec::STACK_SCRATCH;
    use std::vec;

    /// Panels have at least a register of columns, at most as many as there is room for, and cover whole micro-panels.
    fn any_block<T: Element>(lanes: usize) {
        let mut memory = vec![0u8; 1 << 20];
        let sizes = (0..40).map(|step| step * 1111);
        for bytes in sizes.chain([STACK_SCRATCH, 700_000, 1 << 20]) {
            let scratch = PackingScratch::<T>::new(lanes, memory.as_mut_ptr(), bytes);
            let Some(scratch) = scratch else {
                assert!(bytes < STACK_SCRATCH, "{bytes}");
                continue;
            };
            let most = scratch.columns.get();
            assert!(most.is_multiple_of(lanes) && most * KSEG * size_of::<T>() <= bytes);
            for (n, nr) in [1, most - 1, most, most + 1, 5000]
                .into_iter()
                .flat_map(|n| [1, 2, 3].map(|nv| (n, nv * lanes)))
            {
                let columns = scratch.panel_columns(n, nr).get();
                assert!(columns <= most);
                assert!(columns >= n || columns == most || columns.is_multiple_of(nr));
            }
        }
        assert!(PackingScratch::<T>::new(lanes, core::ptr::null_mut(), 0).is_none());
    }

    #[test]
    fn any_block_has_room_for_a_panel_or_none() {
        for lanes in [4, 8, 16] {
            any_block::<f32>(lanes);
        }
        for lanes in [2, 4, 8] {
            any_block::<f64>(lanes);
        }
    }
}
