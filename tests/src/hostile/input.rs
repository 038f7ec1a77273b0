//! Arguments drawn from bytes: mostly ordinary ones, and now and then what no sane caller passes.
//! Where the bytes end, zeros follow, and a zero is always the plainest choice.

use arbitrary::Unstructured;

use crate::cases::{self, Values};
use crate::guard::Edge;
use crate::real::Real;

/// The bytes that are left.
pub struct Input<'a> {
    bytes: Unstructured<'a>,
    pages: bool,
    turn: usize,
}

/// Sizes and strides that overflow something, or look negative to somebody.
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

/// Registers, lanes, tile sides, segments.
const EDGES: [i64; 12] = [2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 256];

impl<'a> Input<'a> {
    /// All of `data`; an operation is not the one that they say, but so many on.
    pub fn new(data: &'a [u8], pages: bool, turn: usize) -> Input<'a> {
        Input {
            bytes: Unstructured::new(data),
            pages,
            turn,
        }
    }

    /// The number of an operation of the table.
    pub fn operation(&mut self, count: usize) -> usize {
        (self.below(count) + self.turn) % count
    }

    /// Which edge of the arrays lies at a forbidden page, if any.
    pub fn edge(&mut self) -> Option<Edge> {
        let drawn = match self.below(8) {
            6 => Some(Edge::End),
            7 => Some(Edge::Start),
            _ => None,
        };
        drawn.filter(|_| self.pages)
    }

    /// A number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.bytes.arbitrary::<u8>().unwrap_or(0)) % count.max(1)
    }

    /// One of them.
    pub fn pick<V: Copy>(&mut self, all: &[V]) -> V {
        all[self.below(all.len())]
    }

    /// True once in `times`.
    pub fn rarely(&mut self, times: usize) -> bool {
        self.below(times) == times - 1
    }

    /// Any number.
    pub fn word(&mut self) -> u64 {
        self.bytes.arbitrary().unwrap_or(0)
    }

    /// A size: up to `most`, or hostile.
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

    /// A stride where `natural` leaves no gaps.
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

    /// Row and column stride of a matrix.
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

    /// A factor or a bound.
    pub fn scalar<T: Real>(&mut self) -> T {
        match self.below(8) {
            0..=2 => T::one(),
            3..=4 => T::zero(),
            5..=6 => T::of(f64::from(self.word() as i8) / 64.0),
            _ => {
                let specials = cases::specials();
                specials[self.below(specials.len())]
            }
        }
    }

    /// What the numbers look like.
    pub fn values(&mut self) -> Values {
        self.pick(&Values::ALL)
    }
}
