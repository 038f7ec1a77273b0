//! Arbitrary arguments, drawn from random bytes and from the corpus of the fuzz targets: see
//! `diptych_tests::hostile`. `cargo xtask fuzz` searches for further inputs.

use std::collections::BTreeSet;
use std::path::Path;

use diptych_tests::hostile::{FAMILIES, Family, family};
use diptych_tests::random::{Search, say};

/// The cases of a family, in which each of its operations succeeds on arrays next to guard pages.
const CASES: u64 = 30_000;

/// Runs random bytes.
fn random(family: &Family) {
    let name = family.name;
    let search = Search::new(("hostile", name), CASES);
    let (mut calls, mut refused, mut names) = (0, 0, BTreeSet::new());
    search.run(
        |rng| rng.usize(0..160),
        |data, _| {
            let outcome = family.run(data, true);
            calls += outcome.calls;
            refused += outcome.refused;
            if outcome.guarded > 0 {
                names.insert(outcome.name);
            }
            Ok(())
        },
    );
    let Search { seed, cases, .. } = search;
    say(&format!(
        "random bytes: {cases} of {name} from seed {seed}: {calls} calls, {refused} of them refused"
    ));
    assert!(
        calls == 0 || cases < 1000 || (refused > 0 && refused < calls),
        "{name}: all calls succeeded, or all were refused"
    );
    let missing: Vec<_> = of_family(name).difference(&names).cloned().collect();
    assert!(
        cases < CASES || missing.is_empty(),
        "never called on arrays next to guard pages: {missing:?}"
    );
}

/// Returns the operations of the table that belong to a family.
fn of_family(name: &str) -> BTreeSet<String> {
    if name == "tensors" {
        return over_tensors();
    }
    let ops = diptych::table::OPS.iter();
    let names = ops.filter_map(|op| match name {
        "reduce_rows" => op.rows.then(|| format!("{}_rows", op.name)),
        _ => (op.family == name).then(|| op.name.to_string()),
    });
    names.collect()
}

/// Returns the operations over tensors: all but those that are another one for a batch or with more steps.
fn over_tensors() -> BTreeSet<String> {
    let ops = diptych::table::OPS.iter().map(|op| op.name);
    let ops = ops.filter(|name| !name.starts_with("gemm"));
    let names = ops.chain(["matmul", "convert"]);
    let names = names.chain(["matmul_packed_size", "matmul_pack", "matmul_packed"]);
    names.map(|name| format!("tensor {name}")).collect()
}

macro_rules! families {
    ($($name:ident)*) => {
        $(
            #[test]
            fn $name() {
                random(family(stringify!($name)));
            }
        )*

        #[test]
        fn every_family_has_a_test() {
            assert_eq!([$(stringify!($name)),*], FAMILIES.map(|family| family.name));
            let typed = FAMILIES.iter().filter(|family| family.name != "tensors");
            let all = typed.flat_map(|family| of_family(family.name));
            assert_eq!(all.collect::<BTreeSet<_>>(), diptych_tests::calls::table_names());
        }
    };
}

families!(elementwise outer gemm reduce reduce_rows row_map fused views tensors);

/// Runs the inputs that the fuzz targets kept, and those that once failed.
#[test]
fn the_corpus() {
    let mut names = BTreeSet::new();
    for family in &FAMILIES {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../fuzz/corpus")
            .join(family.name);
        let files =
            std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
        let mut calls = 0;
        for file in files {
            let path = file.expect("a directory entry").path();
            let data = std::fs::read(&path).expect("a file of the corpus");
            // The bytes select an operation by its row in the table, which may have changed since the file was written.
            // So each file runs with every operation.
            for turn in 0..family.operations() {
                let outcome = std::panic::catch_unwind(|| family.run_other(&data, true, turn));
                let outcome = outcome
                    .unwrap_or_else(|_| panic!("the input was {}, turn {turn}", path.display()));
                calls += outcome.calls;
                if outcome.calls > 0 {
                    names.insert(outcome.name);
                }
            }
        }
        assert!(calls > 0, "{}: nothing was called", folder.display());
    }
    let mut wanted = diptych_tests::calls::table_names();
    wanted.extend(over_tensors());
    let missing: Vec<_> = wanted.difference(&names).collect();
    assert!(
        missing.is_empty(),
        "operations that no file of the corpus calls: {missing:?}"
    );
}
