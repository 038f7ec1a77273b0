//! What the kernels may cost: the table to change on purpose, never by accident.

use crate::table::{ELEMENTWISE, REDUCTIONS};

/// What the best loop of a kernel must hold on the vector levels.
#[derive(Clone, Copy)]
pub struct Budget {
    /// The kernel, as kernels-cpu/src/dispatch.rs names it; of a part of one, its module and its fold.
    pub kernel: &'static str,
    /// What is counted: instructions that start so, of the element type, on whole registers.
    pub counts: &'static str,
    /// How many of them one turn of the loop has, with 32 registers of 512 bits.
    pub avx512: usize,
    /// The same with 16 registers of 256 bits.
    pub avx2: usize,
    /// How often one turn may touch the stack, on AVX-512 and on AVX2.
    pub stack: (usize, usize),
}

const fn row(kernel: &'static str, counts: &'static str, avx512: usize, avx2: usize) -> Budget {
    Budget {
        kernel,
        counts,
        avx512,
        avx2,
        stack: (0, 0),
    }
}

const fn with_stack(budget: Budget, avx512: usize, avx2: usize) -> Budget {
    Budget {
        stack: (avx512, avx2),
        ..budget
    }
}

/// Eight rows at once into one register; of ten pointers, some are on the stack.
const fn columns(kernel: &'static str, counts: &'static str) -> Budget {
    with_stack(row(kernel, counts, 8, 8), 4, 5)
}

/// Counts stores to memory instead of an arithmetic instruction.
pub const STORES: &str = "stores";
/// Counts loads from memory, also those that are an operand of arithmetic.
pub const LOADS: &str = "loads";

/// The budget of a kernel: its row, or what the table of operations lets one expect.
pub fn budget(kernel: &str) -> Option<Budget> {
    let own = BUDGETS.iter().find(|budget| budget.kernel == kernel);
    own.copied().or_else(|| expected(kernel))
}

/// A turn of an elementwise loop writes 4 registers, and one of a fold reads what others of its form do.
fn expected(kernel: &str) -> Option<Budget> {
    if ELEMENTWISE.iter().any(|row| row.name == kernel) {
        return Some(row("", STORES, 4, 4));
    }
    let folds = || REDUCTIONS.iter().flat_map(|row| row.folds);
    let is_fold = |name: &str| folds().any(|fold| snake_case(fold) == name);
    if let Some(fold) = kernel.strip_suffix("_columns") {
        return is_fold(fold).then(|| columns("", LOADS));
    }
    let part = kernel.strip_prefix("walk ").or(kernel.strip_prefix(PAIRS));
    let known = match part {
        Some(name) => folds().any(|fold| *fold == name),
        None => is_fold(kernel.strip_suffix("_rows").unwrap_or(kernel)),
    };
    known.then(|| row("", LOADS, 4, 8))
}

/// The name of the kernel of a fold.
fn snake_case(fold: &str) -> String {
    let mut name = String::new();
    for letter in fold.chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

/// The kernels that there must be.
pub fn kernels() -> impl Iterator<Item = &'static str> {
    let rows = BUDGETS.iter().map(|budget| budget.kernel);
    let elementwise = ELEMENTWISE.iter().map(|row| row.name);
    rows.chain(WITHOUT_LOOP.iter().copied()).chain(elementwise)
}

/// The table of those that are counted by their arithmetic. Elementwise loops take 4 registers a turn; reductions
/// the 256 bytes of lanes, which are 4 registers of 512 bits or 8 of 256.
#[rustfmt::skip]
const BUDGETS: &[Budget] = &[
    row("clamp",                "vmin",       4, 4),
    row("clamp_backward",       "vcmple",     8, 8),
    row("add",                  "vadd",       4, 4),
    row("sub",                  "vsub",       4, 4),
    row("mul",                  "vmul",       4, 4),
    row("div",                  "vdiv",       4, 4),
    row("scale",                "vmul",       4, 4),
    row("axpy",                 "vfmadd",     4, 4),
    row("square",               "vmul",       4, 4),
    row("fill",                 STORES,       4, 4),
    row("outer",                "vmul",       4, 4),
    // The scaled vector is read from a block on the stack, short enough to be unrolled whole.
    with_stack(row("ger",       "vfmadd",     1, 4), 4, 4),
    row("sum",                  "vadd",       4, 8),
    row("asum",                 "vadd",       4, 8),
    row("sumsq",                "vfmadd",     4, 8),
    row("scaled_sumsq",         "vfmadd",     4, 8),
    row("deviation_sq",         "vfmadd",     4, 8),
    row("dot",                  "vfmadd",     4, 8),
    row("prod",                 "vmul",       4, 8),
    row("min",                 "vmin",       4, 8),
    row("max",                 "vmax",       4, 8),
    row("max_abs",             "vmax",       4, 8),
    row("argmin",              "vmin",       4, 8),
    row("argmax",              "vmax",       4, 8),
    // Vectors of several chunks, or of any stride: functions of their own.
    row("walk Sum",             "vadd",       4, 8),
    row("walk AbsSum",          "vadd",       4, 8),
    row("walk SumSq",           "vfmadd",     4, 8),
    row("walk ScaledSumSq",     "vfmadd",     4, 8),
    row("walk DeviationSq",     "vfmadd",     4, 8),
    row("walk Dot",             "vfmadd",     4, 8),
    row("walk Product",         "vmul",       4, 8),
    row("walk Min",             "vmin",       4, 8),
    row("walk Max",             "vmax",       4, 8),
    row("walk MaxAbs",          "vmax",       4, 8),
    row("extreme Min",          "vmin",       4, 8),
    row("extreme Max",          "vmax",       4, 8),
    row("mse",                  "vfmadd",     4, 8),
    // Where NaN or zeros are told apart.
    row("chunk Min",            "vcmpunord",  4, 8),
    row("chunk Max",            "vcmpunord",  4, 8),
    row("chunk MaxAbs",         "vcmpunord",  4, 8),
    // Two chunks at once, whose lanes 16 registers do not hold.
    row("leaf Sum",             "vadd",       4, 8),
    row("leaf AbsSum",          "vadd",       4, 8),
    row("leaf SumSq",           "vfmadd",     4, 8),
    with_stack(row("leaf ScaledSumSq", "vfmadd", 4, 8), 0, 2),
    row("leaf DeviationSq",     "vfmadd",     4, 8),
    with_stack(row("leaf Dot",  "vfmadd",     4, 8), 0, 4),
    row("leaf Product",         "vmul",       4, 8),
    row("leaf NonzeroMin",      "vmin",       4, 8),
    row("leaf NonzeroMax",      "vmax",       4, 8),
    // Of the two zeros the lesser or the greater takes more than one instruction: what looks for NaN is counted.
    row("leaf FiniteMin",       "vfmadd",     4, 8),
    row("leaf FiniteMax",       "vfmadd",     4, 8),
    row("leaf FiniteMaxAbs",    "vmax",       4, 8),
    // What follows the rows of columns: a store for as many registers of lanes or digits as there are.
    row("columns Sum",          STORES,       1, 1),
    row("columns Product",      STORES,       1, 1),
    row("columns FiniteMin",    STORES,       1, 1),
    row("columns FiniteMax",    STORES,       1, 1),
    // The polynomial's constants do not fit beside the lanes in 16 registers.
    with_stack(row("walk ExpSum", "vfmadd",  36, 80), 0, 60),
    columns("sum_columns", "vadd"),
    columns("asum_columns", "vadd"),
    columns("sumsq_columns", "vfmadd"),
    columns("deviation_sq_columns", "vfmadd"),
    with_stack(columns("dot_columns", "vfmadd"), 9, 8),
    columns("prod_columns", "vmul"),
    // The form with NaN, for short columns: eight rows of two registers, written out.
    with_stack(row("min_columns", "vcmpunord", 8, 8), 4, 12),
    with_stack(row("max_columns", "vcmpunord", 8, 8), 4, 12),
    with_stack(row("exp_sum_columns", "vfmadd", 9, 10), 1, 3),
    // Rows of more than four registers: the 256 bytes of lanes again.
    row("sum_rows",             "vadd",       4, 8),
    row("asum_rows",            "vadd",       4, 8),
    row("sumsq_rows",           "vfmadd",     4, 8),
    row("deviation_sq_rows",    "vfmadd",     4, 8),
    row("dot_rows",             "vfmadd",     4, 8),
    row("prod_rows",            "vmul",       4, 8),
    row("min_rows",             "vfmadd",       4, 8),
    row("max_rows",             "vfmadd",       4, 8),
    with_stack(row("exp_sum_rows", "vfmadd", 36, 80), 0, 56),
    row("first_in_rows",        "vcmpeq",     1, 1),
    // The loop of a single row: that of sixteen has another one in it, which writes the places.
    with_stack(row("argmin_columns", "vcmple", 1, 1), 7, 7),
    with_stack(row("argmax_columns", "vcmple", 1, 1), 7, 7),
    row("mse_grad",             "vfmadd",     4, 8),
    // Four rows on, four rows back; with 16 registers only the latter.
    row("lsq_block",            "vfmadd",    32, 32),
];

/// What the names begin with of parts that take two chunks at once: the portable level has none.
pub const PAIRS: &str = "leaf ";

/// Kernels that are not judged by a loop: those that copy what the microkernels of gemm read and write, the one that
/// leaves every vector to its part ("walk ExpSum"), and the parts that only make room for another.
pub const WITHOUT_LOOP: &[&str] = &[
    "gemm_pack_a",
    "gemm_pack_b",
    "gemm_write_back",
    "exp_sum",
    "Strided",
];

/// Kernels without a loop, or anything that depends on the element type: the compiler keeps one of each level.
pub const WITHOUT_TYPE: &[&str] = &["gemm_fence"];

/// The largest micro-tile of a level, and how many microkernels there are.
pub struct Microkernels {
    pub level: &'static str,
    /// The most rows.
    pub mr: usize,
    /// The most registers in a row.
    pub nv: usize,
    /// Whether there are microkernels with a tail in registers of half the size.
    pub half: bool,
    /// Whether there are microkernels with a tail in which rows share a register.
    pub shared: bool,
    /// The rows and registers of those that prefetch.
    pub prefetch: &'static [(usize, usize)],
    /// The registers of those with non-temporal stores, of the most rows.
    pub non_temporal: &'static [usize],
    /// Likewise, of those that pack B.
    pub pack: &'static [usize],
}

/// How often a step of a microkernel with a register of half the size at its end may touch the stack: it loads each
/// row of A twice, and not all of the addresses fit.
pub const HALF_REGISTER_STACK: usize = 6;

/// The microkernels: all rows and registers up to these (kernels-cpu/src/ops/gemm/microkernels.rs).
pub const MICROKERNELS: &[Microkernels] = &[
    Microkernels {
        level: "avx512",
        mr: 8,
        nv: 3,
        half: true,
        shared: true,
        prefetch: &[(8, 2), (8, 3), (6, 4)],
        non_temporal: &[2, 3],
        pack: &[2, 3],
    },
    Microkernels {
        level: "avx2",
        mr: 6,
        nv: 2,
        half: false,
        shared: true,
        prefetch: &[(6, 2)],
        non_temporal: &[2],
        pack: &[],
    },
    Microkernels {
        level: "portable",
        mr: 4,
        nv: 2,
        half: false,
        shared: false,
        prefetch: &[],
        non_temporal: &[],
        pack: &[],
    },
];

/// A call that kernels may contain.
pub struct Call {
    /// How the symbol ends, or what it contains.
    pub symbol: &'static str,
    pub levels: &'static [&'static str],
    /// The kernels that may; empty: all.
    pub kernels: &'static [&'static str],
    pub why: &'static str,
}

/// All calls that there may be. None is allowed in a hot loop of a vector level.
pub const CALLS: &[Call] = &[
    Call {
        symbol: "a pointer",
        levels: &["portable"],
        kernels: &[],
        why: "libm's fma, its address in a register",
    },
    Call {
        symbol: "a pointer",
        levels: &["avx512", "avx2"],
        kernels: &[],
        why: "the way through the stack is a function of its own, see `Simd::outlined`",
    },
    Call {
        symbol: "8outlined3run",
        levels: &["portable"],
        kernels: &[],
        why: "the same, called by name",
    },
    Call {
        symbol: "6Source",
        levels: &["avx512", "avx2", "portable"],
        kernels: &[],
        why: "strided elements are copied together first",
    },
    Call {
        symbol: "7columns6choose",
        levels: &["avx512", "avx2"],
        kernels: &[],
        why: "what all folds of columns do alike, without vectors",
    },
    Call {
        symbol: "9StripPlan3new",
        levels: &["avx512", "avx2"],
        kernels: &[],
        why: "the same",
    },
    Call {
        symbol: "memcpy",
        levels: &["avx512", "avx2", "portable"],
        kernels: &[],
        why: "partial loads and stores on the portable level, the stack of the chunk tree elsewhere",
    },
    Call {
        symbol: "memset",
        levels: &["avx512", "avx2", "portable"],
        kernels: &[],
        why: "blocks on the stack that are cleared once",
    },
    Call {
        symbol: "4libm4math3fma3fma",
        levels: &["portable"],
        kernels: &[],
        why: "the machine's baseline has no fma",
    },
    Call {
        symbol: "4core5array11try_from_fn",
        levels: &["portable"],
        kernels: &[],
        why: "a whole register of fma in software is too long to be inlined",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_of_the_table_has_a_budget() {
        for row in ELEMENTWISE {
            assert!(budget(row.name).is_some(), "{}", row.name);
        }
        assert_eq!(budget("clamp").map(|budget| budget.counts), Some("vmin"));
        assert!(budget("clamp_rows").is_none() && budget("walk Nothing").is_none());
    }

    #[test]
    fn folds_have_kernels_of_their_names() {
        assert_eq!(snake_case("MaxAbs"), "max_abs");
        assert_eq!(snake_case("Sum"), "sum");
    }
}
