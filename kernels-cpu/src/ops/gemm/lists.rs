//! The lists of the microkernels of each level: which sizes and variants are compiled. `T` is the element type where they
//! are expanded.

/// The shape and the lists of a level; `$f` is its generic function `microkernel`. In a list, `all x NV` stands for the
/// microkernels of NV registers and each MR in `all`, `wide x NV` for each MR in `wide`.
macro_rules! level_lists {
    (portable $f:ident) => {
        $crate::ops::gemm::level_lists!($f PORTABLE: all (1 2 3 4), wide ();
            Whole [all x 1 all x 2]
            Masked [all x 1 all x 2]
            HalfRegister []
            SharedByTwo []
            SharedByFour []
            Prefetch []
            Pack []
            NonTemporal [])
    };
    (avx2 $f:ident) => {
        $crate::ops::gemm::level_lists!($f AVX2: all (1 2 3 4 5 6), wide ();
            Whole [all x 1 all x 2]
            Masked [all x 1 all x 2]
            HalfRegister []
            SharedByTwo [all x 1]
            SharedByFour [all x 1]
            Prefetch [(6) x 2]
            Pack []
            NonTemporal [(6) x 2])
    };
    (avx512 $f:ident) => {
        $crate::ops::gemm::level_lists!($f AVX512: all (1 2 3 4 5 6 7 8), wide (1 2 3 4 5 6);
            Whole [all x 1 all x 2 all x 3 wide x 4]
            Masked [all x 1 all x 2 all x 3 wide x 4]
            HalfRegister [all x 0 all x 1 all x 2]
            SharedByTwo [all x 1 all x 2]
            SharedByFour [all x 1 all x 2]
            Prefetch [(8) x 2 (8) x 3 (6) x 4]
            Pack [(8) x 2 (8) x 3]
            NonTemporal [(8) x 2 (8) x 3])
    };
    (neon $f:ident) => {
        $crate::ops::gemm::level_lists!($f NEON: all (1 2 3 4 5 6 7 8), wide ();
            Whole [all x 1 all x 2 all x 3]
            Masked [all x 1 all x 2 all x 3]
            HalfRegister []
            SharedByTwo []
            SharedByFour []
            Prefetch [(8) x 2 (8) x 3]
            Pack []
            NonTemporal [])
    };
    ($f:ident $shape:ident: all $all:tt, wide $wide:tt;
     Whole $whole:tt Masked $masked:tt
     HalfRegister $half:tt SharedByTwo $two:tt SharedByFour $four:tt
     Prefetch $prefetch:tt Pack $pack:tt NonTemporal $non_temporal:tt) => {{
        use $crate::ops::gemm::variant_list;
        // In the order of `Variant`.
        let lists: [&'static [_]; 8] = [
            variant_list!($f (Whole Plain Cached) $all $wide [] $whole),
            variant_list!($f (Masked Plain Cached) $all $wide [] $masked),
            variant_list!($f (HalfRegister Plain Cached) $all $wide [] $half),
            variant_list!($f (SharedByTwo Plain Cached) $all $wide [] $two),
            variant_list!($f (SharedByFour Plain Cached) $all $wide [] $four),
            variant_list!($f (Whole Prefetch Cached) $all $wide [] $prefetch),
            variant_list!($f (Whole Pack Cached) $all $wide [] $pack),
            variant_list!($f (Whole Plain NonTemporal) $all $wide [] $non_temporal),
        ];
        ($crate::ops::gemm::shapes::$shape, lists)
    }};
}
pub(crate) use level_lists;

/// The functions of a level for tall micro-tiles; `$f` is its generic function `tall`. They need twice MR registers for
/// sums.
macro_rules! tall_list {
    (avx512 $f:ident) => {
        &[$f::<T, 5>, $f::<T, 6>, $f::<T, 7>, $f::<T, 8>]
    };
    ($level:ident $f:ident) => {
        &[]
    };
}
pub(crate) use tall_list;

/// The list of [`Microkernels::along_k`] of a level; `$f` is its generic function `along_k`.
macro_rules! along_k_list {
    (avx2 $f:ident) => {
        $crate::ops::gemm::along_k_list!($f (1 2 3 4 5 6 7 8) (1 2 3 4))
    };
    (avx512 $f:ident) => {
        $crate::ops::gemm::along_k_list!($f (1 2 3 4 5 6 7 8) (1 2 3 4))
    };
    ($level:ident $f:ident) => {
        &[]
    };
    ($f:ident ($($one:literal)*) ($($two:literal)*)) => {
        &[$($f::<T, $one, 1>,)* $($f::<T, $two, 2>),*]
    };
}
pub(crate) use along_k_list;

/// The lists of [`Microkernels::sweeps`] of a level; `$f` is its generic function `sweep`. The scalars of A, the sums
/// and a register of B must fit into the registers, of which a sweep of one step leaves most unused. One row alone takes
/// more steps at once.
macro_rules! sweep_lists {
    (portable $f:ident) => {
        [&[], &[], &[], &[]]
    };
    (avx2 $f:ident) => {
        $crate::ops::gemm::sweep_lists!($f (1 2 3) (1 2 3 4 5) (1 2 3) (1))
    };
    ($level:ident $f:ident) => {
        $crate::ops::gemm::sweep_lists!($f (1 2 3) (1 2 3 4 5 6 7 8) (1 2 3 4 5 6) (1))
    };
    ($f:ident ($($one:literal)*) ($($two:literal)*) ($($four:literal)*) ($($eight:literal)*)) => {
        [
            &[$($f::<T, $one, 1>),*],
            &[$($f::<T, $two, 2>),*],
            &[$($f::<T, $four, 4>),*],
            &[$($f::<T, $eight, 8>),*],
        ]
    };
}
pub(crate) use sweep_lists;

/// [`Microkernels::slab`] of a level; `$f` is its function `slab`.
macro_rules! slab_of_level {
    (avx512 $f:ident) => {
        Some($f::<T>)
    };
    ($level:ident $f:ident) => {
        None
    };
}
pub(crate) use slab_of_level;

/// The list of one variant, given its markers. The first brackets hold the functions made so far, the second the sizes
/// yet to come, each as a list of MR and one NV.
macro_rules! variant_list {
    ($f:ident $markers:tt $all:tt $wide:tt [$($done:tt)*] []) => {
        &[$($done)*]
    };
    ($f:ident $markers:tt $all:tt $wide:tt $done:tt [all x $nv:literal $($rest:tt)*]) => {
        variant_list!($f $markers $all $wide $done [$all x $nv $($rest)*])
    };
    ($f:ident $markers:tt $all:tt $wide:tt $done:tt [wide x $nv:literal $($rest:tt)*]) => {
        variant_list!($f $markers $all $wide $done [$wide x $nv $($rest)*])
    };
    ($f:ident ($tail:ident $side_work:ident $store:ident) $all:tt $wide:tt [$($done:tt)*]
     [($($mr:literal)*) x $nv:literal $($rest:tt)*]) => {
        variant_list!($f ($tail $side_work $store) $all $wide [$($done)* $(
            $f::<
                T,
                $mr,
                $nv,
                $crate::ops::gemm::markers::$tail,
                $crate::ops::gemm::markers::$side_work,
                $crate::ops::gemm::markers::$store,
            >,
        )*] [$($rest)*])
    };
}
pub(crate) use variant_list;
