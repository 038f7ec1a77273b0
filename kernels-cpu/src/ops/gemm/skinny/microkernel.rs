//! The microkernel for a large B whose columns are contiguous: it reads B in place and transposes it in registers.

use super::super::markers::{Cached, Whole};
use super::super::microkernel::{MicrokernelArgs, PanelB, opaque, update_c};
use super::super::params::LINE;
use super::super::transpose::{MAX_LANES, finish, finished, load_rows};
use super::prefetch::{LineRuns, Lines};
use crate::element::Element;
use crate::simd::Simd;

/// The most rows with which two registers prefetch a B in a cache to L1. With more rows they take longer than L2 to deliver B.
pub const AHEAD_IN_CACHE: usize = 2;

/// A compiled [`along_k`], for some number of rows and registers.
pub type AlongKFn<T> = unsafe fn(&AlongK<T>);

/// The arguments of [`along_k`].
pub struct AlongK<T> {
    pub args: MicrokernelArgs<T>,
    /// A, packed: MR elements at each step of k.
    pub a: *const T,
    /// B. Its columns are contiguous; `rs` is the stride between them.
    pub b: PanelB<T>,
    /// The upper half of the columns of a single register: in `b`, or in a copy.
    pub upper: PanelB<T>,
    /// The micro-tile.
    pub c: *mut T,
    /// The two blocks of B that are read next, to prefetch them. Null if B is in a cache, except in microkernels of two
    /// registers and at most [`AHEAD_IN_CACHE`] rows.
    pub next: [*const T; 2],
    /// Whether the upper half of `next[0]` is copied to `upper`, each block after the one in its place has been read.
    pub copies: bool,
    /// Whether the stride between columns maps the columns of two registers to too few sets of L1: then lines are read
    /// whole, and none are prefetched from a cache.
    pub few_sets: bool,
}

/// Computes a micro-tile of `MR` rows and `NB` registers over one segment of k. The last `args.kc % S::N` steps of B are
/// read from `args.packed` instead, packed.
///
/// # Safety
/// `f.a` must hold `args.kc` steps of `MR` elements, `f.b` and `f.upper` as many of `NB * S::N` columns, `args.packed`
/// the last of them, and `f.c` the micro-tile. If it copies, `f.next[0]` must have as many whole registers of steps, and
/// `f.upper` must be valid for writing them.
#[inline(always)]
// Indices, because iterators over `acc` can keep it in memory.
#[allow(clippy::needless_range_loop)]
pub unsafe fn along_k<S: Simd, const MR: usize, const NB: usize>(s: S, f: &AlongK<S::T>) {
    // 32 registers hold a block of whole registers beside the sums: then each cache line of B is read once. This
    // matters where the stride between columns maps all of them to the same set of L1.
    let half = NB * S::N > MAX_LANES || size_of::<S::V>() < LINE;
    let steps = if half { S::N / 2 } else { S::N };
    // Unrolled where registers suffice to overlap blocks.
    let turns = if size_of::<S::V>() < LINE {
        1
    } else {
        S::N / steps
    };
    let whole = f.args.kc & !(S::N - 1);
    let ahead_in_cache = NB == 2 && MR <= AHEAD_IN_CACHE && size_of::<S::V>() == LINE;
    let mut runs = LineRuns::new::<S>(f.b.p, whole, f.next[0]);
    // Two registers are for a B in a cache. For 3 rows and more the test stays in the loop nevertheless: without it the
    // compiler loads elements of A so early that it spills sums.
    let prefetches = (NB == 1 || MR > 2) && !f.next[0].is_null();
    let mut ahead = [Lines::NONE; 2];
    let mut from = core::ptr::null();
    if prefetches {
        let half_way = (S::N / 2) as isize * f.b.rs;
        from = f.next[0].wrapping_offset(half_way);
        ahead = if f.copies {
            let next = f.next[1].wrapping_offset(half_way);
            [
                Lines::new::<S>(whole, f.b.p, f.next[0]),
                Lines::new::<S>(whole, from, next),
            ]
        } else {
            [
                Lines::new::<S>(whole, f.b.p, f.next[0]),
                Lines::new::<S>(whole, f.upper.p, from),
            ]
        };
    }
    let mut acc = [[s.splat(S::T::ZERO); NB]; MR];
    let mut a = f.a;
    let mut columns = [Columns::new::<S>(f.b, f.upper); NB];
    if NB == 2 {
        let p = f.b.p.wrapping_offset(S::N as isize * f.b.rs);
        let upper = p.wrapping_offset((S::N / 2) as isize * f.b.rs);
        let in_b = |p| PanelB { p, ..f.b };
        columns[NB - 1] = Columns::new::<S>(in_b(p), in_b(upper));
    }
    let mut k = 0;
    while k < whole {
        if prefetches && (k * size_of::<S::T>()).is_multiple_of(LINE) {
            for lines in &mut ahead {
                lines.prefetch(s, &f.b.rs);
            }
        }
        if ahead_in_cache && f.few_sets {
            // SAFETY: as below.
            unsafe {
                add_lines::<S, MR, NB, 0>(s, &mut acc, a, f, &columns[0]);
                add_lines::<S, MR, NB, 1>(s, &mut acc, a, f, &columns[NB - 1]);
            }
            for columns in &mut columns {
                columns.next(S::N);
            }
            a = a.wrapping_add(S::N * MR);
            k += S::N;
            continue;
        }
        let copied = columns[0].upper();
        for _ in 0..turns {
            // SAFETY: the caller vouches for these columns and the elements of A at these steps.
            unsafe { add_block::<S, MR, NB>(s, &mut acc, a, f, &columns, half, &mut runs) };
            for columns in &mut columns {
                columns.next(steps);
            }
            a = a.wrapping_add(steps * MR);
        }
        if S::N == MAX_LANES && steps == S::N && f.copies {
            let to = (copied.cast_mut(), opaque(&f.upper.rs));
            // SAFETY: the caller vouches for both.
            unsafe { copy::<S>(s, (from, opaque(&f.b.rs)), to) };
            from = from.wrapping_add(steps);
        }
        k += turns * steps;
    }
    let mut last = f.args.packed.cast_const();
    for _ in 0..f.args.kc % S::N {
        for i in 0..MR {
            // SAFETY: the caller vouches for the packed steps.
            unsafe {
                let a = s.splat(*a.add(i));
                for v in 0..NB {
                    acc[i][v] = s.fma(a, s.load(last.add(v * S::N)), acc[i][v]);
                }
            }
        }
        last = last.wrapping_add(NB * S::N);
        a = a.wrapping_add(MR);
    }
    // SAFETY: the caller vouches for the micro-tile.
    unsafe { update_c::<S, MR, NB, Whole, Cached>(s, &f.args, acc, f.c, 0) };
}

/// Adds the products of N steps of k, or of N / 2 if `half`.
///
/// # Safety
/// `a` must hold these steps, `b` as many of the columns.
#[inline(always)]
unsafe fn add_block<S: Simd, const MR: usize, const NB: usize>(
    s: S,
    acc: &mut [[S::V; NB]; MR],
    a: *const S::T,
    f: &AlongK<S::T>,
    b: &[Columns<S::T>; NB],
    half: bool,
    runs: &mut LineRuns<S::T>,
) {
    if size_of::<S::V>() < LINE {
        // 16 registers hold the columns of one register at a time.
        let p = b[0].groups[0];
        // SAFETY: as the caller's.
        unsafe {
            add_register::<S, MR, NB, 0>(s, acc, a, PanelB { p, ..f.b });
            if NB == 2 {
                add_register::<S, MR, NB, 1>(s, acc, a, PanelB { p, ..f.b });
            }
        }
        return;
    }
    // Opaque, because otherwise the compiler would keep the address of each column.
    let rs = (opaque(&f.b.rs), opaque(&f.upper.rs));
    let block = load_rows(s, |row| b[0].get::<S>(row, rs), half);
    let second = if NB == 2 {
        load_rows(s, |row| b[NB - 1].get::<S>(row, rs), half)
    } else {
        block
    };
    let steps = if half { S::N / 2 } else { S::N };
    // Not all columns at once, so that they are transposed while the products of the first are added. Not a loop,
    // which would keep the block in memory.
    macro_rules! columns {
        ($($turn:literal)*) => {
            $(let first = $turn * finished::<S>();
            if first < steps {
                let a = a.add(first * MR);
                let mut columns = [finish(s, &block, first); NB];
                columns[NB - 1] = finish(s, &second, first);
                if NB == 2 && MR <= AHEAD_IN_CACHE {
                    runs.prefetch(s, &f.b.rs);
                }
                add_columns::<S, MR, NB, 0, NB>(s, acc, a, columns);
            })*
        };
    }
    columns!(0 1 2 3);
}

/// Adds the products of N steps of register `V` of the columns: whole cache lines.
///
/// # Safety
/// As [`add_block`]; `b` must be this register.
#[inline(always)]
unsafe fn add_lines<S: Simd, const MR: usize, const NB: usize, const V: usize>(
    s: S,
    acc: &mut [[S::V; NB]; MR],
    a: *const S::T,
    f: &AlongK<S::T>,
    b: &Columns<S::T>,
) {
    let rs = opaque(&f.b.rs);
    // SAFETY: as the caller's; a reference is valid to read.
    unsafe {
        // Otherwise the compiler would keep each splat element of A for the second register.
        let a = core::ptr::read_volatile(&a);
        let block = load_rows(s, |row| b.get::<S>(row, (rs, rs)), false);
        macro_rules! columns {
            ($($turn:literal)*) => {
                $(let first = $turn * finished::<S>();
                if first < S::N {
                    let columns = finish(s, &block, first);
                    add_columns::<S, MR, NB, V, 1>(s, acc, a.add(first * MR), [columns]);
                })*
            };
        }
        columns!(0 1 2 3);
    }
}

/// Adds the products of N / 2 steps of register `V` of the columns. `b` begins with the first register.
///
/// # Safety
/// As [`add_block`].
#[inline(always)]
unsafe fn add_register<S: Simd, const MR: usize, const NB: usize, const V: usize>(
    s: S,
    acc: &mut [[S::V; NB]; MR],
    a: *const S::T,
    b: PanelB<S::T>,
) {
    let rs = opaque(&b.rs);
    let first = b.p.wrapping_offset((V * S::N) as isize * rs);
    // SAFETY: as the caller's; a reference is valid to read.
    unsafe {
        // Otherwise the compiler would keep each splat element of A for the second register.
        let a = if V > 0 {
            core::ptr::read_volatile(&a)
        } else {
            a
        };
        let block = load_rows(s, |row| first.wrapping_offset(row as isize * rs), true);
        let columns = finish(s, &block, 0);
        add_columns::<S, MR, NB, V, 1>(s, acc, a, [columns]);
    }
}

/// Adds the products of [`finished`] steps of `columns` with as many steps of A, to the sums of `COUNT` registers from
/// `FROM` on.
///
/// # Safety
/// `a` must hold these steps.
#[inline(always)]
#[allow(clippy::needless_range_loop)]
unsafe fn add_columns<
    S: Simd,
    const MR: usize,
    const NB: usize,
    const FROM: usize,
    const COUNT: usize,
>(
    s: S,
    acc: &mut [[S::V; NB]; MR],
    a: *const S::T,
    columns: [[S::V; 4]; COUNT],
) {
    for j in 0..4 {
        if j < finished::<S>() {
            for i in 0..MR {
                // SAFETY: the caller vouches for this element.
                let a = s.splat(unsafe { *a.add(j * MR + i) });
                for v in 0..COUNT {
                    acc[i][FROM + v] = s.fma(a, columns[v][j], acc[i][FROM + v]);
                }
            }
        }
    }
}

/// The addresses of a register of columns at a step of k, in groups of four, which x86 can address by p, p + rs, p + 2
/// rs and p + 3 rs.
#[derive(Clone, Copy)]
struct Columns<T> {
    groups: [*const T; MAX_LANES / 4],
}

impl<T> Columns<T> {
    /// The columns of `b`, the upper half of [`MAX_LANES`] columns from `upper`.
    #[inline(always)]
    fn new<S: Simd<T = T>>(b: PanelB<T>, upper: PanelB<T>) -> Self {
        let mut groups = [b.p; MAX_LANES / 4];
        for (g, group) in groups.iter_mut().enumerate() {
            // Opaque, because otherwise the compiler would compute each group's address from the first.
            *group = if Self::is_upper::<S>(4 * g) {
                let column = 4 * g - MAX_LANES / 2;
                upper.p.wrapping_offset(column as isize * opaque(&upper.rs))
            } else {
                b.p.wrapping_offset(4 * g as isize * opaque(&b.rs))
            };
        }
        Self { groups }
    }

    #[inline(always)]
    fn is_upper<S: Simd>(column: usize) -> bool {
        S::N == MAX_LANES && column >= MAX_LANES / 2
    }

    #[inline(always)]
    fn get<S: Simd>(&self, column: usize, (rs, upper_rs): (isize, isize)) -> *const T {
        let in_upper = Self::is_upper::<S>(column);
        let rs = if in_upper { upper_rs } else { rs };
        self.groups[column / 4].wrapping_offset((column % 4) as isize * rs)
    }

    /// The upper half of [`MAX_LANES`] columns.
    #[inline(always)]
    fn upper(&self) -> *const T {
        self.groups[MAX_LANES / 8]
    }

    #[inline(always)]
    fn next(&mut self, steps: usize) {
        for group in &mut self.groups {
            *group = group.wrapping_add(steps);
        }
    }
}

/// Copies N steps of N / 2 columns of B.
///
/// # Safety
/// `from` must be valid for reading them, `to` for writing.
#[inline(always)]
unsafe fn copy<S: Simd>(
    s: S,
    (from, from_rs): (*const S::T, isize),
    (to, to_rs): (*mut S::T, isize),
) {
    for column in 0..S::N as isize / 2 {
        // SAFETY: the caller vouches for these columns.
        unsafe {
            let x = s.load(from.wrapping_offset(column * from_rs));
            s.store(to.wrapping_offset(column * to_rs), x);
        }
    }
}
