//! The work whose times are to be reached on an H200: its launches there, its bytes and its flops. The suite `ptx`
//! holds the launches, and the bytes of shared memory, to what the launchers do.
#![forbid(unsafe_code)]

/// A launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The kernel.
    pub entry: &'static str,
    /// Blocks along x, y and z.
    pub blocks: (u32, u32, u32),
    /// Bytes of shared memory of a block.
    pub shared: u32,
}

/// Work.
#[derive(Debug)]
pub struct Work {
    /// What it is, for people.
    pub name: &'static str,
    /// One after the other.
    pub launches: &'static [Launch],
    /// Bytes read and written.
    pub bytes: f64,
    /// A multiply-add is two.
    pub flops: f64,
    /// Turns of the slice loop in each block, of a product.
    pub slices: usize,
}

const GIB: f64 = (1u64 << 30) as f64;
/// Elements of f32 in a GiB.
const N: f64 = GIB / 4.0;

const fn launch(entry: &'static str, blocks: (u32, u32, u32), shared: u32) -> Launch {
    Launch {
        entry,
        blocks,
        shared,
    }
}

const fn work(
    name: &'static str,
    launches: &'static [Launch],
    (bytes, flops): (f64, f64),
    slices: usize,
) -> Work {
    Work {
        name,
        launches,
        bytes,
        flops,
        slices,
    }
}

/// The work. Arrays have 1 GiB where no size is named, matrices then 16384 rows and columns; the type is f32 where
/// none is named. What is walked twice is read twice.
pub const WORK: [Work; 34] = [
    work(
        "clamp",
        &[launch("clamp_f32", (65536, 1, 1), 0)],
        (2.0 * GIB, 2.0 * N),
        0,
    ),
    work(
        "add",
        &[launch("add_f32", (65536, 1, 1), 0)],
        (3.0 * GIB, N),
        0,
    ),
    work(
        "axpy",
        &[launch("axpy_f32", (65536, 1, 1), 0)],
        (3.0 * GIB, 2.0 * N),
        0,
    ),
    work(
        "square",
        &[launch("square_f32", (65536, 1, 1), 0)],
        (2.0 * GIB, N),
        0,
    ),
    work(
        "outer",
        &[launch("outer_f32", (128, 128, 1), 0)],
        (GIB, N),
        0,
    ),
    work(
        "ger",
        &[launch("ger_f32", (128, 128, 1), 0)],
        (2.0 * GIB, 2.0 * N),
        0,
    ),
    work(
        "mse_grad",
        &[launch("mse_grad_f32", (1, 1024, 1), 704)],
        (3.0 * GIB, 4.0 * N),
        0,
    ),
    work(
        "dot",
        &[launch("dot_f32", (1, 1024, 1), 704)],
        (2.0 * GIB, 2.0 * N),
        0,
    ),
    work(
        "sum",
        &[launch("sum_rows_f32", (1, 1024, 1), 704)],
        (GIB, N),
        0,
    ),
    work(
        "max",
        &[launch("max_rows_f32", (1, 1024, 1), 704)],
        (GIB, N),
        0,
    ),
    work(
        "argmax",
        &[launch("argmax_rows_f32", (1, 1024, 1), 1472)],
        (GIB, N),
        0,
    ),
    work(
        "var",
        &[
            launch("var_rows_f32", (1, 1024, 1), 704),
            launch("var_rows_f32", (1, 1024, 1), 704),
        ],
        (2.0 * GIB, 4.0 * N),
        0,
    ),
    work(
        "sum of rows",
        &[launch("sum_rows_f32", (1024, 1, 1), 704)],
        (GIB, N),
        0,
    ),
    work(
        "max of rows",
        &[launch("max_rows_f32", (1024, 1, 1), 704)],
        (GIB, N),
        0,
    ),
    work(
        "argmax of rows",
        &[launch("argmax_rows_f32", (1024, 1, 1), 1472)],
        (GIB, N),
        0,
    ),
    work(
        "var of rows",
        &[launch("var_rows_f32", (1024, 1, 1), 704)],
        (2.0 * GIB, 4.0 * N),
        0,
    ),
    work(
        "sum of columns",
        &[launch("sum_columns_f32", (1024, 1, 1), 1792)],
        (GIB, N),
        0,
    ),
    work(
        "max of columns",
        &[launch("max_columns_f32", (1024, 1, 1), 1792)],
        (GIB, N),
        0,
    ),
    work(
        "argmax of columns",
        &[launch("argmax_columns_f32", (1024, 1, 1), 5824)],
        (GIB, N),
        0,
    ),
    work(
        "var of columns",
        &[launch("var_columns_f32", (1024, 1, 1), 1792)],
        (2.0 * GIB, 4.0 * N),
        0,
    ),
    work(
        "gemm 4096 x 4096 x 4096, f32",
        &[launch("gemm_128x128_f32", (1024, 1, 1), 16896)],
        (201_326_592.0, 137_438_953_472.0),
        512,
    ),
    work(
        "gemm 4096 x 4096 x 4096, f64",
        &[launch("gemm_128x64_f64", (2048, 1, 1), 25088)],
        (402_653_184.0, 137_438_953_472.0),
        512,
    ),
    work(
        "gemm 4096 x 4096, k = 1",
        &[launch("gemm_128x64_f32", (2048, 1, 1), 12800)],
        (67_141_632.0, 33_554_432.0),
        0,
    ),
    work(
        "gemm 4096 x 4096, k = 4",
        &[launch("gemm_128x64_f32", (2048, 1, 1), 12800)],
        (67_239_936.0, 134_217_728.0),
        0,
    ),
    work(
        "gemm 4096 x 8, k = 4096",
        &[launch("gemm_split_128x16_f32", (512, 1, 1), 9728)],
        (67_371_008.0, 268_435_456.0),
        32,
    ),
    work(
        "gemm 4096 x 1, k = 4096",
        &[launch("gemv_rows_f32", (512, 1, 1), 512)],
        (67_141_632.0, 33_554_432.0),
        0,
    ),
    work(
        "gemm A^T b, A 10240 x 1024",
        &[launch("gemv_columns_f32", (64, 5, 1), 1600)],
        (41_988_096.0, 20_971_520.0),
        0,
    ),
    work(
        "gemm A^T B, A 10240 x 1024, B 8 columns",
        &[launch("gemm_split_128x16_f32", (320, 1, 1), 9728)],
        (42_303_488.0, 167_772_160.0),
        32,
    ),
    work(
        "outer in a batch, 16384 of 64 x 64",
        &[launch("gemm_64x64_f32", (1, 1, 16384), 8704)],
        (276_824_064.0, 134_217_728.0),
        0,
    ),
    work(
        "outer in a batch, 4096 of 128 x 128",
        &[launch("gemm_128x64_f32", (2, 1, 4096), 12800)],
        (272_629_760.0, 134_217_728.0),
        0,
    ),
    work(
        "outer in a batch, 1024 of 256 x 256",
        &[launch("gemm_128x64_f32", (8, 1, 1024), 12800)],
        (270_532_608.0, 134_217_728.0),
        0,
    ),
    work(
        "outer in a batch, 256 of 512 x 512",
        &[launch("gemm_128x64_f32", (32, 1, 256), 12800)],
        (269_484_032.0, 134_217_728.0),
        0,
    ),
    work(
        "a step of a network, 64, 1000, 100, 10",
        &[
            launch("gemm_split_128x16_f32", (28, 1, 1), 9728),
            launch("clamp_f32", (2, 1, 1), 0),
            launch("gemm_128x16_f32", (1, 1, 1), 9728),
            launch("mse_grad_f32", (1, 1, 1), 512),
            launch("gemm_128x16_f32", (1, 1, 1), 9728),
            launch("gemm_128x16_f32", (7, 1, 1), 9728),
            launch("clamp_backward_f32", (2, 1, 1), 0),
            launch("gemm_128x16_f32", (56, 1, 1), 9728),
            launch("axpy_f32", (25, 1, 1), 0),
            launch("axpy_f32", (1, 1, 1), 0),
        ],
        (2_807_360.0, 26_214_160.0),
        0,
    ),
    work(
        "a small call: clamp of 1000",
        &[launch("clamp_f32", (1, 1, 1), 0)],
        (8000.0, 2000.0),
        0,
    ),
];

/// log2 of the chunks that a group of 16 threads walks, in what is said of shared memory: 2^10 chunks of each of the
/// groups of a row are 2^24 elements in f64 and twice as many in f32.
pub const RUN: u32 = 10;

/// Bytes of shared memory that a launch asks for, for a block of an entry.
pub fn shared_at_launch(entry: &str) -> usize {
    let size = if entry.ends_with("f64") { 8 } else { 4 };
    let name = entry.rsplit_once('_').map_or(entry, |(name, _)| name);
    let last = name.rsplit_once('_').map_or(name, |(_, last)| last);
    let tile = last.split_once('x').map(|(m, n)| (m.parse(), n.parse()));
    if let Some((Ok(m), Ok(n))) = tile {
        // Two slices of each matrix, of 8 steps of k or 16, with a pack between their rows.
        let (m, n): (usize, usize) = (m, n);
        let steps = if m == 16 { 16 } else { 8 };
        return 2 * steps * (m * size + n * size + 2 * 16);
    }
    let lsq = name.starts_with("lsq_grad");
    let reduces = ["rows", "columns"].contains(&last) || ["dot", "mse_grad"].contains(&name);
    if !(reduces || lsq) {
        return 0;
    }
    let value = if name.starts_with("arg") { 16 } else { size };
    // The results of groups, what is known of them, the digits of their counters, and lanes of 16 rows.
    let exchange = if last == "columns" {
        16 * 17 * value
    } else {
        0
    };
    16 * (16 + 4 + 8) + (RUN as usize + 1) * 16 * value + exchange
}
