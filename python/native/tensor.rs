//! The tensor operations; those that the crate does not have yet refuse.
#![allow(
    missing_docs,
    clippy::missing_safety_doc,
    clippy::undocumented_unsafe_blocks,
    unused
)]

use diptych::{Error, Exec, Result};

pub use diptych::tensor::*;
pub struct Epilogue<'a> {
    pub bias: Option<&'a Tensor>,
    pub clamp: Option<(f64, f64)>,
}
const NO: Result<()> = Err(Error::Unsupported { arg: "tensor" });
macro_rules! stub { ($($name:ident($($a:ident: $t:ty),*);)*) => { $(pub unsafe fn $name(exec: &Exec<'_>, $($a: $t),*) -> Result<()> { NO })* } }
stub! {
    outer(x: &Tensor, y: &Tensor, out: &Tensor);
    sum(x: &Tensor, axes: Option<&[i32]>, out: &Tensor);
    mean(x: &Tensor, axes: Option<&[i32]>, out: &Tensor);
    prod(x: &Tensor, axes: Option<&[i32]>, out: &Tensor);
    min(x: &Tensor, axes: Option<&[i32]>, out: &Tensor);
    max(x: &Tensor, axes: Option<&[i32]>, out: &Tensor);
    sumsq(x: &Tensor, axes: Option<&[i32]>, out: &Tensor);
    asum(x: &Tensor, axes: Option<&[i32]>, out: &Tensor);
    nrm2(x: &Tensor, axes: Option<&[i32]>, out: &Tensor);
    logsumexp(x: &Tensor, axes: Option<&[i32]>, out: &Tensor);
    count_nonzero(x: &Tensor, axes: Option<&[i32]>, out: &Tensor);
    argmin(x: &Tensor, axes: Option<&[i32]>, out: &Tensor);
    argmax(x: &Tensor, axes: Option<&[i32]>, out: &Tensor);
    var(x: &Tensor, axes: Option<&[i32]>, ddof: i64, out: &Tensor);
    std(x: &Tensor, axes: Option<&[i32]>, ddof: i64, out: &Tensor);
    matmul(alpha: f64, a: &Tensor, b: &Tensor, beta: f64, c: &Tensor, epilogue: Option<&Epilogue<'_>>);
    ger(alpha: f64, x: &Tensor, y: &Tensor, a: &Tensor);
    dot(x: &Tensor, y: &Tensor, out: &Tensor);
    mse_grad(pred: &Tensor, target: &Tensor, grad: &Tensor, loss: &Tensor);
    lsq_grad(a: &Tensor, x: &Tensor, y: &Tensor, grad: &Tensor);
    convert(x: &Tensor, out: &Tensor);
}
