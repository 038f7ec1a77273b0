//! Installing the library as C libraries are installed.
use crate::command::sh;
use crate::library::{Library, PRIVATE_LIBS, SONAME, VERSION};
use crate::paths;
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use std::path::{Component, Path, PathBuf};

/// The installed files that are made from xtask/templates, relative to the directory of the libraries.
const TEMPLATES: [&str; 3] = [
    "pkgconfig/diptych.pc",
    "cmake/diptych/diptych-config.cmake",
    "cmake/diptych/diptych-config-version.cmake",
];

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
        let (prefix, libdir) = (prefix.into(), "lib".into());
        Options {
            prefix,
            destdir: None,
            libdir,
        }
    }
}

/// Installs the libraries, `libdiptych_blas.so` if it is given, the header, diptych.pc and the CMake configuration. The last two find
/// the rest relative to themselves, so the installed tree can be moved.
pub fn install(library: &Library, blas: Option<&Path>, options: &Options) -> Result<()> {
    let mut parts = options.libdir.components();
    let plain = parts.all(|part| matches!(part, Component::Normal(_)));
    ensure!(plain, "--libdir is a path below the prefix, such as lib64");
    let mut root = std::path::absolute(&options.prefix)?;
    if let Some(dir) = &options.destdir {
        root =
            std::path::absolute(dir)?.join(root.strip_prefix("/").context("--prefix is absolute")?);
    }
    let lib = root.join(&options.libdir);
    let version = format!("libdiptych.so.{VERSION}");
    for (from, mode, to) in [
        (&library.archive, "644", lib.join("libdiptych.a")),
        (&library.shared, "755", lib.join(&version)),
        (&paths::header(), "644", root.join("include/diptych.h")),
    ] {
        sh!("install -D -m {mode} {from} {to}")?;
    }
    if let Some(blas) = blas {
        let to = lib.join(crate::blas::NAME);
        sh!("install -D -m 755 {blas} {to}")?;
    }
    let (soname, plain) = (lib.join(SONAME), lib.join("libdiptych.so"));
    sh!("ln -sfn {version} {soname}")?;
    sh!("ln -sfn {SONAME} {plain}")?;
    for file in TEMPLATES {
        let (folder, name) = file.rsplit_once('/').context("a file in a folder")?;
        let template = paths::root().join(format!("xtask/templates/{name}.in"));
        fs::create_dir_all(lib.join(folder))?;
        let text = fill(&fs::read_to_string(template)?, &options.libdir);
        fs::write(lib.join(file), text)?;
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
        // CMake separates flags by semicolons, pkg-config by blanks.
        .replace("\"@PRIVATE@\"", &format!("\"{}\"", PRIVATE_LIBS.join(";")))
        .replace("@PRIVATE@", &PRIVATE_LIBS.join(" "))
}
