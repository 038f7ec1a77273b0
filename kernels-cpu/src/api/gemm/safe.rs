//! The safe forms of matrix products.

use super::check::Arguments;
use super::{BiasKind, RawEpilogue, check_and_run, raw, single};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::exec::Exec;
use crate::matrix::Matrix;
use crate::view::{BatchMut, BatchRef, MatMut, MatRef, VecRef};

/// The bias of an [`Epilogue`].
#[derive(Clone, Copy, Debug, Default)]
pub enum Bias<'a, T> {
    /// There is no bias.
    #[default]
    None,
    /// Element i is added to each element of row i.
    PerRow(VecRef<'a, T>),
    /// Element j is added to each element of column j.
    PerColumn(VecRef<'a, T>),
}

/// What [`gemm_fused`] does to each element of a finished product before it stores it: adds a bias, then clamps.
///
/// `Epilogue::default()` does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Epilogue<'a, T> {
    /// The bias, added with one rounding.
    pub bias: Bias<'a, T>,
    /// The bounds lo and hi, with the meaning of [`clamp`](crate::clamp()): a NaN element stays NaN, a NaN bound makes
    /// every element NaN. `None`: no clamp. `Some((0.0, f32::INFINITY))` is ReLU.
    pub clamp: Option<(T, T)>,
}

/// Checks that the shapes are m by k, k by n and m by n. Returns (m, n, k).
fn check_shapes(
    a: (usize, usize),
    b: (usize, usize),
    c: (usize, usize),
) -> Result<(i64, i64, i64)> {
    if a.0 != c.0 {
        return Err(Error::ShapeMismatch { arg: "a" });
    }
    if b.0 != a.1 || b.1 != c.1 {
        return Err(Error::ShapeMismatch { arg: "b" });
    }
    Ok((c.0 as i64, c.1 as i64, a.1 as i64))
}

/// The matrix product C = alpha A B + beta C, for any strides. A transposed operand is a view: `a.t()`.
///
/// A is m by k, B is k by n, C is m by n. With beta = 0, C is not read, so NaNs in it do not survive. With alpha = 0 or
/// k = 0, A and B are not read, and C = beta C. With m = 0 or n = 0 the call does nothing.
///
/// NaN: a NaN among the elements that are read gives a NaN in each element of C that it contributes to.
///
/// # Errors
/// [`Error::ShapeMismatch`] unless the shapes match; [`Error::Overlap`] when two elements of C have one address;
/// [`Error::WorkspaceTooSmall`] with a workspace that is smaller than [`gemm_workspace`] says.
///
/// # Example
///
/// ```
/// use diptych::{Exec, MatMut, MatRef, gemm};
/// let a = [1.0f32, 2.0, 3.0, 4.0];
/// let b = [5.0f32, 6.0, 7.0, 8.0];
/// let mut c = [0.0f32; 4];
/// gemm(&Exec::new(), 1.0, MatRef::new(&a, 2, 2)?, MatRef::new(&b, 2, 2)?, 0.0, MatMut::new(&mut c, 2, 2)?)?;
/// assert_eq!(c, [19.0, 22.0, 43.0, 50.0]);
/// # Ok::<(), diptych::Error>(())
/// ```
pub fn gemm<T: Element>(
    exec: &Exec<'_>,
    alpha: T,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    beta: T,
    mut c: MatMut<'_, T>,
) -> Result<()> {
    let sizes = check_shapes(a.shape(), b.shape(), c.shape())?;
    let args = Arguments::new(sizes, alpha, a.matrix(), b.matrix(), beta, c.matrix());
    // SAFETY: the views have as many elements as they say.
    unsafe { single(exec, &args) }
}

/// The matrix product C = alpha A B + beta C as [`gemm`], followed by an [`Epilogue`]: a bias is added to rows or
/// columns, and then a clamp is applied. The bits are those of [`gemm`], the additions and [`clamp`](crate::clamp())
/// one after the other, but C is written only once.
///
/// # Errors
/// As [`gemm`]; also [`Error::ShapeMismatch`] unless the bias has one element for each row or column.
///
/// # Example
///
/// ```
/// use diptych::{Bias, Epilogue, Exec, MatMut, MatRef, VecRef, gemm_fused};
///
/// // A layer of a network: ReLU(x w + bias).
/// let (x, w) = ([1.0_f32, 2.0], [1.0, -1.0, 1.0, -1.0]);
/// let bias = [0.5, 0.5];
/// let mut out = [0.0; 2];
/// let epilogue = Epilogue {
///     bias: Bias::PerColumn(VecRef::new(&bias)),
///     clamp: Some((0.0, f32::INFINITY)),
/// };
/// let (x, w, out_view) = (MatRef::new(&x, 1, 2)?, MatRef::new(&w, 2, 2)?, MatMut::new(&mut out, 1, 2)?);
/// gemm_fused(&Exec::new(), 1.0, x, w, 0.0, out_view, &epilogue)?;
/// assert_eq!(out, [3.5, 0.0]);
/// # Ok::<(), diptych::Error>(())
/// ```
pub fn gemm_fused<T: Element>(
    exec: &Exec<'_>,
    alpha: T,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    beta: T,
    c: MatMut<'_, T>,
    epilogue: &Epilogue<'_, T>,
) -> Result<()> {
    let b = (b.shape(), b.matrix());
    // SAFETY: the views have as many elements as they say.
    arguments(alpha, a, b, beta, c, epilogue, |args| unsafe {
        check_and_run(exec, *args)
    })
}

/// Calls `run` with the arguments of a product, whose shapes fit each other. The matrix B is given by its shape and its
/// elements.
///
/// # Errors
/// `ShapeMismatch`, and those of `run`.
pub(crate) fn arguments<T: Element>(
    alpha: T,
    a: MatRef<'_, T>,
    (of_b, b): ((usize, usize), Matrix<*const T, i64>),
    beta: T,
    mut c: MatMut<'_, T>,
    epilogue: &Epilogue<'_, T>,
    run: impl FnOnce(&Arguments<'_, T>) -> Result<()>,
) -> Result<()> {
    let sizes = check_shapes(a.shape(), of_b, c.shape())?;
    let args = Arguments::new(sizes, alpha, a.matrix(), b, beta, c.matrix());
    let (bias, bias_kind, expected) = match epilogue.bias {
        Bias::None => (VecRef::new(&[]), BiasKind::None, 0),
        Bias::PerRow(bias) => (bias, BiasKind::PerRow, c.rows()),
        Bias::PerColumn(bias) => (bias, BiasKind::PerColumn, c.cols()),
    };
    if bias.elements() != expected {
        return Err(Error::ShapeMismatch { arg: "bias" });
    }
    let epilogue = RawEpilogue {
        bias: bias.ptr(),
        bias_inc: bias.inc() as i64,
        bias_kind,
        clamp: epilogue.clamp,
    };
    run(&Arguments {
        epilogue: Some(&epilogue),
        ..args
    })
}

/// [`gemm`] on each triple of matrices of three batches. Each product has the bits of the single call.
///
/// # Errors
/// As [`gemm`]; also [`Error::ShapeMismatch`] unless the batches have the same number of matrices.
///
/// # Example
///
/// ```
/// use diptych::{BatchMut, BatchRef, Exec, gemm_batched};
///
/// // Three 1 x 2 matrices, each multiplied by the same 2 x 1 matrix: its batch stride is 0.
/// let a = [1.0_f32, 2.0, 3.0, 4.0, 5.0, 6.0];
/// let b = [10.0, 1.0];
/// let mut c = [0.0; 3];
/// let a = BatchRef::new(&a, 3, 1, 2)?;
/// let b = BatchRef::with_strides(&b, 0, [3, 2, 1], [0, 1, 1])?;
/// gemm_batched(&Exec::new(), 1.0, a, b, 0.0, BatchMut::new(&mut c, 3, 1, 1)?)?;
/// assert_eq!(c, [12.0, 34.0, 56.0]);
/// # Ok::<(), diptych::Error>(())
/// ```
pub fn gemm_batched<T: Element>(
    exec: &Exec<'_>,
    alpha: T,
    a: BatchRef<'_, T>,
    b: BatchRef<'_, T>,
    beta: T,
    mut c: BatchMut<'_, T>,
) -> Result<()> {
    let sizes = check_shapes(a.shape(), b.shape(), c.shape())?;
    let args = Arguments::new(sizes, alpha, a.matrix(), b.matrix(), beta, c.matrix());
    for (matrices, arg) in [(a.matrices(), "a"), (b.matrices(), "b")] {
        if matrices != c.matrices() {
            return Err(Error::ShapeMismatch { arg });
        }
    }
    let batch = c.matrices() as i64;
    // SAFETY: the views have as many elements as they say.
    unsafe { check_and_run(exec, Arguments { batch, ..args }) }
}

/// Returns the bytes of workspace ([`Exec::with_workspace`]) that [`gemm`], [`gemm_fused`] and [`gemm_batched`] of this
/// shape need with the threads of `exec`: for an m by k matrix A and a k by n matrix B. Without a workspace they use
/// the library's own scratch memory.
///
/// # Errors
/// [`Error::SizeOverflow`].
///
/// # Example
///
/// ```
/// use std::mem::MaybeUninit;
/// use diptych::{Exec, MatMut, MatRef, gemm, gemm_workspace};
///
/// let bytes = gemm_workspace::<f32>(&Exec::new(), 64, 64, 64)?;
/// let mut workspace = vec![MaybeUninit::uninit(); bytes];
/// let exec = Exec::new().with_workspace(&mut workspace);
/// let (a, mut c) = (vec![1.0_f32; 64 * 64], vec![0.0; 64 * 64]);
/// let a = MatRef::new(&a, 64, 64)?;
/// gemm(&exec, 1.0, a, a, 0.0, MatMut::new(&mut c, 64, 64)?)?;
/// assert_eq!(c[0], 64.0);
/// # Ok::<(), diptych::Error>(())
/// ```
pub fn gemm_workspace<T: Element>(exec: &Exec<'_>, m: usize, n: usize, k: usize) -> Result<usize> {
    let to_i64 =
        |size: usize| i64::try_from(size).map_err(|_| Error::SizeOverflow { arg: "m * n * k" });
    raw::gemm_workspace::<T>(exec, to_i64(m)?, to_i64(n)?, to_i64(k)?)
}
