//! README.md is correct: its table contains every operation, and so do other lists by hand. Its Rust quick start is a doc
//! test of `diptych-examples`, its C quick start a test of `xtask/tests/library`; `cargo xtask docs` checks its links.

use std::fs;
use std::path::Path;

fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    fs::read_to_string(root.join(path)).expect(path)
}

#[test]
fn rust_quick_start_is_there() {
    // The doc test compiles and runs it; this only checks that there is one.
    assert_eq!(read("README.md").matches("\n```rust\n").count(), 1);
}

#[test]
fn first_page_is_short_and_begins_with_two_commands() {
    let readme = read("README.md");
    assert!(readme.lines().count() <= 220, "move the rest to docs");
    let start: Vec<&str> = readme.lines().take(35).collect();
    for command in ["cargo run --release --bin digits", "cargo test"] {
        assert!(
            start.iter().any(|line| line.starts_with(command)),
            "{command}"
        );
    }
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
fn crate_documentation_lists_every_operation() {
    let page = read("kernels-cpu/src/lib.rs");
    for op in diptych::table::OPS {
        let link = format!("[`{}`]", op.name);
        assert!(page.contains(&link), "kernels-cpu/src/lib.rs lacks {link}");
    }
}

/// The C functions of an operation are `FN(NAME)` in the templates of these files.
#[test]
fn c_programs_have_values_of_every_operation() {
    let families = ["elementwise", "gemm", "reduce", "row_map"];
    let text = families
        .map(|family| read(&format!("tests/c/values_{family}.inc.h")))
        .concat();
    let words: Vec<&str> = text
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .collect();
    for op in diptych::table::OPS {
        let is_there = words
            .iter()
            .any(|word| word.trim_end_matches("_rows") == op.name);
        assert!(is_there, "tests/c/values_*.inc.h lack {}", op.name);
    }
}

/// The Python functions whose names are not those of the table.
const IN_PYTHON: [(&str, &str); 8] = [
    ("sub", "subtract"),
    ("mul", "multiply"),
    ("div", "divide"),
    ("neg", "negative"),
    ("clamp", "clip"),
    ("clamp_backward", "clip_backward"),
    ("gemm_batched", "matmul"),
    ("gemm_fused", "gemm"),
];

/// Asserts that files of the Python package have the name of each operation as a word.
fn python_names(files: &[&str], operations: impl Iterator<Item = &'static str> + Clone) {
    for file in files {
        let path = format!("python/{file}");
        let text = read(&path);
        let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
        let words: std::collections::HashSet<&str> = words.collect();
        for op in operations.clone() {
            let renamed = IN_PYTHON.iter().find(|(name, _)| *name == op);
            let name = renamed.map_or(op, |(_, name)| name);
            assert!(words.contains(name), "{path} lacks {name}");
        }
    }
}

#[test]
fn python_has_every_operation() {
    use diptych::table::{ELEMENTWISE, OPS, REDUCTIONS, ROW_MAPS};
    let lists = [
        "src/diptych/__init__.py",
        "src/diptych/__init__.pyi",
        "docs/numpy.md",
    ];
    python_names(&lists, OPS.iter().map(|op| op.name));
    let elementwise = [
        "native/functions/elementwise.rs",
        "tests/test_elementwise.py",
        "tests/test_cuda.py",
        "tests/test_foreign.py",
    ];
    python_names(&elementwise, ELEMENTWISE.iter().map(|row| row.name));
    let reductions = [
        "native/functions/reduce.rs",
        "src/diptych/torch/__init__.py",
        "src/diptych/torch/_reductions.py",
        "docs/pytorch.md",
        "tests/test_reductions.py",
        "tests/test_cuda.py",
        "tests/test_foreign.py",
        "tests/torch_cases.py",
    ];
    python_names(&reductions, REDUCTIONS.iter().map(|row| row.name));
    let row_maps = [
        "native/functions/row_map.rs",
        "src/diptych/torch/__init__.py",
        "src/diptych/torch/_row_maps.py",
        "docs/pytorch.md",
        "tests/test_row_maps.py",
        "tests/test_cuda.py",
        "tests/test_foreign.py",
        "tests/torch_cases.py",
    ];
    python_names(&row_maps, ROW_MAPS.iter().map(|row| row.name));
}
