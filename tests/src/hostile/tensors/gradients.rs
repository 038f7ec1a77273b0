//! Gradients over tensors, against the functions on contiguous operands.

use diptych::{Storage, raw};
use diptych_ffi::{dpt_exec, dpt_lsq_grad, dpt_lsq_grad_f32_workspace, dpt_lsq_grad_f64_workspace};
use diptych_ffi::{dpt_mse_grad, dpt_tensor};

use super::super::Outcome;
use super::super::kind::Kind;
use super::argument::{self, Argument};
use super::shapes;
use super::{bits, case, judge_result, judge_shapes, judge_types, kind, numbers, plain};
use super::{result_kind, typed, widened};
use crate::number::Number;
use crate::random::Input;

/// `dpt_mse_grad`.
pub fn mse(input: &mut Input<'_>) -> Outcome {
    fn model<T: Storage + Number>(pred: &[u64], target: &[u64]) -> (Vec<u64>, u64) {
        let (pred, target) = (numbers::<T>(pred.to_vec()), numbers::<T>(target.to_vec()));
        let mut grad = vec![T::default(); pred.len()];
        let loss = diptych::mse_grad(&plain(), &pred, &target, &mut grad);
        (bits(&grad), loss.expect("arrays of one length").pattern())
    }
    let kind = kind(input, &Kind::FLOATS);
    let shape = shapes::shape(input, 4);
    let own = shapes::rarely_spoil(input, shape.clone());
    let pred = Argument::input(input, "pred", kind, &own).or_in_place();
    let own = shapes::rarely_spoil(input, shape.clone());
    let target = Argument::input(input, "target", kind, &own).or_in_place();
    let grad = Argument::output(input, "grad", kind, &shape).or_in_place();
    let one = vec![1; input.pick(&[0, 0, 1, 3])];
    let one = shapes::rarely_spoil(input, one);
    let of_loss = result_kind(input, kind);
    let loss = Argument::output(input, "loss", of_loss, &one);
    let work = argument::count(&grad);
    let all = [pred, target, grad, loss];
    let mut case = case(input, "mse_grad", &all, work, None);
    let [pred, target, grad, loss] = &all;
    let kinds = [pred.kind, target.kind, grad.kind];
    judge_result(&mut case.verdict, &kinds, loss.kind);
    let is_widened = loss.kind != kind;
    let fits = pred.shape == target.shape && target.shape == grad.shape;
    judge_shapes(&mut case.verdict, fits && argument::count(loss) == 1);
    let call = |exec, t: &[*const dpt_tensor]| {
        // SAFETY: a call that may succeed has valid tensors; the library refuses the others.
        unsafe { dpt_mse_grad(exec, t[0], t[1], t[2].cast_mut(), t[3].cast_mut()) }
    };
    case.check_tensors(&all, call, |elements| {
        let (grad, mut loss) = typed!(kind, T => model::<T>(&elements[0], &elements[1]));
        if is_widened {
            let [pred, target] = [0, 1].map(|i| {
                let wide = elements[i].iter().map(|&bits| widened(kind, bits));
                wide.collect::<Vec<u64>>()
            });
            loss = model::<f32>(&pred, &target).1;
        }
        Some(vec![(2, grad), (3, vec![loss])])
    })
}

/// `dpt_lsq_grad`.
pub fn lsq(input: &mut Input<'_>) -> Outcome {
    fn model<T: Storage + Number>(a: &[u64], x: &[u64], y: &[u64], (m, n): (i64, i64)) -> Vec<u64> {
        let of = |elements: &[u64], count: i64| {
            // Those that are not read are not there.
            let mut elements = numbers::<T>(elements.to_vec());
            elements.resize(count as usize, T::default());
            elements
        };
        let (a, x, y) = (of(a, m * n), of(x, n), of(y, m));
        let mut grad = vec![T::default(); n as usize];
        let (a, x, y) = (a.as_ptr(), x.as_ptr(), y.as_ptr());
        // SAFETY: the operands have these sizes.
        let done = unsafe { raw::lsq_grad(&plain(), m, n, a, n, 1, x, y, grad.as_mut_ptr()) };
        done.expect("operands that the verdict allows");
        bits(&grad)
    }
    let kind = kind(input, &Kind::FLOATS);
    let most = input.pick(&[30, 30, 150]);
    let (m, n) = (input.size(most), input.size(most));
    let mut draw = |name, shape: &[i64], output| {
        let shape = shapes::rarely_spoil(input, shape.to_vec());
        if output {
            Argument::output(input, name, kind, &shape)
        } else {
            Argument::input(input, name, kind, &shape)
        }
    };
    let [a, x, y, grad] = [
        draw("a", &[m, n], false),
        draw("x", &[n], false),
        draw("y", &[m], false),
        draw("grad", &[n], true),
    ];
    let is_read = argument::count(&a) != 0;
    let all = [a, x.only_if(is_read), y.only_if(is_read), grad];
    let query = |exec: *const dpt_exec| {
        let mut size = 0;
        // SAFETY: a valid exec, and a valid pointer to the result.
        let status = unsafe {
            match kind {
                Kind::F64 => dpt_lsq_grad_f64_workspace(exec, m, n, &mut size),
                _ => dpt_lsq_grad_f32_workspace(exec, m, n, &mut size),
            }
        };
        (status == 0).then_some(size)
    };
    let work = argument::count(&all[0]).max(argument::count(&all[3]));
    let mut case = case(input, "lsq_grad", &all, work, Some(&query));
    judge_types(&mut case.verdict, all.iter().map(|a| a.kind), &Kind::FLOATS);
    let [a, x, y, grad] = [0, 1, 2, 3].map(|i| all[i].shape.as_slice());
    let fits = a.len() == 2 && x == &a[1..] && y == &a[..1] && grad == x;
    judge_shapes(&mut case.verdict, fits);
    let call = |exec, t: &[*const dpt_tensor]| {
        // SAFETY: a call that may succeed has valid tensors; the library refuses the others.
        unsafe { dpt_lsq_grad(exec, t[0], t[1], t[2], t[3].cast_mut()) }
    };
    case.check_tensors(&all, call, |elements| {
        let [m, n] = *all[0].shape else {
            unreachable!("a matrix");
        };
        if n == 0 {
            // `y` may be long.
            return Some(vec![]);
        }
        let [a, x, y] = [0, 1, 2].map(|i| elements[i].as_slice());
        let grad = typed!(kind, T => model::<T>(a, x, y, (m, n)));
        Some(vec![(3, grad)])
    })
}
