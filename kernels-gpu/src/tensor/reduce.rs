//! The reductions over axes of tensors, expanded from the table of operations.

use crate::raw;
use diptych::backend::tensor::{Facts, Kept, Location, Plan};
use diptych::tensor::Tensor;
use diptych::{Dtype, Error, for_each_reduction, reduction_facts};
use diptych_device::launch::Device;

/// The rows of a launch, with strides in elements.
struct Rows {
    m: i64,
    n: i64,
    x: *const u8,
    rs: i64,
    cs: i64,
    out: *mut u8,
    inc_out: i64,
}

/// Checks the tensors and launches the reduction of rows, once for each index of the kept axes but one.
///
/// # Safety
/// The tensors must be valid on the device until the launches have run.
unsafe fn run<E: From<Error>>(
    facts: Facts,
    x: &Tensor,
    axes: Option<&[i32]>,
    ddof: i64,
    out: &Tensor,
    launch: &dyn Fn(Dtype, Rows) -> Result<(), E>,
) -> Result<(), E> {
    // SAFETY: as the caller's.
    let (dtype, plan) = unsafe { facts.check(x, axes, ddof, out, Location::Device)? };
    if plan.results == 0 {
        return Ok(());
    }
    let (n, cs) = match plan.reduced[..] {
        _ if plan.elements == 0 => (0, 0),
        [] => (1, 0),
        [axis] => (axis.count as i64, axis.step as i64 / dtype.size() as i64),
        _ => return Err(Error::Unsupported { arg: "axes" }.into()),
    };
    let rows = longest(&plan);
    let one = plan.kept.get(rows).copied().unwrap_or(Kept {
        count: 1,
        x: 0,
        out: 0,
    });
    let result = facts.result(dtype).size() as i64;
    let launches = plan.results / one.count;
    for index in 0..launches {
        let (mut rest, mut x, mut out) = (index, plan.x, plan.out);
        for (_, kept) in plan.kept.iter().enumerate().filter(|(i, _)| *i != rows) {
            let i = (rest % kept.count) as isize;
            rest /= kept.count;
            x = x.wrapping_offset(kept.x * i);
            out = out.wrapping_offset(kept.out * i);
        }
        launch(
            dtype,
            Rows {
                m: one.count as i64,
                n,
                x,
                rs: one.x as i64 / dtype.size() as i64,
                cs,
                out,
                inc_out: one.out as i64 / result,
            },
        )?;
    }
    Ok(())
}

/// Returns the number of the longest axis that is kept.
fn longest(plan: &Plan) -> usize {
    let kept = plan.kept.iter().enumerate();
    kept.max_by_key(|(_, kept)| kept.count)
        .map_or(0, |(i, _)| i)
}

/// The reductions.
macro_rules! reductions {
    ({} $($(#[$doc:meta])* $name:ident $rows:ident $columns:ident($($ddof:ident)?): $Bound:ident -> $out:ident $folds:tt $recipe:ident, $empty:ident, $facts:tt)*) => {$(
        #[doc = concat!("See `diptych::tensor::", stringify!($name), "`.")]
        ///
        /// # Errors
        /// Those of that function; `Unsupported` for axes to reduce that are not evenly spaced when they are one; errors of the
        /// device.
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
            let launch = |dtype, rows: Rows| {
                let Rows { m, n, x, rs, cs, out, inc_out } = rows;
                // SAFETY: `run` has checked the tensors; the caller vouches for them.
                unsafe {
                    match dtype {
                        Dtype::F32 => raw::$rows::<f32, D>(device, m, n, x.cast(), rs, cs, $($ddof,)? out.cast(), inc_out),
                        _ => raw::$rows::<f64, D>(device, m, n, x.cast(), rs, cs, $($ddof,)? out.cast(), inc_out),
                    }
                }
            };
            // SAFETY: as the caller's.
            unsafe { run(FACTS, x, axes, degrees, out, &launch) }
        }
    )*};
}
for_each_reduction!(reductions! {});
