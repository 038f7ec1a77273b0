//! Matrix products of all types under one name: [`gemm_fused`] of `f32` and `f64`, [`matmul`] of 16-bit floats.

use diptych::{
    Epilogue, Exec, MatMut, MatRef, MatmulOptions, Multiply, Result, Storage, bf16, f16,
    gemm_fused, matmul,
};

/// Products of matrices of this type, with results of type `C`.
pub trait Product<C>: Storage {
    /// Computes C = A B, plus the bias and clamped as `epilogue` says. Sums are rounded to `C` once.
    fn product(
        exec: &Exec<'_>,
        a: MatRef<'_, Self>,
        b: MatRef<'_, Self>,
        c: MatMut<'_, C>,
        epilogue: &Epilogue<'_, Self::Compute>,
    ) -> Result<()>;
}

macro_rules! by_gemm {
    ($type:ident) => {
        impl Product<$type> for $type {
            fn product(
                exec: &Exec<'_>,
                a: MatRef<'_, $type>,
                b: MatRef<'_, $type>,
                c: MatMut<'_, $type>,
                epilogue: &Epilogue<'_, $type>,
            ) -> Result<()> {
                gemm_fused(exec, 1.0, a, b, 0.0, c, epilogue)
            }
        }
    };
}

macro_rules! by_matmul {
    ($type:ident) => {
        impl<C: Copy> Product<C> for $type
        where
            $type: Multiply<$type, C>,
        {
            fn product(
                exec: &Exec<'_>,
                a: MatRef<'_, $type>,
                b: MatRef<'_, $type>,
                c: MatMut<'_, C>,
                epilogue: &Epilogue<'_, f32>,
            ) -> Result<()> {
                let options = MatmulOptions {
                    bias: epilogue.bias,
                    clamp: epilogue.clamp,
                    ..MatmulOptions::default()
                };
                matmul(exec, a, b, c, &options)
            }
        }
    };
}

by_gemm!(f32);
by_gemm!(f64);
by_matmul!(f16);
by_matmul!(bf16);
