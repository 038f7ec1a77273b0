//! One file per CPU level: its token and the [`Simd`](crate::simd::Simd) implementation for it.

// Whole bodies are unsafe, for the reason in their `# Safety` section. A block stands where there is another reason.
#![allow(unsafe_op_in_unsafe_fn)]
#![cfg_attr(not(test), warn(clippy::disallowed_methods))]

/// Names the registers of each level in an implementation of [`Storage`](crate::Storage), for a type that is computed in
/// `$C`.
macro_rules! registers {
    ($C:ty) => {
        type Portable = crate::isa::portable::Portable<$C>;
        #[cfg(target_arch = "x86_64")]
        type Avx2 = crate::isa::avx2::Avx2<$C>;
        #[cfg(target_arch = "x86_64")]
        type Avx512 = crate::isa::avx512::Avx512<$C>;
        #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
        type Neon = crate::isa::neon::Neon<$C>;
    };
}
pub(crate) use registers;

/// Defines methods that are a single expression of intrinsics.
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

/// Defines [`Simd::outlined`](crate::simd::Simd::outlined) for a level with target features.
#[cfg(any(
    target_arch = "x86_64",
    all(target_arch = "aarch64", target_feature = "neon")
))]
macro_rules! outlined {
    ($Token:ty, $features:meta) => {
        #[inline(always)]
        unsafe fn outlined<P: crate::simd::Outlined<Self>>(self, part: P) -> P::Output {
            #[$features]
            unsafe fn run<P: crate::simd::Outlined<$Token>>(s: $Token, part: P) -> P::Output {
                part.run(s)
            }
            // `black_box` prevents inlining: the compiler ignores inline(never) on functions with target features.
            let run: unsafe fn(Self, P) -> P::Output = core::hint::black_box(run::<P>);
            // SAFETY: the token proves the instructions; the rest is the caller's to vouch for.
            unsafe { run(self, part) }
        }
    };
}

/// Bits with which instructions are tried before they are trusted (Marsaglia, "Xorshift RNGs", 2003).
#[cfg(target_arch = "x86_64")]
pub fn random_bits() -> impl FnMut() -> u64 {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    move || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state
    }
}

#[cfg(all(target_arch = "x86_64", target_os = "linux", feature = "std"))]
pub mod amx;
#[cfg(target_arch = "x86_64")]
pub mod avx2;
#[cfg(target_arch = "x86_64")]
pub mod avx512;
pub mod dots;
#[cfg(all(target_arch = "x86_64", target_os = "linux", feature = "std"))]
pub mod interleave;
#[cfg(target_arch = "x86_64")]
mod lanes256;
#[cfg(target_arch = "x86_64")]
mod lanes512;
#[cfg(feature = "models")]
pub mod models;
#[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
pub mod neon;
pub mod portable;
pub mod sqrt;
