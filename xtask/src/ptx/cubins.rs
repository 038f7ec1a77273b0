//! The committed cubins: what an assembler of one version makes of the committed PTX, so that common GPUs need no compiler
//! when a kernel is first used. A file for each architecture, whose format `kernels-gpu/committed.rs` describes.
use super::assemble::{self, assemble};
use super::{TARGETS, committed, directory, file, hash};
use crate::paths;
use crate::skip::skip;
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use rayon::prelude::*;
use std::path::{Path, PathBuf};

/// The architectures: a cubin also runs on devices of a higher minor compute capability.
pub const ARCHITECTURES: [&str; 3] = ["sm_80", "sm_90", "sm_100"];

/// The assembler, as a line of its `--version`. It is the last of CUDA 12: for sm_80 and sm_90, CUDA 13 writes a version of
/// the ELF ABI (8 instead of 7) that came with 12.8 and sm_100, and older drivers would need the PTX. No kernel spills with
/// it, and few take more registers than with CUDA 13.
pub const ASSEMBLER: &str = "Cuda compilation tools, release 12.9, V12.9.86";
const WHEEL: &str = "cuda_nvcc/bin/ptxas";
const NO_ASSEMBLER: &str = "it takes ptxas 12.9.86: `python3 -m pip install --no-deps --target target/cuda \
                            nvidia-cuda-nvcc==13.5.37 nvidia-cuda-nvcc-cu12==12.9.86`, or name it in DIPTYCH_PTXAS";

/// The committed file of an architecture.
pub fn archive(architecture: &str) -> PathBuf {
    directory().join(format!("{architecture}.cubins"))
}

/// Assembles the committed PTX, and writes the cubins. With `check`, each file must name this PTX and this assembler; the
/// cubins of the second architecture are compared byte by byte.
pub fn run(check: bool) -> Result<()> {
    let Some(ptxas) = assemble::find(WHEEL, |version| version == ASSEMBLER) else {
        return skip("the cubins", NO_ASSEMBLER);
    };
    let ptx = fs::read_to_string(file(TARGETS[0]))?;
    let folder = paths::target().join("ptx/kernels");
    paths::make_empty(&folder)?;
    let modules: Vec<_> = committed::modules(&ptx).collect();
    for (name, text) in &modules {
        fs::write(folder.join(name).with_extension("ptx"), text)?;
    }
    let hash = hash(ptx.as_bytes());
    for architecture in ARCHITECTURES {
        let path = archive(architecture);
        if check && architecture != ARCHITECTURES[1] {
            ensure_fresh(&path, |file| file.starts_with(origin(&hash).as_bytes()))?;
            continue;
        }
        let cubins = modules.par_iter().map(|(name, _)| {
            let cubin = cubin(&ptxas, architecture, &folder.join(name));
            Ok((*name, cubin.with_context(|| name.to_string())?))
        });
        let made = pack(&hash, &cubins.collect::<Result<Vec<_>>>()?);
        if check {
            ensure_fresh(&path, |file| file == made)?;
        } else {
            fs::write(path, made)?;
        }
    }
    let (count, architectures) = (modules.len(), ARCHITECTURES.join(", "));
    let state = if check { ", which are fresh" } else { "" };
    println!("{count} cubins for each of {architectures}{state}");
    Ok(())
}

/// Fails unless the committed file is fresh.
fn ensure_fresh(path: &Path, is_fresh: impl Fn(&[u8]) -> bool) -> Result<()> {
    let name = path.display();
    ensure!(
        is_fresh(&fs::read(path)?),
        "{name} is not fresh; run `cargo xtask ptx`"
    );
    Ok(())
}

/// The cubin of the kernel at `path`, a name without extension.
fn cubin(ptxas: &Path, architecture: &str, path: &Path) -> Result<Vec<u8>> {
    let (ptx, cubin) = (
        path.with_extension("ptx"),
        path.with_extension(architecture),
    );
    assemble(ptxas, architecture, &ptx, &cubin)?;
    Ok(fs::read(cubin)?)
}

/// What a file begins with: the assembler, and the PTX by its SHA-256.
fn origin(ptx: &str) -> String {
    format!("assembler: {ASSEMBLER}\nPTX: {ptx}\n")
}

/// The file of some cubins.
fn pack(ptx: &str, cubins: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut text = origin(ptx);
    for (name, cubin) in cubins {
        text += &format!("{name} {}\n", cubin.len());
    }
    text += "\n";
    let mut file = text.into_bytes();
    file.extend(cubins.iter().flat_map(|(_, cubin)| cubin));
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_is_found() {
        let all = [
            ("k", b"one\n\n".to_vec()),
            ("m", Vec::new()),
            ("n", vec![0; 9]),
        ];
        let file = pack("hash", &all);
        let found = committed::cubins(&file).expect("a whole file");
        let expected: Vec<_> = all
            .iter()
            .map(|(name, cubin)| (*name, &cubin[..]))
            .collect();
        assert_eq!(found, expected);
        for broken in [
            &file[..file.len() - 1],
            &[&file[..], b"x"].concat(),
            b"",
            b"\n\nx",
        ] {
            assert_eq!(committed::cubins(broken), None);
        }
    }
}
