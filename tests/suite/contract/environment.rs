//! NaN and signed zeros in results, the use of threads, the choice of levels.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use diptych::{
    Error, Exec, Level, MatMut, MatRef, MatmulOptions, matmul_pack, matmul_packed,
    matmul_packed_size,
};
use diptych_tests::cases::{self, Values};
use diptych_tests::levels::levels;
use diptych_tests::ops::{reductions, row_maps};
use diptych_tests::packed::Block;
use diptych_tests::raw;
use diptych_tests::real::Dtype;
use diptych_tests::threads::{self, Scoped};

diptych_tests::per_dtype!(no_negative_zero_leaves_a_sum, one_nan_leaves_a_reduction);

fn result_of<T: Dtype>(name: &str, config: threads::Config, x: &[T]) -> T {
    let ops = reductions::<T>();
    let op = ops.iter().find(|op| op.name == name).expect("a reduction");
    let mut out = T::one();
    // SAFETY: x has x.len() elements, out has one.
    config
        .run(|e| unsafe { op.call(e, x.len() as i64, x.as_ptr(), 1, &mut out) })
        .expect(name);
    out
}

fn no_negative_zero_leaves_a_sum<T: Dtype>() {
    // Products of these underflow to -0.
    let tiny = T::power_of_two(-T::SCALE_LIMIT);
    for n in [0, 1, 2, 63, 64, 65, 200, T::CHUNK + 1] {
        let (zeros, tinies) = (vec![-T::zero(); n], vec![tiny; n]);
        for config in threads::single() {
            for name in ["sum", "asum", "sumsq", "nrm2"] {
                assert_eq!(
                    result_of(name, config, &zeros).bits(),
                    0,
                    "{name} {} {config}, n = {n}",
                    T::DTYPE
                );
            }
            let (mut dot, minus) = (T::one(), vec![-tiny; n]);
            // SAFETY: both vectors have n elements.
            config
                .run(|e| unsafe {
                    raw::dot(e, n as i64, tinies.as_ptr(), 1, minus.as_ptr(), 1, &mut dot)
                })
                .expect("dot");
            assert_eq!(dot.bits(), 0, "dot {} {config}, n = {n}", T::DTYPE);
            let mut y = vec![T::one(); n];
            // SAFETY: one row of n elements.
            let status = config.run(|e| unsafe {
                raw::lsq_grad(
                    e,
                    1,
                    n as i64,
                    minus.as_ptr(),
                    n as i64,
                    1,
                    tinies.as_ptr(),
                    &tiny,
                    y.as_mut_ptr(),
                )
            });
            status.expect("lsq_grad");
            assert!(
                y.iter().all(|v| !(v.wide() == 0.0 && v.negative())),
                "lsq_grad {} {config}, n = {n}",
                T::DTYPE
            );
        }
    }
}

fn one_nan_leaves_a_reduction<T: Dtype>() {
    let infinity = T::of(f64::INFINITY);
    let quiet = T::of_bits(T::NAN_BITS | 0x1234);
    for n in [2, 5, 64, 66, 300, T::CHUNK + 3] {
        for payload in [quiet, -quiet, T::of_bits(T::NAN_BITS - 5)] {
            let mut x: Vec<T> = cases::vector(Values::Ordinary, n, 3);
            x[n / 2] = payload;
            x[n - 1] = -payload;
            for config in threads::single() {
                for op in reductions::<T>().iter().filter(|op| !op.gives_index()) {
                    let got = result_of(op.name, config, &x).bits();
                    assert_eq!(
                        got,
                        T::NAN_BITS,
                        "{} {} {config}, n = {n}: {got:#x}",
                        op.name,
                        T::DTYPE
                    );
                }
            }
        }
        // A NaN that the reduction itself creates: inf - inf and 0 * inf.
        let mut x = vec![T::zero(); n];
        (x[0], x[n - 1]) = (infinity, -infinity);
        for config in threads::single() {
            for name in ["sum", "mean", "var"] {
                assert_eq!(
                    result_of(name, config, &x).bits(),
                    T::NAN_BITS,
                    "{name} {} {config}",
                    T::DTYPE
                );
            }
            if n > 2 {
                assert_eq!(
                    result_of("prod", config, &x).bits(),
                    T::NAN_BITS,
                    "prod {} {config}",
                    T::DTYPE
                );
            }
        }
    }
}

/// Large calls must use the caller's pool; otherwise the tests with threads would test nothing.
#[test]
fn large_calls_use_the_threads() {
    let n = 1 << 20;
    let x = vec![1.0f32; n];
    let mut out = vec![0.0f32; n];
    let (px, p) = (x.as_ptr(), out.as_mut_ptr());
    let used = |name: &str, f: &dyn Fn(&Exec<'_>) -> raw::Result<()>| {
        let pool = Scoped::new(2);
        f(&Exec::new().with_pool(&pool, 2)).expect(name);
        assert!(pool.tasks() >= 2, "{name} did not use the caller's threads");
    };
    // SAFETY: vectors of n elements, matrices of 1024 x 1024 or smaller.
    unsafe {
        used("add", &|e| raw::add(e, n as i64, px, px, p));
        used("sum", &|e| raw::sum(e, n as i64, px, 1, p));
        used("sum_rows", &|e| {
            raw::sum_rows(e, 1024, 1024, px, 1024, 1, p, 1)
        });
        used("sum_rows, column-major", &|e| {
            raw::sum_rows(e, 1024, 1024, px, 1, 1024, p, 1)
        });
        for op in row_maps() {
            for (m, n) in [(1024, 1024), (n, 1), (1, n), (12, 80_000)] {
                let (rows, columns) = ((n as i64, 1), (1, m as i64));
                for ((rs, cs), (out_rs, out_cs)) in
                    [(rows, rows), (columns, columns), (columns, rows)]
                {
                    let name = format!(
                        "{}, {m} x {n}, strides {rs} {cs} to {out_rs} {out_cs}",
                        op.name
                    );
                    used(&name, &|e| {
                        op.call(e, (m, n), (px, rs, cs), (p, out_rs, out_cs))
                    });
                }
            }
        }
        used("dot", &|e| raw::dot(e, n as i64, px, 1, px, 1, p));
        used("outer", &|e| {
            raw::outer(e, 1024, 1024, px, 1, px, 1, p, 1024, 1)
        });
        used("gemm", &|e| {
            raw::gemm(
                e, 512, 512, 256, 1.0, px, 256, 1, px, 512, 1, 0.0, p, 512, 1,
            )
        });
        used("gemm, n = 1", &|e| {
            raw::gemm(e, 1024, 1, 1024, 1.0, px, 1024, 1, px, 1, 1, 0.0, p, 1, 1)
        });
        used("gemm_batched", &|e| {
            raw::gemm_batched(
                e, 64, 64, 64, 1.0, px, 64, 1, px, 64, 1, 0.0, p, 64, 1, 64, 0, 0, 4096,
            )
        });
        used("lsq_grad", &|e| {
            raw::lsq_grad(e, 8192, 64, px, 64, 1, px, px, p)
        });
        used("mse_grad", &|e| {
            raw::mse_grad(e, n as i64 - 1, px, px, p, p.add(n - 1))
        });
    }
}

#[cfg(feature = "pool")]
#[test]
fn the_pool_gives_the_bits_of_one_thread() {
    let pool = diptych::Pool::new(3).expect("three threads");
    let x: Vec<f32> = cases::vector(Values::Wide, 700_001, 4);
    let alone = diptych::sum(&Exec::new(), &x[..]).expect("sum");
    let together = diptych::sum(&Exec::new().with_pool(&pool, 3), &x[..]).expect("sum");
    assert_eq!(alone.to_bits(), together.to_bits());
    let counts: Vec<_> = (0..100)
        .map(|_| std::sync::atomic::AtomicUsize::new(0))
        .collect();
    diptych::ParallelFor::parallel_for(&pool, 100, &|i| {
        counts[i].fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    });
    assert!(
        counts
            .iter()
            .all(|c| c.load(std::sync::atomic::Ordering::Relaxed) == 1)
    );
}

/// Concurrent calls from several threads, each with its own `Exec`, do not affect each other.
#[test]
fn calls_from_many_threads_agree() {
    let a: Vec<f64> = cases::vector(Values::Ordinary, 90 * 90, 5);
    let product = || {
        let mut c = vec![0.0; 90 * 90];
        let p = c.as_mut_ptr();
        // SAFETY: three matrices of 90 x 90.
        unsafe {
            raw::gemm(
                &Exec::new(),
                90,
                90,
                90,
                1.0,
                a.as_ptr(),
                90,
                1,
                a.as_ptr(),
                1,
                90,
                0.0,
                p,
                90,
                1,
            )
        }
        .expect("gemm");
        c
    };
    let want = product();
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| (0..20).all(|_| product() == want)))
            .collect();
        assert!(
            workers
                .into_iter()
                .all(|worker| worker.join().expect("no panic"))
        );
    });
}

/// Forcing a level affects the whole process, so `a_level_can_be_forced` starts a process for this test.
#[test]
#[ignore = "started by a_level_can_be_forced"]
fn child_forces_each_level() {
    for &level in levels() {
        Level::force(Some(level)).expect("the level is on this machine");
        assert_eq!(Level::active(), Ok(level));
    }
    Level::force(None).expect("back to the automatic choice");
    assert!(Level::active().is_ok_and(Level::is_available));
}

/// A call with a packed matrix runs on the level that it was checked for, even if another thread forces another one.
/// `calls_finish_on_their_level` starts a process for this test.
#[test]
#[ignore = "started by calls_finish_on_their_level"]
fn child_multiplies_while_levels_change() {
    const CALLS: usize = 20_000;
    let (a, b) = ([1_i8; 24], [1_i8; 24 * 40]);
    let (a, b) = (MatRef::new(&a, 1, 24), MatRef::new(&b, 24, 40));
    let (a, b) = (a.expect("a matrix"), b.expect("a matrix"));
    let exec = Exec::new();
    let is_done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_done.load(Relaxed) {
                for level in levels().iter().map(|&level| Some(level)).chain([None]) {
                    Level::force(level).expect("the level is on this machine");
                }
            }
        });
        let mut products = 0;
        for _ in 0..CALLS {
            let mut block = Block::new(matmul_packed_size::<i8>(&exec, 24, 40).expect("a size"));
            // The layout may have changed since, and again before the product.
            if let Ok(packed) = matmul_pack(&exec, b, block.bytes()) {
                let mut c = [7_i32; 40];
                let to = MatMut::new(&mut c, 1, 40).expect("a matrix");
                match matmul_packed(&exec, a, packed, to, &MatmulOptions::default()) {
                    Ok(()) => assert_eq!(c, [24; 40]),
                    refused => assert_eq!(refused, Err(Error::PackedLayout { arg: "b" })),
                }
                products += usize::from(c != [7; 40]);
            }
            assert!(block.is_intact(), "wrote outside the block");
        }
        is_done.store(true, Relaxed);
        assert!(products > 0);
    });
}

/// `the_environment_names_a_level` starts a process for this test, with `DIPTYCH_CPU_LEVEL` set.
#[test]
#[ignore = "started by the_environment_names_a_level"]
fn child_reads_the_environment() {
    let name = std::env::var("DIPTYCH_CPU_LEVEL").unwrap_or_default();
    let sum = diptych::sum(&Exec::new(), &[1.0f32, 2.0]);
    match Level::from_name(&name).filter(|level| level.is_available()) {
        Some(level) => {
            assert_eq!(Level::active(), Ok(level));
            assert_eq!(sum, Ok(3.0));
        }
        None => {
            assert_eq!(Level::active(), Err(diptych::Error::LevelUnavailable));
            assert_eq!(sum, Err(diptych::Error::LevelUnavailable));
        }
    }
}

/// Returns a command that runs this program, under the emulator in DIPTYCH_RUNNER if there is one.
fn own_program() -> Command {
    let own = std::env::current_exe().expect("own path");
    let runner = std::env::var("DIPTYCH_RUNNER").unwrap_or_default();
    let mut words = runner.split_whitespace();
    let Some(emulator) = words.next() else {
        return Command::new(own);
    };
    let mut command = Command::new(emulator);
    command.args(words).arg(own);
    command
}

fn child(test: &str, level: Option<&str>) {
    let mut command = own_program();
    command
        .args(["--exact", test, "--ignored"])
        .env_remove("DIPTYCH_CPU_LEVEL");
    if let Some(level) = level {
        command.env("DIPTYCH_CPU_LEVEL", level);
    }
    let output = command.output().expect("own binary");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && text.contains("1 passed"),
        "{test} {level:?}:\n{text}"
    );
}

#[test]
fn a_level_can_be_forced() {
    child("contract::environment::child_forces_each_level", None);
}

#[test]
fn calls_finish_on_their_level() {
    child(
        "contract::environment::child_multiplies_while_levels_change",
        None,
    );
}

#[cfg(feature = "pool")]
#[test]
fn the_environment_names_a_level() {
    for name in Level::ALL.map(Level::name).into_iter().chain(["sse9"]) {
        child(
            "contract::environment::child_reads_the_environment",
            Some(name),
        );
    }
}
