//! Products of 16-bit floats and of integers by the crate gemmkit.

use crate::data::Shape;
use crate::mixed::{Factor, MatrixPointers};
use crate::timing::{Clock, Sampler, repeat};
use gemmkit::{GemmScalar, Parallelism, bf16, f16};

/// Returns a sampler of the product; `None` for types that the crate does not have.
///
/// # Safety
/// The operands must outlive the sampler.
pub(super) unsafe fn gemmkit<F: Factor>(
    p: MatrixPointers<F>,
    threads: usize,
    clock: Clock,
) -> Option<Sampler<'static>> {
    let par = match threads {
        1 => Parallelism::Serial,
        threads => Parallelism::Rayon(threads),
    };
    let Shape { m, n, k, .. } = p.shape;
    let (of_a, of_b) = (k as isize, n as isize);
    // SAFETY: as the caller's; the types have the layouts of those of the same names here.
    unsafe {
        match F::NAME {
            "bf16" => Some(half(p, bf16::ONE, bf16::ZERO, par, clock)),
            "f16" => Some(half(p, f16::ONE, f16::ZERO, par, clock)),
            "i8" => Some(repeat(clock, move || {
                let (a, b, c) = (p.a.cast(), p.b.cast(), p.c.cast());
                gemmkit::gemm_i8_unchecked(m, k, n, 1, a, of_a, 1, b, of_b, 1, 0, c, of_b, 1, par);
            })),
            _ => None,
        }
    }
}

/// # Safety
/// As for `gemmkit`; the elements of all matrices must be of type T.
unsafe fn half<F: Factor, T: GemmScalar + 'static>(
    p: MatrixPointers<F>,
    one: T,
    zero: T,
    par: Parallelism,
    clock: Clock,
) -> Sampler<'static> {
    let Shape { m, n, k, .. } = p.shape;
    let (of_a, of_b) = (k as isize, n as isize);
    repeat(clock, move || {
        let (a, b, c) = (p.a.cast(), p.b.cast(), p.c.cast());
        // SAFETY: as the caller's.
        unsafe {
            gemmkit::gemm_unchecked::<T>(
                m, k, n, one, a, of_a, 1, b, of_b, 1, zero, c, of_b, 1, par,
            );
        }
    })
}
