//! Strategies that all random tests share: extents, layouts, values.

use diptych_tests::cases::{self, Values};
use diptych_tests::layout::{Placed, Strides};
use diptych_tests::machines::{is_another, thresholds};
use diptych_tests::model::Dense;
use diptych_tests::real::Dtype;
use proptest::prelude::*;

/// Sizes of vector registers, lanes, micro-tiles, blocks, segments and chunks, of f32 or f64.
const EDGES: [usize; 19] = [
    2, 4, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048,
];

/// Draws an extent up to `most`: tiny, within 1 of an edge, or arbitrary.
pub fn extent(most: usize) -> impl Strategy<Value = usize> {
    let edges: Vec<usize> = EDGES.into_iter().filter(|&edge| edge <= most).collect();
    let near_edge =
        (prop::sample::select(edges), 0..3usize).prop_map(|(edge, step)| edge + step - 1);
    prop_oneof![4 => 0..=most.min(9), 4 => near_edge, 2 => 0..=most].prop_map(move |n| n.min(most))
}

/// Draws a number of elements, at most `most`, of which f32 or f64 take about as many bytes as a [threshold](thresholds)
/// of the machine.
pub fn near_threshold(most: usize) -> impl Strategy<Value = usize> {
    let size = prop::sample::select(vec![4usize, 8]);
    let bytes = prop::sample::select(thresholds());
    (bytes, size, 0..9usize)
        .prop_map(move |(bytes, size, step)| (bytes / size + 4 * step - 16).min(most))
}

/// Draws a matrix of about as many elements as [`near_threshold`], with any or few rows or columns.
pub fn near_threshold_matrix(most: usize) -> impl Strategy<Value = (usize, usize)> {
    let side = prop_oneof![2 => 1..20usize, 2 => extent(2100), 1 => 1..4000usize];
    (near_threshold(most), side, any::<bool>()).prop_map(|(elements, side, turned)| {
        let side = side.clamp(1, elements);
        let (rows, cols) = (side, elements / side);
        if turned { (cols, rows) } else { (rows, cols) }
    })
}

/// How often sizes near thresholds are drawn beside others, in 26: often as if on another machine.
pub fn weight_of_thresholds() -> u32 {
    if is_another() { 13 } else { 1 }
}

/// Draws an extent that is rarely 0, so that matrices are rarely empty.
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

/// The layout of a matrix in memory, independent of its shape.
#[derive(Clone, Copy, Debug)]
pub struct Layout {
    by_columns: bool,
    /// The inner stride, in elements.
    gap: i64,
    /// Elements between the end of a line (a row or a column) and the next. If negative, line strides are
    /// multiples of 1024 elements (4 or 8 KiB), so that lines compete for the same cache sets.
    pitch: i64,
    flip: (bool, bool),
    /// Dimensions with stride 0 (rows, columns); for inputs only.
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
            // Only for up to 64 lines, because the gaps take much memory.
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

/// Draws a layout in which no two elements share an address.
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

/// Draws a layout that may have zero strides.
pub fn input() -> impl Strategy<Value = Layout> {
    let still = prop::bool::weighted(0.06);
    (output(), still, still).prop_map(|(layout, rows, cols)| Layout {
        still: (rows, cols),
        ..layout
    })
}

/// Draws the stride of an input vector, which may be 0, and its distance after a 64-byte boundary in elements.
pub fn stride() -> impl Strategy<Value = (i64, usize)> {
    let inc = prop_oneof![5 => Just(1i64), 3 => -3..4i64];
    (inc, 0..17usize)
}

/// Like [`stride`], for an output vector: the stride is not 0.
pub fn output_stride() -> impl Strategy<Value = (i64, usize)> {
    stride().prop_map(|(inc, shift)| (if inc == 0 { 1 } else { inc }, shift))
}
