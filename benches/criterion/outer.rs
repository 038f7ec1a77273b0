//! Benches of the family `outer`.

mod common;

fn main() {
    common::family("outer");
}
