//! A two-layer network trained on handwritten digits with explicit backprop.
//!
//! Every floating-point step goes through the public operations of `diptych`, so the trained
//! weights have the same bits at every CPU level and with any number of threads. The C program
//! `examples/c/digits.c` does the same work in `f32` and `f64` through the C ABI and ends with the
//! same bits.
//!
//! * [`data`]: the images, split for training and measuring,
//! * [`random`]: the random numbers for the initial weights and the shuffles,
//! * [`network`]: the network, its gradient step and its predictions,
//! * [`training`]: the loop over epochs, and the figures that it reports,
//! * [`product`]: matrix products of all types under one name,
//! * [`real`]: what the example needs of its types of numbers.

#![forbid(unsafe_code)]

pub mod data;
pub mod network;
pub mod product;
pub mod random;
pub mod real;
pub mod training;

/// The Rust code of README.md, compiled and run by `cargo test`.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// The Rust code of the crate's page, likewise.
#[cfg(doctest)]
#[doc = include_str!("../../kernels-cpu/README.md")]
pub struct CratePage;
