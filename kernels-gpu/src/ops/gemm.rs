//! gemm, gemm_batched and gemm_fused.

mod launches;
mod plan;
mod products;
mod skinny;

use super::gemv;
use diptych::backend::args::Matrix;
use diptych::backend::gemm::{Arguments, Batch, check};
use diptych::raw::RawEpilogue;
use diptych_device::launch::Device;
use diptych_device::real::Real;
pub(super) use launches::blocks;
pub use plan::SCRATCH;
pub(super) use products::MAX_BLOCKS_YZ;
use products::Products;

/// Checks a batch of products and runs it.
///
/// # Errors
/// As [`gemm`].
///
/// # Safety
/// As for [`gemm`].
pub(crate) unsafe fn run<T: Real, D: Device>(
    device: &D,
    args: &Arguments<'_, T>,
) -> Result<(), D::Error> {
    match check(args)? {
        // SAFETY: as the caller's.
        Some(checked) => unsafe { batch(device, &checked) },
        None => Ok(()),
    }
}

/// Runs a checked batch of products.
///
/// # Safety
/// As for [`gemm`].
pub(crate) unsafe fn batch<T: Real, D: Device>(
    device: &D,
    batch: &Batch<T>,
) -> Result<(), D::Error> {
    let first = &batch.first;
    // SAFETY: the caller vouches for the arrays.
    unsafe {
        if first.n == 1 || (first.m == 1 && !device.batch_invariant()) {
            return gemv::run(device, batch);
        }
        let products = Products::new(batch);
        if products.p.k == 0 {
            products.scale(device)
        } else if let Some(lanes) = products.skinny_lanes(device) {
            products.multiply_skinny(device, lanes)
        } else {
            products.multiply(device, &products.plan(device))
        }
    }
}

/// See `diptych::raw::gemm`.
///
/// # Errors
/// Those of that function except those of a workspace; errors of the device.
///
/// # Safety
/// As for that function, but the memory must be valid on the device until the launches have run.
pub unsafe fn gemm<T: Real, D: Device>(
    device: &D,
    m: i64,
    n: i64,
    k: i64,
    alpha: T,
    a: *const T,
    a_rs: i64,
    a_cs: i64,
    b: *const T,
    b_rs: i64,
    b_cs: i64,
    beta: T,
    c: *mut T,
    c_rs: i64,
    c_cs: i64,
) -> Result<(), D::Error> {
    let (a, b) = (Matrix::new(a, a_rs, a_cs), Matrix::new(b, b_rs, b_cs));
    let c = Matrix::new(c, c_rs, c_cs);
    let args = Arguments::new((m, n, k), alpha, a, b, beta, c);
    // SAFETY: as the caller's.
    unsafe { run(device, &args) }
}

/// See `diptych::raw::gemm_batched`.
///
/// # Errors
/// As [`gemm`].
///
/// # Safety
/// As [`gemm`].
pub unsafe fn gemm_batched<T: Real, D: Device>(
    device: &D,
    m: i64,
    n: i64,
    k: i64,
    alpha: T,
    a: *const T,
    a_rs: i64,
    a_cs: i64,
    b: *const T,
    b_rs: i64,
    b_cs: i64,
    beta: T,
    c: *mut T,
    c_rs: i64,
    c_cs: i64,
    batch: i64,
    a_bs: i64,
    b_bs: i64,
    c_bs: i64,
) -> Result<(), D::Error> {
    let (a, b) = (
        Matrix::batched(a, a_rs, a_cs, a_bs),
        Matrix::batched(b, b_rs, b_cs, b_bs),
    );
    let c = Matrix::batched(c, c_rs, c_cs, c_bs);
    let args = Arguments {
        batch,
        ..Arguments::new((m, n, k), alpha, a, b, beta, c)
    };
    // SAFETY: as the caller's.
    unsafe { run(device, &args) }
}

/// See `diptych::raw::gemm_fused`.
///
/// # Errors
/// As [`gemm`]; `Overlap` also if C overlaps the bias.
///
/// # Safety
/// As [`gemm`]; the bias must be valid too.
pub unsafe fn gemm_fused<T: Real, D: Device>(
    device: &D,
    m: i64,
    n: i64,
    k: i64,
    alpha: T,
    a: *const T,
    a_rs: i64,
    a_cs: i64,
    b: *const T,
    b_rs: i64,
    b_cs: i64,
    beta: T,
    c: *mut T,
    c_rs: i64,
    c_cs: i64,
    epilogue: &RawEpilogue<T>,
) -> Result<(), D::Error> {
    let (a, b) = (Matrix::new(a, a_rs, a_cs), Matrix::new(b, b_rs, b_cs));
    let c = Matrix::new(c, c_rs, c_cs);
    let args = Arguments {
        epilogue: Some(epilogue),
        ..Arguments::new((m, n, k), alpha, a, b, beta, c)
    };
    // SAFETY: as the caller's.
    unsafe { run(device, &args) }
}
