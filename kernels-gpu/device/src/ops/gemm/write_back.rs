//! The write-back of a segment's sums to C, and the epilogue.

use crate::gpu::{Vector, thread, unroll};
use crate::real::Real;
use crate::single::Single;
use diptych::backend::scalar;

use super::flags;

/// Packs of C that a thread loads before it stores the first of them: it waits for memory once for all of them. They
/// fit in the registers that held the fragments of A and B.
const IN_FLIGHT: usize = 4;

/// A tile of C, and the epilogue that follows the last segment.
#[derive(Clone, Copy)]
pub struct Output<T> {
    /// The tile's first element.
    pub c: *mut T,
    pub rs: i64,
    pub cs: i64,
    /// Rows and columns of the tile that exist in C.
    pub rows: u32,
    pub columns: u32,
    /// The bias of the tile's first element.
    pub bias: *const T,
    pub bias_rs: i64,
    pub bias_cs: i64,
    pub bounds: (T, T),
    pub flags: u32,
}

/// How sums are written to C: C = alpha * sum + beta * C.
#[derive(Clone, Copy)]
pub struct WriteBack<T> {
    /// The factor of the sum.
    pub alpha: T,
    /// The factor of C, which is not read if this is 0.
    pub beta: T,
    /// Whether this is the last segment, after which bias and clamp are applied.
    pub last: bool,
}

impl<T: Real> WriteBack<T> {
    /// Returns whether C is read.
    #[inline(always)]
    fn reads_c(self) -> bool {
        self.beta != T::ZERO
    }

    /// Returns an element of C after this segment, whose sum is given; `c` is its value before, if that is read.
    #[inline(always)]
    fn apply(self, sum: T, c: T) -> T {
        if self.reads_c() {
            Vector::fma(self.alpha, sum, self.beta * c)
        } else {
            self.alpha * sum
        }
    }
}

/// The rows and columns of a thread-block tile that a thread owns.
#[derive(Clone, Copy)]
pub struct ThreadTile {
    /// The first row and column.
    pub row: u32,
    pub column: u32,
    /// The distance, in packs, from one of the thread's packs to the next.
    pub row_stride: u32,
    pub column_stride: u32,
}

/// Returns the offset of the i-th of a thread's `n` rows or columns from its first; its packs are `lanes` packs apart.
#[inline(always)]
pub fn index<T: Real>(i: usize, n: usize, lanes: u32) -> u32 {
    let width = (T::WIDTH as usize).min(n);
    (i / width) as u32 * lanes * width as u32 + (i % width) as u32
}

impl<T: Real> Output<T> {
    /// Returns a pointer to element (i, j) of the tile.
    #[inline(always)]
    pub fn at(&self, i: u32, j: u32) -> *mut T {
        self.c
            .wrapping_offset(i as isize * self.rs as isize + j as isize * self.cs as isize)
    }

    /// Applies bias and clamp to the value at (i, j).
    ///
    /// # Safety
    /// (i, j) must lie in the tile.
    #[inline(always)]
    pub unsafe fn epilogue(&self, mut value: T, i: u32, j: u32) -> T {
        if self.flags & flags::BIAS != 0 {
            let at = i as isize * self.bias_rs as isize + j as isize * self.bias_cs as isize;
            value = value + T::load(self.bias.wrapping_offset(at));
        }
        if self.flags & flags::CLAMP != 0 {
            value = scalar::clamp(Single::new(), value, self.bounds.0, self.bounds.1);
        }
        if self.flags & flags::NAN != 0 {
            value = T::CANONICAL_NAN;
        }
        value
    }

    /// Returns element (i, j) of C after its first segment, whose sum is given.
    ///
    /// # Safety
    /// (i, j) must lie in the tile.
    #[inline(always)]
    pub unsafe fn begin(&self, sum: T, how: WriteBack<T>, i: u32, j: u32) -> T {
        let mut c = T::ZERO;
        if how.reads_c() {
            c = T::load(self.at(i, j));
        }
        how.apply(sum, c)
    }

    /// Returns whether (i, j) lies in the tile.
    #[inline(always)]
    pub fn has(&self, i: u32, j: u32) -> bool {
        i < self.rows && j < self.columns
    }

    /// Writes a thread's sums to C.
    ///
    /// # Safety
    /// The tile must be valid, and its threads must own disjoint elements.
    #[inline(always)]
    pub unsafe fn write_back<const M: usize, const N: usize>(
        &self,
        sums: &[[T; N]; M],
        thread_tile: ThreadTile,
        how: WriteBack<T>,
    ) {
        let epilogue = how.last && self.flags >= flags::BIAS;
        let packs_per_row = N / T::WIDTH as usize;
        if self.flags & flags::C_PACKS != 0 && packs_per_row > 0 {
            unroll!(group in 0..(M * packs_per_row).div_ceil(IN_FLIGHT) => {
                self.write_packs(sums, group * IN_FLIGHT, thread_tile, how, epilogue)
            });
        } else {
            unroll!(i in 0..M => {
                let row = thread::opaque(thread_tile.row) + index::<T>(i, M, thread_tile.row_stride);
                if row < self.rows {
                    self.write_elements(&sums[i], row, thread_tile, how)
                }
            });
            if epilogue {
                self.finish::<M, N>(thread_tile)
            }
        }
    }

    /// Writes [`IN_FLIGHT`] of the thread's packs, from number `first` on. A pack that begins in the tile also ends in
    /// it.
    #[inline(always)]
    unsafe fn write_packs<const M: usize, const N: usize>(
        &self,
        sums: &[[T; N]; M],
        first: usize,
        thread_tile: ThreadTile,
        how: WriteBack<T>,
        epilogue: bool,
    ) {
        let width = T::WIDTH as usize;
        let per_row = N / width;
        let (top, left) = (
            thread::opaque(thread_tile.row),
            thread::opaque(thread_tile.column),
        );
        let mut packs = [T::ZERO.pack(); IN_FLIGHT];
        unroll!(pack in 0..IN_FLIGHT => if first + pack < M * per_row {
            let (i, j) = ((first + pack) / per_row, (first + pack) % per_row * width);
            let row = top + index::<T>(i, M, thread_tile.row_stride);
            let column = left + index::<T>(j, N, thread_tile.column_stride);
            if how.reads_c() && self.has(row, column) {
                // SAFETY: the caller guarantees C.
                packs[pack] = unsafe { T::load_pack(self.at(row, 0).wrapping_add(column as usize)) };
            }
        });
        unroll!(pack in 0..IN_FLIGHT => if first + pack < M * per_row {
            let (i, j) = ((first + pack) / per_row, (first + pack) % per_row * width);
            let row = top + index::<T>(i, M, thread_tile.row_stride);
            let column = left + index::<T>(j, N, thread_tile.column_stride);
            if self.has(row, column) {
                let c = packs[pack].as_mut();
                for (c, &sum) in c.iter_mut().zip(&sums[i][j..][..width]) {
                    *c = how.apply(sum, *c);
                }
                // SAFETY: the caller guarantees C.
                unsafe {
                    if epilogue {
                        for (e, c) in c.iter_mut().enumerate() {
                            *c = self.epilogue(*c, row, column + e as u32);
                        }
                    }
                    T::store_pack(self.at(row, 0).wrapping_add(column as usize), packs[pack]);
                }
            }
        });
    }

    /// Writes a row element by element, after all of its elements have been loaded.
    #[inline(always)]
    unsafe fn write_elements<const N: usize>(
        &self,
        sums: &[T; N],
        row: u32,
        thread_tile: ThreadTile,
        how: WriteBack<T>,
    ) {
        let first = thread::opaque(thread_tile.column);
        let mut elements = [T::ZERO; N];
        if how.reads_c() {
            unroll!(j in 0..N => {
                let column = first + index::<T>(j, N, thread_tile.column_stride);
                if column < self.columns {
                    // SAFETY: the caller guarantees C.
                    elements[j] = unsafe { T::load(self.at(row, column)) };
                }
            });
        }
        unroll!(j in 0..N => {
            let column = first + index::<T>(j, N, thread_tile.column_stride);
            if column < self.columns {
                // SAFETY: the caller guarantees C.
                unsafe { T::store(self.at(row, column), how.apply(sums[j], elements[j])) };
            }
        });
    }

    /// Applies bias and clamp to the elements that the thread has stored. They are loaded from C again, since the sums
    /// are no longer needed: a rolled loop takes little code.
    #[inline(always)]
    unsafe fn finish<const M: usize, const N: usize>(&self, thread_tile: ThreadTile) {
        let mut element = 0;
        // `opaque` hides the bound from the compiler, which would unroll the loop into much code.
        while element < thread::opaque((M * N) as u32) {
            let row = thread_tile.row + index::<T>(element as usize / N, M, thread_tile.row_stride);
            let column =
                thread_tile.column + index::<T>(element as usize % N, N, thread_tile.column_stride);
            if self.has(row, column) {
                let p = self.at(row, column);
                // SAFETY: the caller guarantees C; this thread alone has written the element.
                unsafe { T::store(p, self.epilogue(T::load(p), row, column)) };
            }
            element += 1;
        }
    }
}
