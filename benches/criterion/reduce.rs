//! Benches of the family `reduce`.

mod common;

fn main() {
    common::family("reduce");
}
