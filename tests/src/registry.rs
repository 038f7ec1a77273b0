//! Every operation that the suites hold to the model or to the oracle, and where they do it. The
//! coverage test compares this list with the library's table and with the header.

use diptych::table::OPS;

/// One operation of the suites.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Name as in `diptych::raw`, without `_rows`.
    pub name: &'static str,
    /// Whether there is a `_rows` form.
    pub rows: bool,
    /// The file of `tests/suite/conformance` that runs it.
    pub suite: &'static str,
}

/// What does not stand in the file of its family.
const ELSEWHERE: [(&str, &str); 2] = [
    ("gemm_batched", "gemm_batched.rs"),
    ("gemm_fused", "fused.rs"),
];

/// The list.
pub fn registry() -> Vec<Entry> {
    let entry = |op: &diptych::table::Op| {
        let elsewhere = ELSEWHERE.iter().find(|(name, _)| *name == op.name);
        let suite = match (elsewhere, op.family) {
            (Some((_, suite)), _) => suite,
            (None, "elementwise") => "elementwise.rs",
            (None, "reduce") => "reduce.rs",
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
