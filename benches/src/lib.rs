//! The shared part of the benches: a bench for every operation, its data, the machine's limits, and the libraries that
//! are timed: Diptych through its C interface, and its peers.

pub mod bench;
pub mod blas;
pub mod ceiling;
pub mod crates;
pub mod data;
pub mod library;
pub mod mixed;
pub mod python;
pub mod registry;
pub mod timing;
