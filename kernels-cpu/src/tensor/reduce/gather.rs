//! Copies of the elements of vectors that run over several axes.

use crate::api::reduce::Chunks;
use crate::copy::{CopyLoop, copy};
use crate::level::Level;
use crate::tensor::list::List;
use crate::tensor::operand::Axis;

/// Bytes of a chunk.
pub const CHUNK: usize = 8 << 10;
/// Bytes of a cache line.
pub const LINE: usize = 64;

/// Copies nested loops, of which none need be nested in another.
///
/// # Safety
/// As [`copy`].
pub unsafe fn copy_any(
    level: Level,
    size: usize,
    to: *mut u8,
    from: *const u8,
    loops: &mut List<CopyLoop>,
) {
    // What is closest in memory becomes the innermost.
    loops.sort_by_key(|one| {
        let reach = one
            .to
            .unsigned_abs()
            .saturating_add(one.from.unsigned_abs());
        core::cmp::Reverse(reach)
    });
    // SAFETY: as the caller's.
    unsafe { copy(level, size, to, from, loops) };
}

/// Adds the loops of nested axes to a copy to or from contiguous memory with elements `pitch` bytes apart. Returns the
/// bytes of all.
pub fn add_loops(
    loops: &mut List<CopyLoop>,
    axes: impl DoubleEndedIterator<Item = Axis>,
    pitch: isize,
) -> isize {
    let mut to = pitch;
    for axis in axes.rev() {
        if axis.count != 1 {
            loops.push(CopyLoop {
                count: axis.count,
                to,
                from: axis.step,
            });
        }
        to = to.wrapping_mul(axis.count as isize);
    }
    to
}

/// Elements of a vector that are gathered at once: several indices of one axis, along which they lie closer in memory
/// than along the axes inside it.
pub struct Window {
    /// Elements of one index of the axis, and how many indices are gathered at once.
    each: usize,
    indices: usize,
    /// The elements that are there now: from .. from + len of the vector, from `p` on.
    from: usize,
    len: usize,
    p: *mut u8,
}

impl Window {
    /// The most bytes of the elements that are gathered at once.
    const MOST: usize = 4 << 20;
    /// Fewer indices are not worth it.
    const FEW: usize = 4;

    /// Returns the window for vectors that run over these axes, of elements of `size` bytes, if there is one that takes no
    /// more than `most` bytes of memory.
    pub fn new(axes: &[Axis], size: usize, most: usize) -> Option<Self> {
        let shares_line =
            |axis: &Axis| axis.step != 0 && axis.step.unsigned_abs() <= LINE / Self::FEW;
        let (last, outer) = axes.split_last()?;
        let at = outer.iter().rposition(shares_line)?;
        let (axis, inner) = (axes.get(at)?, axes.get(at + 1..)?);
        if shares_line(last) || axis.count < Self::FEW {
            return None;
        }
        let each = inner
            .iter()
            .map(|axis| axis.count)
            .product::<usize>()
            .max(1);
        let bytes = each.checked_mul(size)?;
        let room = most.checked_sub(CHUNK)?.min(Self::MOST);
        // The elements of a line, or of a chunk if that is more.
        let of_line = LINE.checked_div(axis.step.unsigned_abs())?;
        let of_chunk = CHUNK.checked_div(bytes)? + 2;
        let indices = of_line.max(of_chunk).min(room.checked_div(bytes)?);
        (indices >= Self::FEW).then_some(Self {
            each,
            indices,
            from: 0,
            len: 0,
            p: core::ptr::null_mut(),
        })
    }

    /// Returns the bytes of memory that it takes: room for the rest of a chunk, too.
    pub fn bytes(&self, size: usize) -> usize {
        CHUNK + self.indices * self.each * size
    }

    /// Returns whether it has elements from .. from + len.
    fn has(&self, from: usize, len: usize) -> bool {
        self.from <= from && from + len <= self.from + self.len
    }
}

/// Vectors that run over several axes.
pub struct Lines<'a> {
    pub level: Level,
    /// Bytes of an element.
    pub size: usize,
    /// The axes over which each vector runs, at least one.
    pub axes: &'a [Axis],
    /// The first vector.
    pub x: *const u8,
    /// The number of vectors, and the distance from one to the next.
    pub vectors: Axis,
    /// Room for a chunk of each vector, `pitch` bytes apart; with a window, for what that takes.
    pub buffer: *mut u8,
    pub pitch: isize,
    /// What is gathered of a single vector.
    pub window: Option<Window>,
}

impl Chunks for Lines<'_> {
    unsafe fn chunk(&mut self, from: usize, len: usize) -> (*const u8, isize) {
        if self.vectors.count == 1
            && let Some(p) = self.in_place(from, len)
        {
            return (p, 0);
        }
        if let Some(window) = self.window.take() {
            // SAFETY: as the caller's.
            let window = unsafe { self.slide(window, from, len) };
            let p = window.p.wrapping_add((from - window.from) * self.size);
            self.window = Some(window);
            return (p, 0);
        }
        // SAFETY: as the caller's.
        unsafe { self.copy_range(self.axes, self.x, from, len, self.buffer) };
        (self.buffer, self.pitch)
    }
}

impl Lines<'_> {
    /// Returns the address of elements of the first vector if they lie one after the other.
    fn in_place(&self, from: usize, len: usize) -> Option<*const u8> {
        let (inner, outer) = self.axes.split_last()?;
        let within = from.checked_rem(inner.count)?;
        if inner.step != self.size as isize || within + len > inner.count {
            return None;
        }
        let mut p = self.x.wrapping_add(within * self.size);
        let mut rest = from.checked_div(inner.count)?;
        for axis in outer.iter().rev() {
            let index = rest.checked_rem(axis.count)? as isize;
            p = p.wrapping_offset(axis.step.wrapping_mul(index));
            rest = rest.checked_div(axis.count)?;
        }
        Some(p)
    }

    /// Makes the window have elements from .. from + len, at most a chunk: keeps those that it has, and gathers what
    /// follows.
    ///
    /// # Safety
    /// As [`Chunks::chunk`].
    unsafe fn slide(&self, mut window: Window, from: usize, len: usize) -> Window {
        let total: usize = self.axes.iter().map(|axis| axis.count).product();
        while !window.has(from, len) {
            let end = window.from + window.len;
            let is_next = window.len > 0 && (window.from..=end).contains(&from);
            let start = if is_next {
                end
            } else {
                from - from % window.each.max(1)
            };
            let kept = if is_next { end - from } else { 0 };
            let gathered = self.buffer.wrapping_add(CHUNK);
            let p = gathered.wrapping_sub(kept * self.size);
            let count = (window.indices * window.each).min(total - start);
            // SAFETY: as the caller's; less than a chunk is kept, and there is room for the rest behind it.
            unsafe {
                if kept > 0 {
                    let old = window.p.wrapping_add((from - window.from) * self.size);
                    core::ptr::copy(old, p, kept * self.size);
                }
                self.copy_range(self.axes, self.x, start, count, gathered);
            }
            window = Window {
                from: start - kept,
                len: kept + count,
                p,
                ..window
            };
        }
        window
    }

    /// Copies elements from .. from + len of nested axes that begin at `x`.
    ///
    /// # Safety
    /// The vectors must have these elements, and `to` have room for them.
    unsafe fn copy_range(
        &self,
        axes: &[Axis],
        x: *const u8,
        from: usize,
        mut len: usize,
        mut to: *mut u8,
    ) {
        let Some((&outer, inner)) = axes.split_first() else {
            return;
        };
        let each = inner
            .iter()
            .map(|axis| axis.count)
            .product::<usize>()
            .max(1);
        let (mut i, within) = (from / each, from % each);
        let at = |i: usize| x.wrapping_offset(outer.step.wrapping_mul(i as isize));
        // SAFETY: as the caller's.
        unsafe {
            if within > 0 || len < each {
                let part = len.min(each - within);
                self.copy_range(inner, at(i), within, part, to);
                to = to.wrapping_add(part * self.size);
                len -= part;
                i += 1;
            }
            let count = len / each;
            if count > 0 {
                self.copy_whole(Axis { count, ..outer }, inner, at(i), to);
                to = to.wrapping_add(count * each * self.size);
                len -= count * each;
                i += count;
            }
            if len > 0 {
                self.copy_range(inner, at(i), 0, len, to);
            }
        }
    }

    /// Copies all elements of nested axes.
    ///
    /// # Safety
    /// As [`Lines::copy_range`].
    unsafe fn copy_whole(&self, outer: Axis, inner: &[Axis], x: *const u8, to: *mut u8) {
        let mut loops = List::new();
        let axes = core::iter::once(outer).chain(inner.iter().copied());
        add_loops(&mut loops, axes, self.size as isize);
        add_loops(&mut loops, core::iter::once(self.vectors), self.pitch);
        // SAFETY: as the caller's.
        unsafe { copy_any(self.level, self.size, to, x, &mut loops) };
    }
}
