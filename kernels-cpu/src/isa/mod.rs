//! One file per CPU level: the token and its [`Simd`](crate::simd::Simd) implementation.

/// Methods that are one expression over intrinsics.
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_feature = "neon")
))]
macro_rules! methods {
    ($( fn $name:ident($($arg:ident: $ty:ty),*) -> $ret:ty { $body:expr } )*) => {$(
        #[inline(always)]
        fn $name(self, $($arg: $ty),*) -> $ret {
            // SAFETY: the token proves the instructions; only registers are touched.
            unsafe { $body }
        }
    )*};
}

#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
pub mod neon;
pub mod portable;
