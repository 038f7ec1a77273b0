//! The reductions.

mod cut;

pub use cut::{Cut, MOST_VALUES};

use diptych::backend::check::reduce as check;
use diptych::backend::order::chunk_len;
use diptych::for_each_reduction;
use diptych_device::launch::{self, Device, Scratch};
use diptych_device::memory::Memory;
use diptych_device::ops::reduce::{self, Operation, known_bytes};
use diptych_device::real::Real;

/// Returns the chunks of a row of `n` elements.
pub fn chunks<T: Real>(n: usize) -> u64 {
    n.div_ceil(chunk_len::<T>()) as u64
}

/// Matrices that lie one behind the other, with strides in elements.
#[derive(Clone, Copy)]
pub(crate) struct Batch {
    /// The number of matrices.
    pub count: usize,
    /// From one to the next.
    pub x: isize,
    /// From the results of one to those of the next.
    pub out: isize,
}

impl Batch {
    /// A single matrix.
    pub const ONE: Self = Self {
        count: 1,
        x: 0,
        out: 0,
    };
}

/// The rows of a reduction, after the checks.
#[derive(Clone, Copy)]
pub(crate) struct Rows {
    /// The rows of a matrix.
    pub rows: check::CheckedRows,
    /// The matrices.
    pub batch: Batch,
    /// What the number of elements is reduced by.
    pub ddof: usize,
    /// The most results of parts in scratch memory.
    pub most_values: u64,
    /// Scratch memory that is enough; `None` to ask the device for it.
    pub scratch: Option<Scratch>,
}

impl Rows {
    /// The rows of one matrix.
    fn of(rows: check::CheckedRows, ddof: usize) -> Self {
        Self {
            rows,
            batch: Batch::ONE,
            ddof,
            most_values: MOST_VALUES,
            scratch: None,
        }
    }

    /// A vector of `n` elements with increment `cs`, as the only row.
    fn vector((n, cs): (usize, isize), ddof: usize) -> Self {
        let rows = check::CheckedRows {
            m: 1,
            n,
            rs: 1,
            cs,
            inc_out: 1,
        };
        Self::of(rows, ddof)
    }

    /// Returns how many matrices each launch takes, and how their rows are divided.
    fn plan<D: Device>(&self, chunks: u64, passes: u32, device: &D) -> (usize, Cut) {
        /// The most blocks of a grid along z.
        const MOST: usize = u16::MAX as usize;
        let count = self.batch.count.min(MOST);
        let (columns, m) = (are_columns(&self.rows), self.rows.m as u64);
        let batch = (count as u64, self.most_values);
        let cut = Cut::of_batch(columns, m, chunks, passes, batch, device);
        (count, cut)
    }

    /// Returns the bytes and counters of scratch memory that a launch needs.
    pub fn scratch<D: Device>(&self, device: &D, cost: Cost) -> (usize, usize) {
        let chunks = self.rows.n.div_ceil(cost.chunk);
        let (matrices, cut) = self.plan(chunks as u64, cost.passes, device);
        needed(&cut, self.rows.m * matrices, cost)
    }
}

/// Returns whether the row stride is less than the column stride, and there are enough rows for the layout in which
/// threads of a block read adjacent rows.
pub(crate) fn are_columns(rows: &check::CheckedRows) -> bool {
    let check::CheckedRows { m, n, rs, cs, .. } = *rows;
    m >= 8 && n > 1 && rs.unsigned_abs() < cs.unsigned_abs()
}

/// Returns the scratch memory in which the blocks of a row leave the results of their parts. It is empty if rows have one
/// part.
pub fn scratch<D: Device>(
    device: &D,
    cut: &Cut,
    rows: usize,
    cost: Cost,
) -> Result<Scratch, D::Error> {
    match needed(cut, rows, cost) {
        (0, 0) => Ok(Scratch::NONE),
        (bytes, counters) => device.scratch(bytes, counters),
    }
}

/// Returns the scratch memory that parts need: a value of each, what a row needs beside them, and one counter per row.
pub fn needed(cut: &Cut, rows: usize, cost: Cost) -> (usize, usize) {
    match cut.parts {
        1 => (0, 0),
        parts => {
            let row = parts as usize * cost.value as usize + cost.known as usize;
            (rows * row, rows)
        }
    }
}

/// What a reduction takes.
#[derive(Clone, Copy)]
pub struct Cost {
    /// Its passes.
    pub passes: u32,
    /// Bytes of a value in scratch memory.
    pub value: u32,
    /// Bytes of each row there beside its values.
    pub known: u32,
    /// Elements of a chunk.
    pub chunk: usize,
}

impl Cost {
    /// The cost of an operation on elements of type `M`.
    pub fn of<M: Memory, O: Operation<M::Number>>() -> Self {
        Self {
            passes: O::PASSES,
            value: O::VALUE_BYTES,
            known: known_bytes::<M, O>(),
            chunk: chunk_len::<M::Number>(),
        }
    }

    /// The cost of a sum of numbers.
    pub fn of_sum<T: Real>() -> Self {
        Self {
            passes: 1,
            value: size_of::<T>() as u32,
            known: 0,
            chunk: chunk_len::<T>(),
        }
    }
}

/// Expands, for each row of the table, the reduction of a vector, the reduction of the rows of a matrix, and the
/// launches of both.
macro_rules! reductions {
    ({} $($name:ident $rows:ident $columns:ident [$($ddof:ident)?] $out:ident $empty:ident)*) => {$(
        #[doc = concat!("See `diptych::raw::", stringify!($name), "`.")]
        ///
        /// # Errors
        /// Those of that function; errors of the device.
        ///
        /// # Safety
        /// `x` must be valid at `n` elements on the device, `out` for one, until the launch has run.
        pub unsafe fn $name<T: Real, D: Device>(
            device: &D, n: i64, x: *const T, incx: i64, $($ddof: i64,)? out: *mut reductions!(@type $out),
        ) -> Result<(), D::Error> {
            let ddof = 0;
            $(let ddof = ddof + check::ddof(n, $ddof)?;)?
            let vector = check::vector(reductions!(@needs $empty), n, x, incx, out)?;
            // SAFETY: as the caller's.
            unsafe { run::$name::<T, D>(device, (), Rows::vector(vector, ddof), x, out) }
        }

        #[doc = concat!("See `diptych::raw::", stringify!($rows), "`.")]
        ///
        /// # Errors
        /// Those of that function; errors of the device.
        ///
        /// # Safety
        /// `x` must be valid at m by n elements on the device, `out` at m, until the launch has run.
        pub unsafe fn $rows<T: Real, D: Device>(
            device: &D, m: i64, n: i64, x: *const T, rs: i64, cs: i64, $($ddof: i64,)?
            out: *mut reductions!(@type $out), inc_out: i64,
        ) -> Result<(), D::Error> {
            let ddof = 0;
            $(let ddof = ddof + check::ddof(n, $ddof)?;)?
            let rows = check::rows(reductions!(@needs $empty), m, n, x, rs, cs, out, inc_out)?;
            let Some(rows) = rows else {
                return Ok(());
            };
            // SAFETY: as the caller's.
            unsafe { run::$name::<T, D>(device, (), Rows::of(rows, ddof), x, out) }
        }
    )*

    /// The launches of each reduction, after the checks.
    pub(crate) mod run {
        use super::*;

        $(
            /// # Safety
            /// The rows must be valid on the device until the launches have run.
            pub unsafe fn $name<M: Memory, D: Device>(
                device: &D, format: M::Format, rows: Rows, x: *const M, out: *mut reductions!(@result $out),
            ) -> Result<(), D::Error> {
                type Op = reduce::$name;
                let cost = Cost::of::<M, Op>();
                let Cost { passes, value, .. } = cost;
                let Rows { rows: check::CheckedRows { m, n, rs, cs, inc_out }, batch, ddof, .. } = rows;
                let (per_launch, cut) = rows.plan(chunks::<M::Number>(n), passes, device);
                let Scratch { bytes, counters } = match rows.scratch {
                    Some(scratch) => scratch,
                    None => scratch(device, &cut, m * per_launch, cost)?,
                };
                let launch = if cut.columns { launch::$columns } else { launch::$rows };
                // A pass needs the result of the pass before. If rows have several parts, that is complete only in the
                // next launch.
                let passes_per_launch = if cut.parts > 1 { 1 } else { passes };
                for matrix in (0..batch.count).step_by(per_launch) {
                    let grid = cut.grid(value, per_launch.min(batch.count - matrix) as u32);
                    let x = x.wrapping_offset(batch.x.wrapping_mul(matrix as isize));
                    let out = M::result_at(format, out, batch.out.wrapping_mul(matrix as isize) as i64);
                    for first in (0..passes).step_by(passes_per_launch as usize) {
                        // SAFETY: as the caller's; the scratch memory is for this cut.
                        unsafe {
                            launch(
                                device, grid, format, m as u64, n as u64, x, rs as i64, cs as i64, ddof as u64, out,
                                inc_out as i64, batch.x as i64, batch.out as i64, cut.team, cut.run, first,
                                first + passes_per_launch, bytes, counters,
                            )?;
                        }
                    }
                }
                Ok(())
            }
        )*
    }
    };
    (@type element) => { T };
    (@type count) => {
        i64
    };
    (@type index) => { i64 };
    (@result element) => { M::Number };
    (@result $index:ident) => { i64 };
    (@needs refused) => { true };
    (@needs value) => { false };
}
for_each_reduction!(reductions! {} [name rows columns ddof result empty]);

/// See `diptych::raw::dot`.
///
/// # Errors
/// Those of that function; errors of the device.
///
/// # Safety
/// `x` and `y` must be valid at `n` elements on the device, `out` for one, until the launch has run.
pub unsafe fn dot<T: Real, D: Device>(
    device: &D,
    n: i64,
    x: *const T,
    incx: i64,
    y: *const T,
    incy: i64,
    out: *mut T,
) -> Result<(), D::Error> {
    let (n, incx, incy) = check::dot(n, x, incx, y, incy, out)?;
    let cut = Cut::new(false, 1, chunks::<T>(n), 1, 1, device);
    let Scratch { bytes, counters } = scratch(device, &cut, 1, Cost::of_sum::<T>())?;
    // SAFETY: as the caller's; the scratch memory is for this cut.
    unsafe {
        launch::dot(
            device,
            cut.grid(size_of::<T>() as u32, 1),
            n as u64,
            x,
            incx as i64,
            y,
            incy as i64,
            out,
            cut.team,
            cut.run,
            bytes,
            counters,
        )
    }
}

/// Dot products that lie one behind the other, with strides in elements and, of the results, in results.
pub(crate) struct Dots {
    /// Their number.
    pub count: usize,
    /// Elements of each vector.
    pub n: usize,
    /// From one element to the next, of both vectors.
    pub increments: [isize; 2],
    /// From one product to the next, of both vectors and of the results.
    pub strides: [isize; 3],
}

impl Dots {
    /// Launches them.
    ///
    /// # Safety
    /// The vectors and the results must be valid on the device until the launches have run.
    pub unsafe fn launch<M: Memory, D: Device>(
        &self,
        device: &D,
        format: M::Format,
        x: *const M,
        y: *const M,
        out: *mut M::Number,
    ) -> Result<(), D::Error> {
        /// The most blocks of a grid along z.
        const MOST: usize = u16::MAX as usize;
        let per_launch = self.count.min(MOST);
        let batch = (per_launch as u64, MOST_VALUES);
        let cut = Cut::of_batch(false, 1, chunks::<M::Number>(self.n), 1, batch, device);
        let cost = Cost::of_sum::<M::Number>();
        let Scratch { bytes, counters } = scratch(device, &cut, per_launch, cost)?;
        let ([incx, incy], [x_bs, y_bs, out_bs]) = (self.increments, self.strides);
        for first in (0..self.count).step_by(per_launch.max(1)) {
            let at = |stride: isize| stride.wrapping_mul(first as isize);
            let grid = cut.grid(cost.value, per_launch.min(self.count - first) as u32);
            // SAFETY: as the caller's; the scratch memory is for this cut.
            unsafe {
                launch::dots(
                    device,
                    grid,
                    format,
                    self.n as u64,
                    x.wrapping_offset(at(x_bs)),
                    incx as i64,
                    x_bs as i64,
                    y.wrapping_offset(at(y_bs)),
                    incy as i64,
                    y_bs as i64,
                    M::result_at(format, out, at(out_bs) as i64),
                    out_bs as i64,
                    cut.team,
                    cut.run,
                    bytes,
                    counters,
                )?;
            }
        }
        Ok(())
    }
}
