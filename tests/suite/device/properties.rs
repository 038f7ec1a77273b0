//! `tests/suite/properties` on the GPU backend: fewer cases, each under one schedule.

#[path = "../properties/elementwise.rs"]
mod elementwise;
#[path = "../properties/fused.rs"]
mod fused;
#[path = "../properties/outer.rs"]
mod outer;
#[path = "../properties/products.rs"]
mod products;
#[path = "../properties/reductions.rs"]
mod reductions;
#[path = "../properties/row_maps.rs"]
mod row_maps;

// The files above take these from the module that has them.
use crate::{inputs, run, stack};

use std::collections::BTreeSet;

use diptych_tests::ops::{elementwise, reductions, row_maps};

/// As in `tests/suite/properties`: an operation that is in none of the lists would never run.
#[test]
fn every_operation_is_drawn() {
    let mut drawn: BTreeSet<&str> = BTreeSet::new();
    drawn.extend(elementwise::<f32>().iter().map(|op| op.name));
    drawn.extend(reductions::<f32>().iter().map(|op| op.name));
    drawn.extend(row_maps::<f32>().iter().map(|op| op.name));
    drawn.extend(reductions::PAIRS);
    drawn.extend(outer::NAMES);
    drawn.extend(products::NAMES);
    drawn.extend(fused::NAMES);
    let table: BTreeSet<&str> = diptych::table::OPS.iter().map(|op| op.name).collect();
    assert_eq!(
        drawn, table,
        "drawn by tests/suite/device/properties.rs, and the table"
    );
}
