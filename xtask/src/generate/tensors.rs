//! Writes the C functions over tensors from the rows of the table.
use super::types::comment;
use crate::table::{ELEMENTWISE, Elementwise, REDUCTIONS, ROW_MAPS, Reduction, RowMap};

/// The text of the file.
pub fn text() -> String {
    let functions: Vec<String> = ELEMENTWISE
        .iter()
        .map(elementwise)
        .chain(REDUCTIONS.iter().map(reduction))
        .chain(ROW_MAPS.iter().map(row_map))
        .collect();
    format!(
        "//! The elementwise operations, the reductions and the maps over rows, for tensors.\n\
         use crate::exec::dpt_exec;\nuse crate::status::dpt_status;\n\
         use crate::tensor::{{axes_of, dpt_tensor, tensor_operation}};\n\n{}",
        functions.join("\n")
    )
}

fn elementwise(row: &Elementwise) -> String {
    let mut parameters = Vec::new();
    let mut passed = Vec::new();
    let mut tensors = Vec::new();
    let mut bounds = Vec::new();
    for (name, role) in row.arguments {
        parameters.push(format!("{name}: *const dpt_tensor"));
        if role.bound().is_some() {
            bounds.push(*name);
            passed.push(format!("{name} or none"));
        } else {
            passed.push((*name).into());
        }
        tensors.push(*name);
    }
    parameters.push(format!("{}: *mut dpt_tensor", row.output));
    passed.push(row.output.into());
    tensors.push(row.output);
    let mut doc = format!("dpt_{}_f32 for tensors.", row.name);
    if !bounds.is_empty() {
        doc += &format!(" A NULL {} is no bound.", bounds.join(" or "));
    }
    if row.takes_integers {
        doc += " Takes integers too.";
    }
    function(row.name, &doc, &parameters, &tensors, &passed)
}

fn reduction(row: &Reduction) -> String {
    let mut parameters = vec![
        "x: *const dpt_tensor".to_owned(),
        "naxes: i32".into(),
        "axes: *const i32".into(),
    ];
    let mut passed = vec!["x".to_owned(), "= axes_of(naxes, axes)?".into()];
    if row.ddof {
        parameters.push("ddof: i64".into());
        passed.push("= ddof".into());
    }
    parameters.push("out: *mut dpt_tensor".into());
    passed.push("out".into());
    let mut doc = format!("dpt_{}_f32 over axes of a tensor.", row.name);
    if row.gives_index && !row.counts {
        doc += " The index counts the reduced elements in row-major order.";
    }
    if row.takes_integers {
        doc += " Takes integers too.";
    }
    function(row.name, &doc, &parameters, &["x", "out"], &passed)
}

fn row_map(row: &RowMap) -> String {
    let parameters = [
        "x: *const dpt_tensor",
        "naxes: i32",
        "axes: *const i32",
        "out: *mut dpt_tensor",
    ]
    .map(String::from);
    let passed = ["x", "= axes_of(naxes, axes)?", "out"].map(String::from);
    let doc = format!(
        "dpt_{}_f32 over axes of a tensor: these are a row.",
        row.name
    );
    function(row.name, &doc, &parameters, &["x", "out"], &passed)
}

fn function(
    name: &str,
    doc: &str,
    parameters: &[String],
    tensors: &[&str],
    passed: &[String],
) -> String {
    let parameters: String = parameters.iter().map(|p| format!("    {p},\n")).collect();
    format!(
        "{}#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn dpt_{name}(\n    exec: *const dpt_exec,\n{parameters}) -> dpt_status {{\n    \
         // SAFETY: the tensors are as the header demands; `tensor` checks what can be checked.\n    \
         unsafe {{ tensor_operation!(\"dpt_{name}\", exec, [{}], {name}({})) }}\n}}\n",
        comment(doc),
        tensors.join(", "),
        passed.join(", ")
    )
}
