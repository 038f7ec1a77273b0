//! Each operation of `diptych` but the matrix products, on buffers and views. Work is put into the stream of the output, and not
//! waited for; all arguments must belong to that stream.

use super::buffer::{DeviceBuffer, Item};
use super::context::Stream;
use super::view::{MatMut, MatRef, VecRef};
use crate::{Error, Result, raw};
use core::ptr;
use diptych_device::real::Real;

/// No workspace.
pub(super) const NONE: (*mut u8, usize) = (ptr::null_mut(), 0);

/// Refuses arguments of other streams.
pub(super) fn same(stream: &Stream, others: &[(&Stream, &'static str)]) -> Result<()> {
    match others.iter().find(|(other, _)| !ptr::eq(*other, stream)) {
        Some(&(_, arg)) => Err(Error::WrongContext { arg }),
        None => Ok(()),
    }
}

fn same_len(n: usize, others: &[(usize, &'static str)]) -> Result<i64> {
    match others.iter().find(|(other, _)| *other != n) {
        Some(&(_, arg)) => Err(diptych::Error::ShapeMismatch { arg }.into()),
        None => Ok(n as i64),
    }
}

pub(super) fn shape(holds: bool, arg: &'static str) -> Result<()> {
    if holds {
        Ok(())
    } else {
        Err(diptych::Error::ShapeMismatch { arg }.into())
    }
}

/// Operations that give an element for each.
macro_rules! elementwise {
    ($($name:ident($($arg:ident: $kind:tt),*) -> $out:ident;)*) => {$(
        #[doc = concat!("See `diptych::", stringify!($name), "`.")]
        ///
        /// # Errors
        /// `ShapeMismatch`; `WrongContext` for an argument of another stream; what the driver says.
        pub fn $name<T: Real + Item>($($arg: elementwise!(@ty $kind),)* $out: &mut DeviceBuffer<'_, T>) -> Result<()> {
            $(elementwise!(@stream $kind $arg $out);)*
            let n = $out.len() as i64;
            $(elementwise!(@len $kind $arg $out);)*
            let launcher = $out.stream().launcher(NONE)?;
            // SAFETY: buffers of n elements, of the launcher's stream.
            unsafe { raw::$name(&launcher, n, $(elementwise!(@pass $kind $arg),)* $out.pointer()) }
        }
    )*};
    (@ty array) => { &DeviceBuffer<'_, T> };
    (@ty value) => { T };
    (@stream value $arg:ident $out:ident) => {};
    (@stream $kind:ident $arg:ident $out:ident) => { same($out.stream(), &[($arg.stream(), stringify!($arg))])? };
    (@len value $arg:ident $out:ident) => {};
    (@len $kind:ident $arg:ident $out:ident) => { same_len($out.len(), &[($arg.len(), stringify!($arg))])? };
    (@pass value $arg:ident) => { $arg };
    (@pass $kind:ident $arg:ident) => { $arg.pointer() };
}

elementwise! {
    clamp(x: array, lo: value, hi: value) -> out;
    clamp_backward(x: array, grad: array, lo: value, hi: value) -> out;
    add(x: array, y: array) -> out;
    sub(x: array, y: array) -> out;
    mul(x: array, y: array) -> out;
    div(x: array, y: array) -> out;
    scale(alpha: value, x: array) -> out;
    axpy(alpha: value, x: array) -> y;
    square(x: array) -> out;
    fill(value: value) -> out;
}

/// The same on `x` itself.
macro_rules! in_place {
    ($($name:ident = $operation:ident(x $(, $y:ident)?; $($before:ident),*; $($after:ident),*);)*) => {$(
        #[doc = concat!("See `diptych::", stringify!($name), "`.")]
        ///
        /// # Errors
        /// As the other operations.
        pub fn $name<T: Real + Item>(
            $($before: T,)* x: &mut DeviceBuffer<'_, T> $(, $y: &DeviceBuffer<'_, T>)? $(, $after: T)*
        ) -> Result<()> {
            $(
                same(x.stream(), &[($y.stream(), stringify!($y))])?;
                same_len(x.len(), &[($y.len(), stringify!($y))])?;
            )?
            let launcher = x.stream().launcher(NONE)?;
            let n = x.len() as i64;
            // SAFETY: buffers of n elements, of the launcher's stream; the output is exactly x.
            unsafe {
                raw::$operation(&launcher, n, $($before,)* x.pointer(), $($y.pointer(),)? $($after,)* x.pointer())
            }
        }
    )*};
}

in_place! {
    clamp_in_place = clamp(x; ; lo, hi);
    add_in_place = add(x, y; ; );
    sub_in_place = sub(x, y; ; );
    mul_in_place = mul(x, y; ; );
    div_in_place = div(x, y; ; );
    scale_in_place = scale(x; alpha; );
    square_in_place = square(x; ; );
}

/// Reductions: of a vector to the one element of `out`, and of the rows of a matrix.
macro_rules! reductions {
    ($($name:ident, $rows:ident -> $Out:ty $(, $ddof:ident)?;)*) => {$(
        #[doc = concat!("See `diptych::", stringify!($name), "`; the result is the one element of `out`.")]
        ///
        /// # Errors
        /// As `diptych`'s; `WrongContext` for an argument of another stream; what the driver says.
        pub fn $name<'b, T: Real + Item>(
            x: impl Into<VecRef<'b, T>>, $($ddof: i64,)? out: &mut DeviceBuffer<'_, $Out>,
        ) -> Result<()> {
            let x = x.into();
            same(out.stream(), &[(x.stream, "x")])?;
            shape(out.len() == 1, "out")?;
            let launcher = out.stream().launcher(NONE)?;
            // SAFETY: a view of a buffer, and one element.
            unsafe { raw::$name(&launcher, x.n, x.start, x.inc, $($ddof,)? out.pointer()) }
        }

        #[doc = concat!("See `diptych::", stringify!($rows), "`.")]
        ///
        /// # Errors
        /// As above.
        pub fn $rows<T: Real + Item>(
            x: MatRef<'_, T>, $($ddof: i64,)? out: &mut DeviceBuffer<'_, $Out>,
        ) -> Result<()> {
            same(out.stream(), &[(x.stream, "x")])?;
            shape(out.len() as i64 == x.rows, "out")?;
            let launcher = out.stream().launcher(NONE)?;
            // SAFETY: a view of a buffer, and an element for each row.
            unsafe {
                raw::$rows(&launcher, x.rows, x.cols, x.start, x.rs, x.cs, $($ddof,)? out.pointer(), 1)
            }
        }
    )*};
}

reductions! {
    sum, sum_rows -> T;
    mean, mean_rows -> T;
    prod, prod_rows -> T;
    min, min_rows -> T;
    max, max_rows -> T;
    sumsq, sumsq_rows -> T;
    asum, asum_rows -> T;
    nrm2, nrm2_rows -> T;
    var, var_rows -> T, ddof;
    logsumexp, logsumexp_rows -> T;
    argmin, argmin_rows -> i64;
    argmax, argmax_rows -> i64;
}

/// See `diptych::dot`; the result is the one element of `out`.
///
/// # Errors
/// As `diptych`'s; `WrongContext` for an argument of another stream; what the driver says.
pub fn dot<'x, 'y, T: Real + Item>(
    x: impl Into<VecRef<'x, T>>,
    y: impl Into<VecRef<'y, T>>,
    out: &mut DeviceBuffer<'_, T>,
) -> Result<()> {
    let (x, y) = (x.into(), y.into());
    same(out.stream(), &[(x.stream, "x"), (y.stream, "y")])?;
    shape(x.n == y.n, "y")?;
    shape(out.len() == 1, "out")?;
    let launcher = out.stream().launcher(NONE)?;
    // SAFETY: views of as many elements, and one element.
    unsafe {
        raw::dot(
            &launcher,
            x.n,
            x.start,
            x.inc,
            y.start,
            y.inc,
            out.pointer(),
        )
    }
}

/// See `diptych::outer`.
///
/// # Errors
/// As [`dot`].
pub fn outer<'x, 'y, T: Real + Item>(
    x: impl Into<VecRef<'x, T>>,
    y: impl Into<VecRef<'y, T>>,
    out: MatMut<'_, T>,
) -> Result<()> {
    let (x, y) = (x.into(), y.into());
    same(out.stream, &[(x.stream, "x"), (y.stream, "y")])?;
    shape((x.n, y.n) == (out.rows, out.cols), "out")?;
    let launcher = out.stream.launcher(NONE)?;
    // SAFETY: views of these shapes.
    unsafe {
        raw::outer(
            &launcher, x.n, y.n, x.start, x.inc, y.start, y.inc, out.start, out.rs, out.cs,
        )
    }
}

/// See `diptych::ger`.
///
/// # Errors
/// As [`dot`].
pub fn ger<'x, 'y, T: Real + Item>(
    alpha: T,
    x: impl Into<VecRef<'x, T>>,
    y: impl Into<VecRef<'y, T>>,
    a: MatMut<'_, T>,
) -> Result<()> {
    let (x, y) = (x.into(), y.into());
    same(a.stream, &[(x.stream, "x"), (y.stream, "y")])?;
    shape((x.n, y.n) == (a.rows, a.cols), "a")?;
    let launcher = a.stream.launcher(NONE)?;
    // SAFETY: views of these shapes.
    unsafe {
        raw::ger(
            &launcher, x.n, y.n, alpha, x.start, x.inc, y.start, y.inc, a.start, a.rs, a.cs,
        )
    }
}

/// See `diptych::mse_grad`; the loss is the one element of `loss`.
///
/// # Errors
/// As [`dot`].
pub fn mse_grad<T: Real + Item>(
    pred: &DeviceBuffer<'_, T>,
    target: &DeviceBuffer<'_, T>,
    grad: &mut DeviceBuffer<'_, T>,
    loss: &mut DeviceBuffer<'_, T>,
) -> Result<()> {
    let stream = grad.stream();
    same(
        stream,
        &[
            (pred.stream(), "pred"),
            (target.stream(), "target"),
            (loss.stream(), "loss"),
        ],
    )?;
    let n = same_len(
        grad.len(),
        &[(pred.len(), "pred"), (target.len(), "target")],
    )?;
    shape(loss.len() == 1, "loss")?;
    let launcher = stream.launcher(NONE)?;
    // SAFETY: buffers of n elements, and one element.
    unsafe {
        raw::mse_grad(
            &launcher,
            n,
            pred.pointer(),
            target.pointer(),
            grad.pointer(),
            loss.pointer(),
        )
    }
}

/// See `diptych::lsq_grad`. [`lsq_grad_workspace`] says how many bytes of `workspace` it wants; small ones it
/// does without.
///
/// # Errors
/// As [`dot`]; `WorkspaceTooSmall`.
pub fn lsq_grad<T: Real + Item>(
    a: MatRef<'_, T>,
    x: &DeviceBuffer<'_, T>,
    y: &DeviceBuffer<'_, T>,
    grad: &mut DeviceBuffer<'_, T>,
    workspace: Option<&mut DeviceBuffer<'_, u8>>,
) -> Result<()> {
    let stream = grad.stream();
    same(
        stream,
        &[(a.stream, "a"), (x.stream(), "x"), (y.stream(), "y")],
    )?;
    shape(x.len() as i64 == a.cols, "x")?;
    shape(y.len() as i64 == a.rows, "y")?;
    shape(grad.len() as i64 == a.cols, "grad")?;
    let mut scratch = NONE;
    if let Some(workspace) = workspace {
        same(stream, &[(workspace.stream(), "workspace")])?;
        scratch = (workspace.pointer(), workspace.len());
    }
    let launcher = stream.launcher(scratch)?;
    // SAFETY: buffers and a view of these shapes.
    unsafe {
        raw::lsq_grad(
            &launcher,
            a.rows,
            a.cols,
            a.start,
            a.rs,
            a.cs,
            x.pointer(),
            y.pointer(),
            grad.pointer(),
        )
    }
}

/// Bytes of workspace that [`lsq_grad`] of an m by n matrix wants.
///
/// # Errors
/// `SizeOverflow`; what the driver says.
pub fn lsq_grad_workspace<T: Real>(stream: &Stream, m: usize, n: usize) -> Result<usize> {
    let size =
        |size: usize, arg| i64::try_from(size).map_err(|_| diptych::Error::SizeOverflow { arg });
    let launcher = stream.launcher(NONE)?;
    Ok(raw::lsq_grad_workspace::<T, _>(
        &launcher,
        size(m, "m")?,
        size(n, "n")?,
    )?)
}
