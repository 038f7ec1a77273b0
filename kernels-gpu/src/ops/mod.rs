//! From arguments to launches, by family.

pub mod elementwise;
