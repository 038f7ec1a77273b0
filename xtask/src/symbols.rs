//! What the libraries export, need and promise to the loader.
use crate::command::sh;
use crate::exports;
use crate::library::{Library, NODE, SONAME};
use anyhow::{Result, ensure};
use std::collections::BTreeSet;
use std::path::Path;

/// Fails unless both libraries are as they should be.
pub fn check(library: &Library) -> Result<()> {
    let names = exports::names()?;
    check_shared(&library.shared, &names)?;
    check_archive(&library.archive, &names)?;
    let count = names.len();
    println!("symbols: {count} functions exported by both libraries");
    Ok(())
}

/// A symbol of readelf's table that is not local.
struct Symbol {
    name: String,
    is_weak: bool,
    is_hidden: bool,
    is_defined: bool,
}

fn symbols(table: &str) -> Vec<Symbol> {
    let parse = |line: &str| {
        // Num: Value Size Type Bind Vis Ndx Name
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [number, _, _, kind, binding, visibility, section, name, ..] = fields[..] else {
            return None;
        };
        let is_row = number.trim_end_matches(':').parse::<u32>().is_ok();
        let is_wanted = is_row && !["SECTION", "FILE"].contains(&kind) && binding != "LOCAL";
        is_wanted.then(|| Symbol {
            name: name.to_owned(),
            is_weak: binding != "GLOBAL",
            is_hidden: visibility != "DEFAULT",
            is_defined: !["UND", "ABS"].contains(&section),
        })
    };
    table.lines().filter_map(parse).collect()
}

/// Fails unless the defined symbols are the expected ones.
fn check_defined(file: &Path, table: &[Symbol], expected: &BTreeSet<String>) -> Result<()> {
    let defined = table.iter().filter(|symbol| symbol.is_defined);
    let defined: BTreeSet<String> = defined.map(|symbol| symbol.name.clone()).collect();
    let wrong: Vec<_> = defined.symmetric_difference(expected).collect();
    let is_same = wrong.is_empty();
    ensure!(is_same, "{file:?}: not the header's exports: {wrong:?}");
    Ok(())
}

fn check_shared(file: &Path, names: &BTreeSet<String>) -> Result<()> {
    let table = symbols(&sh!("readelf --dyn-syms -W {file}")?);
    let expected = names.iter().map(|name| format!("{name}@@{NODE}"));
    check_defined(file, &table, &expected.collect())?;
    // The start-up objects and std refer weakly to functions that may be absent.
    let is_needed = |symbol: &&Symbol| !symbol.is_defined && !symbol.is_weak;
    for Symbol { name, .. } in table.iter().filter(is_needed) {
        let is_system = name.contains("@GLIBC_") || name.contains("@GCC_");
        ensure!(is_system || name == NODE, "{file:?}: needs {name}");
    }
    let headers = sh!("readelf -dlW {file}")?;
    // Symbols bound at load, a table of them that is read-only then, and a stack that is not executable.
    let soname = format!("[{SONAME}]");
    for promise in [&soname, "BIND_NOW", "GNU_RELRO", "GNU_STACK"] {
        ensure!(
            headers.contains(promise),
            "{file:?}: no {promise}:\n{headers}"
        );
    }
    let text_relocations = headers.contains("TEXTREL");
    ensure!(!text_relocations, "{file:?}: text relocations:\n{headers}");
    let known = "libc.so libm.so libgcc_s.so ld-linux libpthread.so libdl.so";
    for line in headers.lines() {
        let executable = line.contains("GNU_STACK") && line.contains("RWE");
        ensure!(!executable, "{file:?}: the stack is executable: {line}");
        let is_known = known.split(' ').any(|library| line.contains(library));
        let unexpected = line.contains("(NEEDED)") && !is_known;
        ensure!(!unexpected, "{file:?}: unexpected: {line}");
    }
    Ok(())
}

fn check_archive(file: &Path, names: &BTreeSet<String>) -> Result<()> {
    let table = symbols(&sh!("readelf -sW {file}")?);
    check_defined(file, &table, names)?;
    let is_hidden = |symbol: &Symbol| symbol.is_defined && symbol.is_hidden;
    ensure!(
        !table.iter().any(is_hidden),
        "{file:?}: an export is hidden"
    );
    let sections = sh!("readelf -SW {file}")?;
    let mut lines = sections.lines();
    let note = lines.find(|line| line.contains(".note.GNU-stack"));
    // The last columns are the flags, if there are any, then Lk, Inf and Al.
    let flags = note.and_then(|line| line.split_whitespace().rev().nth(3));
    let is_executable = flags.is_none_or(|flags| flags.contains('X'));
    ensure!(!is_executable, "{file:?}: asks for an executable stack");
    Ok(())
}
