//! The reductions of floats and of integers behind one trait, expanded from the table (`for_each_reduction!`), and
//! `dot`.

use super::integer_dot::IntegerDot;
use super::output::Output;
use super::{RowMatrix, StridedVector, check, fast_path, needs_elements, raw, results};
use crate::api::fast_path::SMALL;
use crate::dispatch::{Compute, of_type};
use crate::element::Storage;
use crate::error::Result;
use crate::exec::Exec;
use crate::for_each_reduction;
use crate::level::Level;
use crate::number::{Floats, IntegerElement, Integers, Number};
use crate::ops::integers::dot;
use crate::ops::integers::reduce::{self as folds, IntegerFold, SearchRows};
use crate::tensor::element_type::IntegerType;
use crate::tensor::integer_folds::IntegerReduction;

/// The kernels of a reduction of integers.
pub struct IntegerKernels {
    fold: IntegerFold,
    /// Of an index, how it is found in columns.
    search: Option<&'static [SearchRows; 4]>,
    /// The type of a result.
    result: IntegerType,
    needs_elements: bool,
}

/// Checks and runs the reduction of a vector of integers.
///
/// # Errors
/// As [`raw::sum`](super::raw::sum); `EmptyReduction`.
///
/// # Safety
/// `x` must be valid at `n` elements, `out` at one.
unsafe fn vector<T: IntegerElement, O>(
    exec: &Exec<'_>,
    kernels: &IntegerKernels,
    (n, x, incx): (i64, *const T, i64),
    out: *mut O,
) -> Result<()> {
    let level = exec.level()?;
    let (n, inc) = if fast_path::qualifies(n, x, incx, out) {
        (n as usize, 1)
    } else {
        check::vector(kernels.needs_elements, n, x, incx, out)?
    };
    let step = inc.wrapping_mul(size_of::<T>() as isize);
    let rows = RowMatrix::new([1, n], x.cast::<u8>(), [0, step]);
    // SAFETY: the caller vouches for the arrays.
    unsafe { kernels.run(exec, level, rows, StridedVector::new(out.cast(), 0)) };
    Ok(())
}

/// Checks and runs the reduction of each row of a matrix of integers.
///
/// # Errors
/// As [`raw::sum_rows`](super::raw::sum_rows); `EmptyReduction`.
///
/// # Safety
/// `x` must be valid at m by n elements, `out` at m.
unsafe fn rows<T: IntegerElement, O>(
    exec: &Exec<'_>,
    kernels: &IntegerKernels,
    (m, n, x, rs, cs): (i64, i64, *const T, i64, i64),
    (out, inc_out): (*mut O, i64),
) -> Result<()> {
    let level = exec.level()?;
    let Some(checked) = check::rows(kernels.needs_elements, m, n, x, rs, cs, out, inc_out)? else {
        return Ok(());
    };
    let steps = [checked.rs, checked.cs].map(|stride| stride.wrapping_mul(size_of::<T>() as isize));
    let rows = RowMatrix::new([checked.m, checked.n], x.cast::<u8>(), steps);
    let out = StridedVector::new(out.cast_const(), checked.inc_out).bytes();
    // SAFETY: the caller vouches for the arrays.
    unsafe { kernels.run(exec, level, rows, out) };
    Ok(())
}

impl IntegerKernels {
    /// Reduces each row of a matrix. All strides count bytes.
    ///
    /// # Safety
    /// The rows and `out` must be valid, and the machine have the level.
    #[inline(never)]
    unsafe fn run(
        &self,
        exec: &Exec<'_>,
        level: Level,
        rows: RowMatrix<u8>,
        out: StridedVector<u8>,
    ) {
        let reduction = IntegerReduction::new(level, &self.fold, self.result, self.search);
        let size = self.fold.size;
        let is_small = rows.m == 1 && rows.n > 0 && rows.n <= SMALL / size.max(1);
        // SAFETY: as the caller's.
        unsafe {
            if is_small && rows.x.cs == size as isize {
                let found = reduction.vector(rows.n, rows.x.ptr.get());
                reduction.write(out.at(0).cast_mut(), found);
            } else {
                reduction.reduce_rows(exec, rows, out);
            }
        }
    }
}

/// Checks and runs the dot product of vectors of integers.
///
/// # Errors
/// As [`raw::dot`].
///
/// # Safety
/// As [`raw::dot`].
unsafe fn integer_dot<T: IntegerElement, O: IntegerElement>(
    exec: &Exec<'_>,
    n: i64,
    (x, incx): (*const T, i64),
    (y, incy): (*const T, i64),
    out: *mut O,
) -> Result<()> {
    let level = exec.level()?;
    let qualifies = |x, inc| fast_path::qualifies::<T, O>(n, x, inc, out);
    let (n, incx, incy) = if qualifies(x, incx) && qualifies(y, incy) {
        (n as usize, 1, 1)
    } else {
        check::dot(n, x, incx, y, incy, out)?
    };
    let levels = of_type!(dot::of(T::TYPE));
    let dot = IntegerDot {
        level,
        kernel: levels[level as usize],
        size: size_of::<T>(),
    };
    let (x, y) = (StridedVector::new(x, incx), StridedVector::new(y, incy));
    // SAFETY: the caller vouches for the arrays.
    unsafe { out.write(O::wrapped(dot.vectors(exec, n, x.bytes(), y.bytes()))) };
    Ok(())
}

macro_rules! kinds {
    ({} $($name:ident $rows:ident $out:ident $empty:ident $integers:tt)*) => {
        /// The reductions that take floats and integers, of elements of the type `T`. Results that are elements have
        /// the type `O`.
        pub trait Reductions<T: Number, O> {
            $(kinds!(@declare $integers $name $rows $out);)*

            /// The dot product.
            ///
            /// # Errors
            /// As [`raw::dot`].
            ///
            /// # Safety
            /// As [`raw::dot`].
            unsafe fn dot(
                exec: &Exec<'_>, n: i64, x: *const T, incx: i64, y: *const T, incy: i64, out: *mut O,
            ) -> Result<()>;
        }

        impl<T: Storage, O: Output<Compute<T>>> Reductions<T, O> for Floats {
            $(kinds!(@floats $integers $name $rows $out);)*

            #[inline(always)]
            unsafe fn dot(
                exec: &Exec<'_>, n: i64, x: *const T, incx: i64, y: *const T, incy: i64, out: *mut O,
            ) -> Result<()> {
                // SAFETY: as the caller's.
                unsafe { results::dot(exec, n, x, incx, y, incy, out) }
            }
        }

        impl<T: IntegerElement, O: IntegerElement> Reductions<T, O> for Integers {
            $(kinds!(@integers $integers $name $rows $out $empty);)*

            unsafe fn dot(
                exec: &Exec<'_>, n: i64, x: *const T, incx: i64, y: *const T, incy: i64, out: *mut O,
            ) -> Result<()> {
                // SAFETY: as the caller's.
                unsafe { integer_dot(exec, n, (x, incx), (y, incy), out) }
            }
        }
    };
    (@declare [] $($row:tt)*) => {};
    (@declare $fold:tt $name:ident $rows:ident $out:ident) => {
        /// The reduction of a vector.
        ///
        /// # Errors
        /// As the function of [`raw`].
        ///
        /// # Safety
        /// As there.
        unsafe fn $name(
            exec: &Exec<'_>, n: i64, x: *const T, incx: i64, out: *mut kinds!(@result $out O),
        ) -> Result<()>;

        /// The reduction of each row of a matrix.
        ///
        /// # Errors
        /// As the function of [`raw`].
        ///
        /// # Safety
        /// As there.
        unsafe fn $rows(
            exec: &Exec<'_>, m: i64, n: i64, x: *const T, rs: i64, cs: i64,
            out: *mut kinds!(@result $out O), inc_out: i64,
        ) -> Result<()>;
    };
    (@floats [] $($row:tt)*) => {};
    (@floats $fold:tt $name:ident $rows:ident $out:ident) => {
        #[inline(always)]
        unsafe fn $name(
            exec: &Exec<'_>, n: i64, x: *const T, incx: i64, out: *mut kinds!(@result $out O),
        ) -> Result<()> {
            // SAFETY: as the caller's.
            unsafe { kinds!(@call $out $name (exec, n, x, incx, out)) }
        }

        #[inline(always)]
        unsafe fn $rows(
            exec: &Exec<'_>, m: i64, n: i64, x: *const T, rs: i64, cs: i64,
            out: *mut kinds!(@result $out O), inc_out: i64,
        ) -> Result<()> {
            // SAFETY: as the caller's.
            unsafe { kinds!(@call $out $rows (exec, m, n, x, rs, cs, out, inc_out)) }
        }
    };
    (@integers [] $($row:tt)*) => {};
    (@integers [$Fold:ident] $name:ident $rows:ident $out:ident $empty:ident) => {
        unsafe fn $name(
            exec: &Exec<'_>, n: i64, x: *const T, incx: i64, out: *mut kinds!(@result $out O),
        ) -> Result<()> {
            // SAFETY: as the caller's.
            unsafe { vector(exec, &kinds!(@kernels $Fold $out $empty), (n, x, incx), out) }
        }

        unsafe fn $rows(
            exec: &Exec<'_>, m: i64, n: i64, x: *const T, rs: i64, cs: i64,
            out: *mut kinds!(@result $out O), inc_out: i64,
        ) -> Result<()> {
            // SAFETY: as the caller's.
            unsafe { rows(exec, &kinds!(@kernels $Fold $out $empty), (m, n, x, rs, cs), (out, inc_out)) }
        }
    };
    (@call element $name:ident $arguments:tt) => { results::$name $arguments };
    (@call $count_or_index:ident $name:ident $arguments:tt) => { raw::$name $arguments };
    (@result element $O:ident) => { $O };
    (@result $count_or_index:ident $O:ident) => { i64 };
    (@kernels $Fold:ident $out:ident $empty:ident) => {
        IntegerKernels {
            fold: of_type!(folds::$Fold::of(T::TYPE)),
            search: kinds!(@search $out $Fold),
            result: <kinds!(@result $out O) as IntegerElement>::TYPE,
            needs_elements: needs_elements!($empty),
        }
    };
    (@search index $Fold:ident) => { Some(of_type!(folds::$Fold::search(T::TYPE))) };
    (@search $out:ident $Fold:ident) => { None };
}
for_each_reduction!(kinds! {} [name rows result empty integers]);
