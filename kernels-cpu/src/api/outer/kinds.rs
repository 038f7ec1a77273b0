//! The outer products of floats and of integers behind one trait.

use super::check::Arguments;
use super::{run_ger, run_outer};
use crate::args::Region;
use crate::dispatch::of_type;
use crate::element::Storage;
use crate::error::Result;
use crate::exec::Exec;
use crate::matrix::Matrix;
use crate::number::{Floats, IntegerElement, Integers, Number, Scalar};
use crate::tensor::integer_outer::{self, PairKernels};
use crate::tensor::strided::StridedTensor;
use crate::tensor::vectors::Vectors;

/// The outer products that take floats and integers, of elements of the type `T`: two vectors with their strides, and a
/// matrix of their sizes.
pub trait OuterProducts<T: Number> {
    /// out = x yᵀ.
    ///
    /// # Errors
    /// `LevelUnavailable`; `Overlap` when two elements of `out` have one address.
    ///
    /// # Safety
    /// The vectors must be valid for reading and the matrix for writing; it must be apart from them.
    unsafe fn outer(
        exec: &Exec<'_>,
        sizes: (i64, i64),
        x: (*const T, i64),
        y: (*const T, i64),
        out: Matrix<*mut T, i64>,
    ) -> Result<()>;

    /// A = alpha x yᵀ + A.
    ///
    /// # Errors
    /// As [`OuterProducts::outer`].
    ///
    /// # Safety
    /// As there; the matrix must be valid for reading too.
    unsafe fn ger(
        exec: &Exec<'_>,
        sizes: (i64, i64),
        alpha: Scalar<T>,
        x: (*const T, i64),
        y: (*const T, i64),
        a: Matrix<*mut T, i64>,
    ) -> Result<()>;
}

impl<T: Storage> OuterProducts<T> for Floats {
    #[inline(always)]
    unsafe fn outer(
        exec: &Exec<'_>,
        sizes: (i64, i64),
        x: (*const T, i64),
        y: (*const T, i64),
        out: Matrix<*mut T, i64>,
    ) -> Result<()> {
        // SAFETY: as the caller's.
        unsafe { run_outer(exec, &Arguments::outer(sizes, x, y, out)) }
    }

    #[inline(always)]
    unsafe fn ger(
        exec: &Exec<'_>,
        sizes: (i64, i64),
        alpha: Scalar<T>,
        x: (*const T, i64),
        y: (*const T, i64),
        a: Matrix<*mut T, i64>,
    ) -> Result<()> {
        // SAFETY: as the caller's.
        unsafe { run_ger(exec, &Arguments::ger(sizes, alpha, x, y, a)) }
    }
}

/// Returns two vectors and a matrix of their sizes, which is named `arg`.
///
/// # Errors
/// `Overlap` when two elements of the matrix have one address.
fn vectors<T>(
    (m, n): (i64, i64),
    x: (*const T, i64),
    y: (*const T, i64),
    (out, arg): (Matrix<*mut T, i64>, &'static str),
) -> Result<Vectors> {
    let dims = [(m as usize, out.rs as isize), (n as usize, out.cs as isize)];
    Region::new(out.ptr.cast_const(), &dims, arg)?.check_distinct()?;
    let vector = |(p, inc): (*const T, i64), size| StridedTensor {
        p: p.cast_mut().cast(),
        shape: [size],
        strides: [inc],
    };
    let matrix = StridedTensor {
        p: out.ptr.cast(),
        shape: [m, n],
        strides: [out.rs, out.cs],
    };
    Ok((vector(x, m), vector(y, n), matrix))
}

impl<T: IntegerElement> OuterProducts<T> for Integers {
    unsafe fn outer(
        exec: &Exec<'_>,
        sizes: (i64, i64),
        x: (*const T, i64),
        y: (*const T, i64),
        out: Matrix<*mut T, i64>,
    ) -> Result<()> {
        let vectors = vectors(sizes, x, y, (out, "out"))?;
        let scale = of_type!(PairKernels::scale(T::TYPE));
        // SAFETY: as the caller's.
        unsafe { integer_outer::outer(exec, scale, vectors) }
    }

    unsafe fn ger(
        exec: &Exec<'_>,
        sizes: (i64, i64),
        alpha: T,
        x: (*const T, i64),
        y: (*const T, i64),
        a: Matrix<*mut T, i64>,
    ) -> Result<()> {
        let vectors = vectors(sizes, x, y, (a, "a"))?;
        let (scale, axpy) = (
            of_type!(PairKernels::scale(T::TYPE)),
            of_type!(PairKernels::axpy(T::TYPE)),
        );
        // SAFETY: as the caller's.
        unsafe { integer_outer::ger(exec, (scale, axpy), alpha.into(), vectors) }
    }
}
