//! Netlib's testers of BLAS and CBLAS, from Debian's packages. The routines that the library does not have come from
//! the reference BLAS in these packages.
use super::{NAME, routines};
use crate::command::{X86_64_LINUX, cc, cmd, output, run};
use crate::skip::skip;
use crate::targets::debian;
use anyhow::{Context, Result, ensure};
use fs_err as fs;
use fs_err::File;
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// Runs the testers with 32-bit and with 64-bit integers.
pub fn testers(blas: &Path) -> Result<()> {
    let check = format!("Netlib's testers of {NAME}");
    if !X86_64_LINUX {
        return skip(&check, "set up for x86-64 Linux");
    }
    let root = match debian::blas_testers() {
        Ok(root) => root,
        Err(error) => {
            let line = format!("{error:#}");
            let reason = line.lines().next().unwrap_or_default();
            return skip(
                &check,
                &format!("Debian's packages cannot be had: {reason}"),
            );
        }
    };
    let libraries = root.join("usr/lib/x86_64-linux-gnu");
    let dir = tempfile::tempdir()?;
    let wide = with_plain_names(dir.path())?;
    let preloads = [
        ("blas", blas.display().to_string()),
        ("blas64", format!("{}:{}", wide.display(), blas.display())),
    ];
    for (folder, preload) in &preloads {
        for letter in ['s', 'd'] {
            for level in 1..=3 {
                fortran(&libraries, folder, preload, letter, level, dir.path())?;
                cblas(&libraries, folder, preload, letter, level, dir.path())?;
            }
        }
    }
    println!(
        "Netlib's testers: levels 1, 2 and 3 of BLAS and CBLAS, with 32-bit and 64-bit integers"
    );
    Ok(())
}

/// Debian's testers with 64-bit integers call the plain names: makes a library in which these jump to ours.
fn with_plain_names(dir: &Path) -> Result<PathBuf> {
    let mut text = String::from(".text\n");
    for name in routines() {
        let plain = [format!("{name}_"), format!("cblas_{name}")];
        let wide = [format!("{name}_64_"), format!("cblas_{name}64_")];
        for (plain, wide) in plain.iter().zip(&wide) {
            writeln!(text, ".globl {plain}\n{plain}: jmp *{wide}@GOTPCREL(%rip)")?;
        }
    }
    text.push_str(".section .note.GNU-stack,\"\",@progbits\n");
    let (source, library) = (dir.join("plain.s"), dir.join("plain.so"));
    fs::write(&source, text)?;
    let mut build = cc();
    build.args(["-shared", "-o"]).arg(&library).arg(&source);
    run(&mut build)?;
    Ok(library)
}

fn fortran(
    libraries: &Path,
    folder: &str,
    preload: &str,
    letter: char,
    level: u32,
    dir: &Path,
) -> Result<()> {
    let input = (level > 1).then(|| format!("{letter}blat{level}.in"));
    let name = format!("xblat{level}{letter}");
    let mut text = tester(libraries, folder, &name, input, preload, dir)?;
    let summary = dir.join(format!("{letter}blat{level}.out"));
    if level > 1 {
        text = fs::read_to_string(&summary).context(text)?;
        fs::remove_file(summary)?;
    }
    judge(&format!("{folder}/{name}"), &text, level, 1, |routine| {
        format!("{letter}{routine}").to_uppercase()
    })
}

fn cblas(
    libraries: &Path,
    folder: &str,
    preload: &str,
    letter: char,
    level: u32,
    dir: &Path,
) -> Result<()> {
    let input = (level > 1).then(|| format!("{letter}in{level}"));
    let name = format!("x{letter}cblat{level}");
    let text = tester(libraries, folder, &name, input, preload, dir)?;
    // Row-major and column-major.
    judge(&format!("{folder}/{name}"), &text, level, 2, |routine| {
        format!("cblas_{letter}{routine}")
    })
}

/// Runs a tester, and returns what it prints. Its status says nothing.
fn tester(
    libraries: &Path,
    folder: &str,
    name: &str,
    input: Option<String>,
    preload: &str,
    dir: &Path,
) -> Result<String> {
    let programs = libraries.join(folder);
    let program = programs.join(name);
    let mut command = cmd!("timeout 300 {program}");
    let paths = format!("{}:{}", programs.display(), libraries.display());
    command
        .env("LD_LIBRARY_PATH", paths)
        .env("LD_PRELOAD", preload)
        .current_dir(dir);
    if let Some(input) = input {
        command.stdin(File::open(programs.join(input))?.into_parts().0);
    }
    let output = output(&mut command)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    Ok(format!(
        "{}{errors}",
        String::from_utf8_lossy(&output.stdout)
    ))
}

/// Fails unless every routine has passed: its computations as often as there are layouts, and its error exits.
fn judge(
    tester: &str,
    text: &str,
    level: u32,
    layouts: usize,
    name: impl Fn(&str) -> String,
) -> Result<()> {
    let bad = text
        .lines()
        .find(|line| line.contains("FAIL") || line.contains("***"));
    ensure!(bad.is_none(), "{tester}: {}\n{text}", bad.unwrap_or(""));
    if level == 1 {
        let passed = text.matches("- PASS -").count();
        ensure!(passed >= 10, "{tester}: {passed} routines passed\n{text}");
        return Ok(());
    }
    let routines = if level == 2 {
        ["gemv", "ger"]
    } else {
        ["gemm", "syrk"]
    };
    for routine in routines {
        let name = name(routine);
        let passed = |what: &str| {
            let lines = text.lines().filter(|line| {
                line.split_whitespace().next() == Some(&name) && line.contains(what)
            });
            lines.filter(|line| line.contains("PASSED")).count()
        };
        let right = passed("COMPUTATIONAL TESTS") == layouts && passed("ERROR-EXITS") == 1;
        ensure!(
            right,
            "{tester}: {name} has not passed all of its tests\n{text}"
        );
    }
    Ok(())
}
