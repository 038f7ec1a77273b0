//! The reductions over axes of tensors, expanded from the table of operations.

use super::gather;
use crate::ops::reduce::{Batch, Cost, Rows, run as launches};
use diptych::backend::check::reduce::Shape;
use diptych::backend::tensor::{Facts, Kept, List, Location};
use diptych::tensor::Tensor;
use diptych::{Dtype, for_each_reduction, reduction_facts};
use diptych_device::launch::{Device, entry};
use diptych_device::ops::reduce as operations;
use diptych_device::table::Entry;

/// A reduction, for any type of elements.
pub(super) struct Reduction<'a, E> {
    pub facts: Facts,
    /// Its kernels: of rows, and of columns.
    pub kernels: [&'static Entry; 2],
    /// What it takes for a type.
    pub cost: fn(Dtype) -> Cost,
    /// Launches it for a type, from an array to another.
    pub launch: &'a dyn Fn(Dtype, Rows, *const u8, *mut u8) -> Result<(), E>,
}

/// Checks the tensors and launches the reduction of rows. A launch has two of the kept axes; there is one for each index
/// of the others.
///
/// # Safety
/// The tensors must be valid on the device until the launches have run.
unsafe fn run<D: Device>(
    device: &D,
    reduction: &Reduction<'_, D::Error>,
    x: &Tensor,
    axes: Option<&[i32]>,
    ddof: i64,
    out: &Tensor,
) -> Result<(), D::Error> {
    let facts = reduction.facts;
    // SAFETY: as the caller's.
    let (dtype, plan) = unsafe { facts.check(x, axes, ddof, out, Location::Device)? };
    if plan.results == 0 {
        return Ok(());
    }
    let (ddof, size) = (ddof as usize, dtype.size() as isize);
    let (n, cs) = match plan.reduced[..] {
        _ if plan.elements == 0 => (0, 0),
        [] => (1, 0),
        [axis] => (axis.count, axis.step / size),
        // SAFETY: as the caller's.
        _ => return unsafe { gather::reduce(device, reduction, dtype, &plan, ddof) },
    };
    let result = facts.result(dtype).size() as isize;
    let mut outer = plan.kept.clone();
    // Threads of a block read adjacent elements: of a row, or of adjacent rows.
    let is_contiguous = |one: &Kept| cs != 1 && one.x == size && one.count >= 8;
    let mut take = |key: &dyn Fn(&Kept) -> (bool, usize)| take(&mut outer, key).unwrap_or(ONCE);
    let row = take(&|one| (is_contiguous(one), one.count));
    let matrix = take(&|one| (false, one.count));
    let rows = Rows {
        shape: Shape {
            m: row.count,
            n,
            rs: row.x / size,
            cs,
            inc_out: row.out / result,
        },
        batch: Batch {
            count: matrix.count,
            x: matrix.x / size,
            out: matrix.out / result,
        },
        ddof,
        scratch: None,
    };
    let mut done = Ok(());
    each_index(&outer, [plan.x, plan.out], |[x, out]| {
        if done.is_ok() {
            done = (reduction.launch)(dtype, rows, x, out);
        }
    });
    done
}

/// An axis of one result.
const ONCE: Kept = Kept {
    count: 1,
    x: 0,
    out: 0,
};

/// Takes the axis with the greatest key.
pub(super) fn take<K: Ord>(axes: &mut List<Kept>, key: impl Fn(&Kept) -> K) -> Option<Kept> {
    let best = axes.iter().enumerate().max_by_key(|(_, one)| key(one));
    let best = best.map(|(i, _)| i);
    best.and_then(|i| axes.remove(i))
}

/// Calls `body` with the addresses in the input and in the output for each index of the axes.
pub(super) fn each_index(axes: &[Kept], first: [*mut u8; 2], mut body: impl FnMut([*mut u8; 2])) {
    for index in 0..axes.iter().map(|axis| axis.count).product() {
        let (mut rest, [mut x, mut out]) = (index, first);
        for axis in axes {
            let i = (rest % axis.count) as isize;
            rest /= axis.count;
            x = x.wrapping_offset(axis.x.wrapping_mul(i));
            out = out.wrapping_offset(axis.out.wrapping_mul(i));
        }
        body([x, out]);
    }
}

/// The reductions.
macro_rules! reductions {
    ({} $($(#[$doc:meta])* $name:ident $rows:ident $columns:ident($($ddof:ident)?): $Bound:ident -> $out:ident $folds:tt $recipe:ident, $empty:ident, $facts:tt)*) => {$(
        #[doc = concat!("See `diptych::tensor::", stringify!($name), "`.")]
        ///
        /// # Errors
        /// Those of that function; errors of the device. Scratch memory for copies of rows is needed if the axes to reduce do
        /// not merge to one.
        ///
        /// # Safety
        /// The tensors must be valid on the device until the launch has run.
        pub unsafe fn $name<D: Device>(
            device: &D, x: &Tensor, axes: Option<&[i32]>, $($ddof: i64,)? out: &Tensor,
        ) -> Result<(), D::Error> {
            // There are no kernels for elements of 16 bits.
            const FACTS: Facts = Facts { takes_half: false, ..reduction_facts!($Bound $out $folds $empty) };
            let degrees = 0;
            $(let degrees = degrees + $ddof;)?
            let launch = |dtype, rows: Rows, x: *const u8, out: *mut u8| {
                // SAFETY: `run` has checked the tensors; the caller vouches for them.
                unsafe {
                    match dtype {
                        Dtype::F32 => launches::$name::<f32, D>(device, rows, x.cast(), out.cast()),
                        _ => launches::$name::<f64, D>(device, rows, x.cast(), out.cast()),
                    }
                }
            };
            let reduction = Reduction {
                facts: FACTS,
                kernels: [&entry::$rows, &entry::$columns],
                cost: |dtype| match dtype {
                    Dtype::F64 => Cost::of::<f64, operations::$name>(),
                    _ => Cost::of::<f32, operations::$name>(),
                },
                launch: &launch,
            };
            // SAFETY: as the caller's.
            unsafe { run(device, &reduction, x, axes, degrees, out) }
        }
    )*};
}
for_each_reduction!(reductions! {});
