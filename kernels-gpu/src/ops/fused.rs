//! mse_grad and lsq_grad.

use super::reduce::{Cost, Cut, chunks, needed};
use diptych::Error;
use diptych::backend::args::Matrix;
use diptych::backend::check::fused as check;
use diptych::backend::order::LSQ_ROWS;
use diptych_device::launch::{self, Device, Grid, Scratch, entry};
use diptych_device::ops::fused::FAN_IN;
use diptych_device::ops::reduce::shared_bytes;
use diptych_device::real::Real;
use diptych_device::table::Entry;

/// See `diptych::raw::mse_grad`.
///
/// # Errors
/// Those of that function; errors of the device.
///
/// # Safety
/// The arrays must be valid for `n` elements on the device, `loss` for one, until the launch has run.
pub unsafe fn mse_grad<T: Real, D: Device>(
    device: &D,
    n: i64,
    pred: *const T,
    target: *const T,
    grad: *mut T,
    loss: *mut T,
) -> Result<(), D::Error> {
    let n = check::mse_grad(n, pred, target, grad, loss)?;
    let plan = MsePlan::new::<T, D>(device, n);
    let scratch = match plan.scratch() {
        (0, 0) => Scratch::NONE,
        (bytes, counters) => device.scratch(bytes, counters)?,
    };
    // SAFETY: as the caller's; the scratch memory is enough.
    unsafe { plan.launch(device, n, [pred, target], [grad, loss], scratch) }
}

/// How the elements of `mse_grad` are divided.
pub(crate) struct MsePlan {
    cut: Cut,
    cost: Cost,
}

impl MsePlan {
    pub fn new<T: Real, D: Device>(device: &D, n: usize) -> Self {
        Self {
            cut: Cut::new(false, 1, chunks::<T>(n), 1, 1, device),
            cost: Cost::of_sum::<T>(),
        }
    }

    /// Returns the bytes and counters of scratch memory.
    pub fn scratch(&self) -> (usize, usize) {
        needed(&self.cut, 1, self.cost)
    }

    /// Launches the kernel.
    ///
    /// # Safety
    /// As [`mse_grad`]; the arguments must have been checked, and the scratch memory be enough.
    pub unsafe fn launch<T: Real, D: Device>(
        &self,
        device: &D,
        n: usize,
        [pred, target]: [*const T; 2],
        [grad, loss]: [*mut T; 2],
        Scratch { bytes, counters }: Scratch,
    ) -> Result<(), D::Error> {
        let Self { cut, cost } = self;
        let grid = cut.grid(cost.value, 1);
        // SAFETY: as the caller's.
        unsafe {
            launch::mse_grad(
                device, grid, n as u64, pred, target, grad, loss, cut.team, cut.run, bytes,
                counters,
            )
        }
    }
}

/// Resident blocks on a multiprocessor, by the registers of the kernels.
const RESIDENT: usize = 2;
/// The same for `lsq_grad_narrow`.
const RESIDENT_NARROW: usize = 6;

/// Returns log2 of the row blocks of a part. `slots` blocks run at once, so the parts take as many turns as that takes,
/// and the least product of turns and row blocks wins; of equal ones the fewest parts, whose sums are added up. At most
/// 2^`halvings` turns are considered, since each part takes scratch memory.
fn run(row_blocks: usize, slots: usize, halvings: u32) -> u32 {
    let one_turn = row_blocks.div_ceil(slots).next_power_of_two().ilog2();
    let time = |run: u32| row_blocks.div_ceil(1 << run).div_ceil(slots) << run;
    let candidates = (one_turn.saturating_sub(halvings)..=one_turn).rev();
    candidates.min_by_key(|&run| time(run)).unwrap_or(one_turn)
}

/// How the rows of `lsq_grad` are divided among the blocks of the grid. A row block is `LSQ_ROWS` rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LsqCut {
    /// Whether the row stride is less than the column stride.
    columns: bool,
    /// Whether blocks have 64 threads instead of 256, for rows that fill no more.
    narrow: bool,
    /// log2 of the row blocks of a part.
    run: u32,
    /// Parts of the rows, each with a block of the grid.
    parts: u32,
    /// Rows that a block processes at once.
    stage: u32,
}

impl LsqCut {
    fn new<T>(matrix: check::CheckedMatrix, multiprocessors: u32) -> Self {
        /// Bytes of L1 that the rows of a block may take.
        const STAGE_BYTES: usize = 64 << 10;
        let check::CheckedMatrix { m, n, a_rs, a_cs } = matrix;
        let columns = n > 1 && m > 1 && a_rs.unsigned_abs() < a_cs.unsigned_abs();
        let narrow = !columns && n <= 64 * 16 / size_of::<T>();
        let row_blocks = m.div_ceil(LSQ_ROWS).max(1);
        let resident = if narrow { RESIDENT_NARROW } else { RESIDENT };
        // Where rows may be short, the library's own scratch memory suffices for more sizes with fewer parts.
        let halvings = if narrow || columns { 1 } else { 2 };
        let run = run(row_blocks, multiprocessors as usize * resident, halvings);
        let fits = n.saturating_mul(LSQ_ROWS * size_of::<T>()) <= STAGE_BYTES;
        Self {
            columns,
            narrow,
            run,
            parts: row_blocks.div_ceil(1 << run) as u32,
            stage: if fits || narrow { 32 } else { 16 },
        }
    }

    /// Returns the elements of scratch memory; `None` on overflow.
    fn scratch<T: Real>(&self, n: usize) -> Option<usize> {
        let pitch = n.checked_next_multiple_of(T::WIDTH as usize)?;
        pitch.checked_mul((self.run as usize + 1) * self.parts as usize)
    }

    /// Returns the counters: in each level of the tree over parts, one for every [`FAN_IN`] nodes.
    fn counters(&self) -> usize {
        let (mut nodes, mut counters) = (self.parts, 0);
        while nodes > 1 {
            nodes = nodes.div_ceil(FAN_IN);
            counters += nodes as usize;
        }
        counters
    }
}

/// Returns the bytes and counters of scratch memory that are enough for `lsq_grad` of this shape with any strides;
/// `None` on overflow.
pub fn lsq_scratch<T: Real>(m: usize, n: usize, multiprocessors: u32) -> Option<(usize, usize)> {
    let strides = [(n, 1), (1, m)];
    let mut needed = (0, 0);
    for (a_rs, a_cs) in strides {
        let (a_rs, a_cs) = (isize::try_from(a_rs).ok()?, isize::try_from(a_cs).ok()?);
        let cut = LsqCut::new::<T>(check::CheckedMatrix { m, n, a_rs, a_cs }, multiprocessors);
        let bytes = cut.scratch::<T>(n)?.checked_mul(size_of::<T>())?;
        needed = (bytes.max(needed.0), cut.counters().max(needed.1));
    }
    Some(needed)
}

/// See `diptych::raw::lsq_grad`.
///
/// # Errors
/// Those of that function; errors of the device.
///
/// # Safety
/// `a` must be valid at m by n elements on the device, `x` for n, `y` for m, `grad` for n, until the launch
/// has run.
pub unsafe fn lsq_grad<T: Real, D: Device>(
    device: &D,
    m: i64,
    n: i64,
    a: *const T,
    a_rs: i64,
    a_cs: i64,
    x: *const T,
    y: *const T,
    grad: *mut T,
) -> Result<(), D::Error> {
    let args = check::LsqArguments {
        m,
        n,
        a: Matrix::new(a, a_rs, a_cs),
        x,
        y,
        grad,
    };
    let Some(matrix) = check::lsq_grad(&args)? else {
        return Ok(());
    };
    let plan = LsqPlan::new::<T, D>(device, matrix)?;
    let (bytes, counters) = plan.scratch();
    let scratch = device.scratch(bytes, counters)?;
    // SAFETY: as the caller's; the scratch memory is enough.
    unsafe { plan.launch(device, a, [x, y], grad, scratch) }
}

/// How the rows of `lsq_grad` are divided, and the scratch memory that this takes.
pub(crate) struct LsqPlan {
    matrix: check::CheckedMatrix,
    cut: LsqCut,
    bytes: usize,
}

impl LsqPlan {
    pub fn new<T: Real, D: Device>(
        device: &D,
        matrix: check::CheckedMatrix,
    ) -> Result<Self, Error> {
        let cut = LsqCut::new::<T>(matrix, device.multiprocessors());
        let bytes = cut
            .scratch::<T>(matrix.n)
            .and_then(|n| n.checked_mul(size_of::<T>()))
            .ok_or(Error::SizeOverflow { arg: "m * n" })?;
        Ok(Self { matrix, cut, bytes })
    }

    /// Returns the bytes and counters of scratch memory.
    pub fn scratch(&self) -> (usize, usize) {
        (self.bytes, self.cut.counters())
    }

    /// Returns the kernel.
    pub fn kernel(&self) -> &'static Entry {
        match (self.cut.columns, self.cut.narrow) {
            (true, _) => &entry::lsq_grad_columns,
            (false, true) => &entry::lsq_grad_narrow,
            (false, false) => &entry::lsq_grad,
        }
    }

    /// Launches the kernel.
    ///
    /// # Safety
    /// As [`lsq_grad`]; the arguments must have been checked, and the scratch memory be enough.
    pub unsafe fn launch<T: Real, D: Device>(
        &self,
        device: &D,
        a: *const T,
        [x, y]: [*const T; 2],
        grad: *mut T,
        Scratch { bytes, counters }: Scratch,
    ) -> Result<(), D::Error> {
        let Self { matrix, cut, .. } = self;
        let levels = chunks::<T>(matrix.n).next_power_of_two().ilog2();
        let grid = Grid {
            blocks: (cut.parts, 1, 1),
            shared: shared_bytes(cut.columns, levels, size_of::<T>() as u32),
        };
        let launch = match (cut.columns, cut.narrow) {
            (true, _) => launch::lsq_grad_columns,
            (false, true) => launch::lsq_grad_narrow,
            (false, false) => launch::lsq_grad,
        };
        let (m, n) = (matrix.m as u64, matrix.n as u64);
        let (rs, cs) = (matrix.a_rs as i64, matrix.a_cs as i64);
        // SAFETY: as the caller's; the scratch memory is for this cut.
        unsafe {
            launch(
                device,
                grid,
                m,
                n,
                a,
                rs,
                cs,
                x,
                y,
                grad,
                cut.run,
                cut.stage,
                bytes.cast(),
                counters,
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ops::resources::resident_blocks;

    #[test]
    fn resident_blocks_follow_from_the_registers() {
        for (name, blocks) in [
            ("lsq_grad", RESIDENT),
            ("lsq_grad_columns", RESIDENT),
            ("lsq_grad_narrow", RESIDENT_NARROW),
        ] {
            for of in ["f32", "f64"] {
                assert_eq!(resident_blocks(&format!("{name}_{of}")), Some(blocks));
            }
        }
    }

    /// 132 multiprocessors with two blocks each.
    #[test]
    fn parts_fill_whole_turns() {
        for (row_blocks, parts) in [
            (1usize, 1),
            (264, 264),
            // 270 parts of 2 would take two turns, the second for 6 of them: as long as 4 row blocks, not 3.
            (540, 540),
            (313, 157),
            (938, 235),
            (100_000, 782),
        ] {
            assert_eq!(row_blocks.div_ceil(1 << run(row_blocks, 264, 2)), parts);
        }
    }
}
