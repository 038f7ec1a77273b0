//! The C library as its users see it: generated files, symbols, C programs, installation.
//! `xtask` does the work, so that this test and `cargo xtask c` check the same.

use anyhow::{Context, Result, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use xtask::command::{exists, run};
use xtask::ctests::{self, Linkage};
use xtask::library::{self, Library};
use xtask::skip::skip;
use xtask::{abi, freestanding, generate, install, paths, symbols};

/// Built once for all tests.
fn library() -> &'static Library {
    static LIBRARY: OnceLock<Library> = OnceLock::new();
    LIBRARY.get_or_init(|| library::build().expect("the C library builds"))
}

#[test]
fn generated_files_are_fresh() -> Result<()> {
    generate::run(true)
}

#[test]
fn only_the_functions_of_the_header_are_exported() -> Result<()> {
    symbols::check(library())
}

/// The comparisons of `cargo xtask abi` must detect a removed function, a struct that is larger and a changed
/// declaration.
#[test]
fn a_changed_interface_is_seen() -> Result<()> {
    let text = abi::c_interface()?;
    ensure!(text.contains("int32_t max_threads;") && text.contains("DPT_NO_DEVICE = 200"));
    let changed = text.replacen("int32_t max_threads;", "int64_t max_threads;", 1);
    ensure!(abi::differences(&text, &text).is_empty());
    ensure!(abi::differences(&text, &changed).len() == 2);
    ensure!(abi::fingerprint(&text) != abi::fingerprint(&changed));
    if !exists("abidiff") {
        return skip("a changed library", "abidiff is not installed");
    }
    let dir = tempfile::tempdir()?;
    let recorded = std::fs::read_to_string(abi::dump_file())?;
    let symbol = "<elf-symbol name='dpt_clamp_f32'";
    let without: String = recorded
        .lines()
        .filter(|line| !line.contains(symbol))
        .collect::<Vec<_>>()
        .join("\n");
    let wider = recorded.replacen(
        "name='dpt_exec' size-in-bits='512'",
        "name='dpt_exec' size-in-bits='576'",
        1,
    );
    for (name, text) in [("without", without), ("wider", wider)] {
        ensure!(
            text.len() != recorded.len() || text != recorded,
            "{name}: nothing was changed"
        );
        let file = dir.path().join(format!("{name}.abi.xml"));
        std::fs::write(&file, text)?;
        ensure!(
            abi::compare_library(&file, &abi::dump_file()).is_err(),
            "{name}: not seen"
        );
    }
    abi::compare_library(&abi::dump_file(), &abi::dump_file())
}

#[test]
fn the_header_compiles_in_every_language() -> Result<()> {
    ctests::header()
}

#[test]
fn every_function_is_called_from_c() -> Result<()> {
    ctests::coverage(library())
}

#[test]
fn programs_with_the_static_library() -> Result<()> {
    ctests::programs(library(), Linkage::Static)
}

#[test]
fn programs_with_the_shared_library() -> Result<()> {
    ctests::programs(library(), Linkage::Shared)
}

#[test]
fn the_examples_run() -> Result<()> {
    ctests::examples(library())
}

#[test]
fn another_blas_in_the_same_process() -> Result<()> {
    ctests::openblas(library())
}

#[test]
fn programs_under_the_sanitizers() -> Result<()> {
    ctests::sanitized(library())
}

#[test]
fn a_thread_with_little_stack() -> Result<()> {
    ctests::small_stack(library())
}

#[test]
fn a_program_without_libc() -> Result<()> {
    freestanding::linux::check()
}

/// Installs the library in a temporary folder, and returns that folder and the one of the consumer's sources.
fn installed(
    options: impl FnOnce(&Path) -> install::Options,
) -> Result<(tempfile::TempDir, PathBuf)> {
    let dir = tempfile::tempdir()?;
    install::install(library(), None, &options(dir.path()))?;
    Ok((dir, paths::c_tests().join("consumer")))
}

/// `cc consumer.c $(pkg-config --cflags --libs diptych)`, as a user types it, from a moved prefix.
#[test]
fn a_consumer_through_pkg_config() -> Result<()> {
    if !exists("pkg-config") {
        return skip("consumer through pkg-config", "pkg-config is not installed");
    }
    let (dir, source) = installed(|dir| install::Options::new(dir.join("first")))?;
    let prefix = dir.path().join("moved");
    std::fs::rename(dir.path().join("first"), &prefix)?;
    let lib = prefix.join("lib");
    let flags = |extra: &[&str]| -> Result<Vec<String>> {
        let mut command = Command::new("pkg-config");
        command.env("PKG_CONFIG_PATH", lib.join("pkgconfig"));
        let text = run(command
            .args(["--cflags", "--libs"])
            .args(extra)
            .arg("diptych"))?;
        Ok(text.split_whitespace().map(str::to_owned).collect())
    };
    let shared = dir.path().join("shared");
    let mut cc = xtask::command::cc();
    run(cc
        .arg(source.join("consumer.c"))
        .args(flags(&[])?)
        .arg("-o")
        .arg(&shared))?;
    ensure!(run(Command::new(&shared).env("LD_LIBRARY_PATH", &lib))? == "4 5 10 11\n");
    // Without the shared library, the linker takes the static one.
    for name in ["libdiptych.so", library::SONAME] {
        std::fs::remove_file(lib.join(name))?;
    }
    let alone = dir.path().join("alone");
    let mut cc = xtask::command::cc();
    run(cc
        .arg(source.join("consumer.c"))
        .args(flags(&["--static"])?)
        .arg("-o")
        .arg(&alone))?;
    ensure!(run(&mut Command::new(&alone))? == "4 5 10 11\n");
    Ok(())
}

/// find_package(diptych) with the shared and the static target, from a library directory of two
/// levels under a DESTDIR.
#[test]
fn a_consumer_through_cmake() -> Result<()> {
    if !exists("cmake") {
        return skip("consumer through CMake", "cmake is not installed");
    }
    let (dir, source) = installed(|dir| install::Options {
        prefix: "/usr".into(),
        destdir: Some(dir.to_path_buf()),
        libdir: "lib/x86_64-linux-gnu".into(),
    })?;
    let build = dir.path().join("build");
    let mut configure = Command::new("cmake");
    configure.arg("-S").arg(source).arg("-B").arg(&build);
    let config = dir.path().join("usr/lib/x86_64-linux-gnu/cmake/diptych");
    run(configure.arg(format!("-Ddiptych_DIR={}", config.display())))?;
    run(Command::new("cmake").arg("--build").arg(&build))?;
    for program in ["consumer-shared", "consumer-static"] {
        let printed = run(&mut Command::new(build.join(program))).context(program)?;
        ensure!(printed == "4 5 10 11\n", "{program} printed {printed}");
    }
    // Another version is refused, with the version as the reason.
    let version = dir.path().join("version.cmake");
    std::fs::write(&version, "find_package(diptych 0.2 CONFIG REQUIRED)\n")?;
    let mut wrong = Command::new("cmake");
    wrong.arg(format!("-Ddiptych_DIR={}", config.display()));
    let refused = run(wrong.arg("-P").arg(&version))
        .err()
        .context("version 0.2 was found")?;
    ensure!(
        refused.to_string().contains("requested version"),
        "{refused}"
    );
    Ok(())
}
