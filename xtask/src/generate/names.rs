//! Writes the C functions of operations under the names that the table gives them, so that macros over the table call
//! them.
use super::types::TYPES;
use crate::table::{ELEMENTWISE, OPS, REDUCTIONS, ROW_MAPS};
use std::fmt::Write;

/// The text of the file.
pub fn text() -> String {
    let mut text = String::from("//! The operations by their names in the table.\n");
    for (of, module) in TYPES.iter().zip(["single", "double"]) {
        let mut names = Vec::new();
        for op in OPS {
            names.push(op.name.to_owned());
            names.extend(op.rows.then(|| format!("{}_rows", op.name)));
        }
        let suffix = format!("_{}", of.suffix);
        text += &uses(module, &names, &suffix);
    }
    let elementwise = ELEMENTWISE.iter().map(|row| row.name.to_owned());
    let reductions = REDUCTIONS.iter().map(|row| row.name.to_owned());
    let row_maps = ROW_MAPS.iter().map(|row| row.name.to_owned());
    let names: Vec<String> = elementwise.chain(reductions).chain(row_maps).collect();
    text + &uses("tensors", &names, "")
}

fn uses(module: &str, names: &[String], suffix: &str) -> String {
    let mut text = format!("\npub(crate) mod {module} {{\n    pub(crate) use crate::{{\n");
    for name in names {
        writeln!(text, "        dpt_{name}{suffix} as {name},")
            .expect("writing to a string succeeds");
    }
    text + "    };\n}\n"
}
