//! C = beta C, where alpha or k is 0: a read and a write of each element.

use super::{Place, Product, flags};
use crate::gpu::thread;
use crate::real::Real;

/// c = beta * c, or +0 where beta is 0, then bias and clamp.
///
/// Blocks along x take columns; z and y together number the products of the batch, z first; `down` blocks
/// of a column, which are the last digit along x, stride over its rows.
///
/// # Safety
/// C and the bias must be valid and apart.
#[inline(always)]
pub unsafe fn scale<T: Real>(
    m: u64,
    n: u64,
    beta: T,
    c: *mut T,
    c_rs: i64,
    c_cs: i64,
    c_bs: i64,
    bias: *const T,
    bias_rs: i64,
    bias_cs: i64,
    lo: T,
    hi: T,
    batch: u64,
    flags: u32,
    down: u32,
) {
    let none = (core::ptr::null(), 0, 0, 0);
    let product = Product {
        m,
        n,
        k: 0,
        alpha: T::ZERO,
        a: none,
        b: none,
        beta,
        c: (c, c_rs, c_cs, c_bs),
        bias: (bias, bias_rs, bias_cs),
        bounds: (lo, hi),
        batch,
        flags,
    };
    let x = thread::block_idx_x();
    let at = Place {
        item: thread::block_idx_y() as u64 * thread::grid_dim_z() as u64
            + thread::block_idx_z() as u64,
        row: 0,
        column: 0,
    };
    // It is not 0, which the compiler does not know: it would keep a panic.
    let down = down.max(1);
    let j = (x / down) as u64 * thread::block_dim_x() as u64 + thread::thread_idx_x() as u64;
    if at.item >= batch || j >= n {
        return;
    }
    let mut i = (x % down) as u64;
    while i < m {
        let p = product.c_at(at.item, i, j);
        // SAFETY: as the caller's.
        unsafe {
            let mut value = T::ZERO;
            if beta != T::ZERO {
                value = beta * T::load(p);
            }
            if product.flags >= flags::BIAS {
                let at_element = Place {
                    row: i as u32,
                    column: j as u32,
                    ..at
                };
                value = product.output(at_element, 1, 1).epilogue(value, 0, 0);
            }
            T::store(p, value);
        }
        i += down as u64;
    }
}
