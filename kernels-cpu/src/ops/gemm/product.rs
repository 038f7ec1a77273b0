//! What a product is, once it has been checked.

use crate::element::Element;

/// What is added and limited after the last segment.
#[derive(Clone, Copy)]
pub struct Epilogue<T> {
    /// An element per row, or null.
    pub row_bias: *const T,
    /// From an element to the next.
    pub row_inc: isize,
    /// An element per column, or null.
    pub column_bias: *const T,
    /// From an element to the next.
    pub column_inc: isize,
    /// What limits the elements.
    pub clamp: Clamp<T>,
}

/// A clamp, or none. The rule for NaN bounds is decided here, once for all that compute products, on both backends.
#[derive(Clone, Copy)]
pub struct Clamp<T> {
    rule: Rule,
    /// Initialised where there is no clamp too: the compiler compares them before it looks at the rule, and what
    /// nobody has written would raise flags.
    bounds: (T, T),
}

/// What a clamp does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rule {
    /// Nothing.
    Keep,
    /// It limits elements to the bounds, which are not NaN.
    Limit,
    /// A bound is NaN: every element becomes the canonical NaN.
    Nan,
}

impl<T: Element> Clamp<T> {
    /// None.
    const NONE: Self = Self {
        rule: Rule::Keep,
        bounds: (T::ZERO, T::ZERO),
    };

    /// What it does.
    #[inline(always)]
    pub fn rule(self) -> Rule {
        self.rule
    }

    /// Its bounds; both are the canonical NaN where one was NaN, 0 where there are none.
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
    /// Nothing.
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

/// A matrix product that has been checked. Strides count elements.
#[derive(Clone, Copy)]
pub struct Gemm<T> {
    /// Rows of A and C.
    pub m: usize,
    /// Columns of B and C.
    pub n: usize,
    /// Columns of A, rows of B.
    pub k: usize,
    /// What A B is multiplied by.
    pub alpha: T,
    /// A.
    pub a: *const T,
    /// From a row of A to the next.
    pub a_rs: isize,
    /// From a column of A to the next.
    pub a_cs: isize,
    /// B.
    pub b: *const T,
    /// From a row of B to the next.
    pub b_rs: isize,
    /// From a column of B to the next.
    pub b_cs: isize,
    /// What C is multiplied by.
    pub beta: T,
    /// C.
    pub c: *mut T,
    /// From a row of C to the next.
    pub c_rs: isize,
    /// From a column of C to the next.
    pub c_cs: isize,
    /// What follows.
    pub epilogue: Epilogue<T>,
}

// SAFETY: a description; who runs it says why its parts do not race.
unsafe impl<T: Element> Sync for Gemm<T> {}

impl<T: Element> Gemm<T> {
    /// C^T = B^T A^T: the same elements, with the same bits since products commute.
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

    /// Rows i..i + m and columns j..j + n.
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

    /// Product `index` of a batch.
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
