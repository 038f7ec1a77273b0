//! Packing: copies rows of A and columns of B to panels of words.

use crate::array::from_fn;
use crate::matrix::Matrix;

/// How steps become a word: the steps of a row of A or a column of B that are multiplied together.
pub trait Words {
    /// A word.
    type Word: Copy + PartialEq;
    /// The steps in it.
    const STEPS: usize;
    /// The bytes of an element in memory.
    const BYTES: usize;

    /// Returns the word of the first steps at `p`, `cs` bytes apart; those that are missing count as 0.
    ///
    /// # Safety
    /// `p` must be valid for reading these elements.
    unsafe fn word(p: *const u8, cs: isize, steps: usize) -> Self::Word;
    /// A word of zeros.
    fn zero() -> Self::Word;
}

/// Four bytes, whose highest bits are flipped if `FLIPS`: so a signed byte becomes an unsigned one that is larger by 128.
pub struct Bytes<const FLIPS: bool>;

/// Two bytes, widened to 16 bits each.
pub struct Wide<const SIGNED: bool>;

/// One byte, widened to 16 bits.
#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
pub struct Single<const SIGNED: bool>;

/// One element.
pub struct Whole<T>(T);

impl<const FLIPS: bool> Words for Bytes<FLIPS> {
    type Word = u32;
    const STEPS: usize = 4;
    const BYTES: usize = 1;

    #[inline(always)]
    unsafe fn word(p: *const u8, cs: isize, steps: usize) -> u32 {
        let word = if cs == 1 && steps >= 4 {
            p.cast::<u32>().read_unaligned()
        } else {
            u32::from_le_bytes(from_fn(|i| {
                if i < steps {
                    *p.offset(i as isize * cs)
                } else {
                    0
                }
            }))
        };
        // Steps that are missing may have any value here: those of the other panel are 0.
        word ^ if FLIPS { 0x8080_8080 } else { 0 }
    }

    #[inline(always)]
    fn zero() -> u32 {
        0
    }
}

/// Returns a byte as 16 bits.
#[inline(always)]
const fn widened<const SIGNED: bool>(byte: u8) -> u16 {
    if SIGNED {
        byte as i8 as u16
    } else {
        byte as u16
    }
}

impl<const SIGNED: bool> Words for Wide<SIGNED> {
    type Word = u32;
    const STEPS: usize = 2;
    const BYTES: usize = 1;

    #[inline(always)]
    unsafe fn word(p: *const u8, cs: isize, steps: usize) -> u32 {
        let low = widened::<SIGNED>(*p);
        let high = if steps > 1 {
            widened::<SIGNED>(*p.offset(cs))
        } else {
            0
        };
        u32::from(low) | u32::from(high) << 16
    }

    #[inline(always)]
    fn zero() -> u32 {
        0
    }
}

#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
impl<const SIGNED: bool> Words for Single<SIGNED> {
    type Word = u16;
    const STEPS: usize = 1;
    const BYTES: usize = 1;

    #[inline(always)]
    unsafe fn word(p: *const u8, _cs: isize, _steps: usize) -> u16 {
        widened::<SIGNED>(*p)
    }

    #[inline(always)]
    fn zero() -> u16 {
        0
    }
}

macro_rules! whole {
    ($($T:ty)*) => {$(
        impl Words for Whole<$T> {
            type Word = $T;
            const STEPS: usize = 1;
            const BYTES: usize = size_of::<$T>();

            #[inline(always)]
            unsafe fn word(p: *const u8, _cs: isize, _steps: usize) -> $T {
                p.cast::<$T>().read()
            }

            #[inline(always)]
            fn zero() -> $T {
                0
            }
        }
    )*};
}
whole!(i32 i64);

/// Packs `count` rows of words, group of steps by group of steps, padded with zeros to `width` rows.
///
/// # Safety
/// As [`Pack`](super::routines::Pack).
#[inline(always)]
pub unsafe fn pack<W: Words>(
    from: Matrix<*const u8>,
    count: usize,
    kc: usize,
    width: usize,
    out: *mut W::Word,
) {
    let mut to = out;
    let mut step = 0;
    // Rows next to each other in memory, whole words: the compiler vectorises this.
    if from.rs == W::BYTES as isize {
        while step + W::STEPS <= kc {
            let row = from.at(0, step);
            for i in 0..count {
                *to.add(i) = W::word(row.add(i * W::BYTES), from.cs, W::STEPS);
            }
            for i in count..width {
                *to.add(i) = W::zero();
            }
            to = to.add(width);
            step += W::STEPS;
        }
    }
    while step < kc {
        let steps = W::STEPS.min(kc - step);
        for i in 0..count {
            *to.add(i) = W::word(from.at(i, step), from.cs, steps);
        }
        for i in count..width {
            *to.add(i) = W::zero();
        }
        to = to.add(width);
        step += steps;
    }
}

/// Writes, for each column of a packed panel of four bytes a word, `factor` times the sum of its steps; or adds it, if these
/// are not the first.
///
/// # Safety
/// The panel must have as many groups of steps, `sums` must be valid for `width` sums.
#[inline(always)]
pub unsafe fn column_sums(
    (panel, groups): (*const i8, usize),
    width: usize,
    factor: i32,
    are_first: bool,
    sums: *mut i32,
) {
    if are_first {
        sums.write_bytes(0, width);
    }
    for group in 0..groups {
        let words = panel.add(4 * group * width);
        for j in 0..width {
            let word = words.add(4 * j);
            let sum: i32 = (0..4).map(|i| i32::from(*word.add(i))).sum();
            *sums.add(j) = (*sums.add(j)).wrapping_add(factor.wrapping_mul(sum));
        }
    }
}
