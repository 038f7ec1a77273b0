//! Products of 16-bit floats and of integers, which the C library has over tensors.

use super::{Diptych, E, check};
use crate::data::Shape;
use crate::mixed::{Factor, MatrixPointers};
use crate::timing::{Clock, Sampler, repeat};
use anyhow::Result;
use diptych::tensor::Tensor;
use std::ffi::c_void;
use std::ptr;

type Matmul = unsafe extern "C" fn(
    E,
    f64,
    *const Tensor,
    *const Tensor,
    f64,
    *mut Tensor,
    *const c_void,
) -> i32;

/// Returns the description of a row-major matrix.
fn tensor<T>(data: *const T, shape: &[i64; 2], kind: u8) -> Tensor {
    const CPU: i32 = 1;
    Tensor {
        data: data.cast_mut().cast(),
        device_type: CPU,
        device_id: 0,
        ndim: 2,
        dtype_code: kind,
        dtype_bits: 8 * size_of::<T>() as u8,
        dtype_lanes: 1,
        shape: shape.as_ptr(),
        strides: ptr::null(),
        byte_offset: 0,
    }
}

impl Diptych {
    /// Returns a sampler of the product, on the pool's threads if `pooled`, else on the calling thread.
    ///
    /// # Errors
    /// When the library has no such function.
    ///
    /// # Safety
    /// The operands and the library must outlive the sampler.
    pub unsafe fn matmul<F: Factor>(
        &self,
        p: MatrixPointers<F>,
        pooled: bool,
        clock: Clock,
    ) -> Result<Sampler<'static>> {
        let e = self.exec(pooled);
        // SAFETY: the type is that of the header.
        let matmul: Matmul = unsafe { self.symbol("dpt_matmul")? };
        let Shape { m, n, k, .. } = p.shape;
        let shapes = [[m, k], [k, n], [m, n]].map(|shape| shape.map(|extent| extent as i64));
        let [of_factors, of_product] = F::KINDS;
        Ok(repeat(clock, move || {
            let a = tensor(p.a, &shapes[0], of_factors);
            let b = tensor(p.b, &shapes[1], of_factors);
            let mut c = tensor(p.c, &shapes[2], of_product);
            // SAFETY: the tensors describe the operands, which the caller keeps.
            check(unsafe { matmul(e, 1.0, &a, &b, 0.0, &mut c, ptr::null()) });
        }))
    }
}
