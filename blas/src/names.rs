//! The exported functions: every routine under each of its names. They convert integers, and call the routines of
//! `level1`, `level2` and `level3`, which exist once for each type.

use core::ffi::c_char;

use crate::arguments::{transposed, upper};
use crate::errors::{Caller, Routine, report};
use crate::{level1, level2, level3};

/// Returns the names of a routine, for its errors.
macro_rules! routine {
    ($before:literal $T:literal $fortran:literal, $t:literal $cblas:literal, $after:literal) => {
        const {
            &Routine {
                fortran: concat!($T, $fortran),
                cblas: concat!("cblas_", $t, $cblas, "\0"),
                xerbla: concat!($before, "xerbla", $after, "\0"),
            }
        }
    };
}

/// Defines the routines of one type with one type of integers: what stands before a name, the letter of the type in
/// lower and upper case, and what stands after a name of Fortran and of CBLAS.
macro_rules! names {
    ($Int:ident, $T:ident, $before:literal $t:literal $up:literal $f:literal $c:literal) => {
        #[unsafe(export_name = concat!($before, $t, "gemm", $f))]
        unsafe extern "C" fn gemm(
            transa: *const c_char,
            transb: *const c_char,
            m: *const $Int,
            n: *const $Int,
            k: *const $Int,
            alpha: *const $T,
            a: *const $T,
            lda: *const $Int,
            b: *const $T,
            ldb: *const $Int,
            beta: *const $T,
            c: *mut $T,
            ldc: *const $Int,
        ) {
            // SAFETY: the arguments are those of the Fortran interface.
            let done = unsafe {
                level3::gemm(
                    transposed(*transa as u8),
                    transposed(*transb as u8),
                    i64::from(*m),
                    i64::from(*n),
                    i64::from(*k),
                    *alpha,
                    a,
                    i64::from(*lda),
                    b,
                    i64::from(*ldb),
                    *beta,
                    c,
                    i64::from(*ldc),
                )
            };
            if let Err(argument) = done {
                let routine = routine!($before $up "GEMM ", $t "gemm", $f);
                report(routine, Caller::Fortran, argument);
            }
        }

        #[unsafe(export_name = concat!($before, "cblas_", $t, "gemm", $c))]
        unsafe extern "C" fn cblas_gemm(
            layout: i32,
            transa: i32,
            transb: i32,
            m: $Int,
            n: $Int,
            k: $Int,
            alpha: $T,
            a: *const $T,
            lda: $Int,
            b: *const $T,
            ldb: $Int,
            beta: $T,
            c: *mut $T,
            ldc: $Int,
        ) {
            let routine = routine!($before $up "GEMM ", $t "gemm", $f);
            let [m, n, k, lda, ldb, ldc] = [m, n, k, lda, ldb, ldc].map(i64::from);
            // SAFETY: the arguments are those of CBLAS.
            unsafe {
                level3::cblas_gemm(
                    routine, layout, transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc,
                )
            };
        }

        #[unsafe(export_name = concat!($before, $t, "syrk", $f))]
        unsafe extern "C" fn syrk(
            uplo: *const c_char,
            trans: *const c_char,
            n: *const $Int,
            k: *const $Int,
            alpha: *const $T,
            a: *const $T,
            lda: *const $Int,
            beta: *const $T,
            c: *mut $T,
            ldc: *const $Int,
        ) {
            // SAFETY: the arguments are those of the Fortran interface.
            let done = unsafe {
                let [n, k, lda, ldc] = [*n, *k, *lda, *ldc].map(i64::from);
                let (uplo, trans) = (upper(*uplo as u8), transposed(*trans as u8));
                level3::syrk(uplo, trans, n, k, *alpha, a, lda, *beta, c, ldc)
            };
            if let Err(argument) = done {
                let routine = routine!($before $up "SYRK ", $t "syrk", $f);
                report(routine, Caller::Fortran, argument);
            }
        }

        #[unsafe(export_name = concat!($before, "cblas_", $t, "syrk", $c))]
        unsafe extern "C" fn cblas_syrk(
            layout: i32,
            uplo: i32,
            trans: i32,
            n: $Int,
            k: $Int,
            alpha: $T,
            a: *const $T,
            lda: $Int,
            beta: $T,
            c: *mut $T,
            ldc: $Int,
        ) {
            let routine = routine!($before $up "SYRK ", $t "syrk", $f);
            let [n, k, lda, ldc] = [n, k, lda, ldc].map(i64::from);
            // SAFETY: the arguments are those of CBLAS.
            unsafe {
                level3::cblas_syrk(
                    routine, layout, uplo, trans, n, k, alpha, a, lda, beta, c, ldc,
                )
            };
        }

        #[unsafe(export_name = concat!($before, $t, "gemv", $f))]
        unsafe extern "C" fn gemv(
            trans: *const c_char,
            m: *const $Int,
            n: *const $Int,
            alpha: *const $T,
            a: *const $T,
            lda: *const $Int,
            x: *const $T,
            incx: *const $Int,
            beta: *const $T,
            y: *mut $T,
            incy: *const $Int,
        ) {
            // SAFETY: the arguments are those of the Fortran interface.
            let done = unsafe {
                let [m, n, lda, incx, incy] = [*m, *n, *lda, *incx, *incy].map(i64::from);
                let trans = transposed(*trans as u8);
                level2::gemv(trans, m, n, *alpha, a, lda, x, incx, *beta, y, incy)
            };
            if let Err(argument) = done {
                let routine = routine!($before $up "GEMV ", $t "gemv", $f);
                report(routine, Caller::Fortran, argument);
            }
        }

        #[unsafe(export_name = concat!($before, "cblas_", $t, "gemv", $c))]
        unsafe extern "C" fn cblas_gemv(
            layout: i32,
            trans: i32,
            m: $Int,
            n: $Int,
            alpha: $T,
            a: *const $T,
            lda: $Int,
            x: *const $T,
            incx: $Int,
            beta: $T,
            y: *mut $T,
            incy: $Int,
        ) {
            let routine = routine!($before $up "GEMV ", $t "gemv", $f);
            let [m, n, lda, incx, incy] = [m, n, lda, incx, incy].map(i64::from);
            // SAFETY: the arguments are those of CBLAS.
            unsafe {
                level2::cblas_gemv(
                    routine, layout, trans, m, n, alpha, a, lda, x, incx, beta, y, incy,
                )
            };
        }

        #[unsafe(export_name = concat!($before, $t, "ger", $f))]
        unsafe extern "C" fn ger(
            m: *const $Int,
            n: *const $Int,
            alpha: *const $T,
            x: *const $T,
            incx: *const $Int,
            y: *const $T,
            incy: *const $Int,
            a: *mut $T,
            lda: *const $Int,
        ) {
            // SAFETY: the arguments are those of the Fortran interface.
            let done = unsafe {
                let [m, n, incx, incy, lda] = [*m, *n, *incx, *incy, *lda].map(i64::from);
                level2::ger(m, n, *alpha, x, incx, y, incy, a, lda)
            };
            if let Err(argument) = done {
                let routine = routine!($before $up "GER  ", $t "ger", $f);
                report(routine, Caller::Fortran, argument);
            }
        }

        #[unsafe(export_name = concat!($before, "cblas_", $t, "ger", $c))]
        unsafe extern "C" fn cblas_ger(
            layout: i32,
            m: $Int,
            n: $Int,
            alpha: $T,
            x: *const $T,
            incx: $Int,
            y: *const $T,
            incy: $Int,
            a: *mut $T,
            lda: $Int,
        ) {
            let routine = routine!($before $up "GER  ", $t "ger", $f);
            let [m, n, incx, incy, lda] = [m, n, incx, incy, lda].map(i64::from);
            // SAFETY: the arguments are those of CBLAS.
            unsafe { level2::cblas_ger(routine, layout, m, n, alpha, x, incx, y, incy, a, lda) };
        }

        names! {@vectors $Int $T $before $t $f $c
            fn dot / cblas_dot "dot" dot(n: int, x: in, incx: int, y: in, incy: int) -> $T;
            fn nrm2 / cblas_nrm2 "nrm2" nrm2(n: int, x: in, incx: int) -> $T;
            fn asum / cblas_asum "asum" asum(n: int, x: in, incx: int) -> $T;
            fn axpy / cblas_axpy "axpy" axpy(n: int, alpha: scalar, x: in, incx: int, y: out, incy: int) -> ();
            fn scal / cblas_scal "scal" scal(n: int, alpha: scalar, x: out, incx: int) -> ();
            fn copy / cblas_copy "copy" copy_vector(n: int, x: in, incx: int, y: out, incy: int) -> ();
            fn swap / cblas_swap "swap" swap(n: int, x: out, incx: int, y: out, incy: int) -> ();
        }

        #[unsafe(export_name = concat!($before, "i", $t, "amax", $f))]
        unsafe extern "C" fn iamax(n: *const $Int, x: *const $T, incx: *const $Int) -> $Int {
            // SAFETY: the arguments are those of the Fortran interface. The index is at most n.
            unsafe { level1::iamax(i64::from(*n), x, i64::from(*incx)) as $Int }
        }

        /// Its index counts from 0.
        #[unsafe(export_name = concat!($before, "cblas_i", $t, "amax", $c))]
        unsafe extern "C" fn cblas_iamax(n: $Int, x: *const $T, incx: $Int) -> usize {
            // SAFETY: the arguments are those of CBLAS.
            let index = unsafe { level1::iamax(i64::from(n), x, i64::from(incx)) };
            (index - 1).max(0) as usize
        }
    };

    // Routines on vectors, whose two interfaces have the same arguments, by reference and by value.
    (@vectors $Int:ident $T:ident $before:literal $t:literal $f:literal $c:literal
        $(fn $fortran:ident / $cblas:ident $name:literal $call:ident($($arg:ident: $kind:tt),*) -> $R:ty;)*
    ) => {$(
        #[unsafe(export_name = concat!($before, $t, $name, $f))]
        unsafe extern "C" fn $fortran($($arg: names!(@reference $kind $Int $T)),*) -> $R {
            // SAFETY: the arguments are those of the Fortran interface.
            unsafe { level1::$call($(names!(@load $kind $arg)),*) }
        }

        #[unsafe(export_name = concat!($before, "cblas_", $t, $name, $c))]
        unsafe extern "C" fn $cblas($($arg: names!(@value $kind $Int $T)),*) -> $R {
            // SAFETY: the arguments are those of CBLAS.
            unsafe { level1::$call($(names!(@pass $kind $arg)),*) }
        }
    )*};
    (@reference int $Int:ident $T:ident) => { *const $Int };
    (@reference scalar $Int:ident $T:ident) => { *const $T };
    (@reference in $Int:ident $T:ident) => { *const $T };
    (@reference out $Int:ident $T:ident) => { *mut $T };
    (@value int $Int:ident $T:ident) => { $Int };
    (@value scalar $Int:ident $T:ident) => { $T };
    (@value in $Int:ident $T:ident) => { *const $T };
    (@value out $Int:ident $T:ident) => { *mut $T };
    (@load int $arg:ident) => { i64::from(*$arg) };
    (@load scalar $arg:ident) => { *$arg };
    (@load $kind:tt $arg:ident) => { $arg };
    (@pass int $arg:ident) => { i64::from($arg) };
    (@pass $kind:tt $arg:ident) => { $arg };
}

mod s {
    use super::*;
    names! {i32, f32, "" "s" "S" "_" ""}
}
mod d {
    use super::*;
    names! {i32, f64, "" "d" "D" "_" ""}
}
mod s64 {
    use super::*;
    names! {i64, f32, "" "s" "S" "_64_" "64_"}
}
mod d64 {
    use super::*;
    names! {i64, f64, "" "d" "D" "_64_" "64_"}
}
mod scipy_s {
    use super::*;
    names! {i32, f32, "scipy_" "s" "S" "_" ""}
}
mod scipy_d {
    use super::*;
    names! {i32, f64, "scipy_" "d" "D" "_" ""}
}
mod scipy_s64 {
    use super::*;
    names! {i64, f32, "scipy_" "s" "S" "_64_" "64_"}
}
mod scipy_d64 {
    use super::*;
    names! {i64, f64, "scipy_" "d" "D" "_64_" "64_"}
}
