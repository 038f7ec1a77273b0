//! Every raw function with arguments that are right, in a form in which any one of them can be
//! made wrong.

use core::ptr;

use diptych::raw::{self, RawEpilogue};
use diptych::{BiasKind, Exec, Result};
use diptych_tests::real::Dtype;

/// Every size of a call but the batch; all strides are laid out for it.
pub const SIZE: i64 = 4;
/// Elements that each pointer has before and after it.
pub const ROOM: usize = 64;

/// One raw function.
pub struct Call<T> {
    /// Its name.
    pub name: &'static str,
    /// Its sizes.
    pub sizes: &'static [&'static str],
    /// The pointers that it reads; what it reads and writes is an output.
    pub inputs: &'static [&'static str],
    /// The pointers that it writes.
    pub outputs: &'static [&'static str],
    /// Calls it with these sizes and pointers, inputs first.
    pub run: fn(&Exec<'_>, &[i64], &[*mut T]) -> Result<()>,
}

impl<T> Call<T> {
    /// All pointers, inputs first.
    pub fn pointers(&self) -> Vec<&'static str> {
        [self.inputs, self.outputs].concat()
    }
    /// Whether the output may be exactly an input.
    pub fn in_place(&self, output: &str) -> bool {
        const ELEMENTWISE: &[&str] = &[
            "clamp",
            "clamp_backward",
            "add",
            "sub",
            "mul",
            "div",
            "scale",
            "axpy",
            "square",
            "fill",
        ];
        ELEMENTWISE.contains(&self.name) || (self.name == "mse_grad" && output == "grad")
    }
    /// Whether it refuses to reduce nothing.
    pub fn needs_elements(&self) -> bool {
        const NEEDING: &[&str] = &["mean", "var", "min", "max", "argmin", "argmax"];
        NEEDING.contains(&self.name.trim_end_matches("_rows"))
    }
    /// Whether it writes one element even when all sizes are zero.
    pub fn writes_scalar(&self, output: &str) -> bool {
        (self.sizes == ["n"] && output == "out" && self.is_reduction()) || output == "loss"
    }
    fn is_reduction(&self) -> bool {
        const OTHERS: &[&str] = &["sum", "prod", "sumsq", "asum", "nrm2", "logsumexp", "dot"];
        self.needs_elements() || OTHERS.contains(&self.name.trim_end_matches("_rows"))
    }
}

macro_rules! call {
    ($name:ident [$($size:ident)*] [$($input:ident)*] -> [$($output:ident)*], |$exec:ident| $call:expr) => {
        Call {
            name: stringify!($name),
            sizes: &[$(stringify!($size)),*],
            inputs: &[$(stringify!($input)),*],
            outputs: &[$(stringify!($output)),*],
            run: |$exec, sizes, pointers| {
                let [$($size),*] = *sizes else { panic!("wrong number of sizes") };
                let [$($input,)* $($output),*] = *pointers else { panic!("wrong number of pointers") };
                // SAFETY: each pointer has room for SIZE by SIZE elements, and the tests change
                // arguments only to such as the function must refuse before it touches memory.
                unsafe { $call }
            },
        }
    };
}

macro_rules! reductions {
    ($($name:ident $rows:ident),*) => {
        vec![$(
            call!($name [n] [x] -> [out], |e| raw::$name(e, n, x, 1, out)),
            call!($rows [m n] [x] -> [out], |e| raw::$rows(e, m, n, x, SIZE, 1, out, 1)),
        )*]
    };
}

/// All of them.
pub fn calls<T: Dtype>() -> Vec<Call<T>> {
    let mut all = vec![
        call!(clamp [n] [x] -> [out], |e| raw::clamp(e, n, x, T::zero(), T::one(), out)),
        call!(clamp_backward [n] [x grad] -> [out], |e| raw::clamp_backward(e, n, x, grad, T::zero(), T::one(), out)),
        call!(add [n] [x y] -> [out], |e| raw::add(e, n, x, y, out)),
        call!(sub [n] [x y] -> [out], |e| raw::sub(e, n, x, y, out)),
        call!(mul [n] [x y] -> [out], |e| raw::mul(e, n, x, y, out)),
        call!(div [n] [x y] -> [out], |e| raw::div(e, n, x, y, out)),
        call!(scale [n] [x] -> [out], |e| raw::scale(e, n, T::one(), x, out)),
        call!(axpy [n] [x] -> [y], |e| raw::axpy(e, n, T::one(), x, y)),
        call!(square [n] [x] -> [out], |e| raw::square(e, n, x, out)),
        call!(fill [n] [] -> [out], |e| raw::fill(e, n, T::one(), out)),
        call!(outer [m n] [x y] -> [out], |e| raw::outer(e, m, n, x, 1, y, 1, out, SIZE, 1)),
        call!(ger [m n] [x y] -> [a], |e| raw::ger(e, m, n, T::one(), x, 1, y, 1, a, SIZE, 1)),
        call!(dot [n] [x y] -> [out], |e| raw::dot(e, n, x, 1, y, 1, out)),
        call!(mse_grad [n] [pred target] -> [grad loss], |e| raw::mse_grad(e, n, pred, target, grad, loss)),
        call!(lsq_grad [m n] [a x y] -> [grad], |e| raw::lsq_grad(e, m, n, a, SIZE, 1, x, y, grad)),
        call!(var [n] [x] -> [out], |e| raw::var(e, n, x, 1, 0, out)),
        call!(var_rows [m n] [x] -> [out], |e| raw::var_rows(e, m, n, x, SIZE, 1, 0, out, 1)),
        call!(argmin [n] [x] -> [out], |e| raw::argmin(e, n, x, 1, out.cast())),
        call!(argmax [n] [x] -> [out], |e| raw::argmax(e, n, x, 1, out.cast())),
        call!(argmin_rows [m n] [x] -> [out], |e| raw::argmin_rows(e, m, n, x, SIZE, 1, out.cast(), 1)),
        call!(argmax_rows [m n] [x] -> [out], |e| raw::argmax_rows(e, m, n, x, SIZE, 1, out.cast(), 1)),
    ];
    all.extend(products());
    all.extend(reductions![
        sum sum_rows, mean mean_rows, prod prod_rows, min min_rows, max max_rows, sumsq sumsq_rows,
        asum asum_rows, nrm2 nrm2_rows, logsumexp logsumexp_rows
    ]);
    all
}

fn products<T: Dtype>() -> Vec<Call<T>> {
    const S: i64 = SIZE;
    vec![
        call!(gemm [m n k] [a b] -> [c], |e| {
            raw::gemm(e, m, n, k, T::one(), a, S, 1, b, S, 1, T::one(), c, S, 1)
        }),
        call!(gemm_batched [m n k batch] [a b] -> [c], |e| {
            raw::gemm_batched(e, m, n, k, T::one(), a, S, 1, b, S, 1, T::one(), c, S, 1, batch, S * S, S * S, S * S)
        }),
        call!(gemm_fused [m n k] [a b bias] -> [c], |e| {
            let epilogue = RawEpilogue { bias, bias_inc: 1, bias_kind: BiasKind::PerRow, clamp: None };
            raw::gemm_fused(e, m, n, k, T::one(), a, S, 1, b, S, 1, T::zero(), c, S, 1, &epilogue)
        }),
    ]
}

/// Memory for one call: per pointer a block with room on both sides of where it points.
pub struct Memory<T> {
    blocks: Vec<Vec<T>>,
}

impl<T: Dtype> Memory<T> {
    /// Blocks for `call`, every element different.
    pub fn new(call: &Call<T>) -> Memory<T> {
        let block = |b: usize| {
            (0..3 * ROOM + 16)
                .map(|i| T::of((1000 * b + i) as f64))
                .collect()
        };
        Memory {
            blocks: (0..call.pointers().len()).map(block).collect(),
        }
    }
    /// The pointers, aligned to 64 bytes.
    pub fn pointers(&mut self) -> Vec<*mut T> {
        let middle = |block: &mut Vec<T>| {
            let p = block.as_mut_ptr().wrapping_add(ROOM);
            p.wrapping_add(p.align_offset(64))
        };
        self.blocks.iter_mut().map(middle).collect()
    }
    /// All bits, to see whether anything was written.
    pub fn snapshot(&self) -> Vec<u64> {
        self.blocks.iter().flatten().map(|v| v.bits()).collect()
    }
}

/// The default sizes of a call: a batch of two, everything else [`SIZE`].
pub fn sizes<T>(call: &Call<T>) -> Vec<i64> {
    call.sizes
        .iter()
        .map(|&size| if size == "batch" { 2 } else { SIZE })
        .collect()
}

/// No pointer at all.
pub fn nowhere<T>() -> *mut T {
    ptr::null_mut()
}
