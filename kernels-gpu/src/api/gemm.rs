//! gemm, gemm_batched and gemm_fused on views.

use super::buffer::Item;
use super::operations::{NONE, same, shape};
use super::view::{BatchMut, BatchRef, MatMut, MatRef, VecRef};
use crate::Result;
use crate::ops::gemm::run;
use core::ptr;
use diptych::BiasKind;
use diptych::backend::args::Matrix;
use diptych::backend::gemm::Arguments;
use diptych::raw::RawEpilogue;
use diptych_device::real::Real;

/// See `diptych::gemm`.
///
/// # Errors
/// As [`dot`](super::dot).
pub fn gemm<T: Real + Item>(
    alpha: T,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    beta: T,
    c: MatMut<'_, T>,
) -> Result<()> {
    gemm_fused(alpha, a, b, beta, c, None, None)
}

/// See `diptych::gemm_fused`: gemm, then a bias, then a clamp.
///
/// # Errors
/// As [`dot`](super::dot).
pub fn gemm_fused<T: Real + Item>(
    alpha: T,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    beta: T,
    c: MatMut<'_, T>,
    bias: Option<(BiasKind, VecRef<'_, T>)>,
    clamp: Option<(T, T)>,
) -> Result<()> {
    let args = arguments(alpha, a, b, beta, &c)?;
    let mut epilogue = RawEpilogue {
        bias: ptr::null(),
        bias_inc: 1,
        bias_kind: BiasKind::None,
        clamp,
    };
    if let Some((kind, bias)) = bias {
        same(c.stream, &[(bias.stream, "bias")])?;
        let wanted = match kind {
            BiasKind::PerRow => c.rows,
            BiasKind::PerColumn => c.cols,
            _ => bias.n,
        };
        shape(bias.n == wanted, "bias")?;
        epilogue = RawEpilogue {
            bias: bias.start,
            bias_inc: bias.inc,
            bias_kind: kind,
            clamp,
        };
    }
    let launcher = c.stream.launcher(NONE)?;
    // SAFETY: views of these shapes.
    unsafe {
        run(
            &launcher,
            &Arguments {
                epilogue: Some(&epilogue),
                ..args
            },
        )
    }
}

/// See `diptych::gemm_batched`.
///
/// # Errors
/// As [`dot`](super::dot).
pub fn gemm_batched<T: Real + Item>(
    alpha: T,
    a: BatchRef<'_, T>,
    b: BatchRef<'_, T>,
    beta: T,
    c: BatchMut<'_, T>,
) -> Result<()> {
    for (matrices, arg) in [(a.matrices, "a"), (b.matrices, "b")] {
        shape(matrices == c.matrices, arg)?;
    }
    let mut args = arguments(alpha, a.first, b.first, beta, &c.first)?;
    args.batch = c.matrices;
    (args.a.bs, args.b.bs, args.c.bs) = (a.bs, b.bs, c.bs);
    let launcher = c.first.stream.launcher(NONE)?;
    // SAFETY: views of these shapes.
    unsafe { run(&launcher, &args) }
}

/// Returns the arguments of a single product. Refuses factors that belong to other streams or whose shapes do not fit.
fn arguments<'e, T>(
    alpha: T,
    a: MatRef<'_, T>,
    b: MatRef<'_, T>,
    beta: T,
    c: &MatMut<'_, T>,
) -> Result<Arguments<'e, T>> {
    same(c.stream, &[(a.stream, "a"), (b.stream, "b")])?;
    shape(a.rows == c.rows, "a")?;
    shape(b.rows == a.cols && b.cols == c.cols, "b")?;
    let of_a = Matrix::new(a.start, a.rs, a.cs);
    let of_b = Matrix::new(b.start, b.rs, b.cs);
    let of_c = Matrix::new(c.start, c.rs, c.cs);
    let sizes = (c.rows, c.cols, a.cols);
    Ok(Arguments::new(sizes, alpha, of_a, of_b, beta, of_c))
}
