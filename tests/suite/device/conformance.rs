//! `tests/suite/conformance` on the device panel.

#[path = "../conformance/elementwise.rs"]
mod elementwise;
#[path = "../conformance/outer.rs"]
mod outer;
#[path = "../conformance/reduce.rs"]
mod reduce;
