//! The C libraries, made from the static library that cargo builds.
use crate::command::{cargo, cc, run};
use crate::{exports, paths};
use anyhow::{Context, Result};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt::Write;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The version of the library files.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The name that programs ask for at run time; its number changes when old programs would break.
pub const SONAME: &str = "libdiptych.so.0";
/// The version node of the exported symbols.
pub const NODE: &str = "DIPTYCH_0";

/// What a static link needs beside the archive; nothing more than libc on current systems.
pub const PRIVATE_LIBS: [&str; 3] = ["-lpthread", "-ldl", "-lm"];

/// The built libraries.
#[derive(Debug)]
pub struct Library {
    /// The directory of the files, with the versioned links.
    pub dir: PathBuf,
    /// libdiptych.a.
    pub archive: PathBuf,
    /// libdiptych.so.VERSION.
    pub shared: PathBuf,
}

/// The programs that make libraries for a target.
#[derive(Clone, Debug)]
pub struct Tools {
    /// The C compiler, which links the shared library.
    pub cc: OsString,
    /// What the names of ld, objcopy and ar begin with.
    pub prefix: String,
}

impl Tools {
    /// This machine's own.
    pub fn native() -> Tools {
        Tools {
            cc: cc().get_program().into(),
            prefix: String::new(),
        }
    }

    /// GNU's for a target: aarch64-linux-gnu-gcc and its like.
    pub fn prefixed(prefix: &str) -> Tools {
        Tools {
            cc: format!("{prefix}gcc").into(),
            prefix: prefix.into(),
        }
    }

    fn binutil(&self, name: &str) -> Command {
        Command::new(format!("{}{name}", self.prefix))
    }
}

/// Builds both libraries into target/diptych-lib.
pub fn build() -> Result<Library> {
    eprintln!("building libdiptych (some minutes the first time)");
    let _lock = lock("diptych-lib")?;
    let rust = cargo_build(&["--features", "std,gpu"])?;
    make(
        &rust,
        &paths::target().join("diptych-lib"),
        &Tools::native(),
    )
}

/// One build of a kind at a time: tests may build at the same time as a person. Held until it is dropped.
fn lock(name: &str) -> Result<File> {
    fs::create_dir_all(paths::target())?;
    let file = File::create(paths::target().join(format!("{name}.lock")))?;
    file.lock()?;
    Ok(file)
}

/// Makes both libraries from rustc's static one.
pub fn make(rust: &Path, dir: &Path, tools: &Tools) -> Result<Library> {
    fs::create_dir_all(dir)?;
    let names = exports::names()?;
    // Built beside and moved into place: a program may be running with the old one.
    let work = tempfile::tempdir_in(dir)?;
    let shared = format!("libdiptych.so.{VERSION}");
    localise(rust, &names, &work.path().join("libdiptych.a"), tools)?;
    link_shared(rust, &names, work.path(), &shared, tools)?;
    symlink(&shared, work.path().join(SONAME))?;
    symlink(SONAME, work.path().join("libdiptych.so"))?;
    for name in ["libdiptych.a", &shared, SONAME, "libdiptych.so"] {
        fs::rename(work.path().join(name), dir.join(name)).with_context(|| name.to_owned())?;
    }
    Ok(Library {
        archive: dir.join("libdiptych.a"),
        shared: dir.join(shared),
        dir: dir.to_path_buf(),
    })
}

/// Builds the freestanding archive into target/diptych-lib/freestanding.
pub fn build_freestanding() -> Result<PathBuf> {
    let _lock = lock("diptych-freestanding")?;
    let dir = paths::target().join("diptych-lib/freestanding");
    fs::create_dir_all(&dir)?;
    let rust = cargo_build(&[])?;
    let archive = dir.join("libdiptych.a");
    localise(&rust, &exports::names()?, &archive, &Tools::native())?;
    Ok(archive)
}

/// The static library of rustc: everything global, the whole of std inside.
pub fn cargo_build(features: &[&str]) -> Result<PathBuf> {
    // A target directory for each set of features: neither disturbs the other, nor cargo test.
    let kind = if features.is_empty() {
        "freestanding"
    } else {
        "std"
    };
    let target = paths::target().join("diptych-build").join(kind);
    let mut command = cargo();
    command.args([
        "rustc",
        "--quiet",
        "--release",
        "--package",
        "diptych-ffi",
        "--lib",
    ]);
    command
        .args(["--crate-type", "staticlib", "--no-default-features"])
        .args(features);
    run(command.arg("--target-dir").arg(&target))?;
    Ok(target.join("release/libdiptych_ffi.a"))
}

/// One relocatable object of what the exports reach, in which only the exports are global: no clash
/// with another Rust library in the same program.
fn localise(rust: &Path, names: &BTreeSet<String>, archive: &Path, tools: &Tools) -> Result<()> {
    let object = archive.with_file_name("diptych.o");
    let mut link = tools.binutil("ld");
    link.args(["-r", "--gc-sections", "--strip-debug"]);
    // The linker takes one group of each name: ours, of local symbols, would stand for another library's.
    link.arg("--force-group-allocation");
    link.args(names.iter().map(|name| format!("--undefined={name}")));
    run(link.arg(rust).arg("-o").arg(&object))?;
    let mut local = tools.binutil("objcopy");
    local.args(
        names
            .iter()
            .map(|name| format!("--keep-global-symbol={name}")),
    );
    run(local.arg(&object))?;
    if archive.exists() {
        fs::remove_file(archive)?;
    }
    // No plugin: installed LLVM plugins of two versions make ar fail.
    run(tools
        .binutil("ar")
        .args(["--plugin", "", "rcsD"])
        .arg(archive)
        .arg(&object))?;
    fs::remove_file(object)?;
    Ok(())
}

/// Links the shared library with the C compiler: rustc's own version script would be in the way.
fn link_shared(
    rust: &Path,
    names: &BTreeSet<String>,
    dir: &Path,
    file: &str,
    tools: &Tools,
) -> Result<()> {
    let mut script = format!("{NODE} {{\n  global:\n");
    for name in names {
        writeln!(script, "    {name};")?;
    }
    script.push_str("  local:\n    *;\n};\n");
    let map = dir.join("diptych.map");
    fs::write(&map, script)?;
    let mut link = Command::new(&tools.cc);
    link.arg("-shared").arg("-o").arg(dir.join(file));
    link.arg(format!("-Wl,-soname,{SONAME}"));
    link.arg(format!("-Wl,--version-script={}", map.display()));
    link.arg("-Wl,--gc-sections,--strip-debug,--as-needed");
    link.arg("-Wl,-z,defs,-z,relro,-z,now,-z,noexecstack");
    link.args(names.iter().map(|name| format!("-Wl,--undefined={name}")));
    run(link.arg(rust).args(PRIVATE_LIBS))?;
    Ok(())
}
