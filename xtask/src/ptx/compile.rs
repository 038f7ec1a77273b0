//! The compiler of the kernels: a rustc with the sources of `core`, told to make PTX.
use crate::command::{run, works};
use crate::paths;
use anyhow::{Context, Result};
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What every crate of the kernels is compiled with. MIR's jump threading knows nothing of convergence,
/// and would copy a barrier into the branches of threads that diverge; kernels report no source lines.
pub const FLAGS: &str = "-Zmir-enable-passes=-JumpThreading -Zlocation-detail=none";

/// A rustc and its cargo.
pub struct Compiler {
    rustc: PathBuf,
    cargo: PathBuf,
    /// The whole line of `rustc --version`.
    pub version: String,
}

impl Compiler {
    /// One that can compile the kernels: of the version `wanted` if there is one, else the first.
    pub fn find(wanted: Option<&str>) -> Result<Option<Compiler>> {
        let mut found: Vec<Compiler> = candidates().into_iter().filter_map(Compiler::at).collect();
        let best = found
            .iter()
            .position(|c| Some(c.version.as_str()) == wanted)
            .unwrap_or(0);
        Ok((best < found.len()).then(|| found.swap_remove(best)))
    }

    fn at(rustc: PathBuf) -> Option<Compiler> {
        let print = |argument: &[&str]| run(Command::new(&rustc).args(argument)).ok();
        let sysroot = print(&["--print", "sysroot"])?;
        let core = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/core/src/lib.rs");
        let cargo = rustc.with_file_name("cargo");
        let usable = core.exists() && works(Command::new(&cargo).arg("--version"));
        let version = print(&["--version"])?.trim().to_owned();
        usable.then_some(Compiler {
            rustc,
            cargo,
            version,
        })
    }

    /// The kernels' PTX for a target, as the compiler writes it.
    pub fn compile(&self, target: &str) -> Result<String> {
        let directory = paths::target().join("ptx");
        fs::create_dir_all(&directory)?;
        let text = directory.join(format!("{target}.ptx"));
        let mut cargo = Command::new(&self.cargo);
        cargo.current_dir(paths::root());
        // What a cargo or a rustup that runs this tool has set is meant for another toolchain.
        for name in [
            "RUSTUP_TOOLCHAIN",
            "RUSTC_WRAPPER",
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
        ] {
            cargo.env_remove(name);
        }
        cargo
            .env("RUSTC", &self.rustc)
            // `build-std`, and the ABI and the intrinsics of the kernels, are not stable.
            .env("RUSTC_BOOTSTRAP", "1")
            .env("CARGO_TARGET_DIR", &directory)
            .env("CARGO_TARGET_NVPTX64_NVIDIA_CUDA_RUSTFLAGS", FLAGS)
            .args([
                "rustc",
                "--quiet",
                "--release",
                "--package",
                "diptych-device",
            ])
            .args(["-Zbuild-std=core", "--target", "nvptx64-nvidia-cuda"])
            // A static library takes no linker, and with fat LTO nothing is left outside.
            .args(["--crate-type", "staticlib", "--"])
            .arg(format!("--emit=asm={}", text.display()))
            .args(["-C", &format!("target-cpu={target}")])
            .args(["-A", "internal_features"]);
        run(&mut cargo)?;
        fs::read_to_string(&text).with_context(|| format!("{}", text.display()))
    }
}

/// Where a compiler may be: the one that was named, Debian's, a nightly of rustup.
fn candidates() -> Vec<PathBuf> {
    if let Some(named) = env::var_os("DIPTYCH_PTX_RUSTC") {
        return vec![named.into()];
    }
    let nightly = run(Command::new("rustup").args(["which", "--toolchain", "nightly", "rustc"]));
    let nightly = nightly.ok().map(|path| PathBuf::from(path.trim()));
    [Some(PathBuf::from("/usr/bin/rustc")), nightly]
        .into_iter()
        .flatten()
        .filter(|path| path.exists())
        .collect()
}
