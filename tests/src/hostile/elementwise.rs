//! Elementwise operations.

use super::functions::{Elementwise, Functions};
use super::input::Input;
use super::memory::Operand;
use super::{Case, Outcome, bits, numbers};
use crate::ops::{self, Scalars};
use crate::report::Nan;

pub fn run(input: &mut Input<'_>) -> Outcome {
    if input.rarely(2) {
        typed::<f64>(input)
    } else {
        typed::<f32>(input)
    }
}

fn typed<T: Functions>(input: &mut Input<'_>) -> Outcome {
    let (name, function) = input.pick(&T::ELEMENTWISE);
    let most = input.pick(&[100, 100, 100, 3000]);
    let n = input.size(most);
    let s = Scalars {
        lo: input.scalar::<T>(),
        hi: input.scalar::<T>(),
        alpha: input.scalar::<T>(),
    };
    let inputs = match function {
        Elementwise::Filled(_) => 0,
        Elementwise::BoundedBinary(_) | Elementwise::Binary(_) => 2,
        _ => 1,
    };
    let mut operands: Vec<Operand> = ["x", "y"][..inputs]
        .iter()
        .map(|name| Operand::input::<T>(name, &[(n, 1)]).or_in_place())
        .collect();
    operands.push(Operand::output::<T>("out", &[(n, 1)]).or_in_place());
    let mut case = Case::new::<T>(input, name, &[n], operands, None, |_| {});
    // A copy keeps the bits of a NaN.
    case.nan = if name == "fill" { Nan::Bits } else { Nan::Any };
    let call = |exec, p: &[usize]| {
        let out = p[inputs] as *mut T;
        let x = |i: usize| p[i] as *const T;
        // SAFETY: what the case may run has its memory; the rest is refused.
        unsafe {
            match function {
                Elementwise::Bounded(f) => f(exec, n, x(0), s.lo, s.hi, out),
                Elementwise::BoundedBinary(f) => f(exec, n, x(0), x(1), s.lo, s.hi, out),
                Elementwise::Binary(f) => f(exec, n, x(0), x(1), out),
                Elementwise::Scaled(f) => f(exec, n, s.alpha, x(0), out),
                Elementwise::Unary(f) => f(exec, n, x(0), out),
                Elementwise::Filled(f) => f(exec, n, s.alpha, out),
            }
        }
    };
    case.check(call, |elements| {
        let old = numbers::<T>(&elements[inputs]);
        let read = |i: usize| {
            if i < inputs {
                numbers(&elements[i])
            } else {
                old.clone()
            }
        };
        let all = ops::elementwise::<T>();
        let op = all
            .iter()
            .find(|op| op.name == name)
            .expect("an operation of the suites");
        Some(vec![(
            inputs,
            bits(&op.expected(&read(0), &read(1), &s, &old)),
        )])
    })
}
