//! The nodes of the pairwise tree over a range of whole chunks: the fewest runs of 2^j chunks that begin at multiples of 2^j.
//! The values of two neighbouring ranges are thus those of the range of both, and the tree over all chunks from 0 on is
//! their fold from the last node to the first.

use super::state::MOST_NODES;
use crate::recipe::Folded;

/// The values of a range of chunks, with the sizes of their nodes.
pub struct Nodes<T> {
    /// The chunk after the last.
    end: u64,
    count: usize,
    levels: [u8; MOST_NODES],
    values: [Folded<T>; MOST_NODES],
}

impl<T: Copy> Nodes<T> {
    /// Returns the nodes of chunks `from` .. `end`, whose values `value` gives, from the first to the last.
    pub fn new(from: u64, end: u64, zero: T, value: impl Fn(usize) -> Folded<T>) -> Self {
        let mut nodes = Self {
            end,
            count: 0,
            levels: [0; MOST_NODES],
            values: [Folded(zero, zero); MOST_NODES],
        };
        let mut at = from;
        while at < end && nodes.count < MOST_NODES {
            let level = largest(at, end - at);
            nodes.levels[nodes.count] = level as u8;
            nodes.values[nodes.count] = value(nodes.count);
            nodes.count += 1;
            at += 1 << level;
        }
        nodes
    }

    /// The level of the largest node that may follow, of at most `most` chunks.
    pub fn next_level(&self, most: u64) -> u32 {
        largest(self.end, most)
    }

    /// Adds the node of the next 2^level chunks, which must begin at a multiple of that.
    pub fn push(
        &mut self,
        level: u32,
        value: Folded<T>,
        join: impl Fn(Folded<T>, Folded<T>) -> Folded<T>,
    ) {
        let (mut level, mut value) = (level, value);
        let mut from = self.end;
        self.end += 1 << level;
        // Two nodes of one size are one, if they begin at a multiple of twice the size.
        while let Some(last) = self.count.checked_sub(1)
            && let Some(&before) = self.levels.get(last)
            && u32::from(before) == level
            && from >> level & 1 == 1
        {
            value = join(self.values[last % MOST_NODES], value);
            from -= 1 << level;
            level += 1;
            self.count = last;
        }
        if let (Some(to), Some(of)) = (
            self.values.get_mut(self.count),
            self.levels.get_mut(self.count),
        ) {
            (*to, *of) = (value, level as u8);
            self.count += 1;
        }
    }

    /// The nodes, from the first to the last, with their levels.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u32, Folded<T>)> {
        let all = self.levels.iter().zip(&self.values).take(self.count);
        all.map(|(&level, &value)| (u32::from(level), value))
    }

    /// The value of the tree; `None` if there are no chunks. The first chunk must be number 0.
    pub fn total(&self, join: impl Fn(Folded<T>, Folded<T>) -> Folded<T>) -> Option<Folded<T>> {
        let mut values = self.iter().map(|(_, value)| value).rev();
        let last = values.next()?;
        Some(values.fold(last, |later, value| join(value, later)))
    }
}

/// The level of the largest node that begins with chunk `at` and has at most `most` > 0 chunks.
fn largest(at: u64, most: u64) -> u32 {
    most.ilog2().min(at.trailing_zeros())
}
