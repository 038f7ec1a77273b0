//! What the libraries export, need and promise to the loader.
use crate::command::run;
use crate::exports;
use crate::library::{Library, NODE, SONAME};
use anyhow::{Result, ensure};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Fails unless both libraries are as they should be.
pub fn check(library: &Library) -> Result<()> {
    let names = exports::names()?;
    check_shared(&library.shared, &names)?;
    check_archive(&library.archive, &names)?;
    println!(
        "symbols: {} functions exported by both libraries",
        names.len()
    );
    Ok(())
}

fn readelf(flags: &[&str], file: &Path) -> Result<String> {
    run(Command::new("readelf").args(flags).arg(file))
}

/// One symbol of readelf's table.
struct Symbol {
    name: String,
    binding: String,
    visibility: String,
    defined: bool,
}

fn symbols(table: &str) -> Vec<Symbol> {
    let parse = |line: &str| {
        // Num: Value Size Type Bind Vis Ndx Name
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [number, _, _, kind, binding, visibility, section, name, ..] = fields[..] else {
            return None;
        };
        let numbered = number.trim_end_matches(':').parse::<u32>().is_ok();
        let wanted = numbered && !["SECTION", "FILE"].contains(&kind) && binding != "LOCAL";
        wanted.then(|| Symbol {
            name: name.to_owned(),
            binding: binding.to_owned(),
            visibility: visibility.to_owned(),
            defined: !["UND", "ABS"].contains(&section),
        })
    };
    table.lines().filter_map(parse).collect()
}

fn check_shared(file: &Path, names: &BTreeSet<String>) -> Result<()> {
    let table = symbols(&readelf(&["--dyn-syms", "-W"], file)?);
    let exported: BTreeSet<String> = table
        .iter()
        .filter(|s| s.defined)
        .map(|s| s.name.clone())
        .collect();
    let expected: BTreeSet<String> = names.iter().map(|name| format!("{name}@@{NODE}")).collect();
    let wrong: Vec<_> = exported.symmetric_difference(&expected).collect();
    ensure!(
        wrong.is_empty(),
        "{}: exports differ from the header: {wrong:?}",
        file.display()
    );
    // Weak ones are asked for by the start-up objects and by std, and may stay away.
    for symbol in table
        .iter()
        .filter(|symbol| !symbol.defined && symbol.binding == "GLOBAL")
    {
        let system = ["@GLIBC_", "@GCC_"]
            .iter()
            .any(|node| symbol.name.contains(node));
        ensure!(
            system || symbol.name == NODE,
            "{}: needs {}",
            file.display(),
            symbol.name
        );
    }
    let dynamic = readelf(&["-dW"], file)?;
    ensure!(
        dynamic.contains(&format!("[{SONAME}]")),
        "the SONAME is not {SONAME}:\n{dynamic}"
    );
    ensure!(
        dynamic.contains("BIND_NOW"),
        "symbols are not bound at load:\n{dynamic}"
    );
    ensure!(!dynamic.contains("TEXTREL"), "text relocations:\n{dynamic}");
    for needed in dynamic.lines().filter(|line| line.contains("(NEEDED)")) {
        let known = [
            "libc.so",
            "libm.so",
            "libgcc_s.so",
            "ld-linux",
            "libpthread.so",
            "libdl.so",
        ];
        ensure!(
            known.iter().any(|library| needed.contains(library)),
            "unexpected: {needed}"
        );
    }
    let segments = readelf(&["-lW"], file)?;
    ensure!(segments.contains("GNU_RELRO"), "no RELRO:\n{segments}");
    let stack = segments
        .lines()
        .find(|line| line.contains("GNU_STACK"))
        .unwrap_or_default();
    ensure!(
        !stack.is_empty() && !stack.contains("RWE"),
        "the stack is executable: {stack}"
    );
    Ok(())
}

fn check_archive(file: &Path, names: &BTreeSet<String>) -> Result<()> {
    let table = symbols(&readelf(&["-sW"], file)?);
    let global: BTreeSet<String> = table
        .iter()
        .filter(|s| s.defined)
        .map(|s| s.name.clone())
        .collect();
    let wrong: Vec<_> = global.symmetric_difference(names).collect();
    ensure!(
        wrong.is_empty(),
        "{}: globals differ from the header: {wrong:?}",
        file.display()
    );
    let hidden = table
        .iter()
        .find(|symbol| symbol.defined && symbol.visibility != "DEFAULT");
    ensure!(hidden.is_none(), "{}: an export is hidden", file.display());
    let sections = readelf(&["-SW"], file)?;
    let note = sections
        .lines()
        .find(|line| line.contains(".note.GNU-stack"))
        .unwrap_or_default();
    let executable = note
        .split_whitespace()
        .rev()
        .nth(3)
        .is_some_and(|flags| flags.contains('X'));
    ensure!(
        !note.is_empty() && !executable,
        "{}: asks for an executable stack",
        file.display()
    );
    Ok(())
}
