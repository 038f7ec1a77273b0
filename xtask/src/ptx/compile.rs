//! The compiler of the kernels: a rustc with the sources of `core`, which emits PTX.
use crate::command::{cmd, other_toolchain, run, sh, works};
use crate::paths;
use anyhow::Result;
use fs_err as fs;
use std::env;
use std::path::{Path, PathBuf};

/// The flags for every crate of the kernels. MIR's jump threading does not know about convergence, and would copy a
/// barrier into the branches of threads that diverge. Kernels report no source lines. An indirect branch takes longer than
/// a few comparisons.
pub const FLAGS: &str =
    "-Zmir-enable-passes=-JumpThreading -Zlocation-detail=none -Cjump-tables=no";

/// A rustc, beside which is its cargo.
pub struct Compiler {
    rustc: PathBuf,
    /// The whole line of `rustc --version`.
    pub version: String,
}

impl Compiler {
    /// A compiler that can compile the kernels: of the version `wanted` if there is one, else the first.
    pub fn find(wanted: Option<&str>) -> Option<Compiler> {
        let mut found: Vec<Compiler> = candidates().into_iter().filter_map(Compiler::at).collect();
        found.sort_by_key(|compiler| Some(compiler.version.as_str()) != wanted);
        found.into_iter().next()
    }

    fn at(rustc: PathBuf) -> Option<Compiler> {
        let sysroot = sh!("{rustc} --print sysroot").ok()?;
        let core = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/core/src/lib.rs");
        let cargo = rustc.with_file_name("cargo");
        let usable = core.exists() && works(&mut cmd!("{cargo} --version"));
        let version = sh!("{rustc} --version").ok()?.trim().to_owned();
        usable.then_some(Compiler { rustc, version })
    }

    /// The kernels' PTX for a target, as the compiler writes it.
    pub fn compile(&self, target: &str) -> Result<String> {
        let (cargo, directory) = (
            self.rustc.with_file_name("cargo"),
            paths::target().join("ptx"),
        );
        fs::create_dir_all(&directory)?;
        let text = directory.join(format!("{target}.ptx"));
        // A static library takes no linker, and with fat LTO nothing is left outside.
        let mut command = other_toolchain(cmd!(
            "{cargo} rustc --quiet --profile dist --package diptych-device -Zbuild-std=core --target nvptx64-nvidia-cuda
             --crate-type staticlib -- --emit=asm={text} -C target-cpu={target} -A internal_features"
        ));
        command.env("RUSTC", &self.rustc);
        // `build-std`, and the ABI and the intrinsics of the kernels, are not stable.
        command.env("RUSTC_BOOTSTRAP", "1");
        command.env("CARGO_TARGET_DIR", &directory);
        command.env("CARGO_TARGET_NVPTX64_NVIDIA_CUDA_RUSTFLAGS", FLAGS);
        run(&mut command)?;
        Ok(fs::read_to_string(&text)?)
    }
}

/// Where a compiler may be: the one that DIPTYCH_PTX_RUSTC names, else Debian's or a nightly of rustup.
fn candidates() -> Vec<PathBuf> {
    if let Some(named) = env::var_os("DIPTYCH_PTX_RUSTC") {
        return vec![named.into()];
    }
    let nightly = sh!("rustup which --toolchain nightly rustc");
    let nightly = nightly.ok().map(|path| PathBuf::from(path.trim()));
    let all = [Some(PathBuf::from("/usr/bin/rustc")), nightly].into_iter();
    all.flatten().filter(|path| path.exists()).collect()
}
