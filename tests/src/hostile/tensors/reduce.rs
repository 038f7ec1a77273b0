//! Reductions over axes of tensors, against each of the same elements as one vector.

use diptych::{for_each_reduction, raw, table};
use diptych_ffi::{dpt_exec, dpt_status, dpt_status_code as Code, dpt_tensor};

use super::super::Outcome;
use super::super::judge::Verdict;
use super::super::kind::Kind;
use super::super::reduce::degrees;
use super::argument::{self, Argument};
use super::axes::{Axes, axes_of};
use super::shapes::{self, places};
use super::{
    case, is_half, judge_shapes, kind_or_integers, numbers, plain, typed, typed_integers, widened,
};
use crate::integers;
use crate::mixed::Whole;
use crate::number::Number;
use crate::random::Input;
use crate::report::Nan;

type Call = unsafe fn(
    *const dpt_exec,
    *const dpt_tensor,
    i32,
    *const i32,
    i64,
    *const dpt_tensor,
) -> dpt_status;

/// A reduction over axes of a tensor, and of a vector.
pub struct Operation {
    call: Call,
    vector: fn(Kind, Vec<u64>, i64) -> u64,
}

macro_rules! operations {
    ({} $($name:ident [$($ddof:ident)?] $out:ident)*) => {
        /// The reductions, in the order of the table.
        pub const OPERATIONS: [Operation; table::REDUCTIONS.len()] = {
            unsafe extern "C" {
                $(
                    #[link_name = concat!("dpt_", stringify!($name))]
                    fn $name(exec: *const dpt_exec, x: *const dpt_tensor, naxes: i32, axes: *const i32,
                        $($ddof: i64,)? out: *const dpt_tensor) -> dpt_status;
                )*
            }
            [$(Operation {
                call: |exec, x, naxes, axes, _ddof, out| {
                    $(let $ddof = _ddof;)?
                    // SAFETY: as the caller's.
                    unsafe { $name(exec, x, naxes, axes, $($ddof,)? out) }
                },
                vector: |kind, x, _ddof| typed!(kind, T => {
                    $(let $ddof = _ddof;)?
                    let x: Vec<T> = numbers(x);
                    let mut out = operations!(@zero $out T);
                    let exec = plain();
                    // SAFETY: the vector is valid.
                    let done = unsafe { raw::$name(&exec, x.len() as i64, x.as_ptr(), 1, $($ddof,)? &mut out) };
                    done.expect("a reduction that the verdict allows");
                    out.pattern()
                }),
            }),*]
        };
    };
    (@zero element $T:ident) => { $T::of_pattern(0) };
    (@zero $index:ident $T:ident) => { 0_i64 };
}
for_each_reduction!(operations! {} [name ddof result]);

/// The shape of a result: the axes that are kept, and perhaps the others with length 1.
fn result_shape(shape: &[i64], set: &[bool], keeps: bool) -> Vec<i64> {
    let axes = shape.iter().zip(set);
    let axes = axes.filter(|&(_, is_reduced)| keeps || !is_reduced);
    axes.map(|(&n, &is_reduced)| if is_reduced { 1 } else { n })
        .collect()
}

/// Returns the types of results for elements of a type that the reduction takes.
fn results(row: &table::Reduction, of: Kind) -> Vec<Kind> {
    let is_extreme = matches!(row.folds, ["Min"] | ["Max"]);
    match of {
        _ if row.gives_index => vec![Kind::I64],
        _ if Kind::INTEGERS.contains(&of) && !is_extreme => vec![Kind::I64, Kind::I32, of],
        _ if is_half(of) => vec![of, of, Kind::F32],
        _ => vec![of],
    }
}

/// Returns the bits of a reduction of integers with these bits, in the type of the result.
fn of_integers((of, to): (Kind, Kind), row: &table::Reduction, bits: Vec<u64>) -> u64 {
    fn wide<T: Whole>(bits: u64) -> i64 {
        T::of_bits(bits).wide()
    }
    let wide = |bits| typed_integers!(of, T => wide::<T>(bits));
    let elements: Vec<i64> = bits.into_iter().map(wide).collect();
    let result = integers::reduction(row.name, &elements).cast_unsigned();
    result & (u64::MAX >> (64 - to.bits))
}

/// Judges everything but the tensors alone.
fn judge(
    verdict: &mut Verdict,
    row: &table::Reduction,
    (x, out): (&Argument, &Argument),
    set: Option<&[bool]>,
    ddof: i64,
) {
    let is_integer = row.takes_integers && Kind::INTEGERS.contains(&x.kind);
    if !Kind::FLOATS.contains(&x.kind) && !is_integer {
        verdict.fault(Code::DPT_UNSUPPORTED_TYPE);
    }
    if !results(row, x.kind).contains(&out.kind) {
        verdict.fault(Code::DPT_TYPE_MISMATCH);
    }
    let Some(set) = set else {
        return;
    };
    let fits = [false, true].map(|keeps| result_shape(&x.shape, set, keeps) == out.shape);
    judge_shapes(verdict, fits.contains(&true));
    let lengths = |wanted| -> Vec<i64> {
        let axes = axes_of(&x.shape, set, wanted).into_iter();
        axes.map(|(length, _)| length).collect()
    };
    let elements = shapes::count(&lengths(true));
    let results = shapes::count(&lengths(false));
    if row.ddof && elements != 0 && !(0..elements).contains(&ddof) {
        if results == 0 {
            verdict.may(Code::DPT_INVALID_VALUE);
        } else {
            verdict.fault(Code::DPT_INVALID_VALUE);
        }
    }
    if row.needs_elements && elements == 0 && results != 0 {
        verdict.fault(Code::DPT_EMPTY_REDUCTION);
    }
}

/// Draws the shape of the input; rarely one large enough for several threads, whose elements repeat.
fn shape(input: &mut Input<'_>) -> Vec<i64> {
    if input.rarely(64) && input.rarely(8) {
        return vec![1 + input.below(3) as i64, 140_000 + input.below(256) as i64];
    }
    shapes::shape(input, 5)
}

/// Calls reduction number `at` of the table.
pub fn run(input: &mut Input<'_>, at: usize) -> Outcome {
    let (row, operation) = (&table::REDUCTIONS[at], &OPERATIONS[at]);
    let kind = kind_or_integers(input, &Kind::FLOATS, row.takes_integers);
    let shape = shape(input);
    let axes = Axes::draw(input, shape.len());
    let mut x = Argument::input(input, "x", kind, &shape);
    if argument::count(&x) > 100_000 {
        x.repeat();
    }
    let mut nothing = Verdict::default();
    let wanted = axes.set(shape.len(), &mut nothing);
    let wanted = wanted.unwrap_or_else(|| vec![true; shape.len()]);
    let keeps = input.rarely(3);
    let result = shapes::rarely_spoil(input, result_shape(&shape, &wanted, keeps));
    let to = input.pick(&results(row, kind));
    let out = Argument::output(input, "out", to, &result);
    let x = x.only_if(argument::count(&out) != 0);
    let ddof = if row.ddof {
        degrees(input, shapes::count(&shape))
    } else {
        0
    };
    let work = argument::count(&x).max(argument::count(&out));
    let all = [x, out];
    let mut case = case(input, row.name, &all, work, None);
    let set = axes.set(shape.len(), &mut case.verdict);
    let [x, out] = &all;
    judge(&mut case.verdict, row, (x, out), set.as_deref(), ddof);
    case.nan = Nan::Bits;
    case.details += &format!("\n  axes {axes}, ddof {ddof}");
    let call = |exec, t: &[_]| {
        // SAFETY: a call that may succeed has valid tensors; the library refuses the others.
        axes.with(|axes_at| unsafe {
            (operation.call)(exec, t[0], axes.count(), axes_at, ddof, t[1])
        })
    };
    case.check_tensors(&all, call, |elements| {
        let set = set.as_deref()?;
        let outer = places(axes_of(&shape, set, false));
        let inner = if outer.is_empty() {
            Vec::new()
        } else {
            places(axes_of(&shape, set, true))
        };
        let vector = |outer: usize| {
            let elements = inner.iter().map(|at| elements[0][outer + at]);
            if is_half(x.kind) && out.kind == Kind::F32 {
                let widened = elements.map(|bits| widened(x.kind, bits));
                return (operation.vector)(Kind::F32, widened.collect(), ddof);
            }
            if Kind::INTEGERS.contains(&x.kind) {
                return of_integers((x.kind, out.kind), row, elements.collect());
            }
            (operation.vector)(x.kind, elements.collect(), ddof)
        };
        Some(vec![(1, outer.into_iter().map(vector).collect())])
    })
}
