//! The operations of the table's three families as data, so that each suite is one loop over all of them: how to call
//! each, and its model and oracle. All is expanded from the table of operations, except the functions of `model.rs`
//! and `oracle.rs` with the operations' names, which are written by hand.

mod elementwise;
mod reductions;
mod row_maps;

pub use elementwise::{Elementwise, MOST_INPUTS, Scalars, elementwise};
pub use reductions::{Reduction, reductions};
pub use row_maps::*;
