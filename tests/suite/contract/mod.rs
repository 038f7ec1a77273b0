//! Promises beyond the results of single calls: no access outside the operands, an unchanged floating-point
//! environment, use of the caller's threads, the safe API, and levels forced by call or by environment variable.

use diptych_tests::threads as backend;

mod bounds;
mod bounds_matrices;
mod convert;
mod environment;
mod floating;
mod safe_api;
mod safe_integers;
mod shapes;
