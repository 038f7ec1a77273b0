//! README.md is correct: its table contains every operation, and its links exist. Its Rust quick start is a doc test
//! of `diptych-examples`, its C quick start a test of `xtask/tests/library`.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).expect(path)
}

#[test]
fn rust_quick_start_is_there() {
    // The doc test compiles and runs it; this only checks that there is one.
    assert_eq!(read("README.md").matches("\n```rust\n").count(), 1);
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
                assert!(root().join(link).exists(), "{file} points to {link}");
            }
        }
    }
}
