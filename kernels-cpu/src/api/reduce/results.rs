//! The reductions of floats with results of any suitable type: elements, which are rounded, or numbers of the type of
//! arithmetic, or counts. Expanded from the table (`for_each_reduction!`).

use super::{
    FoldKernels, OfVector, Output, ReductionKernels, StridedVector, check, fast_path, fold,
    needs_elements, of_checked, reduction, rows,
};
use crate::dispatch::{Compute, FoldOf, is_element};
use crate::element::{Element, Storage};
use crate::error::Result;
use crate::exec::Exec;
use crate::for_each_reduction;
use crate::level::Level;
use crate::ops::reduce::Dot;
use crate::recipe::{Recipe, finish_sum};

/// Checks and runs the reduction of a vector.
///
/// # Safety
/// `x` must be valid at `n` elements, `out` at one.
#[inline(always)]
unsafe fn vector<T: Storage, O: Output<Compute<T>>>(
    exec: &Exec<'_>,
    reduction: impl Fn(Level) -> ReductionKernels<Compute<T>>,
    needs_elements: bool,
    n: i64,
    x: *const T,
    incx: i64,
    out: *mut O,
) -> Result<()> {
    if !fast_path::qualifies(n, x, incx, out) {
        let of_vector = reduction(exec.level()?).one;
        // SAFETY: as the caller's.
        return unsafe {
            if of_vector.recipe.is_single_fold() {
                fold_general(exec, &of_vector, needs_elements, n, x, incx, out)
            } else {
                vector_general(exec, &of_vector, needs_elements, n, x, incx, out)
            }
        };
    }
    let reduction = reduction(exec.level()?).one;
    // SAFETY: the caller vouches for the arrays.
    unsafe {
        let x = StridedVector::new(x, 1);
        out.write(O::of_vector(&Exec::new(), &reduction, n as usize, x));
    }
    Ok(())
}

/// Reduces a vector by a single fold. Separate from [`vector_general`], so that a program which calls no other
/// reductions does not link the logarithm.
///
/// # Safety
/// As [`vector`].
#[inline(never)]
unsafe fn fold_general<T: Storage, O: Output<Compute<T>>>(
    exec: &Exec<'_>,
    reduction: &OfVector<Compute<T>>,
    needs_elements: bool,
    n: i64,
    x: *const T,
    incx: i64,
    out: *mut O,
) -> Result<()> {
    let (n, inc) = check::vector(needs_elements, n, x, incx, out)?;
    let x = StridedVector::new(x, inc);
    // SAFETY: the caller vouches for the arrays.
    unsafe {
        out.write(match reduction.recipe {
            Recipe::Sum => O::of_vector(exec, &reduction.with(Recipe::Sum), n, x),
            _ => O::of_vector(exec, &reduction.with(Recipe::Plain), n, x),
        });
    }
    Ok(())
}

/// The general path of [`vector`].
///
/// # Safety
/// As [`vector`].
#[inline(never)]
unsafe fn vector_general<T: Storage, O: Output<Compute<T>>>(
    exec: &Exec<'_>,
    reduction: &OfVector<Compute<T>>,
    needs_elements: bool,
    n: i64,
    x: *const T,
    incx: i64,
    out: *mut O,
) -> Result<()> {
    let (n, inc) = check::vector(needs_elements, n, x, incx, out)?;
    // SAFETY: the caller vouches for the arrays.
    unsafe {
        out.write(O::of_vector(exec, reduction, n, StridedVector::new(x, inc)));
    }
    Ok(())
}

/// Checks and runs the reduction of each row.
///
/// # Safety
/// `x` must be valid at m by n elements, `out` at m.
unsafe fn of_rows<T: Storage, O: Output<Compute<T>>>(
    exec: &Exec<'_>,
    reduction: &ReductionKernels<Compute<T>>,
    needs_elements: bool,
    m: i64,
    n: i64,
    x: *const T,
    rs: i64,
    cs: i64,
    out: *mut O,
    inc_out: i64,
) -> Result<()> {
    if let Some(checked) = check::rows(needs_elements, m, n, x, rs, cs, out, inc_out)? {
        let (rows, out) = of_checked(checked, x, out);
        // SAFETY: the caller vouches for the arrays.
        unsafe { rows::reduce(exec, reduction, rows, out) };
    }
    Ok(())
}

/// As [`raw::dot`](super::raw::dot()).
///
/// # Errors
/// As there.
///
/// # Safety
/// As there.
#[inline(always)]
pub unsafe fn dot<T: Storage, O: Output<Compute<T>>>(
    exec: &Exec<'_>,
    n: i64,
    x: *const T,
    incx: i64,
    y: *const T,
    incy: i64,
    out: *mut O,
) -> Result<()> {
    let is_small =
        || fast_path::qualifies(n, x, incx, out) && fast_path::qualifies(n, y, incy, out);
    if const { !is_element::<T>() } || !is_small() {
        // SAFETY: as the caller's.
        return unsafe { dot_general(exec, n, x, incx, y, incy, out) };
    }
    let dot = <Dot as FoldOf<Compute<T>>>::vector(exec.level()?);
    let (n, x, y, zero) = (n as usize, x.cast(), y.cast(), Compute::<T>::ZERO);
    // SAFETY: the caller vouches for the arrays, whose elements are of the type of arithmetic.
    unsafe { out.write(O::of(finish_sum(dot(n, x, 1, y, 1, zero).0))) };
    Ok(())
}

/// The general path of [`dot`].
///
/// # Safety
/// As [`dot`].
#[inline(never)]
unsafe fn dot_general<T: Storage, O: Output<Compute<T>>>(
    exec: &Exec<'_>,
    n: i64,
    x: *const T,
    incx: i64,
    y: *const T,
    incy: i64,
    out: *mut O,
) -> Result<()> {
    let level = exec.level()?;
    let (n, incx, incy) = check::dot(n, x, incx, y, incy, out)?;
    let (x, y) = (StridedVector::new(x, incx), StridedVector::new(y, incy));
    let dot = FoldKernels::of::<Dot>(level);
    // SAFETY: the caller vouches for the arrays.
    let sum = unsafe { fold(exec, dot, n, x, y, Compute::<T>::ZERO).0 };
    // SAFETY: as above.
    unsafe { out.write(O::of(finish_sum(sum))) };
    Ok(())
}

macro_rules! results {
    ({} $($name:ident $rows:ident [$($ddof:ident)?] $out:ident $empty:ident)*) => {$(
        results!(@$out $name $rows ($($ddof)?) $empty);
    )*};
    (@index $($row:tt)*) => {};
    (@count $($row:tt)*) => { results!(@element $($row)*); };
    (@element $name:ident $rows:ident ($($ddof:ident)?) $empty:ident) => {
        /// As the function of [`raw`](super::raw).
        ///
        /// # Errors
        /// As there.
        ///
        /// # Safety
        /// As there.
        #[inline(always)]
        pub unsafe fn $name<T: Storage, O: Output<Compute<T>>>(
            exec: &Exec<'_>, n: i64, x: *const T, incx: i64, $($ddof: i64,)? out: *mut O,
        ) -> Result<()> {
            let degrees = 0;
            $(let degrees = degrees + check::ddof(n, $ddof)?;)?
            let reduction = |level| reduction::$name::<T>(level, degrees);
            // SAFETY: as the caller's.
            unsafe { vector(exec, reduction, needs_elements!($empty), n, x, incx, out) }
        }

        /// As the function of [`raw`](super::raw).
        ///
        /// # Errors
        /// As there.
        ///
        /// # Safety
        /// As there.
        #[inline(always)]
        pub unsafe fn $rows<T: Storage, O: Output<Compute<T>>>(
            exec: &Exec<'_>, m: i64, n: i64, x: *const T, rs: i64, cs: i64, $($ddof: i64,)? out: *mut O, inc_out: i64,
        ) -> Result<()> {
            let degrees = 0;
            $(let degrees = degrees + check::ddof(n, $ddof)?;)?
            let reduction = reduction::$name::<T>(exec.level()?, degrees);
            // SAFETY: as the caller's.
            unsafe { of_rows(exec, &reduction, needs_elements!($empty), m, n, x, rs, cs, out, inc_out) }
        }
    };
}
for_each_reduction!(results! {} [name rows ddof result empty]);
