//! Benches of the family `fused`.

mod common;

fn main() {
    common::family("fused");
}
