//! Options of the linker: the library is never unloaded, because threads of its pool may be running its code.
#![forbid(unsafe_code)]

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_CFG_TARGET_OS").is_some_and(|os| os == "linux") {
        println!(
            "cargo::rustc-cdylib-link-arg=-Wl,-soname,libdiptych_blas.so,-z,nodelete,-z,relro,-z,now"
        );
    }
}
