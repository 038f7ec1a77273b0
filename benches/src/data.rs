//! The operands of a bench, and their sizes.

use std::ops::{Deref, DerefMut};

/// An element type, with what the benches need.
pub trait Real: diptych::Element {
    /// "f32" or "f64".
    const NAME: &'static str;
    /// Returns the nearest value.
    fn of(value: f64) -> Self;
}

impl Real for f32 {
    const NAME: &'static str = "f32";
    fn of(value: f64) -> Self {
        value as f32
    }
}

impl Real for f64 {
    const NAME: &'static str = "f64";
    fn of(value: f64) -> Self {
        value
    }
}

/// A slice that is aligned to a cache line, so that runs are comparable.
#[derive(Default)]
pub struct Buffer<T> {
    memory: Vec<T>,
    start: usize,
    len: usize,
}

impl<T: Real> Buffer<T> {
    /// Returns `len` random values ([`random`]), which depend only on the seed.
    pub fn random(len: usize, seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        Self::filled(len, || T::of(random(&mut rng)))
    }
}

/// Returns a random value with a magnitude of 0.7 to 1.4 and either sign. Sums and products of such values do not overflow
/// or underflow soon, and none is subnormal.
pub fn random(rng: &mut fastrand::Rng) -> f64 {
    let magnitude = 0.7 + 0.7 * rng.f64();
    if rng.bool() { magnitude } else { -magnitude }
}

impl<T: Copy + Default> Buffer<T> {
    /// Returns `len` values.
    pub fn filled(len: usize, value: impl FnMut() -> T) -> Self {
        const LINE: usize = 64;
        let padding = LINE / size_of::<T>();
        let mut memory: Vec<T> = Vec::with_capacity(len + padding);
        ask_for_huge_pages(&mut memory);
        let start = memory.as_ptr().align_offset(LINE);
        memory.resize(start, T::default());
        memory.resize_with(start + len, value);
        Self { memory, start, len }
    }
}

/// Asks for huge pages for large arrays. NumPy does so too, and all libraries should be timed on the same kind of
/// memory.
#[cfg(target_os = "linux")]
fn ask_for_huge_pages<T>(memory: &mut Vec<T>) {
    const MIN_BYTES: usize = 4 << 20;
    const PAGE: usize = 4096;
    let bytes = memory.capacity() * size_of::<T>();
    let skipped = memory.as_ptr().cast::<u8>().align_offset(PAGE);
    if bytes >= MIN_BYTES {
        // SAFETY: whole pages inside the allocation; the advice changes no content.
        unsafe {
            let start = memory.as_mut_ptr().cast::<u8>().add(skipped);
            let whole = (bytes - skipped) / PAGE * PAGE;
            libc::madvise(start.cast(), whole, libc::MADV_HUGEPAGE);
        }
    }
}

#[cfg(not(target_os = "linux"))]
fn ask_for_huge_pages<T>(_: &mut Vec<T>) {}

impl<T> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.memory[self.start..self.start + self.len]
    }
}

impl<T> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.memory[self.start..self.start + self.len]
    }
}

/// The size of a bench, by the cache level that holds all its operands together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// In L1.
    L1,
    /// In L2.
    L2,
    /// In the last-level cache.
    L3,
    /// In no cache.
    Memory,
}

impl Size {
    /// All sizes.
    pub const ALL: [Size; 4] = [Size::L1, Size::L2, Size::L3, Size::Memory];

    /// Returns its name in a bench.
    pub fn name(self) -> &'static str {
        match self {
            Size::L1 => "L1",
            Size::L2 => "L2",
            Size::L3 => "L3",
            Size::Memory => "memory",
        }
    }

    /// Returns the bytes of all operands together.
    pub fn bytes(self) -> usize {
        match self {
            Size::L1 => 16 << 10,
            Size::L2 => 512 << 10,
            Size::L3 => 8 << 20,
            Size::Memory => 192 << 20,
        }
    }
}

/// The extents of an operation: vectors have n elements, matrices m rows and n columns; products sum over k; batches
/// have `batch` items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Rows.
    pub m: usize,
    /// Columns, or elements.
    pub n: usize,
    /// The extent over which a product sums.
    pub k: usize,
    /// Items of a batch.
    pub batch: usize,
}

impl Shape {
    /// A vector.
    pub const fn vector(n: usize) -> Self {
        Self::product(1, n, 1)
    }
    /// A matrix.
    pub const fn matrix(m: usize, n: usize) -> Self {
        Self::product(m, n, 1)
    }
    /// A product of matrices.
    pub const fn product(m: usize, n: usize, k: usize) -> Self {
        Self { m, n, k, batch: 1 }
    }
}

/// The operands of a bench, which decides what each of them means.
pub struct Operands<T> {
    /// Their extents.
    pub shape: Shape,
    /// The first input.
    pub x: Buffer<T>,
    /// The second input.
    pub y: Buffer<T>,
    /// A short third input: a bias, or the vector of a matrix operation.
    pub z: Buffer<T>,
    /// The output, or the array that is updated in place.
    pub out: Buffer<T>,
    /// The output of reductions whose results are indices or counts.
    pub index: Vec<i64>,
}

impl<T> Operands<T> {
    /// Returns pointers to them, for calls through a C interface.
    pub fn pointers(&mut self) -> Pointers<T> {
        Pointers {
            shape: self.shape,
            x: self.x.as_ptr(),
            y: self.y.as_ptr(),
            z: self.z.as_mut_ptr(),
            out: self.out.as_mut_ptr(),
            index: self.index.as_mut_ptr(),
        }
    }
}

/// Pointers to [`Operands`].
#[derive(Clone, Copy)]
pub struct Pointers<T> {
    /// Their extents.
    pub shape: Shape,
    /// The first input.
    pub x: *const T,
    /// The second input.
    pub y: *const T,
    /// The short third input.
    pub z: *mut T,
    /// The output.
    pub out: *mut T,
    /// The output that holds indices.
    pub index: *mut i64,
}
