//! The canonical orders in their simplest form: one scalar at a time, no blocking, no vectors, no shortcuts.
//! The kernels of every level must give these bits.
//!
//! A vector is a slice and a matrix is rows of a [`Dense`]: the tests gather strided operands
//! before they call the model, because strides never change bits.

mod elementwise;
mod reductions;
mod row_maps;

use crate::layout::Strides;
use crate::real::Real;

pub use elementwise::*;
use reductions::tree;
pub use reductions::*;
pub use row_maps::*;

/// The length of a segment: the terms of one gemm chain before it is multiplied by alpha and added to C.
pub const KSEG: usize = 256;
/// Rows of `A` in one block of lsq_grad.
pub const LSQ_ROWS: usize = 32;

/// A row-major matrix without gaps.
#[derive(Clone, Debug)]
pub struct Dense<T> {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub cols: usize,
    /// `rows * cols` elements.
    pub data: Vec<T>,
}

impl<T: Real> Dense<T> {
    /// The strides of the elements in [`Dense::data`].
    pub fn strides(&self) -> Strides {
        Strides {
            rs: self.cols as i64,
            cs: 1,
        }
    }
    /// Element in row `i`, column `j`.
    pub fn at(&self, i: usize, j: usize) -> T {
        self.data[i * self.cols + j]
    }
    /// Row `i`.
    pub fn row(&self, i: usize) -> &[T] {
        &self.data[i * self.cols..(i + 1) * self.cols]
    }
    /// A copy of column `j`.
    pub fn column(&self, j: usize) -> Vec<T> {
        (0..self.rows).map(|i| self.at(i, j)).collect()
    }
}

/// alpha A B + beta C.
pub fn gemm<T: Real>(alpha: T, a: &Dense<T>, b: &Dense<T>, beta: T, c: &Dense<T>) -> Dense<T> {
    let vector = a.rows == 1 || b.cols == 1;
    let mut out = c.clone();
    for j in 0..b.cols {
        let column = b.column(j);
        for i in 0..a.rows {
            let element = if alpha == T::zero() || a.cols == 0 {
                if beta == T::zero() {
                    T::zero()
                } else {
                    beta * c.at(i, j)
                }
            } else if vector {
                let t = dot(a.row(i), &column);
                first_segment(alpha, t, beta, c.at(i, j))
            } else {
                gemm_element(alpha, a.row(i), &column, beta, c.at(i, j))
            };
            out.data[i * out.cols + j] = element;
        }
    }
    out
}

/// One element of a product that is not a matrix-vector product: one chain per segment of k.
fn gemm_element<T: Real>(alpha: T, row: &[T], column: &[T], beta: T, c: T) -> T {
    let mut c = c;
    for (q, (row, column)) in row.chunks(KSEG).zip(column.chunks(KSEG)).enumerate() {
        let mut s = T::zero();
        for (&a, &b) in row.iter().zip(column) {
            s = a.fused(b, s);
        }
        c = if q == 0 {
            first_segment(alpha, s, beta, c)
        } else {
            alpha.fused(s, c)
        };
    }
    c
}

fn first_segment<T: Real>(alpha: T, s: T, beta: T, c: T) -> T {
    if beta == T::zero() {
        alpha * s
    } else {
        alpha.fused(s, beta * c)
    }
}

/// The epilogue of `gemm_fused` after the last segment: one addition of the bias, then clamp.
#[derive(Clone, Debug)]
pub struct Epilogue<T> {
    /// A bias per row.
    pub per_row: Option<Vec<T>>,
    /// A bias per column.
    pub per_column: Option<Vec<T>>,
    /// Lower and upper bound.
    pub clamp: Option<(T, T)>,
}

/// Applies an epilogue to a finished product.
pub fn fuse<T: Real>(mut c: Dense<T>, epilogue: &Epilogue<T>) -> Dense<T> {
    for i in 0..c.rows {
        for j in 0..c.cols {
            let v = &mut c.data[i * c.cols + j];
            if let Some(bias) = &epilogue.per_row {
                *v = *v + bias[i];
            }
            if let Some(bias) = &epilogue.per_column {
                *v = *v + bias[j];
            }
            if let Some((lo, hi)) = epilogue.clamp {
                *v = clamp(*v, lo, hi);
            }
        }
    }
    c
}

/// 2 A^T (A x - y): the residual of each row by `dot`; then, for each column, chains of 32 rows and a tree over them.
pub fn lsq_grad<T: Real>(a: &Dense<T>, x: &[T], y: &[T]) -> Vec<T> {
    let r: Vec<T> = (0..a.rows).map(|i| dot(a.row(i), x) - y[i]).collect();
    let gradient = |j: usize| {
        let mut blocks = Vec::new();
        for first in (0..a.rows).step_by(LSQ_ROWS) {
            let mut s = T::zero();
            for (i, &residual) in r.iter().enumerate().skip(first).take(LSQ_ROWS) {
                s = a.at(i, j).fused(residual, s);
            }
            blocks.push(s);
        }
        canonical(T::of(2.0) * tree(&blocks, T::zero(), |a, b| a + b) + T::zero())
    };
    (0..a.cols).map(gradient).collect()
}
