//! The developer tool as a library, so that the tests run the same code as `cargo xtask`.
#![forbid(unsafe_code)]

pub mod abi;
pub mod asm;
pub mod bench;
pub mod blas;
pub mod check;
pub mod command;
pub mod compile_time;
pub mod cost;
pub mod ctests;
pub mod docs;
pub mod embedding;
pub mod exports;
pub mod freestanding;
pub mod fuzz;
pub mod generate;
pub mod gpu;
pub mod install;
pub mod library;
pub mod load;
pub mod paths;
/// The promised fingerprint, in the same way.
#[path = "../../kernels-cpu/src/fingerprint/expected.rs"]
mod promise;
pub mod ptx;
pub mod python;
pub mod sanitize;
pub mod size;
pub mod skip;
pub mod symbols;
/// The table of operations, as data. Included as a file, so that the tool does not have to build the kernels.
#[path = "../../kernels-cpu/src/table.rs"]
pub mod table;
pub mod targets;
