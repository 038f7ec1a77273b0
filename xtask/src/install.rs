//! Laying the library out as a C library is laid out.
use crate::library::{Library, PRIVATE_LIBS, SONAME, VERSION};
use crate::paths;
use anyhow::{Context, Result, ensure};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Component, Path, PathBuf};

/// Where to install.
#[derive(clap::Args, Debug)]
pub struct Options {
    /// The prefix under which the library will be used.
    #[arg(long)]
    pub prefix: PathBuf,
    /// A directory to put before the prefix, for packagers.
    #[arg(long)]
    pub destdir: Option<PathBuf>,
    /// The directory of the libraries, relative to the prefix: lib64, lib/x86_64-linux-gnu, ...
    #[arg(long, default_value = "lib")]
    pub libdir: PathBuf,
}

impl Options {
    /// Options for a plain installation under `prefix`.
    pub fn new(prefix: impl Into<PathBuf>) -> Options {
        Options {
            prefix: prefix.into(),
            destdir: None,
            libdir: "lib".into(),
        }
    }
}

/// Installs the libraries, the header, diptych.pc and the CMake configuration. The last two find
/// the rest relative to themselves, so the installed tree can be moved.
pub fn install(library: &Library, options: &Options) -> Result<()> {
    let Options {
        prefix,
        destdir,
        libdir,
    } = options;
    let plain = libdir
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    ensure!(plain, "--libdir is a path below the prefix, such as lib64");
    let prefix = std::path::absolute(prefix)?;
    let root = match destdir {
        Some(dir) => dir.join(prefix.strip_prefix("/").context("--prefix is absolute")?),
        None => prefix,
    };
    let lib = root.join(libdir);
    let version = format!("libdiptych.so.{VERSION}");
    put(&library.archive, &lib.join("libdiptych.a"), 0o644)?;
    put(&library.shared, &lib.join(&version), 0o755)?;
    link(&version, &lib.join(SONAME))?;
    link(SONAME, &lib.join("libdiptych.so"))?;
    put(&paths::header(), &root.join("include/diptych.h"), 0o644)?;
    for (file, template) in [
        (
            "pkgconfig/diptych.pc",
            include_str!("../templates/diptych.pc.in"),
        ),
        (
            "cmake/diptych/diptych-config.cmake",
            include_str!("../templates/diptych-config.cmake.in"),
        ),
        (
            "cmake/diptych/diptych-config-version.cmake",
            include_str!("../templates/diptych-config-version.cmake.in"),
        ),
    ] {
        let path = lib.join(file);
        make_parent(&path)?;
        fs::write(&path, fill(template, libdir)).with_context(|| path.display().to_string())?;
    }
    println!("installed diptych {VERSION} in {}", root.display());
    Ok(())
}

fn fill(template: &str, libdir: &Path) -> String {
    let up = vec![".."; libdir.components().count()].join("/");
    template
        .replace("@LIBDIR_UP@", &up)
        .replace("@UP@", &format!("../{up}"))
        .replace("@LIBDIR@", &libdir.display().to_string())
        .replace("@VERSION@", VERSION)
        .replace("@MAJOR@", env!("CARGO_PKG_VERSION_MAJOR"))
        .replace("@MINOR@", env!("CARGO_PKG_VERSION_MINOR"))
        .replace("@SONAME@", SONAME)
        .replace("@POINTER@", &size_of::<usize>().to_string())
        // CMake takes flags in a list too; pkg-config wants them apart by blanks.
        .replace("\"@PRIVATE@\"", &format!("\"{}\"", PRIVATE_LIBS.join(";")))
        .replace("@PRIVATE@", &PRIVATE_LIBS.join(" "))
}

fn make_parent(path: &Path) -> Result<()> {
    let parent = path.parent().context("a file lies in a directory")?;
    fs::create_dir_all(parent).with_context(|| parent.display().to_string())
}

fn put(from: &Path, to: &Path, mode: u32) -> Result<()> {
    make_parent(to)?;
    remove(to)?;
    fs::copy(from, to).with_context(|| format!("{} -> {}", from.display(), to.display()))?;
    fs::set_permissions(to, fs::Permissions::from_mode(mode))?;
    Ok(())
}

fn link(target: &str, to: &Path) -> Result<()> {
    remove(to)?;
    symlink(target, to).with_context(|| to.display().to_string())
}

/// A new file instead of a new content: a program may be running with the old one.
fn remove(path: &Path) -> Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(error.into()),
        _ => Ok(()),
    }
}
