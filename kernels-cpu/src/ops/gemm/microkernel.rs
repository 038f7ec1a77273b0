//! The microkernel: computes a micro-tile of C, MR rows by NV registers (NR = NV * lanes columns), over one segment of
//! k.
//!
//! Each combination of MR, NV and markers is a function of its own (`lists.rs` lists them). It is not inlined
//! into the loops, because the largest ones would then have to share registers with them and spill.

use core::ptr::without_provenance;

use super::markers::{Cached, Masked, Plain, SideWork, Store, Tail};
use super::params::LINE;
use super::shapes::MAX_MR;
use super::tails::{HalfRegisters, SharedRegister};
use crate::array::from_fn;
use crate::element::Element;
use crate::matrix::Matrix;
use crate::simd::Simd;

/// Rows of A, in place or packed, with their strides.
#[derive(Clone, Copy)]
pub struct PanelA<T> {
    pub p: *const T,
    pub rs: isize,
    pub cs: isize,
}

impl<T> PanelA<T> {
    /// Returns the rows from `i` on in place, from step `k` on.
    #[inline(always)]
    pub fn in_place(a: &Matrix<*const T>, i: usize, k: usize) -> Self {
        Self {
            p: a.at(i, k),
            rs: a.rs,
            cs: a.cs,
        }
    }
}

/// Columns of B, in place or packed. They are contiguous; each step of k is `rs` elements after the last.
#[derive(Clone, Copy)]
pub struct PanelB<T> {
    pub p: *const T,
    pub rs: isize,
}

impl<T> PanelB<T> {
    /// Returns the columns from `j` on in place. Rows of B must be contiguous.
    #[inline(always)]
    pub fn in_place(b: &Matrix<*const T>, j: usize) -> Self {
        Self {
            p: b.ptr.wrapping_add(j),
            rs: b.rs,
        }
    }
}

/// The arguments that successive micro-tiles share. They are passed by reference; the arguments that differ are passed
/// in registers, because a microkernel that had to read them from memory just after they were written would start late.
#[derive(Clone, Copy)]
pub struct MicrokernelArgs<T> {
    /// kc, the steps of k.
    pub kc: usize,
    /// The row stride and the column stride of A.
    pub a_rs: isize,
    pub a_cs: isize,
    /// The row stride of c, whose rows are contiguous.
    pub c_rs: isize,
    /// Bytes between the lines that [`Prefetch`](super::markers::Prefetch) fetches at successive steps of k.
    pub prefetch_stride: isize,
    /// Where [`Pack`](super::markers::Pack) writes its micro-panel of B, and [`along_k`](super::along_k()) reads the
    /// last steps of its own.
    pub packed: *mut T,
    pub update: Update,
    pub alpha: T,
    pub beta: T,
}

/// How the sums s of a micro-tile update c.
///
/// `repr(usize)`: the compiler would load a smaller value together with alpha into a vector register, and the branch on
/// it would wait for the vector arithmetic before it.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Update {
    /// c = s; for alpha = 1 and beta = 0. Does not read c.
    Plain,
    /// c = alpha s; for beta = 0. Does not read c.
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

/// The addresses of MR rows of A at a step of k. One pointer serves three rows here, because x86 has addressing modes
/// for p, p + rs and p + 2 rs; the compiler may choose one pointer and an offset for each row instead.
#[derive(Clone, Copy)]
pub struct RowPointers<T> {
    rows: [*const T; MAX_MR.div_ceil(3)],
    strides: [isize; MAX_MR.div_ceil(3)],
}

impl<T> RowPointers<T> {
    /// The rows from `a` on. `stride` returns their stride, each time by [`opaque`].
    #[inline(always)]
    pub fn new(a: *const T, stride: impl Fn() -> isize) -> Self {
        let strides: [isize; MAX_MR.div_ceil(3)] = from_fn(|_| stride());
        let mut rows = [a; MAX_MR.div_ceil(3)];
        for (r, row) in rows.iter_mut().enumerate() {
            *row = a.wrapping_offset(3 * r as isize * strides[r]);
        }
        Self { rows, strides }
    }

    /// Rows of the same stride, `elements` behind these.
    #[inline(always)]
    pub fn offset(mut self, elements: isize) -> Self {
        self.next(elements);
        self
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

/// Computes a micro-tile of `MR` rows and `NV` registers, with the tail `E`, the side work `F` and the stores `W`: at
/// each step of k, every row's element of A is broadcast and multiplied by the NV registers of B.
///
/// `last` is the number of columns in the tail: in the last register if `E` is masked, else those behind the NV
/// registers. With [`Prefetch`](super::markers::Prefetch), which has no tail, it is the address of the first cache line
/// to fetch.
///
/// # Safety
/// `a` must hold `MR` rows and `b` the micro-tile's columns for `kc` steps, and `c` must hold the micro-tile. With
/// [`Pack`](super::markers::Pack), `args.packed` must have room for `kc` steps of whole registers.
#[inline(always)]
// Indices, because iterators over `acc` can keep it in memory, and then each step stores it.
#[allow(clippy::needless_range_loop)]
pub unsafe fn microkernel<
    S: Simd,
    const MR: usize,
    const NV: usize,
    E: Tail,
    F: SideWork,
    W: Store,
>(
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
    // Fetch the lines of C while the sums are computed; not for non-temporal stores, which bypass the caches.
    for i in 0..if W::NON_TEMPORAL { 0 } else { MR } {
        let row = c.wrapping_offset(i as isize * args.c_rs);
        for line in (0..(NV * S::N * size_of::<S::T>())).step_by(LINE) {
            s.prefetch(row.wrapping_byte_add(line));
        }
    }
    let mut acc = [[s.splat(S::T::ZERO); NV]; MR];
    let mut shared = SharedRegister::<S, MR, E>::new(s);
    let mut rows = RowPointers::new(a, || opaque(&args.a_rs));
    let mut half_registers = HalfRegisters::<S, MR>::new(s, a, || {
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
            // SAFETY: the caller vouches for the micro-tile's columns at each step.
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
            shared.load_b(s, bp.add(NV * S::N), last);
        }
        for i in 0..MR {
            // SAFETY: row i of the micro-tile has an element at each step.
            let a = s.splat(unsafe { *rows.row(i) });
            for v in 0..NV {
                acc[i][v] = s.fma(a, row_of_b[v], acc[i][v]);
            }
            if SharedRegister::<S, MR, E>::IS_SOME {
                shared.add_row(s, i, a);
            }
        }
        if E::HALF_REGISTER {
            half_registers.step(s, bp.add(NV * S::N), last, args.a_cs);
        }
        rows.next(args.a_cs);
        bp = bp.wrapping_offset(b.rs);
    }
    // SAFETY: the caller vouches for the rows and columns.
    unsafe {
        update_c::<_, MR, NV, E, W>(s, args, acc, c, last);
        let tail = c.wrapping_add(NV * S::N);
        if SharedRegister::<S, MR, E>::IS_SOME {
            let mut acc = [[s.splat(S::T::ZERO)]; MR];
            for i in 0..MR {
                acc[i][0] = shared.sums(s, i);
            }
            update_c::<_, MR, 1, Masked, Cached>(s, args, acc, tail, last);
        }
        if E::HALF_REGISTER {
            update_c::<_, MR, 1, Masked, Cached>(s.half(), args, half_registers.sums(), tail, last);
        }
    }
}

/// The end of [`microkernel`]: updates c with its sums.
///
/// # Safety
/// As [`microkernel`].
#[inline(always)]
#[allow(clippy::needless_range_loop)]
pub(super) unsafe fn update_c<S: Simd, const MR: usize, const NV: usize, E: Tail, W: Store>(
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
    // Masked values are collected and stored by a loop of their own. The compiler does not unroll a loop over partial
    // stores; one over `acc` would keep that in memory.
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
            // SAFETY: the caller vouches for the `last` columns of row i.
            unsafe { s.store_partial(p, last, end) };
        }
    }
}

/// Returns a stride by a volatile load, so that the compiler cannot relate two results to each other. Otherwise it
/// would compute each row's address from the one before at every step of k, or spill addresses of rows of C to the
/// stack. Spills are stores, and the stores of a whole micro-tile already fill most of the CPU's store buffer.
#[inline(always)]
pub(super) fn opaque(stride: &isize) -> isize {
    // SAFETY: a reference is valid to read.
    unsafe { core::ptr::read_volatile(stride) }
}

/// Loads a register; if `masked`, only its first `last` elements.
///
/// # Safety
/// `p` must be valid for these elements.
#[inline(always)]
unsafe fn load<S: Simd>(s: S, p: *const S::T, masked: bool, last: usize) -> S::V {
    if masked {
        s.load_partial(p, last)
    } else {
        s.load(p)
    }
}
