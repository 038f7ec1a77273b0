//! The calls to the crates.

use crate::bench::{Form, Work};
use crate::data::{Pointers, Real, Shape};
use crate::timing::{Clock, Sampler, repeat};
use std::any::Any;

/// A matrix product. C is row-major.
struct Product<T> {
    p: Pointers<T>,
    /// Row and column strides of A and of B.
    a: (isize, isize),
    b: (isize, isize),
    threads: usize,
}

/// Evaluates `$call` for each item of a batch, with pointers to its A, B and C.
macro_rules! items {
    ($product:ident, |$a:ident, $b:ident, $c:ident| $call:expr) => {{
        let Shape { m, n, k, batch } = $product.p.shape;
        for item in 0..batch {
            let $a = $product.p.x.add(item * m * k);
            let $b = $product.p.y.add(item * k * n);
            let $c = $product.p.out.add(item * m * n);
            $call;
        }
    }};
}

macro_rules! crates {
    ($prepare:ident, $T:ty, $matrixmultiply:path) => {
        /// # Safety
        /// As for `sampler`.
        unsafe fn $prepare(
            name: &str,
            product: Product<$T>,
            clock: Clock,
        ) -> Option<Sampler<'static>> {
            let Shape { m, n, k, .. } = product.p.shape;
            let ((ars, acs), (brs, bcs)) = (product.a, product.b);
            let width = n as isize;
            let threads = product.threads;
            match name {
                "gemm" => {
                    let par = match threads {
                        1 => gemm::Parallelism::None,
                        threads => gemm::Parallelism::Rayon(threads),
                    };
                    // SAFETY: the operands are as long as the shape and the strides demand.
                    Some(repeat(clock, move || unsafe {
                        items!(product, |a, b, c| gemm::gemm(
                            m, n, k, c, 1, width, false, a, acs, ars, b, bcs, brs, 0.0, 1.0, false,
                            false, false, par,
                        ))
                    }))
                }
                // SAFETY: as above.
                "matrixmultiply" => Some(repeat(clock, move || unsafe {
                    items!(product, |a, b, c| $matrixmultiply(
                        m, k, n, 1.0, a, ars, acs, b, brs, bcs, 0.0, c, width, 1,
                    ))
                })),
                "faer" => {
                    let par = match threads {
                        1 => faer::Par::Seq,
                        threads => faer::Par::rayon(threads),
                    };
                    // SAFETY: as above.
                    Some(repeat(clock, move || unsafe {
                        items!(product, |a, b, c| faer::linalg::matmul::matmul(
                            faer::MatMut::from_raw_parts_mut(c, m, n, width, 1),
                            faer::Accum::Replace,
                            faer::MatRef::from_raw_parts(a, m, k, ars, acs),
                            faer::MatRef::from_raw_parts(b, k, n, brs, bcs),
                            1.0,
                            par,
                        ))
                    }))
                }
                _ => None,
            }
        }
    };
}

crates!(prepare_f32, f32, matrixmultiply::sgemm);
crates!(prepare_f64, f64, matrixmultiply::dgemm);

/// Returns a sampler of the work by the crate of that name; `None` if the crate has no such operation.
///
/// # Safety
/// The operands must outlive the sampler and be those of the work.
pub(super) unsafe fn sampler<T: Real>(
    name: &str,
    work: Work,
    p: Pointers<T>,
    threads: usize,
    clock: Clock,
) -> Option<Sampler<'static>> {
    if !matches!(work.op, "gemm" | "gemm_batched") {
        return None;
    }
    let Shape { m, n, k, .. } = p.shape;
    let (m, n, k) = (m as isize, n as isize, k as isize);
    let a = match work.form {
        Form::ProductTransposedA => (1, m),
        _ => (k, 1),
    };
    let b = match work.form {
        Form::ProductTransposedB => (1, k),
        _ => (n, 1),
    };
    let product: Box<dyn Any> = Box::new(Product { p, a, b, threads });
    match product.downcast::<Product<f32>>() {
        // SAFETY: as the caller's.
        Ok(product) => unsafe { prepare_f32(name, *product, clock) },
        Err(other) => {
            let product = other.downcast::<Product<f64>>().ok()?;
            // SAFETY: as the caller's.
            unsafe { prepare_f64(name, *product, clock) }
        }
    }
}
