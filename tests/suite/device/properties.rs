//! `tests/suite/properties` on the device panel: fewer cases, each under one schedule.

#[path = "../properties/elementwise.rs"]
mod elementwise;
#[path = "../properties/reductions.rs"]
mod reductions;
