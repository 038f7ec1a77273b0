//! The kernel of [`along_n`](super::along_n): adds the products of a few steps of k to the sums of a run of columns.

use super::super::params::LINE;
use crate::element::Element;
use crate::simd::Simd;

/// The steps of k in a sweep over a B that comes from memory: two streams.
pub const FROM_MEMORY_STEPS: usize = 2;
/// The steps of k in a sweep over a B in a cache. Each sweep loads and stores the sums once.
pub const FROM_CACHE_STEPS: usize = 4;
/// The steps of k in a sweep of one row over a B in a cache.
pub const ONE_ROW_STEPS: usize = 8;
/// The most rows of C with which a sweep takes less time than memory to deliver B.
const FASTER_THAN_MEMORY: usize = 4;

/// A compiled [`sweep`], for some number of rows and steps.
pub type SweepFn<T> = unsafe fn(&Sweep<T>);

/// The arguments of a sweep over a run.
pub struct Sweep<T> {
    /// A, at the sweep's first row of C and first step of k.
    pub a: *const T,
    pub a_rs: isize,
    pub a_cs: isize,
    /// B at this step, at the run's first column.
    pub b: *const T,
    pub b_rs: isize,
    /// Registers in the run, and the column at which the last one begins: it ends with the run, and so may overlap the
    /// one before.
    pub registers: usize,
    pub last: isize,
    /// The sums: for each row of C `registers` registers, `pitch` elements from one row to the next.
    pub sums: *mut T,
    pub pitch: usize,
    /// The rows of B to prefetch; null if B is in a cache. Only for sweeps of [`FROM_MEMORY_STEPS`].
    pub ahead: *const T,
    /// 0, which the compiler cannot know.
    pub zero: usize,
}

/// Adds the products of `STEPS` steps of k to the sums of `ROWS` rows.
///
/// # Safety
/// A and B must have these rows and steps, and the run these columns; the sums must have been written.
#[inline(always)]
pub unsafe fn sweep<S: Simd, const ROWS: usize, const STEPS: usize>(s: S, f: &Sweep<S::T>) {
    let mut scalars = [[s.splat(S::T::ZERO); ROWS]; STEPS];
    let mut b = [f.b; STEPS];
    let mut sums = [f.sums; ROWS];
    for (row, sums) in sums.iter_mut().enumerate() {
        *sums = f.sums.wrapping_add(row * f.pitch);
    }
    for (step, scalars) in scalars.iter_mut().enumerate() {
        b[step] = f.b.wrapping_offset(step as isize * f.b_rs);
        for (row, scalar) in scalars.iter_mut().enumerate() {
            let at = row as isize * f.a_rs + step as isize * f.a_cs;
            // SAFETY: the caller vouches for this row and step of A.
            *scalar = s.splat(unsafe { *f.a.wrapping_offset(at) });
        }
    }
    let from_memory = STEPS == FROM_MEMORY_STEPS && !f.ahead.is_null();
    // Two lines.
    let turn = 2 * LINE / size_of::<S::T>();
    let end = (f.registers - 1) * S::N;
    let mut wait = 0;
    let mut i = 0;
    while i + turn <= end {
        if from_memory {
            f.prefetch::<S, STEPS>(s, i, turn);
            for row in &mut b {
                *row = row.wrapping_byte_add(wait);
            }
            if ROWS <= FASTER_THAN_MEMORY {
                // Sweeps that run ahead of memory, with as many reads as the reorder buffer holds, fill the queue
                // of L1 misses and hold up the prefetches: on Zen 5 memory then delivers a third less. So the
                // addresses depend on what has been read.
                let read = *b[STEPS - 1].wrapping_add(i + turn - 1).cast::<u8>();
                wait = usize::from(read) & f.zero;
            }
        }
        for v in 0..turn / S::N {
            register::<S, ROWS, STEPS>(
                s,
                &scalars,
                &b,
                (i + v * S::N) as isize,
                &sums,
                i + v * S::N,
            );
        }
        i += turn;
    }
    while i < end {
        register::<S, ROWS, STEPS>(s, &scalars, &b, i as isize, &sums, i);
        i += S::N;
    }
    register::<S, ROWS, STEPS>(s, &scalars, &b, f.last, &sums, end);
}

impl<T: Element> Sweep<T> {
    /// Prefetches `elements` elements of each row ahead, from column `i` on.
    #[inline(always)]
    fn prefetch<S: Simd<T = T>, const STEPS: usize>(&self, s: S, i: usize, elements: usize) {
        for step in 0..STEPS {
            let row = self.ahead.wrapping_offset(step as isize * self.b_rs);
            for line in 0..elements * size_of::<T>() / LINE {
                s.prefetch(row.wrapping_add(i).wrapping_byte_add(line * LINE));
            }
        }
    }
}

/// Adds the products to the register of sums at `at`, for the columns from `column` on.
///
/// # Safety
/// As [`sweep`], for this register; `b` and `sums` must be the rows of B and of the sums.
#[inline(always)]
// Indices, because iterators over `acc` can keep it in memory.
#[allow(clippy::needless_range_loop)]
unsafe fn register<S: Simd, const ROWS: usize, const STEPS: usize>(
    s: S,
    scalars: &[[S::V; ROWS]; STEPS],
    b: &[*const S::T; STEPS],
    column: isize,
    sums: &[*mut S::T; ROWS],
    at: usize,
) {
    let mut acc = [s.splat(S::T::ZERO); ROWS];
    // SAFETY: the caller vouches for the sums and for these columns of B.
    unsafe {
        for row in 0..ROWS {
            acc[row] = s.load(sums[row].wrapping_add(at));
        }
        for step in 0..STEPS {
            let x = s.load(b[step].wrapping_offset(column));
            for row in 0..ROWS {
                acc[row] = s.fma(scalars[step][row], x, acc[row]);
            }
        }
        for row in 0..ROWS {
            s.store(sums[row].wrapping_add(at), acc[row]);
        }
    }
}
