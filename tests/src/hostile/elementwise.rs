//! Elementwise operations.

use core::ptr;

use super::functions::Functions;
use super::memory::Operand;
use super::{Case, Outcome, bits, numbers};
use crate::ops::{self, Scalars};
use crate::random::Input;
use crate::report::Nan;

pub fn run(input: &mut Input<'_>) -> Outcome {
    if input.rarely(2) {
        typed::<f64>(input)
    } else {
        typed::<f32>(input)
    }
}

fn typed<T: Functions>(input: &mut Input<'_>) -> Outcome {
    let at = input.operation(T::ELEMENTWISE.len());
    let op = ops::elementwise::<T>().swap_remove(at);
    let (name, function) = (op.name, T::ELEMENTWISE[at]);
    let most = input.pick(&[100, 100, 100, 3000]);
    let n = input.size(most);
    let s = Scalars {
        lo: input.scalar::<T>(),
        hi: input.scalar::<T>(),
        alpha: input.scalar::<T>(),
    };
    let inputs = op.inputs();
    let mut operands: Vec<Operand> = ["x", "y"][..inputs]
        .iter()
        .map(|name| Operand::input::<T>(name, &[(n, 1)]).or_in_place())
        .collect();
    operands.push(Operand::output::<T>("out", &[(n, 1)]).or_in_place());
    let mut case = Case::new(input, name, &[n], operands, None, |_| {});
    case.nan = if op.copies() { Nan::Bits } else { Nan::Any };
    let call = |exec, p: &[usize]| {
        let x = [0, 1].map(|i| {
            if i < inputs {
                p[i] as *const T
            } else {
                ptr::null()
            }
        });
        // SAFETY: a call that may succeed has valid operands; the library refuses the others.
        unsafe { function(exec, n, x, &s, p[inputs] as *mut T) }
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
        Some(vec![(
            inputs,
            bits(&op.expected(&read(0), &read(1), &s, &old)),
        )])
    })
}
