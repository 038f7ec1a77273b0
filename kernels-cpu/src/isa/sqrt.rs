//! The correctly rounded square root of one element: an instruction if the target is known to have it, else libm.

macro_rules! sqrt {
    ($T:ident, $libm:path, x86_64 $x86_64:expr, aarch64 $aarch64:expr) => {
        #[inline(always)]
        pub fn $T(x: $T) -> $T {
            #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
            // SAFETY: the target has the instructions.
            let root = unsafe {
                use core::arch::x86_64::*;
                $x86_64(x)
            };
            #[cfg(all(target_arch = "aarch64", target_feature = "neon"))]
            // SAFETY: as above.
            let root = unsafe {
                use core::arch::aarch64::*;
                $aarch64(x)
            };
            #[cfg(not(any(
                all(target_arch = "x86_64", target_feature = "sse2"),
                all(target_arch = "aarch64", target_feature = "neon")
            )))]
            let root = $libm(x);
            root
        }
    };
}

sqrt!(
    f32,
    libm::sqrtf,
    x86_64 | x | _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x))),
    aarch64 | x | vget_lane_f32::<0>(vsqrt_f32(vdup_n_f32(x)))
);
sqrt!(
    f64,
    libm::sqrt,
    x86_64 | x | _mm_cvtsd_f64(_mm_sqrt_sd(_mm_setzero_pd(), _mm_set_sd(x))),
    aarch64 | x | vget_lane_f64::<0>(vsqrt_f64(vdup_n_f64(x)))
);
