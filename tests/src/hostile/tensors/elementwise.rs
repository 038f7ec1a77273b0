//! Elementwise operations over tensors, against each on one element.

use diptych::table::Bound;
use diptych::{Storage, for_each_elementwise, raw, table};
use diptych_ffi::{dpt_exec, dpt_status, dpt_tensor};

use super::super::Outcome;
use super::super::kind::Kind;
use super::argument::{self, Argument};
use super::shapes::{self, broadcast, broadcast_places};
use super::{case, judge_shapes, judge_types, kind_or_integers, plain, typed, typed_integers};
use crate::integers;
use crate::mixed::Whole;
use crate::number::Number;
use crate::random::Input;

/// An operation over tensors, the last of which is the output, and on one element of each.
pub struct Operation {
    call: unsafe fn(*const dpt_exec, &[*const dpt_tensor]) -> dpt_status,
    one: fn(Kind, &[u64], u64) -> u64,
}

macro_rules! operations {
    ({} $($name:ident ($($arg:ident: $kind:ident),*) $out:ident)*) => {
        /// The operations, in the order of the table.
        pub const OPERATIONS: [Operation; table::ELEMENTWISE.len()] = {
            // Declared here again, because a macro cannot make their names.
            unsafe extern "C" {
                $(
                    #[link_name = concat!("dpt_", stringify!($name))]
                    fn $name(exec: *const dpt_exec, $($arg: *const dpt_tensor,)* $out: *const dpt_tensor) -> dpt_status;
                )*
            }
            [$(Operation {
                call: |exec, tensors| {
                    let [$($arg,)* $out] = *tensors else { unreachable!("as many as the row has") };
                    // SAFETY: as the caller's.
                    unsafe { $name(exec, $($arg,)* $out) }
                },
                one: |kind, inputs, old| {
                    fn one<T: Storage + Number>(inputs: &[u64], old: u64) -> u64 {
                        let [$($arg),*] = *inputs else { unreachable!("as many as the row has") };
                        $(let $arg = T::of_pattern($arg);)*
                        let mut out = T::of_pattern(old);
                        let exec = plain();
                        // SAFETY: one element each.
                        let done = unsafe { raw::$name(&exec, 1, $(operations!(@argument $kind $arg),)* &mut out) };
                        done.expect("one element of each is valid");
                        out.pattern()
                    }
                    typed!(kind, T => one::<T>(inputs, old))
                },
            }),*]
        };
    };
    (@argument scalar $arg:ident) => { $arg.into_compute() };
    (@argument array $arg:ident) => { &$arg };
}
for_each_elementwise!(operations! {} [name arguments output]);

/// Draws the tensors of a call; the output is the last.
fn arguments(input: &mut Input<'_>, row: &table::Elementwise) -> Vec<Argument> {
    let kind = kind_or_integers(input, &Kind::FLOATS, row.takes_integers);
    let shape = shapes::shape(input, 5);
    let arrays = row.arguments.iter().filter(|(_, role)| role.is_array());
    let mut whole = input.below(arrays.count());
    let mut all = Vec::new();
    for &(name, role) in row.arguments {
        let own = match role.is_array() {
            // One array has the whole shape.
            true if whole == 0 && !row.updates => shape.clone(),
            false if !input.rarely(4) => vec![],
            _ => shapes::broadcast_from(input, &shape),
        };
        whole = whole.wrapping_sub(usize::from(role.is_array()));
        let argument = Argument::input(input, name, kind, &own).or_in_place();
        all.push(match role.bound() {
            Some(_) => argument.or_none(input),
            None => argument,
        });
    }
    let shape = shapes::rarely_spoil(input, shape);
    let out = Argument::output(input, row.output, kind, &shape).or_in_place();
    let is_used = argument::count(&out) != 0;
    let mut all: Vec<Argument> = all.into_iter().map(|a| a.only_if(is_used)).collect();
    all.push(out);
    all
}

/// Returns whether the inputs are broadcast to the output.
fn shapes_fit(row: &table::Elementwise, inputs: &[Argument], out: &[i64]) -> bool {
    let present = inputs.iter().filter(|input| !input.is_none());
    let mut all: Vec<&[i64]> = present.map(|input| input.shape.as_slice()).collect();
    if row.updates || !row.arguments.iter().any(|(_, role)| role.is_array()) {
        all.push(out);
    }
    broadcast(&all).is_some_and(|shape| shape == out)
}

/// One element of an operation on integers.
fn one_integer<T: Whole>(row: &table::Elementwise, inputs: &[u64], old: u64) -> u64 {
    let inputs: Vec<T> = inputs.iter().map(|&bits| T::of_bits(bits)).collect();
    integers::elementwise(row.name, &inputs, T::of_bits(old)).bits()
}

/// What an absent bound stands for.
fn infinity(kind: Kind, bound: Bound) -> u64 {
    if Kind::INTEGERS.contains(&kind) {
        let (least, greatest) = typed_integers!(kind, T => <T as Whole>::BOUNDS);
        let limit = match bound {
            Bound::Lower => least,
            Bound::Upper => greatest,
        };
        return limit.cast_unsigned() & (u64::MAX >> (64 - kind.bits));
    }
    let value = crate::number::Value::Float(match bound {
        Bound::Lower => f64::NEG_INFINITY,
        Bound::Upper => f64::INFINITY,
    });
    typed!(kind, T => T::from_value(value).pattern())
}

/// Calls operation number `at` of the table.
pub fn run(input: &mut Input<'_>, at: usize) -> Outcome {
    let (row, operation) = (&table::ELEMENTWISE[at], &OPERATIONS[at]);
    let all = arguments(input, row);
    let (out, inputs) = all.split_last().expect("an output");
    let work = argument::count(out);
    let mut case = case(input, row.name, &all, work, None);
    let present = all.iter().filter(|argument| !argument.is_none());
    let integers = if row.takes_integers {
        &Kind::INTEGERS[..]
    } else {
        &[]
    };
    let allowed = [&Kind::FLOATS, integers].concat();
    judge_types(&mut case.verdict, present.map(|a| a.kind), &allowed);
    judge_shapes(&mut case.verdict, shapes_fit(row, inputs, &out.shape));
    // SAFETY: a call that may succeed has valid tensors; the library refuses the others.
    let call = |exec, tensors: &[_]| unsafe { (operation.call)(exec, tensors) };
    case.check_tensors(&all, call, |elements| {
        let of = |(i, argument): (usize, &Argument)| -> Vec<u64> {
            if argument.is_none() {
                let bound = row.arguments[i].1.bound().expect("only bounds are absent");
                return vec![infinity(out.kind, bound); work as usize];
            }
            let places = broadcast_places(&argument.shape, &out.shape);
            places.into_iter().map(|at| elements[i][at]).collect()
        };
        let columns: Vec<Vec<u64>> = inputs.iter().enumerate().map(of).collect();
        let old = &elements[inputs.len()];
        let element = |at: usize| {
            let each: Vec<u64> = columns.iter().map(|column| column[at]).collect();
            if Kind::INTEGERS.contains(&out.kind) {
                return typed_integers!(out.kind, T => one_integer::<T>(row, &each, old[at]));
            }
            (operation.one)(out.kind, &each, old[at])
        };
        Some(vec![(
            inputs.len(),
            (0..work as usize).map(element).collect(),
        )])
    })
}
