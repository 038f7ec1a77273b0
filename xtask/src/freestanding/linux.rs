//! The library without std links into a program without libc, and no panic can be reached.
use crate::command::{cc, run};
use crate::{library, paths};
use anyhow::{Result, ensure};
use std::process::Command;

/// What a program without libc has to give: rustc calls these for plain copies and comparisons.
const MEMORY: [&str; 5] = ["memcpy", "memmove", "memset", "memcmp", "bcmp"];

/// Builds tests/c/bare without libc, runs it at every level, and looks for panics in it.
pub fn check() -> Result<()> {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        return crate::skip::skip(
            "freestanding program",
            "its start-up code is for x86-64 Linux",
        );
    }
    let archive = library::build_freestanding()?;
    let needed = run(Command::new("readelf").args(["-sW"]).arg(&archive))?;
    for line in needed.lines().filter(|line| line.contains(" UND ")) {
        let name = line.split_whitespace().nth(7).unwrap_or_default();
        ensure!(
            name.is_empty() || MEMORY.contains(&name),
            "the freestanding library needs {name}"
        );
    }
    let dir = tempfile::tempdir()?;
    let program = dir.path().join("freestanding");
    let mut command = cc();
    let hosted_off = "-std=c99 -O2 -ffreestanding -fno-stack-protector -fno-builtin";
    command.args(hosted_off.split(' '));
    command.args("-nostdlib -static -Wall -Wextra -Werror -Wl,--gc-sections".split(' '));
    command.arg("-I").arg(paths::root().join("include"));
    command
        .arg(paths::c_tests().join("bare/bare.c"))
        .arg(&archive)
        .arg("-o")
        .arg(&program);
    run(&mut command)?;
    let printed = run(&mut Command::new(&program))?;
    let lines: Vec<&str> = printed.lines().collect();
    println!("freestanding: {}", lines.join("; "));
    let symbols = run(Command::new("readelf").args(["-sW"]).arg(&program))?;
    ensure_no_panic("x86-64", &symbols)?;
    let relocations = run(Command::new("readelf").args(["-rW"]).arg(&archive))?;
    let panicking = panicking(&relocations);
    ensure!(
        panicking.is_empty(),
        "a panic can be reached from:\n{}",
        panicking.join("\n")
    );
    println!("freestanding: links without libc, runs, and has no panic in it");
    Ok(())
}

/// Fails where the names in a linked program tell of a panic: the linker has left out what nothing reaches.
pub fn ensure_no_panic(target: &str, names: &str) -> Result<()> {
    let panics = ["panic", "begin_unwind"];
    let found = names
        .split(|c: char| !c.is_ascii_graphic())
        .find(|name| panics.iter().any(|panic| name.contains(panic)));
    ensure!(
        found.is_none(),
        "{target}: a panic can be reached: {found:?}"
    );
    Ok(())
}

/// The functions that refer to a panic: each has a section of its own, with its own relocations.
fn panicking(relocations: &str) -> Vec<&str> {
    let (mut section, mut found) = ("", Vec::new());
    for line in relocations.lines() {
        if let Some(rest) = line.strip_prefix("Relocation section '") {
            section = rest.split('\'').next().unwrap_or_default();
        } else if line.contains("panic")
            && section.starts_with(".rela.text")
            && !section.contains("core9panicking")
        {
            found.push(section);
        }
    }
    found.dedup();
    found
}
