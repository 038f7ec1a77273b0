//! Operands with any strides and alignment, in a buffer whose gaps hold a NaN that must neither
//! reach a result nor be overwritten.

use crate::model::Dense;
use crate::real::{Real, same_bits};

/// The value in the gaps: a NaN with a distinctive payload.
fn filler<T: Real>() -> T {
    T::of_bits(T::NAN_BITS | 0x0BAD)
}

/// Element strides of a matrix, with a name for failure messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strides {
    /// From row to row.
    pub rs: i64,
    /// From column to column.
    pub cs: i64,
}

/// Returns layouts for outputs and inputs: no two elements share an address.
pub fn output_layouts(m: usize, n: usize) -> Vec<Strides> {
    let (m, n) = (m.max(1) as i64, n.max(1) as i64);
    let pairs = [
        (n, 1),         // row-major, no gaps
        (1, m),         // column-major, no gaps
        (n + 3, 1),     // row-major, part of a wider matrix
        (1, m + 5),     // column-major, part of a taller matrix
        (3 * n + 1, 3), // gaps between all elements
        (-n, 1),        // last row first
        (n, -1),        // last column first
        (-1, -(m + 2)), // column-major, both reversed
        (2, 2 * m + 3), // column-major, with gaps
    ];
    pairs.map(|(rs, cs)| Strides { rs, cs }).to_vec()
}

/// Returns layouts for inputs: those of [`output_layouts`], and some in which elements share an address.
pub fn input_layouts(m: usize, n: usize) -> Vec<Strides> {
    let mut layouts = output_layouts(m, n);
    layouts.push(Strides { rs: 0, cs: 1 });
    layouts.push(Strides { rs: 2, cs: 0 });
    layouts.push(Strides { rs: 1, cs: 1 });
    layouts.push(Strides { rs: 0, cs: 0 });
    layouts
}

/// Copies a matrix; `from` and `to` are buffers, with the index of element (0, 0) and strides. Loops over ranges call
/// functions for each element where a build is hardly optimised, and arrays of megabytes come here.
fn copy<T: Copy>(
    (rows, cols): (usize, usize),
    (from, from_origin, from_strides): (&[T], usize, Strides),
    to: &mut [T],
    (to_origin, to_strides): (usize, Strides),
) {
    let (mut from_row, mut to_row) = (from_origin as i64, to_origin as i64);
    let mut i = 0;
    while i < rows {
        if from_strides.cs == 1 && to_strides.cs == 1 {
            let row = &from[from_row as usize..][..cols];
            to[to_row as usize..][..cols].copy_from_slice(row);
        } else {
            let (mut read, mut write, mut j) = (from_row, to_row, 0);
            while j < cols {
                to[write as usize] = from[read as usize];
                read += from_strides.cs;
                write += to_strides.cs;
                j += 1;
            }
        }
        from_row += from_strides.rs;
        to_row += to_strides.rs;
        i += 1;
    }
}

/// A matrix (or a vector: one row) placed in memory.
#[derive(Clone, Debug)]
pub struct Placed<T> {
    buffer: Vec<T>,
    origin: usize,
    rows: usize,
    cols: usize,
    strides: Strides,
}

impl<T: Real> Placed<T> {
    /// Puts `dense` into memory with these strides; the lowest element lies `shift` elements after
    /// a 64-byte boundary. Where elements share an address, the last one written stays.
    pub fn matrix(dense: &Dense<T>, strides: Strides, shift: usize) -> Placed<T> {
        let reach = |count: usize, stride: i64| stride * (count.max(1) as i64 - 1);
        let (down, right) = (reach(dense.rows, strides.rs), reach(dense.cols, strides.cs));
        let before = (-down.min(0) - right.min(0)) as usize;
        let span = (down.abs() + right.abs()) as usize + 1;
        let line = 64 / size_of::<T>();
        let buffer = vec![filler::<T>(); span + shift + 2 * line];
        let to_line = buffer.as_ptr().align_offset(64);
        let mut placed = Placed {
            buffer,
            origin: to_line + shift + before,
            rows: dense.rows,
            cols: dense.cols,
            strides,
        };
        let shape = (dense.rows, dense.cols);
        copy(
            shape,
            (&dense.data, 0, dense.strides()),
            &mut placed.buffer,
            (placed.origin, strides),
        );
        placed
    }

    /// Puts a vector with stride `inc` into memory.
    pub fn vector(x: &[T], inc: i64, shift: usize) -> Placed<T> {
        let dense = Dense {
            rows: 1,
            cols: x.len(),
            data: x.to_vec(),
        };
        Placed::matrix(&dense, Strides { rs: 0, cs: inc }, shift)
    }

    /// Returns a pointer to element (0, 0).
    pub fn ptr(&self) -> *const T {
        self.buffer.as_ptr().wrapping_add(self.origin)
    }

    /// Returns a pointer to element (0, 0), through which the whole buffer may be written.
    pub fn mut_ptr(&mut self) -> *mut T {
        // Derived from the whole buffer, because negative strides reach below the origin.
        self.buffer.as_mut_ptr().wrapping_add(self.origin)
    }

    /// Row stride.
    pub fn rs(&self) -> i64 {
        self.strides.rs
    }

    /// Column stride; of a vector, its stride.
    pub fn cs(&self) -> i64 {
        self.strides.cs
    }

    /// Gathers the elements of the view.
    pub fn dense(&self) -> Dense<T> {
        let mut dense = Dense {
            rows: self.rows,
            cols: self.cols,
            data: vec![T::zero(); self.rows * self.cols],
        };
        let (shape, to) = ((self.rows, self.cols), (0, dense.strides()));
        copy(
            shape,
            (&self.buffer, self.origin, self.strides),
            &mut dense.data,
            to,
        );
        dense
    }

    /// Returns whether the gaps and the memory around the matrix still hold the filler.
    pub fn gaps_intact(&self) -> bool {
        let mut gaps = self.buffer.clone();
        let (shape, filler) = (
            (self.rows, self.cols),
            vec![filler::<T>(); self.cols.max(1)],
        );
        let everywhere = (&filler[..], 0, Strides { rs: 0, cs: 1 });
        copy(shape, everywhere, &mut gaps, (self.origin, self.strides));
        // The buffer is longer than the matrix.
        gaps[0].bits() == filler[0].bits() && same_bits(&gaps[1..], &gaps[..gaps.len() - 1])
    }
}

#[cfg(test)]
mod tests {
    use super::{Placed, input_layouts, output_layouts};
    use crate::model::Dense;

    #[test]
    fn every_output_layout_returns_what_it_was_given() {
        for (m, n) in [(1, 1), (3, 4), (7, 2), (1, 5), (5, 1)] {
            let data: Vec<f64> = (0..m * n).map(|i| i as f64).collect();
            let dense = Dense {
                rows: m,
                cols: n,
                data,
            };
            for strides in output_layouts(m, n) {
                let placed = Placed::matrix(&dense, strides, 3);
                assert_eq!(placed.dense().data, dense.data, "{strides:?}");
                assert!(placed.gaps_intact());
            }
            assert!(input_layouts(m, n).len() > output_layouts(m, n).len());
        }
    }
}
