//! The library inside other people's processes: before main, after fork, while a library is loaded, where memory is
//! short, opened and closed as a plugin, beside copies of itself and other Rust libraries.
use crate::command::run;
use crate::ctests::{self, Linkage};
use crate::library::{self, Library};
use crate::{exports, paths};
use anyhow::{Result, ensure};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds and runs the programs of tests/c/embedding.
pub fn all(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    for linkage in [Linkage::Static, Linkage::Shared] {
        let program = ctests::compile(library, linkage, "embedding/process", dir.path(), &[])?;
        run(&mut Command::new(&program))?;
        run(Command::new(program).env_clear())?;
        println!("{linkage:?}: before main, after fork, without an environment");
    }
    loading(library, dir.path())?;
    shortage(library, dir.path())?;
    plugin(library, dir.path())?;
    together(library, dir.path())
}

/// With libraries that have it inside, or are linked with it, and call it in their constructors.
fn loading(library: &Library, dir: &Path) -> Result<()> {
    for file in [&library.archive, &library.shared] {
        let symbols = run(Command::new("readelf").args(["-sW"]).arg(file))?;
        // How the loader is told of a destructor: it waits for the constructors that other threads run.
        ensure!(
            !symbols.contains("__cxa_thread_atexit"),
            "{}: a thread_local! has a destructor",
            file.display()
        );
    }
    let program = dir.join("loading");
    let mut command = ctests::c99(&source("loading.c"), &program);
    run(command.args(["-rdynamic", "-ldl", "-lpthread"]))?;
    for linkage in [Linkage::Static, Linkage::Shared] {
        let flags = ["-shared", "-fPIC"].map(OsString::from);
        let first = ctests::compile(library, linkage, "embedding/constructor", dir, &flags)?;
        let second = first.with_extension("second");
        fs::copy(&first, &second)?;
        run(Command::new(&program).args([first, second]))?;
        println!("{linkage:?}: while a library is loaded");
    }
    Ok(())
}

/// With the library's requests for memory, threads and keys led to the program.
fn shortage(library: &Library, dir: &Path) -> Result<()> {
    let names = [
        "malloc",
        "calloc",
        "realloc",
        "posix_memalign",
        "free",
        "pthread_create",
        "pthread_key_create",
        "pthread_setspecific",
    ];
    let wrap = names.map(|name| OsString::from(format!("-Wl,--wrap={name}")));
    let program = ctests::compile(library, Linkage::Static, "embedding/shortage", dir, &wrap)?;
    print!("memory runs out: {}", run(&mut Command::new(program))?);
    Ok(())
}

fn plugin(library: &Library, dir: &Path) -> Result<()> {
    let program = dir.join("plugin");
    let mut command = ctests::c99(&source("plugin.c"), &program);
    run(command.args(["-ldl", "-lpthread"]))?;
    run(Command::new(program).arg(&library.shared))?;
    println!("opened and closed as a plugin: nothing stays behind");
    Ok(())
}

/// Everything in one program, in both orders of the archives.
fn together(library: &Library, dir: &Path) -> Result<()> {
    let bare = library::build_freestanding()?;
    let archives = [
        library.archive.clone(),
        renamed(&library.archive, "second", dir)?,
        renamed(&bare, "third", dir)?,
        other(dir)?,
    ];
    let program = dir.join("together");
    for reverse in [false, true] {
        let mut command = ctests::c99(&source("together.c"), &program);
        let mut given: Vec<&PathBuf> = archives.iter().collect();
        if reverse {
            given.reverse();
        }
        run(command.args(given).args(library::PRIVATE_LIBS))?;
        run(&mut Command::new(&program))?;
    }
    println!("three copies and another Rust library in one program");
    Ok(())
}

/// A copy whose functions begin with `prefix` instead of `dpt`.
fn renamed(archive: &Path, prefix: &str, dir: &Path) -> Result<PathBuf> {
    let copy = dir.join(format!("lib{prefix}.a"));
    fs::copy(archive, &copy)?;
    let mut command = Command::new("objcopy");
    for name in exports::names()? {
        let rest = name.trim_start_matches("dpt_");
        command.arg(format!("--redefine-sym={name}={prefix}_{rest}"));
    }
    run(command.arg(&copy))?;
    Ok(copy)
}

/// As rustc makes it: std's symbols are global in it.
fn other(dir: &Path) -> Result<PathBuf> {
    let archive = dir.join("libother.a");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| OsString::from("rustc"));
    let mut command = Command::new(rustc);
    command.args(["--edition=2024", "--crate-type=staticlib", "-O"]);
    command.arg(source("other.rs")).arg("-o").arg(&archive);
    run(&mut command)?;
    Ok(archive)
}

fn source(name: &str) -> PathBuf {
    paths::c_tests().join("embedding").join(name)
}
