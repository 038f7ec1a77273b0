//! THE table: every operation, and every kernel with its body, compiled for each level and type.

use crate::level::Level;
use crate::ops::gemm::{self, Routines};
use crate::ops::{elementwise, outer, reduce};

/// An operation of the public surface, the same in Rust and in C.
#[derive(Clone, Copy, Debug)]
pub struct Op {
    /// Its name, without prefix and element type.
    pub name: &'static str,
    /// The file that it lives in, on every panel.
    pub family: &'static str,
    /// Whether there is a `_rows` form.
    pub rows: bool,
}

macro_rules! ops {
    ($($family:ident: $($name:ident)*, rows: $rows:literal;)*) => {
        /// Every operation.
        pub const OPS: &[Op] = &[$($(
            Op { name: stringify!($name), family: stringify!($family), rows: $rows },
        )*)*];
    };
}

ops! {
    elementwise: clamp clamp_backward add sub mul div scale axpy square fill, rows: false;
    outer: outer ger, rows: false;
    gemm: gemm gemm_batched gemm_fused, rows: false;
    reduce: sum mean prod min max sumsq asum nrm2 var logsumexp argmin argmax, rows: true;
    reduce: dot, rows: false;
    fused: mse_grad lsq_grad, rows: false;
}

/// Hands the rows of the kernel table to `$make`, after `$args`. In a row `T` is the element type.
macro_rules! kernel_table {
    ($make:ident! $args:tt) => {
        $make! { $args
            clamp(n: usize, x: *const T, lo: T, hi: T, out: *mut T, stream: bool) = elementwise::clamp;
            clamp_backward(n: usize, x: *const T, grad: *const T, lo: T, hi: T, out: *mut T, stream: bool) = elementwise::clamp_backward;
            add(n: usize, x: *const T, y: *const T, out: *mut T, stream: bool) = elementwise::add;
            sub(n: usize, x: *const T, y: *const T, out: *mut T, stream: bool) = elementwise::sub;
            mul(n: usize, x: *const T, y: *const T, out: *mut T, stream: bool) = elementwise::mul;
            div(n: usize, x: *const T, y: *const T, out: *mut T, stream: bool) = elementwise::div;
            scale(n: usize, alpha: T, x: *const T, out: *mut T, stream: bool) = elementwise::scale;
            axpy(n: usize, alpha: T, x: *const T, y: *mut T) = elementwise::axpy;
            square(n: usize, x: *const T, out: *mut T, stream: bool) = elementwise::square;
            fill(n: usize, value: T, out: *mut T, stream: bool) = elementwise::fill;
            outer(m: usize, n: usize, u: *const T, incu: isize, v: *const T, incv: isize, out: *mut T, rs: isize, stream: bool) = outer::outer;
            ger(m: usize, n: usize, alpha_u: T, u: *const T, incu: isize, alpha_v: T, v: *const T, incv: isize, a: *mut T, rs: isize) = outer::ger;
            sum(n: usize, x: *const T, incx: isize, y: *const T, incy: isize, param: T) -> T = reduce::vector::<_, reduce::Sum>;
            asum(n: usize, x: *const T, incx: isize, y: *const T, incy: isize, param: T) -> T = reduce::vector::<_, reduce::AbsSum>;
            sumsq(n: usize, x: *const T, incx: isize, y: *const T, incy: isize, param: T) -> T = reduce::vector::<_, reduce::SumSq>;
            scaled_sumsq(n: usize, x: *const T, incx: isize, y: *const T, incy: isize, param: T) -> T = reduce::vector::<_, reduce::ScaledSumSq>;
            deviation_sq(n: usize, x: *const T, incx: isize, y: *const T, incy: isize, param: T) -> T = reduce::vector::<_, reduce::DeviationSq>;
            exp_sum(n: usize, x: *const T, incx: isize, y: *const T, incy: isize, param: T) -> T = reduce::vector::<_, reduce::ExpSum>;
            dot(n: usize, x: *const T, incx: isize, y: *const T, incy: isize, param: T) -> T = reduce::vector::<_, reduce::Dot>;
            prod(n: usize, x: *const T, incx: isize, y: *const T, incy: isize, param: T) -> T = reduce::vector::<_, reduce::Product>;
            min(n: usize, x: *const T, incx: isize, y: *const T, incy: isize, param: T) -> T = reduce::vector::<_, reduce::Min>;
            max(n: usize, x: *const T, incx: isize, y: *const T, incy: isize, param: T) -> T = reduce::vector::<_, reduce::Max>;
            max_abs(n: usize, x: *const T, incx: isize, y: *const T, incy: isize, param: T) -> T = reduce::vector::<_, reduce::MaxAbs>;
            sum_columns(rows: usize, cols: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const T, out: *mut T, work: reduce::Work) = reduce::columns::<_, reduce::Sum>;
            asum_columns(rows: usize, cols: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const T, out: *mut T, work: reduce::Work) = reduce::columns::<_, reduce::AbsSum>;
            sumsq_columns(rows: usize, cols: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const T, out: *mut T, work: reduce::Work) = reduce::columns::<_, reduce::SumSq>;
            deviation_sq_columns(rows: usize, cols: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const T, out: *mut T, work: reduce::Work) = reduce::columns::<_, reduce::DeviationSq>;
            exp_sum_columns(rows: usize, cols: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const T, out: *mut T, work: reduce::Work) = reduce::columns::<_, reduce::ExpSum>;
            dot_columns(rows: usize, cols: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const T, out: *mut T, work: reduce::Work) = reduce::columns::<_, reduce::Dot>;
            prod_columns(rows: usize, cols: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const T, out: *mut T, work: reduce::Work) = reduce::columns::<_, reduce::Product>;
            min_columns(rows: usize, cols: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const T, out: *mut T, work: reduce::Work) = reduce::columns::<_, reduce::Min>;
            max_columns(rows: usize, cols: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const T, out: *mut T, work: reduce::Work) = reduce::columns::<_, reduce::Max>;
            sum_rows(rows: usize, n: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const T, out: *mut T) = reduce::rows::<_, reduce::Sum>;
            asum_rows(rows: usize, n: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const T, out: *mut T) = reduce::rows::<_, reduce::AbsSum>;
            sumsq_rows(rows: usize, n: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const T, out: *mut T) = reduce::rows::<_, reduce::SumSq>;
            deviation_sq_rows(rows: usize, n: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const T, out: *mut T) = reduce::rows::<_, reduce::DeviationSq>;
            exp_sum_rows(rows: usize, n: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const T, out: *mut T) = reduce::rows::<_, reduce::ExpSum>;
            dot_rows(rows: usize, n: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const T, out: *mut T) = reduce::dot_rows;
            prod_rows(rows: usize, n: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const T, out: *mut T) = reduce::rows::<_, reduce::Product>;
            min_rows(rows: usize, n: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const T, out: *mut T) = reduce::rows::<_, reduce::Min>;
            max_rows(rows: usize, n: usize, x: *const T, inc: isize, y: *const T, incy: isize, param: *const T, out: *mut T) = reduce::rows::<_, reduce::Max>;
            argmin(n: usize, x: *const T, incx: isize) -> usize = reduce::argmin;
            argmax(n: usize, x: *const T, incx: isize) -> usize = reduce::argmax;
            first_in_rows(rows: usize, n: usize, x: *const T, inc: isize, values: *const T, out: *mut i64, inc_out: isize) = reduce::first_in_rows;
            argmin_columns(rows: usize, cols: usize, x: *const T, inc: isize, out: *mut i64, inc_out: isize) -> bool = reduce::argmin_columns;
            argmax_columns(rows: usize, cols: usize, x: *const T, inc: isize, out: *mut i64, inc_out: isize) -> bool = reduce::argmax_columns;
            mse_grad(n: usize, pred: *const T, target: *const T, grad: *mut T, stream: bool) -> T = reduce::mse_grad;
            lsq_block(rows: usize, n: usize, a: *const T, a_rs: isize, a_cs: isize, x: *const T, y: *const T, from: usize, cols: usize, out: *mut T) = reduce::lsq_block;
        }
    };
}

/// The struct of function pointers.
macro_rules! kernels_struct {
    (() $($name:ident($($arg:ident: $ty:ty),*) $(-> $ret:ty)? = $body:path;)*) => {
        /// The kernels of one level for one element type.
        ///
        /// Each is unsafe to call: the machine must have the level, and the arrays must be as the
        /// body's documentation says.
        #[allow(missing_docs)]
        pub struct Kernels<T: 'static> {
            $(pub $name: unsafe fn($($ty),*) $(-> $ret)?,)*
            pub gemm: Routines<T>,
        }
    };
}

/// One level for one element type: a function per kernel that has the level's target features
/// and inlines the generic body, and the struct that points to them.
macro_rules! level {
    (($module:ident, $Elem:ty, $Token:ty, $features:meta, $level:ident)
     $($name:ident($($arg:ident: $ty:ty),*) $(-> $ret:ty)? = $body:path;)*) => {
        mod $module {
            use super::*;
            type T = $Elem;
            type Token = $Token;

            $(
                #[$features]
                unsafe fn $name($($arg: $ty),*) $(-> $ret)? {
                    // SAFETY: this function is reached only on a machine that has the level; the
                    // arrays are as the caller vouches.
                    unsafe { $body(Token::new(), $($arg),*) }
                }
            )*

            gemm::routines!($Elem, $Token, $features, $level);

            pub static KERNELS: Kernels<T> = Kernels { $($name,)* gemm: GEMM };
        }
    };
}

kernel_table!(kernels_struct!());
kernel_table!(level!(
    portable_f32,
    f32,
    crate::isa::portable::Portable<f32>,
    inline(never),
    portable
));
kernel_table!(level!(
    portable_f64,
    f64,
    crate::isa::portable::Portable<f64>,
    inline(never),
    portable
));
#[cfg(target_arch = "x86_64")]
kernel_table!(level!(
    avx2_f32,
    f32,
    crate::isa::avx2::Avx2<f32>,
    target_feature(enable = "avx2,fma"),
    avx2
));
#[cfg(target_arch = "x86_64")]
kernel_table!(level!(
    avx2_f64,
    f64,
    crate::isa::avx2::Avx2<f64>,
    target_feature(enable = "avx2,fma"),
    avx2
));
#[cfg(target_arch = "x86_64")]
kernel_table!(level!(
    avx512_f32,
    f32,
    crate::isa::avx512::Avx512<f32>,
    target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,bmi1,bmi2"),
    avx512
));
#[cfg(target_arch = "x86_64")]
kernel_table!(level!(
    avx512_f64,
    f64,
    crate::isa::avx512::Avx512<f64>,
    target_feature(enable = "avx512f,avx512vl,avx512dq,avx512bw,avx512cd,avx2,fma,bmi1,bmi2"),
    avx512
));
#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
kernel_table!(level!(
    neon_f32,
    f32,
    crate::isa::neon::Neon<f32>,
    target_feature(enable = "neon"),
    neon
));
#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
kernel_table!(level!(
    neon_f64,
    f64,
    crate::isa::neon::Neon<f64>,
    target_feature(enable = "neon"),
    neon
));

macro_rules! choose {
    ($choose:ident, $T:ty, $portable:ident, $avx2:ident, $avx512:ident, $neon:ident) => {
        /// The kernels of a level; of the portable one where the level is not for this architecture.
        #[inline]
        pub fn $choose(level: Level) -> &'static Kernels<$T> {
            match level {
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => &$avx2::KERNELS,
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => &$avx512::KERNELS,
                #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
                Level::Neon => &$neon::KERNELS,
                _ => &$portable::KERNELS,
            }
        }
    };
}

choose!(
    kernels_f32,
    f32,
    portable_f32,
    avx2_f32,
    avx512_f32,
    neon_f32
);
choose!(
    kernels_f64,
    f64,
    portable_f64,
    avx2_f64,
    avx512_f64,
    neon_f64
);
