//! What the benches share: a bench for every operation, their data, the machine's limits and the
//! peer library.

pub mod bench;
pub mod ceiling;
pub mod data;
pub mod peer;
pub mod registry;
pub mod timing;
