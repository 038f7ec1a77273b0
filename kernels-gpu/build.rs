//! Compresses the committed code of each kernel for the library to embed: its PTX, as a module of its own, and with the
//! feature `cubin` its cubins.
use std::ffi::OsStr;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

mod committed;

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=ptx");
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let mut cubins = String::new();
    for file in fs::read_dir("ptx")? {
        let file = file?.path();
        let target = file.file_stem().and_then(OsStr::to_str).unwrap_or_default();
        let folder = out.join(target);
        match file.extension().and_then(OsStr::to_str) {
            Some("ptx") => {
                let text = fs::read_to_string(&file)?;
                let table = embed(&folder, committed::modules(&text))?;
                fs::write(folder.with_extension("rs"), table)?;
            }
            Some("cubins") if env::var_os("CARGO_FEATURE_CUBIN").is_some() => {
                let bytes = fs::read(&file)?;
                let all = committed::cubins(&bytes).ok_or(io::ErrorKind::InvalidData)?;
                cubins += &format!("({target:?}, {}),\n", embed(&folder, all)?);
            }
            _ => {}
        }
    }
    fs::write(out.join("cubins.rs"), format!("&[{cubins}]\n"))
}

/// Compresses the code of each kernel into a folder; returns the table of the names and the compressed bytes.
fn embed<'a>(
    folder: &Path,
    kernels: impl IntoIterator<Item = (&'a str, impl AsRef<[u8]>)>,
) -> io::Result<String> {
    fs::create_dir_all(folder)?;
    let mut table = String::from("&[\n");
    for (name, code) in kernels {
        let path = folder.join(name);
        let packed = miniz_oxide::deflate::compress_to_vec_zlib(code.as_ref(), 9);
        fs::write(&path, packed)?;
        writeln!(table, "({name:?}, include_bytes!({path:?})),").map_err(io::Error::other)?;
    }
    Ok(table + "]\n")
}
