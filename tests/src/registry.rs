//! The operations that the suites compare with the model or the oracle, and the file that does it. The
//! coverage test compares this list with the library's table and with the header.

use diptych::table::OPS;

/// One operation of the suites.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The name in `diptych::raw`, without `_rows`.
    pub name: &'static str,
    /// Whether there is a `_rows` form.
    pub rows: bool,
    /// The file of `tests/suite/conformance` that runs it.
    pub suite: &'static str,
}

/// Operations that are tested in a file other than that of their family: operation and file.
const ELSEWHERE: [(&str, &str); 2] = [
    ("gemm_batched", "gemm_batched.rs"),
    ("gemm_fused", "fused.rs"),
];

/// Returns all operations, in the order of the table.
pub fn registry() -> Vec<Entry> {
    let entry = |op: &diptych::table::Op| {
        let elsewhere = ELSEWHERE.iter().find(|(name, _)| *name == op.name);
        let suite = match (elsewhere, op.family) {
            (Some((_, suite)), _) => suite,
            (None, "elementwise") => "elementwise.rs",
            (None, "reduce") => "reduce.rs",
            (None, "row_map") => "row_map.rs",
            (None, "outer") => "outer.rs",
            (None, "gemm") => "gemm.rs",
            (None, "fused") => "fused.rs",
            (None, family) => panic!("tests/src/registry.rs knows no family {family}"),
        };
        Entry {
            name: op.name,
            rows: op.rows,
            suite,
        }
    };
    OPS.iter().map(entry).collect()
}
