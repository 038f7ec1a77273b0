//! Splits the committed PTX of each target into one module per kernel, and compresses them for the library to embed.
use std::fmt::Write;
use std::path::Path;
use std::{env, fs, io};

/// The text with which the PTX of each kernel begins.
const ENTRY: &str = ".visible .entry ";

fn main() -> io::Result<()> {
    let out = env::var_os("OUT_DIR").unwrap_or_default();
    println!("cargo::rerun-if-changed=ptx");
    for file in fs::read_dir("ptx")? {
        let file = file?.path();
        let Some(target) = file
            .file_stem()
            .filter(|_| file.extension() == Some("ptx".as_ref()))
        else {
            continue;
        };
        let folder = Path::new(&out).join(target);
        fs::create_dir_all(&folder)?;
        let mut table = String::from("&[\n");
        for (name, module) in modules(&fs::read_to_string(&file)?) {
            let packed = miniz_oxide::deflate::compress_to_vec_zlib(module.as_bytes(), 9);
            let path = folder.join(name);
            fs::write(&path, packed)?;
            writeln!(table, "({name:?}, include_bytes!({path:?})),").map_err(io::Error::other)?;
        }
        fs::write(folder.with_extension("rs"), table + "]\n")?;
    }
    Ok(())
}

/// Returns the name of each kernel and a module with that kernel alone: the header of the file, then the kernel.
fn modules(text: &str) -> impl Iterator<Item = (&str, String)> {
    let mut parts = text.split(ENTRY);
    let header = parts.next().unwrap_or_default();
    parts.map(move |entry| {
        let name = entry.split('(').next().unwrap_or_default();
        (name, [header, ENTRY, entry].concat())
    })
}
