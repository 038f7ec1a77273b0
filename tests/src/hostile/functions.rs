//! The functions of the C interface: those that are expanded from the table's rows, and the others by signature.

use diptych::{for_each_elementwise, for_each_reduction, for_each_row_map, table};
use diptych_ffi::*;

use crate::ops::{MOST_INPUTS, Scalars};
use crate::real::Dtype;

type Exec = *const dpt_exec;
/// An elementwise operation; it ignores the inputs and scalars that it does not have.
pub type Elementwise<T> =
    unsafe fn(Exec, i64, [*const T; MOST_INPUTS], &Scalars<T>, *mut T) -> dpt_status;
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
/// The query of the scratch memory of products.
pub type GemmSize = unsafe extern "C" fn(Exec, i64, i64, i64, *mut usize) -> dpt_status;
/// The query of the scratch memory of `lsq_grad`.
pub type LsqSize = unsafe extern "C" fn(Exec, i64, i64, *mut usize) -> dpt_status;
/// A reduction of a vector, with `i64` for `O` if the result is an index or a count. All take the degrees of freedom
/// before the output, and those without degrees of freedom ignore them.
pub type Reduce<T, O> = unsafe fn(Exec, i64, *const T, i64, i64, *mut O) -> dpt_status;
/// Like [`Reduce`], of the rows of a matrix.
pub type ReduceRows<T, O> =
    unsafe fn(Exec, i64, i64, *const T, i64, i64, i64, *mut O, i64) -> dpt_status;
/// A map over rows.
pub type RowMap<T> =
    unsafe extern "C" fn(Exec, i64, i64, *const T, i64, i64, *mut T, i64, i64) -> dpt_status;
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

/// The functions of a reduction: of a vector, and of the rows of a matrix.
#[derive(Clone, Copy)]
pub enum Reduction<T> {
    /// To a value.
    Value(Reduce<T, T>, ReduceRows<T, T>),
    /// To an index or a count.
    Index(Reduce<T, i64>, ReduceRows<T, i64>),
}

/// The functions of one element type.
pub trait Functions: Dtype {
    /// The elementwise operations, in the order of the table of operations.
    const ELEMENTWISE: [Elementwise<Self>; table::ELEMENTWISE.len()];
    /// The reductions, in the order of the table of operations.
    const REDUCTIONS: [Reduction<Self>; table::REDUCTIONS.len()];
    /// The maps over rows, in the order of the table of operations.
    const ROW_MAPS: [RowMap<Self>; table::ROW_MAPS.len()];
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

/// Expands to the elementwise functions. They are declared here again, because a macro cannot concatenate `dpt_`, a
/// name and a type to an identifier; it can for `link_name`.
macro_rules! elementwise {
    ({ $T:ident } $($name:ident ($($arg:ident: $kind:ident),*) ($($role:ident),*) $out:ident)*) => {{
        unsafe extern "C" {
            $(
                #[link_name = concat!("dpt_", stringify!($name), "_", stringify!($T))]
                fn $name(exec: Exec, n: i64, $($arg: elementwise!(@type $kind $T),)* $out: *mut $T) -> dpt_status;
            )*
        }
        [$(|exec, n, inputs, s, out| {
            #[allow(unused_mut, unused_variables)] // An operation may have no inputs or no scalars.
            let (mut inputs, s) = (inputs.into_iter(), s);
            // SAFETY: as the caller's.
            unsafe { $name(exec, n, $(elementwise!(@argument $kind $role inputs s),)* out) }
        }),*]
    }};
    (@type scalar $T:ident) => { $T };
    (@type array $T:ident) => { *const $T };
    (@argument scalar $role:ident $inputs:ident $s:ident) => { $s.of(table::Role::$role) };
    (@argument array $role:ident $inputs:ident $s:ident) => {
        $inputs.next().expect("no more than MOST_INPUTS arrays")
    };
}

/// Expands to the reductions, likewise.
macro_rules! reductions {
    ({ $T:ident } $($name:ident $rows:ident [$($ddof:ident)?] $out:ident)*) => {{
        unsafe extern "C" {
            $(
                #[link_name = concat!("dpt_", stringify!($name), "_", stringify!($T))]
                fn $name(exec: Exec, n: i64, x: *const $T, incx: i64, $($ddof: i64,)? out: *mut reductions!(@type $out $T))
                    -> dpt_status;
                #[link_name = concat!("dpt_", stringify!($rows), "_", stringify!($T))]
                fn $rows(exec: Exec, m: i64, n: i64, x: *const $T, rs: i64, cs: i64, $($ddof: i64,)?
                    out: *mut reductions!(@type $out $T), inc_out: i64) -> dpt_status;
            )*
        }
        [$(reductions!(@$out
            |exec, n, x, inc, degrees, out| {
                let _ = degrees;
                // SAFETY: as the caller's.
                unsafe { $name(exec, n, x, inc, $(reductions!(@degrees $ddof degrees),)? out) }
            },
            |exec, m, n, x, rs, cs, degrees, out, inc| {
                let _ = degrees;
                // SAFETY: as the caller's.
                unsafe { $rows(exec, m, n, x, rs, cs, $(reductions!(@degrees $ddof degrees),)? out, inc) }
            }
        )),*]
    }};
    (@type element $T:ident) => { $T };
    (@type count $T:ident) => { i64 };
    (@type index $T:ident) => { i64 };
    (@degrees $ddof:ident $degrees:ident) => { $degrees };
    (@element $one:expr, $rows:expr) => { Reduction::Value($one, $rows) };
    (@count $one:expr, $rows:expr) => { Reduction::Index($one, $rows) };
    (@index $one:expr, $rows:expr) => { Reduction::Index($one, $rows) };
}

/// Expands to the maps over rows, likewise.
macro_rules! row_maps {
    ({ $T:ident } $($name:ident)*) => {{
        unsafe extern "C" {
            $(
                #[link_name = concat!("dpt_", stringify!($name), "_", stringify!($T))]
                fn $name(exec: Exec, m: i64, n: i64, x: *const $T, x_rs: i64, x_cs: i64, out: *mut $T, out_rs: i64,
                    out_cs: i64) -> dpt_status;
            )*
        }
        [$($name),*]
    }};
}

macro_rules! functions {
    ($T:ident: $outer:ident $ger:ident; $gemm:ident $gemm_batched:ident $gemm_fused:ident $gemm_size:ident;
     $dot:ident $mse:ident $lsq:ident $lsq_size:ident) => {
        impl Functions for $T {
            const ELEMENTWISE: [Elementwise<$T>; table::ELEMENTWISE.len()] =
                for_each_elementwise!(elementwise! { $T } [name arguments roles output]);
            const REDUCTIONS: [Reduction<$T>; table::REDUCTIONS.len()] =
                for_each_reduction!(reductions! { $T } [name rows ddof result]);
            const ROW_MAPS: [RowMap<$T>; table::ROW_MAPS.len()] =
                for_each_row_map!(row_maps! { $T }[name]);
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

functions!(f32: dpt_outer_f32 dpt_ger_f32;
    dpt_gemm_f32 dpt_gemm_batched_f32 dpt_gemm_fused_f32 dpt_gemm_f32_workspace;
    dpt_dot_f32 dpt_mse_grad_f32 dpt_lsq_grad_f32 dpt_lsq_grad_f32_workspace);
functions!(f64: dpt_outer_f64 dpt_ger_f64;
    dpt_gemm_f64 dpt_gemm_batched_f64 dpt_gemm_fused_f64 dpt_gemm_f64_workspace;
    dpt_dot_f64 dpt_mse_grad_f64 dpt_lsq_grad_f64 dpt_lsq_grad_f64_workspace);
