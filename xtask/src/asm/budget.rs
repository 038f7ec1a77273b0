//! What the kernels may cost: the table to change on purpose, never by accident.

/// What the best loop of a kernel must hold on the vector levels.
pub struct Budget {
    /// The kernel, as kernels-cpu/src/table.rs names it; of a part of one, its module and its fold.
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

/// The table. Elementwise loops take 4 registers a turn; reductions the 256 bytes of lanes, which
/// are 4 registers of 512 bits or 8 of 256.
#[rustfmt::skip]
pub const BUDGETS: &[Budget] = &[
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
    // The polynomial's constants do not fit beside the lanes in 16 registers.
    with_stack(row("walk ExpSum", "vfmadd",  36, 80), 0, 60),
    columns("sum_columns", "vadd"),
    columns("asum_columns", "vadd"),
    columns("sumsq_columns", "vfmadd"),
    columns("deviation_sq_columns", "vfmadd"),
    with_stack(columns("dot_columns", "vfmadd"), 9, 8),
    columns("prod_columns", "vmul"),
    columns("min_columns", "vcmpunord"),
    columns("max_columns", "vcmpunord"),
    with_stack(row("exp_sum_columns", "vfmadd", 36, 40), 5, 16),
    // Rows of more than four registers: the 256 bytes of lanes again.
    row("sum_rows",             "vadd",       4, 8),
    row("asum_rows",            "vadd",       4, 8),
    row("sumsq_rows",           "vfmadd",     4, 8),
    row("deviation_sq_rows",    "vfmadd",     4, 8),
    row("dot_rows",             "vfmadd",     4, 8),
    row("prod_rows",            "vmul",       4, 8),
    row("min_rows",             "vadd",       4, 8),
    row("max_rows",             "vadd",       4, 8),
    with_stack(row("exp_sum_rows", "vfmadd", 36, 80), 0, 56),
    row("first_in_rows",        "vcmpeq",     1, 1),
    // The loop of a single row: that of sixteen has another one in it, which writes the places.
    with_stack(row("argmin_columns", "vcmple", 1, 1), 7, 7),
    with_stack(row("argmax_columns", "vcmple", 1, 1), 7, 7),
    row("mse_grad",             "vfmadd",     4, 8),
    // Four rows on, four rows back; with 16 registers only the latter.
    row("lsq_block",            "vfmadd",    32, 32),
];

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
