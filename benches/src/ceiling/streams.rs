//! Plain loops over arrays, with the widest registers of the machine, unrolled by four: they measure the bandwidth of
//! the caches and the memory.

use super::Access;
use crate::bench::Pattern;
use crate::data::Buffer;
use std::arch::x86_64::*;

/// The registers that a loop uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 512 bits.
    Zmm,
    /// 256 bits.
    Ymm,
    /// 128 bits.
    Xmm,
}

impl Width {
    /// Returns the widest registers of this CPU. Detected by std and not by Diptych, so that a limit does not depend on
    /// the library that is compared with it.
    pub fn best() -> Self {
        if is_x86_feature_detected!("avx512f") {
            Width::Zmm
        } else if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
            Width::Ymm
        } else {
            Width::Xmm
        }
    }

    /// Returns "zmm", "ymm" or "xmm".
    pub fn name(self) -> &'static str {
        match self {
            Width::Zmm => "zmm",
            Width::Ymm => "ymm",
            Width::Xmm => "xmm",
        }
    }
}

/// Runs the pattern's loop once over the arrays.
pub fn run(pattern: Pattern, [x, y, out]: &mut [Buffer<f32>; 3], access: Access) {
    // SAFETY: the CPU has registers of this width, and the loops stay within the arrays, whose lengths are equal or
    // zero and a multiple of what an iteration takes.
    unsafe {
        match Width::best() {
            Width::Zmm => zmm::run(pattern, x, y, out, access),
            Width::Ymm => ymm::run(pattern, x, y, out, access),
            Width::Xmm => xmm::run(pattern, x, y, out, access),
        }
    }
}

macro_rules! loops {
    ($module:ident, $features:literal, $V:ty, $lanes:literal, load $load:ident, store $store:ident,
     stream $stream:ident, add $add:ident, set $set:ident) => {
        mod $module {
            use super::*;

            /// Registers per iteration.
            const UNROLL: usize = 4;
            const STEP: usize = UNROLL * $lanes;

            #[target_feature(enable = $features)]
            pub unsafe fn run(
                pattern: Pattern,
                x: &[f32],
                y: &[f32],
                out: &mut [f32],
                access: Access,
            ) {
                // SAFETY: the caller guarantees the lengths; buffers are aligned to 64 bytes.
                unsafe {
                    match (pattern, access) {
                        (Pattern::Read(_), Access::Interleaved) => read_interleaved::<4>(x, y),
                        (Pattern::Read(_), _) => read(x),
                        (Pattern::ReadTwo, Access::Interleaved) => read_interleaved::<2>(x, y),
                        (Pattern::ReadTwo, _) => read_two(x, y),
                        (Pattern::Update, _) => update(out),
                        (Pattern::UpdateFrom, _) => update_from(x, out),
                        (Pattern::Write, Access::NonTemporal) => write::<true>(out),
                        (Pattern::Write, _) => write::<false>(out),
                        (Pattern::Copy, Access::NonTemporal) => copy::<true>(x, out),
                        (Pattern::Copy, _) => copy::<false>(x, out),
                        (Pattern::Add, Access::NonTemporal) => sum::<true>(x, y, out),
                        (Pattern::Add, _) => sum::<false>(x, y, out),
                        (Pattern::Compute, _) => {}
                    }
                }
            }

            #[target_feature(enable = $features)]
            unsafe fn read(x: &[f32]) {
                let mut lanes = [$set(0.0); UNROLL];
                for at in (0..x.len()).step_by(STEP) {
                    for (u, lane) in lanes.iter_mut().enumerate() {
                        // SAFETY: the length is a multiple of STEP.
                        *lane = unsafe { $add(*lane, $load(x.as_ptr().add(at + u * $lanes))) };
                    }
                }
                std::hint::black_box(lanes);
            }

            #[target_feature(enable = $features)]
            unsafe fn read_two(x: &[f32], y: &[f32]) {
                let mut lanes = [$set(0.0); 2 * UNROLL];
                for at in (0..x.len()).step_by(STEP) {
                    for u in 0..UNROLL {
                        // SAFETY: the lengths are equal and a multiple of STEP.
                        unsafe {
                            lanes[u] = $add(lanes[u], $load(x.as_ptr().add(at + u * $lanes)));
                            lanes[UNROLL + u] =
                                $add(lanes[UNROLL + u], $load(y.as_ptr().add(at + u * $lanes)));
                        }
                    }
                }
                std::hint::black_box(lanes);
            }

            /// Splits x and y into `PARTS` parts each, and reads all parts in turn, one register at a time.
            #[target_feature(enable = $features)]
            unsafe fn read_interleaved<const PARTS: usize>(x: &[f32], y: &[f32]) {
                let mut lanes = [[$set(0.0); 2]; PARTS];
                let part = x.len() / PARTS;
                for at in (0..part).step_by($lanes) {
                    for (q, [of_x, of_y]) in lanes.iter_mut().enumerate() {
                        // SAFETY: the length of a part is a multiple of a register.
                        unsafe {
                            *of_x = $add(*of_x, $load(x.as_ptr().add(q * part + at)));
                            if !y.is_empty() {
                                *of_y = $add(*of_y, $load(y.as_ptr().add(q * part + at)));
                            }
                        }
                    }
                }
                std::hint::black_box(lanes);
            }

            #[target_feature(enable = $features)]
            unsafe fn put<const NON_TEMPORAL: bool>(p: *mut f32, v: $V) {
                // SAFETY: as the caller's; the address is aligned to a register.
                unsafe {
                    if NON_TEMPORAL {
                        $stream(p, v)
                    } else {
                        $store(p, v)
                    }
                }
            }

            #[target_feature(enable = $features)]
            unsafe fn write<const NON_TEMPORAL: bool>(out: &mut [f32]) {
                let v = $set(std::hint::black_box(1.5));
                for at in (0..out.len()).step_by(STEP) {
                    for u in 0..UNROLL {
                        // SAFETY: the length is a multiple of STEP.
                        unsafe { put::<NON_TEMPORAL>(out.as_mut_ptr().add(at + u * $lanes), v) };
                    }
                }
                _mm_sfence();
            }

            #[target_feature(enable = $features)]
            unsafe fn copy<const NON_TEMPORAL: bool>(x: &[f32], out: &mut [f32]) {
                for at in (0..out.len()).step_by(STEP) {
                    for u in 0..UNROLL {
                        let at = at + u * $lanes;
                        // SAFETY: the lengths are equal and a multiple of STEP.
                        unsafe {
                            put::<NON_TEMPORAL>(out.as_mut_ptr().add(at), $load(x.as_ptr().add(at)))
                        };
                    }
                }
                _mm_sfence();
            }

            #[target_feature(enable = $features)]
            unsafe fn sum<const NON_TEMPORAL: bool>(x: &[f32], y: &[f32], out: &mut [f32]) {
                for at in (0..out.len()).step_by(STEP) {
                    for u in 0..UNROLL {
                        let at = at + u * $lanes;
                        // SAFETY: the lengths are equal and a multiple of STEP.
                        unsafe {
                            let v = $add($load(x.as_ptr().add(at)), $load(y.as_ptr().add(at)));
                            put::<NON_TEMPORAL>(out.as_mut_ptr().add(at), v);
                        }
                    }
                }
                _mm_sfence();
            }

            #[target_feature(enable = $features)]
            unsafe fn update(out: &mut [f32]) {
                let v = $set(std::hint::black_box(0.0));
                for at in (0..out.len()).step_by(STEP) {
                    for u in 0..UNROLL {
                        // SAFETY: the length is a multiple of STEP.
                        unsafe {
                            let p = out.as_mut_ptr().add(at + u * $lanes);
                            $store(p, $add($load(p), v));
                        }
                    }
                }
            }

            #[target_feature(enable = $features)]
            unsafe fn update_from(x: &[f32], out: &mut [f32]) {
                for at in (0..out.len()).step_by(STEP) {
                    for u in 0..UNROLL {
                        let at = at + u * $lanes;
                        // SAFETY: the lengths are equal and a multiple of STEP.
                        unsafe {
                            let p = out.as_mut_ptr().add(at);
                            $store(p, $add($load(p), $load(x.as_ptr().add(at))));
                        }
                    }
                }
            }
        }
    };
}

loops!(zmm, "avx512f", __m512, 16, load _mm512_load_ps, store _mm512_store_ps,
    stream _mm512_stream_ps, add _mm512_add_ps, set _mm512_set1_ps);
loops!(ymm, "avx2", __m256, 8, load _mm256_load_ps, store _mm256_store_ps,
    stream _mm256_stream_ps, add _mm256_add_ps, set _mm256_set1_ps);
loops!(xmm, "sse2", __m128, 4, load _mm_load_ps, store _mm_store_ps,
    stream _mm_stream_ps, add _mm_add_ps, set _mm_set1_ps);
