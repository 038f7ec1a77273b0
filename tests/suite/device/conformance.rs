//! `tests/suite/conformance` on the device panel.

#[path = "../conformance/elementwise.rs"]
mod elementwise;
#[path = "../conformance/reduce.rs"]
mod reduce;
