//! The calls of products of 16-bit floats and of integers, which are over tensors.

use super::backend::{Backend, Over};
use super::numbers::Kind;
use super::products::{SECOND, THIRD, view};
use super::run::{INPUTS, Run, With, each};
use crate::element::Dtype;
use crate::tensor::kind::{Integer, Type};

/// The types of A, of B and of a result.
type Types = [Type; 3];

const F32: Type = Type::Float(Dtype::F32);
const F16: Type = Type::Float(Dtype::F16);
const BF16: Type = Type::Float(Dtype::Bf16);
const I8: Type = Type::Integer(Integer::I8);
const U8: Type = Type::Integer(Integer::U8);
const I32: Type = Type::Integer(Integer::I32);
const I64: Type = Type::Integer(Integer::I64);

const HALVES: [Types; 4] = [
    [F16, F16, F16],
    [F16, F16, F32],
    [BF16, BF16, BF16],
    [BF16, BF16, F32],
];
const INTEGERS: [Types; 6] = [
    [I8, I8, I32],
    [I8, I8, F32],
    [U8, I8, I32],
    [U8, I8, F32],
    [I32, I32, I32],
    [I64, I64, I64],
];

/// m, k, n: around the blocks of 32 steps and the segments of 1,024, with one row, with one column.
const SHAPES: [[i64; 3]; 6] = [
    [3, 70, 5],
    [1, 33, 9],
    [9, 31, 1],
    [20, 40, 17],
    [2, 1060, 2],
    [1, 2100, 1],
];

#[inline(never)]
pub(super) fn matmul<B: Backend>(run: &mut Run<'_, B>) -> Result<(), B::Error> {
    for &types in each(&HALVES) {
        for &kind in each(&[Kind::Wide, Kind::Special]) {
            run.inputs(types[0], kind, false)?;
            plain(run, types)?;
            epilogue(run, types)?;
        }
    }
    for &types in each(&INTEGERS) {
        run.inputs(types[0], Kind::Wide, false)?;
        plain(run, types)?;
    }
    Ok(())
}

#[inline(never)]
pub(super) fn dot<B: Backend>(run: &mut Run<'_, B>) -> Result<(), B::Error> {
    for &types in each(&INTEGERS) {
        run.inputs(types[0], Kind::Wide, false)?;
        let [a, b, of] = types;
        let x = run.tensor(a, run.input(0), view(&[4, 70], &[70, 1]));
        let y = run.tensor(b, run.input(SECOND), view(&[70], &[2]));
        run.tensors(&Over::Dot, &[&x, &y], &With::NONE, view(&[4], &[1]), of)?;
    }
    Ok(())
}

/// Products as they are, with B row-major and transposed.
#[inline(never)]
fn plain<B: Backend>(run: &mut Run<'_, B>, [a, b, of]: Types) -> Result<(), B::Error> {
    let with = With {
        numbers: [1.0, 0.0],
        ..With::NONE
    };
    for &[m, k, n] in each(&SHAPES) {
        // Tensors point to their shapes and strides.
        let (a_shape, a_strides, b_shape) = ([m, k], [k, 1], [k, n]);
        for strides in [[n, 1], [1, k]] {
            let x = run.tensor(a, run.input(0), view(&a_shape, &a_strides));
            let first = SECOND.min(INPUTS as i64 - k * n);
            let y = run.tensor(b, run.input(first), view(&b_shape, &strides));
            let inputs = [&x, &y];
            run.tensors(&Over::Matmul, &inputs, &with, view(&[m, n], &[n, 1]), of)?;
        }
    }
    Ok(())
}

/// A batch with factors, a bias and a clamp.
#[inline(never)]
fn epilogue<B: Backend>(run: &mut Run<'_, B>, [a, b, of]: Types) -> Result<(), B::Error> {
    let with = With {
        numbers: [-0.721_347_5, 1.618_034],
        has_epilogue: true,
        ..With::NONE
    };
    let x = run.tensor(a, run.input(0), view(&[3, 9, 40], &[360, 40, 1]));
    let y = run.tensor(b, run.input(SECOND), view(&[40, 11], &[11, 1]));
    let bias = run.tensor(a, run.input(THIRD), view(&[11], &[1]));
    let c = view(&[3, 9, 11], &[99, 11, 1]);
    run.tensors(&Over::Matmul, &[&x, &y, &bias], &with, c, of)
}
