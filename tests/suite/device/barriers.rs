//! Every barrier of every kernel is needed: without any one of them a call faults, or gives other bits.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use diptych_emulator::{Barrier, Schedule};
use diptych_tests::calls::Inputs;
use diptych_tests::gpu;
use diptych_tests::raw::Error;
use diptych_tests::real::Dtype;

use crate::trials::{Trial, trials};

diptych_tests::per_dtype!(every_barrier_is_needed);

/// The fastest first.
const SCHEDULES: [Schedule; 4] = [
    Schedule::InOrder,
    Schedule::Reverse,
    Schedule::Random(1),
    Schedule::Lockstep,
];

/// Whether some schedule shows that `barrier` is missing.
fn is_missed<T: Dtype>(barrier: &Barrier, trial: &Trial<T>, inputs: &Inputs<T>) -> bool {
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
    let (trials, inputs) = (trials::<T>(), Inputs::default());
    // Where each barrier of each kernel is met.
    let mut met: BTreeMap<Barrier, Vec<_>> = BTreeMap::new();
    for trial in &trials {
        let seen = trial.see(&inputs, Schedule::InOrder);
        for barrier in seen.barriers {
            met.entry(barrier).or_default().push((seen.time, trial));
        }
    }
    every_barrier_is_met(met.keys());
    for places in met.values_mut() {
        places.sort_by_key(|(time, _)| *time);
    }
    let idle = met.iter().filter(|(barrier, places)| {
        let mut places = places.iter();
        !places.any(|(_, trial)| is_missed(barrier, trial, &inputs))
    });
    let idle: Vec<_> = idle.map(|(barrier, _)| barrier.to_string()).collect();
    assert!(
        idle.is_empty(),
        "no call misses these when they are left out; a call is missing in tests/src/calls.rs, or they are \
         not needed: {idle:#?}"
    );
}

/// Every line of the kernels that waits is met by some call, so that none escapes the test.
fn every_barrier_is_met<'b>(met: impl Iterator<Item = &'b Barrier>) {
    let met: BTreeSet<_> = met.map(|b| (b.file.to_string(), b.line)).collect();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut written = BTreeSet::new();
    waits(&root, Path::new("kernels-gpu/device/src/ops"), &mut written);
    let unmet: Vec<_> = written.difference(&met).collect();
    assert!(
        unmet.is_empty(),
        "no call of tests/src/calls.rs meets {unmet:?}"
    );
}

/// The lines below `folder` on which threads wait.
fn waits(root: &Path, folder: &Path, lines: &mut BTreeSet<(String, u32)>) {
    for entry in std::fs::read_dir(root.join(folder)).expect("a folder of the repository") {
        let name = folder.join(entry.expect("a directory entry").file_name());
        let path = root.join(&name);
        if path.is_dir() {
            waits(root, &name, lines);
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
