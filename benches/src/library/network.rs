//! A training step of a two-layer network with explicit gradients, made of calls to libdiptych.

use super::{Axpy, Clamp, ClampBackward, Diptych, E, Gemm, MseGrad, check};
use crate::data::{Buffer, Real, Shape};
use crate::timing::{Clock, Sampler, repeat};
use anyhow::Result;
use std::hint::black_box;

/// The functions of libdiptych that a training step calls.
pub(super) struct Network<T> {
    e: E,
    gemm: Gemm<T>,
    clamp: Clamp<T>,
    clamp_backward: ClampBackward<T>,
    mse_grad: MseGrad<T>,
    axpy: Axpy<T>,
}

impl<T: Real> Network<T> {
    /// Looks up the functions.
    ///
    /// # Safety
    /// The library must outlive the result, and `e` must be NULL or filled by that library.
    pub(super) unsafe fn new(library: &Diptych, e: E) -> Result<Self> {
        // SAFETY: the types are those of the header.
        unsafe {
            Ok(Self {
                e,
                gemm: library.typed::<T, _>("gemm")?,
                clamp: library.typed::<T, _>("clamp")?,
                clamp_backward: library.typed::<T, _>("clamp_backward")?,
                mse_grad: library.typed::<T, _>("mse_grad")?,
                axpy: library.typed::<T, _>("axpy")?,
            })
        }
    }

    /// Computes C = A B, where `[m, n, k]` is the shape and A and B come with row and column strides; C is row-major.
    ///
    /// # Safety
    /// The slices must be as long as the shape and the strides require.
    unsafe fn product(
        &self,
        [m, n, k]: [usize; 3],
        (a, ars, acs): (&[T], usize, usize),
        (b, brs, bcs): (&[T], usize, usize),
        c: &mut [T],
    ) {
        let (m, n, k) = (m as i64, n as i64, k as i64);
        let (ars, acs, brs, bcs) = (ars as i64, acs as i64, brs as i64, bcs as i64);
        let (a, b, c) = (a.as_ptr(), b.as_ptr(), c.as_mut_ptr());
        #[rustfmt::skip]
        // SAFETY: as the caller's.
        check(unsafe {
            (self.gemm)(self.e, m, n, k, T::ONE, a, ars, acs, b, brs, bcs, T::ZERO, c, n, 1)
        });
    }

    /// Returns a sampler of a step on `samples` samples of `inputs` values, with `hidden` units and `outputs` results:
    /// forward pass, loss, gradients, and the update of the weights.
    pub(super) fn sampler(self, shape: Shape, clock: Clock) -> Result<Sampler<'static>> {
        #[rustfmt::skip]
        let Shape { m: samples, n: hidden, k: inputs, batch: outputs } = shape;
        let buffer = |rows: usize, cols: usize| Buffer::<T>::random(rows * cols, rows as u64);
        let (x, y) = (buffer(samples, inputs), buffer(samples, outputs));
        let (mut w1, mut w2) = (buffer(inputs, hidden), buffer(hidden, outputs));
        let (mut h, mut relu) = (buffer(samples, hidden), buffer(samples, hidden));
        let (mut prediction, mut grad_y) = (buffer(samples, outputs), buffer(samples, outputs));
        let (mut grad_relu, mut grad_h) = (buffer(samples, hidden), buffer(samples, hidden));
        let (mut grad_w1, mut grad_w2) = (buffer(inputs, hidden), buffer(hidden, outputs));
        let mut loss = T::ZERO;
        let (zero, infinity, rate) = (T::ZERO, T::of(f64::INFINITY), T::of(-1e-6));
        // SAFETY: every buffer was made with the extents that the calls pass.
        Ok(repeat(clock, move || unsafe {
            let (e, units) = (self.e, h.len() as i64);
            self.product(
                [samples, hidden, inputs],
                (&x, inputs, 1),
                (&w1, hidden, 1),
                &mut h,
            );
            check((self.clamp)(
                e,
                units,
                h.as_ptr(),
                zero,
                infinity,
                relu.as_mut_ptr(),
            ));
            let weights = (&w2[..], outputs, 1);
            self.product(
                [samples, outputs, hidden],
                (&relu, hidden, 1),
                weights,
                &mut prediction,
            );
            let (p, t, g) = (prediction.as_ptr(), y.as_ptr(), grad_y.as_mut_ptr());
            check((self.mse_grad)(
                e,
                y.len() as i64,
                p,
                t,
                g,
                black_box(&mut loss),
            ));
            self.product(
                [hidden, outputs, samples],
                (&relu, 1, hidden),
                (&grad_y, outputs, 1),
                &mut grad_w2,
            );
            self.product(
                [samples, hidden, outputs],
                (&grad_y, outputs, 1),
                (&w2, 1, outputs),
                &mut grad_relu,
            );
            let (x_h, g) = (h.as_ptr(), grad_relu.as_ptr());
            check((self.clamp_backward)(
                e,
                units,
                x_h,
                g,
                zero,
                infinity,
                grad_h.as_mut_ptr(),
            ));
            self.product(
                [inputs, hidden, samples],
                (&x, 1, inputs),
                (&grad_h, hidden, 1),
                &mut grad_w1,
            );
            check((self.axpy)(
                e,
                w1.len() as i64,
                rate,
                grad_w1.as_ptr(),
                w1.as_mut_ptr(),
            ));
            check((self.axpy)(
                e,
                w2.len() as i64,
                rate,
                grad_w2.as_ptr(),
                w2.as_mut_ptr(),
            ));
        }))
    }
}
