//! Each kernel for matrix products, forced regardless of the plan's estimate, gives the bits of the CPU for shapes,
//! layouts, factors, epilogues and batches of all kinds.

use std::collections::BTreeSet;

use diptych::backend::order::KSEG;
use diptych_device::launch::entry::ALL;
use diptych_device::table::Entry;
use diptych_emulator::Emulator;
use diptych_tests::gpu;
use diptych_tests::real::Dtype;

use crate::products::{product, schedule};

diptych_tests::per_dtype!(every_kernel_of_products);

/// m, n and k of products, and the batch count. For every tile size there are full tiles and partial ones.
const CASES: [([usize; 3], usize); 20] = [
    ([2, 3, 1], 1),
    ([16, 16, 16], 2),
    ([17, 33, 5], 1),
    ([31, 40, 64], 1),
    ([64, 64, 32], 1),
    ([65, 67, 20], 2),
    ([128, 16, 8], 1),
    ([129, 17, 12], 1),
    ([128, 128, 16], 1),
    ([130, 129, 9], 1),
    ([127, 65, 33], 1),
    ([5, 200, 40], 1),
    ([200, 6, 24], 1),
    ([70, 150, 16], 1),
    ([33, 18, KSEG + 1], 1),
    ([20, 130, KSEG + 44], 1),
    ([66, 34, 2 * KSEG + 1], 1),
    ([40, 70, KSEG + 4], 2),
    ([136, 72, 36], 1),
    ([9, 12, 100], 3),
];

/// Returns the kernels for matrix-matrix products of `T`, and their names.
pub fn kernels<T: Dtype>() -> impl Iterator<Item = (&'static Entry, &'static str)> {
    let is_product = |name: &str| name.starts_with("gemm_") && !name.starts_with("gemm_scale");
    (ALL.iter().copied())
        .filter_map(|entry| Some((entry, entry.name(T::TYPE)?)))
        .filter(move |(_, name)| is_product(name))
}

/// Returns whether the kernel is split-K: several blocks share the k of a tile.
pub fn splits(kernel: &str) -> bool {
    kernel.starts_with("gemm_split")
}

fn every_kernel_of_products<T: Dtype>() {
    if gpu::skips("plans::every_kernel_of_products") {
        return;
    }
    for (number, (kernel, own)) in (0..).zip(kernels::<T>()) {
        let mut schedules = BTreeSet::new();
        for (case, ([m, n, k], batch)) in (0..).zip(CASES) {
            // Split-K needs at least two segments.
            let k = if splits(own) { k + KSEG } else { k };
            // Each kernel starts with a different schedule, so that every case runs under all of them.
            let schedule = schedule(number + case);
            let name = schedule.to_string();
            let emulator = Emulator::new(schedule)
                .with_multiprocessors(132)
                .with_product_kernel(kernel);
            product::<T>(number * 100 + case, (m, n, k), batch, &emulator, &name);
            let launched = emulator.kernels();
            let alone = launched.iter().all(|name| *name == own);
            assert!(alone, "{:?} ran as {launched:?}", CASES[case as usize]);
            schedules.insert(name.split(' ').next().unwrap_or_default().to_string());
        }
        assert_eq!(schedules.len(), 4, "{schedules:?}");
    }
}
