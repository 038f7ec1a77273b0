//! A model of every kernel, from what is published of the machine and what the disassembly shows: a committed
//! table that stands where measurements will.
use super::assemble::{ARCHITECTURES, cubin, tool, version};
use super::occupancy::Resident;
use super::sass::{self, Counts, Kernel};
use super::{Manifest, directory, targets};
use crate::command::run as run_command;
use crate::skip::skip;
use crate::table::{ELEMENTWISE, REDUCTIONS};
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Whose instructions are counted: the machine of the model, and the least with its assembler's habits.
pub const DISASSEMBLED: [&str; 2] = ["sm_90", "sm_80"];

/// H200, as published: bytes of memory in a second, multiprocessors, flops in a second without tensor cores.
pub const BYTES: f64 = 4.8e12;
pub const MULTIPROCESSORS: f64 = 132.0;
pub const FLOPS: [f64; 2] = [67e12, 34e12];
/// The clock that these flops mean: 128 fma of f32 in a cycle of a multiprocessor.
pub const CLOCK: f64 = FLOPS[0] / (MULTIPROCESSORS * 128.0 * 2.0);
/// Seconds from a load to its data while the memory is busy. An assumption.
const LATENCY: f64 = 700e-9;
/// Of a multiprocessor: instructions and f64 instructions of warps in a cycle.
pub const ISSUE: f64 = 4.0;
const ISSUE_F64: f64 = 2.0;
const KIB: f64 = 1024.0;

/// Elements of the operations in the table.
const ELEMENTS: f64 = (1u64 << 26) as f64;

/// Operations that are not rows of the table: arrays read and written, flops for each element of one.
const OTHERS: [(&str, usize, u32); 7] = [
    ("outer", 1, 1),
    ("gemm with k = 0", 2, 1),
    ("ger", 2, 2),
    ("gemv (gemm with m = 1 or n = 1)", 1, 2),
    ("dot", 2, 2),
    ("mse_grad", 3, 4),
    ("lsq_grad", 1, 4),
];

/// Operations, those together that read and write as many arrays with as many flops for each element. Rows that are
/// walked twice are read twice; those with exponentials are left out.
fn operations() -> Vec<(String, usize, u32)> {
    let elementwise = ELEMENTWISE
        .iter()
        .filter(|row| row.facts.exps == 0)
        .map(|row| {
            let arrays = row.arguments.iter().filter(|(_, role)| role.is_array());
            let arrays = arrays.count() + 1 + usize::from(row.updates);
            ((arrays, row.facts.flops), row.name)
        });
    let reductions = REDUCTIONS.iter().filter(|row| row.facts.exps == 0);
    let reductions = reductions.map(|row| ((row.passes as usize, row.facts.flops), row.name));
    let mut all = Vec::new();
    for family in [elementwise.collect::<Vec<_>>(), reductions.collect()] {
        let mut groups: BTreeMap<_, Vec<&str>> = BTreeMap::new();
        for (costs, name) in family {
            groups.entry(costs).or_default().push(name);
        }
        let groups = groups.into_iter();
        all.extend(groups.map(|((arrays, flops), names)| (names.join(", "), arrays, flops)));
    }
    all.extend(OTHERS.map(|(name, arrays, flops)| (name.to_owned(), arrays, flops)));
    all
}

/// Writes the model or, with `check`, compares it. `residents` are those of [`DISASSEMBLED`]`[0]`.
pub fn run(check: bool, residents: &BTreeMap<String, Resident>) -> Result<()> {
    let Some(disassembler) = tool("nvdisasm", "DIPTYCH_NVDISASM") else {
        return skip(
            "disassembling the kernels",
            "it takes nvdisasm: `python3 -m pip install --no-deps --upgrade --target target/cuda \
             nvidia-cuda-nvcc nvidia-cuda-nvdisasm`, or name one in DIPTYCH_NVDISASM",
        );
    };
    let mut text = format!(
        "# A model of each kernel\n\n{}. Written by `cargo xtask ptx`. {}\n\n",
        version(&disassembler)?,
        INTRODUCTION
    );
    write_operations(&mut text)?;
    let entries = Manifest::read()?.entries;
    for architecture in DISASSEMBLED {
        debug_assert!(
            ARCHITECTURES
                .iter()
                .any(|(known, _)| *known == architecture)
        );
        let kernels = disassemble(&disassembler, &cubin(architecture))?;
        ensure!(
            kernels.keys().eq(entries.keys()),
            "{architecture}: the disassembly has other entries than the manifest"
        );
        if architecture == DISASSEMBLED[0] {
            targets::write(&mut text, &kernels, &entries)?;
        }
        write_counts(&mut text, architecture, &kernels)?;
        if architecture == DISASSEMBLED[0] {
            write_kernels(&mut text, &kernels, residents)?;
        }
    }
    commit(check, &directory().join("MODEL.md"), &text)
}

/// Writes a table or, with `check`, compares it. Other tools, named in its third line, give other numbers.
pub fn commit(check: bool, path: &Path, text: &str) -> Result<()> {
    if !check {
        return Ok(fs::write(path, text)?);
    }
    let committed = fs::read_to_string(path)?;
    let tools = |text: &str| text.lines().nth(2).map(str::to_owned);
    if tools(&committed) != tools(text) {
        return skip(
            &format!("{} is fresh", path.display()),
            "it was made with other tools",
        );
    }
    ensure!(
        committed == text,
        "{} is not fresh; run `cargo xtask ptx`",
        path.display()
    );
    Ok(())
}

fn disassemble(disassembler: &Path, cubin: &Path) -> Result<BTreeMap<String, Kernel>> {
    let text = run_command(Command::new(disassembler).arg("--print-code").arg(cubin))?;
    sass::kernels(&text)
}

const INTRODUCTION: &str = "Nothing here was measured: the times are a model of one H200, from what is published \
    of it (4.8 TB/s, 132 multiprocessors, 67 TFLOP/s in f32 and 34 in f64 without tensor cores, hence 1.98 GHz; \
    65,536 registers and 64 warps for each multiprocessor), and from the instructions that the assembler made.";

/// Bytes and flops of each operation, whatever its kernel.
fn write_operations(text: &mut String) -> Result<()> {
    writeln!(
        text,
        "## Operations\n\nThe least time for 2^26 elements of the longest argument, and for square products: each \
         byte moved once at the full bandwidth, or the flops at the full rate, whichever is longer. Vectors beside \
         a matrix count nothing. `logsumexp` is not here: most of its flops are its exponential's; see its kernel \
         below. A clamp is two flops.\n\n\
         | operation | type | bytes | flops | flops per byte | µs | bound by |\n\
         | --- | --- | ---: | ---: | ---: | ---: | --- |"
    )?;
    let mut row = |name: &str, index: usize, bytes: f64, flops: f64| {
        let (memory, arithmetic) = (bytes / BYTES, flops / FLOPS[index]);
        let bound = if memory >= arithmetic {
            "memory"
        } else {
            "arithmetic"
        };
        writeln!(
            text,
            "| {name} | {} | {} | {} | {:.2} | {:.1} | {bound} |",
            ["f32", "f64"][index],
            scaled(bytes),
            scaled(flops),
            flops / bytes,
            memory.max(arithmetic) * 1e6
        )
    };
    for index in 0..2 {
        let size = [4.0, 8.0][index];
        for (name, arrays, flops) in operations() {
            let bytes = arrays as f64 * size * ELEMENTS;
            row(&name, index, bytes, f64::from(flops) * ELEMENTS)?;
        }
        for n in [128.0, 512.0, 2048.0, 8192.0f64] {
            let name = format!("gemm, {n} x {n} x {n}");
            row(&name, index, 3.0 * n * n * size, 2.0 * n * n * n)?;
        }
    }
    Ok(())
}

/// A number with a prefix.
pub fn scaled(x: f64) -> String {
    match x {
        1e12.. => format!("{:.2} T", x / 1e12),
        1e9.. => format!("{:.2} G", x / 1e9),
        1e6.. => format!("{:.2} M", x / 1e6),
        1e3.. => format!("{:.2} k", x / 1e3),
        _ => format!("{x}"),
    }
}

fn write_counts(
    text: &mut String,
    architecture: &str,
    kernels: &BTreeMap<String, Kernel>,
) -> Result<()> {
    writeln!(
        text,
        "\n## Instructions on {architecture}\n\nOf the whole kernel, then of one turn of its hot loop: of a \
         product the one over slices of k, on its way for a whole slice and accesses of 16 bytes; of other kernels the \
         innermost one with the most fma and bytes of global memory, of those that feed fma from shared memory if \
         there are any. Loads and stores of global memory are those \
         of 16 bytes / 8 / less.\n\n\
         | entry | all | fma | LDG | STG | LDS | STS | BAR | SHFL | loop: all | fma | LDG | STG | LDS | STS | BAR | \
         SHFL |\n| --- |{}",
        " ---: |".repeat(16)
    )?;
    for (name, kernel) in kernels {
        let (whole, hot) = (counts(&kernel.whole), counts(&kernel.hot));
        writeln!(text, "| {name} | {whole} | {hot} |")?;
    }
    Ok(())
}

fn counts(c: &Counts) -> String {
    let widths = |[wide, half, rest]: [usize; 3]| format!("{wide}/{half}/{rest}");
    let rest = [c.shared_loads, c.shared_stores, c.barriers, c.shuffles];
    let rest = rest.map(|count| count.to_string()).join(" | ");
    let (loads, stores) = (widths(c.loads), widths(c.stores));
    format!("{} | {} | {loads} | {stores} | {rest}", c.all, c.fma)
}

/// What the hot loop of a kernel costs a multiprocessor, in cycles for each warp and turn.
#[derive(Debug, PartialEq)]
pub struct Cycles {
    /// Bytes of global memory for a warp.
    pub bytes: usize,
    pub memory: f64,
    pub issue: f64,
    pub shared: f64,
    pub double: f64,
}

impl Cycles {
    pub fn new(kernel: &Kernel) -> Self {
        let hot = &kernel.hot;
        let bytes = |[wide, half, rest]: [usize; 3]| 16 * wide + 8 * half + 4 * rest;
        // One sector for all lanes, where they read the same element; these are the loads of less than 16 bytes.
        let [wide, half, rest] = hot.loads;
        let lanes = match kernel.broadcasts {
            0 => 32 * bytes([wide, half, rest]),
            count => 32 * bytes([wide, 0, 0]) + 32 * count,
        };
        let bytes = lanes + 32 * bytes(hot.stores);
        Self {
            bytes,
            memory: bytes as f64 / (BYTES / MULTIPROCESSORS / CLOCK),
            issue: hot.all as f64 / ISSUE,
            shared: hot.shared_cycles as f64,
            double: hot.double as f64 / ISSUE_F64,
        }
    }

    /// The longest of what a multiprocessor does itself, and its name.
    pub fn inside(&self) -> (f64, &'static str) {
        let parts = [
            (self.issue, "issue"),
            (self.shared, "shared"),
            (self.double, "f64"),
        ];
        let longest = |a: (f64, _), b: (f64, _)| if b.0 > a.0 { b } else { a };
        parts.into_iter().fold((0.0, "memory"), longest)
    }

    fn bound(&self) -> &'static str {
        match self.inside() {
            (cycles, name) if cycles > self.memory => name,
            _ => "memory",
        }
    }
}

fn write_kernels(
    text: &mut String,
    kernels: &BTreeMap<String, Kernel>,
    residents: &BTreeMap<String, Resident>,
) -> Result<()> {
    let needed = BYTES / MULTIPROCESSORS * LATENCY / KIB;
    writeln!(
        text,
        "\n## Kernels on one H200\n\nBlocks and warps that a multiprocessor holds, as in RESOURCES.md. Under \
         way: the bytes that these warps ask for in the hot loop before they use any; by Little's law {needed:.0} KiB \
         keep the memory busy, if a load takes {:.0} ns under load, which is assumed. Cycles of a multiprocessor for \
         each warp and turn of the hot loop: for its bytes at the full bandwidth, as if none came from a cache \
         (which most of a product's do); for the issue of its instructions, four a cycle; for shared memory, 128 bytes \
         a cycle; for its arithmetic in f64, two a cycle. A load of one element for all lanes counts as 32 bytes, and \
         not as under way. The largest bounds the kernel; latency stands for memory where fewer bytes than needed are \
         under way.\n\n\
         | entry | blocks | warps | KiB under way | memory | issue | shared | f64 | bound by |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |",
        LATENCY * 1e9
    )?;
    for (name, kernel) in kernels {
        let resident = residents.get(name).context("an entry without registers")?;
        let Resident { blocks, warps } = *resident;
        let under_way = (warps * 32 * kernel.under_way) as f64 / KIB;
        let cycles = Cycles::new(kernel);
        let bound = match cycles.bound() {
            "memory" if kernel.under_way > 0 && under_way < needed => "latency",
            bound => bound,
        };
        writeln!(
            text,
            "| {name} | {blocks} | {warps} | {under_way:.0} | {:.1} | {:.1} | {:.1} | {:.1} | {bound} |",
            cycles.memory, cycles.issue, cycles.shared, cycles.double
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_share_bounds() {
        let hot = |all, double, wide| Kernel {
            whole: Counts::default(),
            hot: Counts {
                all,
                double,
                loads: [wide, 0, 0],
                ..Counts::default()
            },
            around: 0,
            broadcasts: 0,
            under_way: 0,
        };
        // 18.3 bytes a cycle.
        let memory = Cycles::new(&hot(8, 0, 1));
        assert!((memory.memory - 27.9).abs() < 0.1 && memory.issue == 2.0);
        assert_eq!(memory.bound(), "memory");
        assert_eq!(Cycles::new(&hot(200, 0, 1)).bound(), "issue");
        assert_eq!(Cycles::new(&hot(200, 150, 1)).bound(), "f64");
        // Four elements that a warp shares, beside four packs of 16 bytes.
        let mut row = hot(53, 0, 0);
        row.hot.loads = [0, 0, 4];
        row.hot.stores = [4, 0, 0];
        row.broadcasts = 4;
        assert_eq!(Cycles::new(&row).bytes, 4 * 32 + 4 * 512);
    }

    #[test]
    fn the_committed_operations_are_those_of_the_table() {
        let mut text = String::new();
        write_operations(&mut text).expect("text");
        let committed = fs::read_to_string(directory().join("MODEL.md")).expect("MODEL.md");
        assert!(committed.contains(&text), "run `cargo xtask ptx`:\n{text}");
    }

    #[test]
    fn numbers_have_prefixes() {
        assert_eq!(scaled(0.0), "0");
        assert_eq!(scaled(49152.0), "49.15 k");
        assert_eq!(scaled(1.1e12), "1.10 T");
    }
}
