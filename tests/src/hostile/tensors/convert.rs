//! Conversions between all types, against those of one number.

use diptych::{bf16, f16};

use super::super::Outcome;
use super::super::kind::Kind;
use super::argument::{self, Argument};
use super::shapes::{self, broadcast, broadcast_places};
use super::{case, judge_shapes};
use crate::number::{Bool, Number, Value};
use crate::random::Input;
use crate::report::Nan;

/// Does `$body` with `$T` as the type of numbers of `$kind`.
macro_rules! any_type {
    ($kind:expr, $T:ident => $body:expr) => {
        any_type!(@arms $kind, $T => $body,
            (0, 8) i8, (0, 16) i16, (0, 32) i32, (0, 64) i64, (1, 8) u8, (1, 16) u16, (1, 32) u32, (1, 64) u64,
            (2, 16) f16, (4, 16) bf16, (2, 32) f32, (2, 64) f64, (6, 8) Bool)
    };
    (@arms $kind:expr, $T:ident => $body:expr, $(($code:literal, $bits:literal) $Type:ty),*) => {
        match ($kind.code, $kind.bits) {
            $(($code, $bits) => {
                type $T = $Type;
                $body
            })*
            _ => unreachable!("a type that the verdict allows"),
        }
    };
}

fn value_of(kind: Kind, bits: u64) -> Value {
    any_type!(kind, T => T::of_pattern(bits).value())
}

fn of_value(kind: Kind, value: Value) -> u64 {
    any_type!(kind, T => T::from_value(value).pattern())
}

pub fn run(input: &mut Input<'_>) -> Outcome {
    let (from, to) = (input.pick(&Kind::ALL), input.pick(&Kind::ALL));
    let to = if input.rarely(4) { from } else { to };
    let shape = shapes::shape(input, 5);
    let own = shapes::broadcast_from(input, &shape);
    let mut x = Argument::input(input, "x", from, &own);
    let shape = shapes::rarely_spoil(input, shape);
    let mut out = Argument::output(input, "out", to, &shape);
    if x.kind == out.kind {
        (x, out) = (x.or_in_place(), out.or_in_place());
    }
    let (from, to) = (x.kind, out.kind);
    let work = argument::count(&out);
    let all = [x.only_if(work != 0), out];
    let [x, out] = &all;
    let mut case = case(input, "convert", &all, work, None);
    let fits = broadcast(&[&x.shape, &out.shape]).is_some_and(|shape| shape == out.shape);
    judge_shapes(&mut case.verdict, fits);
    if from == to {
        case.nan = Nan::Bits;
    }
    let call = |exec, t: &[*const _]| {
        // SAFETY: a call that may succeed has valid tensors; the library refuses the others.
        unsafe { diptych_ffi::dpt_convert(exec, t[0], t[1].cast_mut()) }
    };
    case.check_tensors(&all, call, |elements| {
        if from == Kind::BOOL && elements[0].iter().any(|&bits| bits > 1) {
            // Where another tensor has been; not a bool.
            return None;
        }
        let one = |at: usize| match elements[0][at] {
            bits if from == to => bits,
            bits => of_value(to, value_of(from, bits)),
        };
        let places = broadcast_places(&x.shape, &out.shape);
        Some(vec![(1, places.into_iter().map(one).collect())])
    })
}
