//! The matrices of a batch, as blocks of one large matrix.

use diptych_tests::cases::{self, Values};
use diptych_tests::layout::Placed;
use diptych_tests::model::Dense;
use diptych_tests::real::Dtype;

use super::inputs::Layout;

/// The order of the matrices of a batch in the large matrix.
#[derive(Clone, Copy, Debug, Default)]
pub struct Order {
    /// Side by side, or one below the other.
    pub side_by_side: bool,
    pub backwards: bool,
    /// The whole batch is the same matrix; not for an output.
    pub same: bool,
}

/// `count` matrices of `rows` by `cols`, placed in memory as one large matrix.
pub struct Stack<T> {
    pub placed: Placed<T>,
    rows: usize,
    cols: usize,
    count: usize,
    order: Order,
}

/// The offset of the first matrix from the pointer to the large one, and the strides of rows, columns and batch.
#[derive(Clone, Copy)]
pub struct Place {
    pub first: isize,
    pub rs: i64,
    pub cs: i64,
    pub bs: i64,
}

impl<T: Dtype> Stack<T> {
    pub fn new(
        (rows, cols): (usize, usize),
        count: usize,
        order: Order,
        layout: &Layout,
        values: Values,
        seed: u64,
    ) -> Stack<T> {
        let count = if order.same { 1 } else { count };
        let (down, right) = if order.side_by_side {
            (1, count)
        } else {
            (count, 1)
        };
        let dense = cases::dense(values, rows * down, cols * right, seed);
        Stack {
            placed: layout.place(&dense),
            rows,
            cols,
            count,
            order,
        }
    }

    /// Returns the first row and column of matrix `item` in the large matrix.
    pub fn origin(&self, item: usize) -> (usize, usize) {
        let last = self.count.saturating_sub(1);
        let item = item.min(last);
        let item = if self.order.backwards {
            last - item
        } else {
            item
        };
        if self.order.side_by_side {
            (0, item * self.cols)
        } else {
            (item * self.rows, 0)
        }
    }

    /// Copies matrix `item` out of the large matrix `whole`.
    pub fn item(&self, whole: &Dense<T>, item: usize) -> Dense<T> {
        let (i0, j0) = self.origin(item);
        let element = |at: usize| whole.at(i0 + at / self.cols, j0 + at % self.cols);
        Dense {
            rows: self.rows,
            cols: self.cols,
            data: (0..self.rows * self.cols).map(element).collect(),
        }
    }

    pub fn place(&self) -> Place {
        let (rs, cs) = (self.placed.rs(), self.placed.cs());
        let (i, j) = self.origin(0);
        let step = match self.order.side_by_side {
            true => self.cols as i64 * cs,
            false => self.rows as i64 * rs,
        };
        Place {
            first: (i as i64 * rs + j as i64 * cs) as isize,
            rs,
            cs,
            bs: match (self.count, self.order.backwards) {
                (1, _) => 0,
                (_, true) => -step,
                (_, false) => step,
            },
        }
    }
}
