//! The functions of a level that the five loops call.

use super::{Gemm, Microkernels, PanelA, PanelRange, WriteBack};

/// The functions of one level for one element type. Each is unsafe to call: the machine must have the level, and the
/// arrays must meet the contract of the generic function.
pub struct Routines<T: 'static> {
    /// See [`pack_a`](super::pack_a).
    pub pack_a: unsafe fn(PanelA<T>, usize, usize, *mut T),
    /// See [`pack_b`](super::pack_b).
    pub pack_b: unsafe fn(&Gemm<T>, PanelRange, *mut T),
    /// See [`write_back`](super::write_back()).
    pub write_back: unsafe fn(&WriteBack<'_, T>, *const T, usize, (usize, usize), usize),
    /// Orders non-temporal stores before all later ones.
    pub fence: unsafe fn(),
    pub microkernels: Microkernels<T>,
}

/// Defines `GEMM`, the [`Routines`] of a level for an element type, and the functions that it points to. These have the
/// level's target features and inline the generic functions. `$level` names its row in
/// `level_lists!`.
macro_rules! routines {
    ($T:ty, $Token:ty, $features:meta, $level:ident) => {
        #[$features]
        unsafe fn gemm_pack_a(
            a: $crate::ops::gemm::PanelA<$T>,
            rows: usize,
            kc: usize,
            out: *mut $T,
        ) {
            // SAFETY: called only on a machine that has the level; the caller vouches for the arrays.
            unsafe { $crate::ops::gemm::pack_a(<$Token>::new(), a, rows, kc, out) }
        }

        #[$features]
        unsafe fn gemm_pack_b(
            p: &$crate::ops::gemm::Gemm<$T>,
            range: $crate::ops::gemm::PanelRange,
            out: *mut $T,
        ) {
            // SAFETY: as above.
            unsafe { $crate::ops::gemm::pack_b(<$Token>::new(), p, range, out) }
        }

        #[$features]
        unsafe fn gemm_write_back(
            to: &$crate::ops::gemm::WriteBack<'_, $T>,
            sums: *const $T,
            rows: usize,
            at: (usize, usize),
            columns: usize,
        ) {
            // SAFETY: as above.
            unsafe { $crate::ops::gemm::write_back(<$Token>::new(), to, sums, rows, at, columns) }
        }

        #[$features]
        unsafe fn gemm_fence() {
            // SAFETY: as above.
            $crate::simd::Simd::fence(unsafe { <$Token>::new() })
        }

        #[$features]
        unsafe fn microkernel<
            const MR: usize,
            const NV: usize,
            E: $crate::ops::gemm::markers::Tail,
            F: $crate::ops::gemm::markers::SideWork,
            W: $crate::ops::gemm::markers::Store,
        >(
            args: &$crate::ops::gemm::MicrokernelArgs<$T>,
            a: *const $T,
            b: $crate::ops::gemm::PanelB<$T>,
            c: *mut $T,
            last: usize,
        ) {
            // SAFETY: as above.
            unsafe {
                $crate::ops::gemm::microkernel::<_, MR, NV, E, F, W>(
                    <$Token>::new(),
                    args,
                    a,
                    b,
                    c,
                    last,
                )
            }
        }

        #[allow(dead_code)] // A level may have none.
        #[$features]
        unsafe fn gemm_tall<const ROWS: usize>(
            args: &$crate::ops::gemm::MicrokernelArgs<$T>,
            a: *const $T,
            b: $crate::ops::gemm::PanelB<$T>,
            c: *mut $T,
            columns: usize,
            rows: usize,
        ) {
            // SAFETY: as above.
            unsafe {
                $crate::ops::gemm::tall::<_, ROWS>(<$Token>::new(), args, a, b, c, columns, rows)
            }
        }

        #[allow(unused)]
        #[$features]
        unsafe fn along_k<const MR: usize, const NB: usize>(f: &$crate::ops::gemm::AlongK<$T>) {
            // SAFETY: as above.
            unsafe { $crate::ops::gemm::along_k::<_, MR, NB>(<$Token>::new(), f) }
        }

        #[allow(unused)]
        #[$features]
        unsafe fn sweep<const ROWS: usize, const STEPS: usize>(f: &$crate::ops::gemm::Sweep<$T>) {
            // SAFETY: as above.
            unsafe { $crate::ops::gemm::sweep::<_, ROWS, STEPS>(<$Token>::new(), f) }
        }

        #[allow(unused)]
        #[$features]
        unsafe fn slab(f: &$crate::ops::gemm::Slab<$T>) {
            // SAFETY: as above.
            unsafe { $crate::ops::gemm::slab(<$Token>::new(), f) }
        }

        const GEMM: $crate::ops::gemm::Routines<$T> = $crate::ops::gemm::Routines {
            pack_a: gemm_pack_a,
            pack_b: gemm_pack_b,
            write_back: gemm_write_back,
            fence: gemm_fence,
            microkernels: $crate::ops::gemm::Microkernels::new(
        $crate::ops::gemm::level_lists!($level microkernel),
        $crate::ops::gemm::tall_list!($level gemm_tall),
        $crate::ops::gemm::along_k_list!($level along_k),
        $crate::ops::gemm::sweep_lists!($level sweep),
        $crate::ops::gemm::slab_of_level!($level slab),
                (
                    <$Token as $crate::simd::Register>::N,
                    <<$Token as $crate::simd::Simd>::Half as $crate::simd::Register>::N,
                ),
            ),
        };
        const _: () = assert!(GEMM.microkernels.are_complete());
    };
}
pub(crate) use routines;
