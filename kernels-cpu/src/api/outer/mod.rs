//! Outer products: `outer` and `ger`.

pub(crate) mod check;
pub(crate) mod kinds;
pub mod wide;
mod widened;

use crate::detect;
use crate::dispatch::{Compute, Kernels, is_element};
use crate::element::{Element, Storage};
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::matrix::Matrix;
use crate::number::{Number, Scalar};
use crate::view::{MatMut, VecRef};
use check::{Arguments, check, check_quickly};
use kinds::OuterProducts;
pub(crate) use widened::outer as outer_widened;

/// The pointer forms.
pub mod raw {
    use super::*;

    /// out\[i * out_rs + j * out_cs\] = x\[i * incx\] * y\[j * incy\], for i in 0 .. m and j in 0 .. n, each product
    /// rounded once.
    ///
    /// # Errors
    /// `NegativeSize`, `NullPointer`, `Misaligned`, `SizeOverflow`; `Overlap` when `out` overlaps `x`, `y` or itself.
    ///
    /// # Safety
    /// `x` must be valid for reading at m elements, `y` at n; `out` for writing at m by n elements.
    #[inline(always)]
    pub unsafe fn outer<T: Storage>(
        exec: &Exec<'_>,
        m: i64,
        n: i64,
        x: *const T,
        incx: i64,
        y: *const T,
        incy: i64,
        out: *mut T,
        out_rs: i64,
        out_cs: i64,
    ) -> Result<()> {
        let out = Matrix::new(out, out_rs, out_cs);
        let args = Arguments::outer((m, n), (x, incx), (y, incy), out);
        // SAFETY: as the caller's.
        unsafe { super::run_outer(exec, &args) }
    }

    /// a\[i * a_rs + j * a_cs\] = fma(t, y\[j * incy\], a\[i * a_rs + j * a_cs\]) with t = alpha * x\[i * incx\],
    /// rounded, for i in 0 .. m and j in 0 .. n. alpha = 0 is an ordinary factor, so x and y are read.
    ///
    /// # Errors
    /// As [`outer`], with `a` for `out`.
    ///
    /// # Safety
    /// `x` must be valid for reading at m elements, `y` at n; `a` for reading and writing at m by n elements.
    #[inline(always)]
    pub unsafe fn ger<T: Storage>(
        exec: &Exec<'_>,
        m: i64,
        n: i64,
        alpha: Compute<T>,
        x: *const T,
        incx: i64,
        y: *const T,
        incy: i64,
        a: *mut T,
        a_rs: i64,
        a_cs: i64,
    ) -> Result<()> {
        let a = Matrix::new(a, a_rs, a_cs);
        let args = Arguments::ger((m, n), alpha, (x, incx), (y, incy), a);
        // SAFETY: as the caller's.
        unsafe { super::run_ger(exec, &args) }
    }
}

/// Runs [`raw::outer`]: on the fast path, if the arguments qualify.
///
/// # Safety
/// As [`raw::outer`].
#[inline(always)]
pub(crate) unsafe fn run_outer<T: Storage>(exec: &Exec<'_>, args: &Arguments<T>) -> Result<()> {
    // SAFETY: as the caller's. Elements that are not widened are of the type of arithmetic.
    unsafe {
        if const { is_element::<T>() } {
            outer_of_elements(exec, &args.cast())
        } else {
            widened::outer::<T, T>(exec, *args)
        }
    }
}

/// [`run_outer`] of elements in the type of arithmetic.
///
/// # Safety
/// As [`raw::outer`].
#[inline(always)]
unsafe fn outer_of_elements<T: Element>(exec: &Exec<'_>, args: &Arguments<T>) -> Result<()> {
    let Some((rows, cols)) = check_quickly(args) else {
        // SAFETY: as the caller's.
        return unsafe { outer_general(exec, *args) };
    };
    let k = Kernels::<T>::new(exec.level()?);
    let (x, y, out) = (args.x.0, args.y.0, args.out);
    // SAFETY: the caller vouches for the arrays.
    unsafe { (k.outer())(rows, cols, x, 1, y, 1, out.ptr, out.rs as isize, false) };
    Ok(())
}

/// The general path of [`run_outer`]. Outlined, and by value, so that the arguments of the fast path can stay in
/// registers.
///
/// # Safety
/// As [`raw::outer`].
#[inline(never)]
unsafe fn outer_general<T: Element>(exec: &Exec<'_>, args: Arguments<T>) -> Result<()> {
    let k = Kernels::<T>::new(exec.level()?);
    let (u, v, output) = check(&args)?;
    if output.m == 0 || output.n == 0 {
        return Ok(());
    }
    let rs = output.matrix().rs;
    let contiguous = output.has_rows();
    // Rows shorter than 256 bytes, a few registers, are mostly edges, which are stored normally.
    let stream = detect::exceeds_llc(
        output
            .m
            .saturating_mul(output.n)
            .saturating_mul(size_of::<T>()),
    ) && output.n * size_of::<T>() >= 256;
    output.split(exec, move |i, rows, j, cols| {
        // SAFETY: the block lies in the output, and no other task writes it.
        unsafe {
            if contiguous {
                (k.outer())(
                    rows,
                    cols,
                    u.at(i),
                    u.inc,
                    v.at(j),
                    v.inc,
                    output.at(i, j),
                    rs,
                    stream,
                );
                return;
            }
            for i in i..i + rows {
                for j in j..j + cols {
                    output.at(i, j).write(*u.at(i) * *v.at(j));
                }
            }
        }
    });
    Ok(())
}

/// Runs [`raw::ger`]: on the fast path, if the arguments qualify.
///
/// # Safety
/// As [`raw::ger`].
#[inline(always)]
pub(crate) unsafe fn run_ger<T: Storage>(exec: &Exec<'_>, args: &Arguments<T>) -> Result<()> {
    // SAFETY: as the caller's. Elements that are not widened are of the type of arithmetic.
    unsafe {
        if const { is_element::<T>() } {
            ger_of_elements(exec, &args.cast())
        } else {
            widened::ger(exec, *args)
        }
    }
}

/// [`run_ger`] of elements in the type of arithmetic.
///
/// # Safety
/// As [`raw::ger`].
#[inline(always)]
unsafe fn ger_of_elements<T: Element>(exec: &Exec<'_>, args: &Arguments<T>) -> Result<()> {
    let Some((rows, cols)) = check_quickly(args) else {
        // SAFETY: as the caller's.
        return unsafe { ger_general(exec, *args) };
    };
    let k = Kernels::<T>::new(exec.level()?);
    let (x, y, a) = (args.x.0, args.y.0, args.out);
    // SAFETY: the caller vouches for the arrays.
    unsafe {
        (k.ger())(
            rows,
            cols,
            args.alpha,
            x,
            1,
            T::ONE,
            y,
            1,
            a.ptr,
            a.rs as isize,
        )
    };
    Ok(())
}

/// The general path of [`run_ger`]. Outlined, and by value, like [`outer_general`].
///
/// # Safety
/// As [`raw::ger`].
#[inline(never)]
unsafe fn ger_general<T: Element>(exec: &Exec<'_>, args: Arguments<T>) -> Result<()> {
    let k = Kernels::<T>::new(exec.level()?);
    let (u, v, output) = check(&args)?;
    if output.m == 0 || output.n == 0 {
        return Ok(());
    }
    let rs = output.matrix().rs;
    let contiguous = output.has_rows();
    output.split(exec, move |i, rows, j, cols| {
        // SAFETY: the block lies in the output, and no other task writes it.
        unsafe {
            if contiguous {
                let a = output.at(i, j);
                (k.ger())(
                    rows,
                    cols,
                    u.alpha,
                    u.at(i),
                    u.inc,
                    v.alpha,
                    v.at(j),
                    v.inc,
                    a,
                    rs,
                );
                return;
            }
            for i in i..i + rows {
                let t = u.alpha * *u.at(i);
                for j in j..j + cols {
                    let a = output.at(i, j);
                    a.write(t.fma(v.alpha * *v.at(j), a.read()));
                }
            }
        }
    });
    Ok(())
}

/// Refuses vectors whose lengths are not the numbers of rows and columns. Returns these.
fn check_shapes<T, O>(
    x: &VecRef<'_, T>,
    y: &VecRef<'_, T>,
    out: &MatMut<'_, O>,
) -> Result<(i64, i64)> {
    match (x.elements() == out.rows(), y.elements() == out.cols()) {
        (false, _) => Err(Error::ShapeMismatch { arg: "x" }),
        (_, false) => Err(Error::ShapeMismatch { arg: "y" }),
        _ => Ok((out.rows() as i64, out.cols() as i64)),
    }
}

/// The outer product of two vectors: out\[i, j\] = x\[i\] * y\[j\], each product rounded once.
///
/// NaN: a NaN factor gives a NaN.
/// Integers: exact modulo 2^bits.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless `x` has an element for each row of `out` and `y` one for each column;
/// [`Error::Overlap`] when two elements of `out` have one address.
///
/// # Example
///
/// ```
/// use diptych::{Exec, MatMut, outer};
///
/// let mut out = [0.0_f32; 6];
/// outer(&Exec::new(), &[1.0, 2.0], &[3.0, 4.0, 5.0], MatMut::new(&mut out, 2, 3)?)?;
/// assert_eq!(out, [3.0, 4.0, 5.0, 6.0, 8.0, 10.0]);
/// # Ok::<(), diptych::Error>(())
/// ```
pub fn outer<'x, 'y, T: Number>(
    exec: &Exec<'_>,
    x: impl Into<VecRef<'x, T>>,
    y: impl Into<VecRef<'y, T>>,
    mut out: MatMut<'_, T>,
) -> Result<()> {
    let (x, y) = (x.into(), y.into());
    let sizes = check_shapes(&x, &y, &out)?;
    let (x, y, out) = (x.vector(), y.vector(), out.matrix());
    // SAFETY: the views have as many elements as they say.
    unsafe { <T::Kind as OuterProducts<T>>::outer(exec, sizes, x, y, out) }
}

/// The rank-1 update A += alpha x y^T: a\[i, j\] = fma(t, y\[j\], a\[i, j\]) with t = alpha * x\[i\], rounded.
///
/// NaN: a NaN operand gives a NaN; alpha = 0 is an ordinary factor, so x and y are read, and 0 * NaN is NaN.
/// Integers: exact modulo 2^bits.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless `x` has an element for each row of `a` and `y` one for each column;
/// [`Error::Overlap`] when two elements of `a` have one address.
///
/// # Example
///
/// ```
/// use diptych::{Exec, MatMut, ger};
///
/// let mut a = [1.0_f32; 4];
/// ger(&Exec::new(), 2.0, &[1.0, 2.0], &[10.0, 20.0], MatMut::new(&mut a, 2, 2)?)?;
/// assert_eq!(a, [21.0, 41.0, 41.0, 81.0]);
/// # Ok::<(), diptych::Error>(())
/// ```
pub fn ger<'x, 'y, T: Number>(
    exec: &Exec<'_>,
    alpha: Scalar<T>,
    x: impl Into<VecRef<'x, T>>,
    y: impl Into<VecRef<'y, T>>,
    mut a: MatMut<'_, T>,
) -> Result<()> {
    let (x, y) = (x.into(), y.into());
    let sizes = check_shapes(&x, &y, &a)?;
    let (x, y, a) = (x.vector(), y.vector(), a.matrix());
    // SAFETY: the views have as many elements as they say.
    unsafe { <T::Kind as OuterProducts<T>>::ger(exec, sizes, alpha, x, y, a) }
}
