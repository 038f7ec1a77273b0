//! Copies A and B from global memory to words in shared memory.

use crate::gpu::shared::Shared;
use crate::gpu::words::{load_four, load_two};
use crate::gpu::{Bits, Vector, no_unroll, thread};
use core::marker::PhantomData;

/// The part of A that belongs to a tile, `extent` rows by k steps. For B, read "column" for "row". Steps are bytes.
#[derive(Clone, Copy)]
pub struct Operand {
    /// The first element of the tile, at the first step of k of the block.
    pub p: *const u8,
    /// From a row to the next.
    pub row_step: i64,
    /// From a step of k to the next.
    pub k_step: i64,
    /// Rows of the tile that exist in the matrix; not 0.
    pub extent: u32,
    /// Whether a thread loads steps of k of one row, else one step of several rows.
    pub along_k: bool,
    /// Whether it loads consecutive elements at once.
    pub packs: bool,
    /// Whether it loads 4 bytes at once, along k.
    pub words: bool,
}

/// A thread's share of copying slices of `E` rows by `K` words of k to shared memory: 16 bytes of each slice, which are
/// words of one row along k, or of several rows at one place along k. An element is as large as `T`.
pub struct Loader<T, const E: usize, const K: usize> {
    from: Operand,
    /// The first of the thread's rows.
    row: u32,
    /// The first of its words.
    word: u32,
    of: PhantomData<T>,
}

impl<T, const E: usize, const K: usize> Loader<T, E, K> {
    /// Bytes of a word.
    const WORD: usize = if size_of::<T>() < 4 {
        4
    } else {
        size_of::<T>()
    };
    /// Steps of k in a word.
    pub const STEPS: usize = Self::WORD / size_of::<T>();
    /// Words that a thread loads.
    pub const PER: usize = 16 / Self::WORD;
    /// Words from one place along k to the next in shared memory. They are padded by 16 bytes, so that threads that store
    /// to different places use different banks.
    pub const PITCH: u32 = (E + Self::PER) as u32;
    /// Words that a slice takes in shared memory.
    pub const SLICE: u32 = K as u32 * Self::PITCH;

    /// Returns the loader of a thread, at the first slice.
    #[inline(always)]
    pub fn new(thread: u32, from: Operand) -> Self {
        let (per_row, per_step) = ((K / Self::PER) as u32, (E / Self::PER) as u32);
        let per = Self::PER as u32;
        let (row, word) = if from.along_k {
            (thread / per_row, thread % per_row * per)
        } else {
            (thread % per_step * per, thread / per_step)
        };
        let k = word as i64 * Self::STEPS as i64;
        let first = row as i64 * from.row_step + k * from.k_step;
        let p = from.p.wrapping_offset(first as isize);
        Self {
            from: Operand { p, ..from },
            row,
            word,
            of: PhantomData,
        }
    }

    /// Loads the thread's words of the next slice, of which `left` steps exist, and advances. The others are 0, and so
    /// are rows that do not exist.
    ///
    /// # Safety
    /// The elements that exist must be valid.
    #[inline(always)]
    pub unsafe fn load(&mut self, left: u64) -> [u32; 4] {
        let mut words = [0; 4];
        let k = self.word as u64 * Self::STEPS as u64;
        if k < left && self.row < self.from.extent {
            let left = left - k;
            words = if self.from.along_k {
                self.along_k(left)
            } else {
                self.along_rows(left)
            };
        }
        let next = (K * Self::STEPS) as i64 * self.from.k_step;
        self.from.p = self.from.p.wrapping_offset(next as isize);
        words
    }

    /// Loads words of one row, of which `left` steps exist.
    ///
    /// # Safety
    /// As [`Loader::load`].
    #[inline(always)]
    unsafe fn along_k(&self, left: u64) -> [u32; 4] {
        let p = self.from.p;
        let whole = left >= (Self::PER * Self::STEPS) as u64;
        if self.from.packs && whole {
            return load_four(p.cast());
        }
        if size_of::<T>() < 4 && self.from.words && whole {
            let word = |at: usize| <u32 as Bits>::load(p.wrapping_add(4 * at).cast()) as u32;
            return [word(0), word(1), word(2), word(3)];
        }
        self.elements(left)
    }

    /// Loads a word of each of several rows, of which `left` steps exist.
    ///
    /// # Safety
    /// As [`Loader::load`].
    #[inline(always)]
    unsafe fn along_rows(&self, left: u64) -> [u32; 4] {
        let whole = left >= Self::STEPS as u64 && self.from.extent - self.row >= Self::PER as u32;
        if !(self.from.packs && whole) {
            return self.elements(left);
        }
        let step = |k: i64| self.from.p.wrapping_offset((k * self.from.k_step) as isize);
        match size_of::<T>() {
            1 => {
                let of_rows = |k: i64| <u32 as Bits>::load(step(k).cast()) as u32;
                transposed([of_rows(0), of_rows(1), of_rows(2), of_rows(3)])
            }
            2 => {
                let (even, odd) = (load_two(step(0).cast()), load_two(step(1).cast()));
                let low = |i: usize| even[i] & 0xFFFF | odd[i] << 16;
                let high = |i: usize| even[i] >> 16 | odd[i] & 0xFFFF_0000;
                [low(0), high(0), low(1), high(1)]
            }
            _ => load_four(self.from.p.cast()),
        }
    }

    /// Loads element by element. What does not exist is 0; in its place the first element is read.
    ///
    /// # Safety
    /// As [`Loader::load`]; the first element must exist.
    #[inline(always)]
    unsafe fn elements(&self, left: u64) -> [u32; 4] {
        let from = &self.from;
        let rows = from.extent - self.row;
        // 32 bits are enough for what a thread loads.
        let left = left.min(16) as u32;
        let element = |at: u32| {
            let steps = Self::STEPS as u32;
            let (row, k) = if from.along_k {
                (0, at)
            } else {
                (at / steps, at % steps)
            };
            let exists = row < rows && k < left;
            let distance = row as i64 * from.row_step + k as i64 * from.k_step;
            let p = from
                .p
                .wrapping_offset(if exists { distance as isize } else { 0 });
            let bits = match size_of::<T>() {
                1 => <u8 as Bits>::load(p),
                2 => <u16 as Bits>::load(p.cast()),
                4 => <u32 as Bits>::load(p.cast()),
                _ => <u64 as Bits>::load(p.cast()),
            };
            if exists { bits } else { 0 }
        };
        match size_of::<T>() {
            1 => {
                let of_bytes = |at: u32| {
                    let (a, b) = (element(at), element(at + 1));
                    let (c, d) = (element(at + 2), element(at + 3));
                    (a | b << 8 | c << 16 | d << 24) as u32
                };
                rolled(of_bytes, 4)
            }
            2 => rolled(|at| (element(at) | element(at + 1) << 16) as u32, 2),
            4 => {
                let word = |at: u32| element(at) as u32;
                [word(0), word(1), word(2), word(3)]
            }
            _ => {
                let (a, b) = (element(0), element(1));
                [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32]
            }
        }
    }

    /// Stores the thread's words of a slice to shared memory.
    ///
    /// # Safety
    /// `to` must have room for a slice, and no other thread may access the words stored before the next barrier.
    #[inline(always)]
    #[track_caller]
    pub unsafe fn store<W: OfBits>(&self, words: [u32; 4], to: Shared<W>) {
        let pack = W::of_bits(words);
        let first = self.word * Self::PITCH + self.row;
        // SAFETY: as the caller's.
        unsafe {
            if self.from.along_k {
                for (i, &word) in pack.as_ref().iter().enumerate() {
                    to.store(first + i as u32 * Self::PITCH, word);
                }
            } else {
                to.store_vector(first, pack);
            }
        }
    }
}

/// Returns the words of 0, `step`, `2 * step` and `3 * step`, two at a time by a rolled loop: the addresses of all of their
/// elements at once would take too many registers.
#[inline(always)]
fn rolled(word: impl Fn(u32) -> u32, step: u32) -> [u32; 4] {
    let (mut a, mut b, mut c, mut d) = (0, 0, 0, 0);
    let mut at = 0;
    while at < thread::opaque(4 * step) {
        no_unroll();
        (a, b) = (c, d);
        (c, d) = (word(at), word(at + step));
        at += 2 * step;
    }
    [a, b, c, d]
}

/// Returns four words of the bytes in each of four places.
#[inline(always)]
fn transposed(steps: [u32; 4]) -> [u32; 4] {
    let [a, b, c, d] = steps;
    let word = |shift: u32| {
        let byte = |x: u32| x >> shift & 0xFF;
        byte(a) | byte(b) << 8 | byte(c) << 16 | byte(d) << 24
    };
    [word(0), word(8), word(16), word(24)]
}

/// What holds the bits of words in shared memory.
pub trait OfBits: Vector {
    /// Returns a pack with these bits.
    fn of_bits(words: [u32; 4]) -> Self::Pack;
}

impl OfBits for f32 {
    #[inline(always)]
    fn of_bits([a, b, c, d]: [u32; 4]) -> [f32; 4] {
        let word = f32::from_bits;
        [word(a), word(b), word(c), word(d)]
    }
}

impl OfBits for f64 {
    #[inline(always)]
    fn of_bits([a, b, c, d]: [u32; 4]) -> [f64; 2] {
        let word = |low: u32, high: u32| f64::from_bits(u64::from(low) | u64::from(high) << 32);
        [word(a, b), word(c, d)]
    }
}
