//! Maps over axes of tensors, against each of the same elements as one row.

use diptych::{for_each_row_map, raw, table};
use diptych_ffi::{dpt_exec, dpt_status, dpt_tensor};

use super::super::Outcome;
use super::super::judge::Verdict;
use super::super::kind::Kind;
use super::argument::{self, Argument};
use super::axes::{Axes, axes_of};
use super::shapes::{self, places};
use super::{bits, case, judge_shapes, judge_types, kind, numbers, plain, typed};
use crate::random::Input;

type Call = unsafe extern "C" fn(
    *const dpt_exec,
    *const dpt_tensor,
    i32,
    *const i32,
    *const dpt_tensor,
) -> dpt_status;

/// A map over axes of a tensor, and over one row.
pub struct Operation {
    call: Call,
    row: fn(Kind, Vec<u64>) -> Vec<u64>,
}

macro_rules! operations {
    ({} $($name:ident)*) => {
        /// The maps, in the order of the table.
        pub const OPERATIONS: [Operation; table::ROW_MAPS.len()] = {
            unsafe extern "C" {
                $(
                    #[link_name = concat!("dpt_", stringify!($name))]
                    fn $name(exec: *const dpt_exec, x: *const dpt_tensor, naxes: i32, axes: *const i32,
                        out: *const dpt_tensor) -> dpt_status;
                )*
            }
            [$(Operation {
                call: $name,
                row: |kind, x| typed!(kind, T => {
                    let mut x: Vec<T> = numbers(x);
                    let (n, p) = (x.len() as i64, x.as_mut_ptr());
                    // SAFETY: the row is valid.
                    let done = unsafe { raw::$name(&plain(), 1, n, p, n, 1, p, n, 1) };
                    done.expect("a row of any length");
                    bits(&x)
                }),
            }),*]
        };
    };
}
for_each_row_map!(operations! {}[name]);

/// Draws the shape; rarely one large enough for several threads, whose elements repeat in x.
fn shape(input: &mut Input<'_>) -> Vec<i64> {
    if input.rarely(64) && input.rarely(8) {
        return vec![1 + input.below(3) as i64, 4, 3000 + input.below(256) as i64];
    }
    shapes::shape(input, 5)
}

/// Judges everything but the tensors alone.
fn judge(verdict: &mut Verdict, x: &Argument, out: &Argument) {
    judge_types(verdict, [x.kind, out.kind], &Kind::FLOATS);
    judge_shapes(verdict, x.shape == out.shape);
}

/// Calls map number `at` of the table.
pub fn run(input: &mut Input<'_>, at: usize) -> Outcome {
    let (row, operation) = (&table::ROW_MAPS[at], &OPERATIONS[at]);
    let of = kind(input, &Kind::FLOATS);
    let shape = shape(input);
    let axes = Axes::draw(input, shape.len());
    let x = Argument::input(input, "x", of, &shape).or_in_place();
    let to = if input.rarely(24) {
        kind(input, &Kind::FLOATS)
    } else {
        of
    };
    let out_shape = shapes::rarely_spoil(input, shape.clone());
    let out = Argument::output(input, "out", to, &out_shape).or_in_place();
    let work = argument::count(&x).max(argument::count(&out));
    let all = [x, out];
    let mut case = case(input, row.name, &all, work, None);
    let set = axes.set(shape.len(), &mut case.verdict);
    judge(&mut case.verdict, &all[0], &all[1]);
    case.details += &format!("\n  axes {axes}");
    let call = |exec, t: &[_]| {
        // SAFETY: a call that may succeed has valid tensors; the library refuses the others.
        axes.with(|list| unsafe { (operation.call)(exec, t[0], axes.count(), list, t[1]) })
    };
    case.check_tensors(&all, call, |elements| {
        let set = set.as_deref()?;
        if elements[0].is_empty() {
            // Other axes may be long.
            return Some(vec![(1, Vec::new())]);
        }
        let rows = places(axes_of(&shape, set, false));
        let along = places(axes_of(&shape, set, true));
        let mut results = elements[0].clone();
        for first in rows {
            let places = || along.iter().map(|at| first + at);
            let row = places().map(|at| elements[0][at]).collect();
            for (at, value) in places().zip((operation.row)(of, row)) {
                results[at] = value;
            }
        }
        Some(vec![(1, results)])
    })
}
