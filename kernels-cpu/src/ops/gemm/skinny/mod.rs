//! Products with one small side, computed so that the large operand is read once, in the order of memory, and not
//! packed.
//!
//! Below, C has few rows and many columns: A is small, B large. (A product with few columns is transposed first.)
//! `along_k` is for columns of B that are contiguous, `along_n` and its kernel `sweep` for rows.

mod along_k;
mod along_n;
mod sweep;

use core::mem::MaybeUninit;

pub use along_k::{AlongK, AlongKFn, along_k};
pub use sweep::{Sweep, SweepFn, sweep};

use super::microkernel::{MicrokernelArgs, PanelA, PanelB, Update};
use super::pack::PanelRange;
use super::params::{KSEG, LINE};
use super::routines::Routines;
use super::scratch::Scratch;
use super::shapes::{MAX_MR, MAX_NR};
use super::transpose::MAX_LANES;
use super::write_back::WriteBack;
use super::{Gemm, Microkernels};
use crate::detect;
use crate::element::Element;

/// How a product with one small side is computed.
#[derive(Clone, Copy)]
pub struct Skinny {
    /// Whether the product is transposed first, so that its rows are the small side.
    transposed: bool,
    /// Whether rows of B are contiguous, not columns.
    along_n: bool,
    /// Whether it takes scratch memory.
    pub packs: bool,
}

/// The most rows for which there are microkernels of two registers.
const MOST_ROWS_OF_TWO: usize = 4;

/// The stride between copied columns: a cache line more than a segment of f32, so that they lie in different sets of L1.
const COPY_RS: usize = KSEG + 16;
/// The elements of such a copy.
const COPY: usize = MAX_LANES / 2 * COPY_RS;

impl Skinny {
    /// How to compute `p`, or `None` if it is not such a product.
    pub fn new<T: Element>(microkernels: &Microkernels<T>, p: &Gemm<T>) -> Option<Self> {
        let transposed = p.n < p.m;
        let p = if transposed { p.transposed() } else { *p };
        if along_n::pays(microkernels, &p) {
            return Some(Self {
                transposed,
                along_n: true,
                packs: true,
            });
        }
        let fits = p.m <= most_rows(microkernels, &p, transposed)
            && p.b_rs == 1
            && p.n >= 2 * microkernels.widths.lanes
            && p.k >= 16;
        fits.then(|| Self {
            transposed,
            along_n: false,
            packs: !is_packed(&p) || copies(microkernels, &p),
        })
    }
}

/// The most rows for which [`along_k()`] was faster than the other microkernels. For a small B those read A element by
/// element, so the limit depends on the number of lanes; they pack a large B whose columns are contiguous.
fn most_rows<T: Element>(microkernels: &Microkernels<T>, p: &Gemm<T>, transposed: bool) -> usize {
    let lanes = microkernels.widths.lanes;
    let has_512_bits = lanes * size_of::<T>() == LINE;
    if microkernels.along_k.is_empty() {
        0
    } else if from_memory(p) {
        if has_512_bits { 2 * MAX_MR } else { MAX_MR }
    } else if transposed && lanes < 8 {
        0
    } else if p.k < KSEG {
        lanes / 2
    } else if transposed {
        lanes / 4 * 3
    } else if has_512_bits {
        2 * MAX_MR
    } else {
        lanes
    }
}

/// Whether B is expected to come from memory. If its rows are part of a matrix, the other parts count too.
fn from_memory<T>(p: &Gemm<T>) -> bool {
    let elements = p.n.max(p.b_rs.unsigned_abs()).saturating_mul(p.k);
    detect::exceeds_llc(elements.saturating_mul(size_of::<T>()))
}

/// Whether the upper half of each register of columns is copied before it is read. Where the stride between columns maps
/// all of them to the same set of L1, that set is too small for a line of each of 16 columns: lines would be evicted
/// between their prefetch and their use. Half of the columns fit, and they are read one segment after the others.
fn copies<T: Element>(microkernels: &Microkernels<T>, p: &Gemm<T>) -> bool {
    let apart = p.b_cs.unsigned_abs().wrapping_mul(size_of::<T>());
    microkernels.widths.lanes == MAX_LANES
        && p.m <= MAX_MR
        && p.k >= KSEG
        && apart.is_multiple_of(4 << 10)
        && from_memory(p)
}

/// Whether A lies in memory as packing would place it.
fn is_packed<T>(p: &Gemm<T>) -> bool {
    p.m <= MAX_MR && p.a_rs == 1 && p.a_cs == p.m as isize
}

/// Runs a product for which [`Skinny::new`] gave the plan. `block` is scratch memory of `bytes` bytes; returns whether
/// that sufficed.
///
/// # Safety
/// As [`run`](super::run).
pub unsafe fn run<T: Element>(
    routines: &Routines<T>,
    plan: Skinny,
    p: &Gemm<T>,
    block: *mut u8,
    bytes: usize,
) -> bool {
    let p = if plan.transposed { p.transposed() } else { *p };
    if plan.along_n {
        // SAFETY: as the caller's; the plan has looked at the rows of B.
        return unsafe { along_n::run(routines, &p, block, bytes, from_memory(&p)) };
    }
    let mut segments = p.k.div_ceil(KSEG);
    let (mut packed, mut upper) = (None, None);
    if plan.packs {
        let scratch = Scratch::<T>::new(routines.microkernels.widths.lanes, block, bytes);
        let mut a = scratch.panel_b;
        // Packing may write a register past its end.
        let mut room = (scratch.columns * KSEG).saturating_sub(MAX_LANES);
        if copies(&routines.microkernels, &p) && room >= COPY + KSEG * p.m {
            upper = Some(a);
            a = a.wrapping_add(COPY);
            room -= COPY;
        }
        segments = segments.min(room.checked_div(KSEG * p.m).unwrap_or(0));
        packed = Some(a);
    }
    if segments == 0 {
        return false;
    }
    let mut pc = 0;
    while pc < p.k {
        let range = KRange {
            routines,
            p: &p,
            packed,
            upper,
            pc,
            kc: (segments * KSEG).min(p.k - pc),
            from_memory: from_memory(&p),
        };
        // SAFETY: as the caller's; there is room for these steps of A.
        unsafe { range.run() };
        pc += range.kc;
    }
    true
}

/// A range of k, of whole segments but for the last.
struct KRange<'a, T: 'static> {
    routines: &'a Routines<T>,
    p: &'a Gemm<T>,
    /// Room for the packed steps of A; `None` if A is read in place.
    packed: Option<*mut T>,
    /// Room for a copy of the upper half of a register of columns; `None` if they are read in place.
    upper: Option<*mut T>,
    pc: usize,
    kc: usize,
    /// Whether B is expected to come from memory.
    from_memory: bool,
}

impl<T: Element> KRange<'_, T> {
    /// Packs A, and computes all columns.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn run(&self) {
        let p = self.p;
        let groups = p.m.div_ceil(MAX_MR).max(1);
        let each = p.m.div_ceil(groups).max(1);
        if let Some(packed) = self.packed {
            for i in (0..p.m).step_by(each) {
                let at = i as isize * p.a_rs + self.pc as isize * p.a_cs;
                let a = PanelA {
                    p: p.a.wrapping_offset(at),
                    rs: p.a_rs,
                    cs: p.a_cs,
                };
                let out = packed.wrapping_add(i * self.kc);
                // SAFETY: there is room for these rows, and for the register that may be written past their end.
                unsafe { (self.routines.pack_a)(a, each.min(p.m - i), self.kc, out) };
            }
        }
        let lanes = self.routines.microkernels.widths.lanes;
        // Two registers of columns fill L1 if the distance between columns maps them to few of its sets.
        let apart = p.b_cs.unsigned_abs().wrapping_mul(size_of::<T>());
        let two = each <= MOST_ROWS_OF_TWO && !self.from_memory && !apart.is_multiple_of(2 << 10);
        if let Some(upper) = self.upper {
            // SAFETY: as the caller's; there is at least a register of columns.
            unsafe { self.copy(upper, (0, 0)) };
        }
        let mut j = 0;
        while j < p.n {
            let registers = if two && p.n - j >= 2 * lanes { 2 } else { 1 };
            let nr = registers * lanes;
            for i in (0..p.m).step_by(each) {
                let rows = (i, each.min(p.m - i));
                // SAFETY: as the caller's; the microkernel exists.
                unsafe {
                    let run = self.routines.microkernels.along_k(rows.1, registers);
                    self.columns(run, rows, (j, nr));
                }
            }
            j += nr;
        }
    }

    /// The address of B in column `j` at step `pc` of the range.
    #[inline(always)]
    fn b(&self, pc: usize, j: usize) -> *const T {
        let at = (self.pc + pc) as isize + j as isize * self.p.b_cs;
        self.p.b.wrapping_offset(at)
    }

    /// The first of the `nr` columns that are computed for those from `j` on: the last columns are computed together
    /// with some before them, which are not written again.
    #[inline(always)]
    fn from(&self, j: usize, nr: usize) -> usize {
        j.min(self.p.n - nr)
    }

    /// The segment of B that is read after the one at step `pc` in the columns from `j` on: its step and its columns. It
    /// is the same segment if no other follows. `last` is whether these are the last rows of C.
    #[inline(always)]
    fn after(&self, (pc, j): (usize, usize), nr: usize, last: bool) -> (usize, usize) {
        if pc + KSEG < self.kc {
            (pc + KSEG, j)
        } else if !last {
            (0, j)
        } else if j + nr < self.p.n {
            (0, j + nr)
        } else {
            (pc, j)
        }
    }

    /// The steps of k in the segment at step `pc` that are read in whole registers.
    #[inline(always)]
    fn whole(&self, pc: usize) -> usize {
        KSEG.min(self.kc - pc) & !(self.routines.microkernels.widths.lanes - 1)
    }

    /// Copies the upper half of a register of columns, from the segment at step `pc` in the columns from `j` on.
    ///
    /// # Safety
    /// As [`run`].
    unsafe fn copy(&self, upper: *mut T, (pc, j): (usize, usize)) {
        let half = self.routines.microkernels.widths.lanes / 2;
        for column in 0..half {
            let from = self.b(pc, j + half + column);
            let to = upper.wrapping_add(column * COPY_RS);
            for step in 0..self.whole(pc) {
                // SAFETY: these steps lie in B; there is room for a segment.
                unsafe { *to.add(step) = *from.add(step) };
            }
        }
    }

    /// Computes `mr` rows of the `nr` columns from `j` on, or of the columns that are left.
    ///
    /// # Safety
    /// As [`run`]; `run` must be the microkernel of this size.
    unsafe fn columns(&self, run: AlongKFn<T>, (i, mr): (usize, usize), (j, nr): (usize, usize)) {
        let p = self.p;
        let from = self.from(j, nr);
        let (skip, columns) = (j - from, nr - (j - from));
        // With beta = 0, a tile takes the place of C until the last segment has been added.
        let direct = p.c_cs == 1 && !p.epilogue.is_some() && skip == 0;
        let tiled = !direct && p.beta == T::ZERO && self.kc == p.k;
        let a = self
            .packed
            .map_or(p.a, |packed| packed.wrapping_add(i * self.kc));
        let mut tile = [const { MaybeUninit::<T>::uninit() }; MAX_MR * MAX_NR];
        let tile = tile.as_mut_ptr().cast::<T>();
        let sums = tile.wrapping_add(skip);
        let mut last_steps = [const { MaybeUninit::<T>::uninit() }; 2 * MAX_LANES * MAX_LANES];
        let write_back = self.routines.write_back;
        let mut pc = 0;
        while pc < self.kc {
            let kc = KSEG.min(self.kc - pc);
            let (first, last) = (self.pc + pc == 0, self.pc + pc + kc == p.k);
            let to = WriteBack::new(p, first, last);
            let b = PanelB {
                p: self.b(pc, from),
                rs: p.b_cs,
            };
            let mut upper = PanelB {
                p: self.b(pc, from + self.routines.microkernels.widths.lanes / 2),
                rs: p.b_cs,
            };
            let (mut next, mut copies) = ([core::ptr::null(); 2], false);
            // Where the kernel does not copy the next segment, because its length is another.
            let mut copy_next = None;
            if self.from_memory {
                let mut segment = (pc, j);
                for next in &mut next {
                    segment = self.after(segment, nr, i + mr == p.m);
                    segment.1 = self.from(segment.1, nr);
                    *next = self.b(segment.0, segment.1);
                }
            }
            if let Some(copy) = self.upper {
                (upper.p, upper.rs) = (copy, COPY_RS as isize);
                let next = self.after((pc, j), nr, true);
                copies = self.whole(next.0) == self.whole(pc);
                if !copies {
                    copy_next = Some((copy, (next.0, self.from(next.1, nr))));
                }
            }
            let mut f = AlongK {
                args: MicrokernelArgs {
                    kc,
                    a_rs: 1,
                    a_cs: mr as isize,
                    c_rs: MAX_NR as isize,
                    prefetch_stride: 0,
                    packed: last_steps.as_mut_ptr().cast(),
                    update: Update::Plain,
                    alpha: p.alpha,
                    beta: to.beta(),
                },
                a: a.wrapping_add(pc * mr),
                b,
                upper,
                c: tile,
                next,
                copies,
            };
            let args = &mut f.args;
            let widths = self.routines.microkernels.widths;
            let whole = kc & !(widths.lanes - 1);
            if whole < kc {
                let range = PanelRange {
                    pc: self.pc + pc + whole,
                    kc: kc - whole,
                    jc: from,
                    nc: nr,
                    widths,
                };
                // SAFETY: the block has room for two registers of columns at each step.
                unsafe { (self.routines.pack_b)(p, range, args.packed) };
            }
            // SAFETY: as the caller's.
            unsafe {
                if tiled {
                    args.update = Update::new(args.alpha, args.beta);
                    run(&f);
                    if last {
                        let finished = Gemm {
                            alpha: T::ONE,
                            ..*p
                        };
                        let to = WriteBack::new(&finished, true, true);
                        write_back(&to, sums, mr, (i, j), columns);
                    }
                } else if to.is_direct() && skip == 0 {
                    args.c_rs = p.c_rs;
                    args.update = Update::new(args.alpha, args.beta);
                    f.c = to.at((i, j));
                    run(&f);
                } else {
                    (args.alpha, args.beta) = if to.is_direct() {
                        // The last columns, which the microkernel does not write itself.
                        (T::ONE, T::ZERO)
                    } else {
                        to.microkernel_scalars()
                    };
                    args.update = Update::new(args.alpha, args.beta);
                    run(&f);
                    write_back(&to, sums, mr, (i, j), columns);
                }
            }
            if let Some((upper, segment)) = copy_next {
                // SAFETY: as the caller's.
                unsafe { self.copy(upper, segment) };
            }
            pc += kc;
        }
    }
}
