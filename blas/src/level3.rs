//! `gemm` and `syrk`.
//!
//! Fortran's matrices are column-major. Read by rows they are transposed, and the transposed product, B^T A^T, is
//! what the kernels like best: its output has contiguous rows.

use core::mem::MaybeUninit;

use diptych::{Element, Error, Result, raw};

use crate::arguments::{
    Matrix, can_exist, cblas_row_major, cblas_transposed, cblas_upper, column_major, is_zero, work,
};
use crate::copies::{copy, needs_copies, on_some_level, write};
use crate::errors::{Caller, Routine, report};
use crate::threads::with_exec;

/// A product C = alpha A B + beta C.
#[derive(Clone, Copy)]
pub struct Product<T> {
    /// Rows of A and C, columns of B and C, columns of A.
    pub sizes: [i64; 3],
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
}

impl<T: Element> Product<T> {
    /// Computes the product.
    ///
    /// # Errors
    /// `NullPointer`, `SizeOverflow`, `OutOfMemory`.
    ///
    /// # Safety
    /// The matrices must be valid, as for [`raw::gemm`]; they may overlap and be misaligned.
    #[inline(always)]
    pub unsafe fn run(&self) -> Result<()> {
        // SAFETY: as the caller's.
        match on_some_level(|| unsafe { self.call() }) {
            // SAFETY: as the caller's.
            Err(error) if needs_copies(error) => unsafe { self.run_on_copies() },
            result => result,
        }
    }

    #[inline(always)]
    unsafe fn call(&self) -> Result<()> {
        let Self { a, b, c, .. } = *self;
        let [m, n, k] = self.sizes;
        with_exec(work(&self.sizes), |exec| {
            // SAFETY: as the caller's.
            unsafe {
                raw::gemm(
                    exec, m, n, k, self.alpha, a.p, a.rs, a.cs, b.p, b.rs, b.cs, self.beta, c.p,
                    c.rs, c.cs,
                )
            }
        })
    }

    #[cold]
    #[inline(never)]
    unsafe fn run_on_copies(&self) -> Result<()> {
        let [m, n, k] = self.sizes;
        let depth = if is_zero(self.alpha) { 0 } else { k };
        // SAFETY: as the caller's; C is read only where beta is not 0.
        unsafe {
            let a = copy(m, depth, self.a)?;
            let b = copy(depth, n, self.b)?;
            let old = Matrix::new(self.c.p.cast_const(), self.c.rs, self.c.cs);
            let mut c = if is_zero(self.beta) {
                // Any elements will do, of an array that is there.
                copy(m, n, Matrix::new(&raw const self.beta, 0, 0))?
            } else {
                copy(m, n, old)?
            };
            let on_copies = Self {
                a: Matrix::new(a.as_ptr(), depth, 1),
                b: Matrix::new(b.as_ptr(), n, 1),
                c: Matrix::new(c.as_mut_ptr(), n, 1),
                ..*self
            };
            on_copies.call()?;
            write(m, n, &c, self.c);
        }
        Ok(())
    }
}

/// Returns the argument of Fortran to report for an error of a product that was computed transposed: the numbers are
/// those of A, B and C.
pub fn argument(error: Error, [a, b, c]: [i64; 3]) -> i64 {
    match error.arg().and_then(|name| name.bytes().next()) {
        Some(b'a') => b,
        Some(b'b') => a,
        _ => c,
    }
}

/// `gemm` with column-major matrices. An error is the number of an argument.
///
/// # Safety
/// As [`Product::run`].
#[inline(always)]
pub unsafe fn gemm<T: Element>(
    transa: Option<bool>,
    transb: Option<bool>,
    m: i64,
    n: i64,
    k: i64,
    alpha: T,
    a: *const T,
    lda: i64,
    b: *const T,
    ldb: i64,
    beta: T,
    c: *mut T,
    ldc: i64,
) -> core::result::Result<(), i64> {
    let transa = transa.ok_or(1)?;
    let transb = transb.ok_or(2)?;
    let rows_a = if transa { k } else { m };
    let rows_b = if transb { n } else { k };
    let wrong = [
        (m < 0, 3),
        (n < 0, 4),
        (k < 0, 5),
        (lda < rows_a.max(1), 8),
        (ldb < rows_b.max(1), 10),
        (ldc < m.max(1), 13),
    ];
    if let Some(&(_, argument)) = wrong.iter().find(|(wrong, _)| *wrong) {
        return Err(argument);
    }
    if m == 0 || n == 0 || (is_zero(alpha) || k == 0) && beta == T::ONE {
        return Ok(());
    }
    let product = Product {
        sizes: [n, m, k],
        alpha,
        a: column_major(b, ldb, transb).t(),
        b: column_major(a, lda, transa).t(),
        beta,
        c: Matrix::new(c, ldc, 1),
    };
    // SAFETY: as the caller's.
    unsafe { product.run() }.map_err(|error| argument(error, [7, 9, 12]))
}

/// `gemm` of CBLAS.
///
/// # Safety
/// As [`gemm`].
#[inline(never)]
pub unsafe fn cblas_gemm<T: Element>(
    routine: &Routine,
    layout: i32,
    transa: i32,
    transb: i32,
    m: i64,
    n: i64,
    k: i64,
    alpha: T,
    a: *const T,
    lda: i64,
    b: *const T,
    ldb: i64,
    beta: T,
    c: *mut T,
    ldc: i64,
) {
    let Some(row_major) = cblas_row_major(layout) else {
        return report(routine, Caller::ColumnMajor, 0);
    };
    let caller = Caller::cblas(row_major);
    let (Some(ta), Some(tb)) = (cblas_transposed(transa), cblas_transposed(transb)) else {
        let argument = 1 + i64::from(cblas_transposed(transa).is_some());
        return report(routine, caller, argument);
    };
    let (ta, tb) = (Some(ta), Some(tb));
    // SAFETY: as the caller's.
    let done = unsafe {
        if row_major {
            gemm(tb, ta, n, m, k, alpha, b, ldb, a, lda, beta, c, ldc)
        } else {
            gemm(ta, tb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc)
        }
    };
    if let Err(argument) = done {
        report(routine, caller, argument);
    }
}

/// `syrk` with column-major matrices. An error is the number of an argument.
///
/// # Safety
/// A must be valid for reading, and the triangle of C for writing, and for reading unless beta = 0.
pub unsafe fn syrk<T: Element>(
    upper: Option<bool>,
    trans: Option<bool>,
    n: i64,
    k: i64,
    alpha: T,
    a: *const T,
    lda: i64,
    beta: T,
    c: *mut T,
    ldc: i64,
) -> core::result::Result<(), i64> {
    let upper = upper.ok_or(1)?;
    let trans = trans.ok_or(2)?;
    let rows_a = if trans { k } else { n };
    let wrong = [
        (n < 0, 3),
        (k < 0, 4),
        (lda < rows_a.max(1), 7),
        (ldc < n.max(1), 10),
    ];
    if let Some(&(_, argument)) = wrong.iter().find(|(wrong, _)| *wrong) {
        return Err(argument);
    }
    if n == 0 || (is_zero(alpha) || k == 0) && beta == T::ONE {
        return Ok(());
    }
    // Blocks are computed one after another, so nothing may be refused in a later one.
    let cols_a = if trans { n } else { k };
    if !can_exist(c, n, n, ldc) {
        return Err(9);
    }
    if !is_zero(alpha) && k > 0 && !can_exist(a, rows_a, cols_a, lda) {
        return Err(6);
    }
    let a = column_major(a, lda, trans);
    let product = Product {
        sizes: [n, n, k],
        alpha,
        a,
        b: a.t(),
        beta,
        c: Matrix::new(c, ldc, 1),
    };
    // The upper triangle of a column-major matrix is the lower one by rows.
    // SAFETY: as the caller's.
    unsafe { triangle(&product, upper) }.map_err(|error| argument(error, [6, 6, 9]))
}

/// Triangles of at most this size are computed as squares.
const LEAF: i64 = 64;

/// Computes one triangle of a square product with B = A^T: its lower triangle, or else its upper one. Each element has
/// the bits that it has in the whole product.
///
/// # Safety
/// As [`syrk`].
unsafe fn triangle<T: Element>(p: &Product<T>, lower: bool) -> Result<()> {
    let [n, _, k] = p.sizes;
    if n == 1 {
        // SAFETY: as the caller's. A single element is its whole triangle, and has the order of `dot`.
        return unsafe { p.run() };
    }
    if n <= LEAF {
        // SAFETY: as the caller's.
        return unsafe { leaf(p, lower) };
    }
    // Both halves have more than one row, so the block between them has the order of a product.
    let half = (n / 2 + 31) / 32 * 32;
    let part = |i: i64, rows: i64, j: i64, cols: i64| {
        let mut part = *p;
        part.sizes = [rows, cols, k];
        part.a.p = p.a.p.wrapping_offset((i * p.a.rs) as isize);
        part.b.p = p.b.p.wrapping_offset((j * p.b.cs) as isize);
        part.c.p = p.c.p.wrapping_offset((i * p.c.rs + j) as isize);
        part
    };
    let rest = n - half;
    let between = if lower {
        part(half, rest, 0, half)
    } else {
        part(0, half, half, rest)
    };
    // SAFETY: blocks of the caller's triangle.
    unsafe {
        triangle(&part(0, half, 0, half), lower)?;
        between.run()?;
        triangle(&part(half, rest, half, rest), lower)
    }
}

/// As [`triangle`], for at most [`LEAF`] rows: computes the square beside C, and copies the triangle.
///
/// # Safety
/// As [`syrk`].
#[inline(never)]
unsafe fn leaf<T: Element>(p: &Product<T>, lower: bool) -> Result<()> {
    let mut square = [const { MaybeUninit::<T>::uninit() }; (LEAF * LEAF) as usize];
    let square = square.as_mut_ptr().cast::<T>();
    let n = p.sizes[0];
    let columns = |i: i64| if lower { 0..i + 1 } else { i..n };
    // SAFETY: the square has room for n by n elements; the caller vouches for the triangle of C.
    unsafe {
        if !is_zero(p.beta) {
            for index in 0..n * n {
                square.offset(index as isize).write(T::ZERO);
            }
            for i in 0..n {
                for j in columns(i) {
                    let c = p.c.p.wrapping_offset((i * p.c.rs + j) as isize);
                    let value = c.read_unaligned();
                    square.offset((i * n + j) as isize).write(value);
                }
            }
        }
        let c = Matrix::new(square, n, 1);
        Product { c, ..*p }.run()?;
        for i in 0..n {
            for j in columns(i) {
                let c = p.c.p.wrapping_offset((i * p.c.rs + j) as isize);
                c.write_unaligned(*square.offset((i * n + j) as isize));
            }
        }
    }
    Ok(())
}

/// `syrk` of CBLAS.
///
/// # Safety
/// As [`syrk`].
#[inline(never)]
pub unsafe fn cblas_syrk<T: Element>(
    routine: &Routine,
    layout: i32,
    uplo: i32,
    trans: i32,
    n: i64,
    k: i64,
    alpha: T,
    a: *const T,
    lda: i64,
    beta: T,
    c: *mut T,
    ldc: i64,
) {
    let Some(row_major) = cblas_row_major(layout) else {
        return report(routine, Caller::ColumnMajor, 0);
    };
    let caller = Caller::cblas(row_major);
    // By rows, each triangle is the other one, and each matrix transposed.
    let upper = cblas_upper(uplo).map(|upper| upper != row_major);
    let trans = cblas_transposed(trans).map(|trans| trans != row_major);
    // SAFETY: as the caller's.
    if let Err(argument) = unsafe { syrk(upper, trans, n, k, alpha, a, lda, beta, c, ldc) } {
        report(routine, caller, argument);
    }
}
