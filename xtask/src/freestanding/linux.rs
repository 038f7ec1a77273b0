//! The library without std links into a program without libc, and no panic can be reached.
use crate::command::{X86_64_LINUX, program, sh};
use crate::library;
use crate::skip::skip;
use anyhow::{Result, ensure};

/// The functions that a program without libc has to define: rustc calls them for plain copies and comparisons.
const MEMORY: [&str; 5] = ["memcpy", "memmove", "memset", "memcmp", "bcmp"];

/// Builds tests/c/bare without libc, runs it at every level, and looks for panics in it.
pub fn check() -> Result<()> {
    if !X86_64_LINUX {
        let reason = "its start-up code is for x86-64 Linux";
        return skip("freestanding program", reason);
    }
    let archive = library::build_freestanding()?;
    let symbols = sh!("readelf -sW {archive}")?;
    for line in symbols.lines().filter(|line| line.contains(" UND ")) {
        let name = line.split_whitespace().nth(7).unwrap_or_default();
        let is_known = name.is_empty() || MEMORY.contains(&name);
        ensure!(is_known, "the freestanding library needs {name}");
    }
    let dir = tempfile::tempdir()?;
    let (cc, program) = (program("CC", "cc"), dir.path().join("freestanding"));
    sh!("{cc} -std=c99 -O2 -ffreestanding -fno-stack-protector -fno-builtin -nostdlib -static -Wall -Wextra -Werror
         -Wl,--gc-sections -Iinclude tests/c/bare/bare.c {archive} -o {program}")?;
    let printed = sh!("{program}")?;
    println!("freestanding: {}", printed.trim().replace('\n', "; "));
    ensure_no_panic("x86-64", &sh!("readelf -sW {program}")?)?;
    let relocations = sh!("readelf -rW {archive}")?;
    let from = panicking(&relocations).join("\n");
    ensure!(from.is_empty(), "a panic can be reached from:\n{from}");
    println!("freestanding: links without libc, runs, and has no panic in it");
    Ok(())
}

/// Fails where a linked program has a symbol of a panic: the linker has removed all that cannot be reached.
pub fn ensure_no_panic(target: &str, names: &str) -> Result<()> {
    let mut names = names.split(|c: char| !c.is_ascii_graphic());
    let found = names.find(|name| name.contains("panic") || name.contains("begin_unwind"));
    let is_free = found.is_none();
    ensure!(is_free, "{target}: a panic can be reached: {found:?}");
    Ok(())
}

/// The functions that refer to a panic: each has a section of its own, with its own relocations.
fn panicking(relocations: &str) -> Vec<&str> {
    let mut found = Vec::new();
    for section in relocations.split("Relocation section '").skip(1) {
        let (name, relocations) = section.split_once('\'').unwrap_or_default();
        let is_code = name.starts_with(".rela.text") && !name.contains("core9panicking");
        if is_code && relocations.contains("panic") {
            found.push(name);
        }
    }
    found
}
