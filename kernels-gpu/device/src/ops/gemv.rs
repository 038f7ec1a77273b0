//! Matrix products with one column (gemv): every element of C is a dot product, summed in the order of `dot` for
//! every k.
//!
//! Memory: A is read once; the vector comes from L1 or L2. Work: two loads and one fma per element of A.

use super::reduce::{self, Cut, Operation, Rows, Source};
use crate::finish::{canonical, finish_sum};
use crate::gpu::{Vector, thread};
use crate::real::Real;
use crate::single::Single;
use diptych::backend::{folds, scalar};

/// How a dot product becomes an element of C.
#[derive(Clone, Copy)]
struct Product<T> {
    k: u64,
    alpha: T,
    beta: T,
    row_bias: *const T,
    row_inc: i64,
    column_bias: *const T,
    clamp: Option<(T, T)>,
}

impl<T: Real> Operation<T> for Product<T> {
    type Value = [T; 1];
    type Out = T;
    type First = reduce::FoldPass<folds::Dot>;
    type Second = Self::First;
    type Third = Self::First;
    type Fourth = Self::First;

    #[inline(always)]
    unsafe fn after_pass(self, _pass: u32, _known: T, [dot]: [T; 1], row: u64, c: *mut T) -> T {
        let dot = finish_sum(dot);
        // SAFETY: the caller guarantees C, which is read only if beta is not 0, and the biases.
        let v = unsafe {
            let mut v = match (self.beta == T::ZERO, self.k == 0) {
                (true, _) => self.alpha * dot,
                (false, true) => self.beta * T::load(c),
                (false, false) => Vector::fma(self.alpha, dot, self.beta * T::load(c)),
            };
            if !self.row_bias.is_null() {
                let at = (row as i64 * self.row_inc) as isize;
                v = v + T::load(self.row_bias.wrapping_offset(at));
            }
            if !self.column_bias.is_null() {
                v = v + T::load(self.column_bias);
            }
            v
        };
        // A product may be a dot product, whose NaN is the canonical one.
        canonical(match self.clamp {
            Some((lo, hi)) if lo.is_nan() || hi.is_nan() => T::CANONICAL_NAN,
            Some((lo, hi)) => scalar::clamp(Single::new(), v, lo, hi),
            None => v,
        })
    }
}

macro_rules! layouts {
    ($($(#[$doc:meta])* $name:ident, $columns:literal;)*) => {$(
        $(#[$doc])*
        ///
        /// For each of `batch` products, computes c = alpha A x + beta c for the m rows of A, each of k elements; then
        /// adds the biases that are not null, and clamps if `clamps` is not 0. The grid is that of [`reduce::rows`];
        /// the products are distributed along z, over any number of blocks.
        ///
        /// # Safety
        /// The arrays must be valid, and the cut must be as [`Cut`] requires; a row may have several parts only if
        /// there is one product.
        #[inline(always)]
        pub unsafe fn $name<T: Real>(
            m: u64, k: u64, batch: u64, alpha: T, a: *const T, a_rs: i64, a_cs: i64, a_bs: i64,
            x: *const T, x_inc: i64, x_bs: i64, beta: T, c: *mut T, c_rs: i64, c_bs: i64,
            row_bias: *const T, row_inc: i64, column_bias: *const T, clamps: u32, lo: T, hi: T,
            team: u32, run: u32, scratch: *mut u8, counters: *mut u32,
        ) {
            let clamp = if clamps != 0 { Some((lo, hi)) } else { None };
            let op = Product { k, alpha, beta, row_bias, row_inc, column_bias, clamp };
            let cut = Cut { team, run, first: 0, end: 1, scratch, counters };
            let mut index = thread::block_idx_z() as u64;
            while index < batch {
                let at = |stride: i64| (index as i64 * stride) as isize;
                let c = c.wrapping_offset(at(c_bs));
                let source = Source {
                    x: a.wrapping_offset(at(a_bs)),
                    x_inc: a_cs,
                    y: x.wrapping_offset(at(x_bs)),
                    y_inc: x_inc,
                    out: c,
                    format: (),
                };
                let rows = Rows { m, n: k, source, rs: a_rs };
                reduce::fold::<T, _, $columns>(op, rows, c, c_rs, cut);
                index += thread::grid_dim_z() as u64;
            }
        }
    )*};
}

layouts! {
    /// For A with any strides.
    rows, false;
    /// For A whose row stride is the smaller one (as in column-major storage).
    columns, true;
}
