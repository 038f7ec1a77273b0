//! The C quick start of README.md compiles and prints what README.md says.

use std::fs;
use std::path::Path;
use std::process::Command;

use xtask::{command, library, paths};

fn read(path: &str) -> String {
    fs::read_to_string(paths::root().join(path)).expect(path)
}

/// The code blocks of a language, in order.
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
    // Every machine has the portable level; the README shows the output of another.
    let mut quick_start = Command::new(&program);
    let output = command::run(quick_start.env("DIPTYCH_CPU_LEVEL", "portable")).expect("it runs");
    let shown = blocks(&readme, "text");
    assert_eq!(shown.len(), 1, "one block of output");
    assert_eq!(output, shown[0].replace("avx512", "portable"));
}
