//! Products of integers without packing: of one or two rows or columns, and without scratch memory.

use super::product::MixedGemm;
use super::write::Integer;
use crate::array::from_fn;
use crate::matrix::Matrix;
use crate::ops::integers::opaque;

/// Elements that are widened to the type of the sums.
pub trait Widen<T> {
    /// Returns the element at `p`.
    ///
    /// # Safety
    /// `p` must be valid for reading it.
    unsafe fn widen(p: *const u8) -> T;
}

macro_rules! widen {
    ($($E:ty as $T:ty),*) => {$(
        impl Widen<$T> for $E {
            #[inline(always)]
            unsafe fn widen(p: *const u8) -> $T {
                <$T>::from(*p.cast::<$E>())
            }
        }
    )*};
}
widen!(i8 as i32, u8 as i32, i32 as i32, i64 as i64);

/// The columns or steps that a loop takes together, for the compiler to make vectors of them.
const TOGETHER: usize = 16;
/// The steps that are added to the sums of columns together.
const STEPS: usize = 4;

/// Whether the code of the portable level should be small rather than fast, as
/// [`prefers_small_code`](crate::ops::prefers_small_code) says.
pub const PORTABLE: bool = cfg!(target_arch = "x86_64");
/// The same of all other levels.
pub const FAST: bool = false;

/// See [`InPlace`](super::routines::InPlace). Reads B once, along the side on which its elements are closer together.
///
/// # Safety
/// As [`InPlace`](super::routines::InPlace).
#[inline(always)]
pub unsafe fn in_place<A: Widen<T>, B: Widen<T>, T: Integer, const IS_SMALL: bool>(
    p: &MixedGemm,
    (i, j): (usize, usize),
    (rows, columns): (usize, usize),
    sums: *mut u8,
    pitch: usize,
) {
    let (a, b) = (p.a.offset(i, 0), p.b.offset(0, j));
    let row = |r: usize| sums.wrapping_add(r * pitch).cast::<T>();
    if columns > 1 && b.cs.unsigned_abs() < b.rs.unsigned_abs() {
        for r in 0..rows {
            row(r).write_bytes(0, columns);
        }
        let mut l = 0;
        while l < p.k {
            for r in 0..rows {
                let (a, b) = (a.offset(r, l), b.offset(l, 0));
                add_steps::<A, B, T, IS_SMALL>(STEPS.min(p.k - l), a, b, columns, row(r));
            }
            l += STEPS;
        }
        return;
    }
    let mut c = 0;
    while c < columns {
        for r in 0..rows {
            let sum = dot::<A, B, T, IS_SMALL>(p.k, a.offset(r, 0), b.offset(0, c));
            *row(r).add(c) = sum;
        }
        c += opaque(&1);
    }
}

/// Adds at most [`STEPS`] steps to the sums of a row.
///
/// # Safety
/// The matrices must have these steps, B so many columns, and there must be as many sums.
#[inline(always)]
unsafe fn add_steps<A: Widen<T>, B: Widen<T>, T: Integer, const IS_SMALL: bool>(
    steps: usize,
    a: Matrix<*const u8>,
    b: Matrix<*const u8>,
    columns: usize,
    sums: *mut T,
) {
    // Steps that are missing are the last one, times 0.
    let rows: [*const u8; STEPS] = from_fn(|s| b.at(s.min(steps - 1), 0));
    let factors: [T; STEPS] = from_fn(|s| {
        if s < steps {
            A::widen(a.at(0, s))
        } else {
            T::ZERO
        }
    });
    let mut c = 0;
    while !IS_SMALL && b.cs == size_of::<B>() as isize && columns - c >= TOGETHER {
        let block = sums.add(c).cast::<[T; TOGETHER]>();
        let mut of_block = block.read();
        for (row, factor) in rows.into_iter().zip(factors) {
            for (w, sum) in of_block.iter_mut().enumerate() {
                let element = row.wrapping_add((c + w) * size_of::<B>());
                *sum = sum.plus(factor.times(B::widen(element)));
            }
        }
        block.write(of_block);
        c += opaque(&TOGETHER);
    }
    while c < columns {
        let mut sum = *sums.add(c);
        for (row, factor) in rows.into_iter().zip(factors) {
            let element = row.wrapping_offset(c as isize * b.cs);
            sum = sum.plus(factor.times(B::widen(element)));
        }
        *sums.add(c) = sum;
        c += opaque(&1);
    }
}

/// The sum of one element of C, from a row of A and a column of B.
///
/// # Safety
/// The matrices must have k steps.
#[inline(always)]
unsafe fn dot<A: Widen<T>, B: Widen<T>, T: Integer, const IS_SMALL: bool>(
    k: usize,
    a: Matrix<*const u8>,
    b: Matrix<*const u8>,
) -> T {
    let mut lanes = [T::ZERO; TOGETHER];
    let mut l = 0;
    let is_contiguous = a.cs == size_of::<A>() as isize && b.rs == size_of::<B>() as isize;
    while !IS_SMALL && is_contiguous && k - l >= TOGETHER {
        let (a, b) = (a.at(0, l), b.at(l, 0));
        for (w, lane) in lanes.iter_mut().enumerate() {
            let a = A::widen(a.wrapping_add(w * size_of::<A>()));
            let b = B::widen(b.wrapping_add(w * size_of::<B>()));
            *lane = lane.plus(a.times(b));
        }
        l += opaque(&TOGETHER);
    }
    let mut sum = lanes.into_iter().fold(T::ZERO, T::plus);
    while l < k {
        let product = A::widen(a.at(0, l)).times(B::widen(b.at(l, 0)));
        sum = sum.plus(product);
        l += opaque(&1);
    }
    sum
}
