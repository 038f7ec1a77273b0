//! The microkernel: a micro-tile of C, MR rows by NV registers, over one segment of k.
//!
//! Each shape and variant is a function of its own (`microkernels.rs` lists them): inlined into the loops, the
//! largest would share its registers with them and spill.

use core::ptr::without_provenance;

use super::markers::{Cached, Feed, Masked, Plain, Store, Tail};
use super::params::LINE;
use super::shapes::MAX_MR;
use super::tails::{HalfRegisters, SharedRegister};
use crate::element::Element;
use crate::simd::Simd;

/// Rows of A, in place or packed.
#[derive(Clone, Copy)]
pub struct PanelA<T> {
    pub p: *const T,
    pub rs: isize,
    pub cs: isize,
}

/// Columns of B, in place or packed: neighbours at each step of k, `rs` elements on.
#[derive(Clone, Copy)]
pub struct PanelB<T> {
    pub p: *const T,
    pub rs: isize,
}

/// The arguments that microkernels next to each other have in common. They lie in memory; what differs is passed
/// in registers: a microkernel would start late if it had to read what has just been written.
#[derive(Clone, Copy)]
pub struct MicrokernelArgs<T> {
    /// Steps of k.
    pub kc: usize,
    /// From a row of A to the next, and from a column.
    pub a_rs: isize,
    pub a_cs: isize,
    /// From a row of c to the next. Rows are contiguous.
    pub c_rs: isize,
    /// Bytes from a line that [`Prefetch`](super::markers::Prefetch) asks for to the next.
    pub prefetch_stride: isize,
    /// Where [`Pack`](super::markers::Pack) writes B, one step after the other.
    pub packed: *mut T,
    pub update: Update,
    pub alpha: T,
    pub beta: T,
}

/// What becomes of the sums s of a micro-tile. As large as a pointer, or the compiler would load it together with
/// alpha into a vector register, where its test waits for the arithmetic.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Update {
    /// c = s: alpha is 1, c is not read.
    Plain,
    /// c = alpha s: c is not read.
    Scaled,
    /// c = fma(alpha, s, beta c).
    Added,
}

impl Update {
    #[inline(always)]
    pub fn new<T: Element>(alpha: T, beta: T) -> Self {
        if beta != T::ZERO {
            Self::Added
        } else if alpha != T::ONE {
            Self::Scaled
        } else {
            Self::Plain
        }
    }
}

/// The rows of A at a step of k, three to a pointer, which x86 addresses as p, p + rs, p + 2 rs.
pub struct RowPointers<T> {
    rows: [*const T; MAX_MR.div_ceil(3)],
    strides: [isize; MAX_MR.div_ceil(3)],
}

impl<T> RowPointers<T> {
    /// The rows from `a` on. See [`opaque`] for `stride`.
    #[inline(always)]
    pub fn new(a: *const T, stride: impl Fn() -> isize) -> Self {
        let strides = [0; MAX_MR.div_ceil(3)].map(|_| stride());
        let mut rows = [a; MAX_MR.div_ceil(3)];
        for (r, row) in rows.iter_mut().enumerate() {
            *row = a.wrapping_offset(3 * r as isize * strides[r]);
        }
        Self { rows, strides }
    }

    #[inline(always)]
    pub fn row(&self, i: usize) -> *const T {
        self.rows[i / 3].wrapping_offset((i % 3) as isize * self.strides[i / 3])
    }

    #[inline(always)]
    pub fn next(&mut self, cs: isize) {
        for row in &mut self.rows {
            *row = row.wrapping_offset(cs);
        }
    }
}

/// Computes a micro-tile of `MR` rows and `NV` registers and, at its end, a tail `E` of `last` columns. With
/// [`Prefetch`](super::markers::Prefetch), which has no tail, `last` is the address of the first line.
///
/// # Safety
/// `a` and `b` must hold `kc` steps, and `c` the rows, of the micro-tile's columns; with
/// [`Pack`](super::markers::Pack), `args.packed` must have room for `kc` steps of whole registers.
#[inline(always)]
// Plain indices: iterators over `acc` can keep it in memory, and then each step stores it.
#[allow(clippy::needless_range_loop)]
pub unsafe fn microkernel<S: Simd, const MR: usize, const NV: usize, E: Tail, F: Feed, W: Store>(
    s: S,
    args: &MicrokernelArgs<S::T>,
    a: *const S::T,
    b: PanelB<S::T>,
    c: *mut S::T,
    last: usize,
) {
    if NV == 0 {
        // SAFETY: as the caller's.
        return unsafe {
            microkernel::<S::Half, MR, 1, Masked, Plain, Cached>(s.half(), args, a, b, c, last)
        };
    }
    // What goes past the caches is not to be read first.
    for i in 0..if W::NON_TEMPORAL { 0 } else { MR } {
        let row = c.wrapping_offset(i as isize * args.c_rs);
        for line in (0..(NV * S::N * size_of::<S::T>())).step_by(LINE) {
            s.prefetch(row.wrapping_byte_add(line));
        }
    }
    let mut acc = [[s.splat(S::T::ZERO); NV]; MR];
    let mut shared = SharedRegister::<S, MR, E>::new(s);
    let mut rows = RowPointers::new(a, || opaque(&args.a_rs));
    let mut halves = HalfRegisters::<S, MR>::new(s, a, || {
        if E::HALF_REGISTER {
            opaque(&args.a_rs)
        } else {
            0
        }
    });
    let mut bp = b.p;
    let mut line = without_provenance::<S::T>(last);
    let mut packed = if F::PACK {
        args.packed
    } else {
        core::ptr::null_mut()
    };
    for _ in 0..args.kc {
        if F::PREFETCH {
            s.prefetch_far(line);
            line = line.wrapping_byte_offset(args.prefetch_stride);
        }
        let mut row_of_b = [s.splat(S::T::ZERO); NV];
        for v in 0..NV {
            let masked = E::MASKED && v + 1 == NV;
            // SAFETY: the caller vouches for the columns at each step.
            row_of_b[v] = unsafe { load(s, bp.add(v * S::N), masked, last) };
            if F::PACK {
                // SAFETY: the caller vouches for room for each step.
                unsafe { s.store(packed.add(v * S::N), row_of_b[v]) };
            }
        }
        if F::PACK {
            packed = packed.wrapping_add(NV * S::N);
        }
        if SharedRegister::<S, MR, E>::IS_SOME {
            // SAFETY: as above.
            unsafe { shared.start(s, bp.add(NV * S::N), last) };
        }
        for i in 0..MR {
            // SAFETY: row i of the micro-tile has an element at each step.
            let a = s.splat(unsafe { *rows.row(i) });
            for v in 0..NV {
                acc[i][v] = s.fma(a, row_of_b[v], acc[i][v]);
            }
            if SharedRegister::<S, MR, E>::IS_SOME {
                shared.row(s, i, a);
            }
        }
        if E::HALF_REGISTER {
            // SAFETY: as above.
            unsafe { halves.step(s, bp.add(NV * S::N), last, args.a_cs) };
        }
        rows.next(args.a_cs);
        bp = bp.wrapping_offset(b.rs);
    }
    // SAFETY: the caller vouches for the rows and columns.
    unsafe {
        update::<_, MR, NV, E, W>(s, args, acc, c, last);
        let tail = c.wrapping_add(NV * S::N);
        if SharedRegister::<S, MR, E>::IS_SOME {
            let mut acc = [[s.splat(S::T::ZERO)]; MR];
            for i in 0..MR {
                acc[i][0] = shared.sums(s, i);
            }
            update::<_, MR, 1, Masked, Cached>(s, args, acc, tail, last);
        }
        if E::HALF_REGISTER {
            update::<_, MR, 1, Masked, Cached>(s.half(), args, halves.sums(), tail, last);
        }
    }
}

/// The end of [`microkernel`]: from its sums to c.
///
/// # Safety
/// As [`microkernel`].
#[inline(always)]
#[allow(clippy::needless_range_loop)]
unsafe fn update<S: Simd, const MR: usize, const NV: usize, E: Tail, W: Store>(
    s: S,
    args: &MicrokernelArgs<S::T>,
    mut acc: [[S::V; NV]; MR],
    c: *mut S::T,
    last: usize,
) {
    let (alpha, beta) = (s.splat(args.alpha), s.splat(args.beta));
    let c_rs = opaque(&args.c_rs);
    if args.update == Update::Scaled {
        for row in &mut acc {
            for sum in row {
                *sum = s.mul(alpha, *sum);
            }
        }
    }
    // What a mask stores is kept apart: a loop over partial stores is not unrolled, and with it `acc`
    // would be in memory.
    let mut ends = [alpha; MR];
    for i in 0..MR {
        let row = c.wrapping_offset(i as isize * c_rs);
        for v in 0..NV {
            let (p, masked) = (row.wrapping_add(v * S::N), E::MASKED && v + 1 == NV);
            // SAFETY: the caller vouches for these columns of row i.
            unsafe {
                let value = if args.update == Update::Added {
                    s.fma(alpha, acc[i][v], s.mul(beta, load(s, p, masked, last)))
                } else {
                    acc[i][v]
                };
                if masked {
                    ends[i] = value;
                } else if W::NON_TEMPORAL {
                    s.stream(p, value);
                } else {
                    s.store(p, value);
                }
            }
        }
    }
    if E::MASKED {
        let column = c.wrapping_add((NV - 1) * S::N);
        for (i, &end) in ends.iter().enumerate() {
            let p = column.wrapping_offset(i as isize * c_rs);
            // SAFETY: the caller vouches for the last columns of row i.
            unsafe { s.store_partial(p, last, end) };
        }
    }
}

/// A stride that is opaque: the compiler takes it for another one each time. Otherwise it would compute each row's
/// address from the one before in every step, or keep addresses on the stack for the end of the micro-tile: every
/// store counts, since those of a whole one fill most of the processor's store buffer.
#[inline(always)]
fn opaque(stride: &isize) -> isize {
    // SAFETY: a reference is valid to read.
    unsafe { core::ptr::read_volatile(stride) }
}

/// A register of a micro-tile's row; with a mask only the `last` columns that there are.
///
/// # Safety
/// `p` must be valid for them.
#[inline(always)]
unsafe fn load<S: Simd>(s: S, p: *const S::T, masked: bool, last: usize) -> S::V {
    // SAFETY: as the caller's.
    unsafe {
        if masked {
            s.load_partial(p, last)
        } else {
            s.load(p)
        }
    }
}
