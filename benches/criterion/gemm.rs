//! Benches of the family `gemm`.

mod common;

fn main() {
    common::family("gemm");
}
