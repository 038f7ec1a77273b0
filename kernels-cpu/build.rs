//! Sets `cfg(precompiled)`: this crate then compiles all kernels itself, for every element type.
//!
//! Otherwise the crate that calls a kernel compiles it, with its own profile. The setting that optimises this crate in
//! debug builds (`[profile.dev.package.diptych] opt-level = 3`) would then not reach the kernels, so with it they are
//! precompiled, as they are with the feature `precompiled`.

use std::env;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(precompiled)");
    let is = |name: &str, value: &str| env::var_os(name).is_some_and(|set| set == value);
    let is_optimised_debug = is("PROFILE", "debug") && !is("OPT_LEVEL", "0");
    if is_optimised_debug || env::var_os("CARGO_FEATURE_PRECOMPILED").is_some() {
        println!("cargo::rustc-cfg=precompiled");
    }
}
