//! Debian's Rust compiler, which has the sources of core and std for every architecture, and packages
//! unpacked below target/debian: nothing of the system is changed.
use crate::command::{cmd, other_toolchain, run, sh, works};
use crate::paths;
use anyhow::{Result, bail};
use fs_err as fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const SOURCES: &str = "/usr/lib/rustlib/src/rust/library/core/Cargo.toml";

/// Why there is no such compiler here, if so.
pub fn missing_compiler() -> Option<&'static str> {
    const OLDEST: &str = env!("CARGO_PKG_RUST_VERSION");
    let is_there = works(&mut cmd!("dpkg-query --status rustc-web cargo-web"));
    let exist = ["/usr/bin/rustc", "/usr/bin/cargo"].map(|program| Path::new(program).exists());
    if !is_there || exist.contains(&false) {
        return Some("Debian's rustc-web and cargo-web are not installed");
    }
    let version = version().unwrap_or_default();
    let is_recent = works(&mut cmd!("dpkg --compare-versions {version} ge {OLDEST}"));
    (!is_recent).then_some("Debian's rustc-web is too old for the workspace")
}

/// The version of the compiler's package.
fn version() -> Result<String> {
    sh!("dpkg-query --showformat '${Version}' --show rustc-web")
}

/// Why there is no such compiler with the sources that `-Zbuild-std` needs, if so.
pub fn missing_sources() -> Option<&'static str> {
    let sources = Path::new(SOURCES).exists();
    missing_compiler().or((!sources).then_some("Debian's rust-web-src is not installed"))
}

/// Debian's cargo with Debian's compiler.
pub fn with_rustc(cargo: Command) -> Command {
    let mut command = other_toolchain(cargo);
    command.env("RUSTC", "/usr/bin/rustc");
    command.env("RUSTDOC", "/usr/bin/rustdoc");
    command
}

/// A sysroot with std for aarch64 and for this machine.
pub fn aarch64_sysroot() -> Result<PathBuf> {
    let version = version()?;
    let mut release = version.split('.');
    let (Some(major), Some(minor)) = (release.next(), release.next()) else {
        bail!("rustc-web has version {version}");
    };
    unpacked(&format!("libstd-{version}"), |folder| {
        let config = foreign_lists(folder, "arm64")?;
        let packages = [
            format!("libstd-rust-web-dev:arm64={version}"),
            format!("libstd-rust-web-{major}.{minor}:arm64={version}"),
        ];
        unpack(folder, &packages, Some(&config))?;
        let rustlib = folder.join("sysroot/lib/rustlib");
        fs::create_dir_all(&rustlib)?;
        let own = "/usr/lib/rustlib/x86_64-unknown-linux-gnu";
        let other = folder.join("root/usr/lib/rustlib/aarch64-unknown-linux-gnu");
        sh!("ln -s {own} {other} {rustlib}").map(drop)
    })
    .map(|folder| folder.join("sysroot"))
}

/// The emulators of whole machines, unpacked with the libraries that are not installed: to install
/// them could remove other packages.
pub fn qemu_system() -> Result<PathBuf> {
    unpacked("qemu-system", |folder| {
        let wanted = ["qemu-system-arm", "qemu-system-misc"];
        let plan = sh!("apt-get install --simulate --no-install-recommends {wanted...}")?;
        let installs = plan.lines().filter_map(|line| line.strip_prefix("Inst "));
        let names = installs.filter_map(|rest| rest.split_whitespace().next());
        let packages: Vec<String> = names.chain(wanted).map(str::to_owned).collect();
        unpack(folder, &packages, None)
    })
    .map(|folder| folder.join("root"))
}

/// Netlib's testers of BLAS with the reference BLAS, for 32-bit and 64-bit integers, and the libraries that they need.
pub fn blas_testers() -> Result<PathBuf> {
    let names = "libblas-test libblas3 libblas64-test libblas64-3 libgfortran5 libquadmath0";
    let packages: Vec<String> = names.split(' ').map(str::to_owned).collect();
    unpacked("blas-testers", |folder| unpack(folder, &packages, None))
        .map(|folder| folder.join("root"))
}

/// An emulator of such a folder; it is ended after ten minutes.
pub fn emulator(root: &Path, program: &str) -> Command {
    let libraries = ["usr/lib", "lib"].map(|lib| root.join(lib).join("x86_64-linux-gnu"));
    let mut command = cmd!(
        "timeout 600 {root}/usr/bin/{program} -L {root}/usr/share/qemu -nographic -monitor none"
    );
    let path = libraries.map(|lib| lib.display().to_string()).join(":");
    command.env("LD_LIBRARY_PATH", path);
    command
}

/// A folder below target/debian; calls `fill` with the empty folder unless that has succeeded before.
fn unpacked(name: &str, fill: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let folder = paths::target().join("debian").join(name);
    if !folder.join("done").exists() {
        paths::make_empty(&folder)?;
        fill(&folder)?;
        fs::write(folder.join("done"), "")?;
    }
    Ok(folder)
}

/// Downloads packages and unpacks them into the folder's `root`; by the system's lists, or those of a configuration.
fn unpack(folder: &Path, packages: &[String], config: Option<&Path>) -> Result<()> {
    let (debs, root) = (folder.join("debs"), folder.join("root"));
    fs::create_dir_all(&debs)?;
    let mut download = cmd!("apt-get -qq download {packages...}");
    download.envs(config.map(|config| ("APT_CONFIG", config)));
    run(download.current_dir(&debs))?;
    for entry in fs::read_dir(&debs)? {
        let deb = entry?.path();
        sh!("dpkg -x {deb} {root}")?;
    }
    Ok(fs::remove_dir_all(debs)?)
}

/// Fetches the lists of another architecture into the folder; returns the configuration that uses them.
fn foreign_lists(folder: &Path, architecture: &str) -> Result<PathBuf> {
    for dir in ["lists/partial", "cache/archives/partial"] {
        fs::create_dir_all(folder.join(dir))?;
    }
    let (at, config) = (folder.display(), folder.join("apt.conf"));
    let text = format!(
        "APT::Architectures {{ \"amd64\"; \"{architecture}\"; }};\n\
         Dir::State::lists \"{at}/lists\";\nDir::Cache \"{at}/cache\";\n"
    );
    fs::write(&config, text)?;
    run(cmd!("apt-get -qq update").env("APT_CONFIG", &config))?;
    Ok(config)
}
