//! Outer products: out = u v^T and a += u v^T, with contiguous rows of out and a.

use core::mem::MaybeUninit;

use crate::detect::usable_llc;
use crate::element::Element;
use crate::simd::{Register, Simd};

/// Elements of v that are copied to the stack at once if v is strided or scaled: 2 or 4 KiB.
const BLOCK: usize = 512;
/// The most registers of v that stay in registers for all rows: half the registers of the level with the fewest.
const NARROW_REGISTERS: usize = 8;

/// out\[i * rs + j\] = u\[i\] * v\[j\], with non-temporal stores if `stream`.
///
/// # Safety
/// `u` must be valid at `m` elements, `v` at `n`, `out` at m by n.
#[inline(always)]
pub unsafe fn outer<S: Simd>(
    s: S,
    m: usize,
    n: usize,
    u: *const S::T,
    incu: isize,
    v: *const S::T,
    incv: isize,
    out: *mut S::T,
    rs: isize,
    stream: bool,
) {
    let mut buffer = [MaybeUninit::uninit(); BLOCK];
    let stream = S::HAS_NON_TEMPORAL_STORES && stream;
    let width = match (incv == 1, stream) {
        (true, false) => columns_at_once::<S::T>(m, n),
        (true, true) => n.max(1),
        (false, _) => BLOCK,
    };
    let mut from = 0;
    while from < n {
        let len = width.min(n - from);
        // SAFETY: columns from..from + len of each row lie in the arrays.
        unsafe {
            let mut part = v.wrapping_add(from);
            if incv != 1 {
                copy_scaled(
                    len,
                    v.wrapping_offset(from as isize * incv),
                    incv,
                    S::T::ONE,
                    &mut buffer,
                );
                part = buffer.as_ptr().cast();
            }
            let out = out.wrapping_add(from);
            if !stream && len <= NARROW_REGISTERS * S::N {
                narrow::<S, false>(s, m, len, S::T::ONE, u, incu, part, out, rs);
            } else {
                for i in 0..m {
                    let t = s.splat(*u.wrapping_offset(i as isize * incu));
                    outer_row(
                        s,
                        len,
                        t,
                        part,
                        out.wrapping_offset(i as isize * rs),
                        stream,
                    );
                }
            }
        }
        from += len;
    }
    if stream {
        s.fence();
    }
}

/// a\[i * rs + j\] = fma(alpha_u * u\[i\], alpha_v * v\[j\], a\[i * rs + j\]); alpha_u or alpha_v must be 1.
///
/// # Safety
/// `u` must be valid at `m` elements, `v` at `n`, `a` at m by n.
#[inline(always)]
pub unsafe fn ger<S: Simd>(
    s: S,
    m: usize,
    n: usize,
    alpha_u: S::T,
    u: *const S::T,
    incu: isize,
    alpha_v: S::T,
    v: *const S::T,
    incv: isize,
    a: *mut S::T,
    rs: isize,
) {
    let mut buffer = [MaybeUninit::uninit(); BLOCK];
    let in_place = incv == 1 && alpha_v == S::T::ONE;
    let width = if in_place {
        columns_at_once::<S::T>(m, n)
    } else {
        BLOCK
    };
    // Only whole rows are prefetched: ahead of a part of a row lie columns of another part.
    let from_memory = S::HAS_PREFETCHES && in_place && !is_cached::<S::T>(m, n);
    let mut from = 0;
    while from < n {
        let len = width.min(n - from);
        // SAFETY: columns from..from + len of each row lie in the arrays.
        unsafe {
            let mut part = v.wrapping_offset(from as isize * incv);
            if !in_place {
                copy_scaled(len, part, incv, alpha_v, &mut buffer);
                part = buffer.as_ptr().cast();
            }
            let a = a.wrapping_add(from);
            if len <= NARROW_REGISTERS * S::N {
                narrow::<S, true>(s, m, len, alpha_u, u, incu, part, a, rs);
            } else if from_memory {
                ger_rows::<S, true>(s, m, len, alpha_u, u, incu, part, a, rs);
            } else {
                ger_rows::<S, false>(s, m, len, alpha_u, u, incu, part, a, rs);
            }
        }
        from += len;
    }
}

/// Writes alpha * v to the first `n` elements of `out`.
///
/// # Safety
/// `v` must be valid at `n` elements, n <= [`BLOCK`].
#[inline(always)]
unsafe fn copy_scaled<T: Element>(
    n: usize,
    v: *const T,
    inc: isize,
    alpha: T,
    out: &mut [MaybeUninit<T>; BLOCK],
) {
    for (j, slot) in out.iter_mut().enumerate().take(n) {
        // SAFETY: the caller vouches for n elements of v.
        slot.write(alpha * unsafe { *v.wrapping_offset(j as isize * inc) });
    }
}

/// [`ger`] if `UPDATE`, else [`outer`], for rows of at most [`NARROW_REGISTERS`] registers: v stays in registers for
/// all rows.
///
/// # Safety
/// `u` must be valid at `m` elements, `v` for `n`, `out` at m by n; 0 < n.
#[inline(always)]
unsafe fn narrow<S: Simd, const UPDATE: bool>(
    s: S,
    m: usize,
    n: usize,
    alpha: S::T,
    u: *const S::T,
    incu: isize,
    v: *const S::T,
    out: *mut S::T,
    rs: isize,
) {
    // SAFETY: as the caller's; each arm has the number of registers of a row.
    unsafe {
        match n.div_ceil(S::N) {
            1 if n < S::N => rows_within_register::<S, UPDATE>(s, m, n, alpha, u, incu, v, out, rs),
            1 => narrow_rows::<S, UPDATE, 1>(s, m, n, alpha, u, incu, v, out, rs),
            2 => narrow_rows::<S, UPDATE, 2>(s, m, n, alpha, u, incu, v, out, rs),
            3 => narrow_rows::<S, UPDATE, 3>(s, m, n, alpha, u, incu, v, out, rs),
            4 => narrow_rows::<S, UPDATE, 4>(s, m, n, alpha, u, incu, v, out, rs),
            5 => narrow_rows::<S, UPDATE, 5>(s, m, n, alpha, u, incu, v, out, rs),
            6 => narrow_rows::<S, UPDATE, 6>(s, m, n, alpha, u, incu, v, out, rs),
            7 => narrow_rows::<S, UPDATE, 7>(s, m, n, alpha, u, incu, v, out, rs),
            _ => narrow_rows::<S, UPDATE, 8>(s, m, n, alpha, u, incu, v, out, rs),
        }
    }
}

/// [`narrow`] for rows of less than a register.
///
/// # Safety
/// As [`narrow`]; n < N.
#[inline(always)]
unsafe fn rows_within_register<S: Simd, const UPDATE: bool>(
    s: S,
    m: usize,
    n: usize,
    alpha: S::T,
    u: *const S::T,
    incu: isize,
    v: *const S::T,
    out: *mut S::T,
    rs: isize,
) {
    let (mut u, mut row) = (u, out);
    // SAFETY: every access lies in the arrays.
    unsafe {
        // On AVX-512, the level with registers of half the size, a masked store delays the load of the next row,
        // because its 64 bytes, most of them masked off, overlap that row. So use two registers of half the size, or
        // elements.
        if UPDATE && <S::Half as Register>::N < S::N {
            if n >= <S::Half as Register>::N {
                return narrow_rows::<S::Half, UPDATE, 2>(
                    s.half(),
                    m,
                    n,
                    alpha,
                    u,
                    incu,
                    v,
                    row,
                    rs,
                );
            }
            for _ in 0..m {
                let t = s.splat(alpha * *u);
                for j in 0..n {
                    let new = s.fma(t, s.splat(*v.add(j)), s.splat(*row.add(j)));
                    *row.add(j) = s.first(new);
                }
                (u, row) = (u.wrapping_offset(incu), row.wrapping_offset(rs));
            }
            return;
        }
        let v = s.load_partial(v, n);
        for _ in 0..m {
            let new = if UPDATE {
                s.fma(s.splat(alpha * *u), v, s.load_partial(row, n))
            } else {
                s.mul(s.splat(*u), v)
            };
            s.store_partial(row, n, new);
            (u, row) = (u.wrapping_offset(incu), row.wrapping_offset(rs));
        }
    }
}

/// [`narrow`] for rows of `REGS` registers. The last register ends where the row ends; it may overlap the one before,
/// and both then hold the same values for the elements they share.
///
/// # Safety
/// As [`narrow`]; N <= n <= REGS * N.
#[inline(always)]
unsafe fn narrow_rows<S: Simd, const UPDATE: bool, const REGS: usize>(
    s: S,
    m: usize,
    n: usize,
    alpha: S::T,
    u: *const S::T,
    incu: isize,
    v: *const S::T,
    out: *mut S::T,
    rs: isize,
) {
    let at = |r: usize| if r + 1 < REGS { r * S::N } else { n - S::N };
    let (mut u, mut row) = (u, out);
    // SAFETY: every access lies in the arrays.
    unsafe {
        let mut right = [s.splat(S::T::ZERO); REGS];
        for (r, slot) in right.iter_mut().enumerate() {
            *slot = s.load(v.add(at(r)));
        }
        for _ in 0..m {
            let t = s.splat(if UPDATE { alpha * *u } else { *u });
            let old = |r: usize| {
                if UPDATE {
                    s.load(row.add(at(r)))
                } else {
                    s.splat(S::T::ZERO)
                }
            };
            let last = old(REGS - 1);
            for (r, &right) in right.iter().enumerate() {
                let old = if r + 1 < REGS { old(r) } else { last };
                let new = if UPDATE {
                    s.fma(t, right, old)
                } else {
                    s.mul(t, right)
                };
                s.store(row.add(at(r)), new);
            }
            (u, row) = (u.wrapping_offset(incu), row.wrapping_offset(rs));
        }
    }
}

/// out\[j\] = t * v\[j\], a row of [`outer`].
///
/// # Safety
/// `v` and `out` must be valid for `n` elements. A fence must follow if `stream`.
#[inline(always)]
unsafe fn outer_row<S: Simd>(
    s: S,
    n: usize,
    t: S::V,
    v: *const S::T,
    out: *mut S::T,
    stream: bool,
) {
    let mut j = 0;
    // SAFETY: every access lies in 0..n.
    unsafe {
        if stream {
            // Non-temporal stores need whole aligned registers.
            let head = out.align_offset(S::N * size_of::<S::T>()).min(n);
            if head > 0 {
                s.store_partial(out, head, s.mul(t, s.load_partial(v, head)));
                j = head;
            }
            while j + S::N <= n {
                s.stream(out.add(j), s.mul(t, s.load(v.add(j))));
                j += S::N;
            }
        }
        while j + 4 * S::N <= n {
            for r in 0..4 {
                let at = j + r * S::N;
                s.store(out.add(at), s.mul(t, s.load(v.add(at))));
            }
            j += 4 * S::N;
        }
        while j + S::N <= n {
            s.store(out.add(j), s.mul(t, s.load(v.add(j))));
            j += S::N;
        }
        if j < n {
            s.store_partial(out.add(j), n - j, s.mul(t, s.load_partial(v.add(j), n - j)));
        }
    }
}

/// [`ger`] for rows of n >= N elements; with prefetch if `FROM_MEMORY`. The last register of a row overlaps the one
/// before as in [`narrow_rows`].
///
/// # Safety
/// As [`narrow`].
#[inline(always)]
unsafe fn ger_rows<S: Simd, const FROM_MEMORY: bool>(
    s: S,
    m: usize,
    n: usize,
    alpha: S::T,
    u: *const S::T,
    incu: isize,
    v: *const S::T,
    a: *mut S::T,
    rs: isize,
) {
    let (mut u, mut row) = (u, a);
    for _ in 0..m {
        // SAFETY: every access lies in the arrays.
        unsafe {
            let t = s.splat(alpha * *u);
            let update = |j: usize| s.fma(t, s.load(v.add(j)), s.load(row.add(j)));
            let mut j = 0;
            while j + 5 * S::N <= n {
                if FROM_MEMORY {
                    prefetch_four(s, row.wrapping_add(j));
                }
                for r in 0..4 {
                    s.store(row.add(j + r * S::N), update(j + r * S::N));
                }
                j += 4 * S::N;
            }
            let last = update(n - S::N);
            let left = (n - j - 1) / S::N;
            for count in [4, 2, 1] {
                if left & count != 0 {
                    for r in 0..count {
                        s.store(row.add(j + r * S::N), update(j + r * S::N));
                    }
                    j += count * S::N;
                }
            }
            s.store(row.add(n - S::N), last);
        }
        (u, row) = (u.wrapping_offset(incu), row.wrapping_offset(rs));
    }
}

/// Prefetches the lines of four registers, far enough ahead of `p` to cover the latency of memory. The hardware
/// prefetchers do not keep up while v passes through L1 as well.
#[inline(always)]
fn prefetch_four<S: Simd>(s: S, p: *const S::T) {
    const PREFETCH_DISTANCE: usize = 8 << 10;
    const LINE: usize = 64;
    for line in (0..4 * S::N * size_of::<S::T>()).step_by(LINE) {
        s.prefetch(p.wrapping_byte_add(PREFETCH_DISTANCE + line));
    }
}

/// Whether a matrix that is written is expected in a cache.
#[inline(always)]
fn is_cached<T: Element>(m: usize, n: usize) -> bool {
    m.saturating_mul(n) <= usable_llc() / 2 / size_of::<T>()
}

/// How many columns of an `m` by `n` matrix to compute at once: half an L1 of v, if a row is longer than L1 and the
/// matrix is in a cache; else all. (Reading v from L2 is faster than reading a matrix from memory.)
fn columns_at_once<T: Element>(m: usize, n: usize) -> usize {
    const L1_BYTES: usize = 32 << 10;
    let row = n.saturating_mul(size_of::<T>());
    if row > L1_BYTES && is_cached::<T>(m, n) {
        L1_BYTES / 2 / size_of::<T>()
    } else {
        n.max(1)
    }
}
