//! The pairwise tree over chunks, built while their values arrive.

use core::mem::MaybeUninit;

/// The deepest tree: over more chunks than any computer reads, with a digit for no more bits than a number of chunks has.
const DEPTH: usize = if usize::BITS < 48 {
    usize::BITS as usize
} else {
    48
};

/// The tree, like a binary counter: digit i holds the value of 2^i chunks.
pub struct ChunkTree<V> {
    digits: [MaybeUninit<V>; DEPTH],
    chunks: usize,
}

impl<V: Copy> ChunkTree<V> {
    pub const EMPTY: Self = Self {
        digits: [const { MaybeUninit::uninit() }; DEPTH],
        chunks: 0,
    };

    /// Adds the value of the next chunk.
    pub fn push(&mut self, chunk: V, join: impl Fn(V, V) -> V) {
        let mut value = chunk;
        for (i, digit) in self.digits.iter_mut().enumerate() {
            if self.chunks >> i & 1 == 0 {
                digit.write(value);
                break;
            }
            // SAFETY: the digit of each 1 bit of `chunks` has been written.
            value = join(unsafe { digit.assume_init() }, value);
        }
        self.chunks += 1;
    }

    /// Returns the value of all chunks; `None` if there are none.
    pub fn finish(&self, join: impl Fn(V, V) -> V) -> Option<V> {
        let mut value = None;
        for (i, digit) in self.digits.iter().enumerate() {
            if self.chunks >> i & 1 == 1 {
                // SAFETY: as above.
                let digit = unsafe { digit.assume_init() };
                value = Some(value.map_or(digit, |value| join(digit, value)));
            }
        }
        value
    }
}
