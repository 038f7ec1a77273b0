//! Random cases of every operation are compared with the model, bit for bit: many shapes near the sizes
//! of vectors, lanes and micro-tiles, every kind of stride and alignment, special values, every level,
//! threads that take tasks in any order, the library's pool, with and without a workspace.
//!
//! A seed always gives the same cases. `DIPTYCH_SEED` sets another seed, `DIPTYCH_CASES` the number of
//! cases of each test.

mod elementwise;
mod fused;
mod inputs;
mod outer;
mod products;
mod reductions;
mod row_maps;
mod run;
mod stack;

use std::collections::BTreeSet;

/// The random tests draw their operations from these lists; an operation that is in none of them
/// would never run.
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
    drawn.extend(
        diptych_tests::ops::row_maps::<f32>()
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
