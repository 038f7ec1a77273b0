//! All operations of `diptych` except the matrix products, on buffers and views. A call enqueues its work on the stream
//! of the output and does not wait for it; all arguments must belong to that stream.

use super::buffer::{DeviceBuffer, Item};
use super::context::Stream;
use super::view::{MatMut, MatRef, VecRef};
use crate::{Error, Result, raw};
use core::ptr;
use diptych::{for_each_elementwise, for_each_reduction, for_each_row_map};
use diptych_device::real::Real;

/// No workspace.
pub(super) const NONE: (*mut u8, usize) = (ptr::null_mut(), 0);

/// Refuses arguments that belong to other streams.
pub(super) fn same(stream: &Stream, others: &[(&Stream, &'static str)]) -> Result<()> {
    match others.iter().find(|(other, _)| !ptr::eq(*other, stream)) {
        Some(&(_, arg)) => Err(Error::WrongContext { arg }),
        None => Ok(()),
    }
}

/// Refuses arguments of another length than `n`; returns `n`.
fn same_len(n: usize, others: &[(usize, &'static str)]) -> Result<i64> {
    match others.iter().find(|(other, _)| *other != n) {
        Some(&(_, arg)) => Err(diptych::Error::ShapeMismatch { arg }.into()),
        None => Ok(n as i64),
    }
}

/// Refuses the argument `arg` unless its shape fits.
pub(super) fn shape(holds: bool, arg: &'static str) -> Result<()> {
    if holds {
        Ok(())
    } else {
        Err(diptych::Error::ShapeMismatch { arg }.into())
    }
}

/// Expands an elementwise operation, and its in-place form where it has one.
macro_rules! elementwise {
    ({} $($name:ident $args:tt $roles:tt $out:ident $in_place:tt)*) => {$(
        elementwise!(@form $name $args $out);
        elementwise!(@in_place $in_place $name $args $roles);
    )*};
    (@form $name:ident ($($arg:ident: $kind:ident),*) $out:ident) => {
        #[doc = concat!("See `diptych::", stringify!($name), "`.")]
        ///
        /// # Errors
        /// `ShapeMismatch`; `WrongContext` for an argument of another stream; errors of the driver.
        pub fn $name<T: Real + Item>($($arg: elementwise!(@type $kind T),)* $out: &mut DeviceBuffer<'_, T>) -> Result<()> {
            $(elementwise!(@stream $kind $arg $out);)*
            let n = $out.len() as i64;
            $(elementwise!(@len $kind $arg $out);)*
            let launcher = $out.stream().launcher(NONE)?;
            // SAFETY: buffers of n elements, of the launcher's stream.
            unsafe { raw::$name(&launcher, n, $(elementwise!(@pass $kind $arg),)* $out.pointer()) }
        }
    };
    (@in_place [] $($rest:tt)*) => {};
    (@in_place [$in_place:ident] $name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*)) => {
        #[doc = concat!("See `diptych::", stringify!($in_place), "`.")]
        ///
        /// # Errors
        /// `ShapeMismatch`; `WrongContext` for an argument of another stream; errors of the driver.
        pub fn $in_place<T: Real + Item>($($arg: elementwise!(@in_place_type $kind $role T)),*) -> Result<()> {
            $(elementwise!(@output $role $arg out);)*
            $(elementwise!(@in_place_check $kind $role $arg out);)*
            let launcher = out.stream().launcher(NONE)?;
            let p = out.pointer();
            // SAFETY: buffers of `out.len()` elements, of the launcher's stream; the output is exactly an input.
            unsafe { raw::$name(&launcher, out.len() as i64, $(elementwise!(@in_place_pass $kind $role $arg p),)* p) }
        }
    };
    (@type scalar $T:ident) => { $T };
    (@type array $T:ident) => { &DeviceBuffer<'_, $T> };
    (@stream scalar $arg:ident $out:ident) => {};
    (@stream array $arg:ident $out:ident) => { same($out.stream(), &[($arg.stream(), stringify!($arg))])? };
    (@len scalar $arg:ident $out:ident) => {};
    (@len array $arg:ident $out:ident) => { same_len($out.len(), &[($arg.len(), stringify!($arg))])? };
    (@pass scalar $arg:ident) => { $arg };
    (@pass array $arg:ident) => { $arg.pointer() };
    (@in_place_type array replaced $T:ident) => { &mut DeviceBuffer<'_, $T> };
    (@in_place_type $kind:ident $role:ident $T:ident) => { elementwise!(@type $kind $T) };
    (@output replaced $arg:ident $out:ident) => { let $out = $arg; };
    (@output $role:ident $arg:ident $out:ident) => {};
    (@in_place_check array replaced $arg:ident $out:ident) => {};
    (@in_place_check $kind:ident $role:ident $arg:ident $out:ident) => {
        elementwise!(@stream $kind $arg $out);
        elementwise!(@len $kind $arg $out)
    };
    (@in_place_pass array replaced $arg:ident $p:ident) => { $p.cast_const() };
    (@in_place_pass $kind:ident $role:ident $arg:ident $p:ident) => { elementwise!(@pass $kind $arg) };
}
for_each_elementwise!(elementwise! {} [name arguments roles output in_place]);

/// Expands a reduction: of a vector to the one element of `out`, and of each row of a matrix.
macro_rules! reductions {
    ({} $($name:ident $rows:ident [$($ddof:ident)?] $out:ident)*) => {$(
        #[doc = concat!("See `diptych::", stringify!($name), "`; the result is the one element of `out`.")]
        ///
        /// # Errors
        /// Those of `diptych`; `WrongContext` for an argument of another stream; errors of the driver.
        pub fn $name<'b, T: Real + Item>(
            x: impl Into<VecRef<'b, T>>, $($ddof: i64,)? out: &mut DeviceBuffer<'_, reductions!(@type $out T)>,
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
        /// As for the reduction of a vector.
        pub fn $rows<T: Real + Item>(
            x: MatRef<'_, T>, $($ddof: i64,)? out: &mut DeviceBuffer<'_, reductions!(@type $out T)>,
        ) -> Result<()> {
            same(out.stream(), &[(x.stream, "x")])?;
            shape(out.len() as i64 == x.rows, "out")?;
            let launcher = out.stream().launcher(NONE)?;
            // SAFETY: a view of a buffer, and one element per row.
            unsafe {
                raw::$rows(&launcher, x.rows, x.cols, x.start, x.rs, x.cs, $($ddof,)? out.pointer(), 1)
            }
        }
    )*};
    (@type element $T:ident) => { $T };
    (@type count $T:ident) => {
        i64
    };
    (@type index $T:ident) => { i64 };
}
for_each_reduction!(reductions! {} [name rows ddof result]);

/// Expands a map over rows, and its in-place form.
macro_rules! row_maps {
    ({} $($name:ident $in_place:ident)*) => {$(
        #[doc = concat!("See `diptych::", stringify!($name), "`.")]
        ///
        /// # Errors
        /// Those of `diptych`; `WrongContext` for an argument of another stream; errors of the driver.
        pub fn $name<T: Real + Item>(x: MatRef<'_, T>, out: MatMut<'_, T>) -> Result<()> {
            same(out.stream, &[(x.stream, "x")])?;
            shape((x.rows, x.cols) == (out.rows, out.cols), "out")?;
            let launcher = out.stream.launcher(NONE)?;
            // SAFETY: views of these shapes.
            unsafe { raw::$name(&launcher, x.rows, x.cols, x.start, x.rs, x.cs, out.start, out.rs, out.cs) }
        }

        #[doc = concat!("See `diptych::", stringify!($in_place), "`.")]
        ///
        /// # Errors
        /// Those of `diptych`; errors of the driver.
        pub fn $in_place<T: Real + Item>(x: MatMut<'_, T>) -> Result<()> {
            let launcher = x.stream.launcher(NONE)?;
            // SAFETY: a view of this shape; the output is exactly the input.
            unsafe { raw::$name(&launcher, x.rows, x.cols, x.start, x.rs, x.cs, x.start, x.rs, x.cs) }
        }
    )*};
}
for_each_row_map!(row_maps! {} [name in_place]);

/// See `diptych::dot`; the result is the one element of `out`.
///
/// # Errors
/// Those of `diptych`; `WrongContext` for an argument of another stream; errors of the driver.
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
    // SAFETY: two views of equal length, and one element.
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

/// See `diptych::lsq_grad`. [`lsq_grad_workspace`] returns the bytes of `workspace` that it needs; small problems
/// do not need one.
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

/// Returns the bytes of workspace that [`lsq_grad`] of an m by n matrix needs.
///
/// # Errors
/// `SizeOverflow`; errors of the driver.
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
