//! C = beta C, for a product whose alpha or k is 0: each element is read and written once.

use super::{Product, TileCoord, flags};
use crate::gpu::thread;
use crate::real::Real;
use crate::unroll::each_lane;

/// c = beta * c, or +0 if beta is 0, then bias and clamp.
///
/// A thread processes one column or, with [`C_PACKS`](flags::C_PACKS), 16 bytes of columns. Block x works on column
/// group x / `down`, and starts at row x % `down`: `down` blocks share a group of columns and divide its rows. z and y
/// together are the index of the product in the batch, z fastest.
///
/// # Safety
/// C and the bias must be valid and must not overlap, and C must be laid out as `flags` says.
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
    let at = TileCoord {
        item: thread::block_idx_y() as u64 * thread::grid_dim_z() as u64
            + thread::block_idx_z() as u64,
        row: 0,
        column: 0,
    };
    // `down` is never 0, but the compiler does not know that: without `max` it would keep a panic.
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
    if width > 1 {
        rows::<T, true>(&product, at.item, from, down);
    } else {
        rows::<T, false>(&product, at.item, from, down);
    }
}

/// Processes every `down`-th row from (i, j) on: the element in column j or, with `PACKS`, the 16 bytes from there.
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
        let at = TileCoord {
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

/// Returns the new value of the element `e` columns after `at`, whose old value is `c`. The tiles of `at` are single
/// elements.
///
/// # Safety
/// As [`scale`], and the element must exist.
#[inline(always)]
unsafe fn element<T: Real>(product: &Product<T>, at: TileCoord, c: T, e: u32) -> T {
    let value = if product.beta == T::ZERO {
        T::ZERO
    } else {
        product.beta * c
    };
    if product.flags < flags::BIAS {
        return value;
    }
    product.output(at, 1, 1).epilogue(value, 0, e)
}
