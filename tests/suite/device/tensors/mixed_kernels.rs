//! The kernels of products of small types: each is launched, with segments that blocks share or not, and each of its
//! barriers is needed.

use crate::backend::{MIXED, is_full};
use crate::barriers::{SCHEDULES, barrier_lines};
use diptych::tensor::{Epilogue, Tensor};
use diptych::{Exec, bf16, f16};
use diptych_device::launch::entry::ALL;
use diptych_device::table::Entry;
use diptych_emulator::{Barrier, Emulator, Schedule};
use diptych_tests::mixed::{Draw, Multiplies};
use diptych_tests::tensors::{Array, indices};
use fastrand::Rng;
use std::collections::BTreeSet;
use std::path::Path;

/// m, n and k.
type Shape = [i64; 3];

/// A product on a device.
#[derive(Clone, Copy)]
struct Trial {
    run: fn(&dyn Multiplies, Shape) -> Result<Vec<u64>, String>,
    shape: Shape,
    kernel: Option<&'static Entry>,
    multiprocessors: u32,
}

/// Multiplies matrices in row-major order; returns the bits of C.
fn product<A: Draw, B: Draw, C: Draw>(
    on: &dyn Multiplies,
    [m, n, k]: Shape,
) -> Result<Vec<u64>, String> {
    fn filled<T: Draw>(rng: &mut Rng, rows: i64, columns: i64) -> Array<T> {
        let mut array = Array::with_strides(&[rows, columns], vec![columns, 1]);
        array.fill(|| T::draw(rng));
        array
    }
    fn tensor<T: Draw>(array: &mut Array<T>) -> Tensor {
        let (code, bits) = T::DLPACK;
        array.described(code, bits)
    }
    let rng = &mut Rng::with_seed(5);
    let (mut a, mut b) = (filled::<A>(rng, m, k), filled::<B>(rng, k, n));
    let mut c = filled::<C>(rng, m, n);
    let (a, b, out) = (tensor(&mut a), tensor(&mut b), tensor(&mut c));
    // SAFETY: the tensors are valid.
    unsafe { on.matmul((1.0, 1.0), [&a, &b, &out], &Epilogue::default())? };
    Ok(indices(&[m, n])
        .iter()
        .map(|index| c.get(index).bits())
        .collect())
}

impl Trial {
    /// All trials: on a large device blocks share small tiles, on a small one they do not.
    fn all() -> Vec<Self> {
        let [[half_64x64, byte_64x64], [half_16x16, byte_16x16]] = MIXED;
        let forced = |run, shape, kernel: &'static Entry, multiprocessors| Self {
            run,
            shape,
            kernel: Some(kernel),
            multiprocessors,
        };
        let mut all = vec![];
        for multiprocessors in [1, 132] {
            let of = |run, shape| Self {
                run,
                shape,
                kernel: None,
                multiprocessors,
            };
            all.extend([
                forced(
                    product::<f16, f16, f16>,
                    [20, 17, 40],
                    half_64x64,
                    multiprocessors,
                ),
                forced(
                    product::<bf16, bf16, f32>,
                    [17, 3, 1100],
                    half_64x64,
                    multiprocessors,
                ),
                forced(
                    product::<bf16, bf16, bf16>,
                    [18, 20, 70],
                    half_16x16,
                    multiprocessors,
                ),
                forced(
                    product::<f16, f16, f32>,
                    [3, 18, 4100],
                    half_16x16,
                    multiprocessors,
                ),
                forced(
                    product::<u8, i8, i32>,
                    [20, 17, 100],
                    byte_64x64,
                    multiprocessors,
                ),
                forced(
                    product::<i8, i8, f32>,
                    [20, 17, 2100],
                    byte_16x16,
                    multiprocessors,
                ),
                of(product::<i32, i32, i32>, [33, 20, 30]),
                of(product::<i64, i64, i64>, [33, 20, 30]),
            ]);
        }
        all
    }

    fn emulator(&self, schedule: Schedule) -> Emulator {
        let emulator = Emulator::new(schedule).with_multiprocessors(self.multiprocessors);
        match self.kernel {
            Some(kernel) => emulator.with_product_kernel(kernel),
            None => emulator,
        }
    }

    fn on(&self, on: &dyn Multiplies) -> Result<Vec<u64>, String> {
        (self.run)(on, self.shape)
    }
}

#[test]
fn every_kernel_is_launched() {
    let mut launched = BTreeSet::new();
    for trial in Trial::all() {
        let want = trial.on(&Exec::new());
        for schedule in Schedule::ALL {
            let emulator = trial.emulator(schedule);
            assert_eq!(trial.on(&emulator), want, "{:?}, {schedule}", trial.shape);
            assert_eq!(emulator.launches(), 1, "{:?}", trial.shape);
            launched.extend(emulator.kernels());
        }
        // Without scratch memory no tile is shared.
        let emulator = trial.emulator(Schedule::InOrder).with_scratch(0);
        assert_eq!(trial.on(&emulator), want, "{:?}", trial.shape);
    }
    let all = ALL.iter().flat_map(|entry| entry.names());
    let all: BTreeSet<_> = all.filter(|name| name.starts_with("mixed_")).collect();
    assert_eq!(launched, all);
}

/// Without any one barrier, some trial faults or gives other bits.
#[test]
fn every_barrier_is_needed() {
    if !is_full() {
        return;
    }
    let mut trials: Vec<(Trial, BTreeSet<Barrier>)> = vec![];
    for trial in Trial::all() {
        let emulator = trial.emulator(Schedule::InOrder);
        trial.on(&emulator).expect("a product");
        trials.push((trial, emulator.barriers()));
    }
    let executed: BTreeSet<Barrier> = trials.iter().flat_map(|(_, seen)| seen.clone()).collect();
    let mut lines = BTreeSet::new();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let folder = Path::new("kernels-gpu/device/src/ops/mixed");
    barrier_lines(&root, folder, &mut lines);
    let seen: BTreeSet<_> = executed
        .iter()
        .map(|b| (b.file.to_string(), b.line))
        .collect();
    assert!(!lines.is_empty() && lines.is_subset(&seen), "{lines:?}");
    for barrier in &executed {
        let mut with_it = trials.iter().filter(|(_, seen)| seen.contains(barrier));
        let is_needed = with_it.any(|(trial, _)| {
            let want = trial.on(&Exec::new());
            SCHEDULES.into_iter().any(|schedule| {
                let emulator = trial.emulator(schedule).without(barrier.clone());
                trial.on(&emulator) != want
            })
        });
        assert!(is_needed, "{barrier} can be left out");
    }
}
