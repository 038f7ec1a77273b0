//! Compresses the committed PTX, which the library embeds.
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    for target in ["sm_75", "sm_90a"] {
        let file = format!("ptx/{target}.ptx");
        println!("cargo::rerun-if-changed={file}");
        let packed = miniz_oxide::deflate::compress_to_vec_zlib(&fs::read(&file)?, 6);
        fs::write(Path::new(&out).join(format!("{target}.zlib")), packed)?;
    }
    Ok(())
}
