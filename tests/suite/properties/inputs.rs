//! What all random tests draw: extents, layouts, scalars.

use diptych_tests::cases;
use diptych_tests::layout::{Placed, Strides};
use diptych_tests::machines::{is_another, thresholds};
use diptych_tests::model::Dense;
use diptych_tests::random::Input;
use diptych_tests::real::Dtype;

/// Sizes of vector registers, lanes, micro-tiles, blocks, segments and chunks, of f32 or f64.
const EDGES: [usize; 19] = [
    2, 4, 6, 8, 10, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 1024, 2048,
];

/// Draws an extent up to `most`: tiny, within 1 of an edge, or arbitrary.
pub fn extent(input: &mut Input<'_>, most: usize) -> usize {
    let edges = EDGES.into_iter().take_while(|&edge| edge <= most).count();
    let n = match input.choose([4, 4, 2]) {
        0 => input.range(0..most.min(9) + 1),
        1 => input.pick(&EDGES[..edges]) + input.below(3) - 1,
        _ => input.range(0..most + 1),
    };
    n.min(most)
}

/// Draws a number of elements, at most `most`, of which f32 or f64 take about as many bytes as a [threshold](thresholds)
/// of the machine.
pub fn near_threshold(input: &mut Input<'_>, most: usize) -> usize {
    let (bytes, size) = (input.pick(&thresholds()), input.pick(&[4, 8]));
    (bytes / size + 4 * input.below(9) - 16).min(most)
}

/// Draws a matrix of about as many elements as [`near_threshold`], with any or few rows or columns.
pub fn near_threshold_matrix(input: &mut Input<'_>, most: usize) -> (usize, usize) {
    let elements = near_threshold(input, most);
    let side = match input.choose([2, 2, 1]) {
        0 => input.range(1..20),
        1 => extent(input, 2100),
        _ => input.range(1..4000),
    };
    let side = side.clamp(1, elements);
    let (rows, cols) = (side, elements / side);
    if input.flag() {
        (cols, rows)
    } else {
        (rows, cols)
    }
}

/// How often sizes near thresholds are drawn beside others, in 26: often as if on another machine.
pub fn weight_of_thresholds() -> usize {
    if is_another() { 13 } else { 1 }
}

/// Draws an extent that is rarely 0, so that matrices are rarely empty.
pub fn side(input: &mut Input<'_>, most: usize) -> usize {
    match input.choose([1, 30]) {
        0 => 0,
        _ => extent(input, most).max(1),
    }
}

/// Draws how far an array begins after a 64-byte boundary, in elements.
pub fn shift(input: &mut Input<'_>) -> usize {
    input.range(0..17)
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

pub fn scalar(input: &mut Input<'_>) -> Scalar {
    match input.choose([3, 3, 1, 4, 1]) {
        0 => Scalar::Plain(0.0),
        1 => Scalar::Plain(1.0),
        2 => Scalar::Plain(-1.0),
        3 => Scalar::Plain(f64::from(input.word() as i32) / f64::from(1 << 30)),
        _ => Scalar::Special(input.below(64)),
    }
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

/// Draws a layout in which no two elements share an address.
pub fn output(input: &mut Input<'_>) -> Layout {
    Layout {
        by_columns: input.flag(),
        gap: [1, input.range(2..4) as i64][input.choose([6, 1])],
        pitch: [0, input.range(1..9) as i64, -1][input.choose([4, 4, 1])],
        flip: (input.rarely(7), input.rarely(7)),
        still: (false, false),
        shift: [0, shift(input)][input.choose([1, 1])],
    }
}

/// Draws a layout that may have zero strides.
pub fn layout(input: &mut Input<'_>) -> Layout {
    Layout {
        still: (input.rarely(16), input.rarely(16)),
        ..output(input)
    }
}

/// Draws the stride of an input vector, which may be 0, and its distance after a 64-byte boundary in elements.
pub fn stride(input: &mut Input<'_>) -> (i64, usize) {
    let inc = match input.choose([5, 3]) {
        0 => 1,
        _ => input.below(7) as i64 - 3,
    };
    (inc, shift(input))
}

/// Like [`stride`], for an output vector: the stride is not 0.
pub fn output_stride(input: &mut Input<'_>) -> (i64, usize) {
    let (inc, shift) = stride(input);
    (if inc == 0 { 1 } else { inc }, shift)
}
