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
mod element;
mod error;
mod exec;
mod isa;
mod level;
mod ops;
#[cfg(feature = "pool")]
mod pool;
mod scalar;
mod simd;
#[doc(hidden)]
pub mod table;
mod view;

pub use api::elementwise::*;
pub use api::fused::*;
pub use api::gemm::*;
pub use api::outer::*;
pub use api::reduce::*;
pub use element::Element;
pub use error::{Error, Result};
pub use exec::{Exec, ParallelFor};
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

/// What the GPU panel shares: the meaning of operations for one element, and the checks of arguments.
#[doc(hidden)]
pub mod panel {
    pub use crate::simd::{Outlined, Simd};
    pub mod args {
        pub use crate::args::*;
    }
    pub mod check {
        pub mod fused {
            pub use crate::api::fused::check::*;
        }
        pub mod reduce {
            pub use crate::api::reduce::check::*;
        }
    }
    pub mod finish {
        pub use crate::api::reduce::finish::*;
    }
    pub mod folds {
        pub use crate::ops::reduce::fold::*;
    }
    pub mod gemm {
        pub use crate::api::gemm::check::*;
        pub use crate::ops::gemm::{Epilogue, Gemm, Rule};
    }
    pub mod order {
        pub use crate::ops::order::*;
    }
    pub mod outer {
        pub use crate::api::outer::check::*;
    }
    pub mod scalar {
        pub use crate::scalar::*;
    }
}
