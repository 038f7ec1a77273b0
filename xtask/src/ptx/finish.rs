//! What rustc cannot say, put into its PTX: launch bounds; and what it says too much, taken out.
use anyhow::{Result, bail, ensure};

/// How a kernel asks for a directive, in a comment of its inline assembly.
const DIRECTIVE: &str = "//@launch ";

/// Moves directives in front of the bodies of their entries, and drops comments. Refuses what no kernel
/// may have: functions that are called, data of panics, and arithmetic that is not rounded to nearest even.
pub fn finish(text: &str) -> Result<String> {
    let mut lines: Vec<String> = Vec::new();
    // Where the body of the entry that is being read begins.
    let mut body = None;
    for line in text.lines() {
        let bare = line.trim();
        if let Some(directive) = bare.strip_prefix(DIRECTIVE) {
            let Some(at) = body else {
                bail!("{directive:?} outside an entry");
            };
            if lines[at - 1] != directive {
                lines.insert(at, directive.to_owned());
                body = Some(at + 1);
            }
            continue;
        }
        if bare.is_empty() || bare.starts_with("//") {
            continue;
        }
        ensure!(
            !(bare.starts_with(".func") || bare.starts_with(".visible .func")),
            "{bare}: a kernel calls a function; everything in it must be inlined"
        );
        ensure!(
            !bare.starts_with(".global"),
            "{bare}: a kernel has data; probably of a panic or of an array with a dynamic index"
        );
        ensure!(
            is_exact(bare),
            "{bare}: without .rn, the assembler may contract it, and the bits would differ"
        );
        if line == "{" {
            body = Some(lines.len());
        } else if line == "}" {
            body = None;
        }
        let code = line.split_once(" // ").map_or(line, |(code, _)| code);
        lines.push(code.trim_end().to_owned());
    }
    lines.push(String::new());
    Ok(lines.join("\n"))
}

/// Whether an instruction, if it is floating-point arithmetic, is IEEE 754 rounded to nearest even.
fn is_exact(line: &str) -> bool {
    const ROUNDED: [&str; 8] = ["add", "sub", "mul", "fma", "mad", "div", "sqrt", "rcp"];
    let instruction = line.rsplit("@").next().unwrap_or(line);
    let name = instruction
        .split_whitespace()
        .find(|word| !word.starts_with("%p") && !word.starts_with("!%p"))
        .unwrap_or_default();
    let mut parts = name.split('.');
    let is_rounded = parts.next().is_some_and(|verb| ROUNDED.contains(&verb));
    let modifiers: Vec<&str> = parts.collect();
    let is_float = modifiers.iter().any(|m| matches!(*m, "f32" | "f64"));
    let is_loose = modifiers
        .iter()
        .any(|m| matches!(*m, "ftz" | "approx" | "full"));
    !is_loose && (!is_rounded || !is_float || modifiers.contains(&"rn"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_move_and_comments_go() {
        let text = "// x\n.version 6.3\n\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n\t// begin inline asm\n\
                    \t//@launch .maxntid 64, 1, 1\n\t// end inline asm\n\tret; // y\n}\n";
        let finished = ".version 6.3\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n.maxntid 64, 1, 1\n{\n\tret;\n}\n";
        assert_eq!(finish(text).unwrap(), finished);
        assert!(finish(".visible .func f()\n").is_err());
        assert!(finish(".global .align 1 .b8 message[3];\n").is_err());
        assert!(finish("//@launch .maxntid 1, 1, 1\n").is_err());
    }

    #[test]
    fn loose_arithmetic_is_seen() {
        for exact in [
            "add.rn.f32 %r1, %r2, %r3;",
            "@%p1 fma.rn.f64 %rd1, %rd2, %rd3, %rd4;",
            "add.s64 %rd1, %rd2, %rd3;",
            "ld.global.v4.f32 {%r1,%r2,%r3,%r4}, [%rd1];",
        ] {
            assert!(is_exact(exact), "{exact}");
        }
        for loose in [
            "mul.f32 %r1, %r2, %r3;",
            "@!%p1 add.f64 %rd1, %rd2, %rd3;",
            "add.rn.ftz.f32 %r1, %r2, %r3;",
            "sqrt.approx.f32 %r1, %r2;",
            "ex2.approx.f32 %r1, %r2;",
            "div.full.f32 %r1, %r2, %r3;",
        ] {
            assert!(!is_exact(loose), "{loose}");
        }
    }
}
