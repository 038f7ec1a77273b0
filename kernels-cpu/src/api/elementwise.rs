//! clamp, arithmetic, scale, axpy, square, fill.

use crate::detect;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::exec::{Exec, Shared, share};

/// Runs `part(from, len)` over 0..n, cut at multiples of 64 elements.
fn split(exec: &Exec<'_>, n: usize, bytes: usize, part: impl Fn(usize, usize) + Sync) {
    const GRAIN: usize = 64;
    let tasks = exec.tasks(bytes, n.div_ceil(GRAIN));
    if tasks == 1 {
        return part(0, n);
    }
    let each = share(n.div_ceil(GRAIN), tasks) * GRAIN;
    exec.run(tasks, &|task| {
        let from = (task * each).min(n);
        part(from, each.min(n - from));
    });
}

/// The pointer form.
pub mod raw {
    use super::*;
    use crate::api::plain;
    use crate::args::{size, slice};

    /// One entry: the short way to the kernel, or checks, and the kernel over every part.
    macro_rules! entry {
        ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $kind:tt),*) -> $out:ident, kernel $kernel:ident($($stream:ident)?), in_place [$($alias:ident),*]) => {
            $(#[$doc])*
            ///
            /// # Errors
            /// `NegativeSize`, `NullPointer`, `Misaligned`, `SizeOverflow`; `Overlap` when the output
            /// overlaps an input other than exactly.
            ///
            /// # Safety
            /// Arrays must be valid for `n` elements.
            #[inline(always)]
            $vis unsafe fn $name<T: Element>(
                exec: &Exec<'_>, n: i64, $($arg: entry!(@ty $kind),)* $out: *mut T,
            ) -> Result<()> {
                if plain::is_small(n, $out) $(& plain::is_same_or_apart(n, $alias, $out))* {
                    let kernels = T::kernels(exec.level()?);
                    // SAFETY: as the caller's.
                    unsafe { (kernels.$kernel)(n as usize, $($arg,)* $out $(, entry!(@never $stream))?) };
                    return Ok(());
                }
                #[inline(never)]
                unsafe fn any<T: Element>(
                    exec: &Exec<'_>, n: i64, $($arg: entry!(@ty $kind),)* $out: *mut T,
                ) -> Result<()> {
                    let level = exec.level()?;
                    let n = size(n, "n")?;
                    let _region = slice($out, n, stringify!($out))?;
                    $( _region.same_or_apart_from(&slice($alias, n, stringify!($alias))?)?; )*
                    let kernels = T::kernels(level);
                    let bytes = n * size_of::<T>();
                    // In place, the lines are in the caches already.
                    let _in_place = false $(|| $alias.cast_mut() == $out)*;
                    let _touched = bytes.saturating_mul(1 $(+ entry!(@arrays $kind))*);
                    $(let $stream = !_in_place && detect::is_past_the_caches(_touched);)?
                    let out = Shared::new($out);
                    $( entry!(@share $arg: $kind); )*
                    split(exec, n, bytes, move |from, len| {
                        // SAFETY: the part lies in 0..n, where the caller vouches for every array, and
                        // no other task writes it.
                        unsafe { (kernels.$kernel)(len, $(entry!(@part $arg: $kind, from),)* out.get().add(from) $(, $stream)?) }
                    });
                    Ok(())
                }
                // SAFETY: as the caller's.
                unsafe { any(exec, n, $($arg,)* $out) }
            }
        };
        (@never $stream:ident) => { false };
        (@arrays array) => { 1 };
        (@arrays value) => { 0 };
        (@ty array) => { *const T };
        (@ty value) => { T };
        (@share $arg:ident: array) => { let $arg = Shared::new($arg); };
        (@share $arg:ident: value) => {};
        (@part $arg:ident: array, $from:ident) => { $arg.get().add($from).cast_const() };
        (@part $arg:ident: value, $from:ident) => { $arg };
    }

    entry!(
        /// out = clamp(x, lo, hi), the bounds not NaN.
        fn clamp_ordered(x: array, lo: value, hi: value) -> out, kernel clamp(stream), in_place [x]
    );

    /// out\[i\] = x\[i\] limited to lo..hi: NaN stays NaN, a NaN bound gives NaN, lo > hi gives hi, a
    /// value equal to a bound is returned as it is.
    ///
    /// # Errors
    /// As the other elementwise operations.
    ///
    /// # Safety
    /// Arrays must be valid for `n` elements.
    #[inline(always)]
    pub unsafe fn clamp<T: Element>(
        exec: &Exec<'_>,
        n: i64,
        x: *const T,
        lo: T,
        hi: T,
        out: *mut T,
    ) -> Result<()> {
        if lo.is_nan() || hi.is_nan() {
            let count = size(n, "n")?;
            slice(out, count, "out")?.same_or_apart_from(&slice(x, count, "x")?)?;
            // SAFETY: as the caller's.
            return unsafe { fill(exec, n, T::CANONICAL_NAN, out) };
        }
        // SAFETY: as the caller's.
        unsafe { clamp_ordered(exec, n, x, lo, hi, out) }
    }

    entry!(
        /// out\[i\] = grad\[i\] where lo <= x\[i\] <= hi, else 0 (so 0 where x or a bound is NaN).
        pub fn clamp_backward(x: array, grad: array, lo: value, hi: value) -> out, kernel clamp_backward(stream), in_place [x, grad]
    );
    entry!(
        /// out\[i\] = x\[i\] + y\[i\].
        pub fn add(x: array, y: array) -> out, kernel add(stream), in_place [x, y]
    );
    entry!(
        /// out\[i\] = x\[i\] - y\[i\].
        pub fn sub(x: array, y: array) -> out, kernel sub(stream), in_place [x, y]
    );
    entry!(
        /// out\[i\] = x\[i\] * y\[i\].
        pub fn mul(x: array, y: array) -> out, kernel mul(stream), in_place [x, y]
    );
    entry!(
        /// out\[i\] = x\[i\] / y\[i\].
        pub fn div(x: array, y: array) -> out, kernel div(stream), in_place [x, y]
    );
    entry!(
        /// out\[i\] = alpha * x\[i\].
        pub fn scale(alpha: value, x: array) -> out, kernel scale(stream), in_place [x]
    );
    entry!(
        /// y\[i\] = fma(alpha, x\[i\], y\[i\]); alpha = 0 is not special.
        pub fn axpy(alpha: value, x: array) -> y, kernel axpy(), in_place [x]
    );
    entry!(
        /// out\[i\] = x\[i\] * x\[i\].
        pub fn square(x: array) -> out, kernel square(stream), in_place [x]
    );
    entry!(
        /// out\[i\] = value.
        pub fn fill(value: value) -> out, kernel fill(stream), in_place []
    );
}

/// The common length of an output and its inputs.
fn same_length<T>(out: &[T], inputs: &[(&'static str, &[T])]) -> Result<i64> {
    match inputs.iter().find(|(_, x)| x.len() != out.len()) {
        Some(&(arg, _)) => Err(Error::ShapeMismatch { arg }),
        None => Ok(out.len() as i64),
    }
}

/// out\[i\] = x\[i\] limited to lo..hi: NaN stays NaN, a NaN bound gives NaN, lo > hi gives hi, a
/// value equal to a bound is returned as it is (-0 stays -0).
///
/// # Errors
/// [`Error::ShapeMismatch`] unless the slices have one length.
pub fn clamp<T: Element>(exec: &Exec<'_>, x: &[T], lo: T, hi: T, out: &mut [T]) -> Result<()> {
    let n = same_length(out, &[("x", x)])?;
    // SAFETY: the slices have n elements.
    unsafe { raw::clamp(exec, n, x.as_ptr(), lo, hi, out.as_mut_ptr()) }
}

/// As [`clamp`], the result replacing `x`.
///
/// # Errors
/// None from the arguments.
pub fn clamp_in_place<T: Element>(exec: &Exec<'_>, x: &mut [T], lo: T, hi: T) -> Result<()> {
    let (n, x) = (x.len() as i64, x.as_mut_ptr());
    // SAFETY: the slice has n elements; the output is exactly the input.
    unsafe { raw::clamp(exec, n, x, lo, hi, x) }
}

/// The gradient of [`clamp`]: out\[i\] = grad\[i\] where lo <= x\[i\] <= hi, else 0 (so 0 where x or
/// a bound is NaN).
///
/// # Errors
/// [`Error::ShapeMismatch`] unless the slices have one length.
pub fn clamp_backward<T: Element>(
    exec: &Exec<'_>,
    x: &[T],
    grad: &[T],
    lo: T,
    hi: T,
    out: &mut [T],
) -> Result<()> {
    let n = same_length(out, &[("x", x), ("grad", grad)])?;
    // SAFETY: the slices have n elements.
    unsafe { raw::clamp_backward(exec, n, x.as_ptr(), grad.as_ptr(), lo, hi, out.as_mut_ptr()) }
}

/// As [`clamp_backward`], the result replacing `grad`.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless the slices have one length.
pub fn clamp_backward_in_place<T: Element>(
    exec: &Exec<'_>,
    x: &[T],
    grad: &mut [T],
    lo: T,
    hi: T,
) -> Result<()> {
    let n = same_length(grad, &[("x", x)])?;
    let grad = grad.as_mut_ptr();
    // SAFETY: the slices have n elements; the output is exactly an input.
    unsafe { raw::clamp_backward(exec, n, x.as_ptr(), grad, lo, hi, grad) }
}

macro_rules! arithmetic {
    ($($name:ident, $in_place:ident, $sign:literal;)*) => {$(
        #[doc = concat!("out\\[i\\] = x\\[i\\] ", $sign, " y\\[i\\], rounded once.")]
        ///
        /// # Errors
        /// [`Error::ShapeMismatch`] unless the slices have one length.
        pub fn $name<T: Element>(exec: &Exec<'_>, x: &[T], y: &[T], out: &mut [T]) -> Result<()> {
            let n = same_length(out, &[("x", x), ("y", y)])?;
            // SAFETY: the slices have n elements.
            unsafe { raw::$name(exec, n, x.as_ptr(), y.as_ptr(), out.as_mut_ptr()) }
        }

        #[doc = concat!("As [`", stringify!($name), "`], the result replacing `x`.")]
        ///
        /// # Errors
        /// [`Error::ShapeMismatch`] unless the slices have one length.
        pub fn $in_place<T: Element>(exec: &Exec<'_>, x: &mut [T], y: &[T]) -> Result<()> {
            let n = same_length(x, &[("y", y)])?;
            let x = x.as_mut_ptr();
            // SAFETY: the slices have n elements; the output is exactly an input.
            unsafe { raw::$name(exec, n, x, y.as_ptr(), x) }
        }
    )*};
}

arithmetic! {
    add, add_in_place, "+";
    sub, sub_in_place, "-";
    mul, mul_in_place, "*";
    div, div_in_place, "/";
}

/// out\[i\] = alpha * x\[i\], rounded once.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless the slices have one length.
pub fn scale<T: Element>(exec: &Exec<'_>, alpha: T, x: &[T], out: &mut [T]) -> Result<()> {
    let n = same_length(out, &[("x", x)])?;
    // SAFETY: the slices have n elements.
    unsafe { raw::scale(exec, n, alpha, x.as_ptr(), out.as_mut_ptr()) }
}

/// As [`scale`], the result replacing `x`.
///
/// # Errors
/// None from the arguments.
pub fn scale_in_place<T: Element>(exec: &Exec<'_>, alpha: T, x: &mut [T]) -> Result<()> {
    let (n, x) = (x.len() as i64, x.as_mut_ptr());
    // SAFETY: the slice has n elements; the output is exactly the input.
    unsafe { raw::scale(exec, n, alpha, x, x) }
}

/// y\[i\] = alpha * x\[i\] + y\[i\], rounded once (fma). alpha = 0 is not special.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless the slices have one length.
pub fn axpy<T: Element>(exec: &Exec<'_>, alpha: T, x: &[T], y: &mut [T]) -> Result<()> {
    let n = same_length(y, &[("x", x)])?;
    // SAFETY: the slices have n elements.
    unsafe { raw::axpy(exec, n, alpha, x.as_ptr(), y.as_mut_ptr()) }
}

/// out\[i\] = x\[i\] * x\[i\], rounded once.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless the slices have one length.
pub fn square<T: Element>(exec: &Exec<'_>, x: &[T], out: &mut [T]) -> Result<()> {
    let n = same_length(out, &[("x", x)])?;
    // SAFETY: the slices have n elements.
    unsafe { raw::square(exec, n, x.as_ptr(), out.as_mut_ptr()) }
}

/// As [`square`], the result replacing `x`.
///
/// # Errors
/// None from the arguments.
pub fn square_in_place<T: Element>(exec: &Exec<'_>, x: &mut [T]) -> Result<()> {
    let (n, x) = (x.len() as i64, x.as_mut_ptr());
    // SAFETY: the slice has n elements; the output is exactly the input.
    unsafe { raw::square(exec, n, x, x) }
}

/// out\[i\] = value.
///
/// # Errors
/// None from the arguments.
pub fn fill<T: Element>(exec: &Exec<'_>, value: T, out: &mut [T]) -> Result<()> {
    // SAFETY: the slice has as many elements as it says.
    unsafe { raw::fill(exec, out.len() as i64, value, out.as_mut_ptr()) }
}
