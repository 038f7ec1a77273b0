//! Every barrier of every kernel is necessary: if any single one is removed, some call faults or gives other bits.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::Path;

use diptych_emulator::{Barrier, Schedule};
use diptych_tests::calls::Inputs;
use diptych_tests::device::is_full;
use diptych_tests::gpu;
use diptych_tests::raw::Error;
use diptych_tests::real::Dtype;

use crate::trials::{Trial, trials};

diptych_tests::per_dtype!(every_barrier_is_needed);

/// The schedules to try, the fastest first.
pub const SCHEDULES: [Schedule; 4] = [
    Schedule::InOrder,
    Schedule::Reverse,
    Schedule::Random(1),
    Schedule::Lockstep,
];

/// Returns whether the trial fails under some schedule if `barrier` is removed.
fn detects_removal<T: Dtype>(barrier: &Barrier, trial: &Trial<T>, inputs: &Inputs<T>) -> bool {
    SCHEDULES.into_iter().any(|schedule| {
        let emulator = trial.emulator(schedule).without(barrier.clone());
        match trial.is_right(inputs, &emulator) {
            Ok(right) => !right,
            Err(Error::Fault(_)) => true,
            Err(error) => panic!("{}: {error}", trial.name()),
        }
    })
}

fn every_barrier_is_needed<T: Dtype>() {
    if gpu::skips("barriers::every_barrier_is_needed") {
        return;
    }
    if !is_full() {
        let _ = writeln!(std::io::stderr(), "SKIPPED barriers: DIPTYCH_FULL is not 1");
        return;
    }
    let (trials, inputs) = (trials::<T>(), Inputs::default());
    // The trials that execute each barrier of each kernel, with their times.
    let mut executed: BTreeMap<Barrier, Vec<_>> = BTreeMap::new();
    for trial in &trials {
        let seen = trial.see(&inputs, Schedule::InOrder);
        for barrier in seen.barriers {
            executed
                .entry(barrier)
                .or_default()
                .push((seen.time, trial));
        }
    }
    every_barrier_is_executed(executed.keys());
    for trials in executed.values_mut() {
        trials.sort_by_key(|(time, _)| *time);
    }
    let unneeded = executed.iter().filter(|(barrier, trials)| {
        let mut trials = trials.iter();
        !trials.any(|(_, trial)| detects_removal(barrier, trial, &inputs))
    });
    let unneeded: Vec<_> = unneeded.map(|(barrier, _)| barrier.to_string()).collect();
    assert!(
        unneeded.is_empty(),
        "no call fails when one of these barriers is removed; either tests/src/calls.rs lacks a call, or they are \
         not needed: {unneeded:#?}"
    );
}

/// Panics unless some call executes every line of the kernels that has a barrier, so that the test misses none.
fn every_barrier_is_executed<'b>(executed: impl Iterator<Item = &'b Barrier>) {
    let executed: BTreeSet<_> = executed.map(|b| (b.file.to_string(), b.line)).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut lines = BTreeSet::new();
    barrier_lines(&root, Path::new("kernels-gpu/device/src/ops"), &mut lines);
    // `tensors` has the calls of these.
    let of_tensors = ["/ops/mixed/", "/ops/integers/"];
    let is_of_calls = |(file, _): &&(String, u32)| !of_tensors.iter().any(|of| file.contains(of));
    let missed: Vec<_> = lines.difference(&executed).filter(is_of_calls).collect();
    assert!(
        missed.is_empty(),
        "no call of tests/src/calls.rs executes {missed:?}"
    );
}

/// Collects the lines with a barrier in the files below `folder`.
pub fn barrier_lines(root: &Path, folder: &Path, lines: &mut BTreeSet<(String, u32)>) {
    for entry in std::fs::read_dir(root.join(folder)).expect("a folder of the repository") {
        let name = folder.join(entry.expect("a directory entry").file_name());
        let path = root.join(&name);
        if path.is_dir() {
            barrier_lines(root, &name, lines);
            continue;
        }
        let text = std::fs::read_to_string(&path).expect("a source file");
        for (number, line) in (1..).zip(text.lines()) {
            let code = line.split("//").next().unwrap_or("");
            if code.contains("sync_threads()") || code.contains("sync_warp()") {
                lines.insert((name.to_string_lossy().into_owned(), number));
            }
        }
    }
}
