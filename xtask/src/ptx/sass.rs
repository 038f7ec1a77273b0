//! What nvdisasm prints of the assembled kernels: their instructions, counted, and the loop in which each
//! spends its time.
use super::hot::{around_slices, innermost, slice_loop, under_way};
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
    /// Cycles of shared memory for a warp: 128 bytes in each, and of what a load of 16 bytes asks for, half is the
    /// same in other lanes.
    pub shared_cycles: usize,
    pub barriers: usize,
    pub shuffles: usize,
}

/// What is known of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kernel {
    pub whole: Counts,
    /// Of one turn of the hot loop.
    pub hot: Counts,
    /// Of a product, instructions of a thread but for its steps of k.
    pub around: usize,
    /// Loads of the hot loop that read the same element in every thread of a warp.
    pub broadcasts: usize,
    /// The most bytes that a thread has asked global memory for, in the hot loop, before it uses any of them.
    pub under_way: usize,
}

/// Kernels whose hot loop reads, beside packs of 16 bytes, single elements: those of a row, which a warp shares.
const SHARED_ELEMENTS: [&str; 2] = ["outer_", "ger_"];

/// An instruction.
#[derive(Clone, Copy, Debug)]
pub struct Instruction<'a> {
    /// Whether it has a predicate in front.
    predicated: bool,
    /// With its modifiers.
    name: &'a str,
    operands: &'a str,
}

impl<'a> Instruction<'a> {
    /// The instruction of a line as `/*0640*/ @P0 LDG.E.128 R20, desc[UR12][R22.64] ;`.
    pub fn parse(line: &'a str) -> Option<Self> {
        let (_, text) = line.trim().strip_prefix("/*")?.split_once("*/")?;
        let text = text.split(';').next()?.trim();
        let (predicated, text) = match text.strip_prefix('@') {
            Some(rest) => (true, rest.split_once(' ')?.1.trim_start()),
            None => (false, text),
        };
        let (name, operands) = text.split_once(' ').unwrap_or((text, ""));
        Some(Self {
            predicated,
            name,
            operands,
        })
    }

    pub fn is(&self, kind: &str) -> bool {
        self.name.split('.').next() == Some(kind)
    }

    /// Bytes that a thread reads or writes, of an access to memory.
    pub fn bytes(&self) -> usize {
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
    pub fn registers(&self) -> impl Iterator<Item = usize> {
        let words = self
            .operands
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        words.filter_map(|word| word.strip_prefix('R')?.parse().ok())
    }

    /// The label to which it jumps, if it is a branch.
    pub fn target(&self) -> Option<&'a str> {
        let label = self.operands.split_once("`(")?.1.split(')').next();
        label.filter(|_| self.is("BRA"))
    }

    /// Whether what stands behind it may come next.
    pub fn falls_through(&self) -> bool {
        let leaves = ["EXIT", "RET", "BRX"].iter().any(|kind| self.is(kind));
        // A branch may have a second predicate, among its operands.
        let jumps = self.is("BRA") && self.operands.trim_start().starts_with('`');
        self.predicated || !(leaves || jumps)
    }
}

impl Counts {
    pub fn of(instructions: &[Instruction]) -> Self {
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
            counts.shared_cycles += match (i.is("LDS"), i.is("STS")) {
                (true, _) => i.bytes().div_ceil(8),
                (_, true) => i.bytes().div_ceil(4),
                _ => 0,
            };
            counts.barriers += usize::from(i.is("BAR"));
            counts.shuffles += usize::from(i.is("SHFL"));
        }
        counts
    }
}

/// Each kernel in what `nvdisasm --print-code` prints.
pub fn kernels(text: &str) -> Result<BTreeMap<String, Kernel>> {
    let mut all = BTreeMap::new();
    for section in text.split("\n.text.").skip(1) {
        let (name, body) = section.split_once(":\n").context("a section's name")?;
        let body = body.split("\n//-----").next().unwrap_or_default();
        all.insert(
            name.to_owned(),
            kernel(name, body).with_context(|| name.to_owned())?,
        );
    }
    ensure!(!all.is_empty(), "no kernels are in the disassembly");
    Ok(all)
}

fn kernel(name: &str, body: &str) -> Result<Kernel> {
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
    // The loop over the slices of a product encloses one over the steps of a slice that is not whole.
    let slices = match name.starts_with("gemm_") {
        true => slice_loop(&code, &labels)?,
        false => None,
    };
    let (hot, around) = match slices {
        Some(turn) => (turn, around_slices(&code, &labels)?),
        None => (innermost(&code, &labels)?.to_vec(), 0),
    };
    let shared = SHARED_ELEMENTS
        .iter()
        .any(|kernel| name.starts_with(kernel));
    let streams = hot
        .iter()
        .filter(|i| !(shared && i.is("LDG") && i.bytes() < 16));
    let streams: Vec<Instruction> = streams.copied().collect();
    Ok(Kernel {
        whole: Counts::of(&code),
        hot: Counts::of(&hot),
        around,
        broadcasts: hot.len() - streams.len(),
        under_way: under_way(&streams),
    })
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
                around: 0,
                broadcasts: 0,
                under_way
            }
        );
        let whole = Counts {
            all: 5,
            loads: [0, 0, 1],
            shared_loads: 1,
            shared_stores: 1,
            shared_cycles: 4,
            shuffles: 1,
            ..Counts::default()
        };
        let hot = Counts::default();
        assert_eq!(
            all["m"],
            Kernel {
                whole,
                hot,
                around: 0,
                broadcasts: 0,
                under_way: 0
            }
        );
        assert!(kernels("").is_err());
    }

    #[test]
    fn an_element_of_a_row_is_read_once_for_a_warp() {
        let other = &kernels(TEXT).unwrap()["k"];
        let text = TEXT
            .replace(".k", ".outer_f32")
            .replace("R12, desc", "R26, desc");
        let text = text.replace("LDG.E.128.CONSTANT R26", "LDG.E R26");
        let outer = &kernels(&text).unwrap()["outer_f32"];
        assert_eq!((other.broadcasts, other.under_way), (0, 32));
        assert_eq!((outer.broadcasts, outer.under_way), (1, 16));
    }
}
