//! The library's table, the suites' registry, the header and the tolerance table contain the same
//! operations; a failure names the missing operations and the file that lacks them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use diptych::table::OPS;
use diptych_tests::registry::registry;
use diptych_tests::tolerance::tolerance;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: &str) -> String {
    let path = root().join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Functions of the header that are not operations, or that query an operation's workspace.
const OTHER_FUNCTIONS: &[&str] = &[
    "version",
    "abi_version",
    "status_string",
    "last_error",
    "cpu_level",
    "force_cpu_level",
    "build_info",
    "fingerprint",
    "fingerprint_op",
    "cuda_available",
    "cuda_preload",
    "cuda_release",
    "cuda_alloc",
    "cuda_free",
    "cuda_alloc_pinned",
    "cuda_free_pinned",
    "cuda_synchronize",
    "copy",
    "advise_f32",
    "advise_f64",
    "advise_batched_f32",
    "advise_batched_f64",
    "advise_constants",
    "advise_measure",
    "pool_create",
    "pool_destroy",
    "pool_exec",
    "gemm_f32_workspace",
    "gemm_f64_workspace",
    "lsq_grad_f32_workspace",
    "lsq_grad_f64_workspace",
    "matmul_packed_size",
    "matmul_pack",
    "matmul_packed",
];

/// Returns the names that the header must declare, without the prefix `dpt_`.
fn expected_functions() -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let of_tensors = OPS.iter().filter(|op| !op.name.starts_with("gemm"));
    names.extend(of_tensors.map(|op| op.name.to_owned()));
    names.extend(["matmul", "convert"].map(String::from));
    for op in OPS {
        for dtype in ["f32", "f64"] {
            names.insert(format!("{}_{dtype}", op.name));
            if op.rows {
                names.insert(format!("{}_rows_{dtype}", op.name));
            }
        }
    }
    names.extend(OTHER_FUNCTIONS.iter().map(|name| name.to_string()));
    names
}

/// Returns the names of the functions that the header declares: `dpt_name(`, outside comments.
fn declared_functions(header: &str) -> BTreeSet<String> {
    let mut code = String::new();
    let mut rest = header;
    while let Some((before, comment)) = rest.split_once("/*") {
        code.push_str(before);
        rest = comment.split_once("*/").map_or("", |(_, after)| after);
    }
    code.push_str(rest);
    let code: String = code
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""))
        .collect();
    let calls = code
        .split("dpt_")
        .skip(1)
        .filter_map(|part| part.split_once('('));
    let is_name = |name: &&str| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    calls
        .map(|(name, _)| name.trim_end())
        .filter(is_name)
        .map(String::from)
        .collect()
}

#[test]
fn header_declares_exactly_the_table() {
    let (want, got) = (
        expected_functions(),
        declared_functions(&read("include/diptych.h")),
    );
    let missing: Vec<_> = want.difference(&got).collect();
    let unknown: Vec<_> = got.difference(&want).collect();
    assert!(
        missing.is_empty(),
        "in kernels-cpu/src/table.rs but not in include/diptych.h: {missing:?}"
    );
    assert!(
        unknown.is_empty(),
        "in include/diptych.h but not in kernels-cpu/src/table.rs: {unknown:?}"
    );
}

/// The suite that the registry names calls each operation: elementwise operations, reductions and maps over rows in a loop
/// over the table, the others by name. (The error suite asserts its own coverage; `xtask/tests/library/c_abi.rs`
/// reads that of the C programs from their symbols.)
#[test]
fn every_operation_is_called_by_the_suites() {
    for (op, entry) in OPS.iter().zip(registry()) {
        assert_eq!((op.name, op.rows), (entry.name, entry.rows));
        let path = format!("tests/suite/conformance/{}", entry.suite);
        let suite = read(&path);
        let called = if op.family == "elementwise" {
            suite.contains("elementwise::<T>()")
        } else if op.rows {
            suite.contains("reductions::<T>()")
        } else if op.family == "row_map" {
            suite.contains("row_maps::<T>()")
        } else {
            suite.contains(&format!("raw::{}", op.name)) && has_word(&suite, op.name)
        };
        assert!(called, "{} is not called in {path}", op.name);
    }
}

#[test]
fn tolerance_table_names_every_operation() {
    for op in OPS {
        // Panics with the operation's name if the table lacks it.
        tolerance(op.name);
    }
}

/// Returns whether `text` contains `name` as a whole identifier.
fn has_word(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.match_indices(name).any(|(at, _)| {
        let before = text[..at].chars().next_back().is_some_and(is_part);
        let after = text[at + name.len()..].chars().next().is_some_and(is_part);
        !before && !after
    })
}
