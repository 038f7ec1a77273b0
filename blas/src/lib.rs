//! The names of BLAS over the kernels of Diptych, so that programs which call BLAS get its products without a change:
//! `libdiptych_blas.so`, loaded before their own library (`LD_PRELOAD`) or linked in its place.
//!
//! # What it has
//!
//! `gemm`, `gemv`, `ger`, `syrk`, `dot`, `axpy`, `scal`, `nrm2`, `asum`, `iamax`, `copy` and `swap` for `f32` and `f64`,
//! in C and in Fortran (module `names`). Every other routine stays with the library that was there.
//!
//! | names | integers | called by |
//! |---|---|---|
//! | `cblas_sgemm`, `sgemm_` | 32 bits | C and Fortran programs, R |
//! | `cblas_sgemm64_`, `sgemm_64_` | 64 bits | Julia, programs built for the OpenBLAS with 64-bit integers |
//! | `scipy_cblas_sgemm`, `scipy_sgemm_` | 32 bits | SciPy's wheels |
//! | `scipy_cblas_sgemm64_`, `scipy_sgemm_64_` | 64 bits | NumPy's wheels |
//!
//! # Conventions
//!
//! Those of the reference BLAS: a negative increment starts at the other end, `beta` = 0 does not read the output,
//! `syrk` touches one triangle only, and an argument that is not allowed is reported to the `xerbla` of the process
//! (module `errors`), after which the call returns. Where the reference leaves a case open, such as outputs that overlap
//! inputs, a call behaves as if it had copied its inputs first. Only `swap` of vectors that overlap exchanges their elements
//! one after another, as the reference does.
//!
//! # Numerics
//!
//! The bits of a result are those of Diptych: the same on every CPU level and with any number of threads. An element
//! of `gemm`, `syrk` has the order of Diptych's `gemm`, one of `gemv` and of a `gemm` with one row or column that of
//! `dot`. Strides change nothing.
//!
//! # Threads
//!
//! One, unless the environment variable `DIPTYCH_THREADS` names more (module `threads`). The variable `DIPTYCH_CPU_LEVEL`
//! chooses a CPU level.

mod arguments;
mod copies;
mod errors;
mod level1;
mod level2;
mod level3;
mod names;
mod threads;
