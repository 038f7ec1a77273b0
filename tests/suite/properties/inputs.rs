//! Strategies for what all random tests draw: extents, layouts, values.

use diptych_tests::cases::{self, Values};
use diptych_tests::layout::{Placed, Strides};
use diptych_tests::model::Dense;
use diptych_tests::real::Dtype;
use proptest::prelude::*;

/// Registers, lanes, tile sides, blocks, segments and chunks of one dtype or the other.
const EDGES: [usize; 19] = [
    2, 4, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048,
];

/// An extent up to `most`: tiny, beside an edge, or anything.
pub fn extent(most: usize) -> impl Strategy<Value = usize> {
    let edges: Vec<usize> = EDGES.into_iter().filter(|&edge| edge <= most).collect();
    let beside = (prop::sample::select(edges), 0..3usize).prop_map(|(edge, step)| edge + step - 1);
    prop_oneof![4 => 0..=most.min(9), 4 => beside, 2 => 0..=most].prop_map(move |n| n.min(most))
}

/// An extent that is rarely 0, so that the shapes of matrices are rarely empty.
pub fn side(most: usize) -> impl Strategy<Value = usize> {
    prop_oneof![1 => Just(0), 30 => extent(most).prop_map(|n| n.max(1))]
}

pub fn values() -> impl Strategy<Value = Values> {
    prop::sample::select(Values::ALL.to_vec())
}

/// A factor or a bound.
#[derive(Clone, Copy, Debug)]
pub enum Scalar {
    Plain(f64),
    /// One of `cases::specials`.
    Special(usize),
}

impl Scalar {
    pub fn of<T: Dtype>(self) -> T {
        match self {
            Scalar::Plain(value) => T::of(value),
            Scalar::Special(index) => {
                let specials = cases::specials();
                specials[index % specials.len()]
            }
        }
    }
}

pub fn scalar() -> impl Strategy<Value = Scalar> {
    prop_oneof![
        3 => Just(Scalar::Plain(0.0)),
        3 => Just(Scalar::Plain(1.0)),
        1 => Just(Scalar::Plain(-1.0)),
        4 => (-2.0..2.0f64).prop_map(Scalar::Plain),
        1 => (0..64usize).prop_map(Scalar::Special),
    ]
}

/// How a matrix lies in memory, whatever its shape.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    by_columns: bool,
    /// Between neighbours.
    gap: i64,
    /// Between the end of a line and the next one; negative: lines are 4 KiB or more apart, where
    /// they fall into the same sets of a cache.
    pitch: i64,
    flip: (bool, bool),
    /// A dimension that stays where it is: inputs only.
    still: (bool, bool),
    /// Elements after a 64-byte boundary.
    pub shift: usize,
}

impl Layout {
    pub fn strides(&self, rows: usize, cols: usize) -> Strides {
        let (inner, outer) = if self.by_columns {
            (rows, cols)
        } else {
            (cols, rows)
        };
        let line = inner.max(1) as i64 * self.gap;
        let line = match self.pitch {
            // Not for so many lines that the gaps would fill the memory.
            ..0 if outer <= 64 => (line + 1023) / 1024 * 1024,
            pitch => line + pitch.max(0),
        };
        let (mut rs, mut cs) = (line, self.gap);
        if self.by_columns {
            (rs, cs) = (cs, rs);
        }
        let sign = |flip: bool, still: bool| if still { 0 } else { 1 - 2 * i64::from(flip) };
        Strides {
            rs: rs * sign(self.flip.0, self.still.0),
            cs: cs * sign(self.flip.1, self.still.1),
        }
    }

    pub fn place<T: Dtype>(&self, dense: &Dense<T>) -> Placed<T> {
        Placed::matrix(dense, self.strides(dense.rows, dense.cols), self.shift)
    }
}

fn rarely() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.15)
}

/// A layout in which no two elements share an address.
pub fn output() -> impl Strategy<Value = Layout> {
    let gap = prop_oneof![6 => Just(1i64), 1 => 2..4i64];
    let pitch = prop_oneof![4 => Just(0i64), 4 => 1..9i64, 1 => Just(-1i64)];
    let shift = prop_oneof![1 => Just(0usize), 1 => 0..17usize];
    (any::<bool>(), gap, pitch, (rarely(), rarely()), shift).prop_map(
        |(by_columns, gap, pitch, flip, shift)| Layout {
            by_columns,
            gap,
            pitch,
            flip,
            still: (false, false),
            shift,
        },
    )
}

/// A layout that may repeat its elements.
pub fn input() -> impl Strategy<Value = Layout> {
    let still = prop::bool::weighted(0.06);
    (output(), still, still).prop_map(|(layout, rows, cols)| Layout {
        still: (rows, cols),
        ..layout
    })
}

/// The stride of an input vector, any; and its place after a 64-byte boundary.
pub fn stride() -> impl Strategy<Value = (i64, usize)> {
    let inc = prop_oneof![5 => Just(1i64), 3 => -3..4i64];
    (inc, 0..17usize)
}

/// The stride of an output vector, not 0.
pub fn output_stride() -> impl Strategy<Value = (i64, usize)> {
    stride().prop_map(|(inc, shift)| (if inc == 0 { 1 } else { inc }, shift))
}
