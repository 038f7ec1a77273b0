//! Maps over rows.

use super::functions::Functions;
use super::memory::Operand;
use super::{Case, Outcome, bits, numbers};
use crate::model::Dense;
use crate::ops;
use crate::random::Input;

pub fn run(input: &mut Input<'_>) -> Outcome {
    if input.rarely(2) {
        typed::<f64>(input)
    } else {
        typed::<f32>(input)
    }
}

fn shape(input: &mut Input<'_>) -> (i64, i64) {
    let (long, short) = (input.pick(&[40, 40, 1200]), input.pick(&[8, 40]));
    let (m, n) = (input.size(long), input.size(short));
    if input.rarely(2) { (m, n) } else { (n, m) }
}

fn typed<T: Functions>(input: &mut Input<'_>) -> Outcome {
    let at = input.operation(T::ROW_MAPS.len());
    let op = ops::row_maps::<T>().swap_remove(at);
    let (name, function) = (op.name, T::ROW_MAPS[at]);
    let (m, n) = shape(input);
    let (x_rs, x_cs) = input.strides(m, n);
    let (out_rs, out_cs) = if input.rarely(2) {
        input.strides(m, n)
    } else {
        (x_rs, x_cs)
    };
    let operands = vec![
        Operand::input::<T>("x", &[(m, x_rs), (n, x_cs)]).or_in_place(),
        Operand::output::<T>("out", &[(m, out_rs), (n, out_cs)]).or_in_place(),
    ];
    let case = Case::new(input, name, &[m, n], operands, None, |_| {});
    let call = |exec, p: &[usize]| {
        let (x, out) = (p[0] as *const T, p[1] as *mut T);
        // SAFETY: a call that may succeed has valid operands; the library refuses the others.
        unsafe { function(exec, m, n, x, x_rs, x_cs, out, out_rs, out_cs) }
    };
    case.check(call, |elements| {
        let x = Dense {
            rows: m as usize,
            cols: n as usize,
            data: numbers::<T>(&elements[0]),
        };
        Some(vec![(1, bits(&op.expected(&x).data))])
    })
}
