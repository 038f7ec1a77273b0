//! A matrix product whose arguments have been checked.

use crate::element::Element;
use crate::matrix::Matrix;

/// What is done to C after the last segment: the biases are added, then the elements are clamped.
#[derive(Clone, Copy)]
pub struct Epilogue<T> {
    /// One element per row, or null.
    pub row_bias: *const T,
    /// The stride of `row_bias`.
    pub row_inc: isize,
    /// One element per column, or null.
    pub column_bias: *const T,
    /// The stride of `column_bias`.
    pub column_inc: isize,
    /// The limits of the elements.
    pub clamp: Clamp<T>,
}

/// A clamp, or none. The rule for NaN bounds is decided here, once for all code that computes products, on both
/// backends.
#[derive(Clone, Copy)]
pub struct Clamp<T> {
    rule: Rule,
    /// Always initialised: the compiler may compare them before it tests the rule, and a comparison of uninitialised
    /// memory could raise floating-point exception flags.
    bounds: (T, T),
}

/// The effect of a clamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Nothing.
    Keep,
    /// Limits the elements to the bounds, which are not NaN.
    Limit,
    /// Sets every element to the canonical NaN, because a bound is NaN.
    Nan,
}

impl<T: Element> Clamp<T> {
    /// No clamp.
    pub const NONE: Self = Self {
        rule: Rule::Keep,
        bounds: (T::ZERO, T::ZERO),
    };

    /// Its effect.
    #[inline(always)]
    pub fn rule(self) -> Rule {
        self.rule
    }

    /// Its bounds; both are the canonical NaN if one was NaN, and 0 if there is no clamp.
    #[inline(always)]
    pub fn bounds(self) -> (T, T) {
        self.bounds
    }
}

impl<T: Element> From<Option<(T, T)>> for Clamp<T> {
    fn from(bounds: Option<(T, T)>) -> Self {
        let (rule, bounds) = match bounds {
            None => return Self::NONE,
            Some((lo, hi)) if lo.is_nan() || hi.is_nan() => {
                (Rule::Nan, (T::CANONICAL_NAN, T::CANONICAL_NAN))
            }
            Some(bounds) => (Rule::Limit, bounds),
        };
        Self { rule, bounds }
    }
}

impl<T: Element> Epilogue<T> {
    /// The epilogue that does nothing.
    pub const NONE: Self = Self {
        row_bias: core::ptr::null(),
        row_inc: 0,
        column_bias: core::ptr::null(),
        column_inc: 0,
        clamp: Clamp::NONE,
    };

    /// Whether it does anything.
    pub fn is_some(&self) -> bool {
        !self.row_bias.is_null() || !self.column_bias.is_null() || self.clamp.rule != Rule::Keep
    }
}

/// C = alpha A B + beta C, then the epilogue. The arguments have been checked.
#[derive(Clone, Copy)]
pub struct Gemm<T> {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
    /// The factor of A B.
    pub alpha: T,
    /// A.
    pub a: Matrix<*const T>,
    /// B.
    pub b: Matrix<*const T>,
    /// The factor of C.
    pub beta: T,
    /// C.
    pub c: Matrix<*mut T>,
    /// What is done to C after the last segment.
    pub epilogue: Epilogue<T>,
}

// SAFETY: only describes a product; the code that runs it says why its tasks do not race.
unsafe impl<T: Element> Sync for Gemm<T> {}

impl<T: Element> Gemm<T> {
    /// C^T = B^T A^T: the same elements, with the same bits, since multiplication commutes.
    pub fn transposed(self) -> Self {
        let e = self.epilogue;
        Self {
            m: self.n,
            n: self.m,
            a: self.b.transposed(),
            b: self.a.transposed(),
            c: self.c.transposed(),
            epilogue: Epilogue {
                row_bias: e.column_bias,
                row_inc: e.column_inc,
                column_bias: e.row_bias,
                column_inc: e.row_inc,
                clamp: e.clamp,
            },
            ..self
        }
    }

    /// The product for rows i..i + m and columns j..j + n of C.
    pub fn block(&self, (i, m): (usize, usize), (j, n): (usize, usize)) -> Self {
        let mut e = self.epilogue;
        if !e.row_bias.is_null() {
            e.row_bias = e.row_bias.wrapping_offset(i as isize * e.row_inc);
        }
        if !e.column_bias.is_null() {
            e.column_bias = e.column_bias.wrapping_offset(j as isize * e.column_inc);
        }
        Self {
            m,
            n,
            a: self.a.offset(i, 0),
            b: self.b.offset(0, j),
            c: self.c.offset(i, j),
            epilogue: e,
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
