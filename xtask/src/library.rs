//! The C libraries, made from the static library that cargo builds.
use crate::command::{cargo_path, cmd, program, run, sh};
use crate::{exports, paths};
use anyhow::Result;
use fs_err as fs;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

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
    /// The prefix of the names of ld, objcopy and ar, such as `aarch64-linux-gnu-`.
    pub prefix: &'static str,
}

impl Tools {
    /// This machine's own.
    pub fn native() -> Tools {
        let cc = program("CC", "cc");
        Tools { cc, prefix: "" }
    }
}

/// Builds both libraries into target/diptych-lib.
pub fn build() -> Result<Library> {
    eprintln!("building libdiptych (some minutes the first time)");
    let _lock = lock("diptych-lib")?;
    let rust = cargo_build("std", &["--features", "std,cubin"])?;
    let dir = paths::target().join("diptych-lib");
    make(&rust, &dir, &Tools::native())
}

/// Allows one build of a kind at a time, until the file is dropped: tests may build while a person does.
pub(crate) fn lock(name: &str) -> Result<File> {
    fs::create_dir_all(paths::target())?;
    let file = File::create(paths::target().join(format!("{name}.lock")))?;
    file.lock()?;
    Ok(file)
}

/// Makes both libraries from rustc's static one.
pub fn make(rust: &Path, dir: &Path, tools: &Tools) -> Result<Library> {
    fs::create_dir_all(dir)?;
    // Built in a directory of their own and moved into place: a program may be running with the old ones.
    let work = tempfile::tempdir_in(dir)?;
    let shared = format!("libdiptych.so.{VERSION}");
    localise(rust, &work.path().join("libdiptych.a"), tools)?;
    link_shared(rust, &work.path().join(&shared), &tools.cc)?;
    symlink(&shared, work.path().join(SONAME))?;
    symlink(SONAME, work.path().join("libdiptych.so"))?;
    for name in ["libdiptych.a", &shared, SONAME, "libdiptych.so"] {
        fs::rename(work.path().join(name), dir.join(name))?;
    }
    let (archive, shared) = (dir.join("libdiptych.a"), dir.join(shared));
    let dir = dir.to_path_buf();
    Ok(Library {
        dir,
        archive,
        shared,
    })
}

/// Builds the freestanding archive into target/diptych-lib/freestanding.
pub fn build_freestanding() -> Result<PathBuf> {
    let _lock = lock("diptych-freestanding")?;
    let dir = paths::target().join("diptych-lib/freestanding");
    let archive = dir.join("libdiptych.a");
    fs::create_dir_all(&dir)?;
    let rust = cargo_build("freestanding", &[])?;
    localise(&rust, &archive, &Tools::native())?;
    Ok(archive)
}

/// The feature with which the kernels are optimised by themselves before the whole library is: compiled with their callers,
/// three of them take 5 to 7 % more instructions.
pub const PRECOMPILED: &str = "diptych/precompiled";

/// Builds rustc's static library, in which everything is global and all of std included. Each set of features has a
/// target directory with a name, so that none evicts another or what `cargo test` built.
pub fn cargo_build(name: &str, features: &[&str]) -> Result<PathBuf> {
    let cargo = cargo_path();
    let target = paths::target().join("diptych-build").join(name);
    let mut build = cmd!(
        "{cargo} rustc --quiet --profile dist --package diptych-ffi --lib --crate-type staticlib
         --no-default-features --features {PRECOMPILED} {features...} --target-dir {target}"
    );
    run(build.env("RUSTFLAGS", rust_flags()))?;
    Ok(target.join("dist/libdiptych_ffi.a"))
}

/// The flags of all crates of the libraries: symbols with types, so that a profiler tells the kernels of f32 and f64 apart.
pub fn rust_flags() -> String {
    let own = env::var("RUSTFLAGS").unwrap_or_default();
    own + " -Csymbol-mangling-version=v0"
}

/// `prefix` before the name of each exported function: an option of the linker or of objcopy for each.
pub fn each_export(prefix: &str) -> Result<Vec<String>> {
    let names = exports::names()?;
    Ok(names.iter().map(|name| format!("{prefix}{name}")).collect())
}

/// Makes an archive of one relocatable object that has what the exports reach, with only the exports global: it does
/// not clash with another Rust library in the same program.
fn localise(rust: &Path, archive: &Path, tools: &Tools) -> Result<()> {
    let (prefix, object) = (tools.prefix, archive.with_file_name("diptych.o"));
    let roots = each_export("--undefined=")?;
    let keep = each_export("--keep-global-symbol=")?;
    // The linker keeps one section group of each name. Without --force-group-allocation it could keep ours, whose
    // symbols are local, in place of another library's.
    sh!(
        "{prefix}ld -r --gc-sections --strip-debug --force-group-allocation {roots...} {rust} -o {object}"
    )?;
    sh!("{prefix}objcopy {keep...} {object}")?;
    if archive.exists() {
        fs::remove_file(archive)?;
    }
    // No plugin: installed LLVM plugins of two versions make ar fail.
    sh!("{prefix}ar --plugin '' rcsD {archive} {object}")?;
    Ok(fs::remove_file(object)?)
}

/// Links a shared library that exports the functions of the C ABI. The C compiler links, since rustc would add a
/// version script of its own.
pub fn link_shared(rust: &Path, shared: &Path, cc: &OsStr) -> Result<()> {
    let map = shared.with_file_name("diptych.map");
    let roots = each_export("-Wl,--undefined=")?;
    let names: String = exports::names()?
        .iter()
        .map(|name| format!("{name}; "))
        .collect();
    fs::write(&map, format!("{NODE} {{ global: {names}local: *; }};\n"))?;
    sh!(
        "{cc} -shared -o {shared} -Wl,-soname,{SONAME} -Wl,--version-script={map}
         -Wl,--gc-sections,--strip-debug,--as-needed -Wl,-z,defs,-z,relro,-z,now,-z,noexecstack
         {roots...} {rust} {PRIVATE_LIBS...}"
    )?;
    Ok(())
}
