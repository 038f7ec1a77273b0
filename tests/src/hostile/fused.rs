//! `mse_grad`, `lsq_grad`, and the query of the scratch memory of `lsq_grad`.

use diptych_ffi::{dpt_exec, dpt_status_code as Code};

use super::functions::Functions;
use super::memory::Operand;
use super::{Case, Outcome, bits, numbers};
use crate::model::{self, Dense};
use crate::random::Input;

pub fn run(input: &mut Input<'_>) -> Outcome {
    let double = input.rarely(2);
    match (input.below(8), double) {
        (0..=3, false) => lsq_grad::<f32>(input),
        (0..=3, true) => lsq_grad::<f64>(input),
        (4..=6, false) => mse_grad::<f32>(input),
        (4..=6, true) => mse_grad::<f64>(input),
        (_, false) => query::<f32>(input),
        (_, true) => query::<f64>(input),
    }
}

fn mse_grad<T: Functions>(input: &mut Input<'_>) -> Outcome {
    let most = input.pick(&[100, 100, 3000]);
    let n = input.size(most);
    let operands = vec![
        Operand::input::<T>("pred", &[(n, 1)]).or_in_place(),
        Operand::input::<T>("target", &[(n, 1)]).or_in_place(),
        Operand::output::<T>("grad", &[(n, 1)]).or_in_place(),
        Operand::output::<T>("loss", &[(1, 1)]),
    ];
    let case = Case::new(input, "mse_grad", &[n], operands, None, |_| {});
    let call = |exec, p: &[usize]| {
        let (pred, target) = (p[0] as *const T, p[1] as *const T);
        // SAFETY: a call that may succeed has valid operands; the library refuses the others.
        unsafe { T::MSE(exec, n, pred, target, p[2] as *mut T, p[3] as *mut T) }
    };
    case.check(call, |elements| {
        let (pred, target) = (numbers::<T>(&elements[0]), numbers::<T>(&elements[1]));
        let (grad, loss) = model::mse_grad(&pred, &target);
        Some(vec![(2, bits(&grad)), (3, bits(&[loss]))])
    })
}

fn lsq_grad<T: Functions>(input: &mut Input<'_>) -> Outcome {
    let (rows, columns) = (input.pick(&[40, 40, 200]), input.pick(&[40, 40, 200]));
    let (m, n) = (input.size(rows), input.size(columns));
    let (rs, cs) = input.strides(m, n);
    let operands = vec![
        Operand::input::<T>("a", &[(m, rs), (n, cs)]),
        Operand::input::<T>("x", &[(n, 1)]).only_if(m > 0),
        Operand::input::<T>("y", &[(m, 1)]).only_if(n > 0),
        Operand::output::<T>("grad", &[(n, 1)]),
    ];
    let query = |exec: *const dpt_exec| {
        let mut size = 0usize;
        // SAFETY: a valid exec, and a valid pointer to the result.
        let status = unsafe { T::LSQ_SIZE(exec, m, n, &mut size) };
        (status == 0).then_some(size)
    };
    let case = Case::new(input, "lsq_grad", &[m, n], operands, Some(&query), |_| {});
    let call = |exec, p: &[usize]| {
        let (a, x, y) = (p[0] as *const T, p[1] as *const T, p[2] as *const T);
        // SAFETY: a call that may succeed has valid operands; the library refuses the others.
        unsafe { T::LSQ(exec, m, n, a, rs, cs, x, y, p[3] as *mut T) }
    };
    case.check(call, |elements| {
        let a = Dense {
            // Without columns nothing is read, and the model must not read y.
            rows: if n == 0 { 0 } else { m as usize },
            cols: n as usize,
            data: numbers::<T>(&elements[0]),
        };
        let (mut x, y) = (numbers::<T>(&elements[1]), numbers::<T>(&elements[2]));
        x.resize(a.cols, T::zero());
        Some(vec![(3, bits(&model::lsq_grad(&a, &x, &y)))])
    })
}

fn query<T: Functions>(input: &mut Input<'_>) -> Outcome {
    let sizes = [input.size(3000), input.size(3000)];
    let operands = vec![Operand::output::<usize>("size", &[(1, 1)])];
    let mut case = Case::new(
        input,
        "lsq_grad_workspace",
        &sizes,
        operands,
        None,
        |verdict| {
            if sizes.iter().any(|&size| size > 1 << 30) {
                verdict.may(Code::DPT_SIZE_OVERFLOW);
            }
        },
    );
    // A query computes nothing, however large the sizes.
    case.sizes.clear();
    let call = |exec, p: &[usize]| {
        // SAFETY: a call that may succeed has valid operands; the library refuses the others.
        unsafe { T::LSQ_SIZE(exec, sizes[0], sizes[1], p[0] as *mut usize) }
    };
    case.check(call, |_| None)
}
