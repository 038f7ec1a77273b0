//! Maps over rows: the step after the reductions, which computes each element from itself and from the statistics of its
//! row. The kernels are those of elementwise operations, in which a statistic is one number where elements of a row are
//! adjacent, and an array where elements of a column are.

use core::marker::PhantomData;

use super::elementwise::{Step, divisor, elements, kernels, map};
use super::prefetch_pages;
use crate::element::Storage;
use crate::simd::{Access, Simd};
use crate::{for_each_row_map, if_nan_spreads, scalar};

macro_rules! row_maps {
    ({} $($name:ident ($($statistic:ident: $role:ident),*))*) => {
        /// The steps as elementwise operations.
        mod steps {
            use super::*;
            kernels! { {} $($name (x: array, $($statistic: scalar),*) (replaced, $($role),*) out write)* }
        }

        /// The kernels for matrices whose rows are contiguous.
        pub mod of_rows {
            use super::*;
            $(
                #[doc = concat!("The step of `", stringify!($name), "` for `m` rows of `n` elements; row i has element i of each statistic.")]
                ///
                /// # Safety
                /// The rows of `x` and `out`, at distances of `rs` and `out_rs`, and the statistics must be valid; `out` may
                /// be exactly `x`.
                #[inline(always)]
                pub unsafe fn $name<S: Simd<T = M> + Access<M>, M: Storage>(
                    s: S, m: usize, n: usize, x: *const M, rs: isize, $($statistic: *const M,)* out: *mut M, out_rs: isize, stream: bool,
                ) {
                    for i in 0..m {
                        let (x, out) = (x.wrapping_offset(i as isize * rs), out.wrapping_offset(i as isize * out_rs));
                        steps::$name::<S, M>(s, n, x, $(*$statistic.add(i),)* out, stream);
                    }
                }
            )*
        }

        /// The kernels for matrices whose columns are contiguous.
        pub mod of_columns {
            use super::*;
            $(
                #[doc = concat!("As [`of_rows::", stringify!($name), "`], but `cs` and `out_cs` are the distances between columns.")]
                ///
                /// # Safety
                /// As there.
                #[inline(always)]
                pub unsafe fn $name<S: Simd<T = M> + Access<M>, M: Storage>(
                    s: S, m: usize, n: usize, x: *const M, cs: isize, $($statistic: *const M,)* out: *mut M, out_cs: isize, stream: bool,
                ) {
                    for j in 0..n {
                        let (x, out) = (x.wrapping_offset(j as isize * cs), out.wrapping_offset(j as isize * out_cs));
                        steps::of_arrays::$name::<S, M>(s, m, x, $($statistic,)* out, stream);
                    }
                }
            )*
        }
    };
}
for_each_row_map!(row_maps! {} [name statistics]);
