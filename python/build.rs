//! Tells the sources about the interpreter that they are compiled for.

fn main() {
    pyo3_build_config::use_pyo3_cfgs();
    pyo3_build_config::add_extension_module_link_args();
    if std::env::var_os("CARGO_CFG_TARGET_OS").is_some_and(|os| os == "linux") {
        // The module is never unloaded, because threads of its pools may be running its code.
        println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    }
}
