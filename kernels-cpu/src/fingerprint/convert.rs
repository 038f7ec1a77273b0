//! The calls of `convert`.

use super::backend::{Backend, Over};
use super::numbers::Kind;
use super::run::{Run, View, With, each};
use crate::element::Dtype;
use crate::tensor::kind::{Integer, Type};

const TYPES: [Type; 13] = [
    Type::Float(Dtype::F32),
    Type::Float(Dtype::F64),
    Type::Float(Dtype::F16),
    Type::Float(Dtype::Bf16),
    Type::Bool,
    Type::Integer(Integer::I8),
    Type::Integer(Integer::I16),
    Type::Integer(Integer::I32),
    Type::Integer(Integer::I64),
    Type::Integer(Integer::U8),
    Type::Integer(Integer::U16),
    Type::Integer(Integer::U32),
    Type::Integer(Integer::U64),
];

#[inline(never)]
pub(super) fn run<B: Backend>(run: &mut Run<'_, B>) -> Result<(), B::Error> {
    for &from in each(&TYPES) {
        run.inputs(from, Kind::Special, true)?;
        for &to in each(&TYPES) {
            // Contiguous, turned, broadcast.
            for &(x, out) in each(&[
                (view(&[250], &[1]), view(&[250], &[1])),
                (view(&[12, 20], &[1, 12]), view(&[12, 20], &[-21, 1])),
                (view(&[20], &[2]), view(&[12, 20], &[20, 1])),
            ]) {
                let x = run.input_tensor(0, x);
                run.tensors(&Over::Convert, &[&x], &With::NONE, out, to)?;
            }
        }
    }
    Ok(())
}

const fn view<'a>(shape: &'a [i64], strides: &'a [i64]) -> View<'a> {
    View { shape, strides }
}
