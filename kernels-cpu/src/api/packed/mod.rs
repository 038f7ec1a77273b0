//! Operands that are packed once: a B that is multiplied by many times, a layer's weights for example.

pub(crate) mod layout;
pub(crate) mod run;
mod safe;

pub use safe::*;
