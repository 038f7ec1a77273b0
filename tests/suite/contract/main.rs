//! Promises that are not about values: no access outside the operands, a floating-point
//! environment left alone, threads used when lent, the safe API, levels by force and by environment.

use diptych_tests::threads as backend;

mod bounds;
mod bounds_matrices;
mod environment;
mod floating;
mod safe_api;
mod shapes;
