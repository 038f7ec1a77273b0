//! Benches of the family `elementwise`.

mod common;

fn main() {
    common::family("elementwise");
}
