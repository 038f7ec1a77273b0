//! Random cases as if on other machines: with other caches, other code runs. Each machine has a process of its own, a
//! child of this one, because what a CPU detects is known to all threads.

use std::process::Command;

use diptych::backend::geometry::Geometry;
use diptych_tests::device::is_full;
use diptych_tests::layout::Strides;
use diptych_tests::levels::levels;
use diptych_tests::machines::{MACHINES, VARIABLE, is_another};
use diptych_tests::real::Dtype;
use diptych_tests::report::Report;
use diptych_tests::threads::{Config, Threads};
use diptych_tests::watch::watched;

use crate::conformance::gemm_case::Case;

diptych_tests::per_dtype!(cells_of_a_grid, large_products);

/// Products that pack nothing as a whole, with cells that pack B for a transposed tail. On other machines, and with other
/// numbers of tasks, other cells of them do.
fn cells_of_a_grid<T: Dtype>() {
    let mut report = Report::new();
    let row_major = |columns: i64| Strides { rs: columns, cs: 1 };
    let column_major = |rows: i64| Strides { rs: 1, cs: rows };
    let cases = [
        (
            (54, 8, 2145),
            [column_major(54), column_major(2145), row_major(8)],
        ),
        (
            (15, 1021, 300),
            [column_major(15), row_major(73_728), column_major(15)],
        ),
        (
            (15, 199, 297),
            [row_major(297), column_major(297), Strides { rs: 5, cs: 75 }],
        ),
    ];
    for (shape, layouts) in cases {
        let case = Case::<T>::ordinary(shape, layouts, (1.0, 1.0));
        for tasks in 2..=8 {
            for &level in levels() {
                let threads = Threads::Reversed(tasks);
                let config = Config { level, threads };
                let what = format!("{shape:?}, {config}");
                watched(what, || case.check(&mut report, config, None));
            }
        }
    }
    report.finish();
}

/// Products that are large on machines with a slow LLC, and too large for the random cases.
fn large_products<T: Dtype>() {
    is_another();
    if !Geometry::current().has_slow_llc() {
        return;
    }
    let mut report = Report::new();
    let rows = |columns: i64| Strides { rs: columns, cs: 1 };
    let by_columns = |rows: i64| Strides { rs: 1, cs: rows };
    // An odd number of steps after whole segments, and tails on all sides.
    let (m, n, k) = (259, 965, 261);
    let cases = [
        [rows(k), rows(n + 3), rows(n)],
        [by_columns(m), by_columns(k), by_columns(m)],
    ];
    for (layouts, scalars) in cases.into_iter().zip([(1.0, 0.0), (-0.6, 2.3)]) {
        let case = Case::<T>::ordinary((m as usize, n as usize, k as usize), layouts, scalars);
        for (&level, tasks) in levels().iter().zip([1, 1, 2]) {
            let threads = Threads::Reversed(tasks);
            let config = Config { level, threads };
            watched(format!("{layouts:?}, {config}"), || {
                case.check(&mut report, config, None);
            });
        }
    }
    report.finish();
}

/// The machines of a short run: the extremes, and those that are unlike each other.
const SHORT: [&str; 5] = [
    "emerald-rapids",
    "zen4",
    "least",
    "least-double-pumped",
    "small-l1",
];

#[test]
fn random_cases_have_the_same_bits_on_other_machines() {
    if is_another() {
        return;
    }

    for (name, _) in MACHINES {
        if !is_full() && !SHORT.contains(&name) {
            continue;
        }
        let program = std::env::current_exe().expect("the path of the tests");
        let output = Command::new(program)
            .args([
                "properties::",
                "machines::",
                "batches::",
                "tensors::integers::threads",
            ])
            .arg("half::reductions::of_columns_in_parts::bf16")
            .args(["--test-threads", "2"])
            .env(VARIABLE, name)
            .env("DIPTYCH_CASES", "60")
            .output()
            .expect("the tests start");
        let text =
            [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
        let [out, error] = text;
        assert!(
            output.status.success() && out.contains("products::gemm"),
            "with {VARIABLE}={name}:\n{out}\n{error}"
        );
    }
}
