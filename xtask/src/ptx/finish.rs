//! Finishing rustc's PTX: adds the launch bounds, which rustc cannot express, and refuses what no kernel may have.
use anyhow::{Context, Result, ensure};

/// How a kernel asks for a directive, in a comment of its inline assembly.
const DIRECTIVE: &str = "//@launch ";

/// Moves directives in front of the bodies of their entries, and drops comments. Refuses functions that are called,
/// data of panics, and arithmetic that is not rounded to nearest even.
pub fn finish(text: &str) -> Result<String> {
    let mut lines: Vec<&str> = Vec::new();
    // The line where the body of the present entry begins.
    let mut body = None;
    for line in text.lines() {
        let bare = line.trim();
        if let Some(directive) = bare.strip_prefix(DIRECTIVE) {
            let at = body.with_context(|| format!("{directive:?} outside an entry"))?;
            if lines[at - 1] != directive {
                lines.insert(at, directive);
                body = Some(at + 1);
            }
            continue;
        }
        if bare.is_empty() || bare.starts_with("//") {
            continue;
        }
        let is_call = bare.starts_with(".func") || bare.starts_with(".visible .func");
        for (is_refused, reason) in [
            (
                is_call,
                "a kernel calls a function; everything in it must be inlined",
            ),
            (
                bare.starts_with(".global"),
                "a kernel has data; probably of a panic or of an array with a dynamic index",
            ),
            (
                !is_exact(bare),
                "without .rn, the assembler may contract it, and the bits would differ",
            ),
        ] {
            ensure!(!is_refused, "{bare}: {reason}");
        }
        if line == "{" {
            body = Some(lines.len());
        } else if line == "}" {
            body = None;
        }
        let code = line.split_once(" // ").map_or(line, |(code, _)| code);
        lines.push(code.trim_end());
    }
    lines.push("");
    Ok(lines.join("\n"))
}

/// Whether an instruction, if it is floating-point arithmetic, is IEEE 754 rounded to nearest even.
fn is_exact(line: &str) -> bool {
    const ROUNDED: [&str; 8] = ["add", "sub", "mul", "fma", "mad", "div", "sqrt", "rcp"];
    let instruction = line.rsplit('@').next().unwrap_or(line);
    let mut words = instruction.split_whitespace();
    let name = words.find(|word| !word.starts_with("%p") && !word.starts_with("!%p"));
    let parts: Vec<&str> = name.unwrap_or_default().split('.').collect();
    let has = |names: &[&str]| parts[1..].iter().any(|part| names.contains(part));
    let is_rounded = ROUNDED.contains(&parts[0]) && has(&["f32", "f64"]);
    !has(&["ftz", "approx", "full"]) && (!is_rounded || has(&["rn"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directives_move_and_comments_go() {
        let text = "// x\n.version 6.3\n\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n{\n\t// begin inline asm\n\
                    \t//@launch .maxntid 64, 1, 1\n\t// end inline asm\n\tret; // y\n}\n";
        let finished = ".version 6.3\n.visible .entry k(\n\t.param .u64 k_param_0\n)\n\
                        .maxntid 64, 1, 1\n{\n\tret;\n}\n";
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
