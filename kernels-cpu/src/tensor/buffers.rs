//! Buffers in L1 for blocks of tensors that are not contiguous.

use super::blocks::Blocks;
use super::list::List;
use super::loops::{Loop, MAX_OPERANDS};
use crate::aligned::AlignedBytes;
use crate::copy::{CopyLoop, copy};

/// Bytes of all buffers. With the frames around them they stay below the 64 KiB of stack that the C header promises.
const BYTES: usize = 24 << 10;

/// Returns the bytes of a buffer, of which there is one for each tensor: whole cache lines.
pub const fn buffer(tensors: usize) -> usize {
    if tensors > 4 { BYTES / 8 } else { BYTES / 4 }
}

/// Whether a tensor is copied to a buffer or back.
#[derive(Clone, Copy, PartialEq)]
enum Direction {
    ToBuffer,
    Back,
}

/// Adds the loops that copy the block of tensor k.
fn add_copy_loops(
    loops: &mut List<CopyLoop>,
    block: &[Loop],
    k: usize,
    of: &Blocks<'_>,
    direction: Direction,
) {
    let mut pitch = size_of_element(of, k) as isize;
    for one in block.iter().skip(1) {
        pitch = pitch.wrapping_mul(one.count as isize);
    }
    for (i, one) in block.iter().enumerate() {
        let step = one.steps.get(k).copied().unwrap_or(0);
        let (to, from) = match direction {
            Direction::ToBuffer => (pitch, step),
            Direction::Back => (step, pitch),
        };
        loops.push(CopyLoop {
            count: one.count,
            to,
            from,
        });
        if let Some(next) = block.get(i + 1) {
            // A product of its and the later counts.
            pitch = pitch.checked_div(next.count as isize).unwrap_or(0);
        }
    }
}

/// Returns the bytes of an element of tensor k.
fn size_of_element(of: &Blocks<'_>, k: usize) -> usize {
    of.sizes.get(k).copied().unwrap_or(1)
}

/// Copies the block of the output from its buffer to where it belongs, if it has one.
///
/// # Safety
/// `at` must be what [`Buffers::fill`] returned for `p`; the output must be valid at the elements of the block.
pub unsafe fn write_back(
    of: &Blocks<'_>,
    [out, ..]: [*mut u8; MAX_OPERANDS],
    [buffer, ..]: [*mut u8; MAX_OPERANDS],
    block: &[Loop],
) {
    if buffer != out {
        let mut loops = List::new();
        add_copy_loops(&mut loops, block, 0, of, Direction::Back);
        // SAFETY: as the caller's.
        unsafe { copy(of.level, size_of_element(of, 0), out, buffer, &loops) };
    }
}

/// A buffer for each tensor.
pub struct Buffers {
    bytes: AlignedBytes<BYTES>,
    /// What the buffers hold: where the block begins, and how often its first and its last loop run.
    filled: [(*mut u8, usize, usize); MAX_OPERANDS],
}

impl Buffers {
    pub fn new() -> Self {
        Self {
            bytes: AlignedBytes::new(),
            filled: [(core::ptr::null_mut(), 0, 0); MAX_OPERANDS],
        }
    }

    /// Returns where the kernel finds the block of each tensor that begins at `p`: the tensor itself if it is direct or a
    /// scalar, else a buffer, which holds a copy unless the kernel only writes it.
    ///
    /// # Safety
    /// The tensors must be valid at the elements of the block, which must fit a buffer.
    #[inline(always)]
    pub unsafe fn fill(
        &mut self,
        of: &Blocks<'_>,
        p: [*mut u8; MAX_OPERANDS],
        is_direct: &[bool; MAX_OPERANDS],
        block: &[Loop],
    ) -> [*mut u8; MAX_OPERANDS] {
        let mut at = p;
        let shape = (
            block.first().map_or(1, |one| one.count),
            block.last().map_or(1, |one| one.count),
        );
        let first = self.bytes.start::<u8>();
        let size = buffer(of.loops.operands);
        let tensors = at
            .iter_mut()
            .zip(is_direct.iter().zip(of.is_scalar))
            .take(of.loops.operands);
        for (k, ((at, (direct, scalar)), filled)) in tensors.zip(&mut self.filled).enumerate() {
            if *direct || scalar {
                continue;
            }
            let (from, to) = (*at, first.wrapping_add(k * size));
            *at = to;
            let holds = (from, shape.0, shape.1);
            // The output is copied only if it is read; and what is written changes it.
            if *filled == holds || (k == 0 && !of.updates) {
                continue;
            }
            if k > 0 {
                *filled = holds;
            }
            let mut loops = List::new();
            add_copy_loops(&mut loops, block, k, of, Direction::ToBuffer);
            // SAFETY: as the caller's.
            unsafe { copy(of.level, size_of_element(of, k), to, from, &loops) };
        }
        at
    }
}
