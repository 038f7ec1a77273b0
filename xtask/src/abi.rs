//! The recorded interfaces: the C interface as text and as abidw sees it in the library, and the public items of the
//! Rust crate. A change fails unless it is recorded twice: by `cargo xtask abi --bless` and in the changelog.
use crate::command::{cargo_path, cmd, exists, output, program, run, sh};
use crate::library::{NODE, PRIVATE_LIBS, SONAME, each_export};
use crate::paths;
use crate::skip::skip;
use anyhow::{Context, Result, bail, ensure};
use fs_err as fs;
use std::path::{Path, PathBuf};

/// The headings in CHANGELOG.md under which a changed interface is named by its fingerprint.
const HEADING: &str = "### ABI and numerics";
const IF_MEANT: &str = "if that is meant: `cargo xtask abi --bless`, and a line in CHANGELOG.md";

/// The recorded output of abidw.
pub fn dump_file() -> PathBuf {
    paths::root().join("ffi/abi/libdiptych.abi.xml")
}

/// Compares the interfaces with what is recorded, or with `bless` records them.
pub fn check(bless: bool) -> Result<()> {
    let (c, rust) = (c_interface()?, rust_interface()?);
    let files = ["ffi/abi/functions.txt", "kernels-cpu/public-api.txt"];
    for (text, file) in [&c, &rust].into_iter().zip(files) {
        let file = paths::root().join(file);
        if bless {
            fs::write(&file, text)?;
        }
        same(&file, text)?;
    }
    check_library(bless)?;
    // Of the records, for the check of these does not look at the order of declarations.
    let [recorded_c, recorded_rust] =
        files.map(|file| fs::read_to_string(paths::root().join(file)));
    check_changelog(&recorded_c?, &recorded_rust?)?;
    let (c, rust) = (c.lines().count(), rust.lines().count());
    println!("abi: {c} lines of C and {rust} of Rust as recorded");
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

/// Fails, with the lines that differ, unless a file holds this text.
fn same(file: &Path, text: &str) -> Result<()> {
    let found = differences(&fs::read_to_string(file)?, text).join("\n");
    let is_same = found.is_empty();
    ensure!(is_same, "not as recorded in {file:?}:\n{found}\n{IF_MEANT}");
    Ok(())
}

/// The lines of one text that the other lacks, marked `-` and `+`.
pub fn differences(recorded: &str, text: &str) -> Vec<String> {
    let missing = |from: &str, other: &str, mark: char| -> Vec<String> {
        let known: Vec<&str> = other.lines().collect();
        let lines = from.lines().filter(|line| !known.contains(line));
        lines.map(|line| format!("{mark} {line}")).collect()
    };
    [missing(recorded, text, '-'), missing(text, recorded, '+')].concat()
}

/// Fails unless the changelog has the hashes of the present interfaces.
fn check_changelog(c: &str, rust: &str) -> Result<()> {
    let changelog = fs::read_to_string(paths::root().join("CHANGELOG.md"))?;
    let parts = changelog.split(HEADING).skip(1);
    let entries = parts.filter_map(|part| part.split("\n## ").next());
    let entries: String = entries.collect();
    let hashes = [c, rust].map(|text| format!("`{}`", fingerprint(text)));
    let are_known = hashes.iter().all(|hash| entries.contains(hash));
    let [c, rust] = hashes;
    ensure!(
        are_known,
        "CHANGELOG.md lacks a hash of the interfaces, which are C {c} and Rust {rust}: say under \"ABI and numerics\" what \
         changed, and end with both"
    );
    Ok(())
}

/// The hash of a text: FNV-1a, 64 bits.
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
    for line in code.lines() {
        let line = line.split("//").next().unwrap_or_default().trim();
        if let Some(constant) = line.strip_prefix("#define ") {
            if !constant.starts_with("DIPTYCH_H") && !constant.starts_with("DPT_VERSION") {
                text += &format!("{line}\n");
            }
        } else if !line.starts_with('#') && !line.is_empty() && !line.starts_with("extern \"C\"") {
            item += line;
            depth += line.matches('{').count();
            depth = depth.saturating_sub(line.matches('}').count());
            if depth == 0 && line.ends_with(';') {
                text += &format!("{item}\n");
                item.clear();
            } else {
                item.push(' ');
            }
        }
    }
    Ok(text)
}

/// The public items of the crate `diptych`, one a line, as rustdoc lists them.
pub fn rust_interface() -> Result<String> {
    let (cargo, target) = (cargo_path(), paths::target().join("public-api"));
    let mut rustdoc = cmd!(
        "{cargo} rustdoc --quiet --package diptych --lib --all-features --target-dir {target}
         -- -Zunstable-options --output-format json"
    );
    // The format has no stable option yet.
    run(rustdoc.env("RUSTC_BOOTSTRAP", "1"))?;
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
    let (cargo, target) = (cargo_path(), paths::target().join("diptych-build/abi"));
    let settings = [
        "opt-level=0",
        "panic=\"abort\"",
        "debug=2",
        "codegen-units=1",
        "package.diptych.opt-level=0",
        // Only the types of the interface.
        "package.\"*\".debug=0",
        "package.diptych.debug=0",
    ];
    let settings = settings.map(|setting| format!("--config=profile.dev.{setting}"));
    sh!("{cargo} rustc --quiet --package diptych-ffi --lib --crate-type staticlib --no-default-features
         --features std {settings...} --target-dir {target}")?;
    let (rust, map) = (
        target.join("debug/libdiptych_ffi.a"),
        dir.join("diptych.map"),
    );
    fs::write(&map, format!("{NODE} {{ global: dpt_*; local: *; }};\n"))?;
    let (cc, library) = (program("CC", "cc"), dir.join("libdiptych.so"));
    let roots = each_export("-Wl,--undefined=")?;
    sh!("{cc} -shared -o {library} -Wl,-soname,{SONAME} -Wl,--version-script={map} -Wl,--gc-sections
         {roots...} {rust} {PRIVATE_LIBS...}")?;
    Ok(library)
}

/// The output of abidw for a library, without empty translation units.
fn dump(library: &Path) -> Result<String> {
    let text = sh!(
        "abidw --no-corpus-path --no-comp-dir-path --no-show-locs --suppressions ffi/abi/ignored.ini {library}"
    )?;
    let (mut short, mut lines) = (String::new(), text.lines().peekable());
    while let Some(line) = lines.next() {
        let opens = line.trim_start().starts_with("<abi-instr");
        let is_end = |next: &&str| next.trim() == "</abi-instr>";
        if !(opens && lines.next_if(is_end).is_some()) {
            short += &format!("{line}\n");
        }
    }
    Ok(short)
}

/// Fails when a library differs from a dump in anything that a program can notice.
pub fn compare_library(recorded: &Path, library: &Path) -> Result<()> {
    let mut abidiff =
        cmd!("abidiff --harmless --suppressions ffi/abi/ignored.ini {recorded} {library}");
    let output = output(&mut abidiff)?;
    if !output.status.success() {
        let text = String::from_utf8_lossy(&output.stdout);
        bail!("the library is not as recorded in {recorded:?}:\n{text}\n{IF_MEANT}");
    }
    Ok(())
}
