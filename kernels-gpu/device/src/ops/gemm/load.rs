//! From A and B to shared memory.

use crate::gpu::shared::Shared;
use crate::gpu::{thread, unroll};
use crate::real::Real;

/// A matrix as its loader sees it: `extent` rows (or columns) of a tile, and k.
#[derive(Clone, Copy)]
pub struct Operand<T> {
    /// The first element of the tile at k = 0.
    pub p: *const T,
    /// From a row to the next.
    pub along: i64,
    /// From a step of k to the next.
    pub depth: i64,
    /// Rows of the tile that exist; not 0.
    pub extent: u32,
    /// Whether a thread reads neighbours along k, else along the rows.
    pub deep: bool,
    /// Whether it reads them at once. All packs that begin within the extents then end within them.
    pub packs: bool,
}

/// A thread's part in bringing slices of `E` rows and `K` steps of k to shared memory: `PER` elements each,
/// unless threads are idle.
pub struct Loader<T, const E: usize, const K: usize, const THREADS: usize, const PER: usize> {
    thread: u32,
    p: [*const T; PER],
    along: i64,
    depth: i64,
    extent: u32,
    deep: bool,
    packs: bool,
}

impl<T: Real, const E: usize, const K: usize, const THREADS: usize, const PER: usize>
    Loader<T, E, K, THREADS, PER>
{
    const WIDTH: usize = T::WIDTH as usize;

    /// From a step of k to the next in shared memory. A pack more than there are rows: threads that write
    /// to different k then meet different banks.
    pub const PITCH: u32 = E as u32 + T::WIDTH;

    /// Elements of a slice in shared memory.
    pub const SLICE: u32 = K as u32 * Self::PITCH;

    /// The loader of a thread, before the first slice.
    #[inline(always)]
    pub fn new(thread: u32, from: &Operand<T>) -> Self {
        let mut loader = Self {
            thread,
            p: [from.p; PER],
            along: from.along,
            depth: from.depth,
            extent: from.extent,
            deep: from.deep,
            packs: from.packs,
        };
        unroll!(pack in 0..PER / Self::WIDTH => {
            let (row, k) = loader.place(thread, pack);
            let begin = if from.packs && !from.deep {
                from.extent - T::WIDTH
            } else {
                from.extent - 1
            };
            let at =
                row.min(begin) as isize * from.along as isize + k as isize * from.depth as isize;
            loader.p[pack] = from.p.wrapping_offset(at);
        });
        loader
    }

    /// Whether the thread has such a pack.
    #[inline(always)]
    fn has(&self, pack: usize) -> bool {
        THREADS * PER == E * K || self.thread as usize + pack * THREADS < E * K / Self::WIDTH
    }

    /// The row and the step of k in the tile at which a pack of a thread begins.
    #[inline(always)]
    fn place(&self, thread: u32, pack: usize) -> (u32, u32) {
        let index = thread + (pack * THREADS) as u32;
        let (deep, across) = (K as u32 / T::WIDTH, E as u32 / T::WIDTH);
        if self.deep {
            (index / deep, index % deep * T::WIDTH)
        } else {
            (index % across * T::WIDTH, index / across)
        }
    }

    /// Reads the thread's elements of the next slice, of whose steps `left` exist, and moves on.
    ///
    /// # Safety
    /// The slice must be valid.
    #[inline(always)]
    pub unsafe fn fetch(&mut self, left: u32) -> [T; PER] {
        let mut elements = [T::ZERO; PER];
        unroll!(pack in 0..PER / Self::WIDTH => if self.has(pack) {
            let to = &mut elements[pack * Self::WIDTH..][..Self::WIDTH];
            // SAFETY: as the caller's.
            unsafe { self.fetch_pack(pack, left, to) };
            let next = K as isize * self.depth as isize;
            self.p[pack] = self.p[pack].wrapping_offset(next);
        });
        elements
    }

    /// # Safety
    /// As [`Loader::fetch`].
    #[inline(always)]
    unsafe fn fetch_pack(&self, pack: usize, left: u32, to: &mut [T]) {
        let mut p = self.p[pack];
        if self.packs && left >= K as u32 {
            // SAFETY: as the caller's.
            to.copy_from_slice(unsafe { T::load_pack(p) }.as_ref());
            return;
        }
        // What only this path needs must not take registers from the other.
        let (row, mut k) = self.place(thread::here(self.thread), pack);
        let width = if self.packs && self.deep { T::WIDTH } else { 1 };
        let back = k - k.min(left - width);
        p = p.wrapping_offset(-(back as isize * self.depth as isize));
        k -= back;
        // SAFETY: the caller vouches for the slice; beyond its edges its last element is read.
        unsafe {
            if self.packs {
                to.copy_from_slice(T::load_pack(p).as_ref());
                return;
            }
            for (e, to) in to.iter_mut().enumerate() {
                let (mut i, mut j) = (e as u32, 0);
                if self.deep {
                    (i, j) = (0, i.min(left - 1 - k));
                } else {
                    i = i.min(self.extent - 1 - row.min(self.extent - 1));
                }
                let at = i as isize * self.along as isize + j as isize * self.depth as isize;
                *to = T::load(p.wrapping_offset(at));
            }
        }
    }

    /// Writes the thread's elements of a slice to shared memory, k outermost.
    ///
    /// # Safety
    /// `to` must have room for a slice that nobody else uses before the next barrier.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn stash(&self, elements: [T; PER], to: Shared<T>) {
        unroll!(pack in 0..PER / Self::WIDTH => if self.has(pack) {
            let (row, k) = self.place(self.thread, pack);
            let from = &elements[pack * Self::WIDTH..][..Self::WIDTH];
            // SAFETY: as the caller's.
            unsafe {
                if self.deep {
                    for (e, &x) in from.iter().enumerate() {
                        to.store((k + e as u32) * Self::PITCH + row, x);
                    }
                } else {
                    let mut together = T::ZERO.pack();
                    together.as_mut().copy_from_slice(from);
                    to.store_vector(k * Self::PITCH + row, together);
                }
            }
        });
    }
}

/// The elements of a step of k that belong to a thread's rows: `N`, in packs that are `lanes` packs apart.
///
/// # Safety
/// They must have been written to shared memory.
#[inline(always)]
#[track_caller]
pub unsafe fn fragment<T: Real, const N: usize>(from: Shared<T>, lanes: u32) -> [T; N] {
    let width = (T::WIDTH as usize).min(N);
    let mut elements = [T::ZERO; N];
    unroll!(piece in 0..N / width => {
        let at = piece as u32 * lanes * width as u32;
        let to = &mut elements[piece * width..][..width];
        // SAFETY: as the caller's.
        unsafe {
            if width == T::WIDTH as usize {
                to.copy_from_slice(from.load_vector(at).as_ref());
            } else {
                for (e, to) in to.iter_mut().enumerate() {
                    *to = from.load(at + e as u32);
                }
            }
        }
    });
    elements
}
