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

/// Defines `Gemm<T>::ROUTINES`, the [`Routines`] of a level for an element type, and the functions that it points to. These
/// have the level's target features and inline the generic functions. `$Token` is the level's type in [`Storage`], `$level`
/// names its row in `level_lists!`.
///
/// [`Storage`]: crate::Storage
macro_rules! routines {
    ($Token:ident, $features:meta, $level:ident) => {
        #[$features]
        unsafe fn gemm_pack_a<T: $crate::element::Element>(
            a: $crate::ops::gemm::PanelA<T>,
            rows: usize,
            kc: usize,
            out: *mut T,
        ) {
            // SAFETY: called only on a machine that has the level; the caller vouches for the arrays.
            unsafe {
                $crate::ops::gemm::pack_a(
                    <T::$Token as $crate::simd::Token>::token(),
                    a,
                    rows,
                    kc,
                    out,
                )
            }
        }

        #[$features]
        unsafe fn gemm_pack_b<T: $crate::element::Element>(
            p: &$crate::ops::gemm::Gemm<T>,
            range: $crate::ops::gemm::PanelRange,
            out: *mut T,
        ) {
            // SAFETY: as above.
            unsafe {
                $crate::ops::gemm::pack_b(
                    <T::$Token as $crate::simd::Token>::token(),
                    p,
                    range,
                    out,
                )
            }
        }

        #[$features]
        unsafe fn gemm_write_back<T: $crate::element::Element>(
            to: &$crate::ops::gemm::WriteBack<'_, T>,
            sums: *const T,
            rows: usize,
            at: (usize, usize),
            columns: usize,
        ) {
            // SAFETY: as above.
            unsafe {
                $crate::ops::gemm::write_back(
                    <T::$Token as $crate::simd::Token>::token(),
                    to,
                    sums,
                    rows,
                    at,
                    columns,
                )
            }
        }

        #[$features]
        unsafe fn gemm_fence<T: $crate::element::Element>() {
            // SAFETY: as above.
            $crate::simd::Simd::fence(unsafe { <T::$Token as $crate::simd::Token>::token() })
        }

        #[$features]
        unsafe fn microkernel<
            T: $crate::element::Element,
            const MR: usize,
            const NV: usize,
            E: $crate::ops::gemm::markers::Tail,
            F: $crate::ops::gemm::markers::SideWork,
            W: $crate::ops::gemm::markers::Store,
        >(
            args: &$crate::ops::gemm::MicrokernelArgs<T>,
            a: *const T,
            b: $crate::ops::gemm::PanelB<T>,
            c: *mut T,
            last: usize,
        ) {
            // SAFETY: as above.
            unsafe {
                $crate::ops::gemm::microkernel::<_, MR, NV, E, F, W>(
                    <T::$Token as $crate::simd::Token>::token(),
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
        unsafe fn gemm_tall<T: $crate::element::Element, const ROWS: usize>(
            args: &$crate::ops::gemm::MicrokernelArgs<T>,
            a: *const T,
            b: $crate::ops::gemm::PanelB<T>,
            c: *mut T,
            columns: usize,
            rows: usize,
        ) {
            // SAFETY: as above.
            unsafe {
                $crate::ops::gemm::tall::<_, ROWS>(
                    <T::$Token as $crate::simd::Token>::token(),
                    args,
                    a,
                    b,
                    c,
                    columns,
                    rows,
                )
            }
        }

        #[allow(unused)]
        #[$features]
        unsafe fn along_k<T: $crate::element::Element, const MR: usize, const NB: usize>(
            f: &$crate::ops::gemm::AlongK<T>,
        ) {
            // SAFETY: as above.
            unsafe {
                $crate::ops::gemm::along_k::<_, MR, NB>(
                    <T::$Token as $crate::simd::Token>::token(),
                    f,
                )
            }
        }

        #[allow(unused)]
        #[$features]
        unsafe fn sweep<T: $crate::element::Element, const ROWS: usize, const STEPS: usize>(
            f: &$crate::ops::gemm::Sweep<T>,
        ) {
            // SAFETY: as above.
            unsafe {
                $crate::ops::gemm::sweep::<_, ROWS, STEPS>(
                    <T::$Token as $crate::simd::Token>::token(),
                    f,
                )
            }
        }

        #[allow(unused)]
        #[$features]
        unsafe fn slab<T: $crate::element::Element>(f: &$crate::ops::gemm::Slab<T>) {
            // SAFETY: as above.
            unsafe { $crate::ops::gemm::slab(<T::$Token as $crate::simd::Token>::token(), f) }
        }

        /// The routines of the level for the type `T`.
        pub struct Gemm<T>(core::marker::PhantomData<T>);

        impl<T: $crate::element::Element> Gemm<T> {
            pub const ROUTINES: $crate::ops::gemm::Routines<T> = $crate::ops::gemm::Routines {
                pack_a: gemm_pack_a::<T>,
                pack_b: gemm_pack_b::<T>,
                write_back: gemm_write_back::<T>,
                fence: gemm_fence::<T>,
                microkernels: $crate::ops::gemm::Microkernels::new(
                    $crate::ops::gemm::level_lists!($level microkernel),
                    $crate::ops::gemm::tall_list!($level gemm_tall),
                    $crate::ops::gemm::along_k_list!($level along_k),
                    $crate::ops::gemm::sweep_lists!($level sweep),
                    $crate::ops::gemm::slab_of_level!($level slab),
                    (
                        <T::$Token as $crate::simd::Register>::N,
                        <<T::$Token as $crate::simd::Simd>::Half as $crate::simd::Register>::N,
                    ),
                ),
            };
        }
        const _: () = assert!(Gemm::<f32>::ROUTINES.microkernels.are_complete());
        const _: () = assert!(Gemm::<f64>::ROUTINES.microkernels.are_complete());
    };
}
pub(crate) use routines;
