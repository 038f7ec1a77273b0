//! The fma peak: a loop of twelve independent chains of fma in registers, and nothing else.

use super::streams::Width;
use std::arch::asm;

/// Iterations of the twelve instructions in one run.
const ITERATIONS: u64 = 1 << 14;
const CHAINS: u64 = 12;

macro_rules! chains {
    ($name:ident, $clear:literal, [$($step:literal)*]) => {
        fn $name() {
            // SAFETY: called only on CPUs that have these registers; all registers that change are declared, and memory
            // is not accessed.
            unsafe {
                asm!(
                    $clear,
                    "2:",
                    $($step,)*
                    "dec {n}",
                    "jnz 2b",
                    n = inout(reg) ITERATIONS => _,
                    out("xmm0") _, out("xmm1") _, out("xmm2") _, out("xmm3") _,
                    out("xmm4") _, out("xmm5") _, out("xmm6") _, out("xmm7") _,
                    out("xmm8") _, out("xmm9") _, out("xmm10") _, out("xmm11") _,
                    out("xmm14") _, out("xmm15") _,
                    options(nomem, nostack),
                );
            }
        }
    };
}

// Accumulators and factors are all +0: no operation is slowed down by subnormals.
#[rustfmt::skip]
chains!(zmm_f32, "vzeroall", [
    "vfmadd231ps zmm0, zmm14, zmm15"
    "vfmadd231ps zmm1, zmm14, zmm15"
    "vfmadd231ps zmm2, zmm14, zmm15"
    "vfmadd231ps zmm3, zmm14, zmm15"
    "vfmadd231ps zmm4, zmm14, zmm15"
    "vfmadd231ps zmm5, zmm14, zmm15"
    "vfmadd231ps zmm6, zmm14, zmm15"
    "vfmadd231ps zmm7, zmm14, zmm15"
    "vfmadd231ps zmm8, zmm14, zmm15"
    "vfmadd231ps zmm9, zmm14, zmm15"
    "vfmadd231ps zmm10, zmm14, zmm15"
    "vfmadd231ps zmm11, zmm14, zmm15"
]);
#[rustfmt::skip]
chains!(zmm_f64, "vzeroall", [
    "vfmadd231pd zmm0, zmm14, zmm15"
    "vfmadd231pd zmm1, zmm14, zmm15"
    "vfmadd231pd zmm2, zmm14, zmm15"
    "vfmadd231pd zmm3, zmm14, zmm15"
    "vfmadd231pd zmm4, zmm14, zmm15"
    "vfmadd231pd zmm5, zmm14, zmm15"
    "vfmadd231pd zmm6, zmm14, zmm15"
    "vfmadd231pd zmm7, zmm14, zmm15"
    "vfmadd231pd zmm8, zmm14, zmm15"
    "vfmadd231pd zmm9, zmm14, zmm15"
    "vfmadd231pd zmm10, zmm14, zmm15"
    "vfmadd231pd zmm11, zmm14, zmm15"
]);
#[rustfmt::skip]
chains!(ymm_f32, "vzeroall", [
    "vfmadd231ps ymm0, ymm14, ymm15"
    "vfmadd231ps ymm1, ymm14, ymm15"
    "vfmadd231ps ymm2, ymm14, ymm15"
    "vfmadd231ps ymm3, ymm14, ymm15"
    "vfmadd231ps ymm4, ymm14, ymm15"
    "vfmadd231ps ymm5, ymm14, ymm15"
    "vfmadd231ps ymm6, ymm14, ymm15"
    "vfmadd231ps ymm7, ymm14, ymm15"
    "vfmadd231ps ymm8, ymm14, ymm15"
    "vfmadd231ps ymm9, ymm14, ymm15"
    "vfmadd231ps ymm10, ymm14, ymm15"
    "vfmadd231ps ymm11, ymm14, ymm15"
]);
#[rustfmt::skip]
chains!(ymm_f64, "vzeroall", [
    "vfmadd231pd ymm0, ymm14, ymm15"
    "vfmadd231pd ymm1, ymm14, ymm15"
    "vfmadd231pd ymm2, ymm14, ymm15"
    "vfmadd231pd ymm3, ymm14, ymm15"
    "vfmadd231pd ymm4, ymm14, ymm15"
    "vfmadd231pd ymm5, ymm14, ymm15"
    "vfmadd231pd ymm6, ymm14, ymm15"
    "vfmadd231pd ymm7, ymm14, ymm15"
    "vfmadd231pd ymm8, ymm14, ymm15"
    "vfmadd231pd ymm9, ymm14, ymm15"
    "vfmadd231pd ymm10, ymm14, ymm15"
    "vfmadd231pd ymm11, ymm14, ymm15"
]);
#[rustfmt::skip]
chains!(xmm_f32, "xorps xmm0, xmm0\nxorps xmm1, xmm1\nxorps xmm2, xmm2\nxorps xmm3, xmm3\nxorps xmm4, xmm4\nxorps xmm5, xmm5\nxorps xmm6, xmm6\nxorps xmm7, xmm7\nxorps xmm8, xmm8\nxorps xmm9, xmm9\nxorps xmm10, xmm10\nxorps xmm11, xmm11\nxorps xmm14, xmm14", [
    "addps xmm0, xmm14"
    "mulps xmm1, xmm14"
    "addps xmm2, xmm14"
    "mulps xmm3, xmm14"
    "addps xmm4, xmm14"
    "mulps xmm5, xmm14"
    "addps xmm6, xmm14"
    "mulps xmm7, xmm14"
    "addps xmm8, xmm14"
    "mulps xmm9, xmm14"
    "addps xmm10, xmm14"
    "mulps xmm11, xmm14"
]);
#[rustfmt::skip]
chains!(xmm_f64, "xorps xmm0, xmm0\nxorps xmm1, xmm1\nxorps xmm2, xmm2\nxorps xmm3, xmm3\nxorps xmm4, xmm4\nxorps xmm5, xmm5\nxorps xmm6, xmm6\nxorps xmm7, xmm7\nxorps xmm8, xmm8\nxorps xmm9, xmm9\nxorps xmm10, xmm10\nxorps xmm11, xmm11\nxorps xmm14, xmm14", [
    "addpd xmm0, xmm14"
    "mulpd xmm1, xmm14"
    "addpd xmm2, xmm14"
    "mulpd xmm3, xmm14"
    "addpd xmm4, xmm14"
    "mulpd xmm5, xmm14"
    "addpd xmm6, xmm14"
    "mulpd xmm7, xmm14"
    "addpd xmm8, xmm14"
    "mulpd xmm9, xmm14"
    "addpd xmm10, xmm14"
    "mulpd xmm11, xmm14"
]);

/// Returns the flops of one run on the widest registers, and a function that runs it.
pub fn fma_loop(double: bool) -> Option<(f64, fn())> {
    let (lanes, flops, f32, f64): (u64, u64, fn(), fn()) = match Width::best() {
        Width::Zmm => (16, 2, zmm_f32, zmm_f64),
        Width::Ymm => (8, 2, ymm_f32, ymm_f64),
        // Without fma, additions and products alternate.
        Width::Xmm => (4, 1, xmm_f32, xmm_f64),
    };
    let lanes = if double { lanes / 2 } else { lanes };
    let run = if double { f64 } else { f32 };
    Some(((ITERATIONS * CHAINS * lanes * flops) as f64, run))
}
