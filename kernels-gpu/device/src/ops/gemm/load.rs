//! Copies A and B from global to shared memory, and loads fragments from there.

use crate::gpu::shared::Shared;
use crate::gpu::{thread, unroll};
use crate::real::Real;

/// The part of A that belongs to a tile, `extent` rows by k steps. For B, read "column" for "row".
#[derive(Clone, Copy)]
pub struct Operand<T> {
    /// The first element of the tile at k = 0.
    pub p: *const T,
    /// Stride from a row to the next.
    pub row_stride: i64,
    /// Stride from a step of k to the next.
    pub k_stride: i64,
    /// Rows of the tile that exist in the matrix; not 0.
    pub extent: u32,
    /// Whether the elements that a thread loads at a time are consecutive along k, else across the rows.
    pub along_k: bool,
    /// Whether it loads them as packs. A pack that begins in the matrix then also ends in it.
    pub packs: bool,
}

/// A thread's share of copying slices of `E` rows by `K` steps of k to shared memory: `PER` elements of each slice. If
/// there are fewer elements than that, some threads are idle.
pub struct Loader<T, const E: usize, const K: usize, const THREADS: usize, const PER: usize> {
    thread: u32,
    p: [*const T; PER],
    /// Where the first pack goes in a slice in shared memory.
    to: u32,
    row_stride: i64,
    k_stride: i64,
    extent: u32,
    along_k: bool,
    packs: bool,
}

impl<T: Real, const E: usize, const K: usize, const THREADS: usize, const PER: usize>
    Loader<T, E, K, THREADS, PER>
{
    const WIDTH: usize = T::WIDTH as usize;

    /// The leading dimension in shared memory: elements from one step of k to the next. It is padded by one pack, so
    /// that threads that store to different steps of k use different banks.
    pub const PITCH: u32 = E as u32 + T::WIDTH;

    /// Elements that a slice takes in shared memory.
    pub const SLICE: u32 = K as u32 * Self::PITCH;

    /// Returns the loader of a thread, positioned at the first slice.
    #[inline(always)]
    pub fn new(thread: u32, from: &Operand<T>) -> Self {
        let mut loader = Self {
            thread,
            p: [from.p; PER],
            to: 0,
            row_stride: from.row_stride,
            k_stride: from.k_stride,
            extent: from.extent,
            along_k: from.along_k,
            packs: from.packs,
        };
        let (row, k) = loader.position(thread, 0);
        loader.to = k * Self::PITCH + row;
        unroll!(pack in 0..PER / Self::WIDTH => {
            let (row, k) = loader.position(thread, pack);
            let begin = if from.packs && !from.along_k {
                from.extent - T::WIDTH
            } else {
                from.extent - 1
            };
            let at =
                row.min(begin) as isize * from.row_stride as isize + k as isize * from.k_stride as isize;
            loader.p[pack] = from.p.wrapping_offset(at);
        });
        loader
    }

    /// Returns whether the slice has a pack number `pack` for this thread.
    #[inline(always)]
    fn has(&self, pack: usize) -> bool {
        THREADS * PER == E * K || self.thread as usize + pack * THREADS < E * K / Self::WIDTH
    }

    /// Returns the row and the step of k, within the slice, at which a pack of a thread begins.
    #[inline(always)]
    fn position(&self, thread: u32, pack: usize) -> (u32, u32) {
        let index = thread + (pack * THREADS) as u32;
        let (per_row, per_step) = (K as u32 / T::WIDTH, E as u32 / T::WIDTH);
        if self.along_k {
            (index / per_row, index % per_row * T::WIDTH)
        } else {
            (index % per_step * T::WIDTH, index / per_step)
        }
    }

    /// Returns whether elements are loaded as packs.
    #[inline(always)]
    pub fn loads_packs(&self) -> bool {
        self.packs
    }

    /// Loads the thread's elements of the next slice from global memory and advances. Only the first `left` steps of
    /// the slice exist. `WHOLE` says that all exist and are loaded as packs.
    ///
    /// # Safety
    /// The existing elements of the slice must be valid.
    #[inline(always)]
    pub unsafe fn load_global<const WHOLE: bool>(&mut self, left: u32) -> [T; PER] {
        let mut elements = [T::ZERO; PER];
        unroll!(pack in 0..PER / Self::WIDTH => if self.has(pack) {
            let to = &mut elements[pack * Self::WIDTH..][..Self::WIDTH];
            self.load_pack_global::<WHOLE>(pack, left, to);
            let next = K as isize * self.k_stride as isize;
            self.p[pack] = self.p[pack].wrapping_offset(next);
        });
        elements
    }

    /// Loads one pack of the slice.
    ///
    /// # Safety
    /// As [`Loader::load_global`].
    #[inline(always)]
    unsafe fn load_pack_global<const WHOLE: bool>(&self, pack: usize, left: u32, to: &mut [T]) {
        let mut p = self.p[pack];
        if WHOLE || self.packs && left >= K as u32 {
            to.copy_from_slice(T::load_pack(p).as_ref());
            return;
        }
        // `opaque`: values that only this path needs must not occupy registers on the fast path above.
        let (row, mut k) = self.position(thread::opaque(self.thread), pack);
        let width = if self.packs && self.along_k {
            T::WIDTH
        } else {
            1
        };
        let back = k - k.min(left - width);
        p = p.wrapping_offset(-(back as isize * self.k_stride as isize));
        k -= back;
        // SAFETY: the caller guarantees the slice; past its edges the last valid element is read instead.
        unsafe {
            if self.packs {
                to.copy_from_slice(T::load_pack(p).as_ref());
                return;
            }
            for (e, to) in to.iter_mut().enumerate() {
                let (mut i, mut j) = (e as u32, 0);
                if self.along_k {
                    (i, j) = (0, i.min(left - 1 - k));
                } else {
                    i = i.min(self.extent - 1 - row.min(self.extent - 1));
                }
                let at =
                    i as isize * self.row_stride as isize + j as isize * self.k_stride as isize;
                *to = T::load(p.wrapping_offset(at));
            }
        }
    }

    /// Returns where a pack goes in a slice in shared memory. Only the first place is kept in a register: that of
    /// [`Loader::position`] would be computed for both layouts and occupy two.
    #[inline(always)]
    fn place(&self, pack: usize) -> u32 {
        let (per_row, per_step) = (K / Self::WIDTH, E / Self::WIDTH);
        const {
            assert!(
                THREADS.is_multiple_of(K / Self::WIDTH) && THREADS.is_multiple_of(E / Self::WIDTH)
            )
        };
        let apart = if self.along_k {
            (THREADS / per_row) as u32
        } else {
            (THREADS / per_step) as u32 * Self::PITCH
        };
        self.to + pack as u32 * apart
    }

    /// Stores the thread's elements of a slice to shared memory, with k outermost.
    ///
    /// # Safety
    /// `to` must have room for a slice, and no other thread may access the elements stored before the next barrier.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn store_shared(&self, elements: [T; PER], to: Shared<T>) {
        unroll!(pack in 0..PER / Self::WIDTH => if self.has(pack) {
            let at = self.place(pack);
            let from = &elements[pack * Self::WIDTH..][..Self::WIDTH];
            // SAFETY: as the caller's.
            unsafe {
                if self.along_k {
                    for (e, &x) in from.iter().enumerate() {
                        to.store(at + e as u32 * Self::PITCH, x);
                    }
                } else {
                    let mut pack = T::ZERO.pack();
                    pack.as_mut().copy_from_slice(from);
                    to.store_vector(at, pack);
                }
            }
        });
    }
}

/// Loads a thread's fragment of one step of k from shared memory: `N` elements, in packs that are `lanes` packs apart.
///
/// # Safety
/// The elements must have been written to shared memory.
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
