//! From the sums of a micro-tile to elements of C.

use super::product::{Finish, Numbers};
use super::routines::MAX_NR;
use crate::element::{Element, Storage};
use crate::matrix::Matrix;
use crate::ops::gemm::Rule;
use crate::ops::{load, store};
use crate::scalar;
use crate::simd::{Access, Simd};

/// Finishes a micro-tile.
///
/// Unsafe to call: the machine must have the level, the sums must have been computed, and C must be valid.
pub type Write = unsafe fn(&Finish, &WriteTile);

/// The sums of a micro-tile, and where they go.
#[derive(Clone, Copy)]
pub struct WriteTile {
    /// Its rows and columns.
    pub rows: usize,
    pub columns: usize,
    /// The sums, and the bytes from one row to the next. They are scratch memory.
    pub sums: *mut u8,
    pub sums_rs: isize,
    /// C from the micro-tile on; strides in bytes.
    pub c: Matrix<*mut u8>,
    /// Its first row and column in C.
    pub at: (usize, usize),
    /// False if nothing was summed; the sums are then not read.
    pub has_sums: bool,
}

/// Integers, as they are summed.
pub trait Integer: Copy {
    /// 0.
    const ZERO: Self;
    /// Returns the sum modulo 2^bits.
    fn plus(self, other: Self) -> Self;
    /// Returns the product modulo 2^bits.
    fn times(self, other: Self) -> Self;
}

macro_rules! integer {
    ($($T:ty)*) => {$(
        impl Integer for $T {
            const ZERO: Self = 0;
            #[inline(always)]
            fn plus(self, other: Self) -> Self {
                self.wrapping_add(other)
            }
            #[inline(always)]
            fn times(self, other: Self) -> Self {
                self.wrapping_mul(other)
            }
        }
    )*};
}
integer!(i32 i64);

/// C = sums, or C + sums if beta is not 0, for integers of the type of the sums.
///
/// # Safety
/// As [`Write`].
#[inline(always)]
pub unsafe fn write_integers<T: Integer>(finish: &Finish, tile: &WriteTile) {
    let adds = finish.beta != 0.0;
    for i in 0..tile.rows {
        let sums = tile
            .sums
            .wrapping_offset(i as isize * tile.sums_rs)
            .cast::<T>();
        let row = tile.c.at(i, 0);
        let one = |j: usize, to: *mut T| {
            let sum = if tile.has_sums { *sums.add(j) } else { T::ZERO };
            *to = if adds { sum.plus(*to) } else { sum };
        };
        if tile.c.cs == size_of::<T>() as isize {
            for j in 0..tile.columns {
                one(j, row.cast::<T>().add(j));
            }
        } else {
            for j in 0..tile.columns {
                one(j, row.wrapping_offset(j as isize * tile.c.cs).cast());
            }
        }
    }
}

/// Turns sums of integers, if there are any, into `f32`, in place: rounded, times the factor of the row, rounded, times that of the column.
///
/// # Safety
/// As [`Write`].
#[inline(always)]
pub unsafe fn scale(finish: &Finish, tile: &WriteTile) {
    if !tile.has_sums {
        return;
    }
    let mut factors = [1.0_f32; MAX_NR];
    gather(&finish.column_scale, tile, &mut factors);
    for i in 0..tile.rows {
        let sums = tile.sums.wrapping_offset(i as isize * tile.sums_rs);
        let row = if finish.row_scale.is_some() {
            finish.row_scale.get(tile.at.0 + i)
        } else {
            1.0
        };
        for (j, factor) in factors.iter().enumerate().take(tile.columns) {
            let sum = *sums.cast::<i32>().add(j);
            *sums.cast::<f32>().add(j) = if finish.scales_columns_first {
                sum as f32 * factor * row
            } else {
                sum as f32 * row * factor
            };
        }
    }
}

/// Copies the numbers of the columns of a micro-tile, if there are any.
///
/// # Safety
/// They must be valid for reading.
#[inline(always)]
unsafe fn gather(numbers: &Numbers, tile: &WriteTile, out: &mut [f32; MAX_NR]) {
    if numbers.is_some() {
        for (j, out) in out.iter_mut().enumerate().take(tile.columns) {
            *out = numbers.get(tile.at.1 + j);
        }
    }
}

/// Finishes sums in `f32`; see [`Finish`]. A NaN becomes the canonical one.
///
/// # Safety
/// As [`Write`].
#[inline(always)]
pub unsafe fn write_floats<S: Simd<T = f32> + Access<M>, M: Storage<Compute = f32>>(
    s: S,
    finish: &Finish,
    tile: &WriteTile,
) {
    if finish.is_rounding() && tile.has_sums && tile.c.cs == size_of::<M>() as isize {
        return round::<S, M>(s, tile);
    }
    let mut column_bias = [0.0_f32; MAX_NR];
    gather(&finish.column_bias, tile, &mut column_bias);
    let has_column_bias = finish.column_bias.is_some();
    let (alpha, beta) = (s.splat(finish.alpha), s.splat(finish.beta));
    let (lo, hi) = finish.clamp.bounds();
    let bytes = size_of::<M>() as isize;
    for i in 0..tile.rows {
        let sums = tile
            .sums
            .wrapping_offset(i as isize * tile.sums_rs)
            .cast::<f32>();
        let row_bias = if finish.row_bias.is_some() {
            Some(s.splat(finish.row_bias.get(tile.at.0 + i)))
        } else {
            None
        };
        let mut j = 0;
        while j < tile.columns {
            let len = S::N.min(tile.columns - j);
            let c = tile.c.at(i, j).cast::<M>();
            let mut v = s.splat(0.0);
            if tile.has_sums {
                v = s.mul(alpha, load(s, sums.add(j).cast_const(), len));
            }
            if finish.beta != 0.0 {
                let old = if tile.c.cs == bytes {
                    load(s, c.cast_const(), len)
                } else {
                    s.load_strided(c, tile.c.cs / bytes, len)
                };
                let old = s.mul(beta, old);
                v = if tile.has_sums {
                    s.fma(alpha, load(s, sums.add(j).cast_const(), len), old)
                } else {
                    old
                };
            }
            if let Some(bias) = row_bias {
                v = s.add(v, bias);
            }
            if has_column_bias {
                v = s.add(v, load(s, column_bias.as_ptr().add(j), len));
            }
            v = match finish.clamp.rule() {
                Rule::Keep => v,
                Rule::Limit => {
                    let (lo, hi) = (s.splat(lo), s.splat(hi));
                    scalar::clamp(s, v, lo, hi)
                }
                Rule::Nan => s.splat(f32::CANONICAL_NAN),
            };
            v = s.canonical(v);
            if tile.c.cs == bytes {
                store(s, c, len, v);
            } else {
                s.store_strided(c, tile.c.cs / bytes, len, v);
            }
            j += S::N;
        }
    }
}

/// Rounds sums to the type of C.
///
/// # Safety
/// As [`Write`]; the rows of C must be contiguous.
#[inline(always)]
unsafe fn round<S: Simd<T = f32> + Access<M>, M: Storage<Compute = f32>>(s: S, tile: &WriteTile) {
    for i in 0..tile.rows {
        let sums = tile
            .sums
            .wrapping_offset(i as isize * tile.sums_rs)
            .cast::<f32>()
            .cast_const();
        let c = tile.c.at(i, 0).cast::<M>();
        let mut j = 0;
        while j + S::N <= tile.columns {
            s.store(c.wrapping_add(j), s.canonical(s.load(sums.wrapping_add(j))));
            j += S::N;
        }
        if j < tile.columns {
            let len = tile.columns - j;
            let v = s.canonical(s.load_partial(sums.wrapping_add(j), len));
            s.store_partial(c.wrapping_add(j), len, v);
        }
    }
}
