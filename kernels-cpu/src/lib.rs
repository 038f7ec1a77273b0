//! Numerical kernels for `f32`, `f64`, `f16`, `bf16` and integers: matrix products, outer products, reductions, and the
//! elementwise and fused steps of a training loop. The same call gives the same bits on every CPU level (portable,
//! AVX2, AVX-512, NEON), with any number of threads, and, through the crate `diptych-gpu`, on a GPU.
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
//! // Reductions: of a vector, and of each row of a matrix. (`a.t()` would give the columns.)
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
//! # Operations
//!
//! For `f32`, `f64`, [`struct@f16`] and [`bf16`], the types of [`Storage`]; those that are generic over [`Number`] also
//! for `i8`, `u8`, `i32` and `i64`, exactly modulo 2^bits:
//!
//! * Elementwise: [`clamp`], [`clamp_backward`], [`add`], [`sub`], [`mul`], [`div`], [`scale`], [`axpy`], [`square`],
//!   [`abs`], [`neg`], [`minimum`], [`maximum`], [`fill`].
//! * Reductions: [`sum`], [`mean`], [`prod`], [`min`], [`max`], [`sumsq`], [`asum`], [`nrm2`], [`var`],
//!   [`std`](fn@std), [`logsumexp`], [`count_nonzero`], [`argmin`], [`argmax`], [`dot`].
//! * Maps over rows, which compute each element from itself and from its row: [`normalize`].
//! * Outer products: [`outer`], [`ger`].
//! * Fused operations: [`mse_grad`], [`lsq_grad`].
//!
//! Matrix products are [`gemm`], [`gemm_fused`] and [`gemm_batched`] for `f32` and `f64`, and [`matmul`] for 16-bit floats
//! and integers. [`gemm_packed`] and [`matmul_packed`] take a matrix that was packed once.
//!
//! A result has the type of the elements. The module [`wide`] has the reductions, [`dot`] and [`outer`] with more bits:
//! `f32` from 16-bit floats, `i32` or `i64` from integers. [`convert`] copies between all of these types, other
//! integers and `bool`. The functions of [`tensor`] take arrays of any rank and type.
//!
//! [`mse_grad`], the maps over rows and the elementwise operations, except [`axpy`] and [`fill`], also have an
//! `_in_place` form. Every reduction except [`dot`] also has a `_rows` form, which reduces each row of a matrix. The
//! module [`raw`] has all operations on pointers.
//!
//! The first argument of every operation is an [`Exec`]: which CPU level, threads and scratch memory the call uses.
//!
//! # Shapes and strides
//!
//! Elementwise operations and [`mse_grad`] take slices of one length. The others take views of slices, with sizes and
//! strides counted in elements (the vectors of [`lsq_grad`] are slices): [`VecRef`] and [`VecMut`] (a slice converts
//! into one), [`MatRef`] and [`MatMut`], [`BatchRef`] and [`BatchMut`]. A matrix may be row-major, column-major, a
//! block of a larger one, or transposed (`a.t()`, which copies nothing).
//!
//! # Aliasing
//!
//! The borrow checker keeps outputs apart from inputs; the `_in_place` forms are for the cases where an output replaces
//! an input. A view for writing must not have two elements at one address: calls with such a view, for example with a
//! stride of 0, are refused with [`Error::Overlap`]. Views for reading may have any strides.
//!
//! # Errors
//!
//! A call checks its arguments first and returns an [`Error`] that names the argument at fault. A refused call has
//! written nothing. Where shapes differ, it names the first argument that does not fit the output or the inputs before
//! it. Every operation can return [`Error::LevelUnavailable`], when the environment variable
//! `DIPTYCH_CPU_LEVEL` names a level that the machine does not have; the functions list their other errors.
//!
//! # Numerics
//!
//! The bits of a result depend only on the operation, the shape and the values: not on the CPU level ([`Level`]), the
//! number of threads, alignment, strides, or the position of a product in a batch. Each operation therefore has one
//! *canonical order* of rounding. `include/diptych.h` defines it exactly; a change of it is a breaking change.
//!
//! * A sum over n elements is split into chunks of 2048 (`f32`) or 1024 (`f64`) elements. Within a chunk the elements
//!   go in turn to 64 (`f32`) or 32 (`f64`) running sums, the *virtual lanes*, which are then added in a binary tree;
//!   another binary tree adds the chunks. The error grows with the logarithm of n.
//! * An element of a matrix product is one chain of fused multiply-adds, in ascending k, for each *segment* of 256
//!   steps of k. Alpha and beta are applied after each segment. A product with one row or one column has the order of
//!   [`dot`]; with [`Exec::batch_invariant`] only that with one column has.
//! * The 16-bit types are computed in `f32`, and each result is rounded once, to nearest even.
//! * NaN, infinities, signed zeros and empty inputs have one documented meaning in each operation. A NaN result of a
//!   reduction always has the bits of [`Element::CANONICAL_NAN`]; the sign and payload of a NaN from an elementwise
//!   operation, a map over rows or a matrix product are not specified.
//! * Subnormal numbers are kept. The calling thread must have the default floating-point environment: round to nearest
//!   even, no flush to zero. With another its results have other bits, but the same with any number of threads.
//!
//! # Threads and memory
//!
//! The crate starts no thread by itself: a caller lends its threads through [`Exec::with_pool`], or makes a `Pool`
//! (feature `pool`). The crate is `no_std`. Operations allocate nothing, except that with the feature `std` each thread
//! keeps a scratch buffer, which grows to the largest size that a call needed. Without `std` matrix products use a
//! small block on the stack, which is slower. With [`Exec::with_workspace`] they use the caller's memory instead.
//!
//! # Debug builds
//!
//! Kernels that are compiled without optimisation are about 150 times slower. For debug builds and tests, optimise this
//! one package, in the `Cargo.toml` of your workspace:
//!
//! ```toml
//! [profile.dev.package.diptych]
//! opt-level = 3
//! ```
//!
//! # Compile time
//!
//! This crate compiles in seconds and contains no kernel. A crate compiles the kernels that it calls, for the types that it
//! calls them with: a matrix product of one type takes twenty seconds on a server core, a sum five, a clamp less than one. It
//! does so again at each edit, so a program that is often built for release keeps its calls in a crate of their own, or turns
//! `precompiled` on.
//!
//! # Features
//!
//! All are off by default.
//!
//! * `std`: a scratch buffer for each thread, and the environment variable `DIPTYCH_CPU_LEVEL`.
//! * `pool`: the thread pool `Pool`. It enables `std`.
//! * `precompiled`: this crate compiles all kernels, once and for some minutes. Debug builds that optimise this package do
//!   so by themselves.

#![no_std]
// Only kernels do without them: see `array.rs`.
#![allow(clippy::disallowed_methods)]

#[cfg(any(feature = "std", test))]
extern crate std;

mod aligned;
mod api;
mod args;
mod array;
mod copy;
mod detect;
mod dispatch;
mod element;
mod error;
mod exec;
pub mod fingerprint;
mod half;
mod isa;
mod level;
mod matrix;
mod number;
mod ops;
mod partial;
#[cfg(feature = "pool")]
mod pool;
mod recipe;
mod scalar;
mod simd;
pub mod table;
pub mod tensor;
mod view;

pub use api::convert::{Convertible, convert};
pub use api::elementwise::*;
pub use api::fused::*;
pub use api::gemm::*;
pub use api::mixed::{MatmulOptions, Multiply, matmul, matmul_workspace};
pub use api::outer::*;
pub use api::packed::*;
pub use api::reduce::*;
pub use api::row_map::*;
pub use detect::Extensions;
pub use element::{Dtype, Element, Storage};
pub use error::{Error, Result};
pub use exec::{Exec, ParallelFor};
pub use fingerprint::fingerprint;
pub use half::{bf16, f16};
pub use level::Level;
pub use number::{Accumulate, Number};
pub use partial::{Partial, PartialElement, Total};
#[cfg(feature = "pool")]
pub use pool::Pool;
pub use view::{BatchMut, BatchRef, MatMut, MatRef, VecMut, VecRef};

/// Reductions and products with results of more bits than the elements.
///
/// The functions of the same names at the root of the crate give results of the type of the elements: 16-bit floats are
/// rounded, and integers are taken modulo 2^bits. Here 16-bit floats give `f32`, as it was computed; the results of
/// `f32` and `f64` are the same as there. Totals of integers are `i32` or `i64`, whichever the caller names, exact
/// modulo 2^32 or 2^64: see [`Accumulate`]. Matrix products of bytes to `i32` are [`matmul`].
///
/// ```
/// use diptych::{Exec, bf16, wide};
///
/// let exec = Exec::new();
/// let total: i64 = wide::sum(&exec, &[200_u8, 100])?;
/// assert_eq!(total, 300);
/// assert_eq!(diptych::sum(&exec, &[200_u8, 100])?, 44);
///
/// let x = [256.0_f32, 1.0].map(bf16::from_f32);
/// assert_eq!(wide::sum(&exec, &x)?, 257.0_f32);
/// assert_eq!(diptych::sum(&exec, &x)?.to_f32(), 256.0);
/// # Ok::<(), diptych::Error>(())
/// ```
pub mod wide {
    pub use crate::api::fused::wide::*;
    pub use crate::api::outer::wide::*;
    pub use crate::api::reduce::wide::*;
}

/// The operations on pointers, for callers that have addresses instead of slices. The C interface calls these.
///
/// They check their arguments as the safe functions do, and give the same bits. These conventions hold for all:
///
/// * **Sizes** are `i64` and count elements. A negative one is [`Error::NegativeSize`]; sizes and strides that together
///   span more than the address space are [`Error::SizeOverflow`].
/// * **Strides** are `i64`, count elements and may be negative. Element i of a vector is at `x + i * incx`, element (i,
///   j) of a matrix at `a + i * a_rs + j * a_cs`: `_rs` is the distance from one row to the next, `_cs` from one column
///   to the next, `_bs` from one matrix of a batch to the next. A pointer is always that of element 0.
/// * **Pointers** must be aligned ([`Error::Misaligned`]) and not null ([`Error::NullPointer`]). Pointers that a call
///   does not use, because a size is 0 for example, are ignored and may have any value.
/// * **Aliasing**: inputs may overlap each other. An output must overlap neither an input nor itself
///   ([`Error::Overlap`]), unless the function says that it may be exactly an input: the same pointer, and not a
///   shifted one. Strided outputs that cannot be shown to be apart from an input are refused too.
/// * **Safety**: the pointers that a call uses must be valid for reading (inputs) or writing (outputs) at all elements
///   that the sizes and strides describe, and no other thread may write these elements, or access the outputs, during
///   the call.
///
/// [`Error::NegativeSize`]: crate::Error::NegativeSize
/// [`Error::SizeOverflow`]: crate::Error::SizeOverflow
/// [`Error::Misaligned`]: crate::Error::Misaligned
/// [`Error::NullPointer`]: crate::Error::NullPointer
/// [`Error::Overlap`]: crate::Error::Overlap
pub mod raw {
    pub use crate::api::elementwise::raw::*;
    pub use crate::api::fused::raw::*;
    pub use crate::api::gemm::raw::*;
    pub use crate::api::outer::raw::*;
    pub use crate::api::reduce::raw::*;
    pub use crate::api::row_map::raw::*;
}

/// Internals for another backend of the same operations, so that its results have the same bits: what each operation
/// does to one element, the folds and recipes of reductions, the canonical orders, and the checks of arguments.
///
/// `diptych-gpu` and its kernels use this module and [`table`], and nothing else of this crate. Programs that only call
/// operations do not need it. It may change with any version.
pub mod backend {
    pub use crate::simd::{Access, Outlined, Register, Simd};

    /// Checks of arguments: sizes, strides, overlap.
    pub mod args {
        pub use crate::args::*;
        pub use crate::matrix::Matrix;
    }
    /// Checks of the arguments of each family.
    pub mod check {
        /// Checks for `mse_grad` and `lsq_grad`.
        pub mod fused {
            pub use crate::api::fused::check::*;
        }
        /// Checks for reductions.
        pub mod reduce {
            pub use crate::api::reduce::check::*;
        }
        /// Checks for maps over rows.
        pub mod row_map {
            pub use crate::api::row_map::check::*;
        }
    }
    /// The caches and execution units that plans are made for.
    pub mod geometry {
        pub use crate::detect::Geometry;
    }
    /// The folds of reductions: how a lane takes an element, and how two lanes are combined.
    pub mod folds {
        pub use crate::ops::reduce::fold::*;
    }
    /// Models of instructions, for tests.
    #[cfg(feature = "models")]
    pub mod models {
        pub use crate::isa::models::stand_in;
    }
    /// Roundings on the way to 16 bits.
    pub mod half {
        pub use crate::half::{round_to_odd, sticky};
    }
    /// Matrix products: checked arguments and epilogues.
    pub mod gemm {
        pub use crate::api::gemm::check::*;
        pub use crate::ops::gemm::{Epilogue, Gemm, Rule};
    }
    /// Matrix products whose operands are not what is summed: checked arguments.
    pub mod mixed {
        pub use crate::api::mixed::{Half, Integers, Operands, Output, ProductTypes};
        pub use crate::ops::mixed::product::Numbers;
        pub use crate::ops::mixed::{Finish, MixedGemm};
        pub use crate::tensor::mixed::run_each;
    }
    /// The constants of the canonical orders.
    pub mod order {
        pub use crate::ops::order::*;
    }
    /// Outer products: checked arguments.
    pub mod outer {
        pub use crate::api::outer::check::*;
    }
    /// The steps of reductions between and after their folds.
    pub mod recipe {
        pub use crate::recipe::*;
    }
    /// What each operation does to one element.
    pub mod scalar {
        pub use crate::scalar::*;
    }
    /// Tensors: checked arguments, and the loops over their elements.
    pub mod tensor {
        pub use crate::tensor::checked::*;
        pub use crate::tensor::convert::{CheckedConversion, check_convert};
        pub use crate::tensor::dot::{DotTypes, check_dot};
        pub use crate::tensor::element_type::{ElementType, IntegerType, NumberType};
        pub use crate::tensor::gradients::{check_lsq_grad, check_mse_grad};
        pub use crate::tensor::integer_outer::whole;
        pub use crate::tensor::kind::*;
        pub use crate::tensor::list::{List, MAX_RANK};
        pub use crate::tensor::loops::*;
        pub use crate::tensor::matmul::{MatmulTypes, check_matmul};
        pub use crate::tensor::mse_grad::MseGradTensors;
        pub use crate::tensor::operand::*;
        pub use crate::tensor::product::{Batches, Orders, Product};
        pub use crate::tensor::reduce::integers::Gives;
        pub use crate::tensor::reduce::plan::*;
        pub use crate::tensor::row_map::plan::RowMapPlan;
        pub use crate::tensor::strided::StridedTensor;
        pub use crate::tensor::vectors::{OuterTypes, check_outer};
    }
}
