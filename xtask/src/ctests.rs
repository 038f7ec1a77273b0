//! The C and C++ programs of tests/c: built with every warning an error, linked in each way, run at
//! every CPU level of the machine.
use crate::command::{cmd, exists, program, run, sh, works};
use crate::library::{Library, PRIVATE_LIBS};
use crate::skip::skip;
use crate::{exports, freestanding, paths};
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];
/// The C programs that call the library; each is one file and ends with 0 when all is right.
pub const PROGRAMS: [&str; 9] = [
    "values", "strides", "errors", "threads", "shared", "layout", "bits", "cuda", "tensors",
];

/// How a program is linked with the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// With libdiptych.a.
    Static,
    /// With libdiptych.so.
    Shared,
}

impl Linkage {
    /// Both.
    pub const ALL: [Linkage; 2] = [Linkage::Static, Linkage::Shared];

    fn flags(self, library: &Library) -> Vec<OsString> {
        let mut flags: Vec<OsString> = match self {
            Linkage::Static => vec![library.archive.clone().into()],
            Linkage::Shared => vec![
                library.shared.clone().into(),
                format!("-Wl,-rpath,{}", library.dir.display()).into(),
            ],
        };
        flags.extend(PRIVATE_LIBS.map(OsString::from));
        flags
    }
}

/// Runs everything below.
pub fn all(library: &Library) -> Result<()> {
    header()?;
    coverage(library)?;
    programs(library, Linkage::Static)?;
    programs(library, Linkage::Shared)?;
    dlpack(library)?;
    examples(library)?;
    openblas(library)?;
    sanitized(library)?;
    valgrind(library)?;
    small_stack(library)?;
    freestanding::linux::check()
}

/// Compiles the header alone, as each of the languages that it promises.
pub fn header() -> Result<()> {
    let (c, cxx) = (program("CC", "cc"), program("CXX", "c++"));
    for (compiler, language, standard) in
        [(&c, "c", "c99"), (&c, "c", "c11"), (&cxx, "c++", "c++17")]
    {
        sh!(
            "{compiler} -x {language} -std={standard} {WARNINGS...} -fsyntax-only -Iinclude
             -include diptych.h /dev/null"
        )?;
        println!("header: {standard}");
    }
    Ok(())
}

/// Fails unless the C programs call every function.
pub fn coverage(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let mut forgotten = exports::names()?;
    let count = forgotten.len();
    for name in PROGRAMS {
        let program = compile(library, Linkage::Shared, name, dir.path(), &[])?;
        let table = sh!("readelf --dyn-syms -W {program}")?;
        let words = table.split_whitespace();
        let called: BTreeSet<_> = words.filter_map(|word| word.split('@').next()).collect();
        forgotten.retain(|name| !called.contains(name.as_str()));
    }
    ensure!(forgotten.is_empty(), "no C test calls {forgotten:?}");
    println!("coverage: {count} functions called from C");
    Ok(())
}

/// Runs every program, at every level of the machine.
pub fn programs(library: &Library, linkage: Linkage) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let levels = levels(library, dir.path())?;
    let mut built = Vec::new();
    for name in PROGRAMS {
        built.push((name, compile(library, linkage, name, dir.path(), &[])?));
    }
    let (cxx, cpp) = (program("CXX", "c++"), dir.path().join("header-cpp"));
    let flags = linkage.flags(library);
    sh!("{cxx} -std=c++17 {WARNINGS...} -Iinclude tests/c/header.cpp -o {cpp} {flags...}")?;
    built.push(("header.cpp", cpp));
    for (name, program) in built {
        for level in &levels {
            run(limited(&[], &program).env("DIPTYCH_CPU_LEVEL", level))?;
        }
        println!("{linkage:?}: {name} at {}", levels.join(", "));
    }
    Ok(())
}

/// Passes DLPack's own tensors to the library.
pub fn dlpack(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let probe = "#include <dlpack/dlpack.h>\nint main(void) { return 0; }\n";
    if !can_build(probe, &[] as &[&str], &dir.path().join("probe"))? {
        return skip("tensors of DLPack", "dlpack/dlpack.h is not installed");
    }
    let program = compile(library, Linkage::Shared, "dlpack", dir.path(), &[])?;
    run(&mut limited(&[], &program))?;
    println!("tensors of DLPack: accepted");
    Ok(())
}

/// The levels of this machine. Reports those that it lacks as skipped.
pub(crate) fn levels(library: &Library, dir: &Path) -> Result<Vec<String>> {
    let program = compile(library, Linkage::Static, "levels", dir, &[])?;
    let mut available = Vec::new();
    for line in sh!("{program}")?.lines() {
        match line.split_once(' ').context("a line of tests/c/levels.c")? {
            (level, "yes") => available.push(level.to_owned()),
            (level, _) => {
                let check = format!("C tests at level {level}");
                skip(&check, "this machine lacks it")?;
            }
        }
    }
    Ok(available)
}

/// Runs the C examples that need no argument: the quick start, that over tensors, and those that lend threads and fail
/// when the bits change. (digits.c is compared with the Rust program in xtask/tests/library/digits.rs.)
pub fn examples(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    for name in ["quickstart", "tensors", "pthreads", "openmp"] {
        let probe = "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n";
        let is_openmp = name == "openmp";
        let flag = if is_openmp { "-fopenmp" } else { "-pthread" };
        if is_openmp && !can_run(probe, &[flag])? {
            skip("examples/c/openmp.c", "the compiler has no OpenMP")?;
            continue;
        }
        let source = paths::root().join(format!("examples/c/{name}.c"));
        let program = dir.path().join(name);
        let mut command = c99(&source, &program);
        run(command.arg(flag).args(Linkage::Shared.flags(library)))?;
        run(&mut limited(&[], &program))?;
        println!("example {name}: built and run");
    }
    Ok(())
}

/// Whether the compiler builds a source with these flags.
fn can_build(text: &str, flags: &[impl AsRef<OsStr>], program: &Path) -> Result<bool> {
    let source = program.with_extension("c");
    fs::write(&source, text)?;
    let cc = self::program("CC", "cc");
    Ok(works(&mut cmd!("{cc} {source} -o {program} {flags...}")))
}

/// Whether the compiler builds a source with these flags to a program that succeeds.
fn can_run(text: &str, flags: &[&str]) -> Result<bool> {
    let dir = tempfile::tempdir()?;
    let program = dir.path().join("probe");
    Ok(can_build(text, flags, &program)? && works(&mut cmd!("{program}")))
}

/// Calls another BLAS in the same process. $DIPTYCH_OPENBLAS may name its shared library.
pub fn openblas(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let Some(flags) = openblas_flags(dir.path())? else {
        let reason = "no OpenBLAS; DIPTYCH_OPENBLAS may name one";
        return skip("OpenBLAS in the same process", reason);
    };
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    for linkage in Linkage::ALL {
        let program = compile(library, linkage, "openblas", dir.path(), &flags)?;
        // Its threads would only slow down so small a product.
        run(Command::new(program).env("OPENBLAS_NUM_THREADS", "1"))?;
    }
    println!("OpenBLAS in the same process: results agree");
    Ok(())
}

/// Flags for the first name of OpenBLAS's function that links: the one of the distributions, or one of the wheels
/// with 64-bit integers.
fn openblas_flags(dir: &Path) -> Result<Option<Vec<String>>> {
    let mut libraries = vec!["-lopenblas".to_owned()];
    if let Some(file) = std::env::var_os("DIPTYCH_OPENBLAS") {
        let file = std::path::absolute(file)?;
        let folder = file.parent().unwrap_or(&file).display();
        libraries = vec![file.display().to_string(), format!("-Wl,-rpath,{folder}")];
    }
    let probe = "void CBLAS_SGEMM(void); int main(void) { CBLAS_SGEMM(); return 0; }\n";
    for (name, integer) in [
        ("cblas_sgemm", "int"),
        ("scipy_cblas_sgemm64_", "int64_t"),
        ("cblas_sgemm64_", "int64_t"),
    ] {
        let mut flags = libraries.clone();
        flags.push(format!("-DCBLAS_SGEMM={name}"));
        flags.push(format!("-DBLAS_INT={integer}"));
        if can_build(probe, &flags, &dir.join("probe"))? {
            return Ok(Some(flags));
        }
    }
    Ok(None)
}

/// Runs the programs under AddressSanitizer and UBSan. The library itself is not instrumented, but what
/// the programs hand to it and get back is watched.
pub fn sanitized(library: &Library) -> Result<()> {
    let flags = "-g -fsanitize=address,undefined -fno-sanitize-recover=all";
    let flags: Vec<&str> = flags.split(' ').collect();
    if !can_run("int main(void) { return 0; }\n", &flags)? {
        let reason = "the compiler has no sanitizer runtime";
        return skip("C tests under AddressSanitizer", reason);
    }
    watched(library, "sanitizers", &flags, &[])
}

/// Runs the programs under valgrind, which also watches the library.
pub fn valgrind(library: &Library) -> Result<()> {
    if !exists("valgrind") {
        return skip("C tests under valgrind", "valgrind is not installed");
    }
    let leaks = ["--leak-check=full", "--errors-for-leak-kinds=definite"];
    let runner = [&["valgrind", "--quiet", "--error-exitcode=9"], &leaks[..]].concat();
    watched(library, "valgrind", &["-g"], &runner)
}

/// Builds every program with these flags and runs it, by `runner` if that is not empty.
fn watched(library: &Library, what: &str, flags: &[&str], runner: &[&str]) -> Result<()> {
    let dir = tempfile::tempdir()?;
    PROGRAMS.par_iter().try_for_each(|name| {
        let program = compile(library, Linkage::Static, name, dir.path(), flags)?;
        run(&mut limited(runner, &program)).map(drop)
    })?;
    println!("{what}: {}", PROGRAMS.join(", "));
    Ok(())
}

/// Runs a program, by `runner` if that is not empty, and ends it after ten minutes with status 124. On a busy machine
/// valgrind takes some minutes.
fn limited(runner: &[&str], program: &Path) -> Command {
    cmd!("timeout 600 {runner...} {program}")
}

/// Calls the library on a thread with the stack that the header asks for.
pub fn small_stack(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let program = compile(library, Linkage::Static, "stack", dir.path(), &[])?;
    for level in levels(library, dir.path())? {
        let mut command = limited(&[], &program);
        print!("{}", run(command.env("DIPTYCH_CPU_LEVEL", level))?);
    }
    Ok(())
}

/// Runs programs that another compiler builds, by `runner` if that is not empty, at a level if one is given.
pub fn foreign(
    library: &Library,
    linkage: Linkage,
    names: &[&str],
    (compiler, flags): (&str, &[&str]),
    runner: &[&str],
    level: Option<&str>,
) -> Result<()> {
    let dir = tempfile::tempdir()?;
    for name in names {
        let (source, program) = files(name, linkage, dir.path());
        let mut build = c99_by(compiler.as_ref(), &source, &program);
        run(build.args(flags).args(linkage.flags(library)))?;
        let mut command = limited(runner, &program);
        run(command.envs(level.map(|level| ("DIPTYCH_CPU_LEVEL", level))))?;
    }
    let level = level.map_or(String::new(), |level| format!(", level {level}"));
    println!("{compiler}, {linkage:?}{level}: {}", names.join(", "));
    Ok(())
}

/// The C compiler with the flags of the tests, a source and the program that it makes.
pub fn c99(source: &Path, program: &Path) -> Command {
    c99_by(&self::program("CC", "cc"), source, program)
}

fn c99_by(compiler: &OsStr, source: &Path, program: &Path) -> Command {
    // Contraction would give the tests' own sums other bits than the library's documented ones.
    cmd!("{compiler} -std=c99 -O1 -ffp-contract=off {WARNINGS...} -Iinclude {source} -o {program}")
}

/// The source of a program of tests/c, and the program in a directory.
fn files(name: &str, linkage: Linkage, dir: &Path) -> (PathBuf, PathBuf) {
    let source = paths::c_tests().join(format!("{name}.c"));
    let program = format!("{}-{linkage:?}", name.replace('/', "-"));
    (source, dir.join(program))
}

/// Builds a program of tests/c.
pub fn compile(
    library: &Library,
    linkage: Linkage,
    name: &str,
    dir: &Path,
    flags: &[&str],
) -> Result<PathBuf> {
    let (source, program) = files(name, linkage, dir);
    let mut build = c99(&source, &program);
    run(build.args(flags).args(linkage.flags(library)))?;
    Ok(program)
}
