//! The model of the work whose times are to be reached, and of the slice loops of products.
use super::Entry;
use super::model::{BYTES, CLOCK, Cycles, FLOPS, ISSUE, MULTIPROCESSORS, scaled};
use super::sass::Kernel;
use super::work::{WORK, Work};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write;

/// fma of warps in a cycle of a multiprocessor, in f32 and in f64.
const FMA: [f64; 2] = [4.0, 2.0];

/// Writes both.
pub fn write(
    text: &mut String,
    kernels: &BTreeMap<String, Kernel>,
    entries: &BTreeMap<String, Entry>,
) -> Result<()> {
    write_products(text, kernels)?;
    writeln!(
        text,
        "\n## Targets\n\nWork as the launchers cut it for 132 multiprocessors. Bytes: each is moved once, rows that \
         are walked twice twice. Inside: the longest of issue, shared memory and arithmetic in f64 in the hot loop, \
         for the multiprocessor with the most blocks; of products with less than a slice of k, issue of all but the \
         steps of k. Nothing is said (-) of several kernels and of one small launch, whose starts are most of the time. The least time is the longer of \
         both; then what the work is of the published bandwidth and of the published flops. What blocks and launches \
         wait for when they start and end is not in it.\n\n\
         | work | launches | kernel | blocks | bytes | flops | µs for bytes | µs inside | bound by | least µs | \
         of bandwidth | of flops |\n\
         | --- | ---: | --- | ---: | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: |"
    )?;
    for work in &WORK {
        write_work(text, work, kernels, entries)?;
    }
    Ok(())
}

fn write_work(
    text: &mut String,
    work: &Work,
    kernels: &BTreeMap<String, Kernel>,
    entries: &BTreeMap<String, Entry>,
) -> Result<()> {
    let first = work.launches.first().context(work.name)?;
    let alike = work.launches.iter().all(|launch| launch == first);
    let kernel = kernels.get(first.entry).context(first.entry)?;
    let entry = entries.get(first.entry).context(first.entry)?;
    let inside = inside(work, kernel, entry.threads as usize / 32).filter(|_| alike);
    let bytes = work.bytes / BYTES;
    let flops = FLOPS[usize::from(first.entry.ends_with("f64"))];
    let (name, blocks) = match alike {
        true => (first.entry, blocks(work).to_string()),
        false => ("several", "-".into()),
    };
    write!(
        text,
        "| {} | {} | {name} | {blocks} | {} | {} | {:.2} |",
        work.name,
        work.launches.len(),
        scaled(work.bytes),
        scaled(work.flops),
        bytes * 1e6,
    )?;
    let Some((seconds, part)) = inside else {
        return Ok(writeln!(text, " - | - | - | - | - |")?);
    };
    let least = seconds.max(bytes);
    let bound = if seconds > bytes { part } else { "memory" };
    writeln!(
        text,
        " {:.2} | {bound} | {:.2} | {:.0} % | {:.0} % |",
        seconds * 1e6,
        least * 1e6,
        100.0 * bytes / least,
        100.0 * work.flops / flops / least,
    )?;
    Ok(())
}

/// Blocks of each launch.
fn blocks(work: &Work) -> usize {
    let launch = work.launches.first();
    launch.map_or(0, |l| {
        l.blocks.0 as usize * l.blocks.1 as usize * l.blocks.2 as usize
    })
}

/// Seconds for what a multiprocessor does itself, and what bounds it.
fn inside(work: &Work, kernel: &Kernel, warps: usize) -> Option<(f64, &'static str)> {
    /// Bytes below which a launch's start and end are longer than all between.
    const SMALL: f64 = 1e6;
    let cycles = Cycles::new(kernel);
    let (each, name) = cycles.inside();
    let blocks = blocks(work) as f64;
    let turns = if work.slices > 0 {
        let most = (blocks / MULTIPROCESSORS).ceil();
        most * (warps * work.slices * work.launches.len()) as f64
    } else if kernel.around > 0 && work.bytes > SMALL {
        let most = (blocks / MULTIPROCESSORS).ceil();
        let cycles = most * (warps * kernel.around) as f64 / ISSUE;
        return Some((cycles / CLOCK, "issue"));
    } else if kernel.hot.barriers == 0 && cycles.bytes > 0 && work.bytes > SMALL {
        work.bytes / cycles.bytes as f64 / MULTIPROCESSORS
    } else {
        return None;
    };
    Some((turns * each / CLOCK, name))
}

/// The slice loops.
fn write_products(text: &mut String, kernels: &BTreeMap<String, Kernel>) -> Result<()> {
    writeln!(
        text,
        "\n## Slices of products\n\nOne turn of the slice loop, on the way for a whole slice and accesses of 16 bytes: \
         its instructions, and cycles of a multiprocessor for each warp: for issue, four instructions a cycle; for \
         shared memory, 128 bytes a cycle, where half of what a warp loads 16 bytes at a time is the same in other \
         lanes; for fma, four a cycle in f32 and two in f64. Of the peak: fma to the longest, where enough warps are there \
         to hide the rest.\n\n\
         | entry | instructions | fma | issue | shared | fma | bound by | of the peak |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | --- | ---: |"
    )?;
    for (name, kernel) in kernels {
        if kernel.hot.fma == 0 || !name.starts_with("gemm_") {
            continue;
        }
        let cycles = Cycles::new(kernel);
        let fma = kernel.hot.fma as f64 / FMA[usize::from(name.ends_with("f64"))];
        let (longest, bound) = cycles.inside();
        writeln!(
            text,
            "| {name} | {} | {} | {:.1} | {:.1} | {fma:.1} | {bound} | {:.0} % |",
            kernel.hot.all,
            kernel.hot.fma,
            cycles.issue,
            cycles.shared,
            100.0 * fma / longest
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::sass::Counts;

    /// 1024 blocks of 8 warps with 512 slices each: 8 for the multiprocessor with the most.
    #[test]
    fn a_product_takes_its_slices() {
        let hot = Counts {
            all: 598,
            fma: 512,
            barriers: 1,
            ..Counts::default()
        };
        let kernel = Kernel {
            whole: hot,
            hot,
            around: 0,
            broadcasts: 0,
            under_way: 0,
        };
        let work = WORK
            .iter()
            .find(|work| work.name.ends_with("4096, f32"))
            .unwrap();
        let most = (blocks(work) as f64 / MULTIPROCESSORS).ceil();
        let (seconds, bound) = inside(work, &kernel, 8).unwrap();
        let cycles = most * 8.0 * 512.0 * 149.5;
        assert!(
            (seconds * CLOCK - cycles).abs() < 1.0,
            "{}",
            seconds * CLOCK
        );
        assert_eq!(bound, "issue");
    }
}
