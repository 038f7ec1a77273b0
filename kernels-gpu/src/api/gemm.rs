//! gemm, gemm_batched and gemm_fused on views.

use super::buffer::Item;
use super::operations::{NONE, same, shape};
use super::view::{BatchMut, BatchRef, MatMut, MatRef, VecRef};
use crate::{Result, raw};
use core::ptr;
use diptych::BiasKind;
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
    check_product(a, b, &c)?;
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
        raw::gemm_fused(
            &launcher, c.rows, c.cols, a.cols, alpha, a.start, a.rs, a.cs, b.start, b.rs, b.cs,
            beta, c.start, c.rs, c.cs, &epilogue,
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
    let (batch, a_bs, b_bs, c_bs) = (c.matrices, a.bs, b.bs, c.bs);
    let (a, b, c) = (a.first, b.first, c.first);
    check_product(a, b, &c)?;
    let launcher = c.stream.launcher(NONE)?;
    // SAFETY: views of these shapes.
    unsafe {
        raw::gemm_batched(
            &launcher, c.rows, c.cols, a.cols, alpha, a.start, a.rs, a.cs, b.start, b.rs, b.cs,
            beta, c.start, c.rs, c.cs, batch, a_bs, b_bs, c_bs,
        )
    }
}

/// Refuses factors that belong to other streams or whose shapes do not fit.
fn check_product<T>(a: MatRef<'_, T>, b: MatRef<'_, T>, c: &MatMut<'_, T>) -> Result<()> {
    same(c.stream, &[(a.stream, "a"), (b.stream, "b")])?;
    shape(a.rows == c.rows, "a")?;
    shape(b.rows == a.cols && b.cols == c.cols, "b")
}
