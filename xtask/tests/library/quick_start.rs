//! The C programs of the pages compile, and print what the pages say.

use std::fs;
use std::path::{Path, PathBuf};
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

/// Compiles and links the only C program of a page.
fn compile(page: &str, name: &str) -> PathBuf {
    let c = blocks(&read(page), "c");
    assert_eq!(c.len(), 1, "one C block in {page}");
    let library = library::build().expect("the C library");
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let source = program.with_extension("c");
    fs::write(&source, &c[0]).expect("the source");
    let mut cc = command::cc();
    cc.args([
        "-std=c99",
        "-Wall",
        "-Wextra",
        "-Wpedantic",
        "-Werror",
        "-I",
    ]);
    cc.arg(paths::root().join("include")).arg(&source);
    cc.arg(&library.archive)
        .args(library::PRIVATE_LIBS)
        .arg("-o")
        .arg(&program);
    command::run(&mut cc).expect(page);
    program
}

/// What the C program of a page prints at the portable level, which every machine has.
fn output(page: &str, name: &str) -> String {
    let mut program = Command::new(compile(page, name));
    command::run(program.env("DIPTYCH_CPU_LEVEL", "portable")).expect("it runs")
}

#[test]
fn c_quick_start_runs() {
    let output = output("README.md", "quick-start");
    let comment = format!("/* {} */", output.trim_end());
    assert!(read("README.md").contains(&comment), "{comment}");
}

#[test]
fn c_page_runs() {
    let shown = blocks(&read("docs/c.md"), "text");
    assert_eq!(shown.len(), 1, "one block of output");
    // The page shows the output of another level.
    let expected = shown[0].replace("avx512", "portable");
    assert_eq!(output("docs/c.md", "c-page"), expected);
    assert_eq!(
        blocks(&read("docs/c.md"), "c")[0],
        read("examples/c/quickstart.c"),
        "docs/c.md and examples/c/quickstart.c differ"
    );
}

/// It needs a GPU to run.
#[test]
fn c_program_for_a_gpu_compiles() {
    compile("kernels-gpu/README.md", "gpu-page");
}
