//! Every operation that the suites hold to the model or to the oracle, and where they do it. The
//! coverage test compares this list with the library's table and with the header.

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

const fn elementwise(name: &'static str) -> Entry {
    Entry {
        name,
        rows: false,
        suite: "elementwise.rs",
    }
}

const fn reduction(name: &'static str) -> Entry {
    Entry {
        name,
        rows: true,
        suite: "reduce.rs",
    }
}

const fn other(name: &'static str, suite: &'static str) -> Entry {
    Entry {
        name,
        rows: false,
        suite,
    }
}

/// The list.
pub const REGISTRY: &[Entry] = &[
    elementwise("clamp"),
    elementwise("clamp_backward"),
    elementwise("add"),
    elementwise("sub"),
    elementwise("mul"),
    elementwise("div"),
    elementwise("scale"),
    elementwise("axpy"),
    elementwise("square"),
    elementwise("fill"),
    other("outer", "outer.rs"),
    other("ger", "outer.rs"),
    other("gemm", "gemm.rs"),
    other("gemm_batched", "gemm_batched.rs"),
    other("gemm_fused", "fused.rs"),
    reduction("sum"),
    reduction("mean"),
    reduction("prod"),
    reduction("min"),
    reduction("max"),
    reduction("sumsq"),
    reduction("asum"),
    reduction("nrm2"),
    reduction("var"),
    reduction("logsumexp"),
    reduction("argmin"),
    reduction("argmax"),
    other("dot", "reduce.rs"),
    other("mse_grad", "fused.rs"),
    other("lsq_grad", "fused.rs"),
];
