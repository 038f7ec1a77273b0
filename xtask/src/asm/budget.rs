//! The budgets in budget.toml, and those that follow from the table of operations.
use crate::table::{ELEMENTWISE, REDUCTIONS, ROW_MAPS};
use anyhow::Result;
use serde::Deserialize;
use std::collections::BTreeMap;

/// The name of the parts that take two chunks at once begins with this: the portable level has none.
pub const PAIRS: &str = "leaf ";
/// The name of the kernels of columns of 16-bit floats ends with this.
pub const WIDENED: &str = "_widened";
/// Counts conversions of a register of 16-bit floats.
pub const WIDENS: &str = "widens";
/// Counts stores to memory.
pub const STORES: &str = "stores";
/// Counts loads from memory, also those that are an operand of arithmetic.
pub const LOADS: &str = "loads";

/// The table; budget.toml explains its parts.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    pub half_register_stack: usize,
    pub without_loop: Vec<String>,
    pub without_type: Vec<String>,
    pub not_portable: Vec<String>,
    pub calls: BTreeMap<String, Vec<String>>,
    pub microkernels: BTreeMap<String, Microkernels>,
    expected: BTreeMap<String, Budget>,
    loops: BTreeMap<String, Budget>,
}

/// What the best loop of a kernel must have on the vector levels.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Budget {
    pub counts: String,
    pub avx512: usize,
    pub avx2: usize,
    #[serde(default)]
    pub stack: (usize, usize),
}

/// The microkernels of a level.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Microkernels {
    pub mr: usize,
    pub nv: usize,
    pub half: bool,
    pub shared: bool,
    pub prefetch: Vec<(usize, usize)>,
    pub non_temporal: Vec<usize>,
    pub pack: Vec<usize>,
}

impl Table {
    /// The committed table.
    pub fn load() -> Result<Table> {
        Ok(toml::from_str(include_str!("budget.toml"))?)
    }

    /// The kernels that there must be for each level and type.
    pub fn kernels(&self) -> impl Iterator<Item = String> {
        let named = self.loops.keys().chain(&self.without_loop).cloned();
        let elementwise = ELEMENTWISE.iter().map(|row| row.name.into());
        let row_maps = ROW_MAPS
            .iter()
            .flat_map(|row| ["rows", "columns"].map(|of| format!("{}_of_{of}", row.name)));
        named.chain(elementwise).chain(row_maps)
    }

    /// The budget of a kernel: its own, or the one that follows from the table of operations.
    pub fn budget(&self, kernel: &str) -> Option<&Budget> {
        let own = self.loops.get(kernel);
        own.or_else(|| self.expected.get(form(kernel)?))
    }
}

/// The key in `expected` for a kernel of an operation in the table.
fn form(kernel: &str) -> Option<&'static str> {
    if ELEMENTWISE.iter().any(|row| row.name == kernel) {
        return Some("elementwise");
    }
    let is_row_map = |name| ROW_MAPS.iter().any(|row| row.name == name);
    if kernel.strip_suffix("_of_rows").is_some_and(is_row_map) {
        return Some("row_map_of_rows");
    }
    if kernel.strip_suffix("_of_columns").is_some_and(is_row_map) {
        return Some("row_map_of_columns");
    }
    let folds = || REDUCTIONS.iter().flat_map(|row| row.folds);
    let is_fold = |name: &str| folds().any(|fold| snake_case(fold) == name);
    if let Some(fold) = kernel.strip_suffix("_columns") {
        return is_fold(fold).then_some("columns");
    }
    if kernel.ends_with("_in_pieces") {
        return Some("in_pieces");
    }
    if kernel.ends_with(WIDENED) {
        return Some("widened");
    }
    if kernel.starts_with("runs ") {
        return Some("runs");
    }
    let part = kernel.strip_prefix("walk ").or(kernel.strip_prefix(PAIRS));
    let is_known = match part {
        Some(name) => folds().any(|fold| *fold == name),
        None => is_fold(kernel.strip_suffix("_rows").unwrap_or(kernel)),
    };
    is_known.then_some("fold")
}

/// The name of the kernel of a fold: `max_abs` for `MaxAbs`.
fn snake_case(fold: &str) -> String {
    let mut name = String::new();
    for letter in fold.chars() {
        if letter.is_uppercase() && !name.is_empty() {
            name.push('_');
        }
        name.extend(letter.to_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_of_the_table_has_a_budget() {
        let table = Table::load().unwrap();
        for row in ELEMENTWISE {
            assert!(table.budget(row.name).is_some(), "{}", row.name);
        }
        for kernel in table.kernels() {
            let is_row_map = ROW_MAPS.iter().any(|row| kernel.starts_with(row.name));
            assert!(!is_row_map || table.budget(&kernel).is_some(), "{kernel}");
        }
        assert!(table.budget("clamp").unwrap().counts == "vmin");
        assert!(table.budget("max_abs_rows").unwrap().counts == LOADS);
        assert!(table.budget("clamp_rows").is_none() && table.budget("walk Nothing").is_none());
    }
}
