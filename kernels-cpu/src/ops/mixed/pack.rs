//! Packing: copies rows of A and columns of B to panels of words.

use crate::array::from_fn;
use crate::matrix::Matrix;
use crate::ops::integers::opaque;

/// How steps become a word: the steps of a row of A or a column of B that are multiplied together.
pub trait Words {
    /// An element in memory.
    type Element: Copy + Default;
    /// A word.
    type Word: Copy + Default;
    /// The steps in it.
    const STEPS: usize;

    /// Returns the word of these steps.
    fn word(step: impl Fn(usize) -> Self::Element) -> Self::Word;
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
    type Element = u8;
    type Word = u32;
    const STEPS: usize = 4;

    #[inline(always)]
    fn word(step: impl Fn(usize) -> u8) -> u32 {
        // Steps that are missing may have any value here: those of the other panel are 0.
        u32::from_le_bytes(from_fn(step)) ^ if FLIPS { 0x8080_8080 } else { 0 }
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
    type Element = u8;
    type Word = u32;
    const STEPS: usize = 2;

    #[inline(always)]
    fn word(step: impl Fn(usize) -> u8) -> u32 {
        let [low, high] = from_fn(|i| u32::from(widened::<SIGNED>(step(i))));
        low | high << 16
    }
}

#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
impl<const SIGNED: bool> Words for Single<SIGNED> {
    type Element = u8;
    type Word = u16;
    const STEPS: usize = 1;

    #[inline(always)]
    fn word(step: impl Fn(usize) -> u8) -> u16 {
        widened::<SIGNED>(step(0))
    }
}

impl<T: Copy + Default> Words for Whole<T> {
    type Element = T;
    type Word = T;
    const STEPS: usize = 1;

    #[inline(always)]
    fn word(step: impl Fn(usize) -> T) -> T {
        step(0)
    }
}

/// Packs `count` rows of words, group of steps by group of steps, padded with zeros to `width` rows. `N` words are made
/// together, for the compiler to do it with a vector.
///
/// # Safety
/// As [`Pack`](super::routines::Pack).
#[inline(always)]
pub unsafe fn pack<W: Words, const N: usize>(
    from: Matrix<*const u8>,
    count: usize,
    kc: usize,
    width: usize,
    out: *mut W::Word,
) {
    let bytes = size_of::<W::Element>() as isize;
    let (groups, whole) = (kc.div_ceil(W::STEPS), kc / W::STEPS);
    let mut group = 0;
    while from.cs == bytes && group + N <= whole {
        let part = from.offset(0, group * W::STEPS);
        pack_along::<W, N>(part, count, width, out.add(group * width));
        group += N;
    }
    while group < groups {
        let (part, to) = (from.offset(0, group * W::STEPS), out.add(group * width));
        if from.rs == bytes && group < whole && count >= N {
            pack_across::<W, N>(part, count, to);
        } else {
            let steps = W::STEPS.min(kc - group * W::STEPS);
            let mut i = 0;
            while i < count {
                to.add(i).write(W::word(|s| {
                    if s < steps {
                        part.at(i, s).cast::<W::Element>().read_unaligned()
                    } else {
                        W::Element::default()
                    }
                }));
                i += opaque(&1);
            }
        }
        let mut i = count;
        while i < width {
            to.add(i).write(W::Word::default());
            i += opaque(&1);
        }
        group += 1;
    }
}

/// Packs N groups of steps of rows whose elements are contiguous.
///
/// # Safety
/// As [`pack`].
#[inline(always)]
unsafe fn pack_along<W: Words, const N: usize>(
    from: Matrix<*const u8>,
    count: usize,
    width: usize,
    out: *mut W::Word,
) {
    let mut i = 0;
    while i < width {
        let words = if i < count {
            let row = from.at(i, 0).cast::<W::Element>();
            from_fn(|g| W::word(|s| row.add(g * W::STEPS + s).read_unaligned()))
        } else {
            [W::Word::default(); N]
        };
        for (g, word) in words.into_iter().enumerate() {
            out.add(g * width + i).write(word);
        }
        i += opaque(&1);
    }
}

/// Packs a group of steps of at least N rows, of which each step is contiguous.
///
/// # Safety
/// As [`pack`].
#[inline(always)]
unsafe fn pack_across<W: Words, const N: usize>(
    from: Matrix<*const u8>,
    count: usize,
    out: *mut W::Word,
) {
    let mut i = 0;
    while i < count {
        // The last words may be made twice.
        let first = i.min(count - N);
        let step = |s: usize| from.at(first, s).cast::<W::Element>();
        let words: [W::Word; N] = from_fn(|c| W::word(|s| step(s).add(c).read_unaligned()));
        out.add(first).cast::<[W::Word; N]>().write_unaligned(words);
        i += N;
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
