//! README.md is correct: its C quick start compiles and prints the output shown, its table contains
//! every operation, and its links exist. Its Rust quick start is a doc test of `diptych-examples`.
#![forbid(unsafe_code)]

use std::fs;
use std::path::Path;
use std::process::Command;

use xtask::{command, library, paths};

fn read(path: &str) -> String {
    fs::read_to_string(paths::root().join(path)).expect(path)
}

/// Returns the code blocks of a language, in order.
fn blocks(text: &str, language: &str) -> Vec<String> {
    let mut blocks = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let Some(found) = line.strip_prefix("```") else {
            continue;
        };
        let code: Vec<&str> = lines
            .by_ref()
            .take_while(|line| !line.starts_with("```"))
            .collect();
        if found == language {
            blocks.push(code.join("\n") + "\n");
        }
    }
    blocks
}

#[test]
fn c_quick_start_runs() {
    let readme = read("README.md");
    let c = blocks(&readme, "c");
    assert_eq!(c.len(), 1, "one C block");
    assert_eq!(
        c[0],
        read("examples/c/quickstart.c"),
        "README and examples/c/quickstart.c differ"
    );

    let library = library::build().expect("the C library");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("quickstart");
    let mut cc = command::cc();
    cc.args([
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-I",
    ]);
    cc.arg(paths::root().join("include"))
        .arg(paths::root().join("examples/c/quickstart.c"));
    cc.arg(&library.archive)
        .args(library::PRIVATE_LIBS)
        .arg("-o")
        .arg(&program);
    command::run(&mut cc).expect("the quick start compiles");
    // Every machine has the portable level; the README shows the output of avx512.
    let mut quick_start = Command::new(&program);
    let output = command::run(quick_start.env("DIPTYCH_CPU_LEVEL", "portable")).expect("it runs");
    let shown = blocks(&readme, "text");
    assert_eq!(shown.len(), 1, "one block of output");
    assert_eq!(output, shown[0].replace("avx512", "portable"));
}

#[test]
fn rust_quick_start_is_there() {
    // The doc test compiles and runs it; this only checks that there is one.
    assert_eq!(blocks(&read("README.md"), "rust").len(), 1);
}

#[test]
fn table_names_every_operation() {
    let readme = read("README.md");
    let table: String = readme
        .lines()
        .filter(|line| line.starts_with("| "))
        .collect();
    for op in diptych::table::OPS {
        assert!(
            table.contains(&format!("`{}`", op.name)),
            "README's table lacks {}",
            op.name
        );
    }
    let known = |name: &str| diptych::table::OPS.iter().any(|op| op.name == name);
    for line in readme
        .lines()
        .skip_while(|line| *line != "## Operations")
        .skip(1)
    {
        if line.starts_with("## ") {
            break;
        }
        let Some(names) = line
            .strip_prefix("| ")
            .and_then(|line| line.split(" |").next())
        else {
            continue;
        };
        for name in names.split('`').skip(1).step_by(2) {
            assert!(
                known(name),
                "README's table names {name}, which does not exist"
            );
        }
    }
}

#[test]
fn relative_links_exist() {
    for file in [
        "README.md",
        "ARCHITECTURE.md",
        "CODE_OF_CONDUCT.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "SECURITY.md",
    ] {
        let text = read(file);
        for link in text
            .split("](")
            .skip(1)
            .filter_map(|rest| rest.split(')').next())
        {
            if !link.starts_with("http") && !link.starts_with('#') {
                assert!(paths::root().join(link).exists(), "{file} points to {link}");
            }
        }
    }
}
