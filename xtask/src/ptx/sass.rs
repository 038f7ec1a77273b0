//! What nvdisasm prints of the assembled kernels: their instructions, counted, and the loop in which each
//! spends its time.
use anyhow::{Context, Result, ensure};
use std::collections::BTreeMap;

/// Numbers of instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub all: usize,
    /// fma in f32 or f64.
    pub fma: usize,
    /// All arithmetic in f64, which has a pipe of its own.
    pub double: usize,
    /// Accesses to global memory of 16 bytes, 8 bytes, and less.
    pub loads: [usize; 3],
    pub stores: [usize; 3],
    pub shared_loads: usize,
    pub shared_stores: usize,
    pub barriers: usize,
    pub shuffles: usize,
}

/// What is known of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    pub whole: Counts,
    /// Of one turn of the hot loop.
    pub hot: Counts,
    /// The most bytes that a thread has asked global memory for, in the hot loop, before it uses any of them.
    pub under_way: usize,
}

/// An instruction without its predicate.
#[derive(Clone, Copy, Debug)]
struct Instruction<'a> {
    /// With its modifiers.
    name: &'a str,
    operands: &'a str,
}

impl<'a> Instruction<'a> {
    /// The instruction of a line as `/*0640*/ @P0 LDG.E.128 R20, desc[UR12][R22.64] ;`.
    fn parse(line: &'a str) -> Option<Self> {
        let (_, text) = line.trim().strip_prefix("/*")?.split_once("*/")?;
        let text = text.split(';').next()?.trim();
        let text = match text.strip_prefix('@') {
            Some(rest) => rest.split_once(' ')?.1.trim_start(),
            None => text,
        };
        let (name, operands) = text.split_once(' ').unwrap_or((text, ""));
        Some(Self { name, operands })
    }

    fn is(&self, kind: &str) -> bool {
        self.name.split('.').next() == Some(kind)
    }

    /// Bytes that a thread reads or writes, of an access to memory.
    fn bytes(&self) -> usize {
        let width = |modifier| match modifier {
            "128" => Some(16),
            "64" => Some(8),
            "U16" | "S16" => Some(2),
            "U8" | "S8" => Some(1),
            _ => None,
        };
        self.name.split('.').find_map(width).unwrap_or(4)
    }

    /// Numbers of the registers that it names.
    fn registers(&self) -> impl Iterator<Item = usize> {
        let words = self
            .operands
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.filter_map(|word| word.strip_prefix('R')?.parse().ok())
    }

    /// The label to which it jumps, if it is a branch.
    fn target(&self) -> Option<&'a str> {
        let label = self.operands.split_once("`(")?.1.split(')').next();
        label.filter(|_| self.is("BRA"))
    }
}

impl Counts {
    fn of(instructions: &[Instruction]) -> Self {
        let mut counts = Self::default();
        for i in instructions {
            let width = match i.bytes() {
                16 => 0,
                8 => 1,
                _ => 2,
            };
            counts.all += 1;
            counts.fma += usize::from(i.is("FFMA") || i.is("DFMA"));
            counts.double += usize::from(["DFMA", "DADD", "DMUL"].iter().any(|kind| i.is(kind)));
            counts.loads[width] += usize::from(i.is("LDG"));
            counts.stores[width] += usize::from(i.is("STG"));
            counts.shared_loads += usize::from(i.is("LDS"));
            counts.shared_stores += usize::from(i.is("STS"));
            counts.barriers += usize::from(i.is("BAR"));
            counts.shuffles += usize::from(i.is("SHFL"));
        }
        counts
    }
}

/// Bytes of global memory that a thread reads and writes.
fn traffic(instructions: &[Instruction]) -> usize {
    let global = instructions.iter().filter(|i| i.is("LDG") || i.is("STG"));
    global.map(Instruction::bytes).sum()
}

/// Each kernel in what `nvdisasm --print-code` prints.
pub fn kernels(text: &str) -> Result<BTreeMap<String, Kernel>> {
    let mut all = BTreeMap::new();
    for section in text.split("\n.text.").skip(1) {
        let (name, body) = section.split_once(":\n").context("a section's name")?;
        let body = body.split("\n//-----").next().unwrap_or_default();
        all.insert(
            name.to_owned(),
            kernel(body).with_context(|| name.to_owned())?,
        );
    }
    ensure!(!all.is_empty(), "no kernels are in the disassembly");
    Ok(all)
}

fn kernel(body: &str) -> Result<Kernel> {
    let (mut code, mut labels) = (Vec::new(), BTreeMap::new());
    for line in body.lines() {
        if let Some(label) = line.strip_suffix(':') {
            labels.insert(label, code.len());
        } else if let Some(instruction) = Instruction::parse(line) {
            // What fills the end up.
            if !instruction.is("NOP") {
                code.push(instruction);
            }
        }
    }
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
    let hot = hot.unwrap_or_default();
    Ok(Kernel {
        whole: Counts::of(&code),
        hot: Counts::of(hot),
        under_way: under_way(hot),
    })
}

/// The most bytes of loads whose registers nobody has named since, in two turns of a loop.
fn under_way(body: &[Instruction]) -> usize {
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

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\t.section\t.text.k,\"ax\"\nk:\n.text.k:
        /*0000*/                   LDC R1, c[0x0][0x28] ;
.L_x_0:
        /*0010*/                   LDG.E.64 R20, desc[UR12][R22.64] ;
.L_x_1:
        /*0020*/                   LDG.E.128 R8, desc[UR12][R22.64] ;
        /*0030*/                   LDG.E.128.CONSTANT R12, desc[UR12][R22.64+0x10] ;
        /*0040*/                   FFMA R9, R9.reuse, R2, RZ ;
        /*0050*/               @P1 STG.E desc[UR12][R24.64], R13 ;
        /*0060*/               @P1 BRA `(.L_x_1) ;
        /*0070*/              @!P0 BRA `(.L_x_0) ;
        /*0080*/                   BAR.SYNC.DEFER_BLOCKING 0x0 ;
        /*0090*/                   DADD R2, R2, R4 ;
        /*00a0*/                   EXIT ;
.L_x_2:
        /*00b0*/                   BRA `(.L_x_2);
        /*00c0*/                   NOP ;
//--------------------- .text.m --------------------------
\t.section\t.text.m,\"ax\"
.text.m:
        /*0000*/                   SHFL.BFLY PT, R2, R3, 0x1, 0x1f ;
        /*0010*/                   LDS.128 R4, [R3] ;
        /*0020*/                   STS.64 [R3], R4 ;
        /*0030*/                   LDG.E.U8 R4, desc[UR4][R2.64] ;
        /*0040*/                   EXIT ;
";

    #[test]
    fn instructions_are_counted() {
        let all = kernels(TEXT).unwrap();
        let whole = Counts {
            all: 12,
            fma: 1,
            double: 1,
            loads: [2, 1, 0],
            stores: [0, 0, 1],
            barriers: 1,
            ..Counts::default()
        };
        let hot = Counts {
            all: 5,
            fma: 1,
            loads: [2, 0, 0],
            stores: [0, 0, 1],
            ..Counts::default()
        };
        // R9 is of the first load, R13 of the second.
        let under_way = 32;
        assert_eq!(
            all["k"],
            Kernel {
                whole,
                hot,
                under_way
            }
        );
        let whole = Counts {
            all: 5,
            loads: [0, 0, 1],
            shared_loads: 1,
            shared_stores: 1,
            shuffles: 1,
            ..Counts::default()
        };
        let hot = Counts::default();
        assert_eq!(
            all["m"],
            Kernel {
                whole,
                hot,
                under_way: 0
            }
        );
        assert!(kernels("").is_err());
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
