//! Random cases of every operation against the model, bit for bit: shapes that crowd round the edges
//! of vectors, lanes and tiles, every kind of stride and alignment, special values, every level, real
//! threads that take tasks in any order, the library's pool, a workspace or none.
//!
//! The cases of a seed are always the same. `DIPTYCH_SEED` takes another; `DIPTYCH_CASES` sets how
//! many each test runs.

mod driver;
mod elementwise;
mod fused;
mod inputs;
mod outer;
mod products;
mod reductions;
mod run;
mod stack;

use std::collections::BTreeSet;

/// The random tests draw their operations from these lists, so an operation that is in none of them
/// is never run.
#[test]
fn every_operation_is_drawn() {
    let mut drawn: BTreeSet<&str> = BTreeSet::new();
    drawn.extend(
        diptych_tests::ops::elementwise::<f32>()
            .iter()
            .map(|op| op.name),
    );
    drawn.extend(
        diptych_tests::ops::reductions::<f32>()
            .iter()
            .map(|op| op.name),
    );
    drawn.extend(reductions::PAIRS);
    drawn.extend(outer::NAMES);
    drawn.extend(products::NAMES);
    drawn.extend(fused::NAMES);
    let table: BTreeSet<&str> = diptych::table::OPS.iter().map(|op| op.name).collect();
    assert_eq!(
        drawn, table,
        "drawn by tests/suite/properties, and the table"
    );
}
