//! Many vectors that are reduced together: the columns or the rows of a matrix.

use super::fold::{FoldManyKernels, StridedVector};
use crate::element::Element;
use crate::ops::reduce::WorkArea;

/// How many vectors are reduced at once when a value of each is kept on the stack.
pub const COLUMNS: usize = 512;

/// `count` vectors of `len` elements each, which are reduced together.
pub struct Vectors<T> {
    pub count: usize,
    pub len: usize,
    pub x: *const T,
    pub layout: VectorLayout,
    /// Scratch memory, and whether the vectors are expected in memory.
    pub work: WorkArea,
}

impl<T> Clone for Vectors<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Vectors<T> {}

/// How many vectors lie in memory.
#[derive(Clone, Copy)]
pub enum VectorLayout {
    /// Vectors are columns of a row-major matrix: element i of vector j is `x[i * inc + j]`.
    Columns { inc: isize },
    /// Vectors are rows of a row-major matrix: element i of vector j is `x[j * inc + i]`.
    Rows { inc: isize },
}

impl<T: Element> Vectors<T> {
    /// Returns `count` vectors, starting with vector j.
    pub fn part(self, j: usize, count: usize) -> Self {
        let step = match self.layout {
            VectorLayout::Columns { .. } => 1,
            VectorLayout::Rows { inc } => inc,
        };
        let x = self.x.wrapping_offset(j as isize * step);
        Self { count, x, ..self }
    }

    pub(super) fn vector(self, j: usize) -> StridedVector<T> {
        let inc = match self.layout {
            VectorLayout::Columns { inc } => inc,
            VectorLayout::Rows { .. } => 1,
        };
        StridedVector::new(self.part(j, 1).x, inc)
    }

    /// Folds all vectors, and applies the last step of the fold (`Fold::end`, canonical NaN).
    ///
    /// # Safety
    /// The vectors must be valid; `params` must be null or have an element for each vector, and `out` have one for
    /// each.
    pub(super) unsafe fn fold(self, f: FoldManyKernels<T>, params: *const T, out: *mut T) {
        let Self {
            count,
            len,
            x,
            layout,
            work,
        } = self;
        // SAFETY: as the caller's.
        unsafe {
            match layout {
                VectorLayout::Columns { inc } => {
                    (f.columns)(len, count, x, inc, x, inc, params, out, work);
                }
                VectorLayout::Rows { inc } => {
                    (f.rows)(count, len, x, inc, x, 1, params, out, work.from_memory)
                }
            }
        }
    }
}
