//! The arguments of the kernels.
#![forbid(unsafe_code)]

use core::ptr;
use diptych::Dtype;
use diptych::backend::args::Matrix;
use diptych::backend::gemm::Rule;
use diptych::backend::mixed::{Half, Integers, MixedGemm, Operands, Output, ProductTypes};
use diptych_device::gpu::parameters::{BFLOAT, FLOAT, INT, Product, Type};
use diptych_device::ops::mixed::flags;

/// Returns the arguments for `count` products, the first of which is `p`, in one block per tile.
pub fn of(types: ProductTypes, p: &MixedGemm, count: usize) -> Product {
    let f = &p.finish;
    let bytes = types.operands.b_bytes();
    let (a, b) = (p.a, p.b.transposed());
    let of_a = (flags::A_ALONG_K, flags::A_PACKS, flags::A_WORDS);
    let of_b = (flags::B_ALONG_K, flags::B_PACKS, flags::B_WORDS);
    let mut bits = layout(&a, (p.m, p.k, count), bytes, of_a)
        | layout(&b, (p.n, p.k, count), bytes, of_b)
        | second_type(types.operands);
    if p.c.rs.unsigned_abs() < p.c.cs.unsigned_abs() {
        bits |= flags::C_ALONG_M;
    }
    bits |= match f.clamp.rule() {
        Rule::Keep => 0,
        Rule::Limit => flags::CLAMP,
        Rule::Nan => flags::NAN,
    };
    let (bias, bias_steps) = match (f.row_bias.is_some(), f.column_bias.is_some()) {
        (true, _) => (f.row_bias, [f.row_bias.inc as i64, 0]),
        (false, _) => (f.column_bias, [0, f.column_bias.inc as i64]),
    };
    let (lo, hi) = f.clamp.bounds();
    Product {
        m: p.m as u64,
        n: p.n as u64,
        k: p.k as u64,
        batch: count as u64,
        a: a.ptr,
        a_steps: steps(&a),
        b: b.ptr,
        b_steps: steps(&b),
        c: p.c.ptr,
        c_steps: steps(&p.c),
        row_scale: f.row_scale.ptr,
        row_scale_step: f.row_scale.inc as i64,
        column_scale: f.column_scale.ptr,
        column_scale_step: f.column_scale.inc as i64,
        bias: bias.ptr,
        bias_steps,
        run: 1,
        scratch: ptr::null_mut(),
        counters: ptr::null_mut(),
        splits: 1,
        segments: 1,
        flags: bits,
        c_type: type_of_c(types),
        bias_type: float(bias.of),
        alpha: f.alpha,
        beta: f.beta,
        lo,
        hi,
    }
}

fn steps<P>(matrix: &Matrix<P>) -> [i64; 3] {
    [matrix.rs as i64, matrix.cs as i64, matrix.bs as i64]
}

/// Returns the bit for the second type of A.
fn second_type(operands: Operands) -> u32 {
    match operands {
        Operands::Half(Half::Bf16) | Operands::Integers(Integers::U8I8) => flags::SECOND_TYPE,
        Operands::Half(Half::F16)
        | Operands::Integers(Integers::I8I8 | Integers::I32 | Integers::I64) => 0,
    }
}

fn float(of: Dtype) -> Type {
    let (code, bits) = match of {
        Dtype::F16 => (FLOAT, 16),
        Dtype::Bf16 => (BFLOAT, 16),
        // No number of a product is wider.
        _ => (FLOAT, 32),
    };
    Type { code, bits }
}

fn type_of_c(types: ProductTypes) -> Type {
    match types.output {
        Output::Sum => Type {
            code: INT,
            bits: 8 * types.operands.sum_bytes() as u32,
        },
        Output::F32 => float(Dtype::F32),
        Output::F16 => float(Dtype::F16),
        Output::Bf16 => float(Dtype::Bf16),
    }
}

/// Returns how A or the transpose of B is read: the bits for reads along k, for reads of all that a thread takes at once,
/// and for reads of 4 bytes. Steps are bytes.
fn layout(
    matrix: &Matrix<*const u8>,
    (rows, k, count): (usize, usize, usize),
    bytes: usize,
    (along_k, packs, words): (u32, u32, u32),
) -> u32 {
    let Matrix { ptr, rs, cs, bs } = *matrix;
    // Whether everything but the steps along one axis is aligned to so many bytes.
    let aligned = |to: usize, (others, step): (usize, isize)| {
        let fits =
            |(count, step): (usize, isize)| count == 1 || step.unsigned_abs().is_multiple_of(to);
        ptr.addr().is_multiple_of(to) && fits((others, step)) && fits((count, bs))
    };
    // Across rows, a thread takes one element of each of 4 rows, and no less than 16 bytes of wider ones.
    let across = if bytes < 4 { 4 * bytes } else { 16 };
    if cs == bytes as isize && aligned(16, (rows, rs)) {
        along_k | packs
    } else if rs == bytes as isize && aligned(across, (k, cs)) {
        packs
    } else if cs == bytes as isize && bytes < 4 && aligned(4, (rows, rs)) {
        along_k | words
    } else if cs.unsigned_abs() < rs.unsigned_abs() {
        along_k
    } else {
        0
    }
}
