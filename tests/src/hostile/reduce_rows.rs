//! Reductions of rows.

use diptych_ffi::dpt_status_code as Code;

use super::functions::{Functions, Reduction};
use super::memory::Operand;
use super::reduce::{degrees, draw, value};
use super::{Case, Outcome, numbers};
use crate::random::Input;
use crate::report::Nan;

pub fn run(input: &mut Input<'_>) -> Outcome {
    if input.rarely(2) {
        typed::<f64>(input)
    } else {
        typed::<f32>(input)
    }
}

fn shape(input: &mut Input<'_>) -> (i64, i64) {
    let (long, short) = (input.pick(&[40, 40, 600]), input.pick(&[12, 40]));
    let (m, n) = (input.size(long), input.size(short));
    if input.rarely(2) { (m, n) } else { (n, m) }
}

fn typed<T: Functions>(input: &mut Input<'_>) -> Outcome {
    let (op, function) = draw::<T>(input);
    let (m, n) = shape(input);
    let ((rs, cs), inc_out) = (input.strides(m, n), input.stride(1));
    let ddof = degrees(input, n);
    let op = op.with_ddof(usize::try_from(ddof).unwrap_or(0));
    let out = match function {
        Reduction::Index(..) => Operand::output::<i64>("out", &[(m, inc_out)]),
        _ => Operand::output::<T>("out", &[(m, inc_out)]),
    };
    let operands = vec![Operand::input::<T>("x", &[(m, rs), (n, cs)]), out];
    let full = format!("{}_rows", op.name);
    let mut case = Case::new(input, full, &[m, n], operands, None, |verdict| {
        if m > 0 && n == 0 && op.row.needs_elements {
            verdict.fault(Code::DPT_EMPTY_REDUCTION);
        }
        if op.row.ddof && n > 0 && !(0..n).contains(&ddof) {
            if m > 0 {
                verdict.fault(Code::DPT_INVALID_VALUE);
            } else {
                verdict.may(Code::DPT_INVALID_VALUE);
            }
        }
    });
    case.nan = Nan::Bits;
    let call = |exec, p: &[usize]| {
        let (x, out) = (p[0] as *const T, p[1]);
        // SAFETY: a call that may succeed has valid operands; the library refuses the others.
        unsafe {
            match function {
                Reduction::Value(_, f) => f(exec, m, n, x, rs, cs, ddof, out as *mut T, inc_out),
                Reduction::Index(_, f) => f(exec, m, n, x, rs, cs, ddof, out as *mut i64, inc_out),
            }
        }
    };
    case.check(call, |elements| {
        let x = numbers::<T>(&elements[0]);
        let row = |i: usize| value(&op, &x[i * n as usize..(i + 1) * n as usize]);
        Some(vec![(1, (0..m as usize).map(row).collect())])
    })
}
