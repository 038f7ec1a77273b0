//! The C functions of the elementwise operations and of the reductions, written from the rows of the table.
use crate::table::{ELEMENTWISE, Elementwise, REDUCTIONS, Reduction};
use anyhow::{Result, ensure};
use std::fmt::Write;

/// An element type of the C interface.
pub struct Type {
    /// What functions on it end with, and the file's name.
    pub suffix: &'static str,
    /// An element in memory.
    element: &'static str,
    /// A number among the arguments.
    scalar: &'static str,
}

/// The element types.
pub const TYPES: [Type; 2] = [
    Type {
        suffix: "f32",
        element: "f32",
        scalar: "f32",
    },
    Type {
        suffix: "f64",
        element: "f64",
        scalar: "f64",
    },
];

/// The families, each a file for every type: its name and its text.
pub fn families(of: &Type) -> Result<[(&'static str, String); 3]> {
    let elementwise: Vec<_> = ELEMENTWISE.iter().map(|row| elementwise(row, of)).collect();
    let vectors = REDUCTIONS.iter().map(|row| vector(row, of));
    let vectors = vectors.collect::<Result<Vec<_>>>()?;
    let rows = REDUCTIONS.iter().map(|row| rows(row, of));
    let rows = rows.collect::<Result<Vec<_>>>()?;
    Ok([
        (
            "elementwise",
            file("One result for each element.", &elementwise),
        ),
        (
            "reduce",
            file("Reductions of a vector to one value.", &vectors),
        ),
        (
            "reduce_rows",
            file(
                "Reductions of the rows of a matrix: either axis, by the strides.",
                &rows,
            ),
        ),
    ])
}

fn file(title: &str, functions: &[Function]) -> String {
    let functions: Vec<String> = functions.iter().map(Function::text).collect();
    let functions = functions.join("\n");
    let panel = if functions.contains("used_if(") {
        "{operation, used_if}"
    } else {
        "operation"
    };
    format!(
        "//! {title}\nuse crate::exec::dpt_exec;\nuse crate::panel::{panel};\nuse crate::status::dpt_status;\n\n\
         {functions}"
    )
}

/// A function.
struct Function {
    /// Its documentation in paragraphs.
    doc: Vec<String>,
    /// Without the prefix.
    name: String,
    /// The operation.
    op: String,
    /// Its arguments after `exec`: names and types.
    arguments: Vec<(String, String)>,
    sizes: &'static str,
    /// The pointers, as `operation!` takes them.
    pointers: Vec<String>,
}

impl Function {
    fn text(&self) -> String {
        let mut text = String::new();
        for paragraph in &self.doc {
            text += &comment(paragraph);
        }
        let names: Vec<&str> = self
            .arguments
            .iter()
            .map(|(name, _)| name.as_str())
            .collect();
        let mut line = |indent: usize, line: &str| {
            writeln!(text, "{:1$}{line}", "", 4 * indent).expect("writing to a string succeeds");
        };
        line(0, "#[unsafe(no_mangle)]");
        line(0, &format!("pub unsafe extern \"C\" fn dpt_{}(", self.name));
        line(1, "exec: *const dpt_exec,");
        for (name, kind) in &self.arguments {
            line(1, &format!("{name}: {kind},"));
        }
        line(0, ") -> dpt_status {");
        line(
            1,
            "// SAFETY: the pointers are as the header demands; `raw` checks what can be checked.",
        );
        line(1, "unsafe {");
        line(2, "operation!(");
        line(3, &format!("\"dpt_{}\",", self.name));
        line(3, "exec,");
        line(3, &format!("{},", self.sizes));
        line(3, &format!("{}({}),", self.op, names.join(", ")));
        line(3, &format!("[{}]", self.pointers.join(", ")));
        line(2, ")");
        line(1, "}");
        line(0, "}");
        text
    }
}

fn elementwise(row: &Elementwise, of: &Type) -> Function {
    let inputs: Vec<&str> = row
        .arguments
        .iter()
        .filter(|(_, role)| role.is_array())
        .map(|(name, _)| *name)
        .collect();
    let arrays = [&inputs[..], &[row.output]].concat();
    let mut doc = paragraphs(row.doc);
    doc.push(format!(
        "Shapes: {} {} n elements, one after the other.",
        list(&arrays, "and"),
        if arrays.len() == 1 { "has" } else { "have" }
    ));
    let exactly: Vec<String> = inputs
        .iter()
        .map(|name| format!("exactly {name}"))
        .collect();
    let (output, rest) = (row.output, list(&inputs, "and"));
    match inputs.len() {
        0 => {}
        1 => doc.push(format!("Aliasing: {output} may be {}.", exactly[0])),
        _ => doc.push(format!(
            "Aliasing: {output} may be {} (or both); {rest} may overlap in any way.",
            exactly.join(" or ")
        )),
    }
    let pointers = if inputs.is_empty() {
        output
    } else {
        "the pointers"
    };
    doc.push(format!(
        "Empty: n = 0 succeeds, and {pointers} may then be NULL."
    ));
    doc.push("Errors: the common ones.".into());

    let mut arguments = vec![("n".into(), "i64".into())];
    for (name, role) in row.arguments {
        let kind = if role.is_array() {
            format!("*const {}", of.element)
        } else {
            of.scalar.into()
        };
        arguments.push(((*name).into(), kind));
    }
    arguments.push((output.into(), format!("*mut {}", of.element)));
    Function {
        doc,
        name: format!("{}_{}", row.name, of.suffix),
        op: row.name.into(),
        arguments,
        sizes: "[n]",
        pointers: arrays.into_iter().map(String::from).collect(),
    }
}

/// The value that nothing gives, out of the documentation of a row.
const EMPTY: &str = "Empty: ";

/// What is the same in both forms of a reduction: its documentation, and the value of nothing where it has one.
fn reduction(row: &Reduction) -> Result<(Vec<String>, Option<String>)> {
    let (empty, doc): (Vec<_>, Vec<_>) = paragraphs(row.doc)
        .into_iter()
        .partition(|text| text.starts_with(EMPTY));
    let empty = empty
        .first()
        .map(|text| text[EMPTY.len()..].trim_end_matches('.').to_owned());
    ensure!(
        empty.is_some() != row.needs_elements,
        "{}: `{EMPTY}` says what nothing gives, where that is a value",
        row.name
    );
    Ok((doc, empty))
}

fn vector(row: &Reduction, of: &Type) -> Result<Function> {
    let (mut doc, empty) = reduction(row)?;
    let (one, aliasing) = if row.gives_index {
        ("int64_t", "does not overlap x")
    } else {
        ("element", "is not an element of x")
    };
    doc.push(format!(
        "Shapes: x has n elements, x[i * incx]; incx may be 0 or negative. *out is one {one}."
    ));
    doc.push(format!("Aliasing: out {aliasing}."));
    let mut errors = String::from("Errors: the common ones");
    if let Some(value) = &empty {
        doc.push(format!(
            "Empty: n = 0 gives {value}, and x may then be NULL."
        ));
    } else {
        doc.push("Empty: n = 0 is DPT_EMPTY_REDUCTION.".into());
        errors += "; DPT_EMPTY_REDUCTION";
    }
    if row.ddof {
        errors += "; DPT_INVALID_VALUE when ddof < 0 or ddof >= n";
    }
    doc.push(errors + ".");

    let out = if empty.is_some() {
        "out = used_if(true, out)"
    } else {
        "out"
    };
    let output = [("out", format!("*mut {}", result(row, of)))];
    Ok(Function {
        doc,
        name: format!("{}_{}", row.name, of.suffix),
        op: row.name.into(),
        arguments: arguments(row, of, &["n"], &["incx"], &output),
        sizes: "[n]",
        pointers: vec!["x".into(), out.into()],
    })
}

fn rows(row: &Reduction, of: &Type) -> Result<Function> {
    let (said, empty) = reduction(row)?;
    let (bits, index) = if row.counts {
        ("", "")
    } else if row.gives_index {
        ("", ": an index into the row")
    } else {
        (", with exactly its bits", "")
    };
    let mut doc = vec![
        format!("out[i] = dpt_{}_{} of row i of X{bits}, for i in 0 .. m{index}.", row.name, of.suffix),
        String::new(),
        "Shapes: X is m x n, x[i * rs + j * cs]; rs and cs may be 0 or negative. For the columns of a matrix \
         exchange m with n and rs with cs. out has m elements, out[i * inc_out]; inc_out may be negative, but no \
         two elements may lie at one place."
            .into(),
    ];
    doc.extend(said.into_iter().filter(|text| text.starts_with("NaN: ")));
    doc.push("Aliasing: out does not overlap X.".into());
    let mut errors = String::from("Errors: the common ones");
    if let Some(value) = &empty {
        doc.push(format!(
            "Empty: n = 0 gives {value} in every row, and x may then be NULL; m = 0 succeeds and writes nothing."
        ));
    } else {
        doc.push(
            "Empty: m = 0 succeeds and writes nothing; else n = 0 is DPT_EMPTY_REDUCTION.".into(),
        );
        errors += "; DPT_EMPTY_REDUCTION";
    }
    if row.ddof {
        errors += "; DPT_INVALID_VALUE when n > 0, whatever m,\nand ddof < 0 or ddof >= n";
    }
    doc.push(errors + ".");

    let out = if empty.is_some() {
        "out = used_if(m > 0, out)"
    } else {
        "out"
    };
    let output = [
        ("out", format!("*mut {}", result(row, of))),
        ("inc_out", "i64".into()),
    ];
    let op = format!("{}_rows", row.name);
    Ok(Function {
        doc,
        name: format!("{op}_{}", of.suffix),
        op,
        arguments: arguments(row, of, &["m", "n"], &["rs", "cs"], &output),
        sizes: "[m, n]",
        pointers: vec!["x".into(), out.into()],
    })
}

/// What a reduction gives.
fn result(row: &Reduction, of: &Type) -> &'static str {
    if row.gives_index { "i64" } else { of.element }
}

/// The arguments of a reduction: sizes, x with its strides, `ddof`, and what it writes.
fn arguments(
    row: &Reduction,
    of: &Type,
    sizes: &[&str],
    strides: &[&str],
    out: &[(&str, String)],
) -> Vec<(String, String)> {
    let int = |name: &&str| (String::from(*name), String::from("i64"));
    let mut all: Vec<_> = sizes.iter().map(int).collect();
    all.push(("x".into(), format!("*const {}", of.element)));
    all.extend(strides.iter().map(int));
    all.extend(row.ddof.then(|| int(&"ddof")));
    all.extend(
        out.iter()
            .map(|(name, kind)| (String::from(*name), kind.clone())),
    );
    all
}

/// The paragraphs of a documentation for rustdoc, for C: a line that begins with a word and a colon begins one too.
fn paragraphs(doc: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for line in doc {
        let line = line.trim().replace("\\[", "[").replace("\\]", "]");
        let label = line
            .split_once(": ")
            .is_some_and(|(word, _)| ["NaN", "Empty"].contains(&word));
        match all.last_mut() {
            Some(last) if !last.is_empty() && !line.is_empty() && !label => {
                last.push('\n');
                last.push_str(&line);
            }
            _ => all.push(line),
        }
    }
    // What is said beside the first sentence stands apart from it, even if that is only what the generator adds.
    if all.len() == 1 {
        all.push(String::new());
    }
    all
}

/// "x", "x and y", "x, y and out".
fn list(names: &[&str], last: &str) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).into(),
        [rest @ .., end] => format!("{} {last} {end}", rest.join(", ")),
    }
}

/// A paragraph as lines of documentation: its own, broken where they are too long.
fn comment(paragraph: &str) -> String {
    const WIDTH: usize = 100;
    let mut text = String::new();
    for line in paragraph.split('\n') {
        let mut width = 3;
        text += "///";
        for word in line.split_whitespace() {
            if width + 1 + word.len() > WIDTH {
                text += "\n///";
                width = 3;
            }
            text += " ";
            text += word;
            width += 1 + word.len();
        }
        text += "\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documentation_for_rust_becomes_that_for_c() {
        let doc = [
            " y\\[i\\] = 2 x\\[i\\],",
            " in order.",
            "",
            " NaN: stays.",
            " Empty: 1.",
        ];
        assert_eq!(
            paragraphs(&doc),
            ["y[i] = 2 x[i],\nin order.", "", "NaN: stays.", "Empty: 1."]
        );
        assert_eq!(comment("a\nb c"), "/// a\n/// b c\n");
    }

    #[test]
    fn lists_read_well() {
        assert_eq!(list(&["x"], "and"), "x");
        assert_eq!(list(&["x", "y", "out"], "and"), "x, y and out");
    }
}
