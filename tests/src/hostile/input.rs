//! Sizes and strides drawn from bytes: mostly ordinary ones, and occasionally invalid or extreme ones.

use crate::guard::Edge;
use crate::random::Input;

/// Sizes and strides that overflow some computation, or turn negative when truncated.
const HOSTILE: [i64; 14] = [
    -1,
    i64::MIN,
    i64::MAX,
    i64::MAX / 2,
    i64::MAX / 4,
    i64::MAX / 8 + 1,
    i64::MIN / 4,
    i64::MIN / 8,
    1 << 31,
    (1 << 31) + 1,
    1 << 32,
    (1 << 32) + 3,
    1 << 40,
    1 << 62,
];

/// Sizes of vector registers, lanes, micro-tiles and segments, in elements.
const EDGES: [i64; 12] = [2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256];

impl Input<'_> {
    /// Draws the number of an operation in the table.
    pub fn operation(&mut self, count: usize) -> usize {
        (self.below(count) + self.turn) % count
    }

    /// Draws which edge of the arrays touches a guard page, if any.
    pub fn edge(&mut self) -> Option<Edge> {
        let drawn = match self.below(8) {
            6 => Some(Edge::End),
            7 => Some(Edge::Start),
            _ => None,
        };
        drawn.filter(|_| self.pages)
    }

    /// Draws a size: up to `most`, or rarely one of `HOSTILE`.
    pub fn size(&mut self, most: i64) -> i64 {
        let most = most.clamp(1, 1 << 32);
        match self.below(16) {
            0..=6 => self.below(10) as i64 % (most + 1),
            7..=10 => i64::from(self.word() as u16) % (most + 1),
            11..=13 => (self.pick(&EDGES) + self.below(3) as i64 - 1).min(most),
            14 => most.min(1),
            _ if self.rarely(3) => self.pick(&HOSTILE),
            _ => 0,
        }
    }

    /// Draws a stride: mostly `natural`, which leaves no gaps, or rarely one of `HOSTILE`.
    pub fn stride(&mut self, natural: i64) -> i64 {
        match self.below(16) {
            0..=8 => natural,
            9 => -natural,
            10 => natural.saturating_add(self.below(9) as i64),
            11..=12 => self.below(9) as i64 - 4,
            13 => 0,
            14 => natural.saturating_mul(2),
            _ if self.rarely(3) => self.pick(&HOSTILE),
            _ => natural,
        }
    }

    /// Draws the row and column strides of a matrix.
    pub fn strides(&mut self, rows: i64, cols: i64) -> (i64, i64) {
        let (rows, cols) = (rows.clamp(0, 1 << 20), cols.clamp(0, 1 << 20));
        let by_columns = self.rarely(2);
        let inner = self.stride(1);
        let line = if by_columns { rows } else { cols };
        let outer = self.stride(line.saturating_mul(inner.saturating_abs().max(1)).max(1));
        if by_columns {
            (inner, outer)
        } else {
            (outer, inner)
        }
    }
}
