//! A product of integers or 16-bit numbers whose arguments have been checked. Strides are in bytes.

use super::routines::Panels;
use super::write::{Write, WriteTile};
use crate::element::{Dtype, Storage};
use crate::half::{bf16, f16};
use crate::matrix::Matrix;
use crate::ops::gemm::{Clamp, Rule};

/// A number for each row or for each column of C; a null pointer is none.
#[derive(Clone, Copy)]
pub struct Numbers {
    /// The first one.
    pub ptr: *const u8,
    /// The stride in bytes.
    pub inc: isize,
    /// The type, one that is computed in `f32`.
    pub of: Dtype,
}

impl Numbers {
    /// No numbers.
    pub const NONE: Self = Self {
        ptr: core::ptr::null(),
        inc: 0,
        of: Dtype::F32,
    };

    /// Whether there are any.
    #[inline(always)]
    pub fn is_some(&self) -> bool {
        !self.ptr.is_null()
    }

    /// Number `index`.
    ///
    /// # Safety
    /// It must be valid for reading.
    #[inline(always)]
    pub unsafe fn get(&self, index: usize) -> f32 {
        let at = self.ptr.wrapping_offset(index as isize * self.inc);
        match self.of {
            Dtype::F16 => (*at.cast::<f16>()).into_compute(),
            Dtype::Bf16 => (*at.cast::<bf16>()).into_compute(),
            Dtype::F32 | Dtype::F64 => *at.cast::<f32>(),
        }
    }

    /// The numbers from `index` on.
    fn from(self, index: usize) -> Self {
        let ptr = self.ptr;
        Self {
            ptr: if ptr.is_null() {
                ptr
            } else {
                ptr.wrapping_offset(index as isize * self.inc)
            },
            ..self
        }
    }
}

/// What becomes of the sums: s is scaled, multiplied by alpha, beta times C is added, then the biases, and the result is
/// clamped. Each step is rounded once; then the result is rounded to the type of C. Integers only have beta, 0 or 1.
#[derive(Clone, Copy)]
pub struct Finish {
    /// Does all this for a micro-tile.
    pub write: Write,
    /// The factor of A B.
    pub alpha: f32,
    /// The factor of C.
    pub beta: f32,
    /// The factor of the sums of each row, which comes first; of integers only.
    pub row_scale: Numbers,
    /// The factor of the sums of each column; of integers only.
    pub column_scale: Numbers,
    /// Whether the factor of the column comes first, as in the transpose of a product.
    pub scales_columns_first: bool,
    /// What is added to each row.
    pub row_bias: Numbers,
    /// What is added to each column.
    pub column_bias: Numbers,
    /// The limits of the results.
    pub clamp: Clamp<f32>,
}

impl Finish {
    /// The sums alone. The function is a place holder.
    pub const NONE: Self = Self {
        write: unwritten,
        alpha: 1.0,
        beta: 0.0,
        row_scale: Numbers::NONE,
        column_scale: Numbers::NONE,
        scales_columns_first: false,
        row_bias: Numbers::NONE,
        column_bias: Numbers::NONE,
        clamp: Clamp::NONE,
    };
}

impl Finish {
    /// Whether sums in `f32` are only rounded to the type of C.
    pub fn is_rounding(&self) -> bool {
        self.alpha == 1.0
            && self.beta == 0.0
            && !self.row_bias.is_some()
            && !self.column_bias.is_some()
            && self.clamp.rule() == Rule::Keep
    }
}

/// Stands for a function until a level is known.
unsafe fn unwritten(_: &Finish, _: &WriteTile) {}

/// The micro-panels of a B that was packed before the call: of all k, the most columns each, one after the other.
#[derive(Clone, Copy)]
pub struct PackedB {
    /// Their sizes.
    pub panels: Panels,
    /// Whether their headers are those for another type of A, which [`loops`](super::loops) then undoes.
    pub is_for_other: bool,
}

/// C = alpha A B + beta C, with what follows. The arguments have been checked.
#[derive(Clone, Copy)]
pub struct MixedGemm {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A, rows of B; 0 if alpha is.
    pub k: usize,
    /// A.
    pub a: Matrix<*const u8>,
    /// B. If it is packed, its columns are as far apart as the columns of micro-panels.
    pub b: Matrix<*const u8>,
    /// Whether B is packed, and how.
    pub packed_b: Option<PackedB>,
    /// C.
    pub c: Matrix<*mut u8>,
    /// Whether C holds plain sums: it has their type, alpha is 1, beta 0 or 1, and nothing follows.
    pub is_plain: bool,
    /// From the sums to C.
    pub finish: Finish,
}

// SAFETY: only describes a product; the code that runs it says why its tasks do not race.
unsafe impl Sync for MixedGemm {}

impl MixedGemm {
    /// C^T = B^T A^T.
    pub fn transposed(self) -> Self {
        let f = self.finish;
        Self {
            m: self.n,
            n: self.m,
            a: self.b.transposed(),
            b: self.a.transposed(),
            c: self.c.transposed(),
            finish: Finish {
                row_scale: f.column_scale,
                column_scale: f.row_scale,
                scales_columns_first: !f.scales_columns_first,
                row_bias: f.column_bias,
                column_bias: f.row_bias,
                ..f
            },
            ..self
        }
    }

    /// The product for rows i..i + m and columns j..j + n of C.
    pub fn block(&self, (i, m): (usize, usize), (j, n): (usize, usize)) -> Self {
        let f = self.finish;
        Self {
            m,
            n,
            a: self.a.offset(i, 0),
            b: self.b.offset(0, j),
            c: self.c.offset(i, j),
            finish: Finish {
                row_scale: f.row_scale.from(i),
                column_scale: f.column_scale.from(j),
                row_bias: f.row_bias.from(i),
                column_bias: f.column_bias.from(j),
                ..f
            },
            ..*self
        }
    }

    /// Product `index` of a batch.
    pub fn at(&self, index: usize) -> Self {
        Self {
            a: self.a.item(index),
            b: self.b.item(index),
            c: self.c.item(index),
            ..*self
        }
    }
}
