//! Copies of strided elements: blocks of tensors to contiguous buffers and back. Elements are moved as they are, so one
//! function serves all types of a size.

use core::ptr;

use crate::dispatch::Kernels;
use crate::level::Level;

/// A loop of a copy: how often it runs, and by how many bytes the destination and the source advance.
#[derive(Clone, Copy)]
pub struct CopyLoop {
    pub count: usize,
    pub to: isize,
    pub from: isize,
}

/// Bytes of a cache line.
const LINE: usize = 64;
/// Elements of a line across lines of the source: their lines fit a part of L1.
const TILE: usize = 64;

/// Copies the elements of nested loops, the outermost first.
///
/// # Safety
/// Every element must be valid, for reading at the source and for writing at the destination, and aligned to `size`,
/// which must be 1, 2, 4 or 8. The two must not overlap.
pub unsafe fn copy(level: Level, size: usize, to: *mut u8, from: *const u8, loops: &[CopyLoop]) {
    // SAFETY: as the caller's.
    unsafe {
        match size {
            1 => nested::<u8>(level, to, from, loops),
            2 => nested::<u16>(level, to, from, loops),
            4 => nested::<u32>(level, to, from, loops),
            _ => nested::<u64>(level, to, from, loops),
        }
    }
}

/// Copies two loops if they transpose a block: the destination is contiguous along the outer one, the source along the
/// inner one. Returns whether it did.
///
/// # Safety
/// As [`copy`].
unsafe fn transposed<E>(
    level: Level,
    to: *mut u8,
    from: *const u8,
    outer: CopyLoop,
    inner: CopyLoop,
) -> bool {
    /// Elements of the smallest tile.
    const MIN: usize = 4;
    let size = size_of::<E>() as isize;
    let is_block = (outer.to, inner.from) == (size, size) && outer.count.min(inner.count) >= MIN;
    // The portable level has no registers to transpose in.
    if !is_block || level == Level::Portable {
        return false;
    }
    let [rs, out_rs] = [outer.from, inner.to].map(|step| step >> size.trailing_zeros());
    let (rows, cols) = (outer.count, inner.count);
    // SAFETY: as the caller's. The elements are moved as they are, whatever their type.
    unsafe {
        match size_of::<E>() {
            4 => {
                let transpose = Kernels::<f32>::new(level).transpose_block();
                transpose(rows, cols, from.cast(), rs, to.cast(), out_rs);
            }
            8 => {
                let transpose = Kernels::<f64>::new(level).transpose_block();
                transpose(rows, cols, from.cast(), rs, to.cast(), out_rs);
            }
            _ => return false,
        }
    }
    true
}

/// [`copy`] for elements of the type `E`.
///
/// # Safety
/// As [`copy`].
unsafe fn nested<E: Copy>(level: Level, to: *mut u8, from: *const u8, loops: &[CopyLoop]) {
    const ONCE: CopyLoop = CopyLoop {
        count: 1,
        to: 0,
        from: 0,
    };
    // SAFETY: as the caller's.
    unsafe {
        match *loops {
            [] => plane::<E>(level, to, from, ONCE, ONCE),
            [inner] => plane::<E>(level, to, from, ONCE, inner),
            [outer, inner] => plane::<E>(level, to, from, outer, inner),
            [outermost, ref rest @ ..] => {
                for i in 0..outermost.count as isize {
                    nested::<E>(
                        level,
                        to.wrapping_offset(i * outermost.to),
                        from.wrapping_offset(i * outermost.from),
                        rest,
                    );
                }
            }
        }
    }
}

/// Copies two loops. The loop that stays closer in memory becomes the inner one.
///
/// # Safety
/// As [`copy`].
unsafe fn plane<E: Copy>(
    level: Level,
    to: *mut u8,
    from: *const u8,
    mut outer: CopyLoop,
    mut inner: CopyLoop,
) {
    // SAFETY: as the caller's.
    let done = unsafe {
        transposed::<E>(level, to, from, outer, inner)
            || transposed::<E>(level, to, from, inner, outer)
    };
    if done {
        return;
    }
    let reach = |one: CopyLoop| {
        one.to
            .unsigned_abs()
            .saturating_add(one.from.unsigned_abs())
    };
    if reach(outer) < reach(inner) && outer.count > 1 {
        (outer, inner) = (inner, outer);
    }
    // Where turns of the outer loop share lines of the source and turns of the inner loop do not, few inner turns at a
    // time: their lines are still in L1 at the next turn of the outer loop.
    let shares_lines = |one: CopyLoop| one.from.unsigned_abs() < LINE;
    let is_across = outer.count > 1 && shares_lines(outer) && !shares_lines(inner);
    let step = if is_across { TILE } else { inner.count };
    for j in (0..inner.count).step_by(step.max(1)) {
        let part = CopyLoop {
            count: step.min(inner.count - j),
            ..inner
        };
        let (to, from) = (
            to.wrapping_offset(j as isize * inner.to),
            from.wrapping_offset(j as isize * inner.from),
        );
        for i in 0..outer.count as isize {
            let to = to.wrapping_offset(i * outer.to);
            let from = from.wrapping_offset(i * outer.from);
            // SAFETY: as the caller's.
            unsafe { line::<E>(to.cast(), from.cast(), part) };
        }
    }
}

/// Copies one loop.
///
/// # Safety
/// As [`copy`].
#[inline(always)]
unsafe fn line<E: Copy>(to: *mut E, from: *const E, one: CopyLoop) {
    /// Elements from which a call of `memcpy` is faster than a loop.
    const LONG: usize = 16;
    let size = size_of::<E>() as isize;
    // SAFETY: as the caller's.
    unsafe {
        if one.to == size && one.from == size && one.count >= LONG {
            ptr::copy_nonoverlapping(from, to, one.count);
        } else if one.to == size && one.from == 0 {
            let value = *from;
            for i in 0..one.count {
                to.add(i).write(value);
            }
        } else if one.to == size && one.from == 2 * size {
            // A loop of its own, which the compiler makes one of registers.
            for i in 0..one.count {
                to.add(i).write(*from.add(2 * i));
            }
        } else {
            for i in 0..one.count as isize {
                to.wrapping_byte_offset(i * one.to)
                    .write(*from.wrapping_byte_offset(i * one.from));
            }
        }
    }
}
