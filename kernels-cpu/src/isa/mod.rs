//! One file per CPU level: the token and its [`Simd`](crate::simd::Simd) implementation.

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
pub mod portable;
