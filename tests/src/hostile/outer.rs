//! `outer` and `ger`.

use super::functions::Functions;
use super::memory::Operand;
use super::{Case, Outcome, bits, numbers};
use crate::model;
use crate::random::Input;

pub fn run(input: &mut Input<'_>) -> Outcome {
    if input.rarely(2) {
        typed::<f64>(input)
    } else {
        typed::<f32>(input)
    }
}

fn typed<T: Functions>(input: &mut Input<'_>) -> Outcome {
    let updates = input.rarely(2);
    let (m, n) = (input.size(70), input.size(70));
    let (incx, incy) = (input.stride(1), input.stride(1));
    let (rs, cs) = input.strides(m, n);
    let alpha = input.scalar::<T>();
    let operands = vec![
        Operand::input::<T>("x", &[(m, incx)]).only_if(n > 0),
        Operand::input::<T>("y", &[(n, incy)]).only_if(m > 0),
        Operand::output::<T>("out", &[(m, rs), (n, cs)]),
    ];
    let name = if updates { "ger" } else { "outer" };
    let case = Case::new(input, name, &[m, n], operands, None, |_| {});
    let call = |exec, p: &[usize]| {
        let (x, y, out) = (p[0] as *const T, p[1] as *const T, p[2] as *mut T);
        // SAFETY: a call that may succeed has valid operands; the library refuses the others.
        unsafe {
            if updates {
                T::GER(exec, m, n, alpha, x, incx, y, incy, out, rs, cs)
            } else {
                T::OUTER(exec, m, n, x, incx, y, incy, out, rs, cs)
            }
        }
    };
    case.check(call, |elements| {
        let (x, y) = (numbers::<T>(&elements[0]), numbers::<T>(&elements[1]));
        let old = numbers::<T>(&elements[2]);
        let element = |at: usize| {
            let (x, y) = (x[at / y.len()], y[at % y.len()]);
            if updates {
                model::ger(alpha, x, y, old[at])
            } else {
                x * y
            }
        };
        let new: Vec<T> = (0..old.len()).map(element).collect();
        Some(vec![(2, bits(&new))])
    })
}
