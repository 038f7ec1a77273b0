//! C = beta C, where alpha or k is 0: a read and a write of each element.

use super::{Place, Product, flags};
use crate::gpu::thread;
use crate::real::Real;
use crate::unroll::each_lane;

/// c = beta * c, or +0 where beta is 0, then bias and clamp.
///
/// Blocks along x take columns, each thread one or, with [`C_PACKS`](flags::C_PACKS), 16 bytes; z and y
/// together number the products of the batch, z first; `down` blocks of a column, which are the last digit
/// along x, stride over its rows.
///
/// # Safety
/// C and the bias must be valid and apart, and C must lie as `flags` says.
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
    let width = if product.has(flags::C_PACKS) {
        T::WIDTH
    } else {
        1
    };
    let thread = (x / down) as u64 * thread::block_dim_x() as u64 + thread::thread_idx_x() as u64;
    let j = thread * width as u64;
    if at.item >= batch || j >= n {
        return;
    }
    let from = ((x % down) as u64, j);
    // SAFETY: as the caller's.
    unsafe {
        if width > 1 {
            rows::<T, true>(&product, at.item, from, down);
        } else {
            rows::<T, false>(&product, at.item, from, down);
        }
    }
}

/// Every `down`-th row from an element on: that element or, with `PACKS`, the 16 bytes there.
///
/// # Safety
/// As [`scale`].
#[inline(always)]
unsafe fn rows<T: Real, const PACKS: bool>(
    product: &Product<T>,
    item: u64,
    (mut i, j): (u64, u64),
    down: u32,
) {
    while i < product.m {
        let p = product.c_at(item, i, j);
        let at = Place {
            item,
            row: i as u32,
            column: j as u32,
        };
        let reads = product.beta != T::ZERO;
        // SAFETY: as the caller's.
        unsafe {
            if PACKS {
                let mut c = T::ZERO.pack();
                if reads {
                    c = T::load_pack(p);
                }
                each_lane!(e of T, {
                    c.as_mut()[e] = element(product, at, c.as_ref()[e], e as u32);
                });
                T::store_pack(p, c);
            } else {
                let c = if reads { T::load(p) } else { T::ZERO };
                T::store(p, element(product, at, c, 0));
            }
        }
        i += down as u64;
    }
}

/// What becomes of c, `e` columns from a place.
///
/// # Safety
/// As [`scale`]: the place must exist.
#[inline(always)]
unsafe fn element<T: Real>(product: &Product<T>, at: Place, c: T, e: u32) -> T {
    let value = if product.beta == T::ZERO {
        T::ZERO
    } else {
        product.beta * c
    };
    if product.flags < flags::BIAS {
        return value;
    }
    // SAFETY: as the caller's.
    unsafe { product.output(at, 1, 1).epilogue(value, 0, e) }
}
