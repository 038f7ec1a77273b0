//! What programs were compiled against: the C interface, as text and as abidw sees it in the library, and
//! the public interface of the Rust crate. Each is committed; a change must be written down twice, by
//! `cargo xtask abi --bless` and in the changelog, or it fails here.
use crate::command::{cargo, cc, exists, run};
use crate::library::{NODE, PRIVATE_LIBS, SONAME};
use crate::skip::skip;
use crate::{exports, paths};
use anyhow::{Context, Result, bail, ensure};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The headings in CHANGELOG.md under which a changed interface is named by its fingerprint.
const HEADING: &str = "### ABI and numerics";

/// The declarations of the header, one a line.
fn c_text() -> PathBuf {
    paths::root().join("ffi/abi/functions.txt")
}

/// What abidw reads out of the library.
pub fn dump_file() -> PathBuf {
    paths::root().join("ffi/abi/libdiptych.abi.xml")
}

/// What abidw and abidiff do not look at.
fn ignored() -> PathBuf {
    paths::root().join("ffi/abi/ignored.ini")
}

fn rust_text() -> PathBuf {
    paths::root().join("kernels-cpu/public-api.txt")
}

/// Compares the interfaces with what is committed, or with `bless` writes them.
pub fn check(bless: bool) -> Result<()> {
    let (c, rust) = (c_interface()?, rust_interface()?);
    if bless {
        fs::write(c_text(), &c)?;
        fs::write(rust_text(), &rust)?;
    }
    same(&c_text(), &c)?;
    same(&rust_text(), &rust)?;
    check_library(bless)?;
    // The order of declarations is no part of the interface: the fingerprints are those of the records.
    let recorded =
        |file: PathBuf| fs::read_to_string(&file).with_context(|| file.display().to_string());
    check_changelog(&recorded(c_text())?, &recorded(rust_text())?)?;
    println!(
        "abi: {} lines of C and {} of Rust as recorded",
        c.lines().count(),
        rust.lines().count()
    );
    Ok(())
}

fn check_library(bless: bool) -> Result<()> {
    if !exists("abidw") || !exists("abidiff") {
        return skip("ABI of the library", "abidw and abidiff are not installed");
    }
    let dir = tempfile::tempdir()?;
    let library = library(dir.path())?;
    if bless {
        fs::write(dump_file(), dump(&library)?)?;
    }
    compare_library(&dump_file(), &library)
}

/// Fails, with the first lines that differ, unless a file holds this text.
fn same(file: &Path, text: &str) -> Result<()> {
    let recorded = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let differences = differences(&recorded, text);
    ensure!(
        differences.is_empty(),
        "the interface is not as recorded in {}:\n{}\nif that is meant: `cargo xtask abi --bless`, and a line in CHANGELOG.md",
        file.display(),
        differences.join("\n")
    );
    Ok(())
}

/// Lines that are gone and lines that are new.
pub fn differences(recorded: &str, text: &str) -> Vec<String> {
    let missing = |from: &str, other: &str, mark: char| -> Vec<String> {
        let known: Vec<&str> = other.lines().collect();
        let lines = from.lines().filter(|line| !known.contains(line));
        lines.map(|line| format!("{mark} {line}")).collect()
    };
    [missing(recorded, text, '-'), missing(text, recorded, '+')].concat()
}

/// The changelog must name the interface that there is.
fn check_changelog(c: &str, rust: &str) -> Result<()> {
    let changelog = fs::read_to_string(paths::root().join("CHANGELOG.md"))?;
    let parts = changelog.split(HEADING).skip(1);
    let entries: String = parts
        .map(|part| part.split("\n## ").next().unwrap_or_default())
        .collect();
    for (what, text) in [("C", c), ("Rust", rust)] {
        let print = format!("`{}`", fingerprint(text));
        ensure!(
            entries.contains(&print),
            "CHANGELOG.md does not name the {what} interface {print}: say under \"ABI and numerics\" what changed, and end with that name"
        );
    }
    Ok(())
}

/// A short name of a text: FNV-1a, 64 bits.
pub fn fingerprint(text: &str) -> String {
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3);
    format!("{:016x}", text.bytes().fold(0xCBF2_9CE4_8422_2325, step))
}

/// The header without comments, conditions and version, one declaration a line.
pub fn c_interface() -> Result<String> {
    let header = fs::read_to_string(paths::header())?;
    let mut code = String::new();
    let mut rest = header.as_str();
    while let Some((before, comment)) = rest.split_once("/*") {
        code.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    code.push_str(rest);
    let (mut text, mut item, mut depth) = (String::new(), String::new(), 0usize);
    for line in code
        .lines()
        .map(|line| line.split("//").next().unwrap_or_default().trim())
    {
        if let Some(constant) = line.strip_prefix("#define ") {
            let version = ["DIPTYCH_H", "DPT_VERSION"]
                .iter()
                .any(|name| constant.starts_with(name));
            if !version {
                text.push_str(line);
                text.push('\n');
            }
            continue;
        }
        if line.starts_with('#') || line.is_empty() || line.starts_with("extern \"C\"") {
            continue;
        }
        item.push_str(line);
        depth += line.matches('{').count();
        depth = depth.saturating_sub(line.matches('}').count());
        if depth == 0 && line.ends_with(';') {
            text.push_str(&item);
            text.push('\n');
            item.clear();
        } else {
            item.push(' ');
        }
    }
    Ok(text)
}

/// The public items of the crate `diptych`, one a line, as rustdoc lists them.
pub fn rust_interface() -> Result<String> {
    let mut command = cargo();
    command.args([
        "rustdoc",
        "--quiet",
        "--package",
        "diptych",
        "--lib",
        "--all-features",
    ]);
    let target = paths::target().join("public-api");
    command.arg("--target-dir").arg(&target);
    command.args(["--", "-Zunstable-options", "--output-format", "json"]);
    // The format has no stable option yet.
    run(command.env("RUSTC_BOOTSTRAP", "1"))?;
    let api = public_api::Builder::from_rustdoc_json(target.join("doc/diptych.json"))
        .omit_blanket_impls(true)
        .omit_auto_trait_impls(true)
        .omit_auto_derived_impls(true)
        .build()
        .context("the list of public items")?;
    Ok(api.items().map(|item| format!("{item}\n")).collect())
}

/// The shared library, not optimised, with the debug information that tells the types.
pub fn library(dir: &Path) -> Result<PathBuf> {
    let target = paths::target().join("diptych-build/abi");
    let mut command = cargo();
    command.args(["rustc", "--quiet", "--package", "diptych-ffi", "--lib"]);
    command.args([
        "--crate-type",
        "staticlib",
        "--no-default-features",
        "--features",
        "std",
    ]);
    for setting in [
        "opt-level=0",
        "panic=\"abort\"",
        "debug=2",
        "codegen-units=1",
        "package.diptych.opt-level=0",
        // Only the types of the interface.
        "package.\"*\".debug=0",
        "package.diptych.debug=0",
    ] {
        command
            .arg("--config")
            .arg(format!("profile.dev.{setting}"));
    }
    run(command.arg("--target-dir").arg(&target))?;
    let map = dir.join("diptych.map");
    fs::write(&map, format!("{NODE} {{ global: dpt_*; local: *; }};\n"))?;
    let library = dir.join("libdiptych.so");
    let mut link = cc();
    link.arg("-shared").arg("-o").arg(&library);
    link.arg(format!("-Wl,-soname,{SONAME}"));
    link.arg(format!("-Wl,--version-script={}", map.display()));
    link.arg("-Wl,--gc-sections");
    for name in exports::names()? {
        link.arg(format!("-Wl,--undefined={name}"));
    }
    run(link
        .arg(target.join("debug/libdiptych_ffi.a"))
        .args(PRIVATE_LIBS))?;
    Ok(library)
}

/// What abidw says of a library, without the units that say nothing.
fn dump(library: &Path) -> Result<String> {
    let mut command = Command::new("abidw");
    command.args(["--no-corpus-path", "--no-comp-dir-path", "--no-show-locs"]);
    command.arg("--suppressions").arg(ignored());
    let text = run(command.arg(library))?;
    let (mut short, mut lines) = (String::new(), text.lines().peekable());
    while let Some(line) = lines.next() {
        let empty = line.trim_start().starts_with("<abi-instr")
            && lines
                .peek()
                .is_some_and(|next| next.trim() == "</abi-instr>");
        if empty {
            lines.next();
        } else {
            short.push_str(line);
            short.push('\n');
        }
    }
    Ok(short)
}

/// Fails when a library differs from a dump in anything that a program can notice.
pub fn compare_library(recorded: &Path, library: &Path) -> Result<()> {
    let mut command = Command::new("abidiff");
    command
        .arg("--harmless")
        .arg("--suppressions")
        .arg(ignored());
    command.arg(recorded).arg(library);
    let output = command.output().context("abidiff")?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout);
        bail!(
            "the library is not as recorded in {}:\n{text}\nif that is meant: `cargo xtask abi --bless`, and a line in CHANGELOG.md",
            recorded.display()
        );
    }
    Ok(())
}
