//! A matrix product whose arguments have been checked.

use crate::element::Element;

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
    const NONE: Self = Self {
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

/// C = alpha A B + beta C, then the epilogue. The arguments have been checked; strides count elements.
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
    pub a: *const T,
    /// The row stride of A.
    pub a_rs: isize,
    /// The column stride of A.
    pub a_cs: isize,
    /// B.
    pub b: *const T,
    /// The row stride of B.
    pub b_rs: isize,
    /// The column stride of B.
    pub b_cs: isize,
    /// The factor of C.
    pub beta: T,
    /// C.
    pub c: *mut T,
    /// The row stride of C.
    pub c_rs: isize,
    /// The column stride of C.
    pub c_cs: isize,
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
            a: self.b,
            a_rs: self.b_cs,
            a_cs: self.b_rs,
            b: self.a,
            b_rs: self.a_cs,
            b_cs: self.a_rs,
            c_rs: self.c_cs,
            c_cs: self.c_rs,
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
        let (i, j) = (i as isize, j as isize);
        let mut e = self.epilogue;
        if !e.row_bias.is_null() {
            e.row_bias = e.row_bias.wrapping_offset(i * e.row_inc);
        }
        if !e.column_bias.is_null() {
            e.column_bias = e.column_bias.wrapping_offset(j * e.column_inc);
        }
        Self {
            m,
            n,
            a: self.a.wrapping_offset(i * self.a_rs),
            b: self.b.wrapping_offset(j * self.b_cs),
            c: self.c.wrapping_offset(i * self.c_rs + j * self.c_cs),
            epilogue: e,
            ..*self
        }
    }

    /// Product `index` of a batch, given the strides between the matrices.
    pub fn at(&self, index: usize, [a, b, c]: [isize; 3]) -> Self {
        let index = index as isize;
        Self {
            a: self.a.wrapping_offset(index * a),
            b: self.b.wrapping_offset(index * b),
            c: self.c.wrapping_offset(index * c),
            ..*self
        }
    }
}
