//! The bytes of a partial reduction, and their checks.

use crate::error::{Error, Result};

/// The most nodes of a range of chunks: of 2^42 chunks, [`MOST_ELEMENTS`] of `f64`, at most 42 nodes of growing size and 42
/// of shrinking size.
pub const MOST_NODES: usize = 84;
/// The most elements of a whole.
pub const MOST_ELEMENTS: u64 = 1 << 52;
/// Lanes of a chunk, in words of 64 bits: two accumulators of 256 bytes.
pub const LANE_WORDS: usize = 64;

/// Reads as another number on a machine with another byte order.
const MAGIC: u32 = u32::from_le_bytes(*b"DPT+");
/// The version of the layout and of the orders.
const VERSION: u16 = 1;
/// Bytes of a state.
pub const BYTES: usize = 2040;

/// A partial reduction as it lies in memory. Members that an operation does not use are 0.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub struct State {
    magic: u32,
    version: u16,
    /// The number of the reduction, and that of the type of elements.
    pub operation: u8,
    pub element: u8,
    checksum: u64,
    /// The index of the first element in the whole, and the number of elements so far.
    pub first: u64,
    pub count: u64,
    /// The number of the pass, and what is subtracted from the number of elements for a variance.
    pub pass: u64,
    pub ddof: u64,
    /// The value that is known after the passes before, as the bits of an `f64`.
    pub known: u64,
    /// An exact result so far: a count, a total of integers, or the index of the extreme.
    pub exact: i64,
    /// The extreme that `exact` is the index of: an integer, or the bits of an `f64`.
    pub extreme: i64,
    /// The lanes of the last chunk, if it is not complete.
    pub lanes: [u64; LANE_WORDS],
    /// The nodes of the tree over complete chunks, from the first to the last; each has the values of two accumulators, as
    /// the bits of an `f64`.
    pub nodes: [[u64; 2]; MOST_NODES],
    unused: [u64; 14],
}

const _: () = assert!(size_of::<State>() == BYTES);

impl State {
    /// That of no elements.
    pub const fn new(operation: u8, element: u8, first: u64) -> Self {
        Self {
            magic: MAGIC,
            version: VERSION,
            operation,
            element,
            checksum: 0,
            first,
            count: 0,
            pass: 0,
            ddof: 0,
            known: 0,
            exact: 0,
            extreme: 0,
            lanes: [0; LANE_WORDS],
            nodes: [[0; 2]; MOST_NODES],
            unused: [0; 14],
        }
    }

    /// The bytes, with their checksum.
    pub fn to_bytes(mut self) -> [u8; BYTES] {
        self.checksum = self.sum();
        // SAFETY: a struct of integers without gaps, which `BYTES` measures.
        unsafe { core::mem::transmute::<State, [u8; BYTES]>(self) }
    }

    /// Reads bytes of any alignment.
    ///
    /// # Errors
    /// `InvalidPartial` unless this version has made them on a machine with this order of bytes, and they are unchanged.
    pub fn from_bytes(bytes: &[u8; BYTES], arg: &'static str) -> Result<Self> {
        // SAFETY: any bytes are integers.
        let state = unsafe { core::mem::transmute::<[u8; BYTES], State>(*bytes) };
        let is_known = state.magic == MAGIC && state.version == VERSION;
        let is_in_range =
            state.first <= MOST_ELEMENTS && state.count <= MOST_ELEMENTS - state.first;
        if is_known && is_in_range && state.checksum == state.sum() {
            Ok(state)
        } else {
            Err(Error::InvalidPartial { arg })
        }
    }

    /// A checksum of all but itself: FNV-1a over words of 64 bits, in four turns that do not wait for each other (G. Fowler,
    /// L. C. Noll, K.-P. Vo, "The FNV Non-Cryptographic Hash Algorithm"), with a rotation so that high bits matter too.
    fn sum(&self) -> u64 {
        const PRIME: u64 = 0x0000_0100_0000_01b3;
        const START: u64 = 0xcbf2_9ce4_8422_2325;
        let step = |hash: u64, word: u64| ((hash ^ word).wrapping_mul(PRIME)).rotate_left(29);
        let mut unsealed = *self;
        unsealed.checksum = 0;
        // SAFETY: a struct of integers, whose size is a multiple of 8 and which is aligned to 8.
        let words = unsafe { core::mem::transmute::<State, [u64; BYTES / 8]>(unsealed) };
        let mut hashes = [START, START + 1, START + 2, START + 3];
        for four in words.chunks(4) {
            for (hash, &word) in hashes.iter_mut().zip(four) {
                *hash = step(*hash, word);
            }
        }
        hashes.into_iter().fold(START, step)
    }

    /// The index after the last element.
    pub fn end(&self) -> u64 {
        self.first + self.count
    }
}
