//! Kernels that reduce and write an array in one pass.

use super::{Dot, Sum, Tree, chunk_len, halve, vector};
use crate::element::Element;
use crate::simd::Simd;

/// grad = 2 (pred - target); returns the sum of (pred - target)^2 in the canonical order, without
/// the last step.
///
/// # Safety
/// Arrays must be valid for `n` elements; `grad` may be exactly `pred` or `target`.
#[inline(always)]
pub unsafe fn mse_grad<S: Simd>(
    s: S,
    n: usize,
    pred: *const S::T,
    target: *const S::T,
    grad: *mut S::T,
) -> S::T {
    let len = chunk_len::<S::T>();
    let mut tree = Tree::<S>::new();
    let mut from = 0;
    loop {
        let count = len.min(n - from);
        // SAFETY: the chunk lies in 0..n.
        let leaf = unsafe { mse_chunk(s, count, pred.add(from), target.add(from), grad.add(from)) };
        tree.push::<Sum>(s, leaf);
        from += count;
        if from == n {
            return tree.finish::<Sum>(s);
        }
    }
}

#[inline(always)]
unsafe fn mse_chunk<S: Simd>(
    s: S,
    n: usize,
    pred: *const S::T,
    target: *const S::T,
    grad: *mut S::T,
) -> S::V {
    let mut lanes = s.lanes(s.splat(S::T::ZERO));
    let acc = lanes.as_mut();
    let mut i = 0;
    // SAFETY: every access lies in 0..n, and each register is read before it is written.
    unsafe {
        while i + <S::T as Element>::LANES <= n {
            for slot in acc.iter_mut() {
                let d = s.sub(s.load(pred.add(i)), s.load(target.add(i)));
                s.store(grad.add(i), s.add(d, d));
                *slot = s.fma(d, d, *slot);
                i += S::N;
            }
        }
        for slot in acc.iter_mut() {
            if i == n {
                break;
            }
            let len = (n - i).min(S::N);
            let d = s.sub(
                s.load_partial(pred.add(i), len),
                s.load_partial(target.add(i), len),
            );
            s.store_partial(grad.add(i), len, s.add(d, d));
            *slot = s.fma(d, d, *slot);
            i += len;
        }
    }
    halve::<S, Sum>(s, lanes, n)
}

/// Rows of one block of the least-squares gradient: part of the ABI.
pub const LSQ_ROWS: usize = 32;

/// One block of the least-squares gradient, for columns from..from + cols: with
/// r\[i\] = dot(a\[i, :\], x) - y\[i\], out\[j\] = the fma chain over i of a\[i, from + j\] * r\[i\]. Each
/// group of rows is used for both steps while it is in the cache.
///
/// # Safety
/// `a` must be valid at `rows <= LSQ_ROWS` by `n` elements of its strides, `x` for `n`, `y` for
/// `rows`, `out` for `cols` elements, and from + cols <= n.
#[inline(always)]
pub unsafe fn lsq_block<S: Simd>(
    s: S,
    rows: usize,
    n: usize,
    a: *const S::T,
    a_rs: isize,
    a_cs: isize,
    x: *const S::T,
    y: *const S::T,
    from: usize,
    cols: usize,
    out: *mut S::T,
) {
    /// Rows at a time: 4000 to 8000 bytes each stay in the first-level cache at n = 1000.
    const GROUP: usize = 4;
    let mut residuals = [S::T::ZERO; GROUP];
    let mut i = 0;
    while i < rows {
        let group = GROUP.min(rows - i);
        for (q, r) in residuals.iter_mut().enumerate().take(group) {
            // SAFETY: row i + q lies in the block.
            unsafe {
                let row = a.offset((i + q) as isize * a_rs);
                let dot = vector::<S, Dot>(s, n, row, a_cs, x, 1, S::T::ZERO);
                *r = dot + S::T::ZERO - *y.add(i + q);
            }
        }
        // SAFETY: rows i..i + group and the columns lie in the block.
        unsafe {
            let block = a.offset(i as isize * a_rs + from as isize * a_cs);
            update(s, block, a_rs, a_cs, &residuals[..group], i == 0, cols, out);
        }
        i += group;
    }
}

/// out\[j\] = the chain continued over the rows of one group.
#[inline(always)]
unsafe fn update<S: Simd>(
    s: S,
    block: *const S::T,
    a_rs: isize,
    a_cs: isize,
    residuals: &[S::T],
    first: bool,
    cols: usize,
    out: *mut S::T,
) {
    let mut j = 0;
    while j < cols {
        let len = S::N.min(cols - j);
        // SAFETY: columns j..j + len lie in the block and in `out`.
        unsafe {
            let mut acc = s.splat(S::T::ZERO);
            if !first {
                acc = if len == S::N {
                    s.load(out.add(j))
                } else {
                    s.load_partial(out.add(j), len)
                };
            }
            for (q, &r) in residuals.iter().enumerate() {
                let p = block.offset(q as isize * a_rs + j as isize * a_cs);
                let v = if a_cs != 1 {
                    s.load_strided(p, a_cs, len)
                } else if len == S::N {
                    s.load(p)
                } else {
                    s.load_partial(p, len)
                };
                acc = s.fma(v, s.splat(r), acc);
            }
            if len == S::N {
                s.store(out.add(j), acc);
            } else {
                s.store_partial(out.add(j), len, acc);
            }
        }
        j += len;
    }
}
