//! What is built to be shipped, as its users meet it: the C library and the committed PTX.
//! These tests build the C library in release, so they are part of `cargo xtask check`, not of `cargo test`.

mod c_abi;
mod digits;
mod ptx;
mod quick_start;
