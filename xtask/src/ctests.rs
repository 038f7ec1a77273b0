//! The C and C++ programs of tests/c: built with every warning an error, linked in each way, run at
//! every CPU level of the machine.
use crate::command::{cc, cxx, exists, run, works};
use crate::library::{Library, PRIVATE_LIBS};
use crate::skip::skip;
use crate::{exports, freestanding, paths};
use anyhow::{Context, Result, ensure};
use rayon::prelude::*;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];
/// The C programs that call the library; each is one file and ends with 0 when all is right.
pub const PROGRAMS: [&str; 8] = [
    "values", "strides", "errors", "threads", "shared", "layout", "bits", "cuda",
];
/// Those that ask for nothing that a library without std lacks.
const WITHOUT_STD: [&str; 3] = ["values", "strides", "stack"];

/// How a program is linked with the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Linkage {
    /// With libdiptych.a.
    Static,
    /// With libdiptych.so.
    Shared,
}

/// Runs everything below.
pub fn all(library: &Library) -> Result<()> {
    header()?;
    coverage(library)?;
    programs(library, Linkage::Static)?;
    programs(library, Linkage::Shared)?;
    examples(library)?;
    openblas(library)?;
    sanitized(library)?;
    valgrind(library)?;
    small_stack(library)?;
    freestanding::linux::check()
}

/// The header alone, as each of the languages that it promises.
pub fn header() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let source = dir.path().join("only.c");
    fs::write(
        &source,
        "#include <diptych.h>\nint main(void) { return DPT_OK; }\n",
    )?;
    for standard in ["c99", "c11"] {
        check_syntax(cc().args(["-x", "c"]), standard, &source)?;
    }
    check_syntax(cxx().args(["-x", "c++"]), "c++17", &source)
}

fn check_syntax(compiler: &mut Command, standard: &str, source: &Path) -> Result<()> {
    compiler
        .arg(format!("-std={standard}"))
        .arg("-fsyntax-only")
        .args(WARNINGS);
    run(compiler.arg(include()).arg(source)).map(|_| println!("header: {standard}"))
}

/// The functions that the C programs call are all that there are.
pub fn coverage(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let mut called = BTreeSet::new();
    for name in PROGRAMS {
        let program = compile(library, Linkage::Shared, name, dir.path(), &[])?;
        let table = run(Command::new("readelf")
            .args(["--dyn-syms", "-W"])
            .arg(program))?;
        let words = table
            .split_whitespace()
            .filter_map(|word| word.split('@').next());
        called.extend(
            words
                .filter(|word| word.starts_with("dpt_"))
                .map(str::to_owned),
        );
    }
    let forgotten: Vec<_> = exports::names()?
        .into_iter()
        .filter(|name| !called.contains(name))
        .collect();
    ensure!(forgotten.is_empty(), "no C test calls {forgotten:?}");
    println!("coverage: {} functions called from C", called.len());
    Ok(())
}

/// Every program, at every level of the machine.
pub fn programs(library: &Library, linkage: Linkage) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let levels = levels(library, dir.path())?;
    let mut built = Vec::new();
    for name in PROGRAMS {
        built.push((name, compile(library, linkage, name, dir.path(), &[])?));
    }
    built.push(("header.cpp", compile_cpp(library, linkage, dir.path())?));
    for (name, program) in built {
        for level in &levels {
            run(limited(&program).env("DIPTYCH_CPU_LEVEL", level))?;
        }
        println!("{linkage:?}: {name} at {}", levels.join(", "));
    }
    Ok(())
}

/// The levels of this machine; those that it lacks are named.
fn levels(library: &Library, dir: &Path) -> Result<Vec<String>> {
    let program = compile(library, Linkage::Static, "levels", dir, &[])?;
    let mut available = Vec::new();
    for line in run(&mut Command::new(program))?.lines() {
        match line.split_once(' ').context("a line of tests/c/levels.c")? {
            (level, "yes") => available.push(level.to_owned()),
            (level, _) => skip(
                &format!("C tests at level {level}"),
                "this machine lacks it",
            )?,
        }
    }
    Ok(available)
}

/// The C examples that need no argument: the README's program, and those that lend threads and fail
/// when the bits change. (digits.c is compared with the Rust program in tests/suite/digits.rs.)
pub fn examples(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    for (name, flags) in [
        ("quickstart", &[][..]),
        ("pthreads", &["-pthread"]),
        ("openmp", &["-fopenmp"]),
    ] {
        if name == "openmp" && !has_openmp(dir.path())? {
            skip("examples/c/openmp.c", "the compiler has no OpenMP")?;
            continue;
        }
        let source = paths::root().join(format!("examples/c/{name}.c"));
        let program = dir.path().join(name);
        let mut command = c99(&source, &program);
        link(command.args(flags), library, Linkage::Shared);
        run(&mut command)?;
        run(&mut limited(&program)).map(|_| println!("example {name}: built and run"))?;
    }
    Ok(())
}

fn has_openmp(dir: &Path) -> Result<bool> {
    let probe = dir.join("probe.c");
    let text = "#include <omp.h>\nint main(void) { return omp_get_max_threads() < 1; }\n";
    fs::write(&probe, text)?;
    let mut command = cc();
    command
        .arg("-fopenmp")
        .arg(&probe)
        .arg("-o")
        .arg(dir.join("probe"));
    Ok(works(&mut command) && works(&mut Command::new(dir.join("probe"))))
}

/// Another BLAS in the same process. $DIPTYCH_OPENBLAS may name its shared library.
pub fn openblas(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let Some(flags) = openblas_flags(dir.path())? else {
        return skip(
            "OpenBLAS in the same process",
            "no OpenBLAS; DIPTYCH_OPENBLAS may name one",
        );
    };
    for linkage in [Linkage::Static, Linkage::Shared] {
        let program = compile(library, linkage, "openblas", dir.path(), &flags)?;
        // Its threads would only slow down so small a product.
        run(Command::new(program).env("OPENBLAS_NUM_THREADS", "1"))?;
    }
    println!("OpenBLAS in the same process: results agree");
    Ok(())
}

/// Flags for the first way to name OpenBLAS's function that links: the distributions' name, or that
/// of the wheels with 64-bit integers.
fn openblas_flags(dir: &Path) -> Result<Option<Vec<OsString>>> {
    let probe = dir.join("probe.c");
    fs::write(
        &probe,
        "void CBLAS_SGEMM(void); int main(void) { CBLAS_SGEMM(); return 0; }\n",
    )?;
    let (at, rpath) = match std::env::var_os("DIPTYCH_OPENBLAS").map(PathBuf::from) {
        Some(file) => {
            let folder = file.parent().unwrap_or(Path::new(".")).to_path_buf();
            (file.into_os_string(), Some(folder))
        }
        None => (OsString::from("-lopenblas"), None),
    };
    for (name, integer) in [
        ("cblas_sgemm", "int"),
        ("scipy_cblas_sgemm64_", "int64_t"),
        ("cblas_sgemm64_", "int64_t"),
    ] {
        let mut flags: Vec<OsString> = vec![
            format!("-DCBLAS_SGEMM={name}").into(),
            format!("-DBLAS_INT={integer}").into(),
        ];
        flags.push(at.clone());
        if let Some(folder) = &rpath {
            flags.push(format!("-Wl,-rpath,{}", folder.display()).into());
        }
        if works(
            cc().arg(&probe)
                .arg("-o")
                .arg(dir.join("probe"))
                .args(&flags),
        ) {
            return Ok(Some(flags));
        }
    }
    Ok(None)
}

/// The programs under AddressSanitizer and UBSan; the library itself is not instrumented, but what
/// the programs hand to it and get back is watched.
pub fn sanitized(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let flags = [
        "-g",
        "-fsanitize=address,undefined",
        "-fno-sanitize-recover=all",
    ]
    .map(OsString::from);
    let probe = dir.path().join("probe.c");
    fs::write(&probe, "int main(void) { return 0; }\n")?;
    let built = dir.path().join("probe");
    if !works(cc().arg(&probe).arg("-o").arg(&built).args(&flags))
        || !works(&mut Command::new(&built))
    {
        return skip(
            "C tests under AddressSanitizer",
            "the compiler has no sanitizer runtime",
        );
    }
    PROGRAMS.par_iter().try_for_each(|name| {
        let program = compile(library, Linkage::Static, name, dir.path(), &flags)?;
        run(&mut limited(&program)).map(drop)
    })?;
    println!("sanitizers: {}", PROGRAMS.join(", "));
    Ok(())
}

/// The programs under valgrind, which also watches the library.
pub fn valgrind(library: &Library) -> Result<()> {
    if !exists("valgrind") {
        return skip("C tests under valgrind", "valgrind is not installed");
    }
    let dir = tempfile::tempdir()?;
    PROGRAMS.par_iter().try_for_each(|name| {
        let program = compile(library, Linkage::Static, name, dir.path(), &["-g".into()])?;
        let mut command = limited(Path::new("valgrind"));
        command.args([
            "--quiet",
            "--error-exitcode=9",
            "--leak-check=full",
            "--errors-for-leak-kinds=definite",
        ]);
        run(command.arg(program)).map(drop)
    })?;
    println!("valgrind: {}", PROGRAMS.join(", "));
    Ok(())
}

/// A test that hangs fails after ten minutes, with status 124: on a busy machine valgrind takes some.
fn limited(program: &Path) -> Command {
    let mut command = Command::new("timeout");
    command.arg("600").arg(program);
    command
}

/// A thread with the stack that the header asks for.
pub fn small_stack(library: &Library) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let levels = levels(library, dir.path())?;
    let program = compile(library, Linkage::Static, "stack", dir.path(), &[])?;
    for level in levels {
        print!(
            "{}",
            run(limited(&program).env("DIPTYCH_CPU_LEVEL", level))?
        );
    }
    Ok(())
}

/// Programs for another target, at a level of it, under an emulator.
pub fn foreign(
    library: &Library,
    linkage: Linkage,
    names: &[&str],
    compiler: &str,
    emulator: &[&str],
    level: &str,
) -> Result<()> {
    let dir = tempfile::tempdir()?;
    for name in names {
        let compiler = Command::new(compiler);
        let program = compile_by(compiler, library, linkage, name, dir.path(), &[])?;
        let mut command = limited(Path::new(emulator[0]));
        command.args(&emulator[1..]).arg(program);
        command.env("QEMU_LD_PREFIX", "/usr/aarch64-linux-gnu");
        run(command.env("DIPTYCH_CPU_LEVEL", level))?;
    }
    let names = names.join(", ");
    println!("{compiler}, {linkage:?}, level {level}: {names}");
    Ok(())
}

/// The programs that a library without std can serve.
pub fn without_std(library: &Library, linkage: Linkage, compiler: &str) -> Result<()> {
    let dir = tempfile::tempdir()?;
    for name in WITHOUT_STD {
        let mut cc = Command::new(compiler);
        cc.args((linkage == Linkage::Static).then_some("-static"));
        let program = compile_by(cc, library, linkage, name, dir.path(), &[])?;
        run(&mut limited(&program))?;
    }
    println!("{compiler}, {linkage:?}: {}", WITHOUT_STD.join(", "));
    Ok(())
}

fn include() -> OsString {
    let mut flag = OsString::from("-I");
    flag.push(paths::root().join("include"));
    flag
}

/// The C compiler with a source and the program that it makes.
pub fn c99(source: &Path, program: &Path) -> Command {
    c99_by(cc(), source, program)
}

fn c99_by(mut command: Command, source: &Path, program: &Path) -> Command {
    // Contraction would give the tests' own sums other bits than the library's documented ones.
    command
        .args(["-std=c99", "-O1", "-ffp-contract=off"])
        .args(WARNINGS);
    command.arg(include()).arg(source).arg("-o").arg(program);
    command
}

fn link(command: &mut Command, library: &Library, linkage: Linkage) {
    match linkage {
        Linkage::Static => command.arg(&library.archive),
        Linkage::Shared => command
            .arg(&library.shared)
            .arg(format!("-Wl,-rpath,{}", library.dir.display())),
    };
    command.args(PRIVATE_LIBS);
}

/// Builds a program of tests/c.
pub fn compile(
    library: &Library,
    linkage: Linkage,
    name: &str,
    dir: &Path,
    flags: &[OsString],
) -> Result<PathBuf> {
    compile_by(cc(), library, linkage, name, dir, flags)
}

fn compile_by(
    compiler: Command,
    library: &Library,
    linkage: Linkage,
    name: &str,
    dir: &Path,
    flags: &[OsString],
) -> Result<PathBuf> {
    let program = dir.join(format!("{}-{linkage:?}", name.replace('/', "-")));
    let source = paths::c_tests().join(format!("{name}.c"));
    let mut command = c99_by(compiler, &source, &program);
    link(command.args(flags), library, linkage);
    run(&mut command)?;
    Ok(program)
}

fn compile_cpp(library: &Library, linkage: Linkage, dir: &Path) -> Result<PathBuf> {
    let program = dir.join(format!("header-cpp-{linkage:?}"));
    let mut command = cxx();
    command.arg("-std=c++17").args(WARNINGS).arg(include());
    command
        .arg(paths::c_tests().join("header.cpp"))
        .arg("-o")
        .arg(&program);
    link(&mut command, library, linkage);
    run(&mut command)?;
    Ok(program)
}
