//! Writes the C functions of the elementwise operations, the reductions and the maps over rows from the rows of the table.
use super::types::{Type, comment};
use crate::table::{ELEMENTWISE, Elementwise, REDUCTIONS, ROW_MAPS, Reduction, RowMap};
use anyhow::{Result, ensure};
use std::fmt::Write;

/// The families: the name and the text of the file for a type.
pub fn families(of: &Type) -> Result<[(&'static str, String); 4]> {
    let elementwise: Vec<_> = ELEMENTWISE.iter().map(|row| elementwise(row, of)).collect();
    let vectors = REDUCTIONS.iter().map(|row| vector(row, of));
    let vectors = vectors.collect::<Result<Vec<_>>>()?;
    let rows = REDUCTIONS.iter().map(|row| rows(row, of));
    let rows = rows.collect::<Result<Vec<_>>>()?;
    let row_maps: Vec<_> = ROW_MAPS.iter().map(|row| row_map(row, of)).collect();
    Ok([
        (
            "elementwise",
            file(of, "One result for each element.", &elementwise),
        ),
        (
            "reduce",
            file(of, "Reductions of a vector to one value.", &vectors),
        ),
        (
            "reduce_rows",
            file(
                of,
                "Reductions of the rows of a matrix: either axis, by the strides.",
                &rows,
            ),
        ),
        (
            "row_map",
            file(
                of,
                "Maps over the rows of a matrix: either axis, by the strides.",
                &row_maps,
            ),
        ),
    ])
}

fn file(of: &Type, title: &str, functions: &[Function]) -> String {
    let functions: Vec<String> = functions.iter().map(|one| one.text(of)).collect();
    let functions = functions.join("\n");
    let imported = if functions.contains("used_if(") {
        "{operation, used_if}"
    } else {
        "operation"
    };
    format!(
        "//! {title}\nuse crate::exec::dpt_exec;\nuse crate::backend::{imported};\nuse crate::status::dpt_status;\n\n\
         {functions}"
    )
}

/// A function.
struct Function {
    /// The paragraphs of its documentation.
    doc: Vec<String>,
    /// Without the prefix.
    name: String,
    /// The operation.
    op: String,
    /// The names and types of its arguments after `exec`.
    arguments: Vec<(String, String)>,
    sizes: &'static str,
    /// The pointers, in the syntax of `operation!`.
    pointers: Vec<String>,
}

impl Function {
    fn text(&self, of: &Type) -> String {
        let mut text = String::new();
        match of.instead_of_doc(&self.name) {
            Some(doc) => text += &doc,
            None => text.extend(self.doc.iter().map(|paragraph| comment(paragraph))),
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
    let mut arguments = vec![("n".into(), "i64".into())];
    for (name, role) in row.arguments {
        let kind = if role.is_array() {
            format!("*const {}", of.element)
        } else {
            of.scalar.into()
        };
        arguments.push(((*name).into(), kind));
    }
    arguments.push((row.output.into(), format!("*mut {}", of.element)));
    Function {
        doc: paragraphs(row.doc),
        name: format!("{}_{}", row.name, of.suffix),
        op: row.name.into(),
        arguments,
        sizes: "[n]",
        pointers: arrays.into_iter().map(String::from).collect(),
    }
}

/// The line of a row's documentation that says what the reduction of no elements gives.
const EMPTY: &str = "Empty: ";

/// The documentation of the vector form, and the result for no elements where there is one.
fn reduction(row: &Reduction) -> Result<(Vec<String>, Option<String>)> {
    let (empty, mut doc): (Vec<_>, Vec<_>) = paragraphs(row.doc)
        .into_iter()
        .partition(|text| text.starts_with(EMPTY));
    let empty = empty
        .first()
        .map(|text| text[EMPTY.len()..].trim_end_matches('.').to_owned());
    ensure!(
        empty.is_some() != row.needs_elements,
        "{}: a line `{EMPTY}` must say what no elements give, if that is a value",
        row.name
    );
    if let Some(first) = doc.first_mut() {
        *first += &match &empty {
            Some(value) => format!(" n = 0 gives {value}."),
            None => " n = 0 is DPT_EMPTY_REDUCTION.".into(),
        };
    }
    if row.ddof {
        doc.push("Errors: also DPT_INVALID_VALUE when n > 0 and (ddof < 0 or ddof >= n).".into());
    }
    Ok((doc, empty))
}

fn vector(row: &Reduction, of: &Type) -> Result<Function> {
    let (doc, empty) = reduction(row)?;
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
    let (_, empty) = reduction(row)?;
    let index = if row.gives_index && !row.counts {
        ": an index into the row"
    } else {
        ""
    };
    let mut doc = vec![format!(
        "dpt_{}_{} of each row{index}.",
        row.name, of.suffix
    )];
    if row.ddof {
        doc[0] += " If n > 0, a bad ddof is DPT_INVALID_VALUE even if m = 0.";
    }

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

fn row_map(row: &RowMap, of: &Type) -> Function {
    let int = |name: &str| (name.into(), "i64".into());
    Function {
        doc: paragraphs(row.doc),
        name: format!("{}_{}", row.name, of.suffix),
        op: row.name.into(),
        arguments: vec![
            int("m"),
            int("n"),
            ("x".into(), format!("*const {}", of.element)),
            int("x_rs"),
            int("x_cs"),
            ("out".into(), format!("*mut {}", of.element)),
            int("out_rs"),
            int("out_cs"),
        ],
        sizes: "[m, n]",
        pointers: vec!["x".into(), "out".into()],
    }
}

/// The type of the result of a reduction.
fn result(row: &Reduction, of: &Type) -> &'static str {
    if row.gives_index { "i64" } else { of.element }
}

/// The arguments of a reduction: sizes, x and its strides, `ddof`, and the output.
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

/// Paragraphs that `ffi/sections.h` says once for all functions of a section.
const COMMON: [&str; 2] = [
    "NaN: a NaN operand gives a NaN.",
    "NaN: a NaN in x gives the canonical NaN.",
];

/// The paragraphs of a row's documentation that belong to this function alone. A line that begins with `NaN:` or
/// `Empty:` begins a paragraph.
fn paragraphs(doc: &[&str]) -> Vec<String> {
    let mut all = vec![String::new()];
    for line in doc {
        let line = line.trim().replace("\\[", "[").replace("\\]", "]");
        if line.is_empty() || ["NaN: ", EMPTY].iter().any(|label| line.starts_with(label)) {
            all.push(String::new());
        }
        if let Some(last) = all.last_mut() {
            *last += if last.is_empty() { "" } else { " " };
            *last += &line;
        }
    }
    all.retain(|text| !text.is_empty() && !COMMON.contains(&text.as_str()));
    all
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
            ["y[i] = 2 x[i], in order.", "NaN: stays.", "Empty: 1."]
        );
        assert_eq!(
            paragraphs(&[" Adds.", "", " NaN: a NaN operand gives a NaN."]),
            ["Adds."]
        );
        assert_eq!(comment("a\nb c"), "/// a b c\n");
    }
}
