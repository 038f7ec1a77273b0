//! From the sums of a segment to C.

use crate::gpu::{Vector, thread, unroll};
use crate::real::Real;
use crate::single::Single;
use diptych::backend::scalar;

use super::flags;

/// A tile of C, and what follows the last segment.
#[derive(Clone, Copy)]
pub struct Output<T> {
    /// Its first element.
    pub c: *mut T,
    pub rs: i64,
    pub cs: i64,
    /// Rows and columns that exist.
    pub rows: u32,
    pub columns: u32,
    /// The bias of its first element.
    pub bias: *const T,
    pub bias_rs: i64,
    pub bias_cs: i64,
    pub bounds: (T, T),
    pub flags: u32,
}

/// How sums go to C.
#[derive(Clone, Copy)]
pub struct WriteBack<T> {
    /// What the sum is multiplied by.
    pub alpha: T,
    /// What C is multiplied by; 0: it is not read.
    pub beta: T,
    /// Whether bias and clamp follow.
    pub last: bool,
}

/// The rows and columns of a tile that a thread owns.
#[derive(Clone, Copy)]
pub struct Owner {
    /// The first.
    pub row: u32,
    pub column: u32,
    /// Packs from one of its packs to the next.
    pub rows: u32,
    pub columns: u32,
}

/// The i-th of `n` rows or columns of a thread, from its first.
#[inline(always)]
pub fn index<T: Real>(i: usize, n: usize, lanes: u32) -> u32 {
    let width = (T::WIDTH as usize).min(n);
    (i / width) as u32 * lanes * width as u32 + (i % width) as u32
}

impl<T: Real> Output<T> {
    #[inline(always)]
    fn at(&self, i: u32, j: u32) -> *mut T {
        self.c
            .wrapping_offset(i as isize * self.rs as isize + j as isize * self.cs as isize)
    }

    /// Bias and clamp of the value at (i, j).
    ///
    /// # Safety
    /// It must lie in the tile.
    #[inline(always)]
    pub unsafe fn epilogue(&self, mut value: T, i: u32, j: u32) -> T {
        if self.flags & flags::BIAS != 0 {
            let at = i as isize * self.bias_rs as isize + j as isize * self.bias_cs as isize;
            // SAFETY: as the caller's.
            value = value + unsafe { T::load(self.bias.wrapping_offset(at)) };
        }
        if self.flags & flags::CLAMP != 0 {
            value = scalar::clamp(Single::new(), value, self.bounds.0, self.bounds.1);
        }
        if self.flags & flags::NAN != 0 {
            value = T::CANONICAL_NAN;
        }
        value
    }

    /// C after its first segment: what the sum makes of what is there.
    ///
    /// # Safety
    /// (i, j) must lie in the tile.
    #[inline(always)]
    pub unsafe fn begin(&self, sum: T, how: WriteBack<T>, i: u32, j: u32) -> T {
        if how.beta == T::ZERO {
            return how.alpha * sum;
        }
        // SAFETY: as the caller's.
        let c = unsafe { T::load(self.at(i, j)) };
        Vector::fma(how.alpha, sum, how.beta * c)
    }

    /// Whether (i, j) lies in the tile.
    #[inline(always)]
    pub fn has(&self, i: u32, j: u32) -> bool {
        i < self.rows && j < self.columns
    }

    /// Takes a thread's sums to C.
    ///
    /// # Safety
    /// The tile must be valid and its threads own different elements.
    #[inline(always)]
    pub unsafe fn write_back<const M: usize, const N: usize>(
        &self,
        sums: &[[T; N]; M],
        owner: Owner,
        how: WriteBack<T>,
    ) {
        let epilogue = how.last && self.flags >= flags::BIAS;
        let width = if self.flags & flags::C_PACKS == 0 {
            1
        } else {
            T::WIDTH as usize
        };
        if N.is_multiple_of(width) && width > 1 {
            unroll!(i in 0..M => {
                let row = thread::here(owner.row) + index::<T>(i, M, owner.rows);
                if row < self.rows {
                    // SAFETY: as the caller's.
                    unsafe { self.write_packs(&sums[i], row, owner, how, epilogue) }
                }
            });
        } else {
            unroll!(i in 0..M => {
                let row = thread::here(owner.row) + index::<T>(i, M, owner.rows);
                if row < self.rows {
                    // SAFETY: as the caller's.
                    unsafe { self.write_elements(&sums[i], row, owner, how) }
                }
            });
            if epilogue {
                // SAFETY: as the caller's.
                unsafe { self.finish::<M, N>(owner) }
            }
        }
    }

    /// A row, in packs: those that begin in the tile end in it.
    #[inline(always)]
    unsafe fn write_packs<const N: usize>(
        &self,
        sums: &[T; N],
        row: u32,
        owner: Owner,
        how: WriteBack<T>,
        epilogue: bool,
    ) {
        let width = T::WIDTH as usize;
        let first = thread::here(owner.column);
        let c = self.at(row, 0);
        unroll!(piece in 0..N / width => {
            let column = first + index::<T>(piece * width, N, owner.columns);
            if column < self.columns {
                let p = c.wrapping_add(column as usize);
                let sums = &sums[piece * width..][..width];
                // SAFETY: the caller vouches for C.
                unsafe {
                    let mut c = T::ZERO.pack();
                    if how.beta != T::ZERO {
                        c = T::load_pack(p);
                        for (c, &sum) in c.as_mut().iter_mut().zip(sums) {
                            *c = Vector::fma(how.alpha, sum, how.beta * *c);
                        }
                    } else {
                        for (c, &sum) in c.as_mut().iter_mut().zip(sums) {
                            *c = how.alpha * sum;
                        }
                    }
                    if epilogue {
                        for (e, c) in c.as_mut().iter_mut().enumerate() {
                            *c = self.epilogue(*c, row, column + e as u32);
                        }
                    }
                    T::store_pack(p, c);
                }
            }
        });
    }

    /// A row, element by element.
    #[inline(always)]
    unsafe fn write_elements<const N: usize>(
        &self,
        sums: &[T; N],
        row: u32,
        owner: Owner,
        how: WriteBack<T>,
    ) {
        let first = thread::here(owner.column);
        unroll!(j in 0..N => {
            let column = first + index::<T>(j, N, owner.columns);
            if column < self.columns {
                // SAFETY: the caller vouches for C.
                unsafe {
                    let c = self.begin(sums[j], how, row, column);
                    T::store(self.at(row, column), c);
                }
            }
        });
    }

    /// Bias and clamp of what a thread has stored: a loop of little code, since the sums are no longer needed.
    #[inline(always)]
    unsafe fn finish<const M: usize, const N: usize>(&self, owner: Owner) {
        let mut element = 0;
        // The bound is hidden: a loop that is unrolled would be long.
        while element < thread::here((M * N) as u32) {
            let row = owner.row + index::<T>(element as usize / N, M, owner.rows);
            let column = owner.column + index::<T>(element as usize % N, N, owner.columns);
            if self.has(row, column) {
                let p = self.at(row, column);
                // SAFETY: the caller vouches for C; this thread alone has written the element.
                unsafe { T::store(p, self.epilogue(T::load(p), row, column)) };
            }
            element += 1;
        }
    }
}
