//! The folds of integers. All are exact modulo 2^64, so the order of elements makes no difference: a kernel folds rows of
//! a few elements into one lane for each column, and the lanes into 64-bit totals. The rows are those of a matrix, or
//! pieces of a vector.

use core::ptr;

use super::{levels, opaque};
use crate::tensor::element_type::IntegerType;

/// Folds `rows` rows, `step` bytes apart, into `totals`: one of each column; or, with `rest`, one of all rows and of so
/// many elements behind them. A row has as many elements as the [`IntegerFold`] says, and the rest has fewer.
pub type FoldRows =
    unsafe fn(rows: usize, x: *const u8, step: isize, rest: Option<usize>, totals: *mut i64);

/// How two totals become one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Join {
    Add,
    Multiply,
    Least,
    Greatest,
}

impl Join {
    /// Returns the total of both.
    #[inline(always)]
    pub const fn both(self, a: i64, b: i64) -> i64 {
        match self {
            Self::Add => a.wrapping_add(b),
            Self::Multiply => a.wrapping_mul(b),
            Self::Least if b < a => b,
            Self::Greatest if b > a => b,
            Self::Least | Self::Greatest => a,
        }
    }

    /// The total of no elements.
    pub const fn start(self) -> i64 {
        match self {
            Self::Add => 0,
            Self::Multiply => 1,
            Self::Least => i64::MAX,
            Self::Greatest => i64::MIN,
        }
    }
}

/// A fold of one type of elements.
pub struct IntegerFold {
    /// The kernel of each level, in the order of `Level`.
    pub rows: &'static [FoldRows; 4],
    /// Elements of a row, at most [`WIDEST`](Self::WIDEST).
    pub width: usize,
    /// The most rows of a call, besides the rest: lanes of few bits would overflow.
    pub most: usize,
    /// Bytes of an element.
    pub size: usize,
    /// The bits of an element that changes no total.
    pub neutral: u64,
    /// How totals become one.
    pub join: Join,
}

impl IntegerFold {
    /// The most elements of a row.
    pub const WIDEST: usize = 64;
    /// The most bytes of a row.
    pub const ROW: usize = 128;
}

/// What a kernel does to each element of the type `T`.
trait Fold<T> {
    /// The lanes: wide enough for `MOST` rows.
    type Lane: Copy + Ord + Into<i64>;
    /// A lane without elements.
    const EMPTY: Self::Lane;
    /// How totals become one.
    const JOIN: Join;

    /// An element that changes nothing.
    const NEUTRAL: T;

    /// Returns a lane with one more element.
    fn step(lane: Self::Lane, x: T) -> Self::Lane;
}

/// A [`FoldRows`] of rows of `N` elements.
///
/// # Safety
/// The rows, and the rest, must be valid for reading, and `totals` have a total of each column.
#[inline(always)]
unsafe fn fold_rows<F: Fold<T>, T: Copy, const N: usize>(
    rows: usize,
    mut x: *const u8,
    step: isize,
    rest: Option<usize>,
    totals: *mut i64,
) {
    let mut lanes = [F::EMPTY; N];
    for _ in 0..rows {
        let row: [T; N] = x.cast::<[T; N]>().read();
        for (lane, x) in lanes.iter_mut().zip(row) {
            *lane = F::step(*lane, x);
        }
        x = x.wrapping_offset(opaque(&step));
    }
    let Some(rest) = rest else {
        for (j, lane) in lanes.into_iter().enumerate() {
            let total = totals.add(j);
            total.write(F::JOIN.both(total.read(), lane.into()));
        }
        return;
    };
    if rest > 0 {
        let mut row = [F::NEUTRAL; N];
        ptr::copy_nonoverlapping(x.cast(), row.as_mut_ptr(), rest);
        for (lane, x) in lanes.iter_mut().zip(row) {
            *lane = F::step(*lane, x);
        }
    }
    // Extremes in the type of the lanes, which has more instructions.
    let (mut extreme, mut total) = (F::EMPTY, F::JOIN.start());
    for lane in lanes {
        match F::JOIN {
            Join::Least => extreme = extreme.min(lane),
            Join::Greatest => extreme = extreme.max(lane),
            Join::Add | Join::Multiply => total = F::JOIN.both(total, lane.into()),
        }
    }
    if matches!(F::JOIN, Join::Least | Join::Greatest) {
        total = extreme.into();
    }
    totals.write(F::JOIN.both(totals.read(), total));
}

/// Finds, in each column of `rows` rows, at most [`MOST_SEARCHED`], the first extreme. Where it exceeds the total of the
/// column, that becomes the extreme, and `indices` gets its row, counted from `first`.
pub type SearchRows = unsafe fn(
    rows: usize,
    x: *const u8,
    step: isize,
    first: usize,
    totals: *mut i64,
    indices: *mut usize,
);

/// The most rows of a search: places of bytes are bytes.
pub const MOST_SEARCHED: usize = 128;

/// A [`SearchRows`] of rows of `N` elements, with places of the type `P`, which is as wide as an element.
///
/// # Safety
/// The rows must be valid for reading, and each column have a total and an index.
#[inline(always)]
unsafe fn search_rows<F: Fold<T, Lane = T>, T, P: From<u8> + Copy, const N: usize>(
    rows: usize,
    mut x: *const u8,
    step: isize,
    first: usize,
    totals: *mut i64,
    indices: *mut usize,
) where
    T: Copy + Ord + Into<i64>,
    u64: From<P>,
{
    let (mut lanes, mut places) = ([F::EMPTY; N], [P::from(0); N]);
    for i in 0..rows {
        let row: [T; N] = x.cast::<[T; N]>().read();
        let here = P::from(i as u8);
        for ((lane, place), x) in lanes.iter_mut().zip(&mut places).zip(row) {
            let both = F::step(*lane, x);
            *place = if both == *lane { *place } else { here };
            *lane = both;
        }
        x = x.wrapping_offset(opaque(&step));
    }
    // All are read before one is written: these are registers too.
    let (totals, indices) = (totals.cast::<[i64; N]>(), indices.cast::<[usize; N]>());
    let (mut all, mut found) = (totals.read(), indices.read());
    for (((total, index), lane), place) in all.iter_mut().zip(&mut found).zip(lanes).zip(places) {
        let both = F::JOIN.both(*total, lane.into());
        let place = first + u64::from(place) as usize;
        *index = if both == *total { *index } else { place };
        *total = both;
    }
    totals.write(all);
    indices.write(found);
}

/// Defines the searches of folds: for each type of elements the places, and the elements of a row, as the fold has them.
macro_rules! searches {
    ($($Fold:ident { $($of:ident $T:ident $Place:ident $width:literal;)* })*) => {$(
        impl $Fold {
            /// Returns the search for a type of elements, for each level in the order of `Level`.
            #[cfg_attr(not(precompiled), inline)]
            pub const fn search(of: IntegerType) -> &'static [SearchRows; 4] {
                match of {
                    $(IntegerType::$of => levels!(
                        SearchRows,
                        (rows: usize, x: *const u8, step: isize, first: usize, totals: *mut i64, indices: *mut usize),
                        search_rows::<$Fold, $T, $Place, $width>
                    ),)*
                }
            }
        }
    )*};
}

searches! {
    Min { I8 i8 u8 64; U8 u8 u8 64; I32 i32 u32 16; I64 i64 u64 16; }
    Max { I8 i8 u8 64; U8 u8 u8 64; I32 i32 u32 16; I64 i64 u64 16; }
}

/// Returns the most rows of a call, and leaves room in each lane for the elements behind them: `lane` is the greatest number
/// of a lane, `step` the most that a step adds to it, in magnitude. 0 if nothing is added, or if lanes may wrap.
const fn most_rows(lane: u64, step: u64) -> usize {
    match lane.checked_div(step) {
        Some(steps) => steps as usize - 1,
        None => usize::MAX,
    }
}

/// Defines folds: for each type of elements its lanes, the elements of a row, the most that a step adds to a lane (see
/// [`most_rows`]), the start of a lane, what changes nothing, and the step. The lanes of a row are a few registers.
macro_rules! folds {
    ($($(#[$doc:meta])* $Fold:ident $join:ident {
        $($of:ident $T:ident as $Lane:ident, $width:literal, $added:expr, $empty:expr, $neutral:expr, |$lane:ident, $x:ident| $step:expr;)*
    })*) => {$(
        $(#[$doc])*
        pub struct $Fold;

        $(impl Fold<$T> for $Fold {
            type Lane = $Lane;
            const EMPTY: $Lane = $empty;
            const NEUTRAL: $T = $neutral;
            const JOIN: Join = Join::$join;

            #[inline(always)]
            fn step($lane: $Lane, $x: $T) -> $Lane {
                $step
            }
        })*

        impl $Fold {
            /// Returns the fold for a type of elements.
            #[cfg_attr(not(precompiled), inline)]
            pub const fn of(of: IntegerType) -> IntegerFold {
                match of {
                    $(IntegerType::$of => IntegerFold {
                        rows: levels!(
                            FoldRows,
                            (rows: usize, x: *const u8, step: isize, rest: Option<usize>, totals: *mut i64),
                            fold_rows::<$Fold, $T, $width>
                        ),
                        width: $width,
                        most: const { most_rows($Lane::MAX as u64, $added) },
                        size: size_of::<$T>(),
                        neutral: $neutral as u64,
                        join: Join::$join,
                    },)*
                }
            }
        }
    )*};
}

folds! {
    /// The sum.
    Sum Add {
        I8 i8 as i16, 64, 128, 0, 0, |lane, x| lane.wrapping_add(i16::from(x));
        U8 u8 as i16, 64, 255, 0, 0, |lane, x| lane.wrapping_add(i16::from(x));
        I32 i32 as i64, 16, 0, 0, 0, |lane, x| lane.wrapping_add(i64::from(x));
        I64 i64 as i64, 16, 0, 0, 0, |lane, x| lane.wrapping_add(x);
    }
    /// The sum of the absolute values.
    AbsSum Add {
        I8 i8 as i16, 64, 128, 0, 0, |lane, x| lane.wrapping_add(i16::from(x.unsigned_abs()));
        U8 u8 as i16, 64, 255, 0, 0, |lane, x| lane.wrapping_add(i16::from(x));
        I32 i32 as i64, 16, 0, 0, 0, |lane, x| lane.wrapping_add(i64::from(x.unsigned_abs()));
        I64 i64 as i64, 16, 0, 0, 0, |lane, x| lane.wrapping_add(x.wrapping_abs());
    }
    /// The sum of the squares.
    SumSq Add {
        I8 i8 as i32, 32, 128 * 128, 0, 0, |lane, x| lane.wrapping_add((i16::from(x) * i16::from(x)).into());
        U8 u8 as i32, 32, 255 * 255, 0, 0, |lane, x| lane.wrapping_add((u16::from(x) * u16::from(x)).into());
        I32 i32 as i64, 16, 0, 0, 0, |lane, x| lane.wrapping_add(i64::from(x) * i64::from(x));
        I64 i64 as i64, 16, 0, 0, 0, |lane, x| lane.wrapping_add(x.wrapping_mul(x));
    }
    /// The product.
    Product Multiply {
        I8 i8 as i64, 16, 0, 1, 1, |lane, x| lane.wrapping_mul(i64::from(x));
        U8 u8 as i64, 16, 0, 1, 1, |lane, x| lane.wrapping_mul(i64::from(x));
        I32 i32 as i64, 16, 0, 1, 1, |lane, x| lane.wrapping_mul(i64::from(x));
        I64 i64 as i64, 16, 0, 1, 1, |lane, x| lane.wrapping_mul(x);
    }
    /// The least element.
    Min Least {
        I8 i8 as i8, 64, 0, i8::MAX, i8::MAX, |lane, x| lane.min(x);
        U8 u8 as u8, 64, 0, u8::MAX, u8::MAX, |lane, x| lane.min(x);
        I32 i32 as i32, 16, 0, i32::MAX, i32::MAX, |lane, x| lane.min(x);
        I64 i64 as i64, 16, 0, i64::MAX, i64::MAX, |lane, x| lane.min(x);
    }
    /// The greatest element.
    Max Greatest {
        I8 i8 as i8, 64, 0, i8::MIN, i8::MIN, |lane, x| lane.max(x);
        U8 u8 as u8, 64, 0, u8::MIN, u8::MIN, |lane, x| lane.max(x);
        I32 i32 as i32, 16, 0, i32::MIN, i32::MIN, |lane, x| lane.max(x);
        I64 i64 as i64, 16, 0, i64::MIN, i64::MIN, |lane, x| lane.max(x);
    }
    /// The number of elements that are not 0.
    Nonzero Add {
        I8 i8 as i8, 64, 1, 0, 0, |lane, x| lane.wrapping_add(i8::from(x != 0));
        U8 u8 as i8, 64, 1, 0, 0, |lane, x| lane.wrapping_add(i8::from(x != 0));
        I32 i32 as i32, 16, 1, 0, 0, |lane, x| lane.wrapping_add(i32::from(x != 0));
        I64 i64 as i64, 16, 0, 0, 0, |lane, x| lane.wrapping_add(i64::from(x != 0));
    }
}
