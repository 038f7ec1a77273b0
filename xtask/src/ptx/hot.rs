//! The loop in which a kernel spends its time, and what its loads have under way.
use super::flow::{Flow, Loop};
use super::sass::{Counts, Instruction};
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};

/// The innermost loop with the most work.
pub fn innermost<'a, 'b>(
    code: &'b [Instruction<'a>],
    labels: &BTreeMap<&str, usize>,
) -> Result<&'b [Instruction<'a>]> {
    // From the first instruction of each loop to the last jump back to it.
    let mut loops = BTreeMap::new();
    for (at, instruction) in code.iter().enumerate() {
        if let Some(label) = instruction.target() {
            let start = *labels.get(label).with_context(|| label.to_owned())?;
            // The last instruction jumps to itself.
            if start < at {
                loops.insert(start, at);
            }
        }
    }
    let innermost = loops.iter().filter(|&(start, end)| {
        let mut inside = loops.range(start + 1..);
        !inside.any(|(_, inner)| inner <= end)
    });
    let bodies = innermost.map(|(&start, &end)| &code[start..=end]);
    let hot = bodies.max_by_key(|body| {
        let counts = Counts::of(body);
        // The products' loops, before the one that folds the parts of a product.
        let staged = counts.fma > 0 && counts.shared_loads > 0;
        let work = 16 * counts.fma + traffic(body);
        // Of two alike the one that was written so; the other walks the rest behind it.
        (staged, work, under_way(body))
    });
    Ok(hot.unwrap_or_default())
}

/// One turn of the loop that brings the next slices of two matrices to shared memory while it multiplies those
/// that are there: the way on which most is done, with the fewest instructions. `None` where there is no such loop.
pub fn slice_loop<'a>(
    code: &[Instruction<'a>],
    labels: &BTreeMap<&str, usize>,
) -> Result<Option<Vec<Instruction<'a>>>> {
    let (starts, flow) = flow(code, labels)?;
    let block = |b: usize| &code[starts[b]..starts.get(b + 1).copied().unwrap_or(code.len())];
    let loops = flow.loops();
    let turns = loops.iter().map(|of_loop| {
        // What loops within do is not this one's.
        let inner: Vec<&Loop> = (loops.iter())
            .filter(|other| other.head != of_loop.head && of_loop.blocks.contains(&other.head))
            .collect();
        let own = |b: usize| !inner.iter().any(|other| other.blocks.contains(&b));
        let work = |b: usize| {
            let counts = Counts::of(block(b));
            // Narrow loads do not count: where wide ones are, a way with both may be there that nothing takes.
            let work = counts.fma + counts.shared_loads + counts.shared_stores + counts.loads[0];
            (if own(b) { work } else { 0 }, counts.all)
        };
        let way = flow.turn(of_loop, work);
        let own = way.into_iter().filter(|&b| own(b));
        own.flat_map(|b| block(b).iter().copied()).collect()
    });
    let stages = |turn: &Vec<Instruction>| {
        let counts = Counts::of(turn);
        let loads: usize = counts.loads.iter().sum();
        let each = [
            loads,
            counts.shared_stores,
            counts.barriers,
            counts.shared_loads,
        ];
        each.iter().all(|&count| count > 0)
    };
    Ok(turns.filter(stages).max_by_key(|turn| Counts::of(turn).fma))
}

/// Instructions of a thread that stores its part of a tile 16 bytes at a time, and reads none of it before, but
/// for its steps of k.
pub fn around_slices(code: &[Instruction], labels: &BTreeMap<&str, usize>) -> Result<usize> {
    let (starts, flow) = flow(code, labels)?;
    let block = |b: usize| &code[starts[b]..starts.get(b + 1).copied().unwrap_or(code.len())];
    let leaves = |b: &usize| block(*b).last().is_some_and(|i| i.is("EXIT"));
    let ends: Vec<usize> = (0..starts.len()).filter(leaves).collect();
    let of = |b: usize| {
        let counts = Counts::of(block(b));
        (counts.stores[0], counts.all)
    };
    let way = flow.through(&ends, of);
    Ok(way.into_iter().map(|b| block(b).len()).sum())
}

/// Where the blocks of a kernel begin, and how they follow each other.
fn flow(code: &[Instruction], labels: &BTreeMap<&str, usize>) -> Result<(Vec<usize>, Flow)> {
    let target = |label: &str| {
        let at = labels.get(label).copied();
        at.with_context(|| label.to_owned())
    };
    let mut starts = BTreeSet::from([0]);
    for (at, instruction) in code.iter().enumerate() {
        if let Some(label) = instruction.target() {
            starts.insert(target(label)?);
        }
        let leaves = instruction.target().is_some() || instruction.is("EXIT");
        if leaves || !instruction.falls_through() {
            starts.insert(at + 1);
        }
    }
    let starts: Vec<usize> = starts.into_iter().filter(|&at| at < code.len()).collect();
    let number = |at: usize| starts.partition_point(|&start| start < at);
    let mut successors = Vec::new();
    for (b, &start) in starts.iter().enumerate() {
        let end = starts.get(b + 1).copied().unwrap_or(code.len());
        let last = code[start..end].last();
        let mut next = Vec::new();
        if last.is_some_and(Instruction::falls_through) && end < code.len() {
            next.push(b + 1);
        }
        if let Some(label) = last.and_then(Instruction::target) {
            next.push(number(target(label)?));
        }
        successors.push(next);
    }
    Ok((starts, Flow::new(successors)))
}

/// The most bytes of loads whose registers nobody has named since, in two turns of a loop.
pub fn under_way(body: &[Instruction]) -> usize {
    let (mut loads, mut most) = (Vec::new(), 0);
    for i in body.iter().chain(body) {
        loads.retain(|(registers, _): &(core::ops::Range<usize>, usize)| {
            !i.registers().any(|r| registers.contains(&r))
        });
        if let Some(first) = i.registers().next().filter(|_| i.is("LDG")) {
            loads.push((first..first + i.bytes().div_ceil(4), i.bytes()));
        }
        most = most.max(loads.iter().map(|(_, bytes)| bytes).sum());
    }
    most
}

/// Bytes of global memory that a thread reads and writes.
fn traffic(instructions: &[Instruction]) -> usize {
    let global = instructions.iter().filter(|i| i.is("LDG") || i.is("STG"));
    global.map(Instruction::bytes).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::sass::kernels;

    const PRODUCT: &str = ".text.gemm_k:
.L_x_0:
        /*0000*/              @!P5 BRA P4, `(.L_x_1) ;
        /*0010*/                   LDG.E R4, desc[UR4][R2.64] ;
        /*0020*/                   LDG.E R5, desc[UR4][R2.64] ;
        /*0030*/                   LDG.E R6, desc[UR4][R2.64] ;
        /*0040*/                   LDG.E R7, desc[UR4][R2.64] ;
        /*0050*/                   BRA `(.L_x_2) ;
.L_x_1:
        /*0060*/                   LDG.E.128 R4, desc[UR4][R2.64] ;
.L_x_2:
        /*0070*/               @P0 BRA `(.L_x_4) ;
.L_x_3:
        /*0080*/                   LDS.128 R8, [R3] ;
        /*0090*/                   FFMA R12, R8, R9, R12 ;
        /*00a0*/               @P1 BRA `(.L_x_3) ;
        /*00b0*/                   BRA `(.L_x_5) ;
.L_x_4:
        /*00c0*/                   LDS.128 R8, [R3] ;
        /*00d0*/                   FFMA R12, R8, R9, R12 ;
        /*00e0*/                   FFMA R12, R10, R11, R12 ;
.L_x_5:
        /*00f0*/                   STS.128 [R3], R4 ;
        /*0100*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*0110*/               @P2 BRA `(.L_x_0) ;
        /*0120*/              @!P3 EXIT ;
        /*0130*/                   BRA `(.L_x_0) ;
";

    /// The way through the loop with a whole slice and wide loads, past the loop for the rest of one.
    #[test]
    fn products_go_slice_by_slice() {
        let hot = Counts {
            all: 9,
            fma: 2,
            loads: [1, 0, 0],
            shared_loads: 1,
            shared_stores: 1,
            shared_cycles: 6,
            barriers: 1,
            ..Counts::default()
        };
        let text = format!("\n{PRODUCT}");
        let kernel = kernels(&text).unwrap()["gemm_k"];
        assert_eq!(kernel.hot, hot);
        // Nothing leads past the steps here.
        assert_eq!(kernel.around, 10);
        let other = kernels(&text.replace("gemm_k", "k")).unwrap();
        assert_eq!((other["k"].hot.all, other["k"].hot.fma), (3, 1));
    }

    #[test]
    fn loads_that_are_used_are_not_under_way() {
        let lines = [
            "/*0*/ LDG.E.128 R8, desc[UR12][R22.64] ;",
            "/*1*/ FADD R1, R11, R1 ;",
            "/*2*/ LDG.E.64 R8, desc[UR12][R22.64] ;",
            "/*3*/ LDG.E R10, desc[UR12][R22.64] ;",
            "/*4*/ FADD R1, R10, R8 ;",
        ];
        let body: Vec<_> = lines
            .iter()
            .filter_map(|line| Instruction::parse(line))
            .collect();
        assert_eq!(body.len(), 5);
        assert_eq!(under_way(&body), 16);
        assert_eq!(under_way(&body[2..]), 12);
    }
}
