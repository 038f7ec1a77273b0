//! Debian's Rust compiler, which has the sources of core and std for every architecture, and packages
//! unpacked below target/debian: nothing of the system is changed.
use crate::command::{run, works};
use crate::paths;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const RUSTC: &str = "/usr/bin/rustc";
const CARGO: &str = "/usr/bin/cargo";
const SOURCES: &str = "/usr/lib/rustlib/src/rust/library/core/Cargo.toml";

/// Why there is no such compiler here, if so.
pub fn missing_compiler() -> Option<&'static str> {
    const OLDEST: &str = env!("CARGO_PKG_RUST_VERSION");
    let there = works(Command::new("dpkg-query").args(["--status", "rustc-web", "cargo-web"]));
    if !there || !Path::new(RUSTC).exists() || !Path::new(CARGO).exists() {
        return Some("Debian's rustc-web and cargo-web are not installed");
    }
    let version = version().unwrap_or_default();
    let recent = ["--compare-versions", version.as_str(), "ge", OLDEST];
    (!works(Command::new("dpkg").args(recent)))
        .then_some("Debian's rustc-web is too old for the workspace")
}

/// The version of its package.
fn version() -> Result<String> {
    let query = ["--showformat", "${Version}", "--show", "rustc-web"];
    run(Command::new("dpkg-query").args(query))
}

/// Likewise for the sources that `-Zbuild-std` needs.
pub fn missing_sources() -> Option<&'static str> {
    missing_compiler().or_else(|| {
        (!Path::new(SOURCES).exists()).then_some("Debian's rust-web-src is not installed")
    })
}

/// Debian's cargo with Debian's compiler.
pub fn cargo() -> Command {
    let mut command = Command::new(CARGO);
    command.current_dir(paths::root());
    command
        .env("RUSTC", RUSTC)
        .env("RUSTDOC", "/usr/bin/rustdoc");
    for inherited in ["RUSTFLAGS", "RUSTUP_TOOLCHAIN", "CARGO", "LD_LIBRARY_PATH"] {
        command.env_remove(inherited);
    }
    command
}

/// A compiler with std for aarch64 beside its own: the sysroot.
pub fn aarch64_sysroot() -> Result<PathBuf> {
    const TARGET: &str = "aarch64-unknown-linux-gnu";
    let version = version()?;
    let release: Vec<&str> = version.splitn(3, '.').collect();
    let [major, minor, _] = release[..] else {
        anyhow::bail!("rustc-web has version {version}");
    };
    let packages = [
        format!("libstd-rust-web-dev:arm64={version}"),
        format!("libstd-rust-web-{major}.{minor}:arm64={version}"),
    ];
    let folder = base().join(format!("libstd-{version}"));
    if !folder.join("done").exists() {
        let mut apt = Apt::foreign(&folder, "arm64")?;
        apt.unpack(&packages)?;
        let rustlib = folder.join("sysroot/lib/rustlib");
        fs::create_dir_all(&rustlib)?;
        let own = Path::new("/usr/lib/rustlib/x86_64-unknown-linux-gnu");
        let other = folder.join("root/usr/lib/rustlib").join(TARGET);
        for std in [own, &other] {
            let name = std.file_name().context("a target")?;
            std::os::unix::fs::symlink(std, rustlib.join(name))?;
        }
        fs::write(folder.join("done"), "")?;
    }
    Ok(folder.join("sysroot"))
}

/// The emulators of whole machines, unpacked with the libraries that are not installed: to install
/// them could remove other packages.
pub fn qemu_system() -> Result<PathBuf> {
    let folder = base().join("qemu-system");
    if !folder.join("done").exists() {
        let mut apt = Apt::native(&folder)?;
        apt.unpack_with_libraries(&["qemu-system-arm", "qemu-system-misc"])?;
        fs::write(folder.join("done"), "")?;
    }
    Ok(folder.join("root"))
}

/// An emulator of such a folder.
pub fn emulator(root: &Path, program: &str) -> Command {
    let mut command = Command::new("timeout");
    let libraries = ["usr/lib", "lib"].map(|lib| root.join(lib).join("x86_64-linux-gnu"));
    let path = libraries.map(|lib| lib.display().to_string()).join(":");
    command.env("LD_LIBRARY_PATH", path);
    command.arg("600").arg(root.join("usr/bin").join(program));
    command
        .arg("-L")
        .arg(root.join("usr/share/qemu"))
        .args(["-nographic", "-monitor", "none"]);
    command
}

fn base() -> PathBuf {
    paths::target().join("debian")
}

/// Downloads and unpacks into a folder, made anew.
struct Apt {
    folder: PathBuf,
    config: Option<PathBuf>,
}

impl Apt {
    /// For packages of this machine's architecture, by the system's own lists.
    fn native(folder: &Path) -> Result<Apt> {
        if folder.exists() {
            fs::remove_dir_all(folder)?;
        }
        fs::create_dir_all(folder.join("debs"))?;
        Ok(Apt {
            folder: folder.into(),
            config: None,
        })
    }

    /// For another architecture, with lists of its own.
    fn foreign(folder: &Path, architecture: &str) -> Result<Apt> {
        let mut apt = Apt::native(folder)?;
        for dir in ["lists/partial", "cache/archives/partial"] {
            fs::create_dir_all(folder.join(dir))?;
        }
        let at = folder.display();
        let text = format!(
            "APT::Architectures {{ \"amd64\"; \"{architecture}\"; }};\n\
             Dir::State::lists \"{at}/lists\";\nDir::Cache \"{at}/cache\";\n"
        );
        let config = folder.join("apt.conf");
        fs::write(&config, text)?;
        apt.config = Some(config);
        run(apt.get().args(["-qq", "update"]))?;
        Ok(apt)
    }

    fn get(&self) -> Command {
        let mut command = Command::new("apt-get");
        command.current_dir(self.folder.join("debs"));
        if let Some(config) = &self.config {
            command.env("APT_CONFIG", config);
        }
        command
    }

    fn unpack(&mut self, packages: &[String]) -> Result<()> {
        run(self.get().args(["-qq", "download"]).args(packages))?;
        let root = self.folder.join("root");
        for entry in fs::read_dir(self.folder.join("debs"))? {
            run(Command::new("dpkg").arg("-x").arg(entry?.path()).arg(&root))?;
        }
        fs::remove_dir_all(self.folder.join("debs"))?;
        Ok(())
    }

    fn unpack_with_libraries(&mut self, packages: &[&str]) -> Result<()> {
        let mut simulated = self.get();
        simulated.args(["install", "--simulate", "--no-install-recommends"]);
        let plan = run(simulated.args(packages))?;
        let names: Vec<String> = plan
            .lines()
            .filter_map(|line| line.strip_prefix("Inst "))
            .filter_map(|rest| rest.split_whitespace().next())
            .map(str::to_owned)
            .chain(packages.iter().map(|&name| name.to_owned()))
            .collect();
        ensure!(!names.is_empty(), "apt-get plans nothing:\n{plan}");
        self.unpack(&names)
    }
}
