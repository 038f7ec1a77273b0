//! The arguments of BLAS in the terms of Diptych.

use diptych::Element;

/// A matrix or, with one column, a vector: a pointer to element (0, 0), and the strides.
#[derive(Clone, Copy)]
pub struct Matrix<P> {
    /// The first element.
    pub p: P,
    /// From one row to the next.
    pub rs: i64,
    /// From one column to the next.
    pub cs: i64,
}

impl<P> Matrix<P> {
    /// Returns a matrix by its pointer and strides.
    pub fn new(p: P, rs: i64, cs: i64) -> Self {
        Self { p, rs, cs }
    }

    /// Returns the transposed matrix.
    pub fn t(self) -> Self {
        Self::new(self.p, self.cs, self.rs)
    }
}

/// Returns op(A) of a column-major matrix A, transposed if `transposed`.
pub fn column_major<P>(p: P, ld: i64, transposed: bool) -> Matrix<P> {
    let a = Matrix::new(p, 1, ld);
    if transposed { a.t() } else { a }
}

/// Returns the address of element 0: with a negative increment, the last one in memory.
#[inline]
pub fn first<T>(n: i64, x: *const T, inc: i64) -> *const T {
    if inc < 0 {
        x.wrapping_offset((1 - n).wrapping_mul(inc) as isize)
    } else {
        x
    }
}

/// Returns whether a column-major matrix can exist: it is not null, and its extent is an `isize`. Sizes are not negative.
pub fn can_exist<T>(a: *const T, rows: i64, cols: i64, ld: i64) -> bool {
    let [rows, cols, ld] = [rows, cols, ld].map(i128::from);
    let elements = (cols - 1)
        .checked_mul(ld)
        .and_then(|start| start.checked_add(rows));
    let bytes = elements.and_then(|elements| elements.checked_mul(size_of::<T>() as i128));
    !a.is_null() && bytes.is_some_and(|bytes| bytes <= isize::MAX as i128)
}

/// Returns whether a character of Fortran asks for a transposed matrix; `None`: not a character for this.
pub fn transposed(c: u8) -> Option<bool> {
    match c.to_ascii_uppercase() {
        b'N' => Some(false),
        b'T' | b'C' => Some(true),
        _ => None,
    }
}

/// Returns whether a character of Fortran asks for the upper triangle.
pub fn upper(c: u8) -> Option<bool> {
    match c.to_ascii_uppercase() {
        b'U' => Some(true),
        b'L' => Some(false),
        _ => None,
    }
}

/// Returns whether a `CBLAS_LAYOUT` is row-major.
pub fn cblas_row_major(layout: i32) -> Option<bool> {
    match layout {
        101 => Some(true),
        102 => Some(false),
        _ => None,
    }
}

/// As [`transposed`], of a `CBLAS_TRANSPOSE`: 114 is OpenBLAS's conjugate without a transposition.
pub fn cblas_transposed(op: i32) -> Option<bool> {
    match op {
        111 | 114 => Some(false),
        112 | 113 => Some(true),
        _ => None,
    }
}

/// As [`upper`], of a `CBLAS_UPLO`.
pub fn cblas_upper(uplo: i32) -> Option<bool> {
    match uplo {
        121 => Some(true),
        122 => Some(false),
        _ => None,
    }
}

/// Returns the product of sizes that are not negative, as an estimate of the work.
pub fn work(sizes: &[i64]) -> usize {
    let product = sizes.iter().map(|&n| usize::try_from(n).unwrap_or(0));
    product.fold(1, usize::saturating_mul)
}

/// Returns whether `alpha` is 0, so that what it is multiplied by is not read.
pub fn is_zero<T: Element>(alpha: T) -> bool {
    alpha == T::ZERO
}
