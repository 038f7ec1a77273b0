//! Numerical kernels with one meaning and the same bits on every CPU level and thread count:
//! gemm, outer product, clamp, reductions and the elementwise steps of a training loop.
//!
//! The crate is `no_std` and never allocates, unless feature `std` gives it per-thread scratch
//! buffers. It starts no thread: callers lend theirs through [`Exec`] (feature `pool` has some to lend).

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
