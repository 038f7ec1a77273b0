//! Every barrier of the kernels is needed: without any one of them a call faults, or gives other bits.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use diptych_emulator::{Barrier, Emulator, Schedule};
use diptych_tests::calls::{Call, Inputs, Outputs, calls_of_rows};
use diptych_tests::device::Config;
use diptych_tests::gpu;
use diptych_tests::raw::Error;
use diptych_tests::real::Dtype;

diptych_tests::per_dtype!(every_barrier_is_needed);

/// Rows where rows are many.
const ROWS: i64 = 600;

/// Kernels cut their work for so many multiprocessors.
const SIZES: [u32; 2] = [1, 132];

fn device(schedule: Schedule, multiprocessors: u32) -> Emulator {
    Config {
        schedule,
        multiprocessors,
    }
    .emulator()
}

/// What a call gives, and the barriers in it, in order and on each size.
struct Whole<T> {
    out: Outputs<T>,
    barriers: BTreeMap<u32, BTreeSet<Barrier>>,
}

fn whole<T: Dtype>(call: &Call<T>, inputs: &Inputs<T>) -> Whole<T> {
    let mut results = Vec::new();
    let mut barriers = BTreeMap::new();
    for size in SIZES {
        let emulator = device(Schedule::InOrder, size);
        let mut out = Outputs::default();
        let status = call.run(&emulator, inputs, &mut out);
        status.unwrap_or_else(|error| panic!("{} {}: {error}", call.name, call.shape));
        barriers.insert(size, emulator.barriers());
        results.push(out);
    }
    let out = results.swap_remove(0);
    assert!(
        results.iter().all(|other| *other == out),
        "{} {}: other bits on a GPU of another size",
        call.name,
        call.shape
    );
    Whole { out, barriers }
}

/// Whether some schedule shows that `barrier` is missing.
fn is_missed<T: Dtype>(
    barrier: &Barrier,
    size: u32,
    call: &Call<T>,
    inputs: &Inputs<T>,
    want: &Outputs<T>,
) -> bool {
    Schedule::ALL.into_iter().any(|schedule| {
        let emulator = device(schedule, size).without(barrier.clone());
        let mut out = Outputs::default();
        match call.run(&emulator, inputs, &mut out) {
            Ok(()) => out != *want,
            Err(Error::Fault(_)) => true,
            Err(error) => panic!("{} {}: {error}", call.name, call.shape),
        }
    })
}

fn every_barrier_is_needed<T: Dtype>() {
    if gpu::skips("barriers::every_barrier_is_needed") {
        return;
    }
    let (calls, inputs) = (calls_of_rows::<T>(ROWS), Inputs::default());
    let wholes: Vec<_> = calls.iter().map(|call| whole(call, &inputs)).collect();
    // Where each is met. Kernels that share a source share its barriers.
    let mut met: BTreeMap<_, Vec<(Barrier, usize, u32)>> = BTreeMap::new();
    for (index, whole) in wholes.iter().enumerate() {
        for (&size, barriers) in &whole.barriers {
            for barrier in barriers {
                let source = (barrier.file, barrier.line, barrier.column);
                let place = (barrier.clone(), index, size);
                met.entry(source).or_default().push(place);
            }
        }
    }
    assert!(!met.is_empty(), "no kernel has met a barrier");
    let needed = |places: &[(Barrier, usize, u32)]| {
        places.iter().any(|(barrier, index, size)| {
            is_missed(barrier, *size, &calls[*index], &inputs, &wholes[*index].out)
        })
    };
    let idle = met.iter().filter(|(_, places)| !needed(places));
    let idle: Vec<_> = idle.map(|(source, _)| source).collect();
    assert!(
        idle.is_empty(),
        "no call misses these when they are left out; a call is missing in tests/src/calls.rs, or they are \
         not needed: {idle:?}"
    );
}

/// Every line of the kernels that waits is met by some call, so that none escapes the test above.
#[test]
fn every_barrier_is_met() {
    if gpu::skips("barriers::every_barrier_is_met") {
        return;
    }
    let mut met = BTreeSet::new();
    let inputs = Inputs::<f32>::default();
    for call in calls_of_rows::<f32>(ROWS) {
        for barriers in whole(&call, &inputs).barriers.into_values() {
            met.extend(barriers.into_iter().map(|b| (b.file.to_string(), b.line)));
        }
    }
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
