//! `gemv` and `ger`.

use diptych::{Element, Result, raw};

use crate::arguments::{
    Matrix, cblas_row_major, cblas_transposed, column_major, first, is_zero, work,
};
use crate::copies::{copy, needs_copies, on_some_level, write};
use crate::errors::{Caller, Routine, report};
use crate::level3::{Product, argument};
use crate::threads::with_exec;

/// `gemv` with a column-major matrix. An error is the number of an argument.
///
/// # Safety
/// As [`Product::run`].
#[inline(always)]
pub unsafe fn gemv<T: Element>(
    trans: Option<bool>,
    m: i64,
    n: i64,
    alpha: T,
    a: *const T,
    lda: i64,
    x: *const T,
    incx: i64,
    beta: T,
    y: *mut T,
    incy: i64,
) -> core::result::Result<(), i64> {
    let trans = trans.ok_or(1)?;
    let wrong = [
        (m < 0, 2),
        (n < 0, 3),
        (lda < m.max(1), 6),
        (incx == 0, 8),
        (incy == 0, 11),
    ];
    if let Some(&(_, argument)) = wrong.iter().find(|(wrong, _)| *wrong) {
        return Err(argument);
    }
    if m == 0 || n == 0 || is_zero(alpha) && beta == T::ONE {
        return Ok(());
    }
    let (rows, depth) = if trans { (n, m) } else { (m, n) };
    let matrix = column_major(a, lda, trans);
    let x = Matrix::new(first(depth, x, incx), incx, 1);
    let y = Matrix::new(first(rows, y, incy).cast_mut(), incy, 1);
    // The matrix is the operand with contiguous rows: A in op(A) x, or B in x^T op(A)^T.
    let product = if trans {
        Product {
            sizes: [rows, 1, depth],
            alpha,
            a: matrix,
            b: x,
            beta,
            c: y,
        }
    } else {
        Product {
            sizes: [1, rows, depth],
            alpha,
            a: x.t(),
            b: matrix.t(),
            beta,
            c: y.t(),
        }
    };
    let numbers = if trans { [7, 5, 10] } else { [5, 7, 10] };
    // SAFETY: as the caller's.
    unsafe { product.run() }.map_err(|error| argument(error, numbers))
}

/// `gemv` of CBLAS.
///
/// # Safety
/// As [`gemv`].
#[inline(never)]
pub unsafe fn cblas_gemv<T: Element>(
    routine: &Routine,
    layout: i32,
    trans: i32,
    m: i64,
    n: i64,
    alpha: T,
    a: *const T,
    lda: i64,
    x: *const T,
    incx: i64,
    beta: T,
    y: *mut T,
    incy: i64,
) {
    let Some(row_major) = cblas_row_major(layout) else {
        return report(routine, Caller::ColumnMajor, 0);
    };
    let trans = cblas_transposed(trans);
    // SAFETY: as the caller's.
    let (done, caller) = unsafe {
        if row_major {
            let trans = trans.map(|trans| !trans);
            (
                gemv(trans, n, m, alpha, a, lda, x, incx, beta, y, incy),
                Caller::RowMajor,
            )
        } else {
            (
                gemv(trans, m, n, alpha, a, lda, x, incx, beta, y, incy),
                Caller::ColumnMajor,
            )
        }
    };
    if let Err(argument) = done {
        report(routine, caller, argument);
    }
}

/// `ger` with a column-major matrix. An error is the number of an argument.
///
/// # Safety
/// The vectors must be valid for reading, the matrix for reading and writing.
pub unsafe fn ger<T: Element>(
    m: i64,
    n: i64,
    alpha: T,
    x: *const T,
    incx: i64,
    y: *const T,
    incy: i64,
    a: *mut T,
    lda: i64,
) -> core::result::Result<(), i64> {
    let wrong = [
        (m < 0, 1),
        (n < 0, 2),
        (incx == 0, 5),
        (incy == 0, 7),
        (lda < m.max(1), 9),
    ];
    if let Some(&(_, argument)) = wrong.iter().find(|(wrong, _)| *wrong) {
        return Err(argument);
    }
    if m == 0 || n == 0 || is_zero(alpha) {
        return Ok(());
    }
    let x = Matrix::new(first(m, x, incx), incx, 1);
    let y = Matrix::new(first(n, y, incy), incy, 1);
    // By rows: A^T += (alpha y) x^T, as the reference multiplies alpha too.
    // SAFETY: as the caller's.
    let done = match on_some_level(|| unsafe { ger_by_rows(n, m, alpha, y, x, (a, lda)) }) {
        // SAFETY: as the caller's.
        Err(error) if needs_copies(error) => unsafe { ger_on_copies(n, m, alpha, y, x, (a, lda)) },
        done => done,
    };
    done.map_err(|error| match error.arg() {
        Some("x" | "incx") => 6,
        Some("y" | "incy") => 4,
        _ => 8,
    })
}

unsafe fn ger_by_rows<T: Element>(
    m: i64,
    n: i64,
    alpha: T,
    x: Matrix<*const T>,
    y: Matrix<*const T>,
    (a, lda): (*mut T, i64),
) -> Result<()> {
    with_exec(work(&[m, n]), |exec| {
        // SAFETY: as the caller's.
        unsafe { raw::ger(exec, m, n, alpha, x.p, x.rs, y.p, y.rs, a, lda, 1) }
    })
}

#[cold]
unsafe fn ger_on_copies<T: Element>(
    m: i64,
    n: i64,
    alpha: T,
    x: Matrix<*const T>,
    y: Matrix<*const T>,
    (a, lda): (*mut T, i64),
) -> Result<()> {
    let vector = |v: &Vec<T>| Matrix::new(v.as_ptr(), 1, 1);
    // SAFETY: as the caller's.
    unsafe {
        let (x, y) = (copy(m, 1, x)?, copy(n, 1, y)?);
        let mut c = copy(m, n, Matrix::new(a.cast_const(), lda, 1))?;
        ger_by_rows(m, n, alpha, vector(&x), vector(&y), (c.as_mut_ptr(), n))?;
        write(m, n, &c, Matrix::new(a, lda, 1));
    }
    Ok(())
}

/// `ger` of CBLAS.
///
/// # Safety
/// As [`ger`].
#[inline(never)]
pub unsafe fn cblas_ger<T: Element>(
    routine: &Routine,
    layout: i32,
    m: i64,
    n: i64,
    alpha: T,
    x: *const T,
    incx: i64,
    y: *const T,
    incy: i64,
    a: *mut T,
    lda: i64,
) {
    // SAFETY: as the caller's.
    let (done, caller) = unsafe {
        match cblas_row_major(layout) {
            None => (Err(0), Caller::ColumnMajor),
            Some(true) => (ger(n, m, alpha, y, incy, x, incx, a, lda), Caller::RowMajor),
            Some(false) => (
                ger(m, n, alpha, x, incx, y, incy, a, lda),
                Caller::ColumnMajor,
            ),
        }
    };
    if let Err(argument) = done {
        report(routine, caller, argument);
    }
}
