//! `tests/suite/properties` on the device panel: fewer cases, each under one schedule.

#[path = "../properties/elementwise.rs"]
mod elementwise;
#[path = "../properties/fused.rs"]
mod fused;
#[path = "../properties/outer.rs"]
mod outer;
#[path = "../properties/reductions.rs"]
mod reductions;
