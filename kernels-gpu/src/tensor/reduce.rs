//! The reductions over axes of tensors, expanded from the table of operations.

use super::axes::take;
use super::{Elements, gather, integers, with_memory};
use crate::ops::reduce::{Batch, Cost, MOST_VALUES, Rows, are_columns, run as launches};
use diptych::backend::check::reduce::CheckedRows;
use diptych::backend::tensor::{
    AxisPlan, Gives, KeptAxis, List, Location, Loop, Loops, ReductionProperties, ResultType, Type,
    for_each,
};
use diptych::tensor::Tensor;
use diptych::{for_each_reduction, reduction_properties};
use diptych_device::launch::{Device, Scratch, entry};
use diptych_device::memory::Memory;
use diptych_device::ops::integers::Kind;
use diptych_device::ops::reduce as operations;
use diptych_device::table::Entry;

/// A reduction, for any type of elements.
pub(super) struct Reduction<'a, E> {
    pub properties: ReductionProperties,
    /// Its kernels: of rows, and of columns.
    kernels: [&'static Entry; 2],
    /// What it takes for a type.
    pub cost: fn(Elements) -> Cost,
    /// What it is of integers, if it takes them.
    of_integers: Option<(Kind, Gives)>,
    /// Launches it for a type, from an array to another.
    pub launch: &'a dyn Fn(Elements, Rows, *const u8, *mut u8) -> Result<(), E>,
}

impl<E> Reduction<'_, E> {
    /// Returns the kernel that reduces rows of this shape.
    pub fn kernel(&self, rows: &CheckedRows) -> &'static Entry {
        let [of_rows, of_columns] = self.kernels;
        if are_columns(rows) {
            of_columns
        } else {
            of_rows
        }
    }

    /// Launches it for each index of the loops around `rows`.
    pub fn launch_each(&self, element: Elements, rows: Rows, outer: &Loops) -> Result<(), E> {
        let mut done = Ok(());
        for_each(&outer.loops, outer.first, |[out, x, ..]| {
            if done.is_ok() {
                done = (self.launch)(element, rows, x, out);
            }
        });
        done
    }
}

/// Checks the tensors and launches the reduction of rows.
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
    let (properties, mut plan) = (&reduction.properties, AxisPlan::empty());
    if let (Some(of), Some(Type::Integer(_))) =
        (reduction.of_integers, Type::of(x.dtype_code, x.dtype_bits))
    {
        let tensors = (x, axes, out);
        // SAFETY: as the caller's.
        return unsafe { integers::reduce(device, properties, of, tensors) };
    }
    // SAFETY: as the caller's.
    let checked = unsafe { properties.check(x, axes, ddof, out, Location::Device, &mut plan) };
    let (of, results) = checked?;
    let element = Elements {
        of,
        unrounded: results == ResultType::Other,
    };
    if plan.results == 0 {
        return Ok(());
    }
    let ddof = ddof as usize;
    let elements = match plan.reduced[..] {
        _ if plan.elements == 0 => [0, 0],
        [] => [1, 0],
        [axis] => [axis.count as isize, axis.step],
        // SAFETY: as the caller's.
        _ => return unsafe { gather::reduce(device, reduction, element, &plan, ddof) },
    };
    let kept = kept_loops(&plan);
    launch_rows(reduction, element, kept, (elements, ddof, None))
}

/// Returns the loops over the results of a plan and over the first elements of their rows.
pub(super) fn kept_loops(plan: &AxisPlan) -> Loops {
    let mut loops = List::new();
    for &KeptAxis { count, x, out } in plan.kept.iter() {
        let steps = [out, x, 0, 0, 0];
        loops.push(Loop { count, steps });
    }
    Loops {
        loops,
        first: [plan.out, plan.x, plan.out, plan.out, plan.out],
        operands: 2,
    }
}

/// Launches the reduction of rows: `kept` are the loops over the output and over the first elements of rows. There is a
/// call for each index of all loops but two. The others are the number of elements of a row and the bytes from one to the
/// next, ddof, and scratch memory if that is not the device's.
pub(super) fn launch_rows<E>(
    reduction: &Reduction<'_, E>,
    element: Elements,
    mut kept: Loops,
    (elements, ddof, scratch): ([isize; 2], usize, Option<Scratch>),
) -> Result<(), E> {
    let rows = Rows {
        scratch,
        ..rows_of(reduction, element, &mut kept.loops, elements, ddof)
    };
    reduction.launch_each(element, rows, &kept)
}

/// Takes two of the loops for a launch: one over the rows of a matrix, and one over matrices.
pub(super) fn rows_of<E>(
    reduction: &Reduction<'_, E>,
    element: Elements,
    kept: &mut List<Loop>,
    [n, step]: [isize; 2],
    ddof: usize,
) -> Rows {
    let size = element.of.size() as isize;
    let result = element.result(&reduction.properties).size() as isize;
    // Threads of a block read adjacent elements: of a row, or of adjacent rows.
    let is_contiguous = |one: &Loop| step != size && one.steps[1] == size && one.count >= 8;
    let row = take(kept, |one| (is_contiguous(one), one.count));
    let matrix = take(kept, |one| one.count);
    let of = |one: Loop| (one.steps[1] / size, one.steps[0] / result);
    let (rs, inc_out) = of(row);
    let (x, out) = of(matrix);
    Rows {
        rows: CheckedRows {
            m: row.count,
            n: n as usize,
            rs,
            cs: step / size,
            inc_out,
        },
        batch: Batch {
            count: matrix.count,
            x,
            out,
        },
        ddof,
        most_values: MOST_VALUES,
        scratch: None,
    }
}

/// The reductions.
macro_rules! reductions {
    ({} $($name:ident $rows:ident $columns:ident [$($ddof:ident)?] $out:ident $folds:tt $empty:ident $integers:tt)*) => {$(
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
            let degrees = 0;
            $(let degrees = degrees + $ddof;)?
            // SAFETY: as the caller's.
            unsafe { with::$name(device, |reduction| run(device, reduction, x, axes, degrees, out)) }
        }
    )*

    /// The reductions as values: each function passes one on.
    pub(super) mod with {
        use super::*;

        $(
            /// # Safety
            /// `use_it` may only launch it on checked tensors that are valid on the device until the launches have run.
            pub unsafe fn $name<D: Device, R>(device: &D, use_it: impl FnOnce(&Reduction<'_, D::Error>) -> R) -> R {
                let launch = |element: Elements, rows: Rows, x: *const u8, out: *mut u8| {
                    // SAFETY: as the caller's.
                    unsafe {
                        with_memory!(element.of, M, format => {
                            let format = if element.unrounded { M::unrounded(format) } else { format };
                            launches::$name::<M, D>(device, format, rows, x.cast(), out.cast())
                        })
                    }
                };
                use_it(&Reduction {
                    properties: reduction_properties!($out $folds $empty),
                    kernels: [&entry::$rows, &entry::$columns],
                    cost: |element| with_memory!(element.of, M, _format => Cost::of::<M, operations::$name>()),
                    of_integers: reductions!(@of_integers $out $integers),
                    launch: &launch,
                })
            }
        )*
    }
    };
    (@of_integers $out:ident []) => { None };
    (@of_integers $out:ident [$Fold:ident]) => {
        Some((reductions!(@kind $out $Fold), reduction_properties!(@gives $out $Fold)))
    };
    (@kind index Min) => { Kind::ArgMin };
    (@kind index Max) => { Kind::ArgMax };
    (@kind $out:ident $Fold:ident) => { Kind::$Fold };
}
for_each_reduction!(reductions! {} [name rows columns ddof result folds empty integers]);
