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

/// The columns or steps that the loops in place take together, for the compiler to make vectors of them.
const TOGETHER: usize = 16;
/// The steps that are added to the sums of columns together.
const STEPS: usize = 4;

/// Whether the portable level should be small rather than fast, as [`prefers_small_code`](crate::ops::prefers_small_code).
pub const SMALL: bool = cfg!(target_arch = "x86_64");
/// That all others should be fast.
pub const FAST: bool = false;

/// See [`InPlace`](super::routines::InPlace).
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
    for r in 0..rows {
        let row = sums.wrapping_add(r * pitch).cast::<T>();
        let a = p.a.offset(i + r, 0);
        if !IS_SMALL && p.b.cs == size_of::<B>() as isize && columns > 1 {
            row_in_place::<A, B, T>(p.k, a, p.b.offset(0, j), columns, row);
            continue;
        }
        let mut c = 0;
        while c < columns {
            *row.add(c) = element_in_place::<A, B, T, IS_SMALL>(p.k, a, p.b.offset(0, j + c));
            c += opaque(&1);
        }
    }
}

/// The sums of one row, with rows of B that are contiguous.
///
/// # Safety
/// The matrices must have k steps, B so many columns, and there must be room for the sums.
#[inline(always)]
unsafe fn row_in_place<A: Widen<T>, B: Widen<T>, T: Integer>(
    k: usize,
    a: Matrix<*const u8>,
    b: Matrix<*const u8>,
    columns: usize,
    sums: *mut T,
) {
    sums.write_bytes(0, columns);
    let mut l = 0;
    while l < k {
        // Steps that are missing are the last one, times 0.
        let rows: [*const u8; STEPS] = from_fn(|s| b.at((l + s).min(k - 1), 0));
        let factors: [T; STEPS] = from_fn(|s| {
            if l + s < k {
                A::widen(a.at(0, l + s))
            } else {
                T::ZERO
            }
        });
        let product = |s: usize, c: usize| {
            let element = rows[s].wrapping_add(c * size_of::<B>());
            factors[s].times(B::widen(element))
        };
        let mut c = 0;
        while columns - c >= TOGETHER {
            let block = sums.add(c).cast::<[T; TOGETHER]>();
            let mut of_block = block.read();
            for s in 0..STEPS {
                for (w, sum) in of_block.iter_mut().enumerate() {
                    *sum = sum.plus(product(s, c + w));
                }
            }
            block.write(of_block);
            c += opaque(&TOGETHER);
        }
        while c < columns {
            let sum = sums.add(c);
            *sum = (0..STEPS).fold(*sum, |sum, s| sum.plus(product(s, c)));
            c += opaque(&1);
        }
        l += STEPS;
    }
}

/// The sum of one element, from a row and a column of any strides.
///
/// # Safety
/// The matrices must have k steps.
#[inline(always)]
unsafe fn element_in_place<A: Widen<T>, B: Widen<T>, T: Integer, const IS_SMALL: bool>(
    k: usize,
    a: Matrix<*const u8>,
    b: Matrix<*const u8>,
) -> T {
    let mut lanes = [T::ZERO; TOGETHER];
    let mut l = 0;
    if !IS_SMALL && a.cs == size_of::<A>() as isize && b.rs == size_of::<B>() as isize {
        while k - l >= TOGETHER {
            let (a, b) = (a.at(0, l), b.at(l, 0));
            for (w, lane) in lanes.iter_mut().enumerate() {
                let a = A::widen(a.wrapping_add(w * size_of::<A>()));
                let b = B::widen(b.wrapping_add(w * size_of::<B>()));
                *lane = lane.plus(a.times(b));
            }
            l += opaque(&TOGETHER);
        }
    }
    let mut sum = lanes.into_iter().fold(T::ZERO, T::plus);
    while l < k {
        let product = A::widen(a.at(0, l)).times(B::widen(b.at(l, 0)));
        sum = sum.plus(product);
        l += opaque(&1);
    }
    sum
}
