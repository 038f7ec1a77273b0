//! Numerical kernels for `f32` and `f64`: matrix products, outer products, reductions, and the elementwise steps of a
//! training loop. The same call gives the same bits on every CPU level, with any number of threads, and on a GPU.
//!
//! # Example
//!
//! ```
//! use diptych::{Exec, MatMut, MatRef};
//!
//! let exec = Exec::new();
//! let x = [1.0_f32, -2.0, 3.0, 4.0];
//! let a = MatRef::new(&x, 2, 2)?;
//!
//! // Elementwise: clamp to 0..3.
//! let mut limited = [0.0; 4];
//! diptych::clamp(&exec, &x, 0.0, 3.0, &mut limited)?;
//! assert_eq!(limited, [1.0, 0.0, 3.0, 3.0]);
//!
//! // Reductions: of a vector, and of each row of a matrix; `a.t()` gives those of columns.
//! assert_eq!(diptych::sum(&exec, &x[..])?, 6.0);
//! let mut sums = [0.0; 2];
//! diptych::sum_rows(&exec, a, &mut sums[..])?;
//! assert_eq!(sums, [-1.0, 7.0]);
//!
//! // Products: outer, and C = alpha A B + beta C.
//! let mut c = [0.0; 4];
//! diptych::outer(&exec, &x[..2], &x[2..], MatMut::new(&mut c, 2, 2)?)?;
//! assert_eq!(c, [3.0, 4.0, -6.0, -8.0]);
//! diptych::gemm(&exec, 1.0, a, a.t(), 0.0, MatMut::new(&mut c, 2, 2)?)?;
//! assert_eq!(c, [5.0, -5.0, -5.0, 25.0]);
//!
//! // Fused: the sum of squared errors and its gradient in one pass.
//! let mut gradient = [0.0; 4];
//! let loss = diptych::mse_grad(&exec, &x, &[1.0, 0.0, 3.0, 4.0], &mut gradient)?;
//! assert_eq!((loss, gradient[1]), (4.0, -4.0));
//! # Ok::<(), diptych::Error>(())
//! ```
//!
//! # Numerics
//!
//! A result depends on the operation, the shape and the values, and on nothing else: not on the CPU level ([`Level`]),
//! the number of threads, alignment, strides, or whether a product is alone or in a batch. Each operation has one order
//! of rounding, which `include/diptych.h` writes down; a change of one is a breaking change.
//!
//! * Sums are a tree over many partial sums. Elements of a product are chains of fused multiply-adds.
//! * NaN, infinities, signed zeros and empty inputs have one documented meaning for each operation. Reductions return
//!   one NaN; the payload of a NaN from an elementwise operation or a product is not promised.
//! * Subnormal numbers are kept. Threads must have the default floating-point environment.
//!
//! # Threads and memory
//!
//! The crate starts no thread: callers lend theirs through [`Exec`], and feature `pool` has some to lend. It is `no_std`.
//! It allocates nothing but, with feature `std`, scratch memory for each thread, which is kept and grows once.
//!
//! # Features
//!
//! `std`, scratch memory for each thread and `DIPTYCH_CPU_LEVEL`; `pool`, a thread pool (it needs `std`).

#![no_std]

#[cfg(any(feature = "std", test))]
extern crate std;

mod api;
mod args;
mod detect;
mod dispatch;
mod element;
mod error;
mod exec;
mod half;
mod isa;
mod level;
mod ops;
#[cfg(feature = "pool")]
mod pool;
mod recipe;
mod scalar;
mod simd;
pub mod table;
mod view;

pub use api::elementwise::*;
pub use api::fused::*;
pub use api::gemm::*;
pub use api::outer::*;
pub use api::reduce::*;
pub use element::{Dtype, Element, Storage};
pub use error::{Error, Result};
pub use exec::{Exec, ParallelFor};
pub use half::{bf16, f16};
pub use level::Level;
#[cfg(feature = "pool")]
pub use pool::Pool;
pub use view::{BatchMut, BatchRef, MatMut, MatRef, VecMut, VecRef};

/// The operations on pointers, as the C ABI calls them: the same checks and the same results as
/// the safe functions, for callers that hold addresses instead of slices.
pub mod raw {
    pub use crate::api::elementwise::raw::*;
    pub use crate::api::fused::raw::*;
    pub use crate::api::gemm::raw::*;
    pub use crate::api::outer::raw::*;
    pub use crate::api::reduce::raw::*;
}

/// What another backend of the same operations is written against, so that its results have the same bits: what each
/// operation does to an element, the folds and recipes of reductions, the canonical orders, and the checks of arguments.
/// With [`table`] it is what `diptych-gpu` and its kernels take of this crate. Programs that call operations
/// have no need of it, and it may change with any version.
pub mod backend {
    pub use crate::simd::{Access, Outlined, Register, Simd};

    /// Checks of arguments: sizes, strides, overlap.
    pub mod args {
        pub use crate::args::*;
    }
    /// The checks of arguments of the families.
    pub mod check {
        /// Of `mse_grad` and `lsq_grad`.
        pub mod fused {
            pub use crate::api::fused::check::*;
        }
        /// Of reductions.
        pub mod reduce {
            pub use crate::api::reduce::check::*;
        }
    }
    /// The folds of reductions: how a lane takes an element, and how two lanes become one.
    pub mod folds {
        pub use crate::ops::reduce::fold::*;
    }
    /// Products that have been checked.
    pub mod gemm {
        pub use crate::api::gemm::check::*;
        pub use crate::ops::gemm::{Epilogue, Gemm, Rule};
    }
    /// The numbers that fix the canonical orders.
    pub mod order {
        pub use crate::ops::order::*;
    }
    /// Outer products that have been checked.
    pub mod outer {
        pub use crate::api::outer::check::*;
    }
    /// What reductions do between folds and at the end.
    pub mod recipe {
        pub use crate::recipe::*;
    }
    /// What each operation means for one element.
    pub mod scalar {
        pub use crate::scalar::*;
    }
}
