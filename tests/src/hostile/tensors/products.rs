//! Products over tensors, against the functions on contiguous vectors and matrices.

use diptych::{Storage, raw};
use diptych_ffi::{dpt_dot, dpt_exec, dpt_gemm_f32_workspace, dpt_gemm_f64_workspace};
use diptych_ffi::{dpt_ger, dpt_matmul, dpt_outer, dpt_status_code as Code, dpt_tensor};

use super::super::Outcome;
use super::super::kind::Kind;
use super::argument::{self, Argument};
use super::epilogue::Epilogue;
use super::pair::{Pair, Sizes};
use super::shapes::{self, broadcast, broadcast_places};
use super::{
    case, judge_result, judge_shapes, judge_types, kind, kind_or_integers, numbers, plain,
};
use super::{result_kind, typed, typed_integers, widened};
use crate::integers;
use crate::mixed::Whole;
use crate::number::Number;
use crate::random::Input;
use crate::report::Nan;

/// Draws the batch axes of a call, and those of the two inputs.
pub fn batch(input: &mut Input<'_>) -> [Vec<i64>; 3] {
    let rank = input.pick(&[0, 0, 0, 1, 2, 3]);
    let whole: Vec<i64> = (0..rank).map(|_| input.pick(&[1, 2, 2, 3, 5])).collect();
    let (own, is_first) = (shapes::broadcast_from(input, &whole), input.rarely(2));
    if is_first {
        [whole.clone(), own, whole]
    } else {
        [whole.clone(), whole, own]
    }
}

/// Draws a, b and c of `dpt_matmul`, and the sizes that most of them have.
fn matrices(input: &mut Input<'_>, kind: Kind) -> ([Argument; 3], [i64; 3]) {
    let most = input.pick(&[20, 20, 40, 80]);
    let [m, n, k] = [0; 3].map(|_| input.size(most));
    let [_, a_lead, b_lead] = batch(input);
    let (is_row, is_column) = (input.rarely(8), input.rarely(8));
    let a = if is_row {
        vec![k]
    } else {
        [&a_lead[..], &[m, k]].concat()
    };
    let b = if is_column {
        vec![k]
    } else {
        [&b_lead[..], &[k, n]].concat()
    };
    let c = Sizes::of(&a, &b).map_or(vec![m, n], |sizes| sizes.c);
    let mut spoiled = |shape| shapes::rarely_spoil(input, shape);
    let (a, b, c) = (spoiled(a), spoiled(b), spoiled(c));
    let tensors = [
        Argument::input(input, "a", kind, &a),
        Argument::input(input, "b", kind, &b),
        Argument::output(input, "c", kind, &c),
    ];
    let (m, n) = (if is_row { 1 } else { m }, if is_column { 1 } else { n });
    (tensors, [m, n, k])
}

/// Returns the scratch memory for a product of this size; `None` if no function says.
pub fn workspace(exec: *const dpt_exec, kind: Kind, [m, n, k]: [i64; 3]) -> Option<usize> {
    let mut size = 0;
    // SAFETY: a valid exec, and a valid pointer to the result.
    let status = unsafe {
        match kind {
            Kind::F64 => dpt_gemm_f64_workspace(exec, m, n, k, &mut size),
            Kind::F32 => dpt_gemm_f32_workspace(exec, m, n, k, &mut size),
            _ => return None,
        }
    };
    (status == 0).then_some(size)
}

/// `dpt_matmul`.
pub fn matmul(input: &mut Input<'_>) -> Outcome {
    let kind = kind(input, &Kind::WIDE);
    let ([a, b, c], [m, n, k]) = matrices(input, kind);
    let [alpha, beta] = [0; 2].map(|_| input.scalar::<f64>());
    let last = Epilogue::draw(input, kind, (m, n));
    let sizes = Sizes::of(&a.shape, &b.shape);
    let has_results = argument::count(&c) != 0;
    let is_read = has_results && a.shape.last() != Some(&0) && !is_zero(kind, alpha);
    let work = argument::count(&c).saturating_mul(sizes.as_ref().map_or(1, |s| s.k.max(1)));
    let mut all = vec![a.only_if(is_read), b.only_if(is_read), c];
    all.extend(last.bias.clone().map(|bias| bias.only_if(has_results)));
    let query = |exec: *const dpt_exec| workspace(exec, kind, [m, n, k]);
    let mut case = case(input, "matmul", &all, work, Some(&query));
    judge_types(&mut case.verdict, all.iter().map(|a| a.kind), &Kind::WIDE);
    let fit = |sizes: &Sizes| sizes.c == all[2].shape && last.fits(sizes.m, sizes.n);
    judge_shapes(&mut case.verdict, sizes.as_ref().is_some_and(fit));
    last.judge(&mut case.verdict);
    case.details += &format!("\n  alpha {alpha:?}, beta {beta:?}, {last}");
    let call = |exec, t: &[*const dpt_tensor]| {
        let bias = t.get(3).copied();
        // SAFETY: a call that may succeed has valid tensors; the library refuses the others.
        last.with(bias, |last| unsafe {
            dpt_matmul(exec, alpha, t[0], t[1], beta, t[2].cast_mut(), last)
        })
    };
    case.check_tensors(&all, call, |elements| {
        if !has_results {
            // The inputs may be large.
            return Some(vec![]);
        }
        let pair = Pair {
            sizes: sizes.as_ref()?,
            alpha,
            beta,
            per_row: last.per_row(),
            clamp: last.clamp,
            bias: elements.get(3).map(Vec::as_slice),
        };
        let all = match kind {
            Kind::F64 => pair.all::<f64>(elements),
            _ => pair.all::<f32>(elements),
        };
        Some(vec![(2, all)])
    })
}

/// Returns whether a factor is 0 in a product of this type.
pub fn is_zero(kind: Kind, x: f64) -> bool {
    x == 0.0 || (kind == Kind::F32 && x as f32 == 0.0)
}

/// `dpt_dot`.
pub fn dot(input: &mut Input<'_>) -> Outcome {
    let kind = kind(input, &Kind::FLOATS);
    let most = input.pick(&[20, 20, 1000]);
    let k = input.size(most);
    let [whole, x_lead, y_lead] = batch(input);
    let mut draw = |name, lead: &[i64]| {
        let shape = shapes::rarely_spoil(input, [lead, &[k]].concat());
        Argument::input(input, name, kind, &shape)
    };
    let (x, y) = (draw("x", &x_lead), draw("y", &y_lead));
    let shape = shapes::rarely_spoil(input, whole.clone());
    let of_result = result_kind(input, kind);
    let out = Argument::output(input, "out", of_result, &shape);
    let is_used = argument::count(&out) != 0;
    let all = [x.only_if(is_used), y.only_if(is_used), out];
    let k = all[0].shape.last().copied().unwrap_or(0);
    let work = argument::count(&all[2]).saturating_mul(k.max(1));
    let mut case = case(input, "dot", &all, work, None);
    let [x, y, out] = &all;
    judge_result(&mut case.verdict, &[x.kind, y.kind], out.kind);
    let fits = match (x.shape.split_last(), y.shape.split_last()) {
        (Some((k, x)), Some((l, y))) => k == l && broadcast(&[x, y]).as_ref() == Some(&out.shape),
        _ => false,
    };
    judge_shapes(&mut case.verdict, fits);
    case.nan = Nan::Bits;
    let call = |exec, t: &[*const dpt_tensor]| {
        // SAFETY: a call that may succeed has valid tensors; the library refuses the others.
        unsafe { dpt_dot(exec, t[0], t[1], t[2].cast_mut()) }
    };
    case.check_tensors(&all, call, |elements| {
        if !is_used {
            return Some(vec![]);
        }
        let firsts = |own: &Argument| {
            let lead = &own.shape[..own.shape.len() - 1];
            let places = broadcast_places(lead, &out.shape).into_iter();
            places.map(|at| at * k as usize)
        };
        let firsts = firsts(x).zip(firsts(y));
        let (of, is_widened) = (x.kind, out.kind != x.kind);
        let one = |(x, y): (usize, usize)| {
            let (x, y) = (
                &elements[0][x..][..k as usize],
                &elements[1][y..][..k as usize],
            );
            if is_widened {
                let wide = |x: &[u64]| numbers::<f32>(x.iter().map(|&bits| widened(of, bits)));
                let out = diptych::dot(&plain(), wide(x).as_slice(), wide(y).as_slice());
                return out.expect("vectors of one length").pattern();
            }
            typed!(of, T => {
                let (x, y) = (numbers::<T>(x.to_vec()), numbers::<T>(y.to_vec()));
                let out = diptych::dot(&plain(), x.as_slice(), y.as_slice());
                out.expect("vectors of one length").pattern()
            })
        };
        Some(vec![(2, firsts.map(one).collect())])
    })
}

/// `dpt_outer`.
pub fn outer(input: &mut Input<'_>) -> Outcome {
    vectors(input, false)
}

/// `dpt_ger`.
pub fn ger(input: &mut Input<'_>) -> Outcome {
    vectors(input, true)
}

/// Draws alpha of `dpt_ger`; for integers, mostly a whole number.
fn factor(input: &mut Input<'_>, is_integer: bool) -> f64 {
    if !is_integer || input.rarely(8) {
        return input.scalar();
    }
    let alpha = input.word().cast_signed() >> input.pick(&[0, 40, 60]);
    (alpha as f64).min(2_f64.powi(62))
}

/// Returns whether integers may be multiplied by this.
fn is_whole(alpha: f64) -> bool {
    let end = 2_f64.powi(63);
    alpha.fract() == 0.0 && -end <= alpha && alpha < end
}

/// One element of a product of integers: x y, or a + alpha x y.
fn product_of_integers<T: Whole>(alpha: Option<f64>, [x, y, a]: [u64; 3]) -> u64 {
    let (alpha, a) = alpha.map_or((1, 0), |alpha| (alpha as i64, a));
    integers::outer_product(alpha, T::of_bits(x), T::of_bits(y), T::of_bits(a)).bits()
}

/// One element of a product of elements of this type: x y, of the type `result`, or a + alpha x y.
fn one_product(kind: Kind, result: Kind, alpha: Option<f64>, [x, y, a]: [u64; 3]) -> u64 {
    if Kind::INTEGERS.contains(&kind) {
        return typed_integers!(kind, T => product_of_integers::<T>(alpha, [x, y, a]));
    }
    if result != kind {
        return one_product(
            result,
            result,
            alpha,
            [widened(kind, x), widened(kind, y), a],
        );
    }
    typed!(kind, T => {
        let (x, y, mut out) = (T::of_pattern(x), T::of_pattern(y), T::of_pattern(a));
        let exec = plain();
        // SAFETY: one element each.
        let done = unsafe {
            match alpha {
                Some(alpha) => raw::ger(&exec, 1, 1, alpha as <T as Storage>::Compute, &x, 1, &y, 1, &mut out, 1, 1),
                None => raw::outer(&exec, 1, 1, &x, 1, &y, 1, &mut out, 1, 1),
            }
        };
        done.expect("one element of each is valid");
        out.pattern()
    })
}

/// `dpt_ger` if it `updates` the matrix, else `dpt_outer`.
fn vectors(input: &mut Input<'_>, updates: bool) -> Outcome {
    let kind = kind_or_integers(input, &Kind::FLOATS, true);
    let alpha = updates.then(|| factor(input, Kind::INTEGERS.contains(&kind)));
    let (m, n) = (input.size(70), input.size(70));
    let mut draw = |name, length| {
        let shape = shapes::rarely_spoil(input, vec![length]);
        Argument::input(input, name, kind, &shape)
    };
    let (x, y) = (draw("x", m), draw("y", n));
    let (name, last) = if updates {
        ("ger", "a")
    } else {
        ("outer", "out")
    };
    let shape = shapes::rarely_spoil(input, vec![m, n]);
    let of_result = if updates {
        kind
    } else {
        result_kind(input, kind)
    };
    let out = Argument::output(input, last, of_result, &shape);
    let is_used = argument::count(&out) != 0;
    let all = [x.only_if(is_used), y.only_if(is_used), out];
    let mut case = case(input, name, &all, argument::count(&all[2]), None);
    let [x, y, out] = &all;
    let kinds = [x.kind, y.kind];
    // A false description may have another type, also one that is valid.
    let is_integer = Kind::INTEGERS.contains(&x.kind);
    if updates || is_integer {
        let allowed = [&Kind::FLOATS[..], &Kind::INTEGERS].concat();
        judge_types(
            &mut case.verdict,
            kinds.into_iter().chain([out.kind]),
            &allowed,
        );
    } else {
        judge_result(&mut case.verdict, &kinds, out.kind);
    }
    if is_integer && !alpha.is_none_or(is_whole) {
        case.verdict.fault(Code::DPT_INVALID_VALUE);
    }
    let fits = x.shape.len() == 1 && y.shape.len() == 1;
    judge_shapes(
        &mut case.verdict,
        fits && out.shape == [x.shape[0], y.shape[0]],
    );
    case.details += &format!("\n  alpha {alpha:?}");
    let call = |exec, t: &[*const dpt_tensor]| {
        // SAFETY: a call that may succeed has valid tensors; the library refuses the others.
        unsafe {
            match alpha {
                Some(alpha) => dpt_ger(exec, alpha, t[0], t[1], t[2].cast_mut()),
                None => dpt_outer(exec, t[0], t[1], t[2].cast_mut()),
            }
        }
    };
    case.check_tensors(&all, call, |elements| {
        let n = y.shape[0] as usize;
        let one = |at: usize| {
            let of = [elements[0][at / n], elements[1][at % n], elements[2][at]];
            one_product(x.kind, out.kind, alpha, of)
        };
        Some(vec![(2, (0..elements[2].len()).map(one).collect())])
    })
}
