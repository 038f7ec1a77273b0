//! The table of operations, the table of kernels and this suite name the same things.

use std::collections::BTreeSet;
use std::path::Path;

use diptych_device::launch::entry::ALL;
use diptych_emulator::Schedule;
use diptych_tests::calls::{Inputs, Outputs, calls_of_rows, table_names};
use diptych_tests::device::Config;
use diptych_tests::gpu;
use diptych_tests::raw::FUNCTIONS;
use diptych_tests::real::Dtype;
use diptych_tests::registry::REGISTRY;

/// Each operation has a function of the device panel, which the suites call through `diptych_tests::raw`.
#[test]
fn every_operation_has_a_function() {
    let names = FUNCTIONS.iter().map(|name| name.to_string());
    let names: BTreeSet<String> = names.collect();
    assert_eq!(
        names,
        table_names(),
        "tests/src/raw.rs, and the table of operations"
    );
}

/// Each kernel is launched by a call of some operation, in both types.
#[test]
fn every_kernel_is_launched() {
    if gpu::skips("coverage::every_kernel_is_launched") {
        return;
    }
    let mut launched = BTreeSet::new();
    launch_all::<f32>(&mut launched);
    launch_all::<f64>(&mut launched);
    let entries: BTreeSet<&str> = ALL.iter().flat_map(|entry| entry.names).collect();
    // Which tile a product takes depends on its shape and on the GPU: a large one needs shapes that take the
    // emulator too long.
    let idle = entries
        .difference(&launched)
        .filter(|name| !name.starts_with("gemm_"));
    let idle: Vec<_> = idle.collect();
    assert!(
        idle.is_empty(),
        "in kernels-gpu/device/src/table.rs, but no call of tests/src/calls.rs launches {idle:?}"
    );
}

fn launch_all<T: Dtype>(launched: &mut BTreeSet<&'static str>) {
    let (inputs, mut out) = (Inputs::default(), Outputs::default());
    for call in calls_of_rows::<T>(600) {
        let config = Config {
            schedule: Schedule::InOrder,
            multiprocessors: 132,
        };
        let emulator = config.emulator();
        let status = call.run(&emulator, &inputs, &mut out);
        status.unwrap_or_else(|error| panic!("{} {}: {error}", call.name, call.shape));
        let (name, shape) = (&call.name, &call.shape);
        assert!(emulator.launches() > 0, "{name} {shape} launches nothing");
        launched.extend(emulator.kernels());
    }
}

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("suite")
        .join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Each file of cases of the CPU runs here too.
#[test]
fn every_suite_of_the_cpu_runs_here() {
    if gpu::skips("coverage::every_suite_of_the_cpu_runs_here") {
        return;
    }
    let here = read("device/conformance.rs");
    for entry in REGISTRY {
        let path = format!("\"../conformance/{}\"", entry.suite);
        assert!(
            here.contains(&path),
            "tests/suite/device/conformance.rs lacks {path}"
        );
    }
}
