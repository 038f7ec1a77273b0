//! A and B of a block, and the sums of a segment.

use super::{COLUMNS, Place, ROWS};
use crate::gpu::shared::Shared;
use crate::gpu::{Vector, no_unroll, thread, unroll, warp};
use crate::real::Real;

/// The length of arrays with the steps of a chunk, the longest that `unroll!` expects.
const MOST: usize = 16;

/// The A and B of a block, and how a thread reads them.
pub(super) struct Operands<T> {
    /// The block's first row of A, at k = 0; strides along m and along k.
    pub(super) a: (*const T, isize, isize),
    /// The block's first column of B, at k = 0; strides along n and along k.
    pub(super) b: (*const T, isize, isize),
    /// Rows and columns of the block that exist.
    pub(super) rows: u32,
    pub(super) columns: u32,
    /// Whether A is read in packs along k.
    pub(super) packs: bool,
    pub(super) place: Place,
    /// The team's part of shared memory.
    pub(super) shared: Shared<T>,
}

/// A chunk of A and B as a thread has loaded it.
struct Chunk<T> {
    a: [[T; MOST]; ROWS],
    b: [T; MOST],
}

impl<T: Real> Operands<T> {
    const WIDTH: usize = T::WIDTH as usize;
    /// Steps of k in a chunk: two packs of each row of A.
    const STEPS: usize = 2 * Self::WIDTH;

    /// Returns a pointer to A at a row of the block, or its last one, at step `k`.
    #[inline(always)]
    fn a_at(&self, row: u32, k: u64) -> *const T {
        let (a, row_stride, k_stride) = self.a;
        let row = row.min(self.rows - 1);
        a.wrapping_offset(row as isize * row_stride + k as isize * k_stride)
    }

    /// Returns the thread's place, hidden from the optimiser, which would compute all addresses before the loops and
    /// keep them in registers.
    #[inline(always)]
    fn opaque_place(&self) -> Place {
        Place {
            lane: thread::opaque(self.place.lane),
            ..self.place
        }
    }

    /// Returns a pointer to B at a column of the block, or its last one, at step `k`.
    #[inline(always)]
    fn b_at(&self, column: u32, k: u64) -> *const T {
        let (b, column_stride, k_stride) = self.b;
        let column = column.min(self.columns - 1);
        b.wrapping_offset(column as isize * column_stride + k as isize * k_stride)
    }

    /// Loads the thread's part of the chunk that begins at step `k`.
    ///
    /// # Safety
    /// All steps of the chunk must exist.
    #[inline(always)]
    unsafe fn load(&self, k: u64) -> Chunk<T> {
        let mut chunk = Chunk {
            a: [[T::ZERO; MOST]; ROWS],
            b: [T::ZERO; MOST],
        };
        let Place { lane, lanes, .. } = self.opaque_place();
        // SAFETY: as the caller's; past the edges the last row or column is read instead.
        unsafe {
            let mut from = self.b_at(lane % COLUMNS as u32, k + (lane / COLUMNS as u32) as u64);
            let next = (lanes / COLUMNS as u32) as isize * self.b.2;
            unroll!(element in 0..Self::STEPS => if self.has(element) {
                chunk.b[element] = T::load(from);
                from = from.wrapping_offset(next);
            });
            chunk.a = [self.load_row(lane, k), self.load_row(lane + lanes, k)];
        }
        chunk
    }

    /// Loads the chunk of a row of A that begins at step `k`; of packs, one of each of the neighbours' rows instead.
    ///
    /// # Safety
    /// As [`Self::load`].
    #[inline(always)]
    unsafe fn load_row(&self, row: u32, k: u64) -> [T; MOST] {
        let mut elements = [T::ZERO; MOST];
        // SAFETY: as the caller's; past the edge the last row is read instead.
        unsafe {
            if self.packs {
                let number = row % 2;
                let first = k + (number * T::WIDTH) as u64;
                unroll!(pack in 0..2 => {
                    let from = self.a_at(row - number + pack as u32, first);
                    let to = &mut elements[pack * Self::WIDTH..][..Self::WIDTH];
                    to.copy_from_slice(T::load_pack(from).as_ref());
                });
            } else {
                let mut from = self.a_at(row, k);
                unroll!(step in 0..Self::STEPS => {
                    elements[step] = T::load(from);
                    from = from.wrapping_offset(self.a.2);
                });
            }
        }
        elements
    }

    /// Returns whether a lane loads as many elements of a chunk of B.
    #[inline(always)]
    fn has(&self, element: usize) -> bool {
        element as u32 * self.place.lanes < (Self::STEPS * COLUMNS) as u32
    }

    /// Stores the thread's part of a chunk of B to shared memory.
    ///
    /// # Safety
    /// No other thread of the team may access the chunk in shared memory before the next barrier.
    #[inline(always)]
    #[track_caller]
    unsafe fn store(&self, chunk: &Chunk<T>) {
        unroll!(element in 0..Self::STEPS => if self.has(element) {
            self.shared.store(self.place.lane + element as u32 * self.place.lanes, chunk.b[element])
        });
    }

    /// Gives each thread the steps of its own row: two neighbours exchange the packs of the other's row.
    ///
    /// # Safety
    /// All threads of the warp must make this call.
    #[inline(always)]
    #[track_caller]
    unsafe fn exchange(&self, a: &mut [T; MOST]) {
        let upper = self.place.lane & 1 == 1;
        unroll!(low in 0..Self::WIDTH => {
            let high = low + Self::WIDTH;
            let (x, y) = (a[low], a[high]);
            let other = (if upper { x } else { y }).shuffle_xor(1);
            (a[low], a[high]) = if upper { (other, y) } else { (x, other) };
        });
    }

    /// Adds the steps of a chunk to the sums.
    ///
    /// # Safety
    /// The team's chunk of B must be in shared memory.
    #[inline(always)]
    #[track_caller]
    unsafe fn compute(&self, a: &[[T; MOST]; ROWS], sums: &mut [[T; COLUMNS]; ROWS]) {
        unroll!(step in 0..Self::STEPS => {
            let mut b = [T::ZERO; COLUMNS];
            unroll!(pack in 0..COLUMNS / Self::WIDTH => {
                let at = step * COLUMNS + pack * Self::WIDTH;
                let from = self.shared.load_vector(at as u32);
                b[pack * Self::WIDTH..][..Self::WIDTH].copy_from_slice(from.as_ref());
            });
            add_step(sums, [a[0][step], a[1][step]], &b);
        });
    }

    /// Returns the sums of the `steps` steps of k from `first` on; `most` is the largest number of steps of any team of
    /// the warp.
    ///
    /// # Safety
    /// The steps must exist, and all threads of the warp must make this call.
    #[inline(always)]
    pub(super) unsafe fn segment(&self, first: u64, steps: u32, most: u32) -> [[T; COLUMNS]; ROWS] {
        let mut sums = [[T::ZERO; COLUMNS]; ROWS];
        let chunk_steps = Self::STEPS as u32;
        let (chunks, most) = (steps / chunk_steps, most / chunk_steps);
        // A team that has no more chunks than others of its warp takes part in their shuffles and barriers, with the
        // first chunk of the matrices.
        let at = |number: u32| {
            if number < chunks {
                first + (number * chunk_steps) as u64
            } else {
                0
            }
        };
        // SAFETY: as the caller's; if any team has a chunk, the matrices begin with one.
        unsafe {
            if most > 0 {
                let mut next = self.load(at(0));
                let mut number = 0;
                loop {
                    no_unroll();
                    self.store(&next);
                    warp::sync_warp();
                    let mut a = next.a;
                    if self.packs {
                        self.exchange(&mut a[0]);
                        self.exchange(&mut a[1]);
                    }
                    number += 1;
                    if number < most {
                        next = self.load(at(number));
                    }
                    if number <= chunks {
                        self.compute(&a, &mut sums);
                    }
                    warp::sync_warp();
                    if number >= most {
                        break;
                    }
                }
            }
            let mut step = chunks * chunk_steps;
            while step < steps {
                no_unroll();
                self.add_from_global(first + step as u64, &mut sums);
                step += 1;
            }
        }
        sums
    }

    /// Adds step `k` to the sums without shared memory.
    ///
    /// # Safety
    /// The step must exist.
    #[inline(always)]
    unsafe fn add_from_global(&self, k: u64, sums: &mut [[T; COLUMNS]; ROWS]) {
        let Place { lane, lanes, .. } = self.opaque_place();
        let mut b = [T::ZERO; COLUMNS];
        // SAFETY: as the caller's; past the edges the last row or column is read instead.
        unsafe {
            unroll!(column in 0..COLUMNS => {
                b[column] = T::load(self.b_at(thread::opaque(column as u32), k));
            });
            let a = [
                T::load(self.a_at(lane, k)),
                T::load(self.a_at(lane + lanes, k)),
            ];
            add_step(sums, a, &b);
        }
    }
}

/// Adds a step of k to the sums.
#[inline(always)]
fn add_step<T: Real>(sums: &mut [[T; COLUMNS]; ROWS], a: [T; ROWS], b: &[T; COLUMNS]) {
    unroll!(column in 0..COLUMNS => {
        sums[0][column] = Vector::fma(a[0], b[column], sums[0][column]);
        sums[1][column] = Vector::fma(a[1], b[column], sums[1][column]);
    });
}
