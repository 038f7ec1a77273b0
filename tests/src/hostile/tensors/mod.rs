//! The functions over tensors: descriptions of any rank, shape, strides and type, true ones and false ones.
//!
//! The model takes a tensor's elements in row-major order, and gives them to the typed functions at the portable level
//! one by one, or as one contiguous vector or matrix.

mod argument;
mod axes;
mod convert;
mod elementwise;
mod epilogue;
mod gradients;
mod packed;
mod pair;
mod products;
mod reduce;
mod row_map;
mod shapes;

use diptych::{Exec, Level};
use diptych_ffi::{dpt_exec, dpt_status, dpt_status_code as Code, dpt_tensor};

use super::judge::Verdict;
use super::kind::Kind;
use super::{Case, Outcome, Written};
use crate::number::Number;
use crate::random::Input;
use argument::Argument;

type Run = fn(&mut Input<'_>) -> Outcome;

/// The operations that are not expanded from the rows of the table. Most are there twice, because they have more ways
/// than one of those.
const OTHERS: [Run; 19] = [
    products::matmul,
    products::matmul,
    products::dot,
    products::dot,
    products::outer,
    products::outer,
    products::ger,
    products::ger,
    gradients::mse,
    gradients::mse,
    gradients::lsq,
    gradients::lsq,
    convert::run,
    convert::run,
    packed::size,
    packed::pack,
    packed::pack,
    packed::matmul,
    packed::matmul,
];

/// The number of operations that the bytes choose from.
pub const OPERATIONS: usize = OTHERS.len()
    + elementwise::OPERATIONS.len()
    + reduce::OPERATIONS.len()
    + row_map::OPERATIONS.len();

pub fn run(input: &mut Input<'_>) -> Outcome {
    let mut at = input.operation(OPERATIONS);
    if let Some(other) = OTHERS.get(at) {
        return other(input);
    }
    at -= OTHERS.len();
    if at < elementwise::OPERATIONS.len() {
        return elementwise::run(input, at);
    }
    at -= elementwise::OPERATIONS.len();
    match at.checked_sub(reduce::OPERATIONS.len()) {
        None => reduce::run(input, at),
        Some(at) => row_map::run(input, at),
    }
}

/// Does `$body` with `$T` as the type of numbers of `$kind`, a float.
macro_rules! typed {
    ($kind:expr, $T:ident => $body:expr) => {
        match $kind {
            Kind { code: 4, .. } => {
                type $T = diptych::bf16;
                $body
            }
            Kind { bits: 16, .. } => {
                type $T = diptych::f16;
                $body
            }
            Kind::F64 => {
                type $T = f64;
                $body
            }
            Kind::F32 => {
                type $T = f32;
                $body
            }
            other => unreachable!("numbers of {other:?}"),
        }
    };
}
use typed;

/// Does `$body` with `$T` as the type of numbers of `$kind`, one of integers.
macro_rules! typed_integers {
    ($kind:expr, $T:ident => $body:expr) => {
        match $kind {
            Kind { code: 0, bits: 8 } => {
                type $T = i8;
                $body
            }
            Kind { code: 1, bits: 8 } => {
                type $T = u8;
                $body
            }
            Kind::I32 => {
                type $T = i32;
                $body
            }
            Kind::I64 => {
                type $T = i64;
                $body
            }
            other => unreachable!("numbers of {other:?}"),
        }
    };
}
use typed_integers;

/// A query of the scratch memory that a call needs.
type Query<'a> = Option<&'a dyn Fn(*const dpt_exec) -> Option<usize>>;

/// Lays out the tensors of a call and draws `exec`. `work` is the number of steps.
fn case(
    input: &mut Input<'_>,
    name: &str,
    arguments: &[Argument],
    work: i64,
    query: Query<'_>,
) -> Case {
    let operands = arguments.iter().map(Argument::operand).collect();
    let name = format!("tensor {name}");
    let mut case = Case::new(input, name, &[work], operands, query, |verdict| {
        if query.is_some() {
            // What the query says holds for one pair of matrices; several at once may need more.
            verdict.may(Code::DPT_WORKSPACE_TOO_SMALL);
        }
    });
    for (argument, operand) in arguments.iter().zip(&case.operands) {
        argument.judge(operand, &mut case.verdict);
        case.details += &format!("\n  {argument}");
    }
    case
}

impl Case {
    /// Makes a call with tensors.
    fn check_tensors(
        self,
        arguments: &[Argument],
        call: impl Fn(*const dpt_exec, &[*const dpt_tensor]) -> dpt_status,
        model: impl Fn(&[Vec<u64>]) -> Option<Written>,
    ) -> Outcome {
        let call = |exec: *const dpt_exec, addresses: &[usize]| {
            let described = arguments.iter().zip(addresses);
            let tensors: Vec<dpt_tensor> = described.map(|(a, &p)| a.tensor(p)).collect();
            let pointers = arguments.iter().zip(&tensors);
            let pointers: Vec<*const dpt_tensor> = pointers.map(|(a, t)| a.pointer(t)).collect();
            call(exec, &pointers)
        };
        self.check(call, model)
    }
}

/// Judges the types of a call: all must be the same, and one of `allowed`.
fn judge_types(verdict: &mut Verdict, kinds: impl IntoIterator<Item = Kind>, allowed: &[Kind]) {
    let kinds: Vec<Kind> = kinds.into_iter().collect();
    if kinds.iter().any(|kind| !allowed.contains(kind)) {
        verdict.fault(Code::DPT_UNSUPPORTED_TYPE);
    }
    if kinds.iter().any(|&kind| kind != kinds[0]) {
        verdict.fault(Code::DPT_TYPE_MISMATCH);
    }
}

/// Returns whether numbers have 16 bits.
fn is_half(kind: Kind) -> bool {
    kind.bits == 16
}

/// Returns the bits of a number as `f32`.
fn widened(kind: Kind, bits: u64) -> u64 {
    let bits = bits as u16;
    let wide = match kind {
        Kind { code: 4, .. } => diptych::bf16::from_bits(bits).to_f32(),
        _ => diptych::f16::from_bits(bits).to_f32(),
    };
    wide.pattern()
}

/// Draws the type of results that are rounded to that of the elements, or are not.
fn result_kind(input: &mut Input<'_>, of: Kind) -> Kind {
    if is_half(of) && input.rarely(3) {
        Kind::F32
    } else {
        of
    }
}

/// As [`judge_types`], and the type of the result, which may be `f32` if the elements have 16 bits.
fn judge_result(verdict: &mut Verdict, kinds: &[Kind], result: Kind) {
    let of = kinds[0];
    let result = if is_half(of) && result == Kind::F32 {
        of
    } else {
        result
    };
    judge_types(
        verdict,
        kinds.iter().copied().chain([result]),
        &Kind::FLOATS,
    );
}

/// Judges the shapes of a call.
fn judge_shapes(verdict: &mut Verdict, fit: bool) {
    if !fit {
        verdict.fault(Code::DPT_SHAPE_MISMATCH);
    }
}

/// Draws the type of a call.
fn kind(input: &mut Input<'_>, all: &[Kind]) -> Kind {
    all[[0, 0, 1, 2, 3][input.below(5)] % all.len()]
}

/// As [`kind`], now and then one of integers if there may be.
fn kind_or_integers(input: &mut Input<'_>, all: &[Kind], takes_integers: bool) -> Kind {
    let of_integers = input.rarely(4) && takes_integers;
    if of_integers {
        input.pick(&Kind::INTEGERS)
    } else {
        kind(input, all)
    }
}

/// One thread, at the level that is the plainest.
fn plain() -> Exec<'static> {
    let exec = Exec::new().with_level(Level::Portable);
    exec.expect("the portable level is always there")
}

/// Returns the numbers with these bits.
fn numbers<T: Number>(bits: impl IntoIterator<Item = u64>) -> Vec<T> {
    bits.into_iter().map(T::of_pattern).collect()
}

/// Returns the bits of these numbers.
fn bits<T: Number>(numbers: &[T]) -> Vec<u64> {
    numbers.iter().map(|v| v.pattern()).collect()
}
