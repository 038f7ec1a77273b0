//! The table of operations, the table of kernels and this suite agree: every operation has a function, every kernel is
//! launched, and every suite of the CPU runs here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::ptr;
use std::time::Duration;

use diptych_device::launch::entry::{ALL, convert};
use diptych_emulator::Schedule;
use diptych_tests::calls::{Inputs, table_names};
use diptych_tests::gpu;
use diptych_tests::raw::functions;
use diptych_tests::real::Dtype;
use diptych_tests::registry::registry;

use crate::trials::{Trial, trials};

/// Each operation has a function of the GPU backend, which the suites call through `diptych_tests::raw`.
#[test]
fn every_operation_has_a_function() {
    let names = functions().map(String::from);
    let names: BTreeSet<String> = names.collect();
    assert_eq!(
        names,
        table_names(),
        "tests/src/raw.rs, and the table of operations"
    );
}

diptych_tests::per_dtype!(every_kernel_is_launched);

/// For each kernel, some call launches it under every schedule, with the bits of the CPU.
fn every_kernel_is_launched<T: Dtype>() {
    if gpu::skips("coverage::every_kernel_is_launched") {
        return;
    }
    let (trials, inputs) = (trials::<T>(), Inputs::default());
    // The fastest call for each kernel.
    let mut fastest: BTreeMap<&str, (Duration, &Trial<T>)> = BTreeMap::new();
    for trial in &trials {
        let seen = trial.see(&inputs, Schedule::InOrder);
        for kernel in seen.kernels {
            let best = fastest.entry(kernel).or_insert((seen.time, trial));
            if seen.time < best.0 {
                *best = (seen.time, trial);
            }
        }
    }
    let launched: BTreeSet<&str> = fastest.keys().copied().collect();
    // Only tensors have conversions, integers and products of small types: `tensors` launches them.
    let entries = ALL.iter().filter(|entry| !ptr::eq(**entry, &convert));
    let entries = entries.filter_map(|entry| entry.name(T::TYPE));
    let entries = entries
        .filter(|name| !["mixed_", "integer"].iter().any(|of| name.starts_with(of)))
        .collect();
    assert_eq!(
        launched, entries,
        "kernels launched by tests/src/calls.rs, and those in kernels-gpu/device/src/table.rs"
    );
    for (kernel, (_, trial)) in fastest {
        for schedule in Schedule::ALL {
            let seen = trial.see(&inputs, schedule);
            assert!(seen.kernels.contains(kernel), "{kernel}, {schedule}");
        }
    }
}

fn read(file: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("suite")
        .join(file);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Each file of conformance cases of the CPU runs here too.
#[test]
fn every_suite_of_the_cpu_runs_here() {
    if gpu::skips("coverage::every_suite_of_the_cpu_runs_here") {
        return;
    }
    let here = read("device/conformance.rs");
    for entry in registry() {
        let path = format!("\"../conformance/{}\"", entry.suite);
        assert!(
            here.contains(&path),
            "tests/suite/device/conformance.rs lacks {path}"
        );
    }
}
