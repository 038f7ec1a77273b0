//! The functions of the C interface, by signature.

use diptych_ffi::*;

use crate::real::Dtype;

type Exec = *const dpt_exec;
/// `clamp`.
pub type Bounded<T> = unsafe extern "C" fn(Exec, i64, *const T, T, T, *mut T) -> dpt_status;
/// `clamp_backward`.
pub type BoundedBinary<T> =
    unsafe extern "C" fn(Exec, i64, *const T, *const T, T, T, *mut T) -> dpt_status;
/// `add` and its like.
pub type Binary<T> = unsafe extern "C" fn(Exec, i64, *const T, *const T, *mut T) -> dpt_status;
/// `scale`, `axpy`.
pub type Scaled<T> = unsafe extern "C" fn(Exec, i64, T, *const T, *mut T) -> dpt_status;
/// `square`.
pub type Unary<T> = unsafe extern "C" fn(Exec, i64, *const T, *mut T) -> dpt_status;
/// `fill`.
pub type Filled<T> = unsafe extern "C" fn(Exec, i64, T, *mut T) -> dpt_status;
/// `outer`.
pub type Outer<T> = unsafe extern "C" fn(
    Exec,
    i64,
    i64,
    *const T,
    i64,
    *const T,
    i64,
    *mut T,
    i64,
    i64,
) -> dpt_status;
/// `ger`.
pub type Ger<T> = unsafe extern "C" fn(
    Exec,
    i64,
    i64,
    T,
    *const T,
    i64,
    *const T,
    i64,
    *mut T,
    i64,
    i64,
) -> dpt_status;
/// `gemm`.
pub type Gemm<T> = unsafe extern "C" fn(
    Exec,
    i64,
    i64,
    i64,
    T,
    *const T,
    i64,
    i64,
    *const T,
    i64,
    i64,
    T,
    *mut T,
    i64,
    i64,
) -> dpt_status;
/// `gemm_batched`.
pub type GemmBatched<T> = unsafe extern "C" fn(
    Exec,
    i64,
    i64,
    i64,
    T,
    *const T,
    i64,
    i64,
    *const T,
    i64,
    i64,
    T,
    *mut T,
    i64,
    i64,
    i64,
    i64,
    i64,
    i64,
) -> dpt_status;
/// `gemm_fused`.
pub type GemmFused<T> = unsafe extern "C" fn(
    Exec,
    i64,
    i64,
    i64,
    T,
    *const T,
    i64,
    i64,
    *const T,
    i64,
    i64,
    T,
    *mut T,
    i64,
    i64,
    *const dpt_epilogue,
) -> dpt_status;
/// The scratch memory of products.
pub type GemmSize = unsafe extern "C" fn(Exec, i64, i64, i64, *mut usize) -> dpt_status;
/// The scratch memory of `lsq_grad`.
pub type LsqSize = unsafe extern "C" fn(Exec, i64, i64, *mut usize) -> dpt_status;
/// Reductions, and searches with `i64` for `O`.
pub type Reduce<T, O> = unsafe extern "C" fn(Exec, i64, *const T, i64, *mut O) -> dpt_status;
/// The same of rows.
pub type ReduceRows<T, O> =
    unsafe extern "C" fn(Exec, i64, i64, *const T, i64, i64, *mut O, i64) -> dpt_status;
/// `var`.
pub type Var<T> = unsafe extern "C" fn(Exec, i64, *const T, i64, i64, *mut T) -> dpt_status;
/// `var_rows`.
pub type VarRows<T> =
    unsafe extern "C" fn(Exec, i64, i64, *const T, i64, i64, i64, *mut T, i64) -> dpt_status;
/// `dot`.
pub type Dot<T> =
    unsafe extern "C" fn(Exec, i64, *const T, i64, *const T, i64, *mut T) -> dpt_status;
/// `mse_grad`.
pub type Mse<T> = unsafe extern "C" fn(Exec, i64, *const T, *const T, *mut T, *mut T) -> dpt_status;
/// `lsq_grad`.
pub type Lsq<T> = unsafe extern "C" fn(
    Exec,
    i64,
    i64,
    *const T,
    i64,
    i64,
    *const T,
    *const T,
    *mut T,
) -> dpt_status;

/// An elementwise function.
#[derive(Clone, Copy)]
pub enum Elementwise<T> {
    /// One input and bounds.
    Bounded(Bounded<T>),
    /// Two inputs and bounds.
    BoundedBinary(BoundedBinary<T>),
    /// Two inputs.
    Binary(Binary<T>),
    /// A factor and an input.
    Scaled(Scaled<T>),
    /// One input.
    Unary(Unary<T>),
    /// A value.
    Filled(Filled<T>),
}

/// A reduction of a vector, and of rows.
#[derive(Clone, Copy)]
pub enum Reduction<T> {
    /// To a value.
    Value(Reduce<T, T>, ReduceRows<T, T>),
    /// To an index.
    Index(Reduce<T, i64>, ReduceRows<T, i64>),
    /// With degrees of freedom.
    Variance(Var<T>, VarRows<T>),
}

/// The functions of one element type.
pub trait Functions: Dtype {
    /// By name, as in `crate::ops::elementwise`.
    const ELEMENTWISE: [(&'static str, Elementwise<Self>); 10];
    /// By name, as in `crate::ops::reductions`.
    const REDUCTIONS: [(&'static str, Reduction<Self>); 12];
    /// `dpt_outer`.
    const OUTER: Outer<Self>;
    /// `dpt_ger`.
    const GER: Ger<Self>;
    /// `dpt_gemm`.
    const GEMM: Gemm<Self>;
    /// `dpt_gemm_batched`.
    const GEMM_BATCHED: GemmBatched<Self>;
    /// `dpt_gemm_fused`.
    const GEMM_FUSED: GemmFused<Self>;
    /// `dpt_gemm_workspace`.
    const GEMM_SIZE: GemmSize;
    /// `dpt_lsq_grad_workspace`.
    const LSQ_SIZE: LsqSize;
    /// `dpt_dot`.
    const DOT: Dot<Self>;
    /// `dpt_mse_grad`.
    const MSE: Mse<Self>;
    /// `dpt_lsq_grad`.
    const LSQ: Lsq<Self>;
}

macro_rules! functions {
    ($T:ty: $clamp:ident $clamp_backward:ident $add:ident $sub:ident $mul:ident $div:ident $scale:ident
     $axpy:ident $square:ident $fill:ident; $outer:ident $ger:ident; $gemm:ident $gemm_batched:ident
     $gemm_fused:ident $gemm_size:ident; $dot:ident $mse:ident $lsq:ident $lsq_size:ident;
     $($name:literal $kind:ident $f:ident $rows:ident;)*) => {
        impl Functions for $T {
            const ELEMENTWISE: [(&'static str, Elementwise<$T>); 10] = [
                ("clamp", Elementwise::Bounded($clamp)),
                ("clamp_backward", Elementwise::BoundedBinary($clamp_backward)),
                ("add", Elementwise::Binary($add)),
                ("sub", Elementwise::Binary($sub)),
                ("mul", Elementwise::Binary($mul)),
                ("div", Elementwise::Binary($div)),
                ("scale", Elementwise::Scaled($scale)),
                ("axpy", Elementwise::Scaled($axpy)),
                ("square", Elementwise::Unary($square)),
                ("fill", Elementwise::Filled($fill)),
            ];
            const REDUCTIONS: [(&'static str, Reduction<$T>); 12] =
                [$(($name, Reduction::$kind($f, $rows)),)*];
            const OUTER: Outer<$T> = $outer;
            const GER: Ger<$T> = $ger;
            const GEMM: Gemm<$T> = $gemm;
            const GEMM_BATCHED: GemmBatched<$T> = $gemm_batched;
            const GEMM_FUSED: GemmFused<$T> = $gemm_fused;
            const GEMM_SIZE: GemmSize = $gemm_size;
            const LSQ_SIZE: LsqSize = $lsq_size;
            const DOT: Dot<$T> = $dot;
            const MSE: Mse<$T> = $mse;
            const LSQ: Lsq<$T> = $lsq;
        }
    };
}

functions!(f32: dpt_clamp_f32 dpt_clamp_backward_f32 dpt_add_f32 dpt_sub_f32 dpt_mul_f32 dpt_div_f32
    dpt_scale_f32 dpt_axpy_f32 dpt_square_f32 dpt_fill_f32; dpt_outer_f32 dpt_ger_f32;
    dpt_gemm_f32 dpt_gemm_batched_f32 dpt_gemm_fused_f32 dpt_gemm_f32_workspace;
    dpt_dot_f32 dpt_mse_grad_f32 dpt_lsq_grad_f32 dpt_lsq_grad_f32_workspace;
    "sum" Value dpt_sum_f32 dpt_sum_rows_f32;
    "mean" Value dpt_mean_f32 dpt_mean_rows_f32;
    "prod" Value dpt_prod_f32 dpt_prod_rows_f32;
    "min" Value dpt_min_f32 dpt_min_rows_f32;
    "max" Value dpt_max_f32 dpt_max_rows_f32;
    "sumsq" Value dpt_sumsq_f32 dpt_sumsq_rows_f32;
    "asum" Value dpt_asum_f32 dpt_asum_rows_f32;
    "nrm2" Value dpt_nrm2_f32 dpt_nrm2_rows_f32;
    "logsumexp" Value dpt_logsumexp_f32 dpt_logsumexp_rows_f32;
    "var" Variance dpt_var_f32 dpt_var_rows_f32;
    "argmin" Index dpt_argmin_f32 dpt_argmin_rows_f32;
    "argmax" Index dpt_argmax_f32 dpt_argmax_rows_f32;
);
functions!(f64: dpt_clamp_f64 dpt_clamp_backward_f64 dpt_add_f64 dpt_sub_f64 dpt_mul_f64 dpt_div_f64
    dpt_scale_f64 dpt_axpy_f64 dpt_square_f64 dpt_fill_f64; dpt_outer_f64 dpt_ger_f64;
    dpt_gemm_f64 dpt_gemm_batched_f64 dpt_gemm_fused_f64 dpt_gemm_f64_workspace;
    dpt_dot_f64 dpt_mse_grad_f64 dpt_lsq_grad_f64 dpt_lsq_grad_f64_workspace;
    "sum" Value dpt_sum_f64 dpt_sum_rows_f64;
    "mean" Value dpt_mean_f64 dpt_mean_rows_f64;
    "prod" Value dpt_prod_f64 dpt_prod_rows_f64;
    "min" Value dpt_min_f64 dpt_min_rows_f64;
    "max" Value dpt_max_f64 dpt_max_rows_f64;
    "sumsq" Value dpt_sumsq_f64 dpt_sumsq_rows_f64;
    "asum" Value dpt_asum_f64 dpt_asum_rows_f64;
    "nrm2" Value dpt_nrm2_f64 dpt_nrm2_rows_f64;
    "logsumexp" Value dpt_logsumexp_f64 dpt_logsumexp_rows_f64;
    "var" Variance dpt_var_f64 dpt_var_rows_f64;
    "argmin" Index dpt_argmin_f64 dpt_argmin_rows_f64;
    "argmax" Index dpt_argmax_f64 dpt_argmax_rows_f64;
);
