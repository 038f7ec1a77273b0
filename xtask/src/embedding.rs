//! The library inside other people's processes: before main, after fork, while a library is loaded, where memory is
//! short, opened and closed as a plugin, beside copies of itself and other Rust libraries.
use crate::command::{program, run, sh};
use crate::ctests::{self, Linkage};
use crate::library::{self, Library};
use crate::{exports, paths};
use anyhow::{Result, ensure};
use fs_err as fs;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builds and runs the programs of tests/c/embedding.
pub fn all(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    for linkage in Linkage::ALL {
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

/// Loads libraries that contain the library or are linked with it, and call it in their constructors.
fn loading(library: &Library, dir: &Path) -> Result<()> {
    for file in [&library.archive, &library.shared] {
        let symbols = sh!("readelf -sW {file}")?;
        // A thread-local destructor registers itself through this function, which waits for the constructors that
        // other threads run.
        let registers = symbols.contains("__cxa_thread_atexit");
        ensure!(!registers, "{file:?}: a thread_local! has a destructor");
    }
    let program = build(dir, "loading", &["-rdynamic", "-ldl", "-lpthread"])?;
    for linkage in Linkage::ALL {
        let flags = ["-shared", "-fPIC"];
        let first = ctests::compile(library, linkage, "embedding/constructor", dir, &flags)?;
        let second = first.with_extension("second");
        fs::copy(&first, &second)?;
        run(Command::new(&program).args([first, second]))?;
        println!("{linkage:?}: while a library is loaded");
    }
    Ok(())
}

/// Redirects the library's requests for memory, threads and keys to the program, which refuses them in turn.
fn shortage(library: &Library, dir: &Path) -> Result<()> {
    let wrap = "-Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=posix_memalign,--wrap=free,\
                --wrap=pthread_create,--wrap=pthread_key_create,--wrap=pthread_setspecific";
    let program = ctests::compile(library, Linkage::Static, "embedding/shortage", dir, &[wrap])?;
    print!("memory runs out: {}", run(&mut Command::new(program))?);
    Ok(())
}

fn plugin(library: &Library, dir: &Path) -> Result<()> {
    let program = build(dir, "plugin", &["-ldl", "-lpthread"])?;
    run(Command::new(program).arg(&library.shared))?;
    println!("opened and closed as a plugin: nothing stays behind");
    Ok(())
}

/// Links three copies and another Rust library into one program, in both orders of the archives.
fn together(library: &Library, dir: &Path) -> Result<()> {
    let bare = library::build_freestanding()?;
    let second = renamed(&library.archive, "second", dir)?;
    let third = renamed(&bare, "third", dir)?;
    // As rustc makes it: std's symbols are global in it.
    let (rustc, other) = (program("RUSTC", "rustc"), dir.join("libother.a"));
    sh!("{rustc} --edition=2024 --crate-type=staticlib -O tests/c/embedding/other.rs -o {other}")?;
    let mut archives = [&library.archive, &second, &third, &other];
    for _ in 0..2 {
        let mut flags: Vec<_> = archives.iter().map(|path| path.as_os_str()).collect();
        flags.extend(library::PRIVATE_LIBS.map(OsStr::new));
        run(&mut Command::new(build(dir, "together", &flags)?))?;
        archives.reverse();
    }
    println!("three copies and another Rust library in one program");
    Ok(())
}

/// A copy whose functions begin with `prefix` instead of `dpt`.
fn renamed(archive: &Path, prefix: &str, dir: &Path) -> Result<PathBuf> {
    let copy = dir.join(format!("lib{prefix}.a"));
    let rename = |name: String| format!("--redefine-sym={name}={prefix}{}", &name["dpt".len()..]);
    let renames = exports::names()?.into_iter().map(rename);
    sh!("objcopy {renames...} {archive} {copy}")?;
    Ok(copy)
}

/// Builds a program of the folder that is not linked with the library itself.
fn build(dir: &Path, name: &str, flags: &[impl AsRef<OsStr>]) -> Result<PathBuf> {
    let (source, program) = (
        paths::c_tests().join(format!("embedding/{name}.c")),
        dir.join(name),
    );
    run(ctests::c99(&source, &program).args(flags))?;
    Ok(program)
}
