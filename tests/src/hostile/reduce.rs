//! Reductions of vectors, and `dot`.

use diptych::table;
use diptych_ffi::dpt_status_code as Code;

use super::functions::{Functions, Reduction};
use super::memory::Operand;
use super::{Case, Outcome, bits, numbers};
use crate::model;
use crate::ops;
use crate::random::Input;
use crate::report::Nan;

pub fn run(input: &mut Input<'_>) -> Outcome {
    match (input.rarely(2), input.rarely(8)) {
        (false, false) => reduction::<f32>(input),
        (true, false) => reduction::<f64>(input),
        (false, true) => dot::<f32>(input),
        (true, true) => dot::<f64>(input),
    }
}

/// Returns the model's result for one row, as bits; 0 if the call must fail.
pub fn value<T: Functions>(op: &ops::Reduction<T>, row: &[T]) -> u64 {
    op.expected(row).map_or(0, |value| {
        if op.gives_index() {
            value.wide() as u64
        } else {
            value.bits()
        }
    })
}

/// Draws a reduction and returns it with its C functions. The degrees of freedom are not set yet.
pub fn draw<T: Functions>(input: &mut Input<'_>) -> (ops::Reduction<T>, Reduction<T>) {
    let at = input.operation(T::REDUCTIONS.len());
    let name = table::REDUCTIONS[at].name;
    let mut all = ops::reductions::<T>().into_iter();
    let op = all.find(|op| op.name == name);
    (op.expect("an operation of the suites"), T::REDUCTIONS[at])
}

/// Draws the degrees of freedom, mostly 0 or 1.
pub fn degrees(input: &mut Input<'_>, n: i64) -> i64 {
    match input.below(8) {
        0..=2 => 0,
        3..=5 => 1,
        6 => input.size(n.saturating_add(1)),
        _ => n,
    }
}

/// Draws a length and a stride. Rarely the length is large enough for several threads; the stride is then 0.
fn length(input: &mut Input<'_>) -> (i64, i64) {
    if input.rarely(64) && input.rarely(64) {
        return (140_000 + input.below(256) as i64, 0);
    }
    let most = input.pick(&[100, 100, 100, 5000]);
    (input.size(most), input.stride(1))
}

fn reduction<T: Functions>(input: &mut Input<'_>) -> Outcome {
    let (op, function) = draw::<T>(input);
    let (n, inc) = length(input);
    let ddof = degrees(input, n);
    let op = op.with_ddof(usize::try_from(ddof).unwrap_or(0));
    let out = match function {
        Reduction::Index(..) => Operand::output::<i64>("out", &[(1, 1)]),
        _ => Operand::output::<T>("out", &[(1, 1)]),
    };
    let operands = vec![Operand::input::<T>("x", &[(n, inc)]), out];
    let mut case = Case::new(input, op.name, &[n], operands, None, |verdict| {
        if n == 0 && op.row.needs_elements {
            verdict.fault(Code::DPT_EMPTY_REDUCTION);
        }
        if op.row.ddof && n > 0 && !(0..n).contains(&ddof) {
            verdict.fault(Code::DPT_INVALID_VALUE);
        }
    });
    case.nan = Nan::Bits;
    let call = |exec, p: &[usize]| {
        let (x, out) = (p[0] as *const T, p[1]);
        // SAFETY: a call that may succeed has valid operands; the library refuses the others.
        unsafe {
            match function {
                Reduction::Value(f, _) => f(exec, n, x, inc, ddof, out as *mut T),
                Reduction::Index(f, _) => f(exec, n, x, inc, ddof, out as *mut i64),
            }
        }
    };
    case.check(call, |elements| {
        Some(vec![(1, vec![value(&op, &numbers(&elements[0]))])])
    })
}

fn dot<T: Functions>(input: &mut Input<'_>) -> Outcome {
    let (n, incx) = length(input);
    let incy = if n > 100_000 { 0 } else { input.stride(1) };
    let operands = vec![
        Operand::input::<T>("x", &[(n, incx)]),
        Operand::input::<T>("y", &[(n, incy)]),
        Operand::output::<T>("out", &[(1, 1)]),
    ];
    let mut case = Case::new(input, "dot", &[n], operands, None, |_| {});
    case.nan = Nan::Bits;
    let call = |exec, p: &[usize]| {
        let (x, y) = (p[0] as *const T, p[1] as *const T);
        // SAFETY: a call that may succeed has valid operands; the library refuses the others.
        unsafe { T::DOT(exec, n, x, incx, y, incy, p[2] as *mut T) }
    };
    case.check(call, |elements| {
        let (x, y) = (numbers::<T>(&elements[0]), numbers::<T>(&elements[1]));
        Some(vec![(2, bits(&[model::dot(&x, &y)]))])
    })
}
