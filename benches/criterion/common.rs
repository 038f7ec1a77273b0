//! The criterion groups of a family: every operation of it, every size, both element types.

use criterion::{BenchmarkId, Criterion, Throughput};
use diptych::Exec;
use diptych_benches::bench::Bench;
use diptych_benches::data::{Real, Size};
use diptych_benches::registry::benches;
use std::time::Duration;

/// Runs the benches of a family; `DIPTYCH_CPU_LEVEL` selects the level.
pub fn family(family: &str) {
    let defaults = Criterion::default()
        .sample_size(10)
        .warm_up_time(Duration::from_millis(50))
        .measurement_time(Duration::from_millis(200));
    let mut criterion = defaults.configure_from_args();
    one_type::<f32>(&mut criterion, family);
    one_type::<f64>(&mut criterion, family);
    criterion.final_summary();
}

fn one_type<T: Real>(criterion: &mut Criterion, family: &str) {
    for bench in benches::<T>()
        .iter()
        .filter(|bench| bench.work.family() == family)
    {
        let mut group =
            criterion.benchmark_group(format!("{family}/{}/{}", bench.work.name(), T::NAME));
        for size in Size::ALL {
            let shape = bench.work.shape::<T>(size);
            group.throughput(throughput(bench, size));
            let id = BenchmarkId::new(size.name(), format!("{}x{}x{}", shape.m, shape.n, shape.k));
            // Operands are made inside, and so only for benches that the filter selects.
            group.bench_function(id, |bencher| {
                let mut operands = bench.work.operands(shape);
                let exec = Exec::new();
                bencher.iter(|| (bench.run)(&exec, &mut operands));
            });
        }
    }
}

fn throughput<T: Real>(bench: &Bench<T>, size: Size) -> Throughput {
    let shape = bench.work.shape::<T>(size);
    match bench.work.flops(shape) {
        0 => Throughput::Bytes(bench.work.bytes::<T>(shape) as u64),
        flops => Throughput::Elements(flops as u64),
    }
}
